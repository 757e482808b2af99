"""How arguments become the parameters of a kernel that was built ahead of time."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kdsl.runtime.standalone.driver_module import Module


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


def in_order(entry: str, names: Sequence[str], arguments: Sequence[Any], keywords: dict[str, Any]) -> Sequence[Any]:
    """One argument for each name; TypeError for a call that does not fit."""
    takes = f"{entry}({', '.join(names)})"
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


def passed(entry: str, parameter: Parameter, given: Sequence[Any], host: HostArrays) -> list[Any]:
    """The values that a parameter passes: bytes, or functions that give them once host arrays have addresses."""
    value: Any = given
    for index in parameter.place:
        value = value[index]
    where = f"{entry}: argument `{parameter.name}`"
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


def _array(where: str, parameter: Array, value: Any, host: HostArrays) -> list[Any]:
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


class HostArrays:
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
