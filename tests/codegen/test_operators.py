"""Every operator on every type it takes compiles for every architecture."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kdsl.codegen.sass import assemble
from kdsl.ir import nodes as ir
from kdsl.lang.types import ScalarType, boolean
from kdsl.target import Target

from . import trees as t
from .compile import ptx_of

INT_ONLY = "& | ^ << >>".split()
BOOL_BINARY = "& | ^ min max".split()


def kernels() -> Iterator[ir.Function]:
    for scalar in t.NUMBERS:
        yield from binary_kernels(scalar)
        yield from unary_kernels(scalar)
        for other in t.NUMBERS:
            yield t.pointwise(f"cast_{scalar}_{other}", other, [scalar], lambda x, to=other: t.cast(x, to))
        for op in ir.CompareOp:
            name = f"{op.name}_{scalar}"
            yield t.pointwise(name, boolean, [scalar] * 2, lambda x, y, op=op: t.compare(op.value, x, y))


def binary_kernels(scalar: ScalarType) -> Iterator[ir.Function]:
    for op in ir.BinaryOp:
        sign = op.value
        if (scalar.is_float and sign in INT_ONLY) or (scalar.is_int and sign == "/"):
            continue
        if scalar is boolean and sign not in BOOL_BINARY:
            continue
        yield t.pointwise(f"{op.name}_{scalar}", scalar, [scalar] * 2, lambda x, y, sign=sign: t.binary(sign, x, y))
    for amount in (s for s in t.NUMBERS if scalar.is_int and s.is_int):
        for op, sign in (("shl", "<<"), ("shr", ">>")):
            name = f"{op}_{scalar}_{amount}"
            yield t.pointwise(name, scalar, [scalar, amount], lambda x, y, sign=sign: t.binary(sign, x, y))


def unary_kernels(scalar: ScalarType) -> Iterator[ir.Function]:
    for op in ir.UnaryOp:
        sign = op.value
        takes = sign in ("not", "~") if scalar is boolean else sign != "not" and not (scalar.is_float and sign == "~")
        if takes:
            yield t.pointwise(f"{op.name}1_{scalar}", scalar, [scalar], lambda x, sign=sign: t.unary(sign, x))


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_100a", "sm_120"])
def test_ptxas_takes_every_operator_on_every_type(arch: str) -> None:
    made = list(kernels())
    assembled = assemble(ptx_of(*made, arch=arch), Target.parse(arch))
    assert {r.kernel for r in assembled.resources} == {k.name for k in made}
    # Python's // and % on floats call libdevice; nothing else needs a stack.
    assert not [r.kernel for r in assembled.resources if r.stack]
