"""Contraction, fast math and precision, as the PTX says them."""

from __future__ import annotations

import re

import pytest

from kdsl.ir import nodes as ir
from kdsl.lang.types import BF16, F16, F32, F64, I32, I64, ScalarType, boolean
from kdsl.source import CompileError

from . import trees as t
from .compile import mnemonics, ptx_of
from .test_operators import kernels

MEMORY = ("ld.", "st.", "mul.wide", "add.s64", "shl.b64", "cvt.u64")


def arithmetic(ptx: str) -> list[str]:
    return [op for op in mnemonics(ptx) if not op.startswith(MEMORY)]


def fused(scalar: ScalarType, **options: bool) -> list[str]:
    make = lambda a, b, c: t.binary("+", t.binary("*", a, b), c)
    return arithmetic(ptx_of(t.pointwise("k", scalar, [scalar] * 3, make, ir.Options(**options))))


FLOATS = [(F32, "f32"), (F64, "f64"), (F16, "f16"), (BF16, "bf16")]


@pytest.mark.parametrize(("scalar", "name"), FLOATS)
def test_a_product_and_a_sum_are_fused(scalar: ScalarType, name: str) -> None:
    assert fused(scalar) == [f"fma.rn.{name}"]


@pytest.mark.parametrize(("scalar", "name"), FLOATS)
def test_without_fmad_nothing_is_fused(scalar: ScalarType, name: str) -> None:
    assert fused(scalar, fmad=False) == [f"mul.rn.{name}", f"add.rn.{name}"]


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_no_float_operation_is_left_for_ptxas_to_fuse(arch: str) -> None:
    ptx = ptx_of(*kernels(), arch=arch)
    assert not re.findall(r"^\t(?:@!?%p\d+ )?(?:add|sub|mul)(?:\.ftz)?\.b?f\d+(?:x2)?\b.*", ptx, re.MULTILINE)
    assert "mul.rn.f32" in ptx


DIVISIONS = [(F32, False, "div.rn.f32"), (F32, True, "div.approx.ftz.f32")]


@pytest.mark.parametrize(
    ("scalar", "fastmath", "op"), [*DIVISIONS, (F64, False, "div.rn.f64"), (F64, True, "div.rn.f64")]
)
def test_division(scalar: ScalarType, fastmath: bool, op: str) -> None:
    options = ir.Options(fastmath=fastmath)
    divide = t.pointwise("k", scalar, [scalar] * 2, lambda a, b: t.binary("/", a, b), options)
    assert arithmetic(ptx_of(divide)) == [op]


def test_fastmath_flushes_subnormals() -> None:
    assert fused(F32, fastmath=True) == ["fma.rn.ftz.f32"]


@pytest.mark.parametrize(("source", "target", "ops"), [
    (F32, I32, ["cvt.rzi.s32.f32"]),
    (F16, I32, ["cvt.f32.f16", "cvt.rzi.s32.f32"]),
    # PTX gives 1 << 63 for a NaN there, the language 0.
    (F32, I64, ["cvt.rzi.s64.f32", "setp.num.f32", "selp.b64"]),
    (F64, I32, ["cvt.rzi.s32.f64", "setp.num.f64", "selp.b32"]),
    (I64, BF16, ["cvt.rn.bf16.s64"]),
    (I64, F16, ["cvt.rn.f16.s64"]),
    (F64, F16, ["cvt.rn.f16.f64"]),
    (F64, BF16, ["cvt.rn.bf16.f64"]),
    (F32, BF16, ["cvt.rn.bf16.f32"]),
])  # fmt: skip
def test_casts_round_once(source: ScalarType, target: ScalarType, ops: list[str]) -> None:
    cast = t.pointwise("k", target, [source], lambda x: t.cast(x, target))
    assert sorted(arithmetic(ptx_of(cast))) == sorted(ops)


def test_before_sm_90_an_int_becomes_bf16_by_way_of_round_to_odd() -> None:
    cast = t.pointwise("k", BF16, [I64], lambda x: t.cast(x, BF16))
    ops = arithmetic(ptx_of(cast, arch="sm_80"))
    assert "cvt.rz.f32.s64" in ops
    assert "cvt.rn.f32.s64" not in ops
    assert "cvt.rn.bf16.f32" in ops


@pytest.mark.parametrize(("op", "mode"), [("round", "rni"), ("floor", "rmi"), ("ceil", "rpi")])
def test_rounding_is_one_instruction(op: str, mode: str) -> None:
    assert arithmetic(ptx_of(t.pointwise("k", F32, [F32], lambda x: t.unary(op, x)))) == [f"cvt.{mode}.f32.f32"]


def test_not_equal_is_unordered_and_less_is_ordered() -> None:
    comparison = lambda op: t.pointwise("k", boolean, [F32] * 2, lambda a, b: t.compare(op, a, b))
    assert "setp.neu.f32" in arithmetic(ptx_of(comparison("!=")))
    assert "setp.lt.f32" in arithmetic(ptx_of(comparison("<")))


@pytest.mark.parametrize("op", ["//", "%", "**"])
def test_without_libdevice_what_needs_it_is_a_compile_error(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdsl.codegen.libdevice.find", lambda: None)
    kernel = t.pointwise("k", F32, [F32] * 2, lambda a, b: t.binary(op, a, b))
    with pytest.raises(CompileError, match=re.escape(f"`{op}` of floats needs NVIDIA's libdevice")):
        ptx_of(kernel)
    square = t.pointwise("k", F32, [F32], lambda a: t.binary("**", a, t.const(2.0, F32)))
    assert "mul.rn.f32" in ptx_of(square)
