"""Arrays of other CUDA libraries, read through `__cuda_array_interface__` (version 3) or PyTorch's own attributes."""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from kdsl.lang.complex_type import ComplexType
from kdsl.lang.types import COMPLEX64, COMPLEX128, SCALARS, ScalarType, as_type
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class DeviceView:
    """An array in the GPU's memory that someone else owns. ``strides`` are in elements, None if C-contiguous.

    ``type`` is None for a dtype that kernels do not have, whose name is in ``dtype``; ``stream`` is where its last
    writer ran.
    """

    address: int
    shape: tuple[int, ...]
    type: ScalarType | ComplexType | None
    dtype: str
    strides: tuple[int, ...] | None = None
    readonly: bool = False
    stream: int | None = None
    misaligned_strides: bool = False


class NotOnDeviceError(Exception):
    """The object is no array in the GPU's memory; the message says what to do about it, if that is known."""


def device_view(value: Any) -> DeviceView | None:
    """The array behind ``value``, or None if it is no CUDA array at all; NotOnDeviceError if it is one that cannot be
    used.
    """
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "data_ptr"):
        return _torch(value)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return None
    if not isinstance(interface, Mapping) or not interface.keys() >= {"data", "shape", "typestr"}:
        raise NotOnDeviceError("has a __cuda_array_interface__ without `data`, `shape` and `typestr`")
    return _interface(interface, value)


def _interface(interface: Mapping[str, Any], value: Any) -> DeviceView:
    if interface.get("mask") is not None:
        raise NotOnDeviceError("is masked; pass its data")
    address, readonly = _data(interface["data"])
    shape = _ints("shape", interface["shape"])
    if min(shape, default=0) < 0:
        raise NotOnDeviceError(f"has a __cuda_array_interface__ with the shape {shape}")
    type_, name = _scalar(interface["typestr"], str(getattr(value, "dtype", "")))
    size = type_.size if type_ is not None else 1
    byte_strides = interface.get("strides")
    if byte_strides is not None:
        byte_strides = _ints("strides", byte_strides)
        if len(byte_strides) != len(shape):
            raise NotOnDeviceError(f"has a __cuda_array_interface__ with {len(shape)} extents, {byte_strides=}")
    strides, odd = None, False
    if byte_strides is not None and not _contiguous(shape, byte_strides, size):
        odd = any(stride % size for stride in byte_strides)
        strides = tuple(stride // size for stride in byte_strides)
    stream = interface.get("stream")
    if stream is not None and not isinstance(stream, int):
        raise NotOnDeviceError(f"has a __cuda_array_interface__ whose `stream` is no int: {stream!r}")
    if stream is None:
        stream = current_stream(value)
    return DeviceView(address, shape, type_, name, strides, bool(readonly), _legacy(stream), odd)


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


def _torch(tensor: Any) -> DeviceView | None:
    # Why not __cuda_array_interface__? PyTorch builds it in Python on each access, refuses bfloat16 in some versions,
    # and tells no stream.
    if tensor.device.type != "cuda":
        raise NotOnDeviceError(f"is a torch tensor on {tensor.device}; pass t.cuda(), or t.numpy() to have it copied")
    if tensor.requires_grad:
        raise NotOnDeviceError("requires grad, which a kernel cannot honour; pass t.detach()")
    if tensor.is_conj() or tensor.is_neg():
        raise NotOnDeviceError("is a lazy conjugate or negative; pass t.resolve_conj().resolve_neg()")
    name = str(tensor.dtype).removeprefix("torch.")
    strides = None if tensor.is_contiguous() else tuple(tensor.stride())
    address = tensor.data_ptr()
    return DeviceView(
        address, tuple(tensor.shape), _TORCH.get(name), name, strides, stream=_legacy(current_stream(tensor))
    )


# PyTorch's names of the scalar types.
_TORCH: dict[str, ScalarType | ComplexType] = {
    "bool": SCALARS["bool"], "int8": SCALARS["i8"], "int16": SCALARS["i16"], "int32": SCALARS["i32"],
    "int64": SCALARS["i64"], "uint8": SCALARS["u8"], "uint16": SCALARS["u16"], "uint32": SCALARS["u32"],
    "uint64": SCALARS["u64"], "float16": SCALARS["f16"], "bfloat16": SCALARS["bf16"], "float32": SCALARS["f32"],
    "float64": SCALARS["f64"], "float8_e4m3fn": SCALARS["f8e4m3"], "float8_e5m2": SCALARS["f8e5m2"],
    "complex64": COMPLEX64, "complex128": COMPLEX128,
}  # fmt: skip


def current_stream(value: Any) -> int | None:
    """The stream that the array's library puts work on now, for libraries whose arrays do not say."""
    library = type(value).__module__.partition(".")[0]
    module = sys.modules.get(library)
    if library == "torch" and module is not None:
        return int(module.cuda.current_stream(value.device).cuda_stream)
    if library == "cupy" and module is not None:
        return int(module.cuda.get_current_stream().ptr)
    return None


def _legacy(stream: int | None) -> int | None:
    """CUDA names the legacy default stream 0 and 1."""
    return 0 if stream == 1 else stream


def _scalar(typestr: str, dtype: str) -> tuple[ScalarType | ComplexType | None, str]:
    # bfloat16 has no typestr of its own: libraries give two opaque bytes, and their dtype's name tells.
    if not isinstance(typestr, str):
        raise NotOnDeviceError(f"has a __cuda_array_interface__ whose `typestr` is no text: {typestr!r}")
    if typestr[1:] == "V2" and "bfloat16" in dtype:
        return SCALARS["bf16"], "bfloat16"
    try:
        found = np.dtype(typestr)
    except TypeError:
        return None, typestr
    if not found.isnative:
        return None, f"{found.newbyteorder('=')} of the other byte order"
    try:
        scalar = as_type(found)
    except TypeError:
        return None, str(found)
    return (scalar if isinstance(scalar, ScalarType | ComplexType) else None), str(found)


def _contiguous(shape: tuple[int, ...], byte_strides: tuple[int, ...], size: int) -> bool:
    expected = size
    for extent, stride in zip(reversed(shape), reversed(byte_strides), strict=True):
        if extent == 0:
            return True
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True
