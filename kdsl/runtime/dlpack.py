"""DLPack capsules, read: arrays of any library that has ``__dlpack__`` (DLPack 1.x, and the unversioned 0.x before it).

What we give others is in `dlpack_export`.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from kdsl.lang.complex_type import ComplexType
from kdsl.lang.types import COMPLEX64, COMPLEX128, SCALARS, ScalarType
from kdsl.records import dataclass
from kdsl.runtime.foreign_array import ForeignArray, NotOnDeviceError, is_contiguous

# DLDeviceType (dlpack.h).
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13

NO_ORDER = -1
"""The stream number for: wait for nothing."""

VERSION = (1, 0)
"""The newest that we ask for. All 1.x have the same layout."""

# Bits of DLManagedTensorVersioned.flags.
READ_ONLY = 1

VERSIONED, UNVERSIONED = b"dltensor_versioned", b"dltensor"

# Why offsets, and not ctypes structures? One `unpack_from` costs a tenth of the attribute accesses.
TENSOR = struct.Struct("<Q 2i i 2BH QQ Q")
"""DLTensor: data, device type and number, dimensions, dtype's code, bits and lanes, shape, strides, byte offset."""
HEADER = struct.Struct("<2I QQ Q")
"""What lies before it in a DLManagedTensorVersioned: major, minor, context, deleter, flags."""

# DLDataTypeCode and bits.
CODES: dict[str, tuple[int, int]] = {
    "bool": (6, 8), "i8": (0, 8), "i16": (0, 16), "i32": (0, 32), "i64": (0, 64), "u8": (1, 8), "u16": (1, 16),
    "u32": (1, 32), "u64": (1, 64), "f16": (2, 16), "f32": (2, 32), "f64": (2, 64), "bf16": (4, 16),
    "complex64": (5, 64), "complex128": (5, 128), "f8e4m3": (10, 8), "f8e5m2": (12, 8),
}  # fmt: skip
TYPES: dict[tuple[int, int], ScalarType | ComplexType] = {
    code: {"complex64": COMPLEX64, "complex128": COMPLEX128}.get(name) or SCALARS[name] for name, code in CODES.items()
}
KINDS = {0: "int", 1: "uint", 2: "float", 3: "handle", 4: "bfloat", 5: "complex", 6: "bool"}

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


@dataclass(frozen=True, slots=True)
class Tensor:
    """What a capsule holds."""

    address: int
    """Of the DLTensor itself."""
    data: int
    device: tuple[int, int]
    ndim: int
    code: tuple[int, int]
    lanes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    readonly: bool


def read(capsule: Any) -> Tensor:
    """The tensor in a capsule that nobody has consumed; NotOnDeviceError for another version or another object."""
    # The capsule is not consumed: whoever holds it keeps the memory alive, and its own destructor gives it back.
    readonly = False
    if _is_valid(capsule, VERSIONED):
        address: int = _pointer(capsule, VERSIONED)
        major, minor, _, _, flags = HEADER.unpack(ctypes.string_at(address, HEADER.size))
        if major != VERSION[0]:
            raise NotOnDeviceError(f"gives DLPack {major}.{minor}, and kdsl reads {VERSION[0]}.x; pass a copy")
        readonly = bool(flags & READ_ONLY)
        address += HEADER.size
    elif _is_valid(capsule, UNVERSIONED):
        address = _pointer(capsule, UNVERSIONED)
    else:
        raise NotOnDeviceError(f"has a __dlpack__ that gives no DLPack capsule, but {capsule!r}")
    fields = TENSOR.unpack(ctypes.string_at(address, TENSOR.size))
    data, kind, number, ndim, code, bits, lanes, shape, strides, offset = fields
    return Tensor(
        address, data + offset, (kind, number), ndim, (code, bits), lanes,
        _extents(shape, ndim), _extents(strides, ndim) if strides else None, readonly,
    )  # fmt: skip


def _extents(address: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"<{count}q", ctypes.string_at(address, 8 * count)) if count else ()


def dlpack_array(value: Any, stream: int | None) -> ForeignArray:
    """The array behind an object that has ``__dlpack__``. Work in ``stream``, if it is on a GPU, waits for its writers;
    with None the library is told none.

    The view's owner keeps the memory alive. NotOnDeviceError says why there is none.
    """
    kind, number = _device(value)
    if kind not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
        raise NotOnDeviceError(
            f"is in memory of another kind of device (DLPack's {kind}); copy it to the host or a GPU"
        )
    is_host = kind in (CPU, CUDA_HOST)
    capsule = _capsule(value, None if is_host or stream is None else stream or 1)
    tensor = read(capsule)
    found = TYPES.get(tensor.code) if tensor.lanes == 1 else None
    strides = tensor.strides
    if strides is not None and is_contiguous(tensor.shape, strides):
        strides = None
    return ForeignArray(
        tensor.data, tensor.shape, found, found.numpy.name if found else _name(tensor), strides, tensor.readonly,
        None if is_host or stream == NO_ORDER else stream, device=None if is_host else number, is_host=is_host,
        owner=(capsule, value), is_ordered=False,
    )  # fmt: skip


def dlpack_gpu(value: Any) -> int | None:
    """The number of the GPU that an object with ``__dlpack__`` is on, if it is on one and says so."""
    try:
        kind, number = _device(value)
    except NotOnDeviceError:
        return None
    return number if kind == CUDA else None


def _name(tensor: Tensor) -> str:
    code, bits = tensor.code
    name = f"{KINDS.get(code, f'DLPack dtype {code} of bits ')}{bits}"
    return name if tensor.lanes == 1 else f"{name}x{tensor.lanes}"


def _device(value: Any) -> tuple[int, int]:
    try:
        kind, number = value.__dlpack_device__()
        return int(kind), int(number)
    except REFUSALS as error:
        raise NotOnDeviceError(f"tells no DLPack device: {error}") from None


# BufferError is what the protocol asks for; what libraries raise when an array cannot be exported is each of these.
REFUSALS = (BufferError, RuntimeError, TypeError, ValueError, AttributeError, AssertionError)


def _capsule(value: Any, stream: int | None) -> Any:
    """A fresh capsule; ``stream`` is None for memory of the host."""
    keywords = {} if stream is None else {"stream": stream}
    try:
        try:
            return value.__dlpack__(max_version=VERSION, **keywords)
        except TypeError:  # from before DLPack 1.0
            return value.__dlpack__(**keywords)
    except REFUSALS as error:
        raise NotOnDeviceError(f"gives no DLPack capsule: {error}") from None
