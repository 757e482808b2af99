"""Launches without brackets: `k.launch(...)` takes grid, block and shared memory from the arguments."""

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
    grid,
    grid_dim,
    i32,
    kernel,
    shared,
)


@kernel(requires=("a.size >= n", "b.size >= n"), block=64, grid="ceil(n / 64)")
def double(a: Ptr[f32], b: Ptr[f32], n: i32 = 100) -> None:
    i = grid(1)
    if i < n:
        b[i] = 2.0 * a[i]


def refused(launch, *arguments, **keywords) -> str:
    with pytest.raises(LaunchContractError) as caught:
        launch(*arguments, **keywords)
    return str(caught.value)


def test_launches(device: str) -> None:
    a = np.arange(1000, dtype=np.float32)
    d = kdsl.to_device(a)
    for n in (1000, 999, 64, 63, 1, 1000, np.int32(1000), np.uint8(200)):
        b, e = np.zeros_like(a), kdsl.zeros(1000)
        double.launch(a, b, n)
        double.launch(d, e, n)
        expected = np.where(np.arange(1000) < n, 2 * a, 0)
        assert (b == expected).all()
        assert (e.to_host() == expected).all()
    assert double.launch_config(d, e, 1000) == LaunchConfig(16, 64)
    assert double.launch_config(d, e, n=65) == LaunchConfig(2, 64)


class Growing:
    """An int that is twice as large each time it is asked."""

    def __init__(self) -> None:
        self.number = 1

    def __index__(self) -> int:
        self.number *= 2
        return self.number


@kernel(block=1, grid="n")
def sizes(out: Ptr[i32], n: i32) -> None:
    out[0], out[1] = n, grid_dim.x


def test_the_grid_is_of_the_number_that_is_passed(device: str) -> None:
    x = kdsl.zeros(2, i32)
    ns = Growing()
    for _ in range(8):
        sizes.launch(x, ns)
        n, blocks = x.to_host()
        assert n == blocks
        ns.number = min(ns.number, 32)  # grids of before, which have a fast way


def test_defaults_and_names(device: str) -> None:
    a, b = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    double.launch(a, b=b)
    assert b.sum() == 200
    double.launch(n=1000, a=a, b=b)
    assert b.sum() == 2000
    assert double.launch_config(a, b) == LaunchConfig(2, 64)


def test_nothing_is_launched_for_a_grid_of_0_but_all_is_checked(device: str) -> None:
    a = kdsl.zeros(10)
    double.launch(a, a, 0)
    assert double.launch_config(a, a, 0).empty
    with pytest.raises(kdsl.ArgumentError, match="`a` takes"):
        double.launch(3, a, 0)
    double.launch(a, a, -63)  # also 0 blocks, and the relations hold
    assert refused(double.launch, a, a, -64) == (
        "double launches with grid = ceil(n / 64) = -1: n = -64; pass arguments with which it is at least 0"
    )


def test_the_arguments_errors_are_those_of_launches(device: str) -> None:
    a = kdsl.zeros(1000)
    assert refused(double.launch, a, a, 1001) == (
        "double requires a.size >= n: a.size = 1000, n = 1001; pass n <= 1000 or a larger `a`"
    )
    for arguments, text in [
        ((a,), "`b` is missing"),
        ((a, a, 1, 2), "drop 1"),
        ((a, a, 1.5), "`n` takes an int"),
        ((a, a, "x"), "`n` takes an int"),
        ((a, a, 2**40), "which does not fit"),
    ]:
        with pytest.raises(kdsl.ArgumentError, match=text):
            double.launch(*arguments)
    with pytest.raises(kdsl.ArgumentError, match=r"^double\(a, b, n\) has no parameter 'm'$"):
        double.launch(a, a, m=1)


def test_streams(device: str) -> None:
    a, b = kdsl.to_device(np.ones(1000, np.float32)), kdsl.zeros(1000)
    stream = kdsl.Stream()
    for _ in range(2):
        double.launch_on(stream, a, b, n=1000)
    stream.synchronize()
    assert b.to_host().sum() == 2000

    @kernel(block=1, grid=1)
    def streamed(stream: Ptr[f32]) -> None:
        stream[0] = 5.0

    streamed.launch_on(stream, stream=b)
    streamed.launch(stream=b)
    assert b.to_host()[0] == 5


def test_two_dimensions_from_shapes(device: str) -> None:
    @kernel(block=(16, 8), grid=("ceil(x.shape[1] / 16)", "ceil(x.shape[0] / 8)"))
    def fill(x: Array[f32, 2], value: f32) -> None:
        i, j = grid(2)
        if j < x.shape[0] and i < x.shape[1]:
            x[j, i] = value

    for shape in ((40, 50), (8, 16), (0, 5), (5, 0), (40, 50)):
        host, d = np.zeros(shape, np.float32), kdsl.zeros(shape)
        fill.launch(host, 3)
        fill.launch(d, 3)
        assert (host == 3).all()
        assert (d.to_host() == 3).all()
    assert fill.launch_config(np.zeros((40, 50), np.float32), 0) == LaunchConfig((4, 5), (16, 8))


def test_a_block_and_shared_memory_that_follow(device: str) -> None:
    @kernel(block="min(n, 256)", grid=1, shared="4 * n")
    def reverse(x: Ptr[f32], n: i32) -> None:
        s = shared.dynamic(f32)
        t = kdsl.thread_idx.x
        s[t] = x[t]
        kdsl.sync_threads()
        x[t] = s[n - 1 - t]

    x = np.arange(100, dtype=np.float32)
    reverse.launch(x, 100)
    assert (x == np.arange(100)[::-1]).all()
    assert reverse.launch_config(x, 100) == LaunchConfig(1, 100, 400)
    assert refused(reverse.launch, x, 0) == (
        "reverse launches with block = min(n, 256) = 0: n = 0; pass arguments with which it is at least 1"
    )


def test_kernels_without_types_and_with_constants(device: str) -> None:
    @kernel(block="size", grid="ceil(x.size / size)")
    def fill(x, value, size: Constexpr[int]):
        i = grid(1)
        if i < x.shape[0]:
            x[i] = value

    for dtype in (np.float32, np.int64):
        for of in (lambda x: x, kdsl.to_device):
            for size in (32, 64):
                x = of(np.zeros(100, dtype))
                fill.launch(x, 5, size)
                assert ((x.to_host() if isinstance(x, kdsl.DeviceArray) else x) == 5).all()
    ptx = fill.compile(target="sm_80", signature={"x": Array[f32, 1], "value": f32, "size": 64}).ptx
    assert ".reqntid 64\n" in ptx
    assert "%ntid" not in ptx


def test_vectors_are_the_elements(device: str) -> None:
    @kernel(block=32, grid="ceil(x.size / 32)")
    def fill(x: Ptr[f32x4]) -> None:
        x[grid(1)] = f32x4(1.0)

    for of in (lambda x: x, kdsl.to_device):
        x = of(np.zeros(256, np.float32))
        assert fill.launch_config(x) == LaunchConfig(2, 32)
        fill.launch(x)
        assert ((x.to_host() if isinstance(x, kdsl.DeviceArray) else x) == 1).all()


def test_modules(device: str) -> None:
    @kdsl.cuda_module
    class kernels:
        @kernel(block=32, grid="ceil(n / 32)", requires="x.size >= n")
        def fill(x: Ptr[f32], n: i32) -> None:
            i = grid(1)
            if i < n:
                x[i] = 1.0

    ptx = kernels.compile().ptx
    for loaded in (kernels.load(), kernels.from_module(kdsl.load_module(ptx.encode()))):
        for x in (np.zeros(100, np.float32), kdsl.zeros(100), kdsl.zeros(100)):
            loaded.fill.launch(x, 90)
            assert (x.to_host() if isinstance(x, kdsl.DeviceArray) else x).sum() == 90
            loaded.fill.launch_on(kdsl.Stream(), x, n=100)
            kdsl.synchronize()
            assert (x.to_host() if isinstance(x, kdsl.DeviceArray) else x).sum() == 100
            assert refused(loaded.fill.launch, x, 101).startswith("fill requires x.size >= n")


def test_a_contract_that_does_not_say_all() -> None:
    @kernel(block=256)
    def blocks(x: Ptr[f32]) -> None:
        pass

    @kernel
    def nothing(x: Ptr[f32]) -> None:
        pass

    with pytest.raises(LaunchConfigError) as caught:
        blocks.launch(np.zeros(1, np.float32))
    assert str(caught.value) == (
        'blocks.launch needs a contract that says grid, as in @kernel(block=256, grid="ceil(n / 256)"); write that, or '
        "blocks[grid, block](...)"
    )
    with pytest.raises(LaunchConfigError, match="needs a contract that says grid and block"):
        nothing.launch_on(None, np.zeros(1, np.float32))


def test_parameters_hide_the_packers_names(device: str) -> None:
    @kernel(block=32, grid="ceil(_n / 32)", requires=("_n <= len(min)", "max(1, grid) > 0"))
    def names(min: Array[f32, 1], _n: i32, type: i32, grid: i32) -> None:
        if kdsl.thread_idx.x < _n:
            min[0] = f32(type)

    for x in (np.zeros(5, np.float32), kdsl.zeros(5), kdsl.zeros(5)):
        names.launch(x, 5, 7, 1)
        assert (x.to_host() if isinstance(x, kdsl.DeviceArray) else x)[0] == 7
        assert refused(names.launch, x, 6, 7, 1) == (
            "names requires _n <= min.shape[0]: _n = 6, min.shape[0] = 5; pass _n <= 5 or a larger `min`"
        )


def test_marked_host_arrays(device: str) -> None:
    @kernel(requires="a.size == b.size", block=32, grid="ceil(a.size / 32)")
    def double_all(a: Ptr[f32], b: Array[f32, 1]) -> None:
        i = grid(1)
        if i < b.shape[0]:
            b[i] = 2.0 * a[i]

    a, b = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    for _ in range(2):
        double_all.launch(kdsl.In(a), kdsl.Out(b))
        assert (b == 2 * a).all()
        assert refused(double_all.launch, kdsl.In(a), kdsl.Out(b[:99])) == (
            "double_all requires a.size == b.size: a.size = 100, b.size = 99; "
            "pass a `a` with size = 99 or a `b` with size = 100"
        )


def test_views_of_device_arrays(device: str) -> None:
    @kernel(requires=("x.strides[0] == 8", "x.size <= 50"), block=32, grid="ceil(x.size / 32)")
    def fill(x):
        i = grid(1)
        if i < x.shape[0]:
            x[i] = 3

    whole = kdsl.zeros(100)
    for _ in range(2):
        fill.launch(whole[::2])
        assert refused(fill.launch, whole[:50]) == (
            "fill requires x.strides[0] == 8: x.strides[0] = 4; pass another `x`"
        )
    assert whole.to_host().sum() == 150


class WithoutHash:
    """Another library's stream."""

    __hash__ = None  # type: ignore[assignment]

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 1


def test_streams_are_told_apart_by_their_classes_too() -> None:
    @kernel(block=1, grid="n")
    def put(x: Ptr[i32], n: i32) -> None:
        x[0] = n

    x = kdsl.zeros(1, i32)
    for n in (1, 2):
        for wrong in (False, 0.0, True, []):
            with pytest.raises(TypeError, match="takes a stream before the arguments"):
                put.launch_on(wrong, x, n)
        for stream in (0, 1, WithoutHash(), None):
            put.launch_on(stream, x, n)
            put[1, 1, stream](x, n)
            assert x.to_host()[0] == n
