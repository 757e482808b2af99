"""The cheaper forms that known ranges and constants allow give the same results as the general ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from kdsl.backend import Backend
from kdsl.ir import nodes as ir
from kdsl.lang.types import I8, I16, I32, I64, U8, U16, U32, U64, ScalarType

from . import reference
from . import trees as t
from .compile import ptx_of
from .emulate import Device
from .test_results import Case, mismatches, values

CONSTANTS = [
    -(2**31),
    -100,
    -8,
    -7,
    -3,
    -2,
    -1,
    0,
    1,
    2,
    3,
    5,
    7,
    8,
    10,
    11,
    13,
    19,
    31,
    33,
    100,
    641,
    1024,
    65537,
    10**6 + 3,
    2**30 - 1,
    2**30,
    2**31 - 1,
]


def narrow_case(op: str, s: ScalarType, left: ScalarType, right: ScalarType) -> Case:
    """``s(x) op s(y)`` where the narrower types of x and y bound the operands."""
    lanes = list(itertools.product(values(left), values(right)))
    inputs = [([lane[0] for lane in lanes], left), ([lane[1] for lane in lanes], right)]
    make = lambda x, y: t.binary(op, t.cast(x, s), t.cast(y, s))
    name = f"k_{ir.BinaryOp(op).name}_{s}_{left}_{right}"
    return t.pointwise(name, s, [left, right], make), s, inputs, [reference.int_binary(op, a, b, s) for a, b in lanes]


def constant_case(op: str, s: ScalarType, divisor: int, known: bool) -> Case:
    """``x op divisor``; with ``known`` x is masked to be non-negative."""
    mask = s.maximum if not known else s.maximum >> 1
    lanes = [int(v) & mask if known else int(v) for v in [*values(s), *hardest(s, divisor)]]
    make = lambda x: t.binary(op, t.binary("&", x, t.const(mask, s)) if known else x, t.const(divisor, s))
    name = f"k_{ir.BinaryOp(op).name}_{s}_{'known_' if known else ''}{divisor}".replace("-", "minus")
    expected = [reference.int_binary(op, a, divisor, s) for a in lanes]
    return t.pointwise(name, s, [s], make), s, [(lanes, s)], expected


def hardest(s: ScalarType, divisor: int) -> list[int]:
    """The multiples of the divisor that are farthest from 0, and their neighbours: where a multiplier is off first."""
    if divisor == 0:
        return []
    ends = [end // divisor * divisor + k for end in (s.maximum, s.minimum) for k in (-divisor, 0, divisor)]
    return [v + k for v in ends for k in (-1, 0, 1) if s.minimum <= v + k <= s.maximum]


def cases(op: str) -> Iterator[Case]:
    for s, narrow in ((I32, (U8, U16, I8, I16)), (I64, (U8, U32, I32)), (U64, (U8, U32))):
        for left, right in itertools.product(narrow, narrow):
            yield narrow_case(op, s, left, right)
    if op in ("//", "%", "*", "-"):
        for s, known in itertools.product((I32, I64, U32), (False, True)):
            for divisor in CONSTANTS:
                if s.minimum <= divisor:
                    yield constant_case(op, s, divisor, known)


@pytest.mark.parametrize("op", ["+", "-", "*", "//", "%", "<<", ">>", "min", "max"])
def test_results_do_not_depend_on_what_is_known(op: str, backend: Backend) -> None:
    made = list(cases(op))
    device = Device(ptx_of(*(kernel for kernel, *_ in made)), backend)
    wrong = [line for kernel, *rest in made for line in mismatches(device, kernel.name, *rest)[:3]]
    assert not wrong, "\n".join(wrong[:40])
