"""Mathematical functions of vectors, pairs of f32 on sm_100, and products of 128 bits."""

from __future__ import annotations

import math as host
import re

import numpy as np
import pytest

import kdsl
from kdsl import (
    CompileError,
    Ptr,
    Target,
    bf16,
    bf16x2,
    f16x2,
    f16x4,
    f32x2,
    f32x4,
    f64x2,
    fma,
    grid,
    i32x4,
    i64,
    kernel,
    mad_wide64,
    math,
    mul_wide64,
    popc,
    u32x4,
    u64,
)


@kernel
def functions(a: Ptr[f32x4], h: Ptr[f16x2], d: Ptr[f64x2], b: Ptr[bf16x2], c: Ptr[u32x4], n: Ptr[i32x4]):
    i = grid(1)
    v = a[i]
    a[i] = math.sqrt(v) + math.fmax(v, 2) * math.add_rz(v, v.wzyx)
    h[i] = math.exp(h[i]) + math.pow(h[i], 2.0)
    d[i] = math.copysign(d[i], -1.0)
    b[i] = math.log(b[i])
    n[i] = popc(c[i])


def test_each_lane_is_as_the_scalar(device: str) -> None:
    rng = np.random.default_rng(4)
    a = rng.uniform(0.1, 5, (32, 4)).astype(np.float32)
    h = rng.uniform(0.1, 2, (32, 2)).astype(np.float16)
    d = rng.normal(size=(32, 2))
    b = rng.uniform(0.5, 5, (32, 2)).astype(bf16.numpy)
    c = rng.integers(0, 1 << 32, (32, 4), np.uint32)
    n = np.zeros((32, 4), np.int32)
    got = [v.copy() for v in (a, h, d, b, c, n)]
    functions[1, 32](*got)

    @kernel
    def scalars(a: Ptr[kdsl.f32], h: Ptr[kdsl.f16], b: Ptr[kdsl.bf16]):
        i = grid(1)
        for k in range(4):
            v, w = a[4 * i + k], a[4 * i + 3 - k]
            a[128 + 4 * i + k] = math.sqrt(v) + math.fmax(v, 2) * math.add_rz(v, w)
        for k in range(2):
            x = h[2 * i + k]
            h[64 + 2 * i + k] = kdsl.f16(math.exp(x)) + kdsl.f16(math.pow(x, 2.0))
            b[64 + 2 * i + k] = kdsl.bf16(math.log(b[2 * i + k]))

    one = [np.concatenate([v.ravel(), np.zeros_like(v.ravel())]) for v in (a, h, b)]
    scalars[1, 32](*one)
    for vectors, each in zip((got[0], got[1], got[3]), one, strict=True):
        assert vectors.tobytes() == each[each.size // 2 :].tobytes()
    assert got[2].tolist() == (-np.abs(d)).tolist()
    assert got[5].tolist() == [[int(v).bit_count() for v in row] for row in c]


PAIRED = re.compile(r"^\t((?:add|sub|mul|fma)\.rn\.f32(?:x2)?)", re.MULTILINE)


@kernel
def pairs(a: Ptr[f32x4], b: Ptr[f32x2]):
    i = grid(1)
    a[i] = fma(a[i], a[i + 8], 2.0) - a[i + 16]
    b[i] = b[i] * b[i + 8]
    b[i + 16] = abs(-b[i + 24]) + 1.0


@pytest.mark.parametrize("arch", ["sm_90", "sm_100", "sm_120"])
def test_two_f32_are_one_instruction_from_sm_100(arch: str) -> None:
    compilation = kdsl.compile(pairs, target=Target.parse(arch))
    assert compilation.cubin
    expected = ["fma", "fma", "sub", "sub", "mul", "add"]
    if arch == "sm_90":
        expected = [*["fma"] * 4, *["sub"] * 4, *["mul"] * 2, *["add"] * 2]
    assert PAIRED.findall(compilation.ptx) == [f"{op}.rn.f32{'' if arch == 'sm_90' else 'x2'}" for op in expected]


def test_pairs_have_the_results_of_scalars() -> None:
    machine = kdsl.current_device().backend
    before = machine.target
    x = np.random.default_rng(9).normal(size=(32, 4)).astype(np.float32)
    y = np.random.default_rng(10).normal(size=(64, 2)).astype(np.float32)
    results = []
    for arch in ("sm_90", "sm_100"):
        machine.target = arch
        got = x.copy(), y.copy()
        pairs[1, 8](*got)
        results.append([v.tobytes() for v in got])
    machine.target = before
    assert results[0] == results[1]


@kernel
def products(x: Ptr[u64], y: Ptr[u64], low: Ptr[u64], high: Ptr[u64], signed: Ptr[i64], sums: Ptr[u64]):
    i = grid(1)
    low[i], high[i] = mul_wide64(x[i], y[i])
    _, signed[i] = mul_wide64(i64(x[i]), i64(y[i]))
    sums[2 * i], sums[2 * i + 1] = mad_wide64(x[i], y[i], x[i], y[i])


def test_products_of_128_bits(device: str) -> None:
    rng = np.random.default_rng(11)
    edges = [0, 1, 2**63 - 1, 2**63, 2**64 - 1, 2**32, 2**32 - 1]
    x = np.concatenate([np.repeat(np.array(edges, np.uint64), 7), rng.integers(0, 2**64, 79, np.uint64)])
    y = np.concatenate([np.tile(np.array(edges, np.uint64), 7), rng.integers(0, 2**64, 79, np.uint64)])
    low, high, signed = np.zeros(128, np.uint64), np.zeros(128, np.uint64), np.zeros(128, np.int64)
    sums = np.zeros(256, np.uint64)
    products[4, 32](x, y, low, high, signed, sums)
    for i in range(128):
        a, b = int(x[i]), int(y[i])
        assert int(low[i]) | int(high[i]) << 64 == a * b
        assert int(signed[i]) == (a - (a >> 63 << 64)) * (b - (b >> 63 << 64)) >> 64
        assert int(sums[2 * i]) | int(sums[2 * i + 1]) << 64 == (a * b + a + (b << 64)) % 2**128


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_a_product_is_two_instructions(arch: str) -> None:
    @kernel
    def k(x: Ptr[u64]):
        x[2], x[3] = mul_wide64(x[0], x[1])

    compilation = kdsl.compile(k, target=Target.parse(arch))
    assert compilation.cubin
    assert sorted(re.findall(r"^\t(mul\.\w+\.\w+)", compilation.ptx, re.MULTILINE)) == ["mul.hi.u64", "mul.lo.s64"]


def test_refused() -> None:
    @kernel
    def k(a: Ptr[f32x4], h: Ptr[f16x4], b: Ptr[f32x2]):
        a[0] = math.pow(a[0], b[0])
        x = math.sincos(a[0])
        h[0] = host.gcd(h[0], h[1])

    with pytest.raises(CompileError) as caught:
        kdsl.compile(k, target="sm_90")
    assert [d.message for d in caught.value.diagnostics] == [
        "f32x4 and f32x2 have not as many components",
        "math.sincos() of a vector gives no vector",
        "`host.gcd` has no counterpart on the device",
    ]
