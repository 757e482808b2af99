"""A CUDA GPU as a device: memory, modules, launches, streams and events, behind `kdsl.backend.Backend`."""

from __future__ import annotations

from typing import Any

from kdsl.backend import DeviceLimits, Dim3, Launch
from kdsl.runtime import driver_errors, driver_launch, driver_modules
from kdsl.runtime.driver_calls import (
    Calls,
    Recorder,
    bindings,
    capability,
    initialized,
    too_old,
    version_text,
)
from kdsl.runtime.driver_launch import Enqueue
from kdsl.runtime.driver_modules import CudaFunction, CudaModule
from kdsl.runtime.driver_streams import DriverStreams
from kdsl.runtime.errors import DriverUnavailableError
from kdsl.runtime.image_variables import variable_names
from kdsl.runtime.parameters import ParameterBuffer
from kdsl.target import KNOWN, Target


class CudaDriver(DriverStreams):
    """One NVIDIA GPU, through the CUDA driver and its primary context (shared with PyTorch, CuPy, JAX and others).

    Making it calls little; the context is made by `start`, or when it is first needed. ``record`` gets each driver
    call's name, start and duration. ``api`` stands in for `cuda.bindings.driver`.
    """

    name = "cuda"

    def __init__(self, ordinal: int = 0, *, record: Recorder | None = None, api: Any = None) -> None:
        super().__init__(Calls(ordinal, bindings() if api is None else api, record))
        self.ordinal = ordinal
        self.description: str = (
            bytes(self._calls.bare("cuDeviceGetName", 128, self._calls.device)).split(b"\0")[0].decode()
        )
        self.capability = capability(self._calls.api, self._calls.device)
        reason = too_old(self.capability)
        if reason:
            raise DriverUnavailableError(f"{self.description}: {reason}")
        self.target = _target(self.capability)
        self.limits = self._limits()
        self._pool: Any = None
        # Work on the default stream that streams of other libraries, unordered with it, must not overtake ...
        self._default_busy = False
        # ... and the other way round: memory must not be freed on the default stream while such a stream may use it.
        self._foreign_busy = False
        self._prepared: dict[tuple[int, Launch], tuple[CudaFunction, Enqueue]] = {}

    @staticmethod
    def available(api: Any = None) -> tuple[bool, str]:
        """Whether there is a GPU that can be used, and why not. Cheap, makes no context, and never raises."""
        try:
            found = bindings() if api is None else api
        except DriverUnavailableError as error:
            return False, str(error)
        reason = initialized(found)
        return (False, reason) if reason else (True, "")

    @staticmethod
    def version(api: Any = None) -> str:
        """The newest CUDA that the driver supports, such as ``CUDA 13.0``; call it only if `available`."""
        found = bindings() if api is None else api
        return f"CUDA {version_text(int(found.cuDriverGetVersion()[1]))}"

    @staticmethod
    def count(api: Any = None) -> int:
        """How many GPUs the driver finds; call it only if `available`."""
        found = bindings() if api is None else api
        return int(found.cuDeviceGetCount()[1])

    def start(self) -> None:
        self._calls.start_beside()

    def __repr__(self) -> str:
        return f"<CudaDriver {self.ordinal}: {self.description}, {self.target}>"

    # What the device is.

    def _attribute(self, name: str) -> int:
        attribute = getattr(self._calls.api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._calls.bare("cuDeviceGetAttribute", attribute, self._calls.device))

    def _limits(self) -> DeviceLimits:
        block: Dim3 = (
            self._attribute("MAX_BLOCK_DIM_X"),
            self._attribute("MAX_BLOCK_DIM_Y"),
            self._attribute("MAX_BLOCK_DIM_Z"),
        )
        grid: Dim3 = (
            self._attribute("MAX_GRID_DIM_X"),
            self._attribute("MAX_GRID_DIM_Y"),
            self._attribute("MAX_GRID_DIM_Z"),
        )
        extra = {
            "cluster": int(self.capability >= (9, 0)),
            "programmatic": int(self.capability >= (9, 0)),
            "cooperative": self._attribute("COOPERATIVE_LAUNCH"),
            "multiprocessors": self._attribute("MULTIPROCESSOR_COUNT"),
        }
        threads = self._attribute("MAX_THREADS_PER_BLOCK")
        return DeviceLimits(threads, block, grid, self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"), extra)

    # Memory. It comes from a pool and is ordered with the default stream, so that freeing waits for nothing.

    def alloc(self, size: int) -> int:
        self._calls.enter()
        code, address = self._allocate(size)
        if code == driver_errors.OUT_OF_MEMORY:
            # Memory that finished work holds comes back at a synchronisation.
            self.synchronize()
            code, address = self._allocate(size)
        if code == driver_errors.OUT_OF_MEMORY:
            raise MemoryError(self._out_of_memory(size))
        if code:
            raise self._calls.error(code, f"allocating {driver_errors.gibibytes(size)}")
        return int(address)

    def _allocate(self, size: int) -> tuple[int, Any]:
        pool = self._memory_pool()
        if pool is False:
            return self._calls.attempt("cuMemAlloc", size)
        self._default_busy = True
        return self._calls.attempt("cuMemAllocFromPoolAsync", size, pool, 0)

    def _memory_pool(self) -> Any:
        """Our own pool, which keeps some freed memory for the next allocation; False where there are no pools."""
        if self._pool is None:
            self._pool = self._make_pool() if self._attribute("MEMORY_POOLS_SUPPORTED") else False
        return self._pool

    def _make_pool(self) -> Any:
        api = self._calls.api
        properties = api.CUmemPoolProps()
        properties.allocType = api.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = self.ordinal
        pool = self._calls.bare("cuMemPoolCreate", properties)
        # The default gives everything back at each synchronisation, and the next allocation then takes milliseconds.
        _, total = self._calls.bare("cuMemGetInfo")
        threshold = api.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        self._calls.bare("cuMemPoolSetAttribute", pool, threshold, api.cuuint64_t(int(total) // 16))
        return pool

    def _out_of_memory(self, size: int) -> str:
        free, total = (int(value) for value in self._calls.bare("cuMemGetInfo"))
        asked, left, all_ = (driver_errors.gibibytes(value) for value in (size, free, total))
        return f"{asked} asked for on {self.description}, {left} free of {all_}"

    def free(self, address: int) -> None:
        calls = self._calls
        # A finaliser may run in a child of a fork, or after a fault: nothing can be given back there.
        if calls.forked or calls.dead:
            return
        calls.enter()
        code = 0
        if self._foreign_busy:
            code, _ = calls.attempt("cuCtxSynchronize")
            self._foreign_busy = False
        if not code:
            pooled = self._memory_pool() is not False
            code, _ = calls.attempt("cuMemFreeAsync", address, 0) if pooled else calls.attempt("cuMemFree", address)
        if code in driver_errors.DEAD_CONTEXT:
            calls.put_off(code)
        elif code:
            raise calls.error(code, f"freeing 0x{address:x}")

    def write(self, address: int, source: memoryview) -> None:
        if not source.nbytes:
            return
        self._calls.call("cuMemcpyHtoD", address, source, source.nbytes)
        # A copy from pageable memory returns while its last part may still be on the way.
        self._calls.bare("cuStreamSynchronize", 0)
        self._default_busy = False

    def read(self, address: int, destination: memoryview) -> None:
        self.synchronize()
        if destination.nbytes:
            self._calls.bare("cuMemcpyDtoH", destination, address, destination.nbytes)

    def copy(self, destination: int, source: int, size: int) -> None:
        if size:
            self._calls.call("cuMemcpyDtoDAsync", destination, source, size, 0)
            self._default_busy = True

    def fill(self, address: int, value: int, size: int) -> None:
        if size:
            self._calls.call("cuMemsetD8Async", address, value & 0xFF, size, 0)
            self._default_busy = True

    # Modules and launches.

    def load(self, image: bytes) -> CudaModule:
        return driver_modules.load(self._calls, image)

    def function(self, module: CudaModule, name: str) -> CudaFunction:
        return driver_modules.find(self._calls, module, name)

    def variable(self, module: CudaModule, name: str) -> tuple[int, int]:
        return driver_modules.variable(self._calls, module, name)

    def variables(self, module: CudaModule) -> tuple[str, ...]:
        return variable_names(module.image)

    def launch(self, function: CudaFunction, launch: Launch, parameters: bytearray | bytes) -> None:
        key = (id(function), launch)
        found = self._prepared.get(key)
        if found is None:
            if len(self._prepared) >= 256:
                self._prepared.clear()
            # The function is held too, so that its id stays its own.
            found = self._prepared[key] = (function, self.prepare(function, launch))
        found[1](parameters if isinstance(parameters, ParameterBuffer) else ParameterBuffer(parameters))

    def prepare(self, function: CudaFunction, launch: Launch) -> Enqueue:
        """A function that enqueues this launch with the parameters it is given: what a launcher calls."""
        enqueue = driver_launch.prepare(self._calls, function, launch)
        if self.is_ordered(launch.stream):
            return enqueue

        def enqueue_foreign(buffer: ParameterBuffer) -> None:
            # Streams of other libraries need not be ordered with the default stream, where arrays are filled.
            if self._default_busy:
                self._calls.call("cuStreamSynchronize", 0)
                self._default_busy = False
            enqueue(buffer)
            self._foreign_busy = True

        return enqueue_foreign

    def synchronize(self) -> None:
        # What another thread launches meanwhile is not known to have ended.
        launched = len(self._calls.recent)
        self._calls.call("cuCtxSynchronize")
        self._default_busy = self._foreign_busy = False
        self._calls.seen_well(launched)


def _sm(capability: tuple[int, int]) -> int:
    return capability[0] * 10 + capability[1]


def _target(capability: tuple[int, int]) -> str:
    """The newest architecture known here that the device runs: PTX for it is compiled for the device by the driver."""
    known = [target for target in map(Target.parse, KNOWN) if not target.suffix and target.sm <= _sm(capability)]
    return max(known, key=lambda target: target.sm).name
