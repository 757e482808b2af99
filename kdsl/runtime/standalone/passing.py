"""How arguments become the parameters of a kernel that was built ahead of time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kdsl.runtime.standalone.host_arrays import HostArrays
from kdsl.runtime.standalone.values import Element, is_masked, number, record, same, vector

INT32_ELEMENTS = 2**31 - 1


class Scalar(NamedTuple):
    """A number. ``format`` is struct's character, ``e2`` a bfloat16; ``place`` where it is in the arguments."""

    name: str
    format: str
    place: tuple[int, ...]


class Vector(NamedTuple):
    """As many numbers, by value; of one complex number its two parts."""

    name: str
    format: str
    lanes: int
    is_complex: bool
    place: tuple[int, ...]


class Record(NamedTuple):
    """A struct by value."""

    name: str
    element: Element
    place: tuple[int, ...]


class Array(NamedTuple):
    """Global memory. ``rank`` is None for a pointer; otherwise extents are passed as well, in struct's ``extent``
    format, and with ``strided`` strides.
    """

    name: str
    element: Element
    written: bool
    place: tuple[int, ...]
    align: int = 1
    lanes: int = 1
    rank: int | None = None
    strided: bool = False
    extent: str = "i"


Parameter = Scalar | Vector | Record | Array


def in_order(
    entry: str,
    names: Sequence[str],
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    defaults: Mapping[str, Any],
) -> Sequence[Any]:
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
    given = {**defaults, **given}
    missing = [name for name in names if name not in given]
    if missing:
        raise TypeError(f"{takes}: {', '.join(missing)} missing")
    return [given[name] for name in names]


def check_tuples(entry: str, tuples: Mapping[tuple[int, ...], int], names: Sequence[str], given: Sequence[Any]) -> None:
    """TypeError for what is no tuple of as many elements as the one at its place has; outer ones come first."""
    for (first, *rest), count in tuples.items():
        value = given[first]
        for index in rest:
            value = value[index]
        if not isinstance(value, tuple) or len(value) != count:
            place = names[first] + "".join(f"[{index}]" for index in rest)
            raise TypeError(f"{entry}: argument `{place}` takes a tuple of {count}, got {value!r}")


def passed(entry: str, parameter: Parameter, given: Sequence[Any], host: HostArrays) -> list[Any]:
    """The values that a parameter passes: bytes, or functions that give them once host arrays have addresses."""
    value: Any = given
    for index in parameter.place:
        value = value[index]
    where = f"{entry}: argument `{parameter.name}`"
    match parameter:
        case Scalar():
            return [number(where, parameter.format, value)]
        case Vector():
            return [vector(where, parameter.format, parameter.lanes, parameter.is_complex, value)]
        case Record():
            return [record(where, parameter.element, value)]
        case Array():
            return _array(where, parameter, value, host)


class _Found(NamedTuple):
    """What is known of an array that was given."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    dtype: np.dtype[Any]
    name: str
    readonly: bool


def _array(where: str, parameter: Array, value: Any, host: HostArrays) -> list[Any]:
    found = _of_numpy(where, value) if isinstance(value, np.ndarray) else _of_device(where, value, host)
    if not same(parameter.element, found.dtype, found.name):
        raise TypeError(f"{where} takes an array of {parameter.element}, got one of {found.name}")
    if parameter.written and found.readonly:
        raise ValueError(f"{where}: the kernel writes to it, and the array is read-only")
    if found.address % parameter.align and 0 not in found.shape:
        raise ValueError(f"{where}: its address is no multiple of {parameter.align}; pass a copy")
    extents, strides = _layout(where, parameter, found)
    address = found.address
    if isinstance(value, np.ndarray):
        pointer: Any = host.add(value, parameter.written)
    else:
        pointer = address.to_bytes(8, "little")
    size = 4 if parameter.extent == "i" else 8
    return [pointer, *(n.to_bytes(size, "little", signed=True) for n in (*extents, *strides))]


def _of_numpy(where: str, array: np.ndarray[Any, Any]) -> _Found:
    if is_masked(array):
        raise TypeError(f"{where}: a masked array; pass its .data")
    if array.ndim == 0:
        raise TypeError(f"{where}: an array of no dimensions; pass it reshaped, a.reshape(1)")
    address = int(array.__array_interface__["data"][0])
    return _Found(array.shape, array.strides, address, array.dtype, array.dtype.name, not array.flags.writeable)


def _of_device(where: str, value: Any, host: HostArrays) -> _Found:
    """An array in device memory, by its `__cuda_array_interface__`."""
    interface = None if isinstance(value, type) else getattr(value, "__cuda_array_interface__", None)
    if not isinstance(interface, Mapping):
        raise TypeError(f"{where} takes a NumPy array or a CUDA array, got {type(value).__name__}")
    if interface.get("mask") is not None:
        raise TypeError(f"{where}: a masked array")
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype):
        descr, typestr = list(interface.get("descr") or ()), interface["typestr"]
        is_record = typestr[1] == "V" and descr not in ([], [("", typestr)])
        name = str(dtype).rpartition(".")[2]
        dtype = np.lib.format.descr_to_dtype(descr) if is_record else np.dtype(typestr)
    else:
        name = dtype.name
    stream = interface.get("stream")
    if stream:
        host.producers.add(int(stream))
    shape = tuple(map(int, interface["shape"]))
    address, readonly = interface["data"]
    strides = interface.get("strides")
    if strides is None:
        strides = (step * dtype.itemsize for step in _contiguous(shape))
    return _Found(shape, tuple(map(int, strides)), int(address or 0), dtype, name, bool(readonly))


def _layout(where: str, parameter: Array, found: _Found) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The extents and strides that are passed: none for a pointer; of arrays of vectors all but the components."""
    shape, itemsize, lanes = found.shape, found.dtype.itemsize, parameter.lanes
    is_empty = 0 in shape
    elements = tuple(stride // itemsize for stride in found.strides)
    wanted = _contiguous(shape)
    differ = any(e != w for extent, e, w in zip(shape, elements, wanted, strict=True) if extent > 1)
    odd = any(stride % itemsize for extent, stride in zip(shape, found.strides, strict=True) if extent > 1)
    if not is_empty and (odd or (differ and (lanes > 1 or not parameter.strided))):
        raise ValueError(f"{where}: the array is not contiguous; pass np.ascontiguousarray(...)")
    if lanes > 1:
        count = math.prod(shape) if parameter.rank is None else (shape[-1] if shape else 0)
        if count % lanes or (parameter.rank is not None and count != lanes):
            raise ValueError(f"{where}: its last dimension is no vector of {lanes}, shape {shape}")
        shape, elements = shape[:-1], _contiguous(shape[:-1])
    if parameter.rank is None:
        return (), ()
    if len(shape) != parameter.rank:
        raise ValueError(f"{where} takes {parameter.rank} dimensions, got shape {found.shape}")
    furthest = 0 if is_empty else sum(abs(e) * (n - 1) for n, e in zip(shape, elements, strict=True))
    # The kernel computes offsets in as many bits as its extents have.
    if parameter.extent == "i" and (furthest >= INT32_ELEMENTS or max(shape, default=0) > INT32_ELEMENTS):
        raise ValueError(f"{where}: an array of shape {found.shape}, whose offsets do not fit 32 bits")
    return shape, elements if parameter.strided else ()


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a C-contiguous array."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
