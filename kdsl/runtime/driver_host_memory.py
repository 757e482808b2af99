"""Host memory that a GPU reaches, and copies that only enqueue: `kdsl.runtime.host_memory.HostAllocator`, as a part
of the driver.
"""

from __future__ import annotations

import itertools
from typing import Any

from kdsl.backend import DeviceError, gibibytes
from kdsl.captures import ALLOCATING, COPYING, LEGACY, Pinned, StreamCaptureError
from kdsl.runtime import driver_errors
from kdsl.runtime.driver_calls import Calls
from kdsl.runtime.driver_graphs import DriverGraphs

PORTABLE, DEVICEMAP = 1, 2
"""CU_MEMHOSTALLOC_PORTABLE (pinned for every GPU), CU_MEMHOSTALLOC_DEVICEMAP."""
ATTACH_GLOBAL = 1
"""CU_MEM_ATTACH_GLOBAL: any stream may use it."""
MOST_WAITING = 256 << 20
"""Bytes that wait for the device to have ended its work; the allocation that finds more waits for it."""
ADVICE = {
    "read_mostly": ("READ_MOSTLY", False),
    "prefer_device": ("PREFERRED_LOCATION", False),
    "prefer_host": ("PREFERRED_LOCATION", True),
    "accessed_by_device": ("ACCESSED_BY", False),
    "accessed_by_host": ("ACCESSED_BY", True),
}
"""The driver's word for an advice, and whether it is about the host."""


class DriverHostMemory(DriverGraphs):
    """Pinned, mapped and managed memory."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls)
        # What work in flight may still use, by a number of its own: (address, bytes, kind).
        self._waiting: dict[int, tuple[int, int, str]] = {}
        self._numbers = itertools.count()

    def alloc_host(self, size: int, kind: str) -> tuple[int, int]:
        calls = self._calls
        self.captures.check("allocating memory", ALLOCATING)
        calls.enter()
        if kind == "managed" and not self._attribute("CONCURRENT_MANAGED_ACCESS"):
            raise DeviceError(
                f"{self.description} here has no managed memory that the host may touch while kernels run "
                f"(CONCURRENT_MANAGED_ACCESS is 0): use kdsl.mapped_empty"
            )
        self._keep_few_waiting()
        code, host = self._allocate_host(size, kind)
        if code == driver_errors.OUT_OF_MEMORY:
            self.synchronize()
            self.trim_memory(0)
            code, host = self._allocate_host(size, kind)
        if code == driver_errors.OUT_OF_MEMORY:
            if kind == "managed":
                raise MemoryError(self._out_of_memory(size))
            raise MemoryError(f"{gibibytes(size)} of {kind} host memory asked for, and the system gives no more of it")
        if code:
            raise calls.error(code, f"allocating {gibibytes(size)} of {kind} memory")
        return int(host), int(host) if kind == "managed" else int(calls.bare("cuMemHostGetDevicePointer", host, 0))

    def _allocate_host(self, size: int, kind: str) -> tuple[int, Any]:
        if kind == "managed":
            return self._calls.attempt("cuMemAllocManaged", size, ATTACH_GLOBAL)
        return self._calls.attempt("cuMemHostAlloc", size, PORTABLE | DEVICEMAP)

    def alloc(self, size: int) -> int:
        if self._waiting and not self.captures:
            self._keep_few_waiting()
        return super().alloc(size)

    def free_lent(self, address: int, size: int) -> None:
        # The libraries that it was lent to have streams of their own: when they have done with it, nobody knows.
        if not self._calls.forked and not self._calls.dead:
            self._waiting[next(self._numbers)] = (address, size, "lent")

    def _keep_few_waiting(self) -> None:
        if sum(size for _, size, _ in list(self._waiting.values())) > MOST_WAITING:
            self.synchronize()

    def free_host(self, host: int, device: int, size: int, kind: str) -> None:
        # A finaliser may run in a child of a fork, or after a fault: nothing can be given back there.
        if self._calls.forked or self._calls.dead:
            return
        # Graphs that use it keep it.
        if not self._pins.hold(device, lambda: self._let_go(host, size, kind)):
            self._let_go(host, size, kind)

    def _let_go(self, host: int, size: int, kind: str) -> None:
        if kind == "pinned":
            # Copies in flight would have held it.
            self._calls.when_allowed(lambda: self._release_host(host, kind))
        else:
            # Which kernels use it, nobody knows: not before all of them have ended.
            self._waiting[next(self._numbers)] = (host, size, kind)

    def _release_host(self, host: int, kind: str) -> None:
        calls = self._calls
        calls.enter()
        code, _ = calls.attempt("cuMemFree" if kind == "managed" else "cuMemFreeHost", host)
        if code in driver_errors.DEAD_CONTEXT:
            calls.put_off(code)
        elif code:
            raise calls.error(code, f"freeing {kind} memory at 0x{host:x}")

    def synchronize(self) -> None:
        # What is given up while this waits may be used by later work.
        idle = list(self._waiting)
        super().synchronize()
        for number in idle:
            # Another thread that waited too may have released it.
            address, _, kind = self._waiting.pop(number, (0, 0, ""))
            if kind == "lent":
                self.free(address)
            elif address:
                self._release_host(address, kind)

    # Copies that only enqueue.

    def write_in(self, stream: int, address: int, source: memoryview, owner: Any) -> None:
        self._copy_in(stream, (address,), (owner, source), "cuMemcpyHtoDAsync", address, source, source.nbytes)

    def read_in(self, stream: int, address: int, destination: memoryview, owner: Any) -> None:
        held, size = (owner, destination), destination.nbytes
        self._copy_in(stream, (address,), held, "cuMemcpyDtoHAsync", destination, address, size)

    def copy_in(self, stream: int, destination: int, source: int, size: int) -> None:
        self._copy_in(stream, (destination, source), None, "cuMemcpyDtoDAsync", destination, source, size)

    def _copy_in(self, stream: int, addresses: tuple[int, ...], held: Any, name: str, *arguments: Any) -> None:
        self._calls.enter()
        capture = self.capture_of(stream)
        self.captures.check_default("a copy", stream, COPYING)
        if stream in LEGACY:
            self.foreign.join()
        with self.unordered(stream):
            self._calls.bare(name, *arguments, self._stream(stream))
        if stream in LEGACY:
            self.foreign.filled()
        if capture is not None:
            capture.kept += [Pinned(self, addresses), held]
        elif held is not None:
            self.foreign.keep(held, stream)

    # Managed memory.

    def prefetch(self, address: int, size: int, to_host: bool, stream: int) -> None:
        if self.capture_of(stream) is not None:
            raise StreamCaptureError("moving managed memory inside of a capture: do it before, or after the graph")
        api = self._calls.api
        arguments = (address, size, self._location(to_host), 0, self._stream(stream))
        self._calls.call(_newest(api, "cuMemPrefetchAsync"), *arguments)

    def advise(self, address: int, size: int, advice: str) -> None:
        api = self._calls.api
        word, to_host = ADVICE[advice.removeprefix("unset_")]
        prefix = "UNSET" if advice.startswith("unset_") else "SET"
        value = getattr(api.CUmem_advise, f"CU_MEM_ADVISE_{prefix}_{word}")
        self._calls.call(_newest(api, "cuMemAdvise"), address, size, value, self._location(to_host))

    def _location(self, to_host: bool) -> Any:
        api = self._calls.api
        location, types = api.CUmemLocation(), api.CUmemLocationType
        location.type = types.CU_MEM_LOCATION_TYPE_HOST if to_host else types.CU_MEM_LOCATION_TYPE_DEVICE
        location.id = 0 if to_host else self._calls.ordinal
        return location


def _newest(api: Any, name: str) -> str:
    """The version of a function that takes a location: the only one from cuda-python 13 on, ``_v2`` before."""
    return f"{name}_v2" if hasattr(api, f"{name}_v2") else name
