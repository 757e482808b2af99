"""What an expression can be while a kernel is checked: a device value, a literal without a type, a Python object."""

from __future__ import annotations

from typing import Any

from kdsl.ir import nodes as ir
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.types import (
    COMPLEX64,
    F32,
    I32,
    I64,
    U64,
    ArrayType,
    Kind,
    PointerType,
    ScalarType,
    Space,
    TupleType,
    Type,
)
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class WeakType:
    """The type of a literal: it takes the type it meets, and is ``default`` where it meets none."""

    is_float: bool
    default: ScalarType | ComplexType

    @property
    def is_complex(self) -> bool:
        return isinstance(self.default, ComplexType)

    @property
    def family(self) -> str:
        return "complex" if self.is_complex else "float" if self.is_float else "int"

    def __str__(self) -> str:
        return f"{self.family} literal"


WEAK_INT, WEAK_I64, WEAK_U64 = (WeakType(False, t) for t in (I32, I64, U64))
WEAK_FLOAT = WeakType(True, F32)
WEAK_COMPLEX = WeakType(True, COMPLEX64)
# In the order of a join: each takes the values of those before it.
WEAK_ORDER = (WEAK_INT, WEAK_I64, WEAK_U64, WEAK_FLOAT, WEAK_COMPLEX)


@dataclass(frozen=True, slots=True)
class StaticType:
    """The type of a variable that holds a Python object, such as a function."""

    def __str__(self) -> str:
        return "a Python object"


STATIC = StaticType()
Lattice = Type | WeakType | StaticType
"""What a variable may be during inference; a TupleType then holds any of these."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """A value with a concrete type; a constant one if ``expr`` is an `ir.Const`."""

    expr: ir.Expr

    @property
    def type(self) -> Type:
        return self.expr.type


@dataclass(frozen=True, slots=True)
class Weak:
    """A Python number that takes the type it meets."""

    value: int | float | complex


@dataclass(frozen=True, slots=True)
class WeakUnknown:
    """A literal's type without a value: a variable whose type is not yet known. Only inference meets it."""

    type: WeakType


@dataclass(frozen=True, slots=True)
class WeakChoice:
    """``then if test else orelse`` of literals."""

    test: ir.Expr
    then: AnyWeak
    orelse: AnyWeak


@dataclass(frozen=True, slots=True)
class Tuple:
    """``python`` is the class of a NamedTuple. ``lazy``: elements are parts of arrays, which a loop reads when their
    turn comes.
    """

    elements: tuple[Value, ...]
    python: type | None = None
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class Passed:
    """What a kernel is passed in parts, or what a function holds that it is passed. `parts.part_value` reads it."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Static:
    """A Python object that the kernel knows by identity: a function, a type, a module, a string."""

    object: Any


@dataclass(frozen=True, slots=True)
class Range:
    """``range(start, stop, step)``; only a ``for`` takes it.

    ``numbered`` is the first number of ``enumerate()``; ``unroll`` and ``reverse`` are those of `ir.ForRange`.
    """

    start: Value
    stop: Value
    step: Value
    unroll: bool | int | None = None
    reverse: bool = False
    numbered: Value | None = None


@dataclass(frozen=True, slots=True)
class Poison:
    """The value of what is wrong and has been reported, or of what inference does not know yet."""


POISON = Poison()
AnyWeak = Weak | WeakUnknown | WeakChoice
Value = Runtime | Weak | WeakUnknown | WeakChoice | Tuple | Passed | Static | Range | Poison


def weak_type(value: AnyWeak) -> WeakType:
    """The type of a literal or of what Python made of literals."""
    match value:
        case Weak(complex()):
            return WEAK_COMPLEX
        case Weak(float()):
            return WEAK_FLOAT
        case Weak(int(number)):
            if I32.minimum <= number <= I32.maximum:
                return WEAK_INT
            return WEAK_I64 if number <= I64.maximum else WEAK_U64
        case WeakUnknown(type):
            return type
        case WeakChoice(_, then, orelse):
            return wider_weak(weak_type(then), weak_type(orelse))
    raise AssertionError(value)


def wider_weak(a: WeakType, b: WeakType) -> WeakType:
    """The literal type that takes the values of both."""
    return WEAK_ORDER[max(WEAK_ORDER.index(a), WEAK_ORDER.index(b))]


def type_of(value: Value) -> Lattice | None:
    """The type that a value gives to a variable; None if it gives none."""
    match value:
        case Runtime():
            return value.expr.type
        case Weak() | WeakUnknown() | WeakChoice():
            return weak_type(value)
        case Tuple(elements):
            types = [type_of(e) for e in elements]
            # Inference keeps literals apart inside of tuples, too.
            return None if None in types else TupleType(tuple(types), value.python)  # type: ignore[arg-type]
        case Passed(type=type):
            return type
        case Static():
            return STATIC
        case _:
            return None


def join(a: Lattice, b: Lattice) -> Lattice | None:
    """The type of a variable that holds values of both types; None if there is none."""
    if a is b or a == b:
        return a
    match a, b:
        case WeakType(), WeakType():
            return wider_weak(a, b)
        case WeakType(), ScalarType():
            return b if weak_meets(a, b) else None
        case ScalarType(), WeakType():
            return a if weak_meets(b, a) else None
        case WeakType(), ComplexType():
            return b
        case ComplexType(), WeakType():
            return a
        case ArrayType(), ArrayType():
            return join_arrays(a, b)
        case TupleType(), TupleType() if len(a.elements) == len(b.elements) and a.python is b.python:
            joined = [join(x, y) for x, y in zip(a.elements, b.elements, strict=True)]
            return None if None in joined else TupleType(tuple(joined), a.python)  # type: ignore[arg-type]
        case _:
            return None


def join_arrays(a: ArrayType, b: ArrayType) -> ArrayType | None:
    """The type of arrays of both types: with extents and strides where either has them. Memory stays the same."""
    if (a.element, a.ndim, a.space) != (b.element, b.ndim, b.space):
        return None
    shape = a.shape if a.shape == b.shape else None
    return ArrayType(a.element, a.ndim, a.space, shape, a.index or b.index, a.strided or b.strided)


def weak_meets(weak: WeakType, scalar: ScalarType) -> bool:
    """Whether a literal may take this type: an int any number's, a float a float's."""
    if weak.is_complex:
        return False
    return scalar.is_float or scalar.is_float8 or (scalar.is_int and not weak.is_float)


def is_weak(type: Lattice) -> bool:
    """Whether some part of a type is still a literal's."""
    if isinstance(type, TupleType):
        return any(is_weak(e) for e in type.elements)
    return isinstance(type, WeakType)


def defaulted(type: Lattice) -> Lattice:
    """The type with i32 (or i64, u64) and f32 for literals that met no other type."""
    match type:
        case WeakType():
            return type.default
        case TupleType(elements, python):
            return TupleType(tuple(defaulted(e) for e in elements), python)  # type: ignore[misc]
        case _:
            return type


def is_constant(value: Value) -> bool:
    """Whether a name that is bound once to this value *is* the value."""
    match value:
        case Weak() | Static():
            return True
        case Runtime(ir.Const()):
            return True
        case Tuple(elements):
            return all(is_constant(e) for e in elements)
        case _:
            return False


def scalar_type(value: Value) -> ScalarType | None:
    """The concrete scalar type of a value, None if it has none (yet)."""
    return value.expr.type if isinstance(value, Runtime) and isinstance(value.expr.type, ScalarType) else None


def constant_int(value: Value) -> int | None:
    """The int that a value is known to be."""
    match value:
        case Weak(int(number)):
            return number
        case Runtime(ir.Const(int(number), ScalarType() as type)) if type.is_int:
            return int(number)
        case _:
            return None


def is_bool(value: Value) -> bool:
    type = scalar_type(value)
    return type is not None and type.kind is Kind.BOOL


def describe(type: Lattice) -> str:
    """A type as an error names it."""
    match type:
        case WeakType():
            return f"{'an' if type.family == 'int' else 'a'} {type} ({type.default})"
        case ArrayType(shape=tuple(shape)):
            extents = " x ".join(map(str, shape))
            return f"a {type.space.name.lower()} array of {extents} {type.element}"
        case ArrayType(space=space) if space is not Space.GLOBAL:
            return f"{type} in {space.name.lower()} memory"
        case PointerType(space=space) if space is not Space.GLOBAL:
            return f"{type} into {space.name.lower()} memory"
        case TupleType():
            # A literal among the elements is shown as the type that it takes by itself.
            return str(defaulted(type))
        case _:
            return str(type)
