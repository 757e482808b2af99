"""What tells an object of the host from others, as far as a kernel that reads it is concerned.

Objects whose attributes a kernel can read (modules, classes, plain objects) are told by their names alone: each
attribute that was read is a dependency of its own. All else is told by its value. What is of no known kind is
Unkeyable, and what captured it stays out of the cache.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import struct
import types
import typing
from collections.abc import Callable
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np

from kdsl.annotations import function_types
from kdsl.cache.digests import digest
from kdsl.cache.text import Unkeyable, function_key
from kdsl.captured import is_own_function, scope
from kdsl.lang.construct import Construct
from kdsl.lang.extern import ExternFunction
from kdsl.lang.index import Registers
from kdsl.lang.intrinsic import Intrinsic
from kdsl.lang.named import field_types, is_named_tuple
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.struct import is_struct, struct_type_of
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import STRUCT_TYPE, ArrayType, PointerType, ScalarType, Space, TupleType, Type, VectorType
from kdsl.lang.variables import Variable
from kdsl.source import CompileError

BUILTINS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc)
MOST_BYTES = 16 * 1024 * 1024
"""Of an array whose contents are looked at: constant memory has far less."""
NUMBERS = ("__index__", "__int__", "__float__", "__len__", "__getitem__", "__iter__", "dtype")
ARRAYS = ("__array__", "__array_interface__", "__cuda_array_interface__", "__dlpack__")
"""Objects with one of these may be taken for a number, a type or an array, of which their class says nothing."""


class Fingerprints:
    """Fingerprints in one key. Objects with an identity are numbered: two names of one are told from two alike."""

    def __init__(self, held: frozenset[tuple[int, str]] = frozenset()) -> None:
        self._held = held
        """Places of functions whose values a launch passes: owner and place, as in `Held`."""
        self._numbers: dict[int, int] = {}
        self._identities: dict[int, int] = {}
        self._kept: list[Any] = []

    def branch(self) -> Fingerprints:
        """The same, to go on from here without a trace."""
        made = Fingerprints(self._held)
        made._numbers, made._kept = dict(self._numbers), list(self._kept)
        made._identities = dict(self._identities)
        return made

    def of(self, value: Any) -> Any:
        """The fingerprint, which JSON holds. Unkeyable if there is none."""
        plain = _plain(value)
        if plain is not None:
            # Of numbers and texts a kernel does not ask which ones they are.
            return [plain, self._which(value)] if isinstance(value, range | slice | bytes) else plain
        match value:
            case tuple():
                return [self.name(type(value)), [self.of(part) for part in value]]
            case list():
                return [self.name(type(value)), self._which(value), [self.of(part) for part in value]]
            case dict():
                parts = [[self.of(key), self.of(part)] for key, part in value.items()]
                return ["dict", self._which(value), parts]
            case np.dtype():
                return [*_dtype(value), self._which(value)]
            case ScalarType() | VectorType() | Intrinsic() | Construct() | Registers():
                return _named(value)
        if self._is_known(value):
            return ["again", self._numbers[id(value)]]
        return self._object(value)

    def _which(self, value: Any) -> int:
        """Which object this is, of those of which this was asked."""
        self._kept.append(value)
        return self._identities.setdefault(id(value), len(self._identities))

    def _is_known(self, value: Any) -> bool:
        if id(value) in self._numbers:
            return True
        self._numbers[id(value)] = len(self._numbers)
        self._kept.append(value)  # so that its id stays its own
        return False

    def _object(self, value: Any) -> Any:
        """Of what has an identity."""
        match value:
            case ModuleType():
                return ["module", value.__name__]
            case FunctionType():
                return self.function(value)
            case type():
                return self._class(value)
            case _ if isinstance(value, Type):
                return self._type(value)
            case np.ndarray():
                return _array(value)
            case Variable():
                initial = None if value.type.space is Space.CONSTANT or value.initial is None else digest(value.initial)
                return ["variable", self.of(value.type), value.name, initial]
            case ExternFunction():
                return self._extern(value)
            case TypeVar():
                return self._type_variable(value)
            case partial():
                keywords = {key: self._part(value, f"keyword {key}", part) for key, part in value.keywords.items()}
                arguments = [self._part(value, f"argument {i}", part) for i, part in enumerate(value.args)]
                return ["partial", self.of(value.func), arguments, keywords]
            case MethodType():
                return ["method", self.of(value.__func__), self._part(value, "self", value.__self__)]
            case property():
                return ["property", self.of(value.fget)]
            case staticmethod() | classmethod():
                return [type(value).__name__, self.of(value.__func__)]
            case enum.Enum():
                return ["member", self.of(type(value)), value.name, self.of(value.value)]
            case (
                types.BuiltinFunctionType() | np.ufunc() | types.MethodDescriptorType() | types.WrapperDescriptorType()
            ):
                return _builtin(value)
            case _ if is_struct(value):
                return self._struct(value)
        if typing.get_origin(value) is not None:
            return ["generic", self.of(typing.get_origin(value)), [self.of(part) for part in typing.get_args(value)]]
        return self._instance(value)

    def function(self, function: FunctionType, *, defaults: bool = True) -> Any:
        """Of a function: its text, its place, what its annotations and defaults are, and which others read the same
        names as it does. What it reads by name is not in it.
        """
        if is_own_function(function):
            return ["own", function.__module__, function.__qualname__]
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)]
        given = self._defaults(function) if defaults else None
        # Two functions with one namespace are told from two alike with one each: what was read for one of them may be
        # another thing for the other.
        spaces = [self._which(n) for n in (function.__globals__, scope(function), *(function.__closure__ or ()))]
        annotated = self._annotated(function, names)
        return ["function", function.__name__, function_key(function), annotated, given, spaces]

    def _annotated(self, function: FunctionType, names: tuple[str, ...]) -> Any:
        try:
            return {name: self.of(type) for name, type in function_types(function, names).items()}
        except CompileError as error:
            return {"": [d.message for d in error.diagnostics]}

    def _extern(self, extern: ExternFunction) -> Any:
        """Of a function of another compiler: its declaration. Its text is not compiled; it names files, which `linked`
        tells by what is in them.
        """
        self._is_known(extern.function)
        code = extern.function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        parts = [code.co_argcount, names, code.co_flags, self._defaults(extern.function)]
        return ["extern", extern.symbol, parts, self._annotated(extern.function, names)]

    def _defaults(self, function: FunctionType) -> Any:
        code, values = function.__code__, function.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
        every = [*zip(names, values, strict=True), *(function.__kwdefaults__ or {}).items()]
        return [[name, self._part(function, f"default {name}", value)] for name, value in every]

    def _part(self, owner: Any, place: str, value: Any) -> Any:
        """What a function holds: nothing, if a launch passes it."""
        return ["held"] if (id(owner), place) in self._held else self.of(value)

    def name(self, cls: type) -> Any:
        """Of a class as such."""
        if cls.__module__ == "builtins":
            return cls.__qualname__
        return self.of(cls)

    def _class(self, cls: type) -> Any:
        # Which one of its name a base is, too: `isinstance` asks for it.
        names = [[base.__module__, base.__qualname__, self._which(base)] for base in cls.__mro__]
        # Abstract classes and protocols too: what is registered with them, or has their methods, is not found there.
        if type(cls).__instancecheck__ is not type.__instancecheck__:
            raise Unkeyable(f"the class `{cls.__qualname__}`, whose metaclass says what its instances are")
        if issubclass(cls, enum.Enum):
            # Their texts too, which a print in a kernel shows.
            members = [[name, self.of(member.value), f"{member}"] for name, member in cls.__members__.items()]
            return ["enum", names, members]
        if is_named_tuple(cls):
            defaults: dict[str, Any] = getattr(cls, "_field_defaults", {})
            return ["named tuple", names, self._field_types(cls), {k: self.of(v) for k, v in defaults.items()}]
        if STRUCT_TYPE in vars(cls):
            return ["struct class", names, self.of(vars(cls)[STRUCT_TYPE])]
        known = cls.__module__ in ("builtins", "numpy", "ml_dtypes") or _is_own(cls.__module__)
        if not known and hasattr(cls, "dtype"):
            raise Unkeyable(f"the class `{cls.__qualname__}` has a dtype")
        return ["class", names]

    def _field_types(self, cls: type) -> Any:
        try:
            return [[name, self.of(type)] for name, type in field_types(cls).items()]
        except TypeError as error:
            return str(error)

    def _type(self, type: Any) -> Any:
        match type:
            case PointerType(element, space):
                return ["Ptr", self.of(element), space.name]
            case ArrayType():
                parts = (type.ndim, type.space.name, type.shape, type.strided)
                return ["Array", self.of(type.element), parts, self.of(type.index)]
            case TupleType(elements, python):
                return ["tuple", [self.of(e) for e in elements], self.of(python)]
            case StructType():
                return self._struct_type(type)
            case ConstexprType():
                return self._constant(type)
            case GenericType(template):
                return ["generic", self.of(template)]
            case _:
                return [builtins.type(type).__name__, repr(type)]

    def _struct_type(self, type: StructType) -> Any:
        if hasattr(type, "shape"):  # a FixedArrayType, whose fields are its many elements
            return ["FixedArray", self.of(type.element), type.shape]  # type: ignore[attr-defined]
        fields = [[f.name, self.of(f.type), f.offset] for f in type.fields]
        defaults = None if type.python is None else self._field_defaults(type.python)
        python = None if type.python is None else [type.python.__module__, type.python.__qualname__]
        return ["struct", type.name, python, fields, type.size, type.align, defaults]

    def _field_defaults(self, cls: Any) -> Any:
        found = []
        for field in dataclasses.fields(cls):
            if field.default is not dataclasses.MISSING:
                found.append([field.name, self.of(field.default)])
            elif field.default_factory is not dataclasses.MISSING:
                found.append([field.name, self.of(field.default_factory())])
        return found

    def _constant(self, type: ConstexprType) -> Any:
        form = "Type" if type.form is Type else self.of(type.form)
        held = [[h.name, h.source, h.place, self.of(h.type)] for h in type.held]
        parts = (type.is_literal, type.is_bound, type.optional)
        return ["Constexpr", self.of(type.element), form, parts, self.of(type.value), held]

    def _type_variable(self, variable: Any) -> Any:
        constraints = [self.of(c) for c in variable.__constraints__]
        return ["TypeVar", variable.__name__, constraints, self.of(variable.__bound__)]

    def _struct(self, value: Any) -> Any:
        made = struct_type_of(value)
        return ["object", self.of(made), [self.of(getattr(value, field.name)) for field in made.fields]]

    def _instance(self, value: Any) -> Any:
        """Of an object whose attributes are read by name."""
        cls = type(value)
        if _is_own(cls.__module__):
            raise Unkeyable(f"a {cls.__qualname__} of kdsl")
        if not hasattr(value, "__dict__") or any(hasattr(value, name) for name in NUMBERS + ARRAYS):
            raise Unkeyable(f"a {cls.__module__}.{cls.__qualname__}")
        return ["instance", self.of(cls)]


def _plain(value: Any) -> Any:
    """Of a number, a string and the like; None for anything else."""
    kind = type(value)
    match value:
        case None:
            return ["None"]
        case bool() | str() if kind in (bool, str):
            return [kind.__name__, value]
        case int() if kind is int:
            return ["int", hex(value)]
        case float() if kind is float:
            return ["float", struct.pack("<d", value).hex()]
        case complex() if kind is complex:
            return ["complex", struct.pack("<2d", value.real, value.imag).hex()]
        case bytes() if kind is bytes:
            return ["bytes", value.hex()]
        case range() | slice():
            return [kind.__name__, [_plain(part) or repr(part) for part in (value.start, value.stop, value.step)]]
        case np.generic():
            return ["scalar", kind.__module__, kind.__qualname__, _dtype(value.dtype), value.tobytes().hex()]
    if value is ... or value is NotImplemented:
        return [repr(value)]
    return None


def _dtype(dtype: np.dtype[Any]) -> Any:
    if dtype.hasobject:
        raise Unkeyable(f"the dtype {dtype}")
    return ["dtype", dtype.type.__module__, dtype.name, repr(dtype), dtype.str, dtype.itemsize, dtype.alignment]


def _array(array: np.ndarray[Any, Any]) -> Any:
    if type(array) is not np.ndarray or array.nbytes > MOST_BYTES:
        raise Unkeyable(f"a {type(array).__qualname__} of {array.nbytes} bytes")
    return ["array", _dtype(array.dtype), array.shape, array.strides, digest(array.tobytes())]


def _named(value: Any) -> Any:
    match value:
        case Intrinsic() | Construct():
            stub = value.stub
            return [type(value).__name__, stub.__module__, stub.__qualname__, value.name]
        case Registers():
            return ["Registers", [_named(part) for part in (value.x, value.y, value.z)]]
        case _:
            return ["type", str(value)]


def _builtin(value: Callable[..., Any]) -> Any:
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):
        raise Unkeyable(f"a method of a {type(owner).__qualname__}")
    module = getattr(value, "__module__", None) or getattr(getattr(value, "__objclass__", None), "__qualname__", None)
    return ["builtin", type(value).__qualname__, module, getattr(value, "__qualname__", value.__name__)]


def _is_own(module: str | None) -> bool:
    """Whether this is the language itself: its version is a part of every key."""
    return module == "kdsl" or (module or "").startswith("kdsl.")
