"""Every launch is checked against its kernel's contract before anything is copied or enqueued, and the message says what to change."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    Constexpr,
    LaunchConfig,
    LaunchConfigError,
    LaunchContractError,
    Ptr,
    f32,
    f32x4,
    f64,
    grid,
    i32,
    i64,
    kernel,
    u64,
)

TILE = 16


@kernel(requires=("a.size >= n", "c.size >= n", "n >= 0"))
def copy(a: Ptr[f32], c: Ptr[f32], n: i32) -> None:
    i = grid(1)
    if i < n:
        c[i] = a[i]


def refused(launch, *arguments, **keywords) -> str:
    with pytest.raises(LaunchContractError) as caught:
        launch(*arguments, **keywords)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, kdsl.ArgumentError)
    assert isinstance(caught.value, LaunchConfigError)
    return str(caught.value)


def arrays(n: int, kind: str):
    a = np.arange(n, dtype=np.float32)
    c = np.zeros(n, np.float32)
    return (kdsl.to_device(a), kdsl.to_device(c)) if kind == "device arrays" else (a, c)


def host(c) -> np.ndarray:
    return c.to_host() if isinstance(c, kdsl.DeviceArray) else c


@pytest.mark.parametrize("kind", ["NumPy arrays", "device arrays"])
def test_launches_that_fit_and_those_that_do_not(device: str, kind: str) -> None:
    a, c = arrays(1000, kind)
    assert refused(copy[4, 256], a, c, 1024) == (
        "copy requires a.size >= n: a.size = 1000, n = 1024; pass n <= 1000 or a larger `a`"
    )
    assert not host(c).any()
    for n in (1000, 0, 7):  # the first launch, and those on the fast way
        copy[4, 256](a, c, n)
        copy[4, 256](a, c, np.int64(n))
    assert (host(c) == host(a)).all()
    assert refused(copy[4, 256], a, c, np.int32(1001)) == (
        "copy requires a.size >= n: a.size = 1000, n = 1001; pass n <= 1000 or a larger `a`"
    )
    assert refused(copy[4, 256], a, c=c, n=-1) == "copy requires n >= 0: n = -1; pass n >= 0"


def test_a_numpy_number_does_not_wrap(device: str) -> None:
    @kernel(requires="4 * n <= 4 * a.size")
    def wide(a: Ptr[f32], n: i32) -> None:
        pass

    a = kdsl.zeros(10)
    wide[1, 1](a, 10)
    assert refused(wide[1, 1], a, np.int32(2**30)) == (
        "wide requires 4 * n <= 4 * a.size: n = 1073741824, a.size = 10, 4 * n = 4294967296, 4 * a.size = 40; "
        "pass arguments with which it holds"
    )


def test_an_empty_launch_is_checked(device: str) -> None:
    a, c = arrays(10, "device arrays")
    copy[LaunchConfig.for_num_elems(0)](a, c, 10)
    assert refused(copy[LaunchConfig.for_num_elems(0)], a, c, 11).startswith("copy requires a.size >= n: ")


def test_argument_errors_come_first(device: str) -> None:
    with pytest.raises(kdsl.ArgumentError, match="takes an int") as caught:
        copy[1, 1](*arrays(10, "NumPy arrays"), 1.5)
    assert not isinstance(caught.value, LaunchContractError)


def test_prepared_launches_are_checked_when_made_and_changed(device: str) -> None:
    a, c = arrays(10, "device arrays")
    assert refused(copy.prepare, 1, 32, a, c, 11).startswith("copy requires a.size >= n: ")
    prepared = copy.prepare(1, 32, a, c, 10)
    prepared()
    assert (host(c) == host(a)).all()
    assert refused(prepared.with_arguments, n=11).startswith("copy requires a.size >= n: ")
    assert refused(prepared.with_arguments, a=kdsl.zeros(9)).startswith("copy requires a.size >= n: ")


@kernel(requires="grid.x * block.x >= n and block.x in (32, 64)")
def covered(a: Ptr[f32], n: i32) -> None:
    pass


def test_the_configuration_is_checked(device: str) -> None:
    a = kdsl.zeros(10)
    covered[2, 32](a, 64)
    assert refused(covered[2, 32], a, 65) == (
        "covered requires grid.x * block.x >= n: grid.x = 2, block.x = 32, n = 65, grid.x * block.x = 64; pass n <= 64"
    )
    assert refused(covered[2, 33], a, 1) == (
        "covered requires block.x == 32 or block.x == 64: block.x = 33; pass arguments with which it holds"
    )
    prepared = covered.prepare(2, 32, a, 64)
    assert refused(prepared.with_config, 1, 32).startswith("covered requires grid.x * block.x >= n: ")


def test_other_kinds_of_kernels_are_checked(device: str) -> None:
    @kernel(requires="x.size >= n")
    def unannotated(x, n):
        x[0] = n

    @kernel(requires=("x.shape[0] >= size", "size > 1"))
    def sized(x: Array[f32, 1], size: Constexpr[int]) -> None:
        x[0] = size

    x = kdsl.zeros(10)
    for _ in range(2):
        unannotated[1, 1](x, 10)
        assert refused(unannotated[1, 1], x, 11) == (
            "unannotated requires x.size >= n: x.size = 10, n = 11; pass n <= 10 or a larger `x`"
        )
        unannotated[1, 1](np.zeros(10), 10)
        assert refused(unannotated[1, 1], np.zeros(10), 11).startswith("unannotated requires x.size >= n: ")
        sized[1, 1](x, 10)
        assert refused(sized[1, 1], x, 11) == (
            "sized requires x.shape[0] >= size: x.shape[0] = 10, size = 11; pass a larger `x`"
        )
        assert refused(sized[1, 1], x, 1) == "sized requires size > 1: size = 1; pass arguments with which it holds"


def test_modules_are_checked(device: str) -> None:
    @kdsl.cuda_module
    class kernels:
        @kernel(requires="x.size >= n", block=32)
        def first(x: Ptr[f32], n: i32) -> None:
            x[0] = f32(n)

    x = kdsl.zeros(10)
    ptx = kernels.compile().ptx
    for loaded in (kernels.load(), kernels.from_module(kdsl.load_module(ptx.encode()))):
        loaded.first[1, 32](x, 10)
        assert refused(loaded.first[1, 32], x, 11).startswith("first requires x.size >= n: ")
        with pytest.raises(LaunchConfigError, match="compiled for blocks of"):
            loaded.first[1, 33](x, 10)
    assert x.to_host()[0] == 10


def test_arrays_of_vectors_are_counted_in_vectors(device: str) -> None:
    @kernel(
        requires=(
            "p.size >= n",
            "a.shape[0] >= n",
            "a.size >= n",
            "p.nbytes >= 16 * n",
            "a.nbytes == 16 * a.size",
            "a.ndim == 1",
        )
    )
    def vectors(p: Ptr[f32x4], a: Array[f32x4, 1], n: i32) -> None:
        a[0] = p[0]

    for of in (lambda x: x, kdsl.to_device):
        p, a = of(np.zeros(40, np.float32)), of(np.zeros((10, 4), np.float32))
        vectors[1, 1](p, a, 10)
        vectors[1, 1](p, a, 10)
        assert refused(vectors[1, 1], p, a, 11) == (
            "vectors requires p.size >= n: p.size = 10, n = 11; pass n <= 10 or a larger `p`"
        )


def test_shapes_of_pointers(device: str) -> None:
    @kernel(requires=("p.ndim == 2", "p.shape[1] == 5", "p.strides[0] == 20"))
    def shaped(p: Ptr[f32]) -> None:
        pass

    for of in (lambda x: x, kdsl.to_device):
        shaped[1, 1](of(np.zeros((2, 5), np.float32)))
        shaped[1, 1](of(np.zeros((2, 5), np.float32)))
        assert refused(shaped[1, 1], of(np.zeros(10, np.float32))) == (
            "shaped requires p.ndim == 2: p.ndim = 1; pass a `p` with ndim = 2"
        )
        assert refused(shaped[1, 1], of(np.zeros((5, 2), np.float32))) == (
            "shaped requires p.shape[1] == 5: p.shape[1] = 2; pass a `p` with shape[1] = 5"
        )

    @kernel(requires="p.shape[1] == 5")
    def deep(p: Ptr[f32]) -> None:
        pass

    for of in (lambda x: x, kdsl.to_device):
        assert refused(deep[1, 1], of(np.zeros(10, np.float32))) == (
            "deep requires a `p` with an axis 1, got an array with 1 dimension; reshape it to 2 dimensions or more"
        )


def test_alignment(device: str) -> None:
    @kernel(requires="a.ptr % 64 == 0")
    def aligned(a: Ptr[f32], b: Ptr[f32]) -> None:
        b[0] = a[0]

    whole = np.zeros(1024, np.float32)
    start = -whole.__array_interface__["data"][0] % 64 // 4
    b = np.zeros(1, np.float32)
    aligned[1, 1](whole[start:], b)
    assert refused(aligned[1, 1], whole[start + 4 :], b) == (
        f"aligned requires a.ptr % 64 == 0: a.ptr = {whole[start + 4 :].__array_interface__['data'][0]}, a.ptr % 64 = 16; "
        f"pass kdsl.to_device(a), whose memory begins at a multiple of 64"
    )
    aligned[1, 1](kdsl.to_device(whole), kdsl.to_device(b))

    @kernel(requires="a.ptr % 64 == 0")
    def unread(a: Ptr[f32]) -> None:
        pass

    unread[1, 1](whole[1:1])  # without elements it has no memory there


def test_floats_and_bools(device: str) -> None:
    @kernel(requires=("0 < x <= 1.5", "flag or n > 2", "y < 2"))
    def numbers(x: f32, flag: kdsl.lang.types.boolean, n: u64, y: f64) -> None:
        pass

    numbers[1, 1](0.5, True, 0, 1)
    numbers[1, 1](np.float32(0.5), False, 3, 1.5)
    assert refused(numbers[1, 1], 2.0, True, 0, 0) == "numbers requires 0 < x <= 1.5: x = 2.0; pass x <= 1.5"
    assert refused(numbers[1, 1], float("nan"), True, 0, 0) == "numbers requires 0 < x <= 1.5: x = nan; pass x > 0"
    assert refused(numbers[1, 1], 1.0, False, 2, 0) == (
        "numbers requires flag or n > 2: flag = False, n = 2; pass arguments with which it holds"
    )


def test_what_has_no_value_does_not_hold(device: str) -> None:
    @kernel(requires=("n % k == 0", "1 << k > 0"))
    def divided(n: i32, k: i64) -> None:
        pass

    divided[1, 1](6, 3)
    assert refused(divided[1, 1], 6, 0) == (
        "divided requires n % k == 0, which has no value, but a division of 6 by zero: n = 6, k = 0"
    )
    assert refused(divided[1, 1], 0, -3) == (
        "divided requires 1 << k > 0, which has no value, but a shift by -3: k = -3"
    )
    assert refused(divided[1, 1], 0, 2**40).endswith("a shift by 1099511627776: k = 1099511627776")


def test_an_int_larger_than_all_floats_has_no_value_beside_one(device: str) -> None:
    long = " * ".join(["(n << 128)"] * 9)

    @kernel(requires=(f"x < {long} or n <= 0", f"x * ({long} - {long}) >= 0", f"x * ({long}) >= 0"))
    def scaled(a: Ptr[f64], x: f64, n: i32) -> None:
        a[0] = x

    for a in (kdsl.zeros(1, np.float64), np.zeros(1)):
        scaled[1, 1](a, 2.0, 0)
        assert "has no value, but an int that is too large for a float" in refused(scaled[1, 1], a, 2.0, 2)


def test_names_of_ints_are_constants(device: str) -> None:
    local = 3

    @kernel(requires=("n % TILE == 0", f"n > {local}"))
    def tiled(n: i32) -> None:
        pass

    tiled[1, 1](32)
    assert refused(tiled[1, 1], 33) == (
        "tiled requires n % TILE == 0: n = 33, TILE = 16, n % TILE = 1; pass a multiple of 16 as n"
    )


def test_a_fixed_block_and_shared_memory(device: str) -> None:
    @kernel(block=(16, 2), shared="4 * n")
    def fixed(x: Ptr[f32], n: i32) -> None:
        x[0] = f32(n)

    x = kdsl.zeros(1)
    fixed[1, (16, 2), None, 40](x, 10)
    with pytest.raises(LaunchConfigError) as caught:
        fixed[1, 32, None, 40](x, 10)
    assert str(caught.value) == (
        "block = (32, 1, 1), and fixed is compiled for blocks of (16, 2, 1); launch it with block = (16, 2, 1), or leave "
        "block=(16, 2, 1) out of @kernel"
    )
    assert refused(fixed[1, (16, 2)], x, 10) == (
        "fixed requires shared >= 4 * n: shared = 0, n = 10, 4 * n = 40; launch with shared >= 40"
    )


def test_copies_of_overlapping_host_arrays_are_as_aligned_as_these(device: str) -> None:
    @kernel(requires="a.ptr % 64 == 0")
    def overlapping(a: Ptr[f32], before: Ptr[f32], same: Ptr[f32], out: Ptr[i32]) -> None:
        # `same` is not in the contract, so that this is a question.
        out[0] = i32(kdsl.is_aligned(same, 64))
        before[0] = a[0]

    whole = np.zeros(1024, np.float32)
    start = -whole.__array_interface__["data"][0] % 64 // 4 + 16
    a, out = whole[start:], np.zeros(1, np.int32)
    overlapping[1, 1](a, whole[start - 4 :], a, out)
    assert out[0] == 1


def test_infinity_and_nan_are_no_names(device: str) -> None:
    """Python has no literals of them, and parameters may be called so."""

    @kernel(requires=("x != 1e999", "x > -1e999", "x < most or most < 0"))
    def finite(a: Ptr[f64], x: f64, inf: f64, nan: f64, most: Constexpr[float]) -> None:
        a[0] = x

    a = kdsl.zeros(1, np.float64)
    finite[1, 1](a, 5.0, 7.0, 9.0, float("inf"))
    assert a.to_host()[0] == 5
    assert refused(finite[1, 1], a, float("inf"), 3.0, 9.0, float("inf")) == (
        "finite requires x != 1e999: x = inf; pass another x"
    )
    assert refused(finite[1, 1], a, float("-inf"), 3.0, 9.0, float("inf")).startswith("finite requires x > -1e999")
    assert refused(finite[1, 1], a, 5.0, 3.0, 9.0, float("nan")).startswith("finite requires x < most or most < 0")


def test_numbers_of_any_length(device: str) -> None:
    """Python writes none of more than 4300 decimal digits."""
    long = " * ".join(["(1 << 128)"] * 30)
    long = f"({long}) * ({long}) * ({long}) * ({long})"

    @kernel(requires=(f"n < {long}", f"(n + 1) * ({long}) > -1"), block=1, grid=f"n * ({long})")
    def counted(n: i32) -> None:
        pass

    counted[1, 1](5)
    text = refused(counted[1, 1], -9)
    assert text.startswith("counted requires (n + 1) * ") and "n = -9" in text and " = -0x8000000000" in text
    with pytest.raises(LaunchConfigError, match="of 15362 bits"):
        counted.launch(2)
    assert "at least 0" in refused(counted.launch, -2)
