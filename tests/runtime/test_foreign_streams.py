"""Streams of other libraries that several threads launch on, while others make and free arrays: events that are there
when they are recorded, and nothing that is forgotten.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from kdsl.backend import DeviceError
from kdsl.runtime.array_making import zeros
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.foreign_streams import MOST_STREAMS

from .fake_driver import FakeDriver

SIDE, OTHER = 0x7F00_0000_1000, 0x7F00_0000_2000


def during(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object], *, first: bool = True) -> None:
    """Call ``act`` inside of the driver's next call of a function, before or after it does its work."""
    implementation, acts = getattr(FakeDriver, name), [act]

    def call(*arguments: Any) -> Any:
        mine = acts.pop() if acts else None
        if mine is not None and first:
            mine()
        found = implementation(*arguments)
        if mine is not None and not first:
            mine()
        return found

    monkeypatch.setattr(FakeDriver, name, call)


class Beside:
    """Something that another thread does, now or as soon as it may."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.errors: list[BaseException] = []
        self._act = act
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self._act()
        except BaseException as error:
            self.errors.append(error)

    def begin(self) -> None:
        """Return when it has ended, or waits for this thread."""
        self._thread.start()
        self._thread.join(0.3)

    def end(self) -> None:
        self._thread.join(10)
        assert not self._thread.is_alive() and not self.errors


def test_events_are_let_go_of_while_another_thread_launches(gpu: CudaDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu.foreign.after(SIDE)
    others = Beside(lambda: [gpu.foreign.after(OTHER + (n << 12)) for n in range(MOST_STREAMS)])
    during(monkeypatch, "_cuStreamIsCapturing", others.begin)
    gpu.foreign.after(SIDE)
    others.end()


def test_a_join_that_is_not_possible_keeps_the_events(gpu: CudaDriver, fake_driver: Any) -> None:
    for n in range(MOST_STREAMS):
        gpu.foreign.after(OTHER + (n << 12))
    fake_driver.codes["cuStreamWaitEvent"] = [906]  # CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
    gpu.foreign.after(SIDE)
    fake_driver.called()
    gpu.foreign.join()
    assert fake_driver.called() == ["cuStreamWaitEvent"] * (MOST_STREAMS + 1)


def test_two_threads_wait_for_one_fill(gpu: CudaDriver, fake_driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    zeros(4, backend=gpu)
    order: list[str] = []
    second = Beside(lambda: gpu.foreign.before(OTHER))
    during(monkeypatch, "_cuEventQuery", lambda: order.append("query"))
    during(monkeypatch, "_cuEventRecord", lambda: order.append("record"), first=False)
    during(monkeypatch, "_cuEventRecord", second.begin)
    gpu.foreign.before(SIDE)
    second.end()
    assert order == ["record", "query"]


def test_an_allocation_is_noted_once_it_is_made(
    gpu: CudaDriver, fake_driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    zeros(4, backend=gpu)
    during(monkeypatch, "_cuMemAllocFromPoolAsync", lambda: gpu.foreign.before(SIDE))
    gpu.alloc(4)
    fake_driver.called()
    gpu.foreign.before(SIDE)
    assert "cuEventRecord" in fake_driver.called()


def test_what_is_launched_while_another_thread_waits_is_not_forgotten(
    gpu: CudaDriver, fake_driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = gpu.alloc(4)
    gpu.foreign.before(SIDE)

    def launch_and_fill() -> None:
        gpu.foreign.after(SIDE)
        gpu.foreign.filled()

    monkeypatch.setattr(FakeDriver, "_cuCtxSynchronize", lambda self: launch_and_fill(), raising=False)
    gpu.synchronize()
    fake_driver.called()
    gpu.foreign.before(OTHER)
    assert "cuEventRecord" in fake_driver.called()
    gpu.free(address)
    assert fake_driver.called() == ["cuStreamWaitEvent", "cuMemFreeAsync"]


class Taken(deque[Any]):
    """What another thread takes the last of as soon as one has looked."""

    def popleft(self) -> Any:
        self.clear()
        raise IndexError


def test_owners_are_dropped_by_several_threads(gpu: CudaDriver) -> None:
    for look in (gpu.foreign.let_go, lambda: gpu.foreign.keep(object(), SIDE)):
        gpu.foreign._kept = Taken([(1, object())])
        look()


class Owner:
    """What keeps memory alive."""


@pytest.mark.parametrize("function", ["cuStreamWaitEvent", "cuStreamIsCapturing", "cuEventRecord"])
def test_owners_stay_while_the_driver_cannot_be_asked(gpu: CudaDriver, fake_driver: Any, function: str) -> None:
    owner, later = Owner(), Owner()
    alive, other = weakref.ref(owner), weakref.ref(later)
    gpu.foreign.after(SIDE)
    fake_driver.codes[function] = [906]  # CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
    with suppress(DeviceError):  # a finalizer's is shown, and goes no further
        gpu.release([owner])
    del owner
    gpu.foreign.let_go()
    assert alive() is not None
    gpu.release([later])
    del later
    gpu.foreign.let_go()
    assert alive() is None and other() is None
