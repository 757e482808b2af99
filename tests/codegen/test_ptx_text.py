"""What is done to LLVM's PTX text, and that ptxas then stores bits and not numbers."""

from __future__ import annotations

import pytest

import kdsl
from kdsl import Ptr, bf16, bitcast, f16, f32, f64, i8, i16, i32, i64, kernel, u64
from kdsl.codegen.sass import find_tool

needs_tools = pytest.mark.skipif(not (find_tool("ptxas") and find_tool("nvdisasm")), reason="needs ptxas and nvdisasm")


@kernel
def low_bits(x: Ptr[f32], y: Ptr[f64], h: Ptr[f16], narrow: Ptr[i8], half: Ptr[i16], word: Ptr[i32]) -> None:
    half[0] = i16(bitcast(x[0] + 1.0, i32))
    narrow[0] = i8(bitcast(x[1] * x[2], i32))
    word[0] = i32(bitcast(y[0] + y[1], i64))
    narrow[1] = i8(bitcast(y[2] + y[1], i64))
    half[1] = i16(bitcast(f64(word[1]), i64))
    narrow[2] = i8(bitcast(h[0] * h[1], i16))


@kernel
def shifted(x: Ptr[f32], n: u64, wide: Ptr[u64]) -> None:
    wide[0] = n >> bitcast(x[0] + 1.0, i32)
    wide[1] = n << bitcast(x[1] * x[2], i32)
    wide[2] = u64(i64(n) >> bitcast(x[3] + 1.0, i32))


@needs_tools
@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("used", [low_bits, shifted])
def test_bits_of_a_float_are_used_without_conversion(used: kdsl.Kernel[...], target: str) -> None:
    assert "F2I" not in kdsl.compile(used, target=target).sass


def test_full_width_stores_are_left_alone() -> None:
    @kernel
    def whole(x: Ptr[f32]) -> None:
        x[0] = x[1] + 1.0

    assert "mov.b32" not in kdsl.compile(whole, target="sm_90").ptx


@kernel
def unfused(x: Ptr[f32]) -> None:
    x[0] = x[1] + x[2]
    x[3] = x[4] * x[5]


def test_additions_and_multiplications_say_how_they_round() -> None:
    ptx = kdsl.compile(unfused, target="sm_90").ptx
    assert "add.rn.f32" in ptx
    assert "mul.rn.f32" in ptx


@kernel(fastmath=True)
def compared(x: Ptr[bf16], y: Ptr[i32]) -> None:
    y[0] = 1 if x[0] < x[1] else 2
    y[1] = 1 if x[0] == x[1] else 2
    x[2] = x[0] * x[1] + x[2]


@pytest.mark.skipif(not find_tool("ptxas"), reason="needs ptxas")
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_bf16_under_fastmath_is_accepted(target: str) -> None:
    assert kdsl.compile(compared, target=target).cubin
