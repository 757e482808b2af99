"""Ctrl-C and exceptions in `with stream:`, in captures and in waits: nothing stays captured, current or waiting."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Collection
from contextlib import nullcontext
from types import FrameType
from typing import Any

import pytest

from kdsl.emulator.device import Emulator
from kdsl.lang.types import F32, PointerType
from kdsl.runtime.array_making import zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.graph import Capturing, Graph
from kdsl.runtime.launch import Launcher
from kdsl.runtime.stream import Stream

from .fake_driver import function

# What Python does not protect: a signal that comes in the few instructions of leaving a `with stream:` block.
LEAVING = {"Stream.__exit__", "StreamState.leave", "StreamState._note", "DriverStreams._watch_launches", "watch"}


class CtrlC:
    """Raises KeyboardInterrupt once, at the ``at``-th place in kdsl where Python looks for signals: where a function of
    Python's begins, and after a call of one of C's.
    """

    def __init__(self, at: int, leave_out: Collection[str] = ()) -> None:
        self.at, self.leave_out = at, leave_out
        self.came = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event not in ("call", "c_return") or not frame.f_globals.get("__name__", "").startswith("kdsl."):
            return
        if self.came or code.co_qualname in self.leave_out or is_finalizing(frame):
            return
        self.at -= 1
        if self.at < 0:
            self.came = True
            raise KeyboardInterrupt

    def start(self) -> None:
        sys.setprofile(self)

    @staticmethod
    def stop() -> None:
        sys.setprofile(None)


def is_finalizing(frame: FrameType | None) -> bool:
    """Whether a finalizer runs, out of which nothing is raised."""
    while frame is not None and frame.f_code.co_name not in ("__del__", "<genexpr>"):
        frame = frame.f_back
    return frame is not None


def everywhere(
    run: Callable[[CtrlC], None], check: Callable[[], None], leave_out: Collection[str] = (), step: int = 1
) -> int:
    """Run and check with Ctrl-C at each place in turn; how many there are."""
    for at in range(0, 3000, step):
        ctrl_c = CtrlC(at, leave_out)
        try:
            run(ctrl_c)
        except KeyboardInterrupt:
            pass
        finally:
            ctrl_c.stop()
        check()
        if not ctrl_c.came:
            return at
    raise AssertionError("it does not end")


@pytest.fixture(params=["driver", "emulator"])
def device(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("gpu") if request.param == "driver" else Emulator(ordinal=20)


def check_usable(device: Any, stream: Stream) -> None:
    """Nothing is left of what was interrupted."""
    assert device.stream_state.current is None and device.stream_state.uses == 0 and not device.captures
    if isinstance(device, CudaDriver):
        fake: Any = device._calls.api
        assert not fake.captures and not device._capture_ids and set(device._noted) <= set(fake.graphs)
    array = zeros(4, backend=device)
    with Capturing(stream, Graph(device)) as graph:
        array.fill(1)
    assert [node.kind for node in graph.nodes] == ["fill"]
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert array.to_host().tolist() == [1] * 4
    if isinstance(device, CudaDriver):
        assert device._calls.launch is device._calls.native


def test_entering_a_stream_is_interrupted(device: Any) -> None:
    stream = Stream(device)

    def run(ctrl_c: CtrlC) -> None:
        ctrl_c.start()
        with stream:
            ctrl_c.stop()

    assert everywhere(run, lambda: check_usable(device, stream)) > 5


def test_beginning_a_capture_is_interrupted(device: Any) -> None:
    stream = Stream(device)

    def run(ctrl_c: CtrlC) -> None:
        ctrl_c.start()
        with stream.capture():
            ctrl_c.stop()

    assert everywhere(run, lambda: check_usable(device, stream)) > 15


def test_ending_a_capture_is_interrupted(device: Any) -> None:
    stream = Stream(device)

    def run(ctrl_c: CtrlC) -> None:
        with stream.capture():
            ctrl_c.start()

    assert everywhere(run, lambda: check_usable(device, stream), LEAVING) > 10


def test_what_is_captured_is_interrupted(device: Any) -> None:
    stream, other = Stream(device), Stream(device)
    a, b = zeros(4, backend=device), zeros(4, backend=device)

    def run(ctrl_c: CtrlC) -> None:
        with stream.capture():
            try:
                ctrl_c.start()
                b.copy_from(a)
                other.wait(stream)
                stream.wait(other)
                stream.add_callback(print)
            finally:
                ctrl_c.stop()

    assert everywhere(run, lambda: check_usable(device, stream), step=3) > 30


def test_a_fault_of_the_device_ends_a_capture(gpu: CudaDriver, fake_driver: Any) -> None:
    """What another stream did ends the context while a capture goes on: the error says so, and so do later ones."""
    stream, a = Stream(gpu), zeros(4, backend=gpu)
    with pytest.raises(Exception, match="ILLEGAL_ADDRESS|outside of every allocation"), stream.capture():
        fake_driver.codes["cuMemsetD32Async"] = [700]
        a.fill(1)
    assert not gpu.captures and not gpu._noted
    with pytest.raises(Exception, match="cannot be used any more in this process, since"):
        zeros(4, backend=gpu)


@pytest.mark.parametrize("what", ["stream", "event"])
def test_a_kernels_fault_is_raised_at_the_await(gpu: CudaDriver, fake_driver: Any, what: str) -> None:
    stream = Stream(gpu)

    async def run() -> None:
        fake_driver.codes["cuEventQuery"] = [600]
        fake_driver.codes["cuEventSynchronize"] = [700]
        await (stream if what == "stream" else stream.record())

    with pytest.raises(Exception, match="outside of every allocation"):
        asyncio.run(run())
    assert gpu.fault is not None


@pytest.mark.parametrize("is_current", [False, True])
def test_a_launch_is_not_forgotten(gpu: CudaDriver, fake_driver: Any, is_current: bool) -> None:
    """In a stream that is not ordered with the default one, where its arrays are freed."""
    array, stream = zeros(4, backend=gpu), Stream(gpu, blocking=False)
    launcher = Launcher("vadd", (("a", PointerType(F32)),), gpu, function(gpu))
    run = launcher.bind(LaunchConfig(1, 32, stream=None if is_current else stream))
    run(array)

    def launch(ctrl_c: CtrlC) -> None:
        with stream if is_current else nullcontext():
            run(array)
            gpu.join()
            fake_driver.launched.clear()
            ctrl_c.start()
            run(array)
            ctrl_c.stop()

    def check() -> None:
        fake_driver.called()
        gpu.join()
        if fake_driver.launched:
            assert fake_driver.called() == ["cuStreamWaitEvent"]

    assert everywhere(launch, check) > 3


def test_ctrl_c_while_a_stream_is_awaited(gpu: CudaDriver, fake_driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio cancels the task: the wait ends, and the work goes on."""
    ended, stream = threading.Event(), Stream(gpu)
    monkeypatch.setattr(type(fake_driver), "_cuEventSynchronize", lambda self, event: ended.wait(10) and None)
    seen: list[str] = []

    async def run() -> None:
        asyncio.get_running_loop().call_later(0.02, signal.raise_signal, signal.SIGINT)
        fake_driver.codes["cuEventQuery"] = [600]
        try:
            with stream:
                await stream
        finally:
            seen.append("left")

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run())
    assert seen == ["left"] and gpu.stream_state.uses == 0
    ended.set()
    for thread in threading.enumerate():
        if thread.name == "kdsl: awaited":
            thread.join(10)
            assert not thread.is_alive()
    check_usable(gpu, stream)


def test_a_fork_inside_of_a_capture_ends_it_in_the_child(gpu: CudaDriver) -> None:
    stream = Stream(gpu)
    with pytest.raises(Exception, match="CUDA does not survive a fork"), stream.capture():
        gpu._calls.forked = True
    assert not gpu.captures and gpu.stream_state.current is None
