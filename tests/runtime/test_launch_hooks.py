"""launch_hooks: which launches are seen, what is told of them, and what a hook that raises leaves behind."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import DeviceError, LaunchConfig, LaunchRecord, Ptr, f32, grid, i32, kernel
from kdsl.backend import Launch
from kdsl.lang.types import F32, I32, PointerType
from kdsl.runtime.array_making import zeros
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.hooks import HOOKS
from kdsl.runtime.launch import Launcher
from kdsl.runtime.prepared import prepare

SCALE = (("x", PointerType(F32)), ("n", I32))
FACTOR = 2


@kernel
def scale(x: Ptr[f32], n: i32) -> None:
    i = grid(1)
    if i < n:
        x[i] = x[i] * FACTOR


@kernel
def untyped(x, value):  # type: ignore[no-untyped-def]
    x[0] = value


@kernel
def numbers_only(n: i32) -> None:
    pass


@pytest.fixture(autouse=True)
def no_hook_is_left() -> Iterator[None]:
    yield
    assert HOOKS.hooks == ()


class Seen(list[str]):
    """What hooks were called with, in order."""

    def before(self, launch: LaunchRecord) -> None:
        self.append(f"before {launch.kernel}")

    def after(self, launch: LaunchRecord) -> None:
        self.append(f"after {launch.kernel}")


def test_every_kind_of_launch_is_seen(device: str) -> None:
    x, y = kdsl.to_device(np.ones(4, np.float32)), np.ones(4, np.float32)
    held = scale[1, 32]
    held(x, 4)
    held = scale[1, 32]  # what the fast way gives
    prepared = scale.prepare(1, 32, x, 4)
    seen = Seen()
    with kdsl.launch_hooks(before=seen.before, after=seen.after):
        scale[1, 32](x, 4)
        held(x, 4)
        held(n=4, x=x)
        prepared()
        prepared.launch()
        prepared.with_arguments(n=3)()
        scale[LaunchConfig(2, 32)](x, 4)
        scale[1, 32](y, 4)
        scale[1, 32, kdsl.Stream()](x, 4)
    assert seen == ["before scale", "after scale"] * 9
    scale[1, 32](x, 4)
    prepared()
    held(x, 4)
    assert len(seen) == 18
    assert x.to_host().tolist() == [2.0**12] * 3 + [2.0**11]
    assert (y == 2).all()


def test_kernels_of_other_kinds_are_seen(device: str) -> None:
    @kdsl.cuda_module
    class kernels:
        @kernel
        def put(x: Ptr[i32], n: i32) -> None:
            x[0] = n

    x, seen = kdsl.zeros(1, i32), Seen()
    loaded = kernels.load()
    put = loaded.put[1, 1]
    put(x, 1)
    untyped[1, 1](x, 3)
    numbers_only[1, 1](3)
    with kdsl.launch_hooks(before=seen.before):
        for n in range(3):
            put(x, n)
            loaded.put[1, 1](x, n + 10)
            assert x.to_host()[0] == n + 10
        loaded.put.prepare(1, 1, x, 5)()
        for n in range(3):
            untyped[1, 1](x, n)
            assert x.to_host()[0] == n
        numbers_only[1, 1](3)
    assert seen == ["before put"] * 7 + ["before untyped"] * 3 + ["before numbers_only"]


def test_a_first_launch_and_one_after_a_change_are_seen_once(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @kernel
    def fresh(x: Ptr[f32]) -> None:
        x[0] = x[0] * FACTOR

    x, seen = kdsl.to_device(np.ones(1, np.float32)), Seen()
    with kdsl.launch_hooks(before=seen.before):
        fresh[1, 1](x)
        monkeypatch.setitem(globals(), "FACTOR", 5)
        fresh[1, 1](x)
        fresh[1, 1](x)
    assert seen == ["before fresh"] * 3
    assert x.to_host()[0] == 50


def test_what_a_record_tells(device: str) -> None:
    records: list[LaunchRecord] = []
    x, stream = kdsl.to_device(np.ones(4, np.float32)), kdsl.Stream()
    with kdsl.launch_hooks(before=records.append):
        scale[(2, 3), (8, 4), stream, 64](x, n=3)
        with stream:
            scale[1, 32](x, 4)
        scale[1, 32](x, 4)
    first, in_current, default = records
    assert (first.kernel, first.config) == ("scale", Launch((2, 3, 1), (8, 4, 1), 64, stream.handle))
    assert dict(first.arguments) == {"x": x, "n": 3}
    assert first.arguments["x"] is x
    assert first.device == kdsl.Device(device)
    assert (first.stream, in_current.stream, default.stream) == (stream.handle, stream.handle, 0)
    assert str(first) == f"scale[(2, 3, 1), (8, 4, 1)](x=float32[4], n=3) on {first.device}"
    with pytest.raises(AttributeError):
        first.kernel = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        first.arguments["n"] = 4  # type: ignore[index]


def test_empty_and_refused_launches_are_not_seen() -> None:
    seen, x = Seen(), np.ones(4, np.float32)
    with kdsl.launch_hooks(before=seen.before, after=seen.after):
        scale[LaunchConfig.for_num_elems(0)](x, 4)
        for arguments in ((x,), (x, 1.5), (x.astype(np.float64), 4)):
            with pytest.raises(TypeError):
                scale[1, 32](*arguments)
    assert seen == []


def test_blocks_nest() -> None:
    x, called = kdsl.zeros(4, f32), []
    with (
        kdsl.launch_hooks(before=lambda _: called.append("outer before"), after=lambda _: called.append("outer after")),
        kdsl.launch_hooks(before=lambda _: called.append("inner before"), after=lambda _: called.append("inner after")),
    ):
        scale[1, 32](x, 4)
        with kdsl.launch_hooks(after=lambda _: called.append("innermost after")):
            scale[1, 32](x, 4)
    nested = ["outer before", "inner before", "inner after", "outer after"]
    assert called == [*nested, *nested[:2], "innermost after", *nested[2:]]


def test_one_hook_twice_is_called_twice() -> None:
    x, seen = kdsl.zeros(4, f32), Seen()
    with kdsl.launch_hooks(before=seen.before), kdsl.launch_hooks(before=seen.before):
        scale[1, 32](x, 4)
        assert len(HOOKS.hooks) == 2
    assert seen == ["before scale"] * 2


def test_launches_of_a_hook_are_not_seen() -> None:
    x, y, seen = kdsl.to_device(np.ones(4, np.float32)), kdsl.to_device(np.ones(4, np.float32)), Seen()
    helper = scale.prepare(1, 32, y, 4)

    def launching(launch: LaunchRecord) -> None:
        seen.before(launch)
        helper()
        scale[1, 32](y, 4)

    with kdsl.launch_hooks(before=launching, after=launching):
        scale[1, 32](x, 4)
    assert seen == ["before scale"] * 2
    assert (x.to_host()[0], y.to_host()[0]) == (2, 16)


def failing(_: LaunchRecord) -> None:
    raise RuntimeError("from the hook")


@pytest.mark.parametrize("numpy", [False, True])
def test_a_before_that_raises_keeps_the_launch_from_being_made(numpy: bool) -> None:
    x: Any = np.ones(4, np.float32)
    x = x if numpy else kdsl.to_device(x)
    seen = Seen()
    scale[1, 32](x, 4)
    with kdsl.launch_hooks(before=seen.before, after=seen.after), kdsl.launch_hooks(before=failing, after=seen.after):
        for _ in range(2):
            with pytest.raises(RuntimeError, match="from the hook") as caught:
                scale[1, 32](x, 4)
            assert caught.value.__context__ is None
    assert seen == ["before scale"] * 2
    scale[1, 32](x, 4)
    assert (np.asarray(x if numpy else x.to_host()) == 4).all()
    with kdsl.launch_hooks(before=seen.before):
        scale[1, 32](x, 4)
    assert len(seen) == 3


def test_all_hooks_after_a_launch_are_called_if_one_raises() -> None:
    x, seen = kdsl.to_device(np.ones(4, np.float32)), Seen()
    with (
        kdsl.launch_hooks(after=seen.after),
        kdsl.launch_hooks(after=failing),
        kdsl.launch_hooks(after=seen.after),
    ):
        with pytest.raises(RuntimeError, match="from the hook"):
            scale[1, 32](x, 4)
        p = scale.prepare(1, 32, x, 4)
        with pytest.raises(RuntimeError, match="from the hook"):
            p()
    assert seen == ["after scale"] * 4
    assert (x.to_host() == 4).all()


def test_a_launch_that_fails_has_no_after() -> None:
    @kernel
    def out_of_bounds(x: Ptr[f32]) -> None:
        x[1 << 20] = 1.0

    x, seen = kdsl.zeros(4, f32), Seen()
    with kdsl.launch_hooks(before=seen.before, after=seen.after):
        with pytest.raises(DeviceError):
            out_of_bounds[1, 1](x)
        scale[1, 32](x, 4)
    assert seen == ["before out_of_bounds", "before scale", "after scale"]


def test_the_block_ends_when_it_raises() -> None:
    with pytest.raises(ZeroDivisionError), kdsl.launch_hooks(before=print):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("hooks", "text"),
    [
        ({}, "launch_hooks takes before=, after= or both"),
        ({"before": 3}, "before is a function of a LaunchRecord, got 3"),
        ({"after": "x"}, "after is a function of a LaunchRecord, got 'x'"),
    ],
)
def test_misuse(hooks: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text), kdsl.launch_hooks(**hooks):
        pass


def test_launches_of_all_threads_are_seen_in_their_thread() -> None:
    x = kdsl.zeros(4, f32)
    scale[1, 32](x, 4)
    threads: list[int] = []
    with kdsl.launch_hooks(before=lambda _: threads.append(threading.get_ident())):
        started = [threading.Thread(target=scale[1, 32], args=(x, 4)) for _ in range(4)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
    assert sorted(threads) == sorted(thread.ident or 0 for thread in started)


def test_blocks_of_threads_may_end_in_any_order() -> None:
    first, second = kdsl.launch_hooks(before=print), kdsl.launch_hooks(after=print)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert HOOKS.hooks == ((None, print),)
    second.__exit__(None, None, None)


# On the driver's stand-in: what a launch costs without hooks, and that streams and hooks get along.


def launcher(gpu: CudaDriver) -> Launcher:
    return Launcher("vadd", SCALE, gpu, gpu.function(gpu.load(b".version 7.8\n"), "vadd"))


def test_without_hooks_a_launch_is_the_drivers_own(gpu: CudaDriver) -> None:
    own = gpu._calls.launch
    with kdsl.launch_hooks(before=print):
        assert gpu._calls.launch is not own
    assert gpu._calls.launch is own is gpu._calls.native


def test_a_device_that_starts_in_a_block_is_seen(fake_driver: Any) -> None:
    fake_driver.kernels = {"vadd": lambda parameters: None}
    seen = Seen()
    with kdsl.launch_hooks(before=seen.before):
        gpu = CudaDriver(api=fake_driver)
        run = launcher(gpu).bind(LaunchConfig(1, 32))
        run(zeros(4, backend=gpu), 4)
    assert seen == ["before vadd"]
    assert gpu._calls.launch is gpu._calls.native


@pytest.mark.parametrize("config", [LaunchConfig(2, 32), LaunchConfig(2, 32, cluster=2)])
def test_each_launch_is_one_driver_call(gpu: CudaDriver, fake_driver: Any, config: LaunchConfig) -> None:
    parameters: list[bytes] = []
    fake_driver.kernels = {"vadd": lambda given: parameters.append(bytes(given))}
    made, x, seen = launcher(gpu), zeros(4, backend=gpu), Seen()
    run, p = made.bind(config), prepare(made, config, {"x": x, "n": 3})
    run(x, 1)
    fake_driver.called()
    with kdsl.launch_hooks(before=seen.before, after=seen.after):
        run(x, 2)
        p()
    run(x, 4)
    p()
    names = fake_driver.called()
    assert names == ["cuLaunchKernelEx" if config.cluster else "cuLaunchKernel"] * 4
    assert parameters == [struct.pack("<Qi", x.address, n) for n in (1, 2, 3, 4, 3)]
    assert seen == ["before vadd", "after vadd"] * 2


def test_hooks_beside_a_current_stream(gpu: CudaDriver, fake_driver: Any) -> None:
    from kdsl.runtime.stream import Stream

    made, x = launcher(gpu), zeros(4, backend=gpu)
    run, records = made.bind(LaunchConfig(1, 32)), []
    with Stream(gpu) as stream:
        with kdsl.launch_hooks(before=records.append):
            run(x, 1)
        run(x, 1)
    with kdsl.launch_hooks(before=records.append), Stream(gpu) as second:
        run(x, 1)
    run(x, 1)
    handles = [stream.handle, stream.handle, second.handle, 0]
    assert [launched[-1] for launched in fake_driver.launched] == handles
    assert [record.stream for record in records] == [stream.handle, second.handle]
    assert gpu._calls.launch is gpu._calls.native
