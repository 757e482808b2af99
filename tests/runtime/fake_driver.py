"""A CUDA driver in host memory with cuda-python's own types, to test what is asked of the driver and what its errors
become.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.driver_entry import LaunchStruct

from .fake_graphs import FakeGraphs, Node, Refusal, parameters_at

ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_BLOCK_DIM_X": 1024,
    "MAX_BLOCK_DIM_Y": 1024,
    "MAX_BLOCK_DIM_Z": 64,
    "MAX_GRID_DIM_X": 2**31 - 1,
    "MAX_GRID_DIM_Y": 65535,
    "MAX_GRID_DIM_Z": 65535,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448,
    "MEMORY_POOLS_SUPPORTED": 1,
    "COOPERATIVE_LAUNCH": 1,
    "MULTIPROCESSOR_COUNT": 132,
    "CONCURRENT_MANAGED_ACCESS": 1,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "MAX_REGISTERS_PER_BLOCK": 65536,
}
ATTRIBUTE_BYTES = 72
"""sizeof(CUlaunchAttribute)"""
LAUNCH_ATTRIBUTES = {
    "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION": "clusterDim",
    "CU_LAUNCH_ATTRIBUTE_COOPERATIVE": "cooperative",
    "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION": "programmaticStreamSerializationAllowed",
}


class FakeDriver(FakeGraphs):
    """Stands in for `cuda.bindings.driver`. ``calls`` are the functions called; ``codes`` the next error codes by
    function.

    ``capturing`` are the streams that are captured, ``pointers`` the attributes of addresses that are not 0.

    ``kernels`` are the entries of every module: functions of the parameter bytes; ``globals`` the addresses of their
    variables, ``mapped`` the device's addresses of host memory. ``fault`` is what every synchronising
    call gives once it is set.
    """

    def __init__(self, real: Any, **attributes: int) -> None:
        super().__init__()
        self.real = real
        self.attributes = {**ATTRIBUTES, **attributes}
        self.devices = 1
        self.driver_version = 13000
        self.calls: list[tuple[Any, ...]] = []
        self.codes: dict[str, list[int]] = {}
        self.fault = 0
        self.log = b""
        self.kernels: dict[str, Callable[[bytes], None]] = {}
        self.memory: dict[int, Any] = {}
        self.pooled = True
        self.current = threading.local()
        self.handles = iter(range(0x10000, 0x7FFFFFFF, 16))
        self.launched: list[tuple[Any, ...]] = []
        self.dynamic_shared: dict[int, int] = {}
        self.most_blocks = 2
        self.large_clusters: set[int] = set()
        self.globals: dict[str, int] = {}
        self.mapped: dict[int, int] = {}
        self.capturing: set[int] = set()
        self.pointers: dict[int, dict[str, int]] = {}
        self.parameter_places: list[tuple[int, int]] = []
        self.function_attributes = {
            "NUM_REGS": 40,
            "SHARED_SIZE_BYTES": 40,
            "LOCAL_SIZE_BYTES": 0,
            "CONST_SIZE_BYTES": 0,
            "MAX_THREADS_PER_BLOCK": 1024,
            "PTX_VERSION": 90,
            "BINARY_VERSION": 90,
        }
        self.streams: dict[int, tuple[int, int]] = dict.fromkeys((0, 1, 2), (0, 0))
        self.events: dict[int, int] = {}
        self.raised: list[BaseException] = []
        # What `cuGetProcAddress` gives: launches come in by address.
        parameters = (ctypes.c_void_p,) * 4
        self._native = ctypes.CFUNCTYPE(ctypes.c_int, *parameters)(self._launch_by_address)
        self._by_address: dict[bytes, Any] = {
            b"cuLaunchKernelEx": self._native,
            b"cuLaunchHostFunc": ctypes.CFUNCTYPE(ctypes.c_int, *parameters[:3])(self._host_function_by_address),
            b"cuPointerGetAttribute": ctypes.CFUNCTYPE(ctypes.c_int, *parameters[:3])(self._pointer_by_address),
            b"cuGraphLaunch": ctypes.CFUNCTYPE(ctypes.c_int, *parameters[:2])(self._graph_by_address),
        }

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu") or name == "cuuint64_t":
            return getattr(self.real, name)
        implementation = getattr(type(self), f"_{name}", None)
        if implementation is None and not hasattr(self.real, name):
            raise AttributeError(name)  # of another version of the bindings
        if implementation is None:
            raise AssertionError(f"the fake driver has no {name}")

        def call(*args: Any) -> tuple[Any, ...]:
            self.calls.append((name, *args))
            code = self.codes[name].pop(0) if self.codes.get(name) else 0
            if (
                not code
                and self.fault
                and name in ("cuCtxSynchronize", "cuStreamSynchronize", "cuMemcpyHtoD", "cuLaunchKernel")
            ):
                code = self.fault
            if code:
                return (self.real.CUresult(code), None)
            try:
                return (self.real.CUresult(0), *(implementation(self, *args) or ()))
            except Refusal as refusal:
                return (self.real.CUresult(refusal.args[0]), None)

        return call

    def called(self, *but: str) -> list[str]:
        """The names of the functions called so far, without the context's own, and forget them."""
        ignored = {"cuCtxGetCurrent", "cuCtxSetCurrent", *but}
        names = [call[0] for call in self.calls if call[0] not in ignored]
        self.calls.clear()
        return names

    def bytes_at(self, address: int, size: int) -> Any:
        for base, block in self.memory.items():
            if base <= address and address + size <= base + len(block):
                return (ctypes.c_ubyte * size).from_buffer(block, address - base)
        raise AssertionError(f"0x{address:x} is no device memory")

    # The driver's functions, in the order in which kdsl meets them.

    def _cuInit(self, flags: int) -> None:
        assert flags == 0

    def _cuDriverGetVersion(self) -> Any:
        return (self.driver_version,)

    def _cuDeviceGetCount(self) -> Any:
        return (self.devices,)

    def _cuDeviceGet(self, ordinal: int) -> Any:
        return (self.real.CUdevice(ordinal),)

    def _cuDeviceGetName(self, size: int, device: Any) -> Any:
        return (b"Fake GPU".ljust(size, b"\0"),)

    def _cuDeviceGetAttribute(self, attribute: Any, device: Any) -> Any:
        return (self.attributes[attribute.name.removeprefix("CU_DEVICE_ATTRIBUTE_")],)

    def _cuDevicePrimaryCtxRetain(self, device: Any) -> Any:
        return (self.real.CUcontext(77),)

    def _cuCtxGetCurrent(self) -> Any:
        return (self.real.CUcontext(getattr(self.current, "context", 0)),)

    def _cuCtxSetCurrent(self, context: Any) -> None:
        self.current.context = int(context)

    def _cuGetErrorName(self, code: Any) -> Any:
        return (code.name.encode(),)

    def _cuGetErrorString(self, code: Any) -> Any:
        return (b"in the driver's words",)

    def _cuMemGetInfo(self) -> Any:
        return (1 << 20, 1 << 32)

    def _cuMemPoolCreate(self, properties: Any) -> Any:
        assert int(properties.allocType) == 1 and int(properties.location.type) == 1 and properties.location.id == 0
        return (self.real.CUmemoryPool(55),)

    def _cuMemPoolSetAttribute(self, pool: Any, attribute: Any, value: Any) -> None:
        assert attribute.name == "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD" and int(value) == 1 << 28

    def _allocate(self, size: int) -> Any:
        address = next(self.handles) << 20
        self.memory[address] = bytearray(size)
        return (self.real.CUdeviceptr(address),)

    def _cuMemAllocFromPoolAsync(self, size: int, pool: Any, stream: int) -> Any:
        assert int(pool) == 55 and stream == 0
        return self._allocate(size)

    def _cuMemAlloc(self, size: int) -> Any:
        return self._allocate(size)

    def _cuMemFreeAsync(self, address: int, stream: int) -> None:
        del self.memory[address]

    def _cuMemFree(self, address: int) -> None:
        del self.memory[address]

    def _cuMemPoolTrimTo(self, pool: Any, keep: int) -> None:
        assert int(pool) == 55

    def _cuMemPoolGetAttribute(self, pool: Any, attribute: Any) -> Any:
        assert int(pool) == 55
        used = sum(len(block) for block in self.memory.values())
        words = {"USED_MEM_CURRENT": used, "RESERVED_MEM_CURRENT": 1 << 21, "RELEASE_THRESHOLD": 1 << 28}
        return (self.real.cuuint64_t(words[attribute.name.removeprefix("CU_MEMPOOL_ATTR_")]),)

    def _cuMemAllocManaged(self, size: int, flags: int) -> Any:
        assert flags == 1  # CU_MEM_ATTACH_GLOBAL
        block = bytearray(size)
        address = ctypes.addressof((ctypes.c_ubyte * size).from_buffer(block))
        self.memory[address] = block
        return (self.real.CUdeviceptr(address),)

    def _cuMemFreeHost(self, host: int) -> None:
        del self.memory[self.mapped.pop(host)]

    def _cuMemcpyHtoDAsync(self, address: int, source: memoryview, size: int, stream: Any) -> None:
        self._cuMemcpyHtoD(address, source, size)

    def _cuMemcpyDtoHAsync(self, destination: memoryview, address: int, size: int, stream: Any) -> None:
        self._cuMemcpyDtoH(destination, address, size)

    def _cuMemPrefetchAsync(self, address: int, size: int, location: Any, flags: int, stream: Any) -> None:
        assert flags == 0 and self.bytes_at(address, size) is not None

    def _cuMemAdvise(self, address: int, size: int, advice: Any, location: Any) -> None:
        assert self.bytes_at(address, size) is not None

    def _cuMemcpyHtoD(self, address: int, source: memoryview, size: int) -> None:
        memoryview(self.bytes_at(address, size)).cast("B")[:] = source

    def _cuMemcpyDtoH(self, destination: memoryview, address: int, size: int) -> None:
        destination[:] = bytes(self.bytes_at(address, size))

    def _cuMemcpyDtoDAsync(self, destination: int, source: int, size: int, stream: int) -> None:
        def copy() -> None:
            memoryview(self.bytes_at(destination, size)).cast("B")[:] = bytes(self.bytes_at(source, size))

        if not self.record(stream, Node(1, [], copy)):
            copy()

    def _fill(self, address: int, pattern: bytes, count: int, stream: int) -> None:
        size = len(pattern) * count

        def fill() -> None:
            memoryview(self.bytes_at(address, size)).cast("B")[:] = pattern * count

        assert address % len(pattern) == 0
        if not self.record(stream, Node(2, [], fill)):
            fill()

    def _cuMemsetD8Async(self, address: int, value: int, size: int, stream: int) -> None:
        self._fill(address, bytes([value]), size, stream)

    def _cuMemsetD16Async(self, address: int, value: int, count: int, stream: int) -> None:
        self._fill(address, value.to_bytes(2, "little"), count, stream)

    def _cuMemsetD32Async(self, address: int, value: int, count: int, stream: int) -> None:
        self._fill(address, value.to_bytes(4, "little"), count, stream)

    def _cuLibraryLoadData(self, code: bytes, options: Any, values: Any, count: int, *more: Any) -> Any:
        assert [option.name for option in options] == [
            "CU_JIT_ERROR_LOG_BUFFER",
            "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES",
        ]
        assert len(values[0]) == values[1] and count == 2 and more == ([], [], 0)
        values[0][: len(self.log)] = self.log
        if self.log:
            raise AssertionError("set codes too")
        return (self.real.CUlibrary(5),)

    def _cuLibraryGetGlobal(self, library: Any, name: bytes) -> Any:
        address = self.globals[name.decode()]
        return (self.real.CUdeviceptr(address), len(self.memory[address]))

    def _cuMemHostAlloc(self, size: int, flags: int) -> Any:
        assert flags in (2, 3)  # CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE
        block = bytearray(b"\xaa" * size)
        host = ctypes.addressof((ctypes.c_ubyte * size).from_buffer(block))
        self.mapped[host] = next(self.handles) << 20
        self.memory[self.mapped[host]] = block
        return (host,)

    def _cuMemHostGetDevicePointer(self, host: int, flags: int) -> Any:
        assert flags == 0
        return (self.real.CUdeviceptr(self.mapped[host]),)

    def _cuLibraryGetKernel(self, library: Any, name: bytes) -> Any:
        return (self.real.CUkernel(100 + list(self.kernels).index(name.decode())),)

    def _cuLibraryGetKernelCount(self, library: Any) -> Any:
        return (len(self.kernels),)

    def _cuLibraryEnumerateKernels(self, count: int, library: Any) -> Any:
        return ([self.real.CUkernel(100 + index) for index in range(count)],)

    def _cuFuncGetParamInfo(self, function: Any, index: int) -> Any:
        if index == len(self.parameter_places):
            raise Refusal(1)
        return self.parameter_places[index]

    def _cuLibraryGetModule(self, library: Any) -> Any:
        return (self.real.CUmodule(6),)

    def _cuLinkCreate(self, count: int, options: Any, values: Any) -> Any:
        assert count == 2 and len(values[0]) == values[1]
        self.linked = []
        self.link_log = values[0]
        return (self.real.CUlinkState(7),)

    def _cuLinkAddData(self, state: Any, kind: Any, data: bytes, size: int, name: bytes, *options: Any) -> None:
        assert len(data) == size and options == (0, [], [])
        self.linked.append((kind.name, data, name))

    def _cuLinkComplete(self, state: Any) -> Any:
        self.image = ctypes.create_string_buffer(b"machine code")
        if self.log:
            self.link_log[: len(self.log)] = self.log
            raise Refusal(218)
        return (ctypes.addressof(self.image), 12)

    def _cuLinkDestroy(self, state: Any) -> None: ...

    def _cuLibraryUnload(self, library: Any) -> None: ...

    def _cuKernelGetName(self, kernel: Any) -> Any:
        return (list(self.kernels)[int(kernel) - 100].encode(),)

    def _cuKernelGetFunction(self, kernel: Any) -> Any:
        return (self.real.CUfunction(int(kernel) + 100),)

    def _cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function: Any, threads: int, shared_bytes: int) -> Any:
        return (min(self.most_blocks, 2048 // threads, 233472 // (shared_bytes + 1024)),)

    def _cuOccupancyMaxPotentialBlockSize(self, function: Any, callback: Any, shared_bytes: int, most: int) -> Any:
        assert int(callback) == 0
        return (self.attributes["MULTIPROCESSOR_COUNT"] * 2, min(768, most or 768))

    def _cuOccupancyMaxActiveClusters(self, function: Any, config: Any) -> Any:
        (cluster,) = (a.value.clusterDim.x for a in config.attrs if "CLUSTER" in a.id.name)
        return (self.most_blocks * self.attributes["MULTIPROCESSOR_COUNT"] // cluster,)

    def _cuFuncSetAttribute(self, function: Any, attribute: Any, value: int) -> None:
        if attribute.name == "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED":
            assert value == 1
            self.large_clusters.add(int(function))
            return
        assert attribute.name == "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"
        self.dynamic_shared[int(function)] = value

    def _cuFuncGetAttribute(self, attribute: Any, function: Any) -> Any:
        if attribute.name == "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES":
            return (self.dynamic_shared.get(int(function), 49152),)
        return (self.function_attributes[attribute.name.removeprefix("CU_FUNC_ATTRIBUTE_")],)

    def _run(self, function: Any, extra: int) -> None:
        self.run_kernel(int(function), parameters_at(extra))

    def _cuGetProcAddress(self, name: bytes, version: int, flags: int) -> Any:
        assert version == 12000 and flags == 1
        return (ctypes.cast(self._by_address[name], ctypes.c_void_p).value, None)

    def _called_by_address(self, call: Callable[..., tuple[Any, ...]]) -> int:
        """The code of a call; what must not be raised through ctypes is kept in ``raised``."""
        try:
            return int(call()[0])
        except BaseException as error:
            self.raised.append(error)
            return 999

    def _host_function_by_address(self, stream: int | None, function: int, data: int) -> int:
        return self._called_by_address(lambda: self.cuLaunchHostFunc(stream or 0, function, data))

    def _pointer_by_address(self, data: int, attribute: int, address: int | None) -> int:
        def call() -> Any:
            result = self.cuPointerGetAttribute(self.real.CUpointer_attribute(attribute), address or 0)
            # What is there after an error is nobody's word.
            ctypes.c_int.from_address(data).value = 0 if int(result[0]) else int(result[1])
            return result

        return self._called_by_address(call)

    def _graph_by_address(self, executable: int, stream: int | None) -> int:
        real = self.real
        return self._called_by_address(
            lambda: self.cuGraphLaunch(real.CUgraphExec(executable), real.CUstream(stream or 0))
        )

    def _launch_by_address(self, address: int, function: int, parameters: int | None, extra: int | None) -> int:
        """Take a launch apart, as `cuLaunchKernel` if it has no attributes. ``raised`` keeps what ctypes would not let
        through.
        """
        try:
            given = LaunchStruct.from_address(address)
            handle, rest = self.real.CUfunction(function), (parameters or 0, extra or 0)
            if not given.count:
                stream = self.real.CUstream(given.stream or 0)
                result = self.cuLaunchKernel(handle, *given.grid, *given.block, given.shared_bytes, stream, *rest)
                return int(result[0])
            config = self.real.CUlaunchConfig()
            config.gridDimX, config.blockDimX, config.hStream = given.grid[0], given.block[0], given.stream or 0
            attributes = []
            for index in range(given.count):
                attributes.append(self.real.CUlaunchAttribute())
                size = ATTRIBUTE_BYTES
                ctypes.memmove(attributes[-1].getPtr(), given.attributes + size * index, size)
            config.attrs = attributes
            return int(self.cuLaunchKernelEx(config, handle, *rest)[0])
        except BaseException as error:
            self.raised.append(error)
            return 999

    def _cuLaunchKernel(self, function: Any, *args: Any) -> None:
        assert isinstance(function, self.real.CUfunction)
        *numbers, stream, parameters, extra = args
        assert isinstance(stream, self.real.CUstream) and parameters == 0
        self.is_stream(stream)
        if self.record(stream, self.kernel_node(function, parameters_at(extra), tuple(numbers))):
            return
        self.launched.append((*numbers, int(stream)))
        self._run(function, extra)

    def _cuLaunchKernelEx(self, config: Any, function: Any, parameters: int, extra: int) -> None:
        if self.record(config.hStream, self.kernel_node(function, parameters_at(extra), (config.gridDimX,))):
            return
        self.launched.append(
            (
                config.gridDimX,
                config.blockDimX,
                [(a.id.name, getattr(a.value, LAUNCH_ATTRIBUTES[a.id.name])) for a in config.attrs],
            )
        )
        self._run(function, extra)

    def _cuCtxSynchronize(self) -> None:
        assert not self.captures, "it would end the capture"

    # Streams and events. Work ends at once; streams of other libraries have large handles.

    def is_stream(self, stream: Any) -> int:
        """The handle of a stream that there is."""
        handle = int(stream)
        assert handle in self.streams or handle >= 0x7000000, f"0x{handle:x} is no stream"
        return handle

    def is_event(self, event: Any) -> int:
        """The handle of an event that there is."""
        assert isinstance(event, self.real.CUevent) and int(event) in self.events, f"{event!r} is no event"
        return int(event)

    def _cuStreamSynchronize(self, stream: Any) -> None:
        self.is_stream(stream)

    def _cuCtxGetStreamPriorityRange(self) -> Any:
        return (0, -5)

    def _cuStreamCreateWithPriority(self, flags: int, priority: int) -> Any:
        assert flags in (0, 1) and -5 <= priority <= 0
        handle = next(self.handles)
        self.streams[handle] = (flags, priority)
        return (self.real.CUstream(handle),)

    def _cuStreamGetFlags(self, stream: Any) -> Any:
        return (self.streams.get(self.is_stream(stream), (0, 0))[0],)

    def _cuStreamGetPriority(self, stream: Any) -> Any:
        return (self.streams.get(self.is_stream(stream), (0, 0))[1],)

    def _cuStreamDestroy(self, stream: Any) -> None:
        del self.streams[int(stream)]

    def _cuStreamQuery(self, stream: Any) -> None:
        self.is_stream(stream)

    def _cuStreamWaitEvent(self, stream: Any, event: Any, flags: int) -> None:
        self.is_stream(stream)
        self.is_event(event)
        assert flags == 0
        if int(event) in self.captured_events:
            capture, tails = self.captured_events[int(event)]
            assert self.capture_at(stream) in (None, capture) and capture in self.captures
            capture.tails[int(stream)] = list(dict.fromkeys([*capture.tails.get(int(stream), []), *tails]))
        elif self.capture_at(stream) is not None:
            raise Refusal(905)

    def _cuLaunchHostFunc(self, stream: Any, function: Any, data: int) -> None:
        self.is_stream(stream)
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)
        if self.record(stream, Node(3, [], lambda: call(data))):
            return
        thread = threading.Thread(target=call, args=(data,))
        thread.start()
        thread.join()

    def _cuStreamIsCapturing(self, stream: Any) -> Any:
        captured = int(stream) in self.capturing or self.capture_at(stream) is not None
        return (self.real.CUstreamCaptureStatus(int(captured)),)

    def _cuPointerGetAttribute(self, attribute: Any, address: int) -> Any:
        return (self.pointers.get(address, {}).get(attribute.name.removeprefix("CU_POINTER_ATTRIBUTE_"), 0),)

    def _cuEventCreate(self, flags: int) -> Any:
        assert flags in (0, 1, 2, 3)
        handle = next(self.handles)
        self.events[handle] = flags
        return (self.real.CUevent(handle),)

    def _cuEventDestroy(self, event: Any) -> None:
        del self.events[self.is_event(event)]

    def _cuEventRecord(self, event: Any, stream: Any) -> None:
        self.is_event(event)
        self.is_stream(stream)
        if int(stream) in (0, 1) and any(self.streams[capture.origin][0] == 0 for capture in self.captures):
            raise Refusal(906)
        self.captured_events.pop(int(event), None)
        capture = self.capture_at(stream)
        if capture is not None:
            self.captured_events[int(event)] = (capture, capture.tails[int(stream)])

    def _cuEventQuery(self, event: Any) -> None:
        if self.is_event(event) in self.captured_events:
            raise Refusal(907)

    def _cuEventSynchronize(self, event: Any) -> None:
        self.is_event(event)

    def _cuEventElapsedTime(self, start: Any, end: Any) -> Any:
        assert not (self.events[self.is_event(start)] | self.events[self.is_event(end)]) & 2
        return (1.5,)


def function(gpu: CudaDriver, name: str = "vadd") -> Any:
    """A kernel of a freshly loaded module."""
    return gpu.function(gpu.load(b".version 7.8\n"), name)
