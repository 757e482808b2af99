"""What a compilation depended on beside its kernels' text and types, as a recipe that another process follows.

The recipe's roots are the kernels' functions and the types of their parameters. Each step reads something of what an
earlier one gave (or a root): a global, a cell, an attribute, or a part of a value (an element, a function's cells).
So a hit is validated by looking the same names up again, without parsing anything.
"""

from __future__ import annotations

import builtins
import enum
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

from kdsl.annotations import function_types
from kdsl.cache.digests import digest, digest_of
from kdsl.cache.fingerprints import Fingerprints
from kdsl.cache.text import Unkeyable
from kdsl.captured import Captured, How, is_own_function, read, scope
from kdsl.lang.extern import ExternFunction
from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.struct import is_struct, struct_type_of
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import STRUCT_TYPE, ArrayType, PointerType, TupleType, Type
from kdsl.libdevice import find
from kdsl.records import dataclass
from kdsl.source import CompileError

Step = tuple[str, int, Any]
"""How, the number of the owner among the roots and the steps before, and the name or place in it."""
PART = "part"
MODULE = "module"
"""A module of Python's or NumPy's, which the language's own functions read attributes of."""
LIBRARY = "libdevice"
OF_OWNER = frozenset({How.FUNCTION, How.CONTENTS, How.FIELDS})
"""What is told by the owner's fingerprint, and not by that of the value."""
Part = tuple[Any, Any]
"""Where it is in its owner, and what it is."""


@dataclass(frozen=True, slots=True)
class Followed:
    """What a recipe gave in this process: all values, what a launch looks at again, and the digest of it all."""

    values: tuple[Any, ...]
    captured: tuple[Captured, ...]
    digest: str


def recipe(roots: Sequence[Any], captured: Sequence[Captured], *, uses_libdevice: bool) -> tuple[Step, ...]:
    """The steps that lead to everything captured; Unkeyable if something cannot be reached so."""
    made = _Recipe(roots)
    pending = list(captured)
    while pending:
        left = [c for c in pending if not made.read(c)]
        if len(left) == len(pending):
            break
        pending = left
    # The language's own functions read what is its own, too.
    unknown = [c for c in pending if not _is_own(c)]
    if unknown:
        raise Unkeyable(f"`{unknown[0].name}`, which was not read of anything that the kernel names")
    if uses_libdevice:
        made.steps.append((LIBRARY, 0, ""))
    return tuple(made.steps)


def _is_own(captured: Captured) -> bool:
    """Whether this says to be of the language itself, whose version is a part of every key."""
    owner = captured.owner
    if isinstance(owner, dict | ModuleType):
        module = (owner if isinstance(owner, dict) else vars(owner)).get("__name__")
    else:
        module = getattr(owner, "__module__", None)
    return isinstance(module, str) and (module == "kdsl" or module.startswith("kdsl."))


def _is_always_there(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names | {"numpy"}


class _Recipe:
    """Steps in the making. Objects are known by their ids, and kept."""

    def __init__(self, roots: Sequence[Any]) -> None:
        self.steps: list[Step] = []
        self._roots = len(roots)
        self._numbers: dict[int, int] = {}
        self._parts: dict[int, tuple[Any, Any]] = {}
        """Of an object that is part of another: that, and where in it."""
        self._kept: list[Any] = []
        for number, root in enumerate(roots):
            self._add(number, root)

    def _add(self, number: int, value: Any) -> None:
        self._kept.append(value)
        self._numbers.setdefault(id(value), number)
        pending = [value]
        while pending:
            owner = pending.pop()
            for place, part in parts(owner):
                if id(part) not in self._parts and id(part) not in self._numbers:
                    self._parts[id(part)] = (owner, place)
                    self._kept.append(part)
                    pending.append(part)

    def _number(self, value: Any) -> int | None:
        """The number of an object that is reached; what is part of another is reached with a step of its own."""
        found = self._numbers.get(id(value))
        if found is not None:
            return found
        if id(value) not in self._parts:
            return self._module(value)
        owner, place = self._parts[id(value)]
        above = self._number(owner)
        if above is None:
            return None
        self.steps.append((PART, above, place))
        number = self._roots + len(self.steps) - 1
        self._numbers[id(value)] = number
        return number

    def _module(self, value: Any) -> int | None:
        """The number of a module that is always there, by its name."""
        name = vars(value).get("__name__") if isinstance(value, ModuleType) else None
        if not isinstance(name, str) or not _is_always_there(name) or sys.modules.get(name) is not value:
            return None
        self.steps.append((MODULE, 0, name))
        self._add(self._roots + len(self.steps) - 1, value)
        return self._numbers[id(value)]

    def read(self, captured: Captured) -> bool:
        """Reach what was captured, if its owner is reached."""
        owner = self._number(captured.owner)
        if owner is None:
            return False
        self.steps.append((captured.how.value, owner, captured.name))
        self._add(self._roots + len(self.steps) - 1, _value(captured))
        return True


def _value(captured: Captured) -> Any:
    """What was read: for a name that no global has, the builtin."""
    if captured.how is How.GLOBAL and captured.name not in captured.owner:
        return getattr(builtins, captured.name)
    return captured.value


def follow(roots: Sequence[Any], steps: Sequence[Step], fingerprints: Fingerprints) -> Followed | None:
    """What the steps lead to now; None if they lead nowhere. Unkeyable if that cannot be told from other things."""
    values, captured, found = list(roots), list[Captured](), list[Any]()
    for how, owner, name in steps:
        if how == LIBRARY:
            values.append(None)
            found.append(_library())
            continue
        try:
            if how == MODULE:
                values.append(sys.modules[name])
                found.append(fingerprints.of(values[-1]))
                continue
            if how == PART:
                values.append(dict(parts(values[owner]))[name])
                continue
            one = read(How(how), values[owner], name)
            value = _value(one)
        except (AttributeError, LookupError, NameError, TypeError, ValueError):
            return None
        values.append(value)
        if not _is_fixed(one):
            captured.append(one)
        found.append(fingerprints.of(values[owner] if one.how in OF_OWNER else value))
    return Followed(tuple(values), tuple(captured), digest_of([[*map(list, steps)], found]))


def _is_fixed(captured: Captured) -> bool:
    """Whether this does not change while a process runs, so that no launch looks at it."""
    is_enum = captured.how is How.ATTRIBUTE and isinstance(captured.owner, enum.EnumMeta)
    return is_enum or captured.how is How.SCOPE


def _library() -> Any:
    """Which libdevice would be linked."""
    path = find()
    if path is None:
        return None
    try:
        about = path.stat()
        return _digest(path, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
    except OSError:  # it is gone
        return None


@lru_cache(maxsize=8)
def _digest(path: Path, *_: int) -> str:
    # Why not its size and time alone? There are installers that give all files one time.
    return digest(path.read_bytes())


def parts(value: Any) -> Iterator[Part]:
    """The parts of an object of which something may be read, with their places: strings, all different."""
    match value:
        case FunctionType():
            yield from _parts_of_function(value)
        case partial():
            yield "func", value.func
            yield from _items("argument", value.args)
            yield from ((f"keyword {key}", part) for key, part in value.keywords.items())
        case MethodType():
            yield "function", value.__func__
            yield "self", value.__self__
        case ExternFunction():
            yield "function", value.function
        case property():
            yield "fget", value.fget
        case staticmethod() | classmethod():
            yield "function", value.__func__
        case tuple() | list():
            yield from _items("item", value)
        case type():
            if STRUCT_TYPE in vars(value):
                yield "struct type", vars(value)[STRUCT_TYPE]
        case _ if isinstance(value, Type):
            yield from _parts_of_type(value)
        case _ if is_struct(value):
            yield "type", struct_type_of(value)
            yield from ((f"field {f.name}", getattr(value, f.name)) for f in struct_type_of(value).fields)
        case _ if hasattr(value, "__dict__"):
            yield "class", type(value)
            # What a call of the object calls. Of what is written in C it is no function.
            yield "call", next((vars(c)["__call__"] for c in type(value).__mro__ if "__call__" in vars(c)), None)


def _parts_of_function(function: FunctionType) -> Iterator[Part]:
    if is_own_function(function):
        return
    yield "globals", function.__globals__
    yield "scope", scope(function)
    yield from _items("cell", function.__closure__ or ())
    yield from _items("default", function.__defaults__ or ())
    yield from ((f"default {key}", part) for key, part in (function.__kwdefaults__ or {}).items())
    code = function.__code__
    try:
        types = function_types(function, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    except CompileError:
        return
    yield from ((f"annotation {name}", type) for name, type in types.items())


def _parts_of_type(type: Any) -> Iterator[Part]:
    match type:
        case PointerType(element=element) | ArrayType(element=element):
            yield "element", element
        case TupleType(elements, python):
            yield from _items("element", elements)
            yield "python", python
        case ConstexprType():
            yield "value", type.value
        case StructType():
            if type.python is not None:
                yield "python", type.python
            if hasattr(type, "shape"):
                yield "element", type.element  # type: ignore[attr-defined]
            else:
                yield from ((f"field {f.name}", f.type) for f in type.fields)


def _items(name: str, values: Sequence[Any]) -> Iterator[Part]:
    return ((f"{name} {i}", value) for i, value in enumerate(values))
