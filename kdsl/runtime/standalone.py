"""Launches the kernels of a fatbin. `kdsl build` copies this file into the loaders that it writes: it needs cuda-python
and NumPy, and nothing of kdsl.
"""

from __future__ import annotations

import ctypes
import math
import operator
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, NoReturn, TypeAlias, TypeVar, cast

import numpy as np

L = TypeVar("L")
"""A kernel's call, a Protocol with its parameters."""
Extents: TypeAlias = "int | tuple[int, ...]"
Arguments = Sequence[Any]
CLUSTER, COOPERATIVE = "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION", "CU_LAUNCH_ATTRIBUTE_COOPERATIVE"
DEFAULT_SHARED = 48 * 1024
DEFAULT_STREAMS = {0, 1}
"""The legacy default stream's two names."""


class CudaError(RuntimeError):
    """The CUDA driver refused a call, or a kernel failed; ``code`` is its CUresult."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message, code)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])


class Scalar(NamedTuple):
    """A number. ``format`` is struct's character, ``e2`` a bfloat16; ``place`` where it is in the arguments."""

    name: str
    format: str
    place: tuple[int, ...]


class Record(NamedTuple):
    """A struct, complex number or vector by value: an element of ``dtype``, or ``lanes`` of them."""

    name: str
    dtype: np.dtype[Any]
    lanes: int
    place: tuple[int, ...]


class Array(NamedTuple):
    """Global memory. ``dtype`` is NumPy's, or the name of one that NumPy lacks and its bytes. ``rank`` is None for a
    pointer; otherwise extents are passed as well, in struct's ``extent`` format, and with ``strided`` strides.
    """

    name: str
    dtype: np.dtype[Any] | tuple[str, int]
    written: bool
    place: tuple[int, ...]
    align: int = 1
    lanes: int = 1
    rank: int | None = None
    strided: bool = False
    extent: str = "i"


Parameter = Scalar | Record | Array


class Contract(NamedTuple):
    """What a kernel requires of every launch: each relation as its text and a function of `Values`. ``block`` and
    ``grid`` give extents without brackets, from the arguments; ``fixed_block`` is that of every launch.
    """

    requires: tuple[tuple[str, Callable[[Values], bool]], ...] = ()
    block: Callable[[Values], tuple[int, int, int]] | None = None
    grid: Callable[[Values], tuple[int, int, int]] | None = None
    shared: Callable[[Values], int] | None = None
    fixed_block: tuple[int, int, int] | None = None


class Values:
    """What the relations of a contract are about: the arguments of a launch, and its configuration."""

    def __init__(self, kernel: Kernel[Any], given: Arguments, launch: _Launch | None = None) -> None:
        self.kernel, self.given, self.launch = kernel, given, launch

    def argument(self, name: str) -> Any:
        """A scalar, as a plain number of Python's."""
        value = self.given[self.kernel.names.index(name)]
        return value.item() if isinstance(value, np.generic | np.ndarray) else value

    def array(self, name: str, attribute: str, axis: int, lanes: int) -> int:
        """What is known of an array; elements of ``lanes`` numbers are one."""
        value = self.given[self.kernel.names.index(name)]
        interface = value.__array_interface__ if isinstance(value, np.ndarray) else value.__cuda_array_interface__
        shape, item = tuple[int, ...](interface["shape"]), np.dtype(interface["typestr"]).itemsize
        if attribute == "ptr":
            return int(interface["data"][0])
        if attribute == "shape":
            return int(shape[axis])
        if attribute == "strides":
            strides = interface.get("strides")
            return int(strides[axis]) if strides is not None else math.prod(shape[axis + 1 :]) * item
        sizes: dict[str, int] = {"size": math.prod(shape) // lanes, "ndim": len(shape), "nbytes": math.prod(shape) * item}
        return sizes[attribute]

    def configured(self, what: str, axis: str) -> int:
        """A part of the configuration."""
        assert self.launch is not None
        if what == "shared":
            return self.launch.shared
        extents = self.launch.grid if what == "grid" else self.launch.block
        return math.prod(extents) if axis == "size" else extents["xyz".index(axis)]


def shift_left(a: int, b: int) -> int:
    """``a << b`` for amounts that make sense of arguments."""
    if not 0 <= b <= 128:
        raise ArithmeticError(f"a shift by {b}")
    return a << b


def shift_right(a: int, b: int) -> int:
    """``a >> b``; any amount that is not negative."""
    if b < 0:
        raise ArithmeticError(f"a shift by {b}")
    return a >> b


class DeviceArray:
    """An array in device memory, which it owns. It has `__cuda_array_interface__`."""

    def __init__(self, module: Module, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype, self.module = shape, dtype, module
        self.size = math.prod(shape)
        self.nbytes = self.size * dtype.itemsize
        self.address = int(module.call("cuMemAlloc", max(self.nbytes, 1)))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "data": (self.address if self.size else 0, False),
            "strides": None,
            "version": 3,
            "stream": 1,
        }

    def to_host(self) -> np.ndarray[Any, Any]:
        """A copy in host memory, made when all work before it has finished."""
        out = np.empty(self.shape, self.dtype)
        if out.nbytes:
            self.module.synchronize()
            self.module.call("cuMemcpyDtoH", out.ctypes.data, self.address, out.nbytes)
        return out

    def copy_from(self, host: np.ndarray[Any, Any]) -> None:
        """Replace all elements. ValueError for another shape or dtype."""
        if host.shape != self.shape or host.dtype != self.dtype:
            raise ValueError(f"copy_from() takes {self.dtype} of shape {self.shape}, got {host.dtype} {host.shape}")
        if host.nbytes:
            contiguous = np.ascontiguousarray(host)
            self.module.call("cuMemcpyHtoD", self.address, contiguous.ctypes.data, host.nbytes)

    def __del__(self) -> None:
        address = getattr(self, "address", 0)
        if address:
            # The driver's code, if any, is of an earlier fault, which the next call reports.
            self.module.driver.cuMemFree(address)


class Module:
    """The kernels of a fatbin, cubin or PTX text, loaded where they are first launched.

    It is loaded into the CUDA context that is current then, or into the primary one of device 0.
    """

    def __init__(self, image: bytes, driver: Any = None) -> None:
        self.image = image
        self._driver = driver
        self._lock = threading.Lock()
        self._context: Any = None
        self._handle: Any = None

    @property
    def driver(self) -> Any:
        if self._driver is None:
            from cuda.bindings import driver

            self._driver = driver
        return self._driver

    def call(self, name: str, *arguments: Any) -> Any:
        """What a function of the driver gives; CudaError if it fails."""
        self.enter()
        return self.checked(name, getattr(self.driver, name)(*arguments))

    def checked(self, what: str, given: tuple[Any, ...]) -> Any:
        """A driver function's results without its code; CudaError if that is one."""
        code, *results = given
        if int(code):
            text = self.driver.cuGetErrorString(code)[1] or b"unknown error"
            name = self.driver.cuGetErrorName(code)[1] or b"?"
            raise CudaError(f"{what}: {name.decode()}: {text.decode()}", int(code))
        return results[0] if len(results) == 1 else results

    def enter(self) -> None:
        """See that this thread has the module's context."""
        api = self.driver
        if self._context is None:
            with self._lock:
                if self._context is None:
                    self._context = self._found_context()
        current = self.checked("cuCtxGetCurrent", api.cuCtxGetCurrent())
        if int(current) != int(self._context):
            self.checked("cuCtxSetCurrent", api.cuCtxSetCurrent(self._context))

    def _found_context(self) -> Any:
        api = self.driver
        self.checked("cuInit", api.cuInit(0))
        current = self.checked("cuCtxGetCurrent", api.cuCtxGetCurrent())
        if int(current):
            return current
        device = self.checked("cuDeviceGet", api.cuDeviceGet(0))
        return self.checked("cuDevicePrimaryCtxRetain", api.cuDevicePrimaryCtxRetain(device))

    @property
    def handle(self) -> Any:
        if self._handle is None:
            self.enter()
            with self._lock:
                if self._handle is None:
                    loaded = self.driver.cuModuleLoadData(self.image)
                    self._handle = self.checked("loading the kernels, which are built for certain GPUs", loaded)
        return self._handle

    def function(self, entry: str) -> Any:
        return self.call("cuModuleGetFunction", self.handle, entry.encode())

    def variable(self, name: str) -> tuple[int, int]:
        """Address and size in bytes of a variable in global or constant memory."""
        address, size = self.call("cuModuleGetGlobal", self.handle, name.encode())
        return int(address), int(size)

    def synchronize(self) -> None:
        """Wait for all work, and raise what went wrong in it."""
        self.call("cuCtxSynchronize")

    def empty(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> DeviceArray:
        """An array in device memory whose elements are not set."""
        extents = shape if isinstance(shape, tuple) else (shape,)
        return DeviceArray(self, tuple(map(operator.index, extents)), np.dtype(dtype))

    def to_device(self, host: Any) -> DeviceArray:
        """A copy of a NumPy array in device memory."""
        array = np.asarray(host)
        out = self.empty(array.shape, array.dtype)
        out.copy_from(array)
        return out


class Kernel(Generic[L]):
    """A kernel: ``kernel[grid, block](...)``, also ``[grid, block, stream]`` and ``[grid, block, stream, shared]``.

    ``most_threads`` is the largest block it is compiled for, ``multiple`` what the threads of a block are a multiple
    of, ``cluster`` the blocks of its clusters; ``cooperative``: all its blocks must run together.
    """

    def __init__(
        self,
        module: Module,
        entry: str,
        names: tuple[str, ...],
        parameters: Sequence[Parameter],
        most_threads: int | None = None,
        multiple: int = 1,
        cluster: tuple[int, int, int] | None = None,
        cooperative: bool = False,
        contract: Contract | None = None,
    ) -> None:
        self.module, self.entry, self.names, self.parameters = module, entry, names, tuple(parameters)
        self.most_threads, self.multiple = most_threads, multiple
        self.cluster, self.cooperative, self.contract = cluster, cooperative, contract or Contract()
        self._function: Any = None

    @property
    def function(self) -> Any:
        if self._function is None:
            self._function = self.module.function(self.entry)
        return self._function

    def __getitem__(self, configuration: Any) -> L:
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise TypeError(f"{self.entry}[grid, block], [grid, block, stream] or [grid, block, stream, shared_bytes]")
        grid, block, stream, shared = (*configuration, None, 0)[:2] + (*configuration[2:], None, 0)[:2]
        return cast(L, _Launch(self, _extents("grid", grid), _extents("block", block), _stream(stream), shared or 0))

    @property
    def launch(self) -> L:
        """``kernel.launch(...)`` without brackets, for a kernel whose contract says grid and block."""
        return cast(L, self._launched)

    def _launched(self, *arguments: Any, **keywords: Any) -> None:
        contract = self.contract
        if contract.grid is None or contract.block is None:
            raise TypeError(
                f"{self.entry} has no contract that says its grid and block: {self.entry}[grid, block](...)"
            )
        values = Values(self, _in_order(self, arguments, keywords))
        grid, shared = contract.grid(values), contract.shared(values) if contract.shared is not None else 0
        if 0 not in grid:
            _Launch(self, grid, _extents("block", contract.block(values)), 0, shared)(*arguments, **keywords)

    def __call__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        raise TypeError(f"{self.entry} is launched as {self.entry}[grid, block](...)")

    def __repr__(self) -> str:
        return f"<kernel {self.entry}({', '.join(self.names)})>"


class _Launch:
    """A kernel with its configuration."""

    def __init__(
        self, kernel: Kernel[Any], grid: Sequence[int], block: Sequence[int], stream: Any, shared: int
    ) -> None:
        threads = math.prod(block)
        if kernel.most_threads is not None and threads > kernel.most_threads:
            raise ValueError(f"block = {block}: {kernel.entry} is compiled for at most {kernel.most_threads} threads")
        if threads % kernel.multiple:
            raise ValueError(f"block = {block}: {kernel.entry} takes a multiple of {kernel.multiple} threads")
        fixed = kernel.contract.fixed_block
        if fixed is not None and tuple(block) != fixed:
            raise ValueError(f"block = {block}: {kernel.entry} is compiled for blocks of {fixed}")
        self.kernel, self.grid, self.block, self.stream = kernel, grid, block, stream
        self.shared = operator.index(shared)

    def __call__(self, *arguments: Any, **keywords: Any) -> None:
        kernel = self.kernel
        given = _in_order(kernel, arguments, keywords)
        module = kernel.module
        function = kernel.function
        host = _HostArrays(module)
        try:
            packed = [value for parameter in kernel.parameters for value in _passed(kernel, parameter, given, host)]
            self._check(given)
            host.copy_in()
            values = [value() if callable(value) else value for value in packed]
            for stream in host.producers:
                self._wait_for(stream)
            self._enqueue(function, values)
            host.copy_back()
        finally:
            host.release()

    def _check(self, given: Arguments) -> None:
        """ValueError for a relation of the contract that does not hold."""
        for text, relation in self.kernel.contract.requires:
            try:
                holds = relation(Values(self.kernel, given, self))
            except (ArithmeticError, IndexError):
                holds = False
            if not holds:
                raise ValueError(f"{self.kernel.entry} requires {text}")

    def _wait_for(self, producer: int) -> None:
        """Let the launch come after what another stream has been given."""
        module, api = self.kernel.module, self.kernel.module.driver
        if {producer, self.stream} <= DEFAULT_STREAMS or producer == self.stream:
            return
        event = module.call("cuEventCreate", 2)  # CU_EVENT_DISABLE_TIMING
        try:
            module.call("cuEventRecord", event, api.CUstream(producer))
            module.call("cuStreamWaitEvent", api.CUstream(self.stream), event, 0)
        finally:
            api.cuEventDestroy(event)

    def _enqueue(self, function: Any, values: Sequence[bytes]) -> None:
        module, api = self.kernel.module, self.kernel.module.driver
        module.enter()
        if self.shared > DEFAULT_SHARED:
            attribute = api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            module.call("cuFuncSetAttribute", function, attribute, self.shared)
        # The driver reads every value at its address while it is called.
        buffers = [ctypes.create_string_buffer(value, len(value)) for value in values]
        pointers = (ctypes.c_void_p * max(len(buffers), 1))(*map(ctypes.addressof, buffers))
        address = ctypes.addressof(pointers)
        what = f"launching {self.kernel.entry}"
        if self.kernel.cluster is None and not self.kernel.cooperative:
            launched = api.cuLaunchKernel(function, *self.grid, *self.block, self.shared, self.stream, address, 0)
        else:
            launched = api.cuLaunchKernelEx(self._configuration(), function, address, 0)
        module.checked(what, launched)

    def _configuration(self) -> Any:
        api = self.kernel.module.driver
        config = api.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = self.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = self.block
        config.sharedMemBytes, config.hStream = self.shared, api.CUstream(self.stream)
        attributes = []
        if self.kernel.cluster is not None:
            attributes.append(api.CUlaunchAttribute())
            attributes[-1].id = getattr(api.CUlaunchAttributeID, CLUSTER)
            dimensions = attributes[-1].value.clusterDim
            dimensions.x, dimensions.y, dimensions.z = self.kernel.cluster
        if self.kernel.cooperative:
            attributes.append(api.CUlaunchAttribute())
            attributes[-1].id = getattr(api.CUlaunchAttributeID, COOPERATIVE)
            attributes[-1].value.cooperative = 1
        config.attrs, config.numAttrs = attributes, len(attributes)
        return config


def _extents(what: str, value: Extents) -> tuple[int, int, int]:
    given = value if isinstance(value, tuple) else (value,)
    extents = [operator.index(extent) for extent in given]
    if not 1 <= len(extents) <= 3 or min(extents) < 1:
        raise ValueError(f"{what} = {value!r} takes 1 to 3 numbers of at least 1")
    x, y, z = extents + [1] * (3 - len(extents))
    return x, y, z


def _stream(stream: Any) -> int:
    """The handle in a stream of another library, or an int; 0 for None."""
    if stream is None:
        return 0
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr"):
        if isinstance(getattr(stream, name, None), int):
            return int(getattr(stream, name))
    return operator.index(stream)


def _in_order(kernel: Kernel[Any], arguments: Arguments, keywords: dict[str, Any]) -> Arguments:
    """One argument for each name; TypeError for a call that does not fit."""
    names = kernel.names
    takes = f"{kernel.entry}({', '.join(names)})"
    if len(arguments) > len(names):
        raise TypeError(f"{takes} takes {len(names)} arguments, got {len(arguments)}")
    given = dict(zip(names, arguments, strict=False))
    for name, value in keywords.items():
        if name not in names:
            raise TypeError(f"{takes} has no parameter {name!r}")
        if name in given:
            raise TypeError(f"{takes}: {name} is given twice")
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise TypeError(f"{takes}: {', '.join(missing)} missing")
    return [given[name] for name in names]


def _passed(kernel: Kernel[Any], parameter: Parameter, given: Arguments, host: _HostArrays) -> list[Any]:
    """The values that a parameter passes: bytes, or functions that give them once host arrays have addresses."""
    value: Any = given
    for index in parameter.place:
        value = value[index]
    where = f"{kernel.entry}: argument `{parameter.name}`"
    match parameter:
        case Scalar():
            return [_number(where, parameter.format, value)]
        case Record():
            return [_record(where, parameter, value)]
        case Array():
            return _array(where, parameter, value, host)


def _number(where: str, format: str, value: Any) -> bytes:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if format == "?":
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{where} takes a bool, got {value!r}")
        return struct.pack("?", bool(value))
    is_float = format in ("e", "e2", "f", "d")
    if isinstance(value, str | bytes | complex) or not hasattr(type(value), "__float__" if is_float else "__index__"):
        if not (isinstance(value, np.bool_) or (is_float and hasattr(type(value), "__index__"))):
            raise TypeError(f"{where} takes {'a real number' if is_float else 'an int'}, got {value!r}")
        value = int(value)
    try:
        if format == "e2":
            return _bfloat16(float(value))
        return struct.pack(f"<{format}", float(value) if is_float else operator.index(value))
    except (OverflowError, struct.error):
        raise ValueError(f"{where}: {value!r} does not fit") from None


def _bfloat16(number: float) -> bytes:
    """The nearest bfloat16, ties to even: rounded once, by way of a float32 that is rounded to odd."""
    bits: int = struct.unpack("<I", struct.pack("<f", number))[0]
    if math.isnan(number):
        return b"\xff\x7f"
    back: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    if back != number:
        bits = (bits - 1 if abs(back) > abs(number) else bits) | 1
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    if math.isfinite(number) and rounded & 0x7FFF == 0x7F80:
        raise OverflowError
    return struct.pack("<H", rounded)


def _record(where: str, parameter: Record, value: Any) -> bytes:
    shape = (parameter.lanes,) if parameter.lanes > 1 else ()
    dtype = parameter.dtype
    array = np.asarray(value) if not isinstance(value, tuple) or shape else np.array(value, dtype)
    fits = array.dtype == dtype if dtype.names else np.can_cast(array.dtype, dtype, "same_kind")
    if array.shape != shape or not fits:
        takes = f"{parameter.lanes} numbers of {dtype}" if shape else f"a value of {dtype}"
        raise TypeError(f"{where} takes {takes}, got {value!r}")
    converted = array.astype(dtype)
    if dtype.kind in "iu" and not np.array_equal(converted, array):
        raise ValueError(f"{where}: {value!r} does not fit {dtype}")
    return converted.tobytes()


def _array(where: str, parameter: Array, value: Any, host: _HostArrays) -> list[Any]:
    found = value if isinstance(value, np.ndarray) else getattr(value, "__cuda_array_interface__", None)
    if found is None:
        raise TypeError(f"{where} takes a NumPy array or a CUDA array, got {type(value).__name__}")
    if isinstance(found, np.ndarray):
        shape, typestr, strides, readonly = found.shape, found.dtype, found.strides, not found.flags.writeable
        name = found.dtype.name
    else:
        shape, strides, readonly = tuple(found["shape"]), found.get("strides"), found["data"][1]
        typestr = np.dtype([tuple(d) for d in found["descr"]] if found["typestr"][1] == "V" else found["typestr"])
        name = str(getattr(value, "dtype", typestr)).rpartition(".")[2]
        if found.get("mask") is not None:
            raise TypeError(f"{where}: a masked array")
        if found.get("stream"):
            host.producers.add(int(found["stream"]))
    if not _same(parameter.dtype, typestr, name):
        wanted = parameter.dtype[0] if isinstance(parameter.dtype, tuple) else parameter.dtype
        raise TypeError(f"{where} takes an array of {wanted}, got one of {name}")
    if parameter.written and readonly:
        raise ValueError(f"{where}: the kernel writes to it, and the array is read-only")
    extents = _extents_of(where, parameter, shape)
    strides = _element_strides(where, parameter, shape, strides, typestr.itemsize)
    if isinstance(found, np.ndarray):
        address = host.add(found, parameter.written, typestr.itemsize)
    else:
        address = found["data"][0]
        if address % parameter.align:
            raise ValueError(f"{where}: the address is no multiple of {parameter.align}")
    passed: list[Any] = [address if callable(address) else struct.pack("<Q", address)]
    try:
        passed += [struct.pack(f"<{parameter.extent}", n) for n in (*extents, *strides)]
    except struct.error:
        raise ValueError(f"{where}: its extents do not fit 32 bits") from None
    return passed


def _same(wanted: np.dtype[Any] | tuple[str, int], dtype: np.dtype[Any], name: str) -> bool:
    if isinstance(wanted, tuple):
        return name == wanted[0] and dtype.itemsize == wanted[1]
    return dtype == wanted


def _extents_of(where: str, parameter: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The extents that are passed: none for a pointer; of arrays of vectors all but the components."""
    if parameter.lanes > 1:
        count = math.prod(shape) if parameter.rank is None else (shape[-1] if shape else 0)
        if count % parameter.lanes or (parameter.rank is not None and count != parameter.lanes):
            raise ValueError(f"{where}: its last dimension is no vector of {parameter.lanes}, shape {shape}")
        shape = shape[:-1]
    if parameter.rank is None:
        return ()
    if len(shape) != parameter.rank:
        raise ValueError(f"{where} takes {parameter.rank} dimensions, got shape {shape}")
    return shape


def _element_strides(
    where: str, parameter: Array, shape: tuple[int, ...], strides: Any, itemsize: int
) -> tuple[int, ...]:
    contiguous = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    elements = contiguous if strides is None else tuple(stride // itemsize for stride in strides)
    if not parameter.strided:
        differ = any(e != c for extent, e, c in zip(shape, elements, contiguous, strict=True) if extent > 1)
        if differ and 0 not in shape:
            raise ValueError(f"{where}: the array is not contiguous; pass np.ascontiguousarray(...)")
        return ()
    return elements


class _HostArrays:
    """The arrays of one launch. Host memory that several share is one buffer on the device."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.spans: list[list[int]] = []  # low, high, whether written, device address
        self.kept: list[Any] = []
        self.producers: set[int] = set()
        """Streams on which the arrays of other libraries are made."""

    def add(self, array: np.ndarray[Any, Any], written: bool, itemsize: int) -> Any:
        """What gives the packed address once the arrays are copied in."""
        start = int(array.__array_interface__["data"][0])
        reaches = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)] if array.size else []
        low = start + sum(min(reach, 0) for reach in reaches)
        high = start + sum(max(reach, 0) for reach in reaches) + (itemsize if array.size else 0)
        self.kept.append(array)
        if low < high:
            self._join(low, high, written)
        return lambda: struct.pack("<Q", self._address(start) if low < high else 0)

    def _join(self, low: int, high: int, written: bool) -> None:
        overlapping = [span for span in self.spans if span[0] < high and low < span[1]]
        self.spans = [span for span in self.spans if span not in overlapping]
        low = min([low, *(span[0] for span in overlapping)])
        high = max([high, *(span[1] for span in overlapping)])
        self.spans.append([low, high, int(written or any(span[2] for span in overlapping)), 0])

    def _address(self, host: int) -> int:
        low, _, _, device = next(span for span in self.spans if span[0] <= host < span[1])
        return device + low % 256 + host - low

    def copy_in(self) -> None:
        for span in self.spans:
            low, high = span[:2]
            # Alignment on the host is kept on the device.
            span[3] = int(self.module.call("cuMemAlloc", high - low + low % 256))
            self.module.call("cuMemcpyHtoD", span[3] + low % 256, low, high - low)

    def copy_back(self) -> None:
        if self.spans:
            self.module.synchronize()
        for low, high, written, device in self.spans:
            if written:
                self.module.call("cuMemcpyDtoH", low, device + low % 256, high - low)

    def release(self) -> None:
        for span in self.spans:
            if span[3]:
                self.module.driver.cuMemFree(span[3])
