"""What a compiled kernel depends on beside its own text: what it read by name from objects of the host.

Each is a `Captured`: a namespace that gives the value for as long as nothing has changed. It also says of what object
the value was read and how, so that the cache on disk finds the same place again in another process.
"""

from __future__ import annotations

import builtins
import enum
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from kdsl.lang.fixed_array import FixedArrayType, items
from kdsl.lang.struct import SCOPE, struct_type_of
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import MemoryType, VectorType
from kdsl.records import dataclass

PACKAGE = f"{Path(__file__).parent}{os.sep}"


class How(enum.Enum):
    """How a value is read of its owner."""

    CELL = "cell"
    """What a closure's cell holds."""
    GLOBAL = "global"
    """An item of a function's globals; without one, the builtin of that name."""
    SCOPE = "scope"
    """A type around a struct's class, which a method keeps."""
    ATTRIBUTE = "attribute"
    MEMBER = "member"
    """What a class itself has under a name, None if it has nothing."""
    FUNCTION = "function"
    """The function's own ``__code__``, ``__defaults__`` or ``__kwdefaults__``."""
    CONTENTS = "contents"
    """The bytes of a NumPy array."""
    FIELDS = "fields"
    """The leaves of a struct object."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A closure's variable, seen as a namespace."""

    cell: CellType

    def get(self, name: str) -> Any:
        """What it holds; None while it is unbound."""
        try:
            return self.cell.cell_contents
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Contents:
    """What a NumPy array held when it was copied, seen as a namespace: it gives those bytes while they are the same."""

    array: np.ndarray[Any, Any]
    data: bytes

    def get(self, name: str) -> Any:
        return self.data if self.array.tobytes() == self.data else None


@dataclass(frozen=True, slots=True)
class Attributes:
    """What ``owner.name`` was, seen as a namespace: the class's attribute, or what a property computes."""

    owner: Any
    value: Any

    def get(self, name: str) -> Any:
        try:
            found = getattr(self.owner, name)
        except AttributeError:
            return self
        return self.value if _is_same(found, self.value) else self


@dataclass(frozen=True, slots=True)
class Fields:
    """What a struct object held when it was read, seen as a namespace: it gives that while it is the same."""

    object: Any
    held: tuple[Any, ...]

    def get(self, name: str) -> Any:
        return self.held if same(leaves(struct_type_of(self.object), self.object), self.held) else None


Namespace = Mapping[str, Any] | Cell | Contents | Attributes | Fields


@dataclass(frozen=True, slots=True)
class Captured:
    """What a compiled kernel depends on: it is current while ``namespace.get(name) is value``.

    ``owner`` and ``how`` say where the namespace is; ``owner`` is None where that is nobody's but this process's.
    """

    namespace: Namespace
    name: str
    value: Any
    owner: Any = None
    how: How = How.ATTRIBUTE


def read(how: How, owner: Any, name: str) -> Captured:
    """What ``owner`` has now. NameError for an unbound name, AttributeError for a missing attribute."""
    match how:
        case How.CELL:
            try:
                return Captured(Cell(owner), name, owner.cell_contents, owner, how)
            except ValueError:
                raise NameError(name) from None
        case How.GLOBAL:
            if name not in owner and not hasattr(builtins, name):
                raise NameError(name)
            # None: a global of that name may come to hide the builtin.
            return Captured(owner, name, owner.get(name), owner, how)
        case How.ATTRIBUTE:
            value = getattr(owner, name)
            namespace = getattr(owner, "__dict__", {})
            is_own = name in namespace and namespace[name] is value
            return Captured(namespace if is_own else Attributes(owner, value), name, value, owner, how)
        case How.MEMBER:
            return Captured(vars(owner), name, vars(owner).get(name), owner, how)
        case How.FUNCTION:
            value = getattr(owner, name)
            return Captured(Attributes(owner, value), name, value, owner, how)
        case How.CONTENTS:
            data = owner.tobytes()
            return Captured(Contents(owner, data), name, data, owner, how)
        case How.FIELDS:
            held = leaves(struct_type_of(owner), owner)
            return Captured(Fields(owner, held), name, held, owner, how)
        case How.SCOPE:
            return Captured(owner, name, owner[name], owner, how)


def is_own_function(function: FunctionType) -> bool:
    """Whether a function is of the language itself. Its ``__module__`` may say anything; where its text is does not."""
    return function.__code__.co_filename.startswith(PACKAGE)


def scope(function: FunctionType) -> Mapping[str, Any]:
    """The types around a struct's class, by name, that one of its methods keeps: Python does not see that a method's
    ``x: T = 0`` names them.
    """
    found: Mapping[str, Any] = getattr(function, SCOPE, {})
    return found


def _is_same(found: Any, known: Any) -> bool:
    """Whether these are one object, or the same numbers, which a property makes anew: 0.0 is not -0.0, NaN is NaN."""
    if found is known:
        return True
    if type(found) is not type(known):
        return False
    if isinstance(known, tuple):
        return len(found) == len(known) and all(map(_is_same, found, known))
    if isinstance(known, MethodType):
        return bool(found == known)
    return isinstance(known, bool | int | float | str | np.generic) and repr(found) == repr(known)


def leaves(type: StructType, value: Any) -> tuple[Any, ...]:
    """What the fields of an object hold, one after the other; of a vector each component."""
    found: list[Any] = []
    for field in type.fields:
        found += _leaves(field.type, getattr(value, field.name))
    return tuple(found)


def _leaves(type: MemoryType, held: Any) -> list[Any]:
    match type:
        case FixedArrayType():
            return [leaf for item in items(type, held) for leaf in _leaves(type.element, item)]
        case StructType():
            return [*leaves(type, held)]
        case VectorType() if isinstance(held, Sequence | np.ndarray):
            return [*held]
        case _:
            return [held]


def same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether these are the same numbers: 0.0 is not -0.0, and NaN is NaN."""
    return [(type(x), repr(x)) for x in a] == [(type(x), repr(x)) for x in b]
