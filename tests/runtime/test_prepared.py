"""Prepared launches: what they check, hold and launch."""

from __future__ import annotations

import copy
import gc
import pickle
import struct
import threading
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import ArgumentError, Array, Constexpr, LaunchConfig, Ptr, f32, f64, grid, i32, kernel
from kdsl.backend import Launch
from kdsl.lang.types import F32, I32, PointerType
from kdsl.runtime.array_making import zeros
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.launch import Launcher
from kdsl.runtime.prepared import PreparedLaunch, prepare

P = PointerType
SCALE = (("x", P(F32)), ("n", I32))
FACTOR = 2


def prepared(backend: Any, config: Any = None, **arguments: Any) -> PreparedLaunch:
    return prepare(Launcher("scale", SCALE, backend, None), config or LaunchConfig(2, 32), arguments)


def test_each_launch_passes_the_same_parameters(backend: Any) -> None:
    x = zeros(4, backend=backend)
    p = prepared(backend, x=x, n=3)
    assert not backend.launches
    backend.calls.clear()
    p()
    p.launch()
    assert backend.calls == ["launch", "launch"]
    assert backend.launches == [(None, Launch((2, 1, 1), (32, 1, 1)), struct.pack("<Qi", x.address, 3))] * 2
    assert (p.kernel, p.config, dict(p.arguments)) == ("scale", LaunchConfig(2, 32), {"x": x, "n": 3})
    assert repr(p) == "<prepared launch of scale[(2, 1, 1), (32, 1, 1)]>"


def test_it_never_changes_and_others_are_made_of_it(backend: Any) -> None:
    x, y = zeros(4, backend=backend), zeros(4, backend=backend)
    p = prepared(backend, x=x, n=3)
    q = p.with_arguments(n=5, x=y)
    r = q.with_config(7, 64).with_arguments()
    s = r.with_config(LaunchConfig(1, 1, shared=16))
    for launch in (p, q, r, s):
        launch()
    assert [(l.grid[0], l.block[0], l.shared_bytes, b) for _, l, b in backend.launches] == [
        (2, 32, 0, struct.pack("<Qi", x.address, 3)),
        (2, 32, 0, struct.pack("<Qi", y.address, 5)),
        (7, 64, 0, struct.pack("<Qi", y.address, 5)),
        (1, 1, 16, struct.pack("<Qi", y.address, 5)),
    ]
    for name in ("config", "arguments", "_buffer", "other"):
        with pytest.raises(AttributeError):
            setattr(p, name, 1)
    with pytest.raises(TypeError):
        p.arguments["n"] = 9  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"n": 2**31}, "scale: argument `n` takes i32, .* got 2147483648"),
        ({"n": 1.0}, "scale: argument `n` takes an int"),
        ({"x": None}, "scale: argument `x` takes Ptr"),
        ({"x": np.zeros(4)}, r"got a NumPy array of float64; pass x.astype\(np.float32\)"),
        (
            {"x": np.zeros(4, np.float32)},
            r"scale: argument `x` takes Ptr\[f32\] \(a contiguous array of float32\), got an array in host memory; a prepared "
            r"launch copies nothing: pass kdsl.to_device\(x\), keep it, and read it with .to_host\(\)",
        ),
        ({"x": np.zeros(0, np.float32)}, "a prepared launch copies nothing"),
        ({"m": 3}, r"scale\(x, n\) has no parameter 'm'"),
    ],
)
def test_what_does_not_fit_is_refused_when_it_is_prepared(backend: Any, arguments: Any, text: str) -> None:
    p = prepared(backend, x=zeros(4, backend=backend), n=3)
    with pytest.raises((TypeError, ValueError), match=text):
        p.with_arguments(**arguments)
    if "m" not in arguments:
        with pytest.raises((TypeError, ValueError), match=text):
            prepared(backend, **{"x": zeros(4, backend=backend), "n": 3, **arguments})
    p()
    assert len(backend.launches) == 1


def test_an_array_of_another_device_is_refused(backend: Any, make_backend: Any) -> None:
    with pytest.raises(ValueError, match="a DeviceArray on cuda:0; this launch is on emulator:0"):
        prepared(backend, x=zeros(4, backend=make_backend("cuda")), n=3)


def test_configurations_are_checked(backend: Any) -> None:
    x = zeros(4, backend=backend)
    p = prepared(backend, x=x, n=3)
    with pytest.raises(ValueError, match="2048 threads, at most 1024 fit"):
        p.with_config(1, 2048)
    with pytest.raises(TypeError, match="with_config takes grid and block, or a LaunchConfig, before"):
        p.with_config(1)
    with pytest.raises(TypeError, match="nothing after them"):
        p.with_config(1, 32, 5)
    with pytest.raises(ValueError, match="compiled for at most 64"):
        prepare(Launcher("k", SCALE, backend, None, most_threads=64), LaunchConfig(1, 128), {"x": x, "n": 1})


def test_an_empty_grid_launches_nothing(backend: Any) -> None:
    p = prepared(backend, LaunchConfig.for_num_elems(0), x=zeros(4, backend=backend), n=3)
    p()
    assert not backend.launches
    p.with_config(1, 32)()
    assert len(backend.launches) == 1


def test_it_keeps_its_arrays_alive(backend: Any) -> None:
    p = prepared(backend, x=zeros(4, backend=backend), n=3)
    q = p.with_arguments(x=zeros(8, backend=backend))
    gc.collect()
    assert len(backend.memory) == 2
    for launch in (p, q):
        launch()
        (address,) = struct.unpack_from("<Q", backend.launches[-1][2])
        assert address in backend.memory
    del p, launch
    gc.collect()
    assert len(backend.memory) == 1
    del q
    gc.collect()
    assert not backend.memory


def test_launching_allocates_nothing_that_stays(backend: Any) -> None:
    import tracemalloc

    backend.launch = lambda *_: None
    p = prepared(backend, x=zeros(4, backend=backend), n=3)
    for _ in range(1000):
        p()
    tracemalloc.start()
    for _ in range(1000):
        p()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(50_000):
        p()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 50_000  # not a byte of each launch; other libraries have threads


def test_it_is_neither_pickled_nor_copied(backend: Any) -> None:
    p = prepared(backend, x=zeros(4, backend=backend), n=3)
    for make in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="pickle the kernel, and prepare it"):
            make(p)


# On the driver's stand-in.


def test_a_launch_is_one_driver_call(gpu: CudaDriver, fake_driver: Any) -> None:
    seen: list[bytes] = []
    fake_driver.kernels = {"scale": lambda parameters: seen.append(bytes(parameters))}
    x = zeros(4, backend=gpu)
    launcher = Launcher("scale", SCALE, gpu, gpu.function(gpu.load(b".version 7.8\n"), "scale"))
    p = prepare(launcher, LaunchConfig(2, 32), {"x": x, "n": 3})
    p()
    fake_driver.calls.clear()
    for _ in range(5):
        p()
    assert [call[0] for call in fake_driver.calls] == ["cuLaunchKernel"] * 5
    assert seen == [struct.pack("<Qi", x.address, 3)] * 6


def test_another_thread_launches_it(gpu: CudaDriver, fake_driver: Any) -> None:
    launcher = Launcher("vadd", SCALE, gpu, gpu.function(gpu.load(b".version 7.8\n"), "vadd"))
    p = prepare(launcher, LaunchConfig(2, 32), {"x": zeros(4, backend=gpu), "n": 3})
    failures: list[BaseException] = []

    def launch() -> None:
        try:
            fake_driver.codes["cuLaunchKernel"] = [201]  # no context in this thread
            p()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    assert not failures and len(fake_driver.launched) == 1


# Through @kernel.


@kernel
def scale(x: Ptr[f32], n: i32, by: f32 = 2.0) -> None:
    i = grid(1)
    if i < n:
        x[i] = x[i] * by


@kernel
def captured(x: Ptr[i32]) -> None:
    x[0] = x[0] * 10 + FACTOR


@kernel
def untyped(x, value):  # type: ignore[no-untyped-def]
    i = grid(1)
    if i < x.shape[0]:
        x[i] = value


@kernel
def constants(x: Ptr[i32], pair, size: Constexpr[i32], scale: Constexpr[f64]) -> None:  # type: ignore[no-untyped-def]
    x[0] = i32(pair[1](pair[0]) * 10 + size + scale)


@kernel
def summed(x: Array[f32, 2], out: Ptr[f32]) -> None:
    out[0] = x[x.shape[0] - 1, x.shape[1] - 1]


@kernel
def applied(x: Ptr[i32], f) -> None:  # type: ignore[no-untyped-def]
    x[0] = f(x[0])


def test_a_kernel_is_prepared_and_launched(device: str) -> None:
    x = kdsl.to_device(np.ones(40, np.float32))
    p = scale.prepare(2, 32, x, 40)
    p()
    p()
    p.with_arguments(by=0.5, n=3)()
    scale.prepare(LaunchConfig(2, 32), n=40, by=3, x=x)()
    np.testing.assert_array_equal(x.to_host(), [6] * 3 + [12] * 37)


def test_misuse_of_prepare() -> None:
    x = kdsl.zeros(4, f32)
    for arguments, keywords, text in (
        ((), {}, r"scale.prepare takes grid and block, or a LaunchConfig, before the arguments"),
        ((1,), {}, "takes grid and block"),
        ((1, 32), {}, "scale: arguments `x` and `n` are missing"),
        ((1, 32, x, 4, 1.0, 5), {}, "takes 3 arguments, got 4: drop 1"),
        ((1, 32, x, 4), {"n": 4}, "got multiple values for argument 'n'"),
        ((1, 32, x, 4), {"m": 4}, "no parameter 'm'"),
        ((x, 4), {}, "grid"),
        ((0, 32, x, 4), {}, "grid.x = 0"),
        ((1, 32.0, x, 4), {}, "block.x"),
        ((1, 32, x.to_host(), 4), {}, "a prepared launch copies nothing"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            scale.prepare(*arguments, **keywords)


def test_it_stays_what_was_compiled(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = kdsl.zeros(1, i32)
    p = captured.prepare(1, 1, x)
    p()
    monkeypatch.setitem(globals(), "FACTOR", 5)
    p()
    captured[1, 1](x)
    p.with_arguments()()
    assert x.to_host()[0] == 2252


def test_it_stays_on_its_device(gpu: CudaDriver) -> None:
    x = kdsl.zeros(1, i32)
    p = captured.prepare(1, 1, x)
    from kdsl.current import DEVICES

    before, DEVICES._current = DEVICES._current, gpu
    try:
        p()
        p.with_arguments()()
    finally:
        DEVICES._current = before
    assert x.to_host()[0] == 22


def test_kernels_without_annotations_keep_their_types(device: str) -> None:
    x = kdsl.zeros(4, i32)
    p = untyped.prepare(1, 32, x, 3)
    q = p.with_arguments(value=7)
    p()
    assert (x.to_host() == 3).all()
    q()
    assert (x.to_host() == 7).all()
    with pytest.raises(TypeError, match="untyped: argument `x` takes .*int32"):
        p.with_arguments(x=kdsl.zeros(4, f32))
    with pytest.raises(TypeError, match="argument `value` takes an int"):
        p.with_arguments(value=1.5)
    y = kdsl.zeros(4, f32)
    untyped.prepare(1, 32, y, 1.5)()
    assert (y.to_host() == 1.5).all()


def test_constants_are_refused_and_not_ignored() -> None:
    def adding(n: int) -> Any:
        return lambda v: v + n

    x = kdsl.zeros(1, i32)
    p = constants.prepare(1, 1, x, (4, adding(1)), 6, 0.0)
    p.with_arguments(pair=(7, adding(2)), size=6, scale=0.0)()
    assert x.to_host()[0] == 96
    for changed in ({"pair": (4, lambda v: v * 2)}, {"size": 7}, {"size": True}, {"scale": -0.0}):
        with pytest.raises(TypeError, match=f"argument `{next(iter(changed))}` differs in what .* prepare another"):
            p.with_arguments(**changed)
    with pytest.raises(TypeError, match="argument `pair` takes .*; pass a tuple of 2"):
        p.with_arguments(pair=(4,))


def test_what_functions_hold_is_passed(device: str) -> None:
    def adding(n: int) -> Any:
        return lambda v: v + n

    x = kdsl.zeros(1, i32)
    p = applied.prepare(1, 1, x, adding(5))
    p()
    p.with_arguments(f=adding(30))()
    assert x.to_host()[0] == 35
    with pytest.raises(TypeError, match="argument `f` differs in what the kernel was compiled with"):
        p.with_arguments(f=lambda v: v * 2)


def test_arrays_with_extents(device: str) -> None:
    x, out = kdsl.to_device(np.arange(12, dtype=np.float32).reshape(3, 4)), kdsl.zeros(1, f32)
    p = summed.prepare(1, 1, x, out)
    p()
    assert out.to_host()[0] == 11
    p.with_arguments(x=x.reshape(2, 6).reshape(12, 1))()
    assert out.to_host()[0] == 11
    with pytest.raises(ValueError, match="an array with 1 dimension"):
        p.with_arguments(x=x.reshape(12))


def test_a_stream(device: str) -> None:
    stream = kdsl.Stream()
    x = kdsl.to_device(np.ones(4, np.float32))
    p = scale.prepare(LaunchConfig(1, 32, stream=stream), x, 4)
    for _ in range(3):
        p()
    stream.synchronize()
    assert (x.to_host() == 8).all()


def test_loaded_kernels_are_prepared_too(device: str) -> None:
    @kdsl.cuda_module
    class kernels:
        @kernel
        def put(x: Ptr[i32], n: i32) -> None:
            x[0] = n

    loaded = kernels.load()
    x = kdsl.zeros(1, i32)
    p = loaded.put.prepare(1, 1, x, n=5)
    p()
    assert x.to_host()[0] == 5
    p.with_arguments(n=6)()
    assert x.to_host()[0] == 6
    with pytest.raises(TypeError, match="argument `n` is missing"):
        loaded.put.prepare(1, 1, x)


def test_a_launch_with_arguments_says_how_others_are_passed(backend: Any) -> None:
    p = prepared(backend, x=zeros(4, backend=backend), n=3)
    backend.calls.clear()
    with pytest.raises(ArgumentError, match=r"p\.with_arguments\(x=5, n=6\) is another, and scale\[grid, block\]\("):
        p(5, 6)
    for launch in (p, p.launch):
        with pytest.raises(ArgumentError, match=r"p\.with_arguments\(x=5\) is another"):
            launch(5)
    with pytest.raises(TypeError, match=r"PreparedLaunch\.launch\(\) got an unexpected keyword argument 'n'"):
        p(n=3)
    assert not backend.calls
