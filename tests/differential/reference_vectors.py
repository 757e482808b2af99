"""The reference's vectors: an operation on each lane, as on scalars but for small ints, which do not widen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import intrinsics, semantics
from .reference_expressions import Frame, Typed
from .typing_rules import IllTyped, Scalar, Vector, vector

NAMES = "xyzw"
OF_FLOATS = frozenset({"+", "-", "*", "/", "min", "max"})
OF_INTS = frozenset({"+", "-", "*", "&", "|", "^", "min", "max"})
ROUNDINGS = ("round", "floor", "ceil")


def lanes_of(value: Typed, t: Vector) -> Callable[[Frame], tuple[Any, ...]]:
    """The value as one of type ``t``: a scalar stands for all lanes."""
    if isinstance(value.type, Vector):
        if value.type != t:
            raise IllTyped(f"{value.type.name} with {t.name}")
        return value.run
    run = value.implicitly(t.element)
    return lambda frame: (run(frame),) * t.lanes


def vector_among(values: Sequence[Typed]) -> Vector | None:
    return next((v.type for v in values if isinstance(v.type, Vector)), None)


def on_lanes(t: Vector, values: Sequence[Typed], operation: Callable[..., Any]) -> Typed:
    runs = [lanes_of(value, t) for value in values]

    def run(frame: Frame) -> tuple[Any, ...]:
        return tuple(operation(*lane) for lane in zip(*(each(frame) for each in runs), strict=True))

    return Typed(t, run)


def binary(op: str, left: Typed, right: Typed) -> Typed:
    t = vector_among([left, right])
    assert t is not None
    element = t.element
    if op not in (OF_FLOATS if element.is_float else OF_INTS):
        raise IllTyped(f"{op} of {t.name}")
    return on_lanes(t, [left, right], lambda a, b: semantics.binary(op, a, b, element))


def unary(op: str, operand: Typed) -> Typed:
    t = operand.type
    assert isinstance(t, Vector)
    element = t.element
    allowed = ("-", "+", "abs", *ROUNDINGS) if element.is_float else ("-", "+", "~", "abs")
    if op not in allowed:
        raise IllTyped(f"{op} of {t.name}")
    return on_lanes(t, [operand], lambda a: semantics.unary(op, a, element))


def fma(values: Sequence[Typed]) -> Typed:
    t = vector_among(values)
    assert t is not None
    element = t.element
    if not element.is_float:
        raise IllTyped(f"fma of {t.name}")
    return on_lanes(t, values, lambda a, b, c: intrinsics.exact_fma(a, b, c, element))


def cast(a: Any, source: Scalar, target: Scalar) -> Any:
    return semantics.literal(a, target) if source.is_weak else semantics.cast(a, source, target)


def construct(t: Vector, parts: Sequence[Typed]) -> Typed:
    """Of scalars and vectors, each cast; of one scalar for all lanes."""
    counts = [part.type.lanes if isinstance(part.type, Vector) else 1 for part in parts]
    if sum(counts) != t.lanes and counts != [1]:
        raise IllTyped(f"{t.name} of {sum(counts)} components")
    repeat = t.lanes if counts == [1] else 1

    def run(frame: Frame) -> tuple[Any, ...]:
        lanes: list[Any] = []
        for part in parts:
            value = part.run(frame)
            if isinstance(part.type, Vector):
                lanes += [semantics.cast(lane, part.type.element, t.element) for lane in value]
            else:
                lanes += [cast(value, part.type, t.element)] * repeat
        return tuple(lanes)

    return Typed(t, run)


def components(value: Typed, names: str) -> Typed:
    t = value.type
    if not isinstance(t, Vector) or any(NAMES.index(name) >= t.lanes for name in names):
        raise IllTyped(f"{names} of {t.name}")
    places = [NAMES.index(name) for name in names]
    if len(places) == 1:
        return Typed(t.element, lambda frame: value.run(frame)[places[0]])
    return Typed(vector(t.element, len(places)), lambda frame: tuple(value.run(frame)[k] for k in places))


def with_component(old: Typed, name: str, new: Typed) -> Typed:
    t = old.type
    if not isinstance(t, Vector) or NAMES.index(name) >= t.lanes:
        raise IllTyped(f"{name} of {t.name}")
    place, give = NAMES.index(name), new.implicitly(t.element)

    def run(frame: Frame) -> tuple[Any, ...]:
        # Python evaluates the value first; it may assign to the variable.
        value = give(frame)
        lanes = list(old.run(frame))
        lanes[place] = value
        return tuple(lanes)

    return Typed(t, run)
