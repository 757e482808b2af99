"""Array arguments: what may stand for a Ptr or Array parameter, checked in full before anything is copied or
enqueued.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from kdsl.backend import Backend, device_name
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import I32, ArrayType, ScalarType, VectorType
from kdsl.runtime.array_advice import array_fix, check_dtype, host_problem, not_contiguous
from kdsl.runtime.dlpack import NO_ORDER
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError, ExtentError
from kdsl.runtime.foreign_memory import device_of
from kdsl.runtime.host_memory import in_place
from kdsl.runtime.host_values import is_masked
from kdsl.runtime.interface import ForeignArray, NotOnDeviceError, foreign_array
from kdsl.runtime.launch_parameters import ArrayArgument, Parameter, dimensions
from kdsl.runtime.layout import INT32_ELEMENTS, is_contiguous
from kdsl.runtime.markers import Marker
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.peers import reaches
from kdsl.runtime.scalars import packable, shown
from kdsl.runtime.structs import struct_bytes
from kdsl.runtime.vectors import vector_bytes


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
        raise not_contiguous(parameter, shape, found.copy)
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
    check_dtype(parameter, array.layout.type, f"a DeviceArray of {array.dtype}")
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
        raise host_problem(parameter, array)
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
        raise not_contiguous(parameter, array.shape, copy)
    return ArrayArgument(address, array.shape, tuple(stride // size for stride in array.strides), host, copy=copy)


def _foreign(parameter: Parameter, value: Any, backend: Backend, stream: int) -> ArrayArgument:
    try:
        view = foreign_array(value, stream)
    except NotOnDeviceError as error:
        raise parameter.error(ArgumentTypeError, shown(value), f"it {error}") from None
    if view is None:
        raise parameter.error(ArgumentTypeError, shown(value), array_fix(parameter, value))
    if not view.is_host and backend.name != "cuda":
        raise parameter.error(
            ArgumentTypeError,
            f"a CUDA array ({shown(value)})",
            f"the {backend.name} takes NumPy arrays and its own DeviceArrays: copy it to the host first",
        )
    fix = f"{parameter.name}.astype" if view.type and hasattr(value, "astype") else ""
    check_dtype(parameter, view.type, f"{shown(value)} of {view.dtype}", fix)
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
        raise not_contiguous(parameter, view.shape, "a contiguous copy")
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


def _check_layout(parameter: Parameter, found: ArrayArgument) -> None:
    """Rank, contiguity and the width of extents."""
    type_ = parameter.type
    strided = isinstance(type_, ArrayType) and type_.strided
    if isinstance(type_, ArrayType) and len(found.shape) != type_.ndim:
        raise parameter.error(
            ArgumentValueError,
            f"an array with {dimensions(len(found.shape))}, shape {found.shape}",
            f"pass {parameter.name}.reshape(-1)" if type_.ndim == 1 else f"reshape it to {type_.ndim} dimensions",
        )
    if found.strides is not None and not strided and not is_contiguous(found.shape, found.strides):
        raise not_contiguous(parameter, found.shape, found.copy)
    if isinstance(type_, ArrayType) and (type_.index or I32).bits == 32:
        _check_narrow(parameter, found)


def _check_narrow(parameter: Parameter, found: ArrayArgument) -> None:
    """Every element offset must fit the 32-bit extents and strides that this variant of the kernel has."""
    strides = found.element_strides
    furthest = sum(abs(stride) * (extent - 1) for extent, stride in zip(found.shape, strides, strict=True))
    if 0 in found.shape:
        furthest = 0
    if furthest >= INT32_ELEMENTS or max(found.shape, default=0) > INT32_ELEMENTS:
        raise parameter.error(
            ExtentError,
            f"an array of shape {found.shape}, whose offsets do not fit 32 bits",
            "compile the kernel's 64-bit variant (an Array with i64 extents), or pass a smaller part",
        )
