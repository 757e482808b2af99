"""Vectors: every type through memory, operators on each lane, swizzles and components, against NumPy."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

from math import floor

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    Ptr,
    bf16x2,
    bf16x4,
    bitcast,
    f16x2,
    f16x4,
    f32,
    f32x2,
    f32x3,
    f32x4,
    f64x2,
    f64x3,
    fma,
    grid,
    i8x4,
    i16x2,
    i16x4,
    i32,
    i32x2,
    i32x3,
    i32x4,
    i64x2,
    kernel,
    local,
    shared,
    sync_threads,
    thread_idx,
    u8x3,
    u8x4,
    u16x2,
    u16x4,
    u32x2,
    u32x3,
    u32x4,
    u64x2,
)

INTS = [i8x4, i16x2, i16x4, i32x2, i32x4, i64x2, u8x4, u16x2, u16x4, u32x2, u32x4, u64x2]
THREES = [f32x3, f64x3, i32x3, u8x3, u32x3]  # tests/lang/test_vectors_of_three.py has them
FLOATS = [f16x2, f16x4, bf16x2, bf16x4, f32x2, f32x4, f64x2]
N = 40


def numbers(type, seed: int) -> np.ndarray:
    """N vectors; of floats, multiples of 1/8 whose products are exact in all types, so that contraction changes nothing."""
    rng = np.random.default_rng(seed)
    element = type.element
    if element.is_float:
        return (rng.integers(-12, 13, (N, type.lanes)) / 8).astype(element.numpy)
    return rng.integers(element.minimum, element.maximum, (N, type.lanes), element.numpy, endpoint=True)


def operators_of(type):
    """A kernel of what all types have."""
    pointer = Ptr[type]

    @kernel
    def k(a: pointer, b: pointer, sums: pointer, products: pointer, extremes: pointer, least: pointer, n: i32):
        i = grid(1)
        if i < n:
            v, w = a[i], b[i]
            sums[i] = v + w - 1
            products[i] = -(v * w)
            extremes[i] = max(v, w, 1)
            least[i] = abs(min(v, w))

    return k


@pytest.mark.parametrize("type", [*INTS, *FLOATS], ids=str)
def test_operators_on_each_lane(device: str, type) -> None:
    a, b = numbers(type, 1), numbers(type, 2)
    sums, products, extremes, least = (np.zeros_like(a) for _ in range(4))
    operators_of(type)[2, 32](a, b, sums, products, extremes, least, N)
    one = a.dtype.type(1)
    np.testing.assert_array_equal(sums, a + b - one)
    np.testing.assert_array_equal(products, -(a * b))
    np.testing.assert_array_equal(extremes, np.maximum(np.maximum(a, b), one))
    np.testing.assert_array_equal(least, np.abs(np.minimum(a, b)))


@pytest.mark.parametrize("type", FLOATS, ids=str)
def test_division_rounding_and_fused_operations_of_floats(device: str, type) -> None:
    pointer = Ptr[type]

    @kernel
    def k(a: pointer, b: pointer, quotients: pointer, fused: pointer, floors: pointer):
        i = grid(1)
        quotients[i] = a[i] / b[i]
        fused[i] = fma(a[i], b[i], 0.5)
        floors[i] = floor(a[i]) + round(b[i])

    a, b = numbers(type, 3), numbers(type, 4)
    b[b == 0] = 1
    quotients, fused, floors = (np.zeros_like(a) for _ in range(3))
    k[1, N](a, b, quotients, fused, floors)
    wide = np.float64
    np.testing.assert_array_equal(
        quotients, (a.astype(np.float32) / b.astype(np.float32)).astype(a.dtype) if a.dtype != wide else a / b
    )
    np.testing.assert_array_equal(fused, (a.astype(wide) * b.astype(wide) + 0.5).astype(a.dtype))
    np.testing.assert_array_equal(floors, (np.floor(a.astype(wide)) + np.rint(b.astype(wide))).astype(a.dtype))


@pytest.mark.parametrize("type", INTS, ids=str)
def test_bits_of_ints(device: str, type) -> None:
    pointer = Ptr[type]

    @kernel
    def k(a: pointer, b: pointer, out: pointer):
        i = grid(1)
        out[i] = (a[i] & b[i]) ^ ~(a[i] | 1)

    a, b = numbers(type, 5), numbers(type, 6)
    out = np.zeros_like(a)
    k[1, N](a, b, out)
    np.testing.assert_array_equal(out, (a & b) ^ ~(a | a.dtype.type(1)))


@pytest.mark.parametrize("type", [*INTS, *FLOATS], ids=str)
def test_shared_and_local_memory(device: str, type) -> None:
    pointer = Ptr[type]
    lanes = type.lanes

    @kernel
    def k(a: pointer, turned: pointer, picked: pointer):
        t = thread_idx.x
        block = shared.array((2, N), type)
        own = local.array(3, type)
        block[1, t] = a[t]
        sync_threads()
        for j in range(3):
            own[j] = block[1, (t + j) % N]
        turned[t] = own[t % 3]
        block[0, t] = own[2]
        block[0, t].y = own[1][0]
        if lanes == 4:
            block[0, t].w += own[0].x
        picked[t] = block[0, t]

    a = numbers(type, 7)
    turned, picked = np.zeros_like(a), np.zeros_like(a)
    k[1, N](a, turned, picked)
    at = np.arange(N)
    np.testing.assert_array_equal(turned, a[(at + at % 3) % N])
    expected = a[(at + 2) % N]
    expected[:, 1] = a[(at + 1) % N, 0]
    if lanes == 4:
        expected[:, 3] += a[:, 0]
    np.testing.assert_array_equal(picked, expected)


@kernel
def parts(a: Ptr[f32x4], out: Ptr[f32x4], pairs: Ptr[f32x2], n: i32):
    i = grid(1)
    if i < n:
        v = a[i]
        out[6 * i] = v.wzyx
        out[6 * i + 1] = f32x4(v.xyz, 1)
        out[6 * i + 2] = f32x4(v.yx * 2.0, v[3], i)
        w = v
        w.x = v.y
        w[1] += 10
        w.z -= w.x
        out[6 * i + 3] = w
        out[6 * i + 4] = v
        out[6 * i + 5] = f32x4(v.w)
        pairs[i] = v.xy + v.zw


def test_swizzles_components_and_construction(device: str) -> None:
    a = numbers(f32x4, 8)
    out, pairs = np.zeros((N, 6, 4), np.float32), np.zeros(2 * N, np.float32)
    parts[2, 32](a, out, pairs, N)
    x, y, z, w = a.T
    i, one = np.arange(N), np.ones(N)
    np.testing.assert_array_equal(out[:, 0], a[:, ::-1])
    np.testing.assert_array_equal(out[:, 1], np.stack([x, y, z, one], 1))
    np.testing.assert_array_equal(out[:, 2], np.stack([y * 2, x * 2, w, i], 1))
    np.testing.assert_array_equal(out[:, 3], np.stack([y, y + 10, z - y, w], 1))
    np.testing.assert_array_equal(out[:, 4], a)  # a copy has its own components
    np.testing.assert_array_equal(out[:, 5], np.stack([w] * 4, 1))
    np.testing.assert_array_equal(pairs.reshape(N, 2), a[:, :2] + a[:, 2:])


def swapped(v, w):
    v.x, w.x = w.x, v.x
    return v, w


def pick(v: f32x4, n: i32) -> f32x4:
    return v if n > 0 else -v


@kernel
def calls(a: Ptr[f32x4], b: Array[f32x4, 1], n: i32):
    i = grid(1)
    if i < b.shape[0]:
        v = a[i]
        first, second = swapped(v, b[i])
        total = f32x4(0)
        for _ in range(3):
            total += pick(first, i - n)
        b[i] = total + second
        a[i] = v


def test_vectors_as_arguments_and_results(device: str) -> None:
    a, b = numbers(f32x4, 9), numbers(f32x4, 10)
    first, second, kept = a.copy(), b.copy(), a.copy()
    first[:, 0], second[:, 0] = b[:, 0], a[:, 0]
    calls[2, 32](a, b, 7)
    sign = np.where(np.arange(N) > 7, 1, -1).astype(np.float32)[:, None]
    np.testing.assert_array_equal(b, 3 * sign * first + second)
    np.testing.assert_array_equal(a, kept)  # arguments are passed by value


def old_and_new(v):
    v.x, old = 9.0, v
    return old, v


@kernel
def ordered(a: Ptr[f32x4], out: Ptr[f32x4]):
    v = a[0]
    v.x, w = 9.0, v  # the old v, as in Python
    out[0] = w
    out[1] = v
    v.y = (v := a[1]).z
    out[2] = v
    out[3], out[4] = old_and_new(v)


def test_order_of_evaluation(device: str) -> None:
    a, out = np.arange(8, dtype=np.float32), np.zeros((5, 4), np.float32)
    ordered[1, 1](a, out)
    np.testing.assert_array_equal(out, [[0, 1, 2, 3], [9, 1, 2, 3], [4, 6, 6, 7], [4, 6, 6, 7], [9, 6, 6, 7]])


@kernel
def conversions(a: Ptr[f32x4], ints: Ptr[i32x4], bytes_: Ptr[u8x4], halves: Ptr[f16x4], words: Ptr[u16x4]):
    i = grid(1)
    ints[i] = i32x4(a[i] * 100.0)
    bytes_[i] = u8x4(ints[i])
    halves[i] = f16x4(a[i])
    words[i] = u16x4(f32x4(bytes_[i]))


def test_conversions_of_each_lane(device: str) -> None:
    a = numbers(f32x4, 11)
    ints, bytes_ = np.zeros((N, 4), np.int32), np.zeros((N, 4), np.uint8)
    halves, words = np.zeros((N, 4), np.float16), np.zeros((N, 4), np.uint16)
    conversions[1, N](a, ints, bytes_, halves, words)
    np.testing.assert_array_equal(ints, (a * 100).astype(np.int32))
    np.testing.assert_array_equal(bytes_, ints.astype(np.uint8))
    np.testing.assert_array_equal(halves, a.astype(np.float16))
    np.testing.assert_array_equal(words, bytes_)


@kernel
def views(a: Ptr[f32], out: Ptr[f32], n: Ptr[i32]):
    p = bitcast(a, Ptr[f32x4])
    q = bitcast(out, Ptr[f32x4])
    q[1] = p[0] + (p + 1)[0]
    n[0] = i32((p + 3) - p)
    block = shared.dynamic(f32x2)
    block[1] = p[1].xw
    out[0] = bitcast(block, Ptr[f32])[3]


def test_pointers_to_vectors(device: str) -> None:
    a, out, n = np.arange(8, dtype=np.float32), np.zeros(8, np.float32), np.zeros(1, np.int32)
    views[1, 1, None, 64](a, out, n)
    np.testing.assert_array_equal(out, [7, 0, 0, 0, 4, 6, 8, 10])
    assert n[0] == 3


def test_vector_names_are_types_of_the_language() -> None:
    names = [name for name in kdsl.__all__ if str(getattr(kdsl, name)) == name and "x" in name and name[0] in "iufb"]
    names = [name for name in names if not name.startswith("f8")]
    assert sorted(names) == sorted(str(t) for t in [*INTS, *FLOATS, *THREES])
    assert [(t.size, t.lanes) for t in (u8x4, f32x4, bf16x2)] == [(4, 4), (16, 4), (4, 2)]


def power(v: f32x4, n: i32) -> f32x4:
    if n == 0:
        return f32x4(1.0)
    return power(v, n - 1) * v


@kernel
def recursive(a: Ptr[f32x4], b: Ptr[f32x4]):
    i = grid(1)
    b[i] = power(a[i], i % 4)


def test_vectors_through_calls_that_are_not_inlined(device: str) -> None:
    a = numbers(f32x4, 12)
    b = np.zeros_like(a)
    recursive[1, N](a, b)
    np.testing.assert_array_equal(b, a ** (np.arange(N) % 4)[:, None])


def by_lane_of(type):
    """Operators that are done in each lane as on scalars, and comparisons, which give a tuple."""
    pointer = Ptr[type]

    @kernel
    def k(a: pointer, b: pointer, quotients: pointer, rests: pointer, order: Ptr[u8x4], n: i32):
        i = grid(1)
        if i < n:
            v, w = a[i], b[i]
            quotients[i] = v // w
            rests[i] = v % w
            order[i] = u8x4(any(v < w), all(v <= w), (v == w)[1], all(v != 1))

    return k


@pytest.mark.parametrize("type", [*INTS, f32x2, f32x4, f64x2], ids=str)
def test_divisions_and_comparisons_of_lanes(device: str, type) -> None:
    a, b = numbers(type, 3), numbers(type, 4)
    b[b == 0] = 3
    b[::3] = a[::3]
    b[b == 0] = 3
    quotients, rests, order = np.zeros_like(a), np.zeros_like(a), np.zeros((N, 4), np.uint8)
    by_lane_of(type)[1, 64](a, b, quotients, rests, order, N)
    assert np.array_equal(quotients, np.floor_divide(a, b))
    assert np.array_equal(rests, np.mod(a, b))
    expected = [(a < b).any(1), (a <= b).all(1), (a == b)[:, 1], (a != 1).all(1)]
    assert np.array_equal(order, np.stack(expected, 1))


def test_shifts_powers_and_quotients_of_lanes(device: str) -> None:
    @kernel
    def k(a: Ptr[i32x4], b: Ptr[u8x4], f: Ptr[f32x4], out: Ptr[i32x4], small: Ptr[u8x4], floats: Ptr[f32x4], s: i32):
        v, w = a[0], b[0]
        out[0] = v << w
        out[1] = v >> s
        out[2] = v**2
        v <<= 1
        out[3] = v
        small[0] = w << 1
        small[1] = w >> s
        floats[0] = a[0] / b[1].x
        floats[1] = f[0] ** 2

    a = np.array([[5, -7, 1 << 30, 3]], np.int32)
    b = np.array([[1, 2, 40, 0], [4, 0, 0, 0]], np.uint8)
    f = np.array([[0.5, -3.0, 8.0, 1.25]], np.float32)
    out, small, floats = np.zeros((4, 4), np.int32), np.zeros((2, 4), np.uint8), np.zeros((2, 4), np.float32)
    k[1, 1](a, b, f, out, small, floats, 1)
    assert out.tolist() == [[10, -28, 0, 3], [2, -4, 1 << 29, 1], [25, 49, 0, 9], [10, -14, -(1 << 31), 6]]
    assert small.tolist() == [[2, 4, 80, 0], [0, 1, 20, 0]]
    assert np.array_equal(floats[0], a[0] / np.float32(4)) and np.array_equal(floats[1], f[0] ** 2)


def test_operands_are_evaluated_once_and_in_order(device: str) -> None:
    def counted(out, i: i32):
        out[0] += 1
        return i32x4(out[0], i, i, i)

    @kernel
    def k(out: Ptr[i32], result: Ptr[i32x4]):
        result[0] = counted(out, 7) // counted(out, 2)
        result[1] = i32x4(i32(all(counted(out, 1) == counted(out, 1))), 0, 0, out[0])

    out, result = np.zeros(1, np.int32), np.zeros((2, 4), np.int32)
    k[1, 1](out, result)
    assert result.tolist() == [[0, 3, 3, 3], [0, 0, 0, 4]]
