"""Array arguments: what may stand for a Ptr or Array parameter, checked in full before anything is copied or
enqueued.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kdsl.backend import Backend, device_name
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.struct_dtype import described, difference, dtype_name
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import I32, ML_DTYPES, U64, ArrayType, PointerType, ScalarType, Type, VectorType
from kdsl.records import dataclass
from kdsl.runtime.dlpack import NO_ORDER
from kdsl.runtime.errors import ArgumentError, ArgumentTypeError, ArgumentValueError, ExtentError
from kdsl.runtime.foreign_memory import device_of
from kdsl.runtime.host_memory import in_place
from kdsl.runtime.host_values import is_masked
from kdsl.runtime.interface import ForeignArray, NotOnDeviceError, foreign_array
from kdsl.runtime.layout import contiguous_strides, is_contiguous
from kdsl.runtime.markers import Marker
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.peers import reaches
from kdsl.runtime.scalars import packable, shown
from kdsl.runtime.structs import struct_bytes
from kdsl.runtime.vectors import vector_bytes


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel, as a launch sees it. ``written`` says that the kernel may write through it."""

    kernel: str
    name: str
    type: Type
    written: bool = True

    @property
    def where(self) -> str:
        """How every message about it begins."""
        return f"{self.kernel}: argument `{self.name}`"

    @property
    def element(self) -> ScalarType | StructType:
        """The type of an array parameter's elements; of vectors, that of a component."""
        if self.vector is not None:
            return self.vector.element
        assert isinstance(self.type, (PointerType, ArrayType))
        element = self.type.element
        return element if isinstance(element, ScalarType | StructType) else U64

    @property
    def vector(self) -> VectorType | None:
        """The type of its elements, if they are vectors."""
        element = self.type.element if isinstance(self.type, (PointerType, ArrayType)) else None
        return element if isinstance(element, VectorType) else None

    @property
    def takes(self) -> str:
        """What it takes, in words."""
        vector = self.vector
        if isinstance(self.type, PointerType):
            count = f", {vector.lanes} for each vector" if vector is not None else ""
            return f"{self.type} (a contiguous array of {dtype_name(self.element)}{count})"
        assert isinstance(self.type, ArrayType)
        if vector is not None:
            dimensions = f"{_dimensions(self.type.ndim + 1)}, the last of {vector.lanes}"
            return f"{self.type} (an array of {self.element.numpy} with {dimensions})"
        return f"{self.type} (an array of {dtype_name(self.element)} with {_dimensions(self.type.ndim)})"

    def passing(self, made: str) -> str:
        """The advice to pass ``made``, a copy: what the kernel writes into one is lost with it."""
        return f"pass {made}, and keep it: the kernel may write it" if self.written else f"pass {made}"

    def error(self, kind: Callable[[str], ArgumentError], got: str, fix: str) -> ArgumentError:
        return kind(f"{self.where} takes {self.takes}, got {got}; {fix}")


# Not frozen: one is made for each argument of a launch, and each field would cost twice as much.
@dataclass(slots=True)
class ArrayArgument:
    """An array that fits its parameter. ``strides`` are in elements, None if C-contiguous.

    ``host`` must be copied to the device first. ``copy`` is what makes a contiguous copy, as a user writes it.
    ``is_read`` and ``is_returned`` are a host array's copies, to the device and back if the kernel may write it.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    host: np.ndarray[Any, Any] | None = None
    stream: int | None = None
    foreign: ForeignArray | None = None
    copy: str = "a contiguous copy"
    is_read: bool = True
    is_returned: bool = True
    peer: Backend | None = None
    """The other device whose memory it is in."""

    @property
    def element_strides(self) -> tuple[int, ...]:
        return contiguous_strides(self.shape) if self.strides is None else self.strides


def _dimensions(ndim: int) -> str:
    return f"{ndim} dimension{'s' if ndim != 1 else ''}"


def scalar_argument(parameter: Parameter, value: Any, backend: Backend) -> Any:
    """The value to pack for a scalar, struct or vector parameter."""
    if isinstance(parameter.type, StructType):
        return struct_bytes(parameter.where, parameter.type, value, backend)
    if isinstance(parameter.type, VectorType):
        return vector_bytes(parameter.where, parameter.type, value)
    assert isinstance(parameter.type, ScalarType)
    return packable(parameter.where, parameter.type, value)


def array_argument(parameter: Parameter, value: Any, backend: Backend, stream: int = NO_ORDER) -> ArrayArgument:
    """The array that ``value`` is; ArgumentError if it does not fit the parameter or is not on this device.

    ``stream`` is where the launch goes: arrays whose library tells no stream of its own are made ready there.
    """
    if isinstance(value, Marker):
        return _marked(parameter, value, backend, stream)
    if isinstance(value, DeviceArray):
        found = _device_array(parameter, value, backend)
    elif isinstance(value, np.ndarray):
        found = _host_array(parameter, value, backend)
    else:
        found = _foreign(parameter, value, backend, stream)
    vector = parameter.vector
    if vector is not None:
        found = _of_vectors(parameter, vector, found)
    elif found.address % parameter.element.align and 0 not in found.shape:
        where = f"an array at an address that is no multiple of {parameter.element.align}"
        raise parameter.error(ArgumentValueError, where, parameter.passing("a copy"))
    _check_layout(parameter, found)
    return found


def _marked(parameter: Parameter, marker: Marker, backend: Backend, stream: int) -> ArrayArgument:
    """A host array that is copied as its marker says."""
    name = type(marker).__name__
    if not marker.is_read and not parameter.written:
        fix = f"write In({parameter.name}), which is copied to the device"
        raise parameter.error(ArgumentValueError, f"{marker!r}, and {parameter.kernel} only reads it", fix)
    # What comes back not at all may be read-only.
    seen = parameter if marker.is_returned else replace(parameter, written=False)
    found = array_argument(seen, marker.array, backend, stream)
    if found.host is None and 0 not in found.shape:
        fix = f"pass it without {name}: it is used where it is"
        raise parameter.error(ArgumentTypeError, f"{marker!r}, an array on the device", fix)
    return replace(found, is_read=marker.is_read, is_returned=marker.is_returned)


def _of_vectors(parameter: Parameter, vector: VectorType, found: ArrayArgument) -> ArrayArgument:
    """The same memory as an array of vectors: its last axis is that of their components."""
    shape, name = found.shape, parameter.name
    if found.strides is not None and not is_contiguous(shape, found.strides):
        raise _not_contiguous(parameter, shape, found.copy)
    if isinstance(parameter.type, ArrayType) and (len(shape) != parameter.type.ndim + 1 or shape[-1] != vector.lanes):
        fix = f"pass {name}.reshape({'-1' if parameter.type.ndim == 1 else '...'}, {vector.lanes})"
        raise parameter.error(ArgumentValueError, f"an array of shape {shape}", fix)
    count = math.prod(shape)
    if count % vector.lanes:
        fix = f"pass a multiple of {vector.lanes}"
        raise parameter.error(ArgumentValueError, f"{count} elements, which are no whole number of vectors", fix)
    if count and found.address % vector.align:
        where = f"an array at an address that is no multiple of {vector.align}"
        copy = f"{name}.copy()" if found.host is not None else "a copy"
        raise parameter.error(ArgumentValueError, where, parameter.passing(copy))
    return replace(found, shape=shape[:-1], strides=None) if isinstance(parameter.type, ArrayType) else found


def _device_array(parameter: Parameter, array: DeviceArray, backend: Backend) -> ArrayArgument:
    if array.backend is not backend and not reaches(backend, array.backend):
        raise parameter.error(
            ArgumentValueError,
            f"a DeviceArray on {device_name(array.backend)}",
            f"this launch is on {device_name(backend)}, with its other arguments: pass "
            f"{parameter.name}.to({device_name(backend)!r}), a copy there",
        )
    if array.is_freed:
        raise parameter.error(
            ArgumentValueError, f"{array!r}, whose memory free() has given back", "pass another array"
        )
    _check_dtype(parameter, array.layout.type, f"a DeviceArray of {array.dtype}")
    peer = None if array.backend is backend else array.backend
    if array.is_contiguous:
        return ArrayArgument(array.address, array.shape, peer=peer)
    return ArrayArgument(array.address, array.shape, array.element_strides, copy=f"{parameter.name}.copy()", peer=peer)


def _host_array(parameter: Parameter, array: np.ndarray[Any, Any], backend: Backend) -> ArrayArgument:
    dtype, flags = array.dtype, array.flags
    if (
        dtype != parameter.element.numpy
        or not dtype.isnative
        or array.ndim == 0
        or not (flags.writeable or not parameter.written)
        or not (flags.aligned or array.size == 0)
        or is_masked(array)
    ):
        raise _host_problem(parameter, array)
    # Why not array.ctypes? It makes an object each time; the interface is half the price.
    address: int = array.__array_interface__["data"][0]
    host: np.ndarray[Any, Any] | None = array
    memory = in_place(array, backend) if array.base is not None else None
    if memory is not None:
        address, host = memory.device + address - memory.host, None
    if flags.c_contiguous:
        return ArrayArgument(address, array.shape, host=host)
    size, copy = dtype.itemsize, f"np.ascontiguousarray({parameter.name})"
    if any(stride % size for stride in array.strides):
        raise _not_contiguous(parameter, array.shape, copy)
    return ArrayArgument(address, array.shape, tuple(stride // size for stride in array.strides), host, copy=copy)


def _host_problem(parameter: Parameter, array: np.ndarray[Any, Any]) -> ArgumentError:
    """What is wrong with a NumPy array that does not fit."""
    dtype = array.dtype
    name = parameter.name
    got = f"NumPy array of {dtype}"
    if isinstance(parameter.element, StructType) and not isinstance(parameter.element, ComplexType) and dtype.isnative:
        got = f"NumPy array of {described(dtype)}"
    if is_masked(array):
        filled = "" if parameter.written else f"{name}.filled(value) or "
        return parameter.error(ArgumentTypeError, "a masked array", f"pass {filled}{name}.data")
    if not dtype.isnative:
        conversion = parameter.passing(f"{name}.astype({_spelled(parameter.element)})")
        return parameter.error(ArgumentTypeError, f"a {got} ({dtype.str}, not this machine's byte order)", conversion)
    if dtype != parameter.element.numpy:
        return parameter.error(ArgumentTypeError, f"a {got}", _conversion(parameter, dtype))
    if array.ndim == 0:
        return parameter.error(ArgumentTypeError, f"a {got} with no dimensions", f"pass {name}.reshape(1)")
    if parameter.written and not array.flags.writeable:
        return parameter.error(
            ArgumentValueError, f"a read-only {got}, which the kernel may write", f"pass {name}.copy() and use the copy"
        )
    where = f"at an address that is no multiple of {dtype.alignment}"
    return parameter.error(ArgumentValueError, f"a misaligned {got} ({where})", parameter.passing(f"{name}.copy()"))


def _conversion(parameter: Parameter, dtype: np.dtype[Any]) -> str:
    """The advice for an array of another dtype."""
    element, name = parameter.element, parameter.name
    if dtype.kind in "OSUT":
        return f"kernels have no {'objects' if dtype.kind == 'O' else 'text'}: pass an array of numbers"
    if dtype.kind in "mM":
        return f"kernels have no dates: pass {name}.view(np.int64), its ticks, for a parameter of i64"
    if _same_bytes(element, dtype):
        return f"pass {_converted(element, dtype, name)}, which has the same bytes"
    made = _converted(element, dtype, name)
    if not isinstance(element, StructType) or isinstance(element, ComplexType):
        return parameter.passing(str(made))
    if made is not None:
        return f"{difference(element, dtype)}: {parameter.passing(made)}"
    first = (element.numpy.names or ("",))[0]
    fields = f"make it np.zeros(shape, {_spelled(element)}) before, and set its fields, {name}[{first!r}] = ..."
    return f"{difference(element, dtype)}: {fields}"


def _converted(element: ScalarType | StructType, dtype: np.dtype[Any], name: str) -> str | None:
    """The expression that makes an array of another dtype one of ``element``; None if no conversion does."""
    spelled = _spelled(element)
    if _same_bytes(element, dtype):
        return f"{name}.view({spelled})"  # the same memory, into which the kernel writes
    if not isinstance(element, StructType) or isinstance(element, ComplexType):
        return f"{name}.astype({spelled})"
    wanted = element.numpy.names or ()
    if dtype.names is None or set(dtype.names) != set(wanted):
        return None
    # Why the fields by name? astype() goes by their order.
    return f"{name}{'' if dtype.names == wanted else [list(wanted)]}.astype({spelled})"


def _same_bytes(element: ScalarType | StructType, dtype: np.dtype[Any]) -> bool:
    """Whether a dtype of bits is what an array of ``element`` is kept as: ints of its size."""
    if dtype.kind not in "iu" or dtype.itemsize != element.size or not isinstance(element, ScalarType):
        return False
    return element.is_int or element.numpy.name in ML_DTYPES.values()


def _foreign(parameter: Parameter, value: Any, backend: Backend, stream: int) -> ArrayArgument:
    try:
        view = foreign_array(value, stream)
    except NotOnDeviceError as error:
        raise parameter.error(ArgumentTypeError, shown(value), f"it {error}") from None
    if view is None:
        raise parameter.error(ArgumentTypeError, shown(value), _array_fix(parameter, value))
    if not view.is_host and backend.name != "cuda":
        raise parameter.error(
            ArgumentTypeError,
            f"a CUDA array ({shown(value)})",
            f"the {backend.name} takes NumPy arrays and its own DeviceArrays: copy it to the host first",
        )
    fix = f"{parameter.name}.astype" if view.type and hasattr(value, "astype") else ""
    _check_dtype(parameter, view.type, f"{shown(value)} of {view.dtype}", fix)
    if parameter.written and view.readonly:
        raise parameter.error(
            ArgumentValueError,
            f"a read-only {shown(value)}, which the kernel may write",
            view.immutable or "pass a copy and use the copy",
        )
    if view.address % parameter.element.align and 0 not in view.shape:
        raise parameter.error(
            ArgumentValueError,
            f"{shown(value)} at the misaligned address 0x{view.address:x}",
            parameter.passing("a copy"),
        )
    if view.misaligned_strides:
        raise _not_contiguous(parameter, view.shape, "a contiguous copy")
    copy = f"{parameter.name}.contiguous()" if view.tensor is not None else "a contiguous copy"
    if view.is_host:
        host = view.on_host()
        address: int = host.__array_interface__["data"][0]
        return ArrayArgument(address, view.shape, view.strides, host, foreign=view, copy=copy)
    _check_device(parameter, value, view, backend)
    return ArrayArgument(view.address, view.shape, view.strides, stream=view.stream, foreign=view, copy=copy)


def _check_device(parameter: Parameter, value: Any, view: ForeignArray, backend: Backend) -> None:
    if 0 in view.shape:
        return
    device = view.device
    try:
        device = device_of(backend, view.address) if device is None else device
    except NotOnDeviceError as error:
        raise parameter.error(ArgumentValueError, shown(value), f"{error}") from None
    ordinal = getattr(backend, "ordinal", None)
    if device is not None and ordinal is not None and device != ordinal:
        raise parameter.error(
            ArgumentValueError,
            f"{shown(value)} on cuda:{device}",
            f"this launch is on cuda:{ordinal}: pass a copy that is there, or kdsl.set_device({device}) before",
        )


def _array_fix(parameter: Parameter, value: Any) -> str:
    dtype = _spelled(parameter.element)
    if value is None:
        return f"pass an array, such as np.zeros(n, {dtype}) or kdsl.empty(n, {parameter.element})"
    if isinstance(value, (list, tuple, range)):
        return parameter.passing(f"np.array(..., {dtype})")
    if hasattr(value, "to_numpy"):
        return parameter.passing(f"{parameter.name}.to_numpy(dtype={dtype})")
    if isinstance(value, (int, float, complex, np.generic)):
        return parameter.passing(f"an array of one element, np.array([...], {dtype})")
    return f"pass a NumPy array, a kdsl.DeviceArray or a CUDA array of {dtype_name(parameter.element)}"


def _check_dtype(parameter: Parameter, type_: ScalarType | StructType | None, got: str, fix: str = "") -> None:
    element = parameter.element
    if type_ == element or (
        isinstance(type_, StructType) and isinstance(element, StructType) and type_.numpy == element.numpy
    ):
        return
    name, made = parameter.name, f"{fix}({_spelled(element)})" if fix else "a converted copy"
    if got.startswith("a DeviceArray") and type_ is not None and _same_bytes(element, type_.numpy):
        conversion = f"pass {name}.view({element}), which has the same bytes"
    elif got.startswith("a DeviceArray") and type_ is not None:
        host = _converted(element, type_.numpy, f"{name}.to_host()")
        conversion = parameter.passing(f"kdsl.to_device({host})" if host is not None else f"an array of {element}")
    elif got.startswith(("torch.Tensor", "torch.Parameter")):
        conversion = parameter.passing(f"{name}.to(torch.{element.numpy})")
    else:
        conversion = parameter.passing(made)
    raise parameter.error(ArgumentTypeError, got, conversion)


def _spelled(type_: ScalarType | StructType) -> str:
    """A type's dtype as a user writes it."""
    if isinstance(type_, StructType) and not isinstance(type_, ComplexType):
        return dtype_name(type_)
    dtype = type_.numpy
    if dtype.name in ML_DTYPES.values():
        return f"ml_dtypes.{dtype.name}"
    return "np.bool_" if dtype.name == "bool" else f"np.{dtype.name}"


def _check_layout(parameter: Parameter, found: ArrayArgument) -> None:
    """Rank, contiguity and the width of extents."""
    type_ = parameter.type
    strided = isinstance(type_, ArrayType) and type_.strided
    if isinstance(type_, ArrayType) and len(found.shape) != type_.ndim:
        raise parameter.error(
            ArgumentValueError,
            f"an array with {_dimensions(len(found.shape))}, shape {found.shape}",
            f"pass {parameter.name}.reshape(-1)" if type_.ndim == 1 else f"reshape it to {type_.ndim} dimensions",
        )
    if found.strides is not None and not strided and not is_contiguous(found.shape, found.strides):
        raise _not_contiguous(parameter, found.shape, found.copy)
    if isinstance(type_, ArrayType) and (type_.index or I32).bits == 32:
        _check_narrow(parameter, found)


def _not_contiguous(parameter: Parameter, shape: tuple[int, ...], copy: str) -> ArgumentError:
    advice = parameter.passing(copy)
    if isinstance(parameter.type, ArrayType) and not parameter.type.strided and parameter.vector is None:
        advice += ", or leave out the annotation of the parameter, which then takes strided arrays"
    return parameter.error(ArgumentValueError, f"an array of shape {shape} that is not contiguous", advice)


def _check_narrow(parameter: Parameter, found: ArrayArgument) -> None:
    """Every element offset must fit the 32-bit extents and strides that this variant of the kernel has."""
    strides = found.element_strides
    furthest = sum(abs(stride) * (extent - 1) for extent, stride in zip(found.shape, strides, strict=True))
    if 0 in found.shape:
        furthest = 0
    if furthest >= 2**31 - 1 or max(found.shape, default=0) > 2**31 - 1:
        raise parameter.error(
            ExtentError,
            f"an array of shape {found.shape}, whose offsets do not fit 32 bits",
            "compile the kernel's 64-bit variant (an Array with i64 extents), or pass a smaller part",
        )
