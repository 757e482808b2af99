"""Python objects that a kernel reads by name: from closures, modules, builtins. Launches notice when one is rebound."""

from __future__ import annotations

import builtins
import enum
import sys
from collections.abc import Mapping
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from kdsl.frontend.host_structs import Fields, constant, leaves
from kdsl.frontend.values import POISON, Runtime, Static, Tuple, Value, Weak
from kdsl.ir import nodes as ir
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.struct import SCOPE, is_struct, struct_type_of
from kdsl.lang.types import ScalarType, as_type, boolean
from kdsl.records import dataclass
from kdsl.source import Span

CONSTANT_ALIGNMENT = 16


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


OWN = ("kdsl.groups.", "kdsl.random")
"""Modules with functions of the language that are written in it."""


Namespace = Mapping[str, Any] | Cell | Contents | Attributes | Fields


@dataclass(frozen=True, slots=True)
class Captured:
    """What a compiled kernel depends on: it is current while ``namespace.get(name) is value``."""

    namespace: Namespace
    name: str
    value: Any


class Captures:
    """Looks names up for the functions of one check, and remembers what it found."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], Captured] = {}

    @property
    def found(self) -> tuple[Captured, ...]:
        return tuple(self._found.values())

    def lookup(self, function: FunctionType, name: str) -> Any:
        """The object that a function's free name is bound to; NameError if it is unbound."""
        free = function.__code__.co_freevars
        if name in free:
            cell = Cell((function.__closure__ or ())[free.index(name)])
            try:
                value = cell.cell.cell_contents
            except ValueError:
                raise NameError(name) from None
            return self._remember(id(cell.cell), cell, name, value)
        # With postponed annotations Python does not see that a method's `x: T = 0` names what is around its class.
        scope = getattr(function, SCOPE, {})
        if name in scope:
            return scope[name]
        namespace = function.__globals__
        if (function.__module__ or "").startswith(OWN):
            # The language's own functions do not change either, and each name would cost every launch a look.
            return namespace[name] if name in namespace else getattr(builtins, name)
        if name in namespace:
            return self._remember(id(namespace), namespace, name, namespace[name])
        if not hasattr(builtins, name):
            raise NameError(name)
        # A global of that name may come to hide the builtin.
        self._remember(id(namespace), namespace, name, None)
        return getattr(builtins, name)

    def attribute(self, owner: Any, name: str) -> Any:
        """``owner.name`` of a module, a class or a plain object; AttributeError if there is none."""
        value = getattr(owner, name)
        # The language's own objects do not change, and `block_idx.x` would cost every launch a look.
        if type(owner).__module__.startswith("kdsl.") or isinstance(owner, enum.EnumMeta):
            return value
        namespace = getattr(owner, "__dict__", {})
        if name in namespace and namespace[name] is value:
            return self._remember(id(owner), namespace, name, value)
        return self._remember(id(owner), Attributes(owner, value), name, value)

    def member(self, owner: type, name: str) -> Any:
        """What a class itself has under a name; None if it has nothing."""
        return self._remember(id(owner), vars(owner), name, vars(owner).get(name))

    def function(self, function: FunctionType) -> None:
        """Note a function that is called: reloading a module, a notebook may put other code into the same object."""
        if not (function.__module__ or "").startswith(OWN):
            self._remember(id(function), Attributes(function, function.__code__), "__code__", function.__code__)
        for name in ("__defaults__", "__kwdefaults__"):
            value = getattr(function, name)
            if value:
                self._remember(id(function), Attributes(function, value), name, value)

    def contents(self, array: np.ndarray[Any, Any]) -> bytes:
        """What an array of the host holds; launches notice when it holds something else."""
        known = self._found.get((id(array), "contents"))
        if known is None or not isinstance(known.namespace, Contents):
            data = array.tobytes()
            self._remember(id(array), Contents(array, data), "contents", data)
            return data
        return known.namespace.data

    def contents_size(self) -> int:
        """Bytes of all different contents, each where constant memory puts it."""
        different = {c.namespace.data for c in self._found.values() if isinstance(c.namespace, Contents)}
        return sum(-(-len(data) // CONSTANT_ALIGNMENT) * CONSTANT_ALIGNMENT for data in different)

    def watch(self, value: Any) -> None:
        """Note what the struct objects hold that a value is or has as elements: their fields may be assigned to."""
        if isinstance(value, tuple):
            for part in value:
                self.watch(part)
        elif is_struct(value):
            held = leaves(struct_type_of(value), value)
            self._found.setdefault((id(value), "fields"), Captured(Fields(value, held), "fields", held))

    def _remember(self, owner: int, namespace: Namespace, name: str, value: Any) -> Any:
        self.watch(value)
        self._found.setdefault((owner, name), Captured(namespace, name, value))
        return value


CONTAINERS = (ModuleType, type, enum.Enum)


def has_attributes(owner: Any) -> bool:
    """Whether a kernel may read an object's attributes: a module, a class, an enum member, what only holds values."""
    if isinstance(owner, CONTAINERS):
        return True
    has_values = hasattr(owner, "__dict__") and not isinstance(owner, np.ndarray)
    return has_values and (not callable(owner) or is_functor(owner))


def is_functor(owner: Any) -> bool:
    """Whether this is an object of a class with a ``__call__`` in Python, CUDA's function object."""
    kind = type(owner)
    package = kind.__module__.partition(".")[0]
    if isinstance(owner, type) or hasattr(owner, "__wrapped__") or package in LIBRARIES | sys.stdlib_module_names:
        return False
    # Not callable(): that is true of what is written in C too.
    return any(isinstance(vars(c).get("__call__"), FunctionType) for c in kind.__mro__)


LIBRARIES = frozenset({"kdsl", "numpy", "torch"})
"""Whose callable objects are no functions written for kernels, as are those of Python."""


def host_value(value: Any, span: Span) -> Value:
    """A Python object as a value in a kernel: Python numbers are weak constants, NumPy's strong ones."""
    match value:
        case bool():
            return Runtime(ir.Const(value, boolean, span))
        case int():
            return Weak(int(value))
        case float() if not isinstance(value, np.generic):
            return Weak(float(value))
        case complex() if not isinstance(value, np.generic):
            return Weak(complex(value))
        case np.generic():
            return _numpy_value(value, span)
        case _ if is_struct(value):
            return Runtime(constant(struct_type_of(value), value, span, type(value).__name__))
        case tuple():
            elements = tuple(host_value(e, span) for e in value)
            python = type(value) if hasattr(value, "_fields") else None
            return POISON if POISON in elements else Tuple(elements, python)
        case _:
            return Static(value)


def _numpy_value(value: np.generic, span: Span) -> Value:
    try:
        type = as_type(value.dtype)
    except (TypeError, ValueError):
        return Static(value)
    if isinstance(type, ComplexType):
        return Runtime(constant(type, value, span, str(type)))
    assert isinstance(type, ScalarType)
    number = float(value) if type.is_float or type.is_float8 else value.item()
    return Runtime(ir.Const(number, type, span))
