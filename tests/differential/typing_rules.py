"""The language's rules for the types of scalar expressions, written down a second time (language reference, 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .ieee import BFLOAT, DOUBLE, HALF, SINGLE, Format


class IllTyped(Exception):
    """The program is one that the compiler must refuse."""


@dataclass(frozen=True)
class Scalar:
    """``kind`` is bool, signed, unsigned, float, weak-int or weak-float; ``form`` is a float's format."""

    name: str
    kind: str
    bits: int = 0
    form: Format | None = None

    @property
    def is_int(self) -> bool:
        return self.kind in ("signed", "unsigned")

    @property
    def is_weak(self) -> bool:
        return self.kind.startswith("weak")

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def format(self) -> Format:
        assert self.form is not None
        return self.form

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.kind == "signed" else 0

    @property
    def high(self) -> int:
        return self.low + (1 << self.bits) - 1


@dataclass(frozen=True)
class Vector(Scalar):
    """Lanes of one scalar type; values are tuples of it."""

    element: Scalar = Scalar("", "")
    lanes: int = 0


@dataclass(frozen=True)
class TupleType(Scalar):
    """Values of several types."""

    parts: tuple[Scalar, ...] = ()


BOOL = Scalar("bool", "bool", 8)
SIGNED = {bits: Scalar(f"i{bits}", "signed", bits) for bits in (8, 16, 32, 64)}
UNSIGNED = {bits: Scalar(f"u{bits}", "unsigned", bits) for bits in (8, 16, 32, 64)}
FLOATS = {form.name: Scalar(form.name, "float", form.bits, form) for form in (HALF, BFLOAT, SINGLE, DOUBLE)}
I32, I64, U32, U64 = SIGNED[32], SIGNED[64], UNSIGNED[32], UNSIGNED[64]
F16, BF16, F32, F64 = FLOATS["f16"], FLOATS["bf16"], FLOATS["f32"], FLOATS["f64"]
WEAK_INT = Scalar("a weak int", "weak-int")
WEAK_FLOAT = Scalar("a weak float", "weak-float")
TYPES: dict[str, Scalar] = {t.name: t for t in (BOOL, *SIGNED.values(), *UNSIGNED.values(), *FLOATS.values())}


def vector(element: Scalar, lanes: int) -> Vector:
    return Vector(f"{element.name}x{lanes}", "vector", element.bits * lanes, None, element, lanes)


def tuple_of(parts: Sequence[Scalar]) -> TupleType:
    return TupleType(f"({', '.join(t.name for t in parts)})", "tuple", parts=tuple(parts))


VECTORS: dict[str, Vector] = {
    t.name: t
    for names, lanes in (
        ("f32 f64 i32 u32 i64 u64 u16 i16 f16 bf16", 2),
        ("f32 i32 u32 u8 i8 u16 i16 f16 bf16", 4),
    )
    for t in (vector(TYPES[name], lanes) for name in names.split())
}


def named(name: str) -> Scalar:
    """The type that a name in a program means, Python's own names included."""
    return {"int": I32, "float": F32}.get(name) or VECTORS.get(name) or TYPES[name]


def widened(t: Scalar) -> Scalar:
    """Arithmetic on bools and on 8- and 16-bit ints is i32."""
    return I32 if t.kind == "bool" or (t.is_int and t.bits < 32) else t


def common(a: Scalar, b: Scalar) -> Scalar:
    """The type in which an arithmetic operation, a comparison, min or max of the two takes place."""
    if a.is_weak and b.is_weak:
        return WEAK_FLOAT if WEAK_FLOAT in (a, b) else WEAK_INT
    if {a.kind, b.kind} & {"vector", "tuple"}:
        raise IllTyped(f"{a.name} with {b.name}")
    if a.is_weak or b.is_weak:
        strong, weak = (b, a) if a.is_weak else (a, b)
        if weak == WEAK_FLOAT and not strong.is_float:
            # An int with a float gives that float; a weak float alone is f32.
            return F32
        return widened(strong)
    if a.is_float or b.is_float:
        return common_float(a, b)
    return common_int(a, b)


def common_float(a: Scalar, b: Scalar) -> Scalar:
    if not (a.is_float and b.is_float):
        return a if a.is_float else b
    if a.bits == b.bits and a != b:
        raise IllTyped(f"{a.name} with {b.name}")
    return a if a.bits >= b.bits else b


def common_int(a: Scalar, b: Scalar) -> Scalar:
    if "bool" in (a.kind, b.kind):
        return widened(b if a.kind == "bool" else a)
    a, b = widened(a), widened(b)
    if a.kind == b.kind:
        return a if a.bits >= b.bits else b
    signed, unsigned = (a, b) if a.kind == "signed" else (b, a)
    if signed.bits <= unsigned.bits:
        raise IllTyped(f"{a.name} with {b.name}")
    return signed


def quotient(t: Scalar) -> Scalar:
    """The type of ``/`` whose operands have the common type ``t``."""
    if t.is_weak:
        return WEAK_FLOAT
    return t if t.is_float else F64 if t.bits == 64 else F32


def accepts(target: Scalar, source: Scalar) -> bool:
    """Whether a value is converted without a cast by a store, an argument or a return."""
    if source.kind in ("vector", "tuple") or target.kind in ("vector", "tuple"):
        return source == target
    if source == target or (source == WEAK_INT and target.kind != "bool"):
        return True
    if source == WEAK_FLOAT or target.is_float and source.is_float:
        return target.is_float and (source == WEAK_FLOAT or target.bits > source.bits)
    if source.kind == "bool":
        return target.is_int
    if target.is_float:
        return not source.is_float
    if not (source.is_int and target.is_int):
        return False
    return target.bits > source.bits and (target.kind == source.kind or source.kind == "unsigned")


def assigned(a: Scalar | None, b: Scalar) -> Scalar:
    """The type of a variable (or of a conditional's two sides) that holds both."""
    if a is None or a == b:
        return b
    if a.is_weak and b.is_weak:
        return WEAK_FLOAT
    strong, weak = (b, a) if a.is_weak else (a, b)
    if not weak.is_weak or strong.kind == "bool" or (weak == WEAK_FLOAT and not strong.is_float):
        raise IllTyped(f"one variable as {a.name} and {b.name}")
    return strong
