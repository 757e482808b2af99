"""The memory of a CUDA GPU: a pool's allocations, copies and fills, all ordered with the default stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kdsl.backend import gibibytes
from kdsl.runtime import driver_errors, driver_launch, driver_modules
from kdsl.runtime.driver_calls import Calls
from kdsl.runtime.driver_modules import CudaFunction
from kdsl.runtime.driver_streams import DriverStreams
from kdsl.runtime.lent_arrays import LentArrays
from kdsl.runtime.parameters import ParameterBuffer
from kdsl.runtime.strided import StridedCopy, strided_copies

FILLS = {1: "cuMemsetD8Async", 2: "cuMemsetD16Async", 4: "cuMemsetD32Async"}
"""By the bytes of the pattern."""


class DriverMemory(DriverStreams):
    """What `CudaDriver` does with memory. It comes from a pool and is ordered with the default stream, so that freeing
    waits for nothing.
    """

    lent: LentArrays

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls)
        self.description: str = bytes(calls.bare("cuDeviceGetName", 128, calls.device)).split(b"\0")[0].decode()
        self._pool: Any = None
        self._strided_kernels: dict[tuple[int, int, int], CudaFunction] = {}

    def _attribute(self, name: str) -> int:
        attribute = getattr(self._calls.api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._calls.bare("cuDeviceGetAttribute", attribute, self._calls.device))

    def alloc(self, size: int) -> int:
        self._calls.enter()
        code, address = self._allocate(size)
        if code == driver_errors.OUT_OF_MEMORY:
            # Memory that finished work holds comes back at a synchronisation; what the pool keeps is in pieces.
            self.synchronize()
            self.trim_memory(0)
            code, address = self._allocate(size)
        if code == driver_errors.OUT_OF_MEMORY:
            raise MemoryError(self._out_of_memory(size))
        if code:
            raise self._calls.error(code, f"allocating {gibibytes(size)}")
        return int(address)

    def _allocate(self, size: int) -> tuple[int, Any]:
        pool = self._memory_pool()
        if pool is False:
            return self._calls.attempt("cuMemAlloc", size)
        found = self._calls.attempt("cuMemAllocFromPoolAsync", size, pool, 0)
        self.foreign.filled()
        return found

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
        properties.location.id = self._calls.ordinal
        pool = self._calls.bare("cuMemPoolCreate", properties)
        # The default gives everything back at each synchronisation, and the next allocation then takes milliseconds.
        _, total = self._calls.bare("cuMemGetInfo")
        threshold = api.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        self._calls.bare("cuMemPoolSetAttribute", pool, threshold, api.cuuint64_t(int(total) // 16))
        return pool

    def _out_of_memory(self, size: int) -> str:
        free, total = (int(value) for value in self._calls.bare("cuMemGetInfo"))
        asked, left, all_ = (gibibytes(value) for value in (size, free, total))
        used = gibibytes(self._pool_usage()[0])
        return f"{asked} asked for on {self.description}, {left} free of {all_}; arrays here have {used}"

    # The pool.

    def memory_info(self) -> tuple[int, int, int, int]:
        free, total = (int(value) for value in self._calls.call("cuMemGetInfo"))
        return (free, total, *self._pool_usage())

    def _pool_usage(self) -> tuple[int, int]:
        """The bytes that arrays have, and those that the pool holds for them and for later ones."""
        return self._pool_value("USED_MEM_CURRENT"), self._pool_value("RESERVED_MEM_CURRENT")

    def _pool_value(self, name: str) -> int:
        pool = self._memory_pool()
        if pool is False:
            return 0
        attribute = getattr(self._calls.api.CUmemPool_attribute, f"CU_MEMPOOL_ATTR_{name}")
        return int(self._calls.bare("cuMemPoolGetAttribute", pool, attribute))

    def trim_memory(self, keep: int) -> None:
        self._calls.enter()
        pool = self._memory_pool()
        if pool is not False:
            self._calls.bare("cuMemPoolTrimTo", pool, keep)

    @property
    def release_threshold(self) -> int:
        self._calls.enter()
        return self._pool_value("RELEASE_THRESHOLD")

    @release_threshold.setter
    def release_threshold(self, size: int) -> None:
        self._calls.enter()
        pool = self._memory_pool()
        if pool is not False:
            attribute = self._calls.api.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
            self._calls.bare("cuMemPoolSetAttribute", pool, attribute, self._calls.api.cuuint64_t(size))

    # Allocations, copies, fills.

    def free(self, address: int) -> None:
        calls = self._calls
        # A finaliser may run in a child of a fork, or after a fault: nothing can be given back there.
        if calls.forked or calls.dead:
            return
        calls.when_allowed(lambda: self._free(address))

    def _free(self, address: int) -> None:
        calls = self._calls
        calls.enter()
        # Not before the end of what streams of other libraries, unordered with the default stream, may do with it.
        code = self.foreign.try_join()
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
        self.foreign.join()
        self._calls.call("cuMemcpyHtoD", address, source, source.nbytes)
        # A copy from pageable memory returns while its last part may still be on the way.
        self._calls.bare("cuStreamSynchronize", 0)

    def read(self, address: int, destination: memoryview) -> None:
        self.synchronize()
        if destination.nbytes:
            self._calls.bare("cuMemcpyDtoH", destination, address, destination.nbytes)

    def copy(self, destination: int, source: int, size: int) -> None:
        if size:
            self.foreign.join()
            self._calls.call("cuMemcpyDtoDAsync", destination, source, size, 0)
            self.foreign.filled()

    def copy_strided(
        self,
        destination: int,
        destination_strides: tuple[int, ...],
        source: int,
        source_strides: tuple[int, ...],
        shape: tuple[int, ...],
        itemsize: int,
    ) -> None:
        self._calls.enter()
        self.foreign.join()
        self._copy_parts(strided_copies(shape, destination_strides, source_strides, itemsize, destination, source))
        self.foreign.filled()

    def _copy_parts(self, parts: Iterable[StridedCopy]) -> None:
        for part in parts:
            if part.axes:
                enqueue = driver_launch.prepare(self._calls, self._strided_kernel(part), part.launch)
                enqueue(ParameterBuffer(part.parameters))
            else:
                self.copy(part.destination, part.source, part.unit)

    def _strided_kernel(self, part: StridedCopy) -> CudaFunction:
        """The kernel for copies of this form; the driver assembles it when it is first needed."""
        found = self._strided_kernels.get(part.key)
        if found is None:
            module = driver_modules.load(self._calls, part.ptx().encode())
            found = self._strided_kernels[part.key] = driver_modules.find(self._calls, module, part.name)
        return found

    def fill(self, address: int, value: int, size: int, width: int = 1) -> None:
        if size:
            self.foreign.join()
            self._calls.call(FILLS[width], address, value, size // width, 0)
            self.foreign.filled()

    def synchronize(self) -> None:
        # First, so that nothing of JAX's is held after it.
        self.lent.end()
        # What another thread launches meanwhile is not known to have ended.
        launched = len(self._calls.recent)
        self._calls.call("cuCtxSynchronize")
        self.foreign.let_go()
        self._calls.seen_well(launched)
        self.stream_state.raise_failures()
