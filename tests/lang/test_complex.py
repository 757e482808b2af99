"""Complex numbers in kernels: operators, memory, arguments, literals; against NumPy."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

import re

import numpy as np
import pytest

import kdsl
from kdsl import (
    FULL_MASK,
    Array,
    Ptr,
    complex64,
    complex128,
    constant,
    f16,
    f32,
    f64,
    grid,
    groups,
    i32,
    i64,
    kernel,
    local,
    shared,
    shfl_xor_sync,
    struct,
    sync_threads,
    thread_idx,
)
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError

N = 64
WIDTHS = pytest.mark.parametrize("T", [complex64, complex128], ids=str)
ONE = np.complex64(1 - 2j)
HALF_TURN = -1 + 0j


def numbers(T, seed=0, n=N):
    """Complex numbers whose parts are small integers, so that sums and products are exact."""
    rng = np.random.default_rng(seed)
    return (rng.integers(-9, 10, n) + 1j * rng.integers(-9, 10, n)).astype(T.numpy)


def spread(T, seed=0, n=N):
    """Complex numbers of very different sizes."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-8, 8, (2, n))
    return (rng.normal(size=n) * scale[0] + 1j * rng.normal(size=n) * scale[1]).astype(T.numpy)


def eps(T):
    return np.finfo(T.numpy).eps


def run(kernel, T, *arrays):
    out = np.zeros(N, T.numpy)
    kernel[2, 32](out, *arrays)
    return out


@WIDTHS
def test_sums_and_products(device, T):
    @kernel
    def k(out: Ptr[T], a: Ptr[T], b: Ptr[T]):
        i = grid(1)
        x, y = a[i], b[i]
        out[i] = x + y * (x - y) - -x * +y

    a, b = numbers(T, 1), numbers(T, 2)
    assert np.array_equal(run(k, T, a, b), a + b * (a - b) + a * b)


@WIDTHS
def test_real_operands_of_either_side(device, T):
    @kernel
    def k(out: Ptr[T], a: Ptr[T], r: Ptr[f32], n: Ptr[i32]):
        i = grid(1)
        z, x, m = a[i], r[i], n[i]
        out[i] = (x * z + z * x) + (m - z) + (z - m) + (z + 3) + (2.5 - z) + f16(x) * z + z / 4 + z / f32(2.0) + 1j * m

    a, m = numbers(T, 3), np.arange(N, dtype=np.int32) - 30
    r = (m * 2).astype(np.float32)
    expected = 2 * r * a + (a + 3) + (2.5 - a) + r * a + a / 4 + a / 2 + 1j * m
    assert np.array_equal(run(k, T, a, r, m), expected.astype(T.numpy))


def test_a_real_operand_has_no_imaginary_part(device):
    @kernel
    def k(out: Ptr[complex64], z: complex64, x: f32):
        out[0] = x * z
        out[1] = z + x
        out[2] = z / x
        out[3] = x - z

    out = np.zeros(4, np.complex64)
    k[1, 1](out, complex(2, 0.0), np.float32(np.inf))
    # With 0 times infinity in it, these would hold NaN.
    assert out[0].real == np.inf and np.isnan(out[0].imag)  # inf * 0, the number's own
    assert out[1] == complex(np.inf, 0)
    assert out[2] == 0
    assert str(out[3].imag) == "-0.0"
    k[1, 1](out, complex(2, -0.0), np.float32(3.0))
    assert str(out[1].imag) == "-0.0"


@pytest.mark.parametrize("fmad", [False, True])
@WIDTHS
def test_division(device, T, fmad):
    @kernel(fmad=fmad)
    def k(out: Ptr[T], a: Ptr[T], b: Ptr[T]):
        i = grid(1)
        out[i] = a[i] / b[i]

    a, b = spread(T, 4), spread(T, 5)
    # Smith's algorithm in NumPy's own order; it is never fused.
    assert np.array_equal(run(k, T, a, b), a / b)


@WIDTHS
def test_division_of_large_small_and_special_numbers(device, T):
    @kernel
    def k(out: Ptr[T], a: Ptr[T], b: Ptr[T]):
        i = grid(1)
        out[i] = a[i] / b[i]

    info = np.finfo(T.numpy)
    parts = [0.0, -0.0, 1.0, float(info.max) / 2, float(info.tiny) * 4, np.inf, -np.inf, np.nan]
    pairs = [complex(x, y) for x in parts for y in parts]
    a = np.array(pairs, T.numpy)
    for shift in (0, 1, 9, 27):
        b = np.roll(a, shift)
        with np.errstate(all="ignore"):
            expected = a / b
        got = run(k, T, a, b)
        assert np.array_equal(got.view(info.dtype), expected.view(info.dtype), equal_nan=True)


@WIDTHS
def test_the_absolute_value_does_not_overflow(device, T):
    F = f32 if T is complex64 else f64

    @kernel
    def k(out: Ptr[F], a: Ptr[T]):
        i = grid(1)
        out[i] = abs(a[i])

    a = spread(T, 6)
    a[:3] = [3e38 + 1e38j if T is complex64 else 1e308 + 1e308j, 3e-42 - 4e-42j, complex(np.inf, np.nan)]
    out = np.zeros(N, F.numpy)
    k[2, 32](out, a)
    with np.errstate(all="ignore"):
        compare_magnitudes(out, a, T)
    assert out[2] == np.inf


def compare_magnitudes(out, a, T):
    wide = np.hypot(a.real.astype(np.longdouble), a.imag.astype(np.longdouble))
    assert np.all((np.abs(out - wide) <= 2 * eps(T) * wide) | (out == wide) | (wide < np.finfo(T.numpy).tiny))


@WIDTHS
def test_powers(device, T):
    @kernel
    def k(out: Ptr[T], a: Ptr[T]):
        i = grid(1)
        z = a[i]
        out[i] = z**2 + z**5 - z**1 + z**0

    @kernel
    def inverse(out: Ptr[T], a: Ptr[T]):
        i = grid(1)
        out[i] = a[i] ** -3

    @kernel
    def general(out: Ptr[T], a: Ptr[T], e: Ptr[T]):
        i = grid(1)
        out[i] = pow(a[i], e[i]) if i % 2 == 0 else a[i] ** e[i].real

    a = numbers(T, 7)
    assert np.array_equal(run(k, T, a), a * a + a * a * a * a * a - a + 1)
    a[a == 0] = 1
    exact = 1 / a.astype(np.clongdouble) ** 3
    # A product errs by at most sqrt(5) / 2 eps of its size, and there are two; Smith's quotient by less than 8.
    assert np.all(np.abs(run(inverse, T, a) - exact) <= 11 * eps(T) * np.abs(exact))
    e = (numbers(T, 8) / 8).astype(T.numpy)
    exact = np.where(np.arange(N) % 2 == 0, a.astype(np.clongdouble) ** e, a.astype(np.clongdouble) ** e.real)
    # The angle and the exponents are below 2 * pi + 4: each rounding of them moves the result by eps times that.
    assert np.all(np.abs(run(general, T, a, e) - exact) <= 40 * eps(T) * np.abs(exact))


def test_powers_of_nothing(device):
    @kernel
    def k(out: Ptr[complex64], z: complex64, e: complex64):
        out[0] = z**e
        out[1] = z ** (e * 0)
        out[2] = z ** (-e)

    out = np.zeros(3, np.complex64)
    k[1, 1](out, 0, 2)
    assert out[0] == 0 and out[1] == 1 and np.isnan(out[2].real) and np.isnan(out[2].imag)


@WIDTHS
def test_comparison(device, T):
    @kernel
    def k(out: Ptr[i32], a: Ptr[T], b: Ptr[T]):
        i = grid(1)
        x, y = a[i], b[i]
        out[i] = i32(x == y) + 2 * i32(x != y) + 4 * i32(x == 3) + 8 * i32(2.0 != y) + 16 * i32(x == 1j)

    a, b = numbers(T, 9) / 8, numbers(T, 10) / 8
    a, b = np.round(a.real).astype(T.numpy), np.round(b).astype(T.numpy)
    a[:6], b[:4] = [1j, 3, 3 + 1j, np.nan, complex(-0.0, 0.0), 2], [2, 2 + 1j, 3 + 1j, np.nan]
    out = np.zeros(N, np.int32)
    k[2, 32](out, a, b)
    assert np.array_equal(out, (a == b) + 2 * (a != b) + 4 * (a == 3) + 8 * (b != 2) + 16 * (a == 1j))


@WIDTHS
def test_parts_are_read_and_assigned(device, T):
    @kernel
    def k(out: Ptr[T], a: Ptr[T]):
        i = grid(1)
        z = a[i]
        z.real, z.imag = z.imag, z.real
        z.real += 1
        out[i] = z.conjugate()
        out[i].imag *= 2
        out[i].real -= a[i].conjugate().imag

    a = numbers(T, 11)
    assert np.array_equal(run(k, T, a), (2 * a.imag + 1) - 2j * a.real)


def test_augmented_assignment(device):
    @kernel
    def k(out: Ptr[complex64], a: Ptr[complex64]):
        i = grid(1)
        total = 0
        for j in range(4):
            total += a[(i + j) % 64]
        total *= 2
        total -= 1j
        total /= 4
        total **= 2
        out[i] += total
        out[i] *= a[i]

    a = numbers(complex64, 12)
    t = (2 * (a + np.roll(a, -1) + np.roll(a, -2) + np.roll(a, -3)) - 1j) / 4
    assert np.array_equal(run(k, complex64, a), (t * t * a).astype(np.complex64))


def test_construction(device):
    @kernel
    def k(out: Ptr[complex64], wide: Ptr[complex128], x: f32, y: f64, n: i64):
        out[0] = complex64(x, y)
        out[1] = complex64(n)
        out[2] = complex(1, 2)
        out[3] = complex64(complex128(y, 0.1))
        out[4] = complex64(imag=x, real=n)
        out[5] = np.complex64(y)
        out[6] = complex64()
        out[7] = complex64(2 - 1j)
        out[8] = x
        out[9] = 7
        out[10] = True
        wide[0] = complex128(x, y)
        wide[1] = complex64(y, 0.1)
        wide[2] = y
        wide[3] = 0.1j
        wide[4] = np.complex128(n, 0.1)

    out, wide = np.zeros(11, np.complex64), np.zeros(5, np.complex128)
    y = 0.1
    k[1, 1](out, wide, 1.5, y, 5)
    expected = [1.5 + 0.1j, 5, 1 + 2j, 0.1 + 0.1j, 5 + 1.5j, 0.1, 0, 2 - 1j, 1.5, 7, 1]
    assert np.array_equal(out, np.array(expected, np.complex64))
    assert np.array_equal(wide, [1.5 + 0.1j, np.complex64(0.1 + 0.1j), 0.1, 0.1j, 5 + 0.1j])


def test_constants(device):
    @kernel
    def k(out: Ptr[complex64], c: i32):
        out[0] = 1j * 1j
        out[1] = (1 + 2j) / 2 - 3j**2
        out[2] = ONE
        out[3] = HALF_TURN
        out[4] = 1j if c else 2
        out[5] = abs(3 + 4j)
        out[6] = (1 + 2j).conjugate()
        out[7] = 1 if 2j == 2j else 0
        out[8] = (1.5 - 2j).real

    out = np.zeros(9, np.complex64)
    k[1, 1](out, 0)
    assert np.array_equal(out, [-1, 9.5 + 1j, 1 - 2j, -1, 2, 5, 1 - 2j, 1, 1.5])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_arrays_without_annotations(device, dtype):
    @kernel
    def k(out, a, s):
        i, j = grid(2)
        out[i, j] = a[j, i] * s

    a = numbers(complex128, 13).reshape(8, 8).astype(dtype)
    out = np.zeros((8, 8), dtype)
    k[(2, 2), (4, 4)](out, a, dtype(1j))
    assert np.array_equal(out, a.T * 1j)
    strided = np.zeros((8, 16), dtype)[:, ::2]
    k[(2, 2), (4, 4)](strided, kdsl.to_device(a), dtype(2))
    assert np.array_equal(strided, a.T * 2)


def test_annotations_of_python_and_numpy(device):
    @kernel
    def k(out: Ptr[complex], a: Array[np.complex64, 1], s: complex, t: np.complex128):
        i = grid(1)
        z: complex = a[i]
        out[i] = complex64(z * s + t)

    a = numbers(complex64, 14)
    assert np.array_equal(run(k, complex64, a, 2 - 1j, 3j), a * np.complex64(2 - 1j) + np.complex64(3j))


@pytest.mark.parametrize(
    "value", [3, 2.5, 1 - 2j, np.complex64(1j), np.complex128(1j), np.float32(2), np.int8(-3), True]
)
def test_host_numbers_by_value(device, value):
    @kernel
    def k(out: Ptr[complex128], first: i32, z: complex64, w: complex128):
        out[first] = z
        out[first + 1] = w

    out = np.zeros(3, np.complex128)
    k[1, 1](out, 1, value, value)
    assert np.array_equal(out, [0, value, value])


def test_an_unannotated_python_number_is_complex64(device):
    @kernel
    def k(out: Ptr[complex64], z):
        out[0] = z

    out = np.zeros(1, np.complex64)
    for z in (1j, 2 - 3j, np.complex64(5)):
        k[1, 1](out, z)
        assert out[0] == z


def test_what_is_no_complex_argument(device):
    @kernel
    def k(out: Ptr[complex64], z: complex64):
        out[0] = z

    out = np.zeros(1, np.complex64)
    with pytest.raises(ArgumentTypeError, match=re.escape("argument `z` takes a real number (f32), got str '1j'")):
        k[1, 1](out, "1j")
    with pytest.raises(ArgumentValueError, match="which is too large"):
        k[1, 1](out, complex(1, 1e39))
    with pytest.raises(
        ArgumentTypeError, match=r"takes Ptr\[complex64\] .*got a NumPy array of complex128.*astype\(np.complex64"
    ):
        k[1, 1](np.zeros(1, complex), 1)
    with pytest.raises(ArgumentTypeError, match=r"got a NumPy array of float32"):
        k[1, 1](np.zeros(1, np.float32), 1)
    with pytest.raises(ArgumentTypeError, match=r"got a DeviceArray of complex128"):
        k[1, 1](kdsl.zeros(1, complex128), 1)


def test_an_array_that_lies_between_two_numbers(device):
    @kernel
    def k(a: Ptr[complex128]):
        a[0] *= 2

    memory = np.zeros(64, np.uint8)
    start = -memory.ctypes.data % 16
    aligned = memory[start : start + 16].view(np.complex128)
    aligned[0] = 1j
    k[1, 1](aligned)
    assert aligned[0] == 2j
    between = memory[start + 8 : start + 24].view(np.complex128)
    with pytest.raises(ArgumentValueError, match="an address that is no multiple of 16; pass a copy"):
        k[1, 1](between)


def test_memory_of_every_space(device):
    TABLE = numbers(complex64, 15, 32)

    @kernel
    def k(out: Array[complex64, 1], a: Array[complex64, 1]):
        i = thread_idx.x
        tile = shared.array((32, 2), complex64)
        mine = local.array(4, np.complex64)
        more = shared.dynamic(complex)
        table = constant.array(TABLE)
        tile[i, 0] = a[i]
        more[i] = a[31 - i]
        for j in range(4):
            mine[j] = a[(i + j) % 32]
        sync_threads()
        out[i] = tile[31 - i, 0] + more[31 - i] * table[i] + mine[i % 4] + [1j, a[i]][i % 2]

    a = numbers(complex64, 16, 32)
    out = np.zeros_like(a)
    k[1, 32, 0, 32 * 8](out, a)
    i = np.arange(32)
    expected = a[::-1] + a * TABLE + a[(i + i % 4) % 32] + np.where(i % 2 == 0, 1j, a)
    assert np.array_equal(out, expected.astype(np.complex64))


def test_device_arrays(device):
    a = kdsl.zeros((3, 4), complex128)
    assert a.dtype == np.complex128 and a.itemsize == 16
    assert kdsl.empty(2, complex).dtype == np.complex64
    host = numbers(complex128, 17, 12).reshape(3, 4)
    a.copy_from(host)
    assert np.array_equal(a.to_host(), host)
    a.fill(2 - 1j)
    assert np.array_equal(a.to_host(), np.full((3, 4), 2 - 1j))
    assert np.array_equal(a.view(np.float64).to_host(), np.tile([2.0, -1.0], (3, 4)))


def test_fields_of_structs(device):
    @struct
    class Wave:
        weight: f32
        z: complex64
        w: complex128 = 1j

    @kernel
    def k(out: Ptr[Wave], wave: Wave):
        out[0] = Wave(wave.weight * 2, wave.z * 1j, wave.w + 1)
        out[1] = Wave(1, 2)
        out[1].z.imag += 5

    assert Wave.dtype.itemsize == 32 and Wave.dtype.fields["z"][1] == 8
    out = np.zeros(2, Wave.dtype)
    k[1, 1](out, Wave(3, 1 + 2j))
    assert out[0].item() == (6, -2 + 1j, 1 + 1j)
    assert out[1].item() == (1, 2 + 5j, 1j)
    assert np.array(Wave(3, 1j)).item() == (3, 1j, 1j)


def test_shuffles_and_groups(device):
    @kernel
    def k(out: Ptr[complex64], a: Ptr[complex64]):
        i = thread_idx.x
        z = shfl_xor_sync(FULL_MASK, a[i], 1)
        tile = groups.tile(8)
        out[i] = (
            z + tile.reduce(a[i], "add") + groups.this_block().reduce(a[i], "add") + tile.inclusive_scan(a[i], "add")
        )
        out[32 + i] = tile.reduce(a[i], "mul")
        out[64 + i] = tile.exclusive_scan(a[i], "mul")

    rng = np.random.default_rng(18)
    a = rng.choice([1, -1, 1j, -1j, 1 + 1j], 32).astype(np.complex64)
    out = np.zeros(96, np.complex64)
    k[1, 32](out, a)
    rows = a.reshape(4, 8)
    expected = a.reshape(16, 2)[:, ::-1].ravel() + np.repeat(rows.sum(1), 8) + a.sum() + rows.cumsum(1).ravel()
    assert np.array_equal(out[:32], expected)
    assert np.array_equal(out[32:64], np.repeat(rows.prod(1), 8))
    before = np.concatenate([np.ones((4, 1)), rows.cumprod(1)[:, :-1]], 1)
    assert np.array_equal(out[64:], before.ravel().astype(np.complex64))


def test_functions_tuples_and_choices(device):
    def swapped(z, w: complex64) -> tuple[complex64, complex64]:
        return w, z

    @kernel
    def k(out: Ptr[complex64], a: Ptr[complex64], c: i32):
        i = grid(1)
        z, w = swapped(a[i], 2)
        pair = (z, w)
        out[i] = sum(pair) + (z if c else w) + (w if i % 2 else 1j)
        match z:
            case 2:
                out[i] += 1
            case _:
                out[i] += 2

    a = numbers(complex64, 19)
    expected = a + 2 + a + np.where(np.arange(N) % 2 == 1, a, 1j) + 1
    assert np.array_equal(run(k, complex64, a, 0), expected.astype(np.complex64))


def test_operands_are_evaluated_once_and_in_order(device):
    def next_of(counter):
        counter[0] += 1
        return complex64(counter[0], 1)

    @kernel
    def k(out: Ptr[complex64]):
        counter = local.array(1, i32)
        counter[0] = 0
        out[0] = next_of(counter) - next_of(counter) * next_of(counter)
        out[1] = next_of(counter) ** 3 / next_of(counter)
        out[2] = 2.0 * next_of(counter) - 1
        out[3] = complex64(imag=next_of(counter).real, real=next_of(counter).real)
        out[4] = counter[0]
        out[5] = i32(next_of(counter) == next_of(counter)) + next_of(counter) ** 0

    out = np.zeros(6, np.complex64)
    k[1, 1](out)
    assert np.array_equal(out[[0, 2, 3, 4, 5]], [(1 + 1j) - (2 + 1j) * (3 + 1j), 11 + 2j, 8 + 7j, 8, 1])
    assert abs(out[1] - (4 + 1j) ** 3 / (5 + 1j)) < 1e-5


def test_atomics_on_parts(device):
    from kdsl import address_of, atomic

    @kernel
    def k(out: Ptr[complex64], a: Ptr[complex64]):
        i = grid(1)
        atomic.add(address_of(out[0].real), 0, a[i].real)
        atomic.add(address_of(out[0].imag), 0, a[i].imag)

    a, out = numbers(complex64, 20), np.zeros(1, np.complex64)
    k[2, 32](out, a)
    assert out[0] == a.sum()


def test_printed(device, capfd):
    @kernel
    def k(z: complex64):
        print(z, f"{z:.1f} {-z:+.2e}", 1j, (z, 2), f"{z.real:.1f}{z.imag:+.1f}j")

    k[1, 1](1 - 2j)
    kdsl.synchronize()
    expected = f"(1.000000-2.000000j) {1 - 2j:.1f} {-1 + 2j:+.2e} 1j ((1.000000-2.000000j), 2) 1.0-2.0j\n"
    assert capfd.readouterr().out == expected


@pytest.mark.parametrize("name", ["sm_75", "sm_90"])
@WIDTHS
def test_one_access_moves_both_parts(T, name):
    @kernel
    def k(out: Ptr[T], a: Ptr[T], s: T):
        tile = shared.array(64, T)
        i = grid(1)
        tile[i] = a[i] * s
        sync_threads()
        out[i] = tile[63 - i]

    ptx = kdsl.compile(k, target=name).ptx
    bits = 32 if T is complex64 else 64
    found = re.findall(r"\b((?:ld|st)\.(?:global|shared|param)\.\S+)", ptx)
    assert [f for f in found if "param.b64" not in f or "v2" in f] == [
        f"{'ld' if i in (0, 1, 3) else 'st'}.{space}.v2.b{bits}"
        for i, space in enumerate(("param", "global", "shared", "shared", "global"))
    ]
    # A product is two multiplications and two fused ones.
    suffix = f"f{bits}"
    assert len(re.findall(rf"fma\.rn\.{suffix}", ptx)) == 2
    assert len(re.findall(rf"mul(?:\.rn)?\.{suffix}", ptx)) == 2


def test_part_reads_load_the_part_alone():
    @kernel
    def k(out: Ptr[f32], a: Ptr[complex64]):
        i = grid(1)
        out[i] = a[i].imag

    ptx = kdsl.compile(k).ptx
    assert "v2" not in ptx and "ld.global.b32" in ptx


def test_debug_builds(device):
    @kernel(debug=True)
    def k(out: Array[complex64, 1], a: Array[complex64, 1]):
        i = grid(1)
        out[i] = a[i] / (a[i] + 1j) * 2

    a = numbers(complex64, 21)
    a[a == -1j] = 0
    assert np.array_equal(run(k, complex64, a), (a / (a + np.complex64(1j)) * 2).astype(np.complex64))


def test_host_names():
    assert complex64(1, 2) == 1 + 2j and isinstance(complex64(1), np.complex64)
    assert complex128(1j).dtype == np.complex128
