"""What the driver says of a loaded kernel: what it takes, and how many of its blocks run at once."""

from __future__ import annotations

from math import prod

from kdsl.backend import Launch
from kdsl.occupancy import KernelAttributes, SuggestedBlock
from kdsl.runtime import driver_launch
from kdsl.runtime.driver_calls import Calls
from kdsl.runtime.driver_modules import CudaFunction

NAMES = {
    "registers": "NUM_REGS",
    "shared": "SHARED_SIZE_BYTES",
    "local": "LOCAL_SIZE_BYTES",
    "constant": "CONST_SIZE_BYTES",
    "max_threads": "MAX_THREADS_PER_BLOCK",
    "ptx_version": "PTX_VERSION",
    "binary_version": "BINARY_VERSION",
}


class DriverOccupancy:
    """What `CudaDriver` does as a `kdsl.resources.OccupancyBackend`."""

    _calls: Calls

    def attributes(self, function: CudaFunction) -> KernelAttributes:
        calls = self._calls
        calls.enter()
        names = calls.api.CUfunction_attribute
        found = {
            field: int(calls.bare("cuFuncGetAttribute", getattr(names, f"CU_FUNC_ATTRIBUTE_{name}"), function.handle))
            for field, name in NAMES.items()
        }
        return KernelAttributes(**found)

    def active_blocks(self, function: CudaFunction, threads: int, shared_bytes: int) -> int:
        self._allow(function, Launch((1, 1, 1), (threads, 1, 1), shared_bytes))
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        return int(self._calls.bare(name, function.handle, threads, shared_bytes))

    def active_clusters(self, function: CudaFunction, launch: Launch) -> int:
        self._allow(function, launch)
        config = driver_launch.config_of(self._calls.api, launch)
        return int(self._calls.bare("cuOccupancyMaxActiveClusters", function.handle, config))

    def best_block(self, function: CudaFunction, shared_bytes: int, most_threads: int) -> SuggestedBlock:
        self._allow(function, Launch((1, 1, 1), (1, 1, 1), shared_bytes))
        no_callback = self._calls.api.CUoccupancyB2DSize(0)
        name = "cuOccupancyMaxPotentialBlockSize"
        grid, block = self._calls.bare(name, function.handle, no_callback, shared_bytes, most_threads)
        return SuggestedBlock(int(block), int(grid))

    def _allow(self, function: CudaFunction, launch: Launch) -> None:
        """As for a launch: of what a kernel may not have, the driver would say that no block fits."""
        self._calls.enter()
        if launch.shared_bytes:
            driver_launch.allow_shared_memory(self._calls, function, launch)
        if launch.cluster and prod(launch.cluster) > driver_launch.PORTABLE_CLUSTER:
            driver_launch.allow_large_clusters(self._calls, function, launch)
