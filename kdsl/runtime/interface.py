"""Arrays of other libraries: which of their protocols to ask, and `__cuda_array_interface__` (versions 0 to 3) read."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.lib.format import descr_to_dtype

from kdsl.lang.struct_dtype import described, struct_of_dtype
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import SCALARS, ScalarType, as_type
from kdsl.runtime.dlpack import NO_ORDER, dlpack_array, dlpack_gpu
from kdsl.runtime.foreign_array import ForeignArray, NotOnDeviceError, is_contiguous
from kdsl.runtime.foreign_memory import SharingBackend
from kdsl.runtime.jax_arrays import is_jax, jax_array
from kdsl.runtime.standalone.streams import handle_of
from kdsl.runtime.torch_tensors import loaded_torch, torch_array

__all__ = ["ForeignArray", "NotOnDeviceError", "foreign_array", "gpu_of", "is_foreign"]


def foreign_array(value: Any, stream: int = NO_ORDER) -> ForeignArray | None:
    """The array behind ``value``, or None if it is none of another library; NotOnDeviceError if it is one that cannot
    be used.

    ``stream`` is where it will be used; an array of a library that tells no stream is made ready for that one.
    """
    torch = loaded_torch(value)
    if torch is not None:
        return torch_array(torch, value)
    if isinstance(value, np.generic):
        return None
    if is_jax(value):
        return jax_array(value, stream)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return dlpack_array(value, stream) if has_dlpack(value) else None
    if not isinstance(interface, Mapping) or not interface.keys() >= {"data", "shape", "typestr"}:
        raise NotOnDeviceError("has a __cuda_array_interface__ without `data`, `shape` and `typestr`")
    return _interface(interface, value)


def gpu_of(value: Any, gpu: SharingBackend) -> int | None:
    """The number of the GPU whose memory an object of another library is in; None where it is in none, or no array, or
    where `foreign_array` will say what is wrong with it.
    """
    torch = loaded_torch(value)
    if torch is not None:
        return int(value.get_device()) if value.is_cuda else None
    found = _device(value)
    if found is not None:
        return found
    if has_dlpack(value):
        return dlpack_gpu(value)
    if not has_interface(value):
        return None
    try:
        address, _ = _data(value.__cuda_array_interface__["data"])
        return gpu.device_of(address) if address else None
    except (NotOnDeviceError, AttributeError, LookupError, TypeError):
        return None


def is_on_gpu(value: Any) -> bool:
    """Whether it is an array of another library in a GPU's memory."""
    if not is_foreign(value):
        return False
    if loaded_torch(value) is not None:
        return bool(value.is_cuda)
    if has_dlpack(value):
        return dlpack_gpu(value) is not None
    return hasattr(value, "__cuda_array_interface__")


def is_foreign(value: Any) -> bool:
    """Whether `foreign_array` would find an array, or say why it cannot be used. Nothing is asked of the library."""
    if isinstance(value, (np.generic, type)):
        return False
    return loaded_torch(value) is not None or is_jax(value) or has_dlpack(value) or has_interface(value)


def has_interface(value: Any) -> bool:
    """Whether it offers `__cuda_array_interface__`; nothing is asked of the library."""
    name = "__cuda_array_interface__"
    return hasattr(type(value), name) or name in getattr(value, "__dict__", ())


def has_dlpack(value: Any) -> bool:
    """Whether it offers DLPack, as objects do, not classes."""
    return hasattr(type(value), "__dlpack__") and hasattr(type(value), "__dlpack_device__")


def _interface(interface: Mapping[str, Any], value: Any) -> ForeignArray:
    if interface.get("mask") is not None:
        raise NotOnDeviceError("is masked; pass its data")
    address, readonly = _data(interface["data"])
    shape = _ints("shape", interface["shape"])
    if min(shape, default=0) < 0:
        raise NotOnDeviceError(f"has a __cuda_array_interface__ with the shape {shape}")
    type_, name = _element(interface["typestr"], interface.get("descr"), value)
    size = type_.size if type_ is not None else 1
    byte_strides = interface.get("strides")
    if byte_strides is not None:
        byte_strides = _ints("strides", byte_strides)
        if len(byte_strides) != len(shape):
            raise NotOnDeviceError(f"has a __cuda_array_interface__ with {len(shape)} extents, {byte_strides=}")
    strides, odd = None, False
    if byte_strides is not None and not is_contiguous(shape, byte_strides, size):
        odd = any(stride % size for stride in byte_strides)
        strides = tuple(stride // size for stride in byte_strides)
    stream = interface.get("stream")
    if stream is not None and not (isinstance(stream, int) and handle_of(stream) is not None):
        raise NotOnDeviceError(f"has a __cuda_array_interface__ whose `stream` is no handle of one: {stream!r}")
    stream_of = library_stream(type(value))
    if stream_of is not None:
        stream = stream_of(value)
    return ForeignArray(
        address, shape, type_, name, strides, bool(readonly),
        None if stream is None else legacy(stream), odd, device=_device(value), owner=value
    )  # fmt: skip


def _device(value: Any) -> int | None:
    """The number of the array's GPU, for libraries whose arrays say it in less time than the driver."""
    if value.__class__.__module__.startswith("cupy"):
        return int(value.device.id)
    return None


def _ints(what: str, value: Any) -> tuple[int, ...]:
    try:
        return tuple(operator.index(number) for number in value)
    except TypeError:
        raise NotOnDeviceError(
            f"has a __cuda_array_interface__ whose `{what}` is no tuple of ints: {value!r}"
        ) from None


def _data(value: Any) -> tuple[int, bool]:
    """The address, 0 where there is none, and whether the memory is read-only."""
    match value:
        case (address, readonly) if address is None or (isinstance(address, int) and 0 <= address < 2**64):
            return address or 0, bool(readonly)
    raise NotOnDeviceError(f"has a __cuda_array_interface__ whose `data` is no (address, read-only): {value!r}")


def library_stream(class_: type) -> Callable[[Any], int] | None:
    """What gives the stream that an array's library puts work on now, on the array's GPU; None for libraries whose
    arrays say it.
    """
    library = class_.__module__.partition(".")[0]
    module = sys.modules.get(library)
    if module is None or library not in STREAMS:
        return None
    return partial(STREAMS[library], module)


STREAMS: dict[str, Callable[[Any, Any], int]] = {
    # Its interface tells the stream of the GPU that is current there, which need not be the array's.
    "cupy": lambda cupy, array: int(cupy.cuda.get_current_stream(array.device.id).ptr),
    "warp": lambda warp, array: int(warp.get_stream(array.device).cuda_stream),
}


def legacy(stream: int) -> int:
    """CUDA names the legacy default stream 0 and 1."""
    return 0 if stream == 1 else stream


# What NumPy says of dtypes that are ml_dtypes': opaque bytes, or floats of one byte, which NumPy has none of.
OPAQUE = {"bfloat16": SCALARS["bf16"], "float8_e4m3fn": SCALARS["f8e4m3"], "float8_e5m2": SCALARS["f8e5m2"]}


def _element(typestr: Any, descr: Any, value: Any) -> tuple[ScalarType | StructType | None, str]:
    """The type of the elements, and what to call it."""
    if not isinstance(typestr, str):
        raise NotOnDeviceError(f"has a __cuda_array_interface__ whose `typestr` is no text: {typestr!r}")
    if typestr[1:] not in ("V1", "V2", "f1"):
        if typestr[1:2] == "V" and descr is not None and list(descr) != [("", typestr)]:
            return _of_fields(list(descr), typestr)
        return named_type(typestr)
    opaque = OPAQUE.get(str(getattr(value, "dtype", "")))
    return (None, typestr) if opaque is None else (opaque, opaque.numpy.name)


def _of_fields(descr: list[Any], typestr: str) -> tuple[ScalarType | StructType | None, str]:
    try:
        return _native(descr_to_dtype(descr))
    except (TypeError, ValueError):
        return None, typestr


@cache
def named_type(typestr: str) -> tuple[ScalarType | StructType | None, str]:
    try:
        return _native(np.dtype(typestr))
    except TypeError:
        return None, typestr


def _native(found: np.dtype[Any]) -> tuple[ScalarType | StructType | None, str]:
    if not found.isnative:
        return None, f"{found.newbyteorder('=')} of the other byte order"
    try:
        type_ = struct_of_dtype(found) if found.names is not None else as_type(found)
    except TypeError:
        return None, described(found)
    return (type_ if isinstance(type_, ScalarType | StructType) else None), described(found)
