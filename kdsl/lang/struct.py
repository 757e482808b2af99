"""`@struct`: a class of named fields that kernels compute with, and that lies in memory as a struct of C does.

On the host it is an ordinary class: a dataclass whose fields may be assigned to. In a kernel it is a value.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import keyword
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any, ClassVar, Generic, TypeVar, dataclass_transform, get_origin, overload

import numpy as np

from kdsl.lang.complex_type import ComplexType
from kdsl.lang.enums import enum_type
from kdsl.lang.fixed_array import FixedArrayType, held, items, nested
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import STRUCT_TYPE, MemoryType, PointerType, ScalarType, TupleType, Type, VectorType, as_type

C = TypeVar("C", bound=type)

ALIGNMENTS = (1, 2, 4, 8, 16)
OWNER = "__struct_owner__"
"""The attribute of a method that holds its class: what its own annotations may name."""
SCOPE = "__struct_scope__"
"""The attribute of a method that holds the types around its class: what annotations that are strings may name."""
RESERVED = ("dtype",)


@overload
def struct(cls: C, /) -> C: ...
@overload
def struct(*, align: int) -> Callable[[C], C]: ...
@dataclass_transform()
def struct(cls: Any = None, /, *, align: int = 1) -> Any:
    """Make a class a struct: its annotated names are fields, in this order, naturally aligned as in C.

    A field is a scalar, a vector, a `Ptr`, a `FixedArray` or another struct; it may have a default. ``align`` asks for
    more than the strictest field's alignment (up to 16), so that a struct of four f32 is loaded and stored at once.
    Methods, operators, static methods, properties and class constants are for kernels and the host alike.
    ``Particle.dtype`` is the NumPy dtype of the same layout. TypeError for what cannot be a struct.
    """
    # The names around the class: its annotations may be strings.
    caller = sys._getframe(1)
    names = {**caller.f_globals, **caller.f_locals}
    # Types alone, because methods keep them: a local array should not live as long as the class.
    local = caller.f_locals if caller.f_code.co_flags & inspect.CO_OPTIMIZED else {}  # of a function alone
    scope = {name: value for name, value in local.items() if isinstance(value, Type | type)}
    if cls is not None:
        return _made(cls, align, names, scope)

    def decorate(decorated: Any) -> Any:
        return _made(decorated, align, names, scope)

    return decorate


def _made(cls: Any, align: int, names: Mapping[str, Any], scope: Mapping[str, Any]) -> Any:
    if not isinstance(cls, type):
        raise TypeError(f"@struct takes a class, got {cls!r}")
    name = cls.__name__
    if align not in ALIGNMENTS or isinstance(align, bool):
        raise TypeError(f"{name}: align is one of {', '.join(map(str, ALIGNMENTS))}, got {align!r}")
    if cls.__bases__ == (Generic,):
        raise TypeError(f"{name}: a struct has no type parameters: {_factory(name)}")
    if cls.__bases__ != (object,):
        base = cls.__bases__[0].__name__
        raise TypeError(f"{name}: a struct has no base class ({base}): make that a field, as in base: {base}")
    made = StructType(name, cls)
    made.complete(_fields(cls, made, names), align)
    for field in made.fields:
        # A struct as a default value: each object of the host gets one of its own.
        default: Any = vars(cls).get(field.name)
        if isinstance(field.type, StructType) and isinstance(default, field.type.python or ()):
            copied = dataclasses.field(default_factory=partial(copy.deepcopy, default))
            setattr(cls, field.name, copied)
    for member in vars(cls).values():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if isinstance(function, FunctionType):
            setattr(function, OWNER, cls)
            setattr(function, SCOPE, scope)
    if any(isinstance(f.type, FixedArrayType) for f in made.fields) and "__setattr__" not in vars(cls):
        cls.__setattr__ = _set  # type: ignore[method-assign, assignment]
    compares = "__eq__" in vars(cls)
    dataclasses.dataclass(eq=False)(cls)
    setattr(cls, STRUCT_TYPE, made)
    cls.dtype = made.numpy  # type: ignore[attr-defined]
    cls.__array__ = _array  # type: ignore[attr-defined]
    if not compares:
        cls.__eq__ = _equal  # type: ignore[method-assign, assignment]
        cls.__hash__ = None  # type: ignore[assignment]
    return cls


def _fields(cls: type, made: StructType, names: Mapping[str, Any]) -> list[tuple[str, MemoryType]]:
    fields: list[tuple[str, MemoryType]] = []
    for field, annotation in _annotations(cls).items():
        what = f"field `{field}` of {cls.__name__}"
        if isinstance(annotation, str):
            annotation = _evaluated(annotation, {**names, cls.__name__: made}, what)
        if annotation is ClassVar or get_origin(annotation) is ClassVar:
            continue
        if not field.isidentifier() or keyword.iskeyword(field) or field.startswith("__") or field in RESERVED:
            raise TypeError(f"{what}: a field cannot have this name")
        fields.append((field, _field_type(annotation, made, what)))
    if not fields:
        raise TypeError(f"{cls.__name__} has no fields: a struct annotates each, as in mass: f32")
    return fields


def _annotations(cls: type) -> dict[str, Any]:
    try:
        return inspect.get_annotations(cls)
    except NameError:
        # PEP 649: a name that is not bound yet, as the class itself. As text it is evaluated with that.
        import annotationlib  # type: ignore[import-not-found, unused-ignore]  # of Python 3.14

        found: dict[str, Any] = annotationlib.get_annotations(cls, format=annotationlib.Format.STRING)
        return found


def _evaluated(text: str, names: dict[str, Any], what: str) -> Any:
    try:
        found = eval(text, names)
        return eval(found, names) if isinstance(found, str) else found
    except (NameError, TypeError, AttributeError, SyntaxError, ValueError, LookupError, ArithmeticError) as error:
        raise TypeError(f"{what} is annotated `{text}`: {error}") from None


def _field_type(annotation: Any, made: StructType, what: str) -> MemoryType:
    if isinstance(annotation, TypeVar):
        raise TypeError(f"{what} is {annotation}: a struct has no type parameters: {_factory(made.name)}")
    try:
        number = enum_type(annotation)
    except TypeError as error:
        raise TypeError(f"{what} is {annotation.__name__}: {error}") from None
    if number is not None:
        return number
    try:
        type = as_type(annotation)
    except TypeError:
        raise TypeError(f"{what} is {annotation!r}, which is no type of the kernel language") from None
    if type is made:
        raise TypeError(f"{what}: a struct cannot hold itself; hold a pointer to one: Ptr[{made}]")
    if isinstance(type, ScalarType | VectorType | PointerType | StructType):
        return type
    hint = "; make a struct of its elements, or fields" if isinstance(type, TupleType) else ""
    raise TypeError(f"{what} is {type}; a field is a scalar, a vector, a Ptr, a FixedArray or a struct{hint}")


def _factory(name: str) -> str:
    """What to write instead of a generic struct."""
    function = name.lower()
    return f"write a function that makes the class, `@cache def {function}(T)`, and {function}(f32) for {name}[f32]"


def is_struct(value: object) -> bool:
    """Whether an object of the host is one of a `@struct` class."""
    return STRUCT_TYPE in vars(type(value))


def struct_type_of(value: object) -> StructType:
    """The type of such an object."""
    found = vars(type(value))[STRUCT_TYPE]
    assert isinstance(found, StructType)
    return found


def numbers(type: StructType, value: Any) -> tuple[Any, ...]:
    """What the fields of an object (or a NumPy record) hold, as nested tuples that NumPy takes for an element."""
    found: list[Any] = []
    for field in type.fields:
        part = value[field.name] if isinstance(value, np.void) else getattr(value, field.name)
        found.append(_plain(field.type, part))
    return tuple(found)


def _plain(type: MemoryType, value: Any) -> Any:
    """One field as NumPy takes it."""
    match type:
        case FixedArrayType():
            return nested(type, [_plain(type.element, item) for item in items(type, value)])
        case StructType() if not isinstance(type, ComplexType):
            return numbers(type, value)
        case PointerType():
            return 0 if value is None else getattr(value, "address", value)
        case _:
            return value


def _set(self: Any, name: str, value: Any) -> None:
    """Assign to an attribute of an object; what an array field is given is copied into an array."""
    type = next((f.type for f in struct_type_of(self).fields if f.name == name), None)
    if isinstance(type, FixedArrayType):
        value = held(type, value, f"`{name}` of {struct_type_of(self)}")
    object.__setattr__(self, name, value)


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """The object as a NumPy array without dimensions, of its class's dtype."""
    type = struct_type_of(self)
    made = np.array(numbers(type, self), type.numpy)
    return made if dtype is None else made.astype(dtype)


def _equal(self: Any, other: object) -> Any:
    """Whether all fields are equal, as in a kernel."""
    if type(other) is not type(self):
        return NotImplemented
    pairs = ((getattr(self, f.name), getattr(other, f.name), f.type) for f in struct_type_of(self).fields)
    return all(bool(np.all(np.equal(a, b))) if _is_numbers(t) else bool(a == b) for a, b, t in pairs)


def _is_numbers(type: MemoryType) -> bool:
    """Whether a field holds several numbers, which NumPy compares one by one."""
    if isinstance(type, FixedArrayType):
        return isinstance(type.element, ScalarType | VectorType | ComplexType)
    return isinstance(type, VectorType)
