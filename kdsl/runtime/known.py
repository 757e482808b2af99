"""The launches that a kernel without types of its own has made with one configuration, by what their arguments were.

The key only finds one, quickly: what it finds looks at its arguments itself, and passes on what it was not made for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.types import I32, TupleType, Type
from kdsl.records import dataclass
from kdsl.runtime.memory import DeviceArray

MOST_KNOWN = 64

Constant = bool | tuple[Any, ...]
"""Whether a parameter is a constant; of a tuple, which of its elements are."""


@dataclass(frozen=True, slots=True)
class KnownLaunch:
    """A launch that was made. ``run`` makes it again, and looks for no other; ``first`` does what comes first."""

    run: Callable[..., None]
    first: Callable[..., None]


class KnownLaunches:
    """Bounded: when it is full it starts anew. ``asked`` counts how often one was looked for."""

    __slots__ = ("_constants", "_launches", "asked")

    def __init__(self, parameters: Sequence[tuple[str, Type | None]]) -> None:
        self._constants = tuple(_is_constant(type) for _, type in parameters)
        self._launches: dict[tuple[Any, ...], KnownLaunch] = {}
        self.asked = 0

    def find(self, arguments: Sequence[Any]) -> KnownLaunch | None:
        """What launched with arguments like these before."""
        self.asked += 1
        try:
            return self._launches.get(_key(arguments, self._constants))
        except TypeError:  # a constant without a hash
            return None

    def keep(self, arguments: Sequence[Any], launch: KnownLaunch) -> None:
        """Launch so from now on with arguments like these."""
        if len(self._launches) >= MOST_KNOWN:
            self._launches = {}
        with contextlib.suppress(TypeError):  # it is not to be found
            self._launches[_key(arguments, self._constants)] = launch


def _is_constant(type: Type | None) -> Constant:
    if isinstance(type, TupleType):
        return tuple(map(_is_constant, type.elements))
    return isinstance(type, ConstexprType)


def _key(arguments: Sequence[Any], constants: tuple[Constant, ...]) -> tuple[Any, ...]:
    """What tells arguments of other types, or other constants, apart."""
    key: list[Any] = []
    for value, constant in zip(arguments, constants, strict=False):
        kind = value.__class__
        if kind is DeviceArray:
            key += (value.layout, len(value.shape))
        elif kind is FunctionType:
            key.append(_function(value))
        elif constant is True:
            key += (kind, value)
        elif kind is int:
            key.append(kind if I32.minimum <= value <= I32.maximum else (kind, value.bit_length() > 63))
        elif isinstance(value, tuple):
            key += (kind, _key(value, constant if isinstance(constant, tuple) else (False,) * len(value)))
        else:
            key.append(kind)
    return tuple(key)


def _function(function: FunctionType) -> tuple[Any, ...]:
    """Its code, and what kinds of objects it captured."""
    key: list[Any] = [function.__code__]
    for cell in function.__closure__ or ():
        try:
            held = cell.cell_contents
        except ValueError:  # not bound yet
            continue
        key.append(held.__code__ if isinstance(held, FunctionType) else held.__class__)
    return tuple(key)
