"""Python objects that a kernel reads by name: from closures, modules, builtins. Launches notice when one is rebound."""

from __future__ import annotations

import builtins
import enum
import sys
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from kdsl.captured import Captured, Contents, How, is_own_function, read, scope
from kdsl.frontend.host_structs import constant
from kdsl.frontend.values import POISON, Runtime, Static, Tuple, Value, Weak
from kdsl.ir import nodes as ir
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.struct import is_struct, struct_type_of
from kdsl.lang.types import ScalarType, as_type, boolean
from kdsl.source import Span

CONSTANT_ALIGNMENT = 16


OWN = ("kdsl.groups.", "kdsl.random")
"""Modules with functions of the language that are written in it."""


def is_own(function: FunctionType) -> bool:
    """Whether it is one of those."""
    return (function.__module__ or "").startswith(OWN) and is_own_function(function)


class Captures:
    """Looks names up for the functions of one check, and remembers what it found."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], Captured] = {}
        self._fixed: dict[tuple[int, str], Captured] = {}

    @property
    def fixed(self) -> tuple[Captured, ...]:
        """What was found that does not change while the process runs."""
        return tuple(self._fixed.values())

    @property
    def found(self) -> tuple[Captured, ...]:
        return tuple(self._found.values())

    def lookup(self, function: FunctionType, name: str) -> Any:
        """The object that a function's free name is bound to; NameError if it is unbound."""
        free = function.__code__.co_freevars
        if name in free:
            return self._read(How.CELL, (function.__closure__ or ())[free.index(name)], name)
        types = scope(function)
        if name in types:
            return self._unwatched(How.SCOPE, types, name)
        namespace = function.__globals__
        if is_own(function):
            # The language's own functions do not change either, and each name would cost every launch a look.
            return namespace[name] if name in namespace else getattr(builtins, name)
        value = self._read(How.GLOBAL, namespace, name)
        return value if name in namespace else getattr(builtins, name)

    def attribute(self, owner: Any, name: str) -> Any:
        """``owner.name`` of a module, a class or a plain object; AttributeError if there is none."""
        # The language's own objects do not change, and `block_idx.x` would cost every launch a look.
        if type(owner).__module__.startswith("kdsl."):
            return getattr(owner, name)
        if isinstance(owner, enum.EnumMeta):
            return self._unwatched(How.ATTRIBUTE, owner, name)
        return self._read(How.ATTRIBUTE, owner, name)

    def member(self, owner: type, name: str) -> Any:
        """What a class itself has under a name; None if it has nothing."""
        return self._read(How.MEMBER, owner, name)

    def function(self, function: FunctionType) -> None:
        """Note a function that is called: reloading a module, a notebook may put other code into the same object."""
        if not is_own(function):
            self._read(How.FUNCTION, function, "__code__")
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(function, name):
                self._read(How.FUNCTION, function, name)

    def contents(self, array: np.ndarray[Any, Any]) -> bytes:
        """What an array of the host holds; launches notice when it holds something else."""
        known = self._found.get((id(array), "contents"))
        if known is None or not isinstance(known.namespace, Contents):
            data: bytes = self._read(How.CONTENTS, array, "contents")
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
        elif is_struct(value) and (id(value), "fields") not in self._found:
            self._found[id(value), "fields"] = read(How.FIELDS, value, "fields")

    def _read(self, how: How, owner: Any, name: str) -> Any:
        """What a launch looks at again."""
        found = read(how, owner, name)
        self.watch(found.value)
        self._found.setdefault((id(owner), name), found)
        return found.value

    def _unwatched(self, how: How, owner: Any, name: str) -> Any:
        """What does not change in a process, so that a launch need not look, but may be another in the next one."""
        found = read(how, owner, name)
        self._fixed.setdefault((id(owner), name), found)
        return found.value


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
