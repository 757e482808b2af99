"""What the fast way asks of arrays that any other library offers through `__cuda_array_interface__`.

The interface is read at each launch, for whatever it says may change: the address, the memory and the stream are looked
at each time, a dtype, shape and strides only where they are not those of a launch before.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from kdsl.lang.complex_type import ComplexType
from kdsl.lang.types import ScalarType
from kdsl.runtime.foreign_array import is_contiguous
from kdsl.runtime.foreign_memory import SharingBackend
from kdsl.runtime.foreign_packer import ArrayParameter, ForeignPacker, Kind
from kdsl.runtime.interface import has_interface, legacy, library_stream, named_type
from kdsl.runtime.layout import INT32_ELEMENTS

MOST_KNOWN = 64
"""Forms of arrays that a parameter remembers."""

Read = Callable[[Any, int], tuple[int, tuple[int, ...], int]]
"""The address, the shape and the stream of a plain array, of it and the stream that the user named; LookupError for one
that is not plain.
"""


def interface_kind(value: Any, backend: SharingBackend) -> Kind | None:
    """The kind of arrays of the class that ``value`` has; None if it has no interface."""
    if not has_interface(value):
        return None
    stream_of = library_stream(type(value))

    def add(packer: ForeignPacker, parameter: ArrayParameter) -> bool:
        p, name = packer.prefix, parameter.name
        packer.scope[f"{name}_read"] = reader(parameter, backend.own_memory_test(), stream_of)
        at, shape, stream = (f"{p}{name}_{what}" for what in ("address", "shape", "stream"))
        packer.setup.append(f"{at}, {shape}, {stream} = {p}{name}_read({name}, {p}named)")
        packer.add_array(parameter, at, shape)
        packer.add_stream(stream)
        return True

    return add


def reader(parameter: ArrayParameter, is_own: Callable[[int], bool], stream_of: Callable[[Any], int] | None) -> Read:
    """What reads arguments of a parameter. ``stream_of`` is where the library has its work, if it does not say so."""
    known: dict[tuple[Any, Any, Any], bool] = {}
    written = parameter.written

    def read(value: Any, named: int) -> tuple[int, tuple[int, ...], int]:
        interface = value.__cuda_array_interface__
        # Of another class than dict it may say something else each time that it is asked.
        if interface.__class__ is not dict:
            raise LookupError
        address, readonly = interface["data"]
        shape = interface["shape"]
        form = interface["typestr"], shape, interface.get("strides")
        fits = known.get(form)
        if fits is None:
            if len(known) >= MOST_KNOWN:
                known.clear()
            fits = known[form] = _fits(parameter, *form)
        if (
            not fits
            or (readonly and written)
            or interface.get("mask") is not None
            or address.__class__ is not int
            or not is_own(address)
        ):
            raise LookupError
        stream = interface.get("stream") if stream_of is None else stream_of(value)
        if stream is None:
            return address, shape, named
        if stream.__class__ is not int:
            raise LookupError
        return address, shape, legacy(stream)

    return read


def _fits(parameter: ArrayParameter, typestr: Any, shape: Any, strides: Any) -> bool:
    """Whether it is a contiguous array with elements, as the parameter takes it."""
    element: ScalarType | ComplexType = parameter.element
    # Opaque bytes, and floats of one byte, say less than the type: they are none here, and go the checked way.
    if typestr.__class__ is not str or named_type(typestr)[0] != element:
        return False
    # What is no tuple of numbers fails, and so takes the checked way, and so do strides of another rank.
    if not all(extent > 0 for extent in shape):
        return False
    if strides is not None and not is_contiguous(shape, strides, element.size):
        return False
    return not (parameter.is_narrow and prod(shape) > INT32_ELEMENTS)
