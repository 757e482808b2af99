"""A CUDA GPU as a device: memory, modules, launches, streams and events, behind `kdsl.backend.Backend`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn

from kdsl.backend import DeviceError, DeviceLimits, Dim3, Launch
from kdsl.runtime import driver_launch, driver_linking, driver_modules, foreign_memory
from kdsl.runtime.driver_calls import (
    Calls,
    Recorder,
    bindings,
    capability,
    initialized,
    too_old,
    version_text,
)
from kdsl.runtime.driver_contexts import keeps_context
from kdsl.runtime.driver_host_memory import DriverHostMemory
from kdsl.runtime.driver_launch import Enqueue
from kdsl.runtime.driver_modules import CudaFunction, CudaModule
from kdsl.runtime.driver_occupancy import DriverOccupancy
from kdsl.runtime.driver_peers import DriverPeers
from kdsl.runtime.errors import DriverUnavailableError
from kdsl.runtime.image_variables import variable_names
from kdsl.runtime.lent_arrays import LentArrays
from kdsl.runtime.linking import Input
from kdsl.runtime.machine import Machine, driver_release
from kdsl.runtime.parameters import ParameterBuffer
from kdsl.target import KNOWN, Target


@keeps_context
class CudaDriver(DriverHostMemory, DriverPeers, DriverOccupancy):
    """One NVIDIA GPU, through the CUDA driver and its primary context (shared with PyTorch, CuPy, JAX and others).

    Making it calls little; the context is made by `start`, or when it is first needed. ``record`` gets each driver
    call's name, start and duration. ``api`` stands in for `cuda.bindings.driver`. ``synchronous``: every launch is
    waited for.
    """

    name = "cuda"

    def __init__(
        self, ordinal: int = 0, *, record: Recorder | None = None, api: Any = None, synchronous: bool = False
    ) -> None:
        super().__init__(Calls(ordinal, bindings() if api is None else api, record, synchronous))
        self.ordinal = ordinal
        self.lent = LentArrays(self.release)
        self.capability = capability(self._calls.api, self._calls.device)
        reason = too_old(self.capability)
        if reason:
            raise DriverUnavailableError(f"{self.description}: {reason}")
        self.target = _target(self.capability)
        self.limits = self._limits()
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

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is of this process; pickle its kdsl.Device, which is opened by name")

    def start(self) -> None:
        self._calls.start_beside()

    def __repr__(self) -> str:
        return f"<CudaDriver {self.ordinal}: {self.description}, {self.target}>"

    @property
    def state(self) -> str:
        """``not started``, ``ready``, ``lost`` (see `fault`), or ``forked``: this process cannot use CUDA."""
        calls = self._calls
        if calls.forked:
            return "forked"
        if calls.dead:
            return "lost"
        return "not started" if calls.context is None else "ready"

    @property
    def fault(self) -> DeviceError | None:
        """What ended the device's context in this process, if something did."""
        return self._calls.fault

    # What the device is.

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
            "multiprocessor_threads": self._attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
        }
        threads = self._attribute("MAX_THREADS_PER_BLOCK")
        return DeviceLimits(threads, block, grid, self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"), extra)

    # Modules and launches.

    @cached_property
    def machine(self) -> Machine:
        """What machine code depends on beside the PTX."""
        version = int(self._calls.bare("cuDriverGetVersion"))
        major, minor = self.capability
        return Machine(f"sm_{major}{minor}", (version // 1000, version % 1000 // 10), driver_release())

    def load(self, image: bytes) -> CudaModule:
        return driver_modules.load(self._calls, image)

    def function(self, module: CudaModule, name: str) -> CudaFunction:
        return driver_modules.find(self._calls, module, name)

    def link(self, inputs: Sequence[Input]) -> bytes:
        return driver_linking.link(self._calls, inputs)

    def kernels(self, module: CudaModule) -> tuple[str, ...]:
        return driver_modules.kernel_names(self._calls, module)

    def parameters(self, function: CudaFunction) -> tuple[tuple[int, int], ...] | None:
        return driver_modules.parameters(self._calls, function)

    def unload(self, module: CudaModule) -> None:
        self.synchronize()
        self._prepared = {key: kept for key, kept in self._prepared.items() if kept[0].module is not module}
        driver_modules.unload(self._calls, module)

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
        stream = launch.stream
        if self.is_ordered(stream):
            return enqueue

        def enqueue_foreign(buffer: ParameterBuffer) -> None:
            # Such a stream is not ordered with the default one, where arrays are filled.
            self.foreign.before(stream)
            try:
                enqueue(buffer)
                self.foreign.after(stream)
            except KeyboardInterrupt:
                self.foreign.after(stream)  # it may have been launched
                raise

        return enqueue_foreign

    # Sharing with other libraries: `kdsl.runtime.foreign_memory.SharingBackend`.

    def join(self) -> None:
        self.foreign.join()

    def keep(self, owners: Any, stream: int) -> None:
        self.foreign.keep(owners, stream)

    def release(self, owners: Any) -> None:
        self._calls.when_allowed(lambda: self.foreign.release(owners))

    def own_memory_test(self) -> Callable[[int], bool]:
        return self._is_own_memory

    @cached_property
    def _is_own_memory(self) -> Callable[[int], bool]:
        return foreign_memory.own_memory_test(self._calls)

    def device_of(self, address: int) -> int | None:
        return foreign_memory.ordinal_of(self._calls, address)


def _sm(capability: tuple[int, int]) -> int:
    return capability[0] * 10 + capability[1]


def _target(capability: tuple[int, int]) -> str:
    """The newest architecture known here that the device runs: PTX for it is compiled for the device by the driver."""
    known = [target for target in map(Target.parse, KNOWN) if not target.suffix and target.sm <= _sm(capability)]
    return max(known, key=lambda target: target.sm).name
