"""``await`` of streams and events, in asyncio."""

from __future__ import annotations

import asyncio
import threading
import time

import numpy as np
import pytest

import kdsl
from kdsl import Ptr, clock64, i32, kernel, u64
from kdsl.runtime.awaiting import Waiters


@kernel
def wait_and_add(x: Ptr[i32], cycles: u64, value: i32) -> None:
    start = clock64()
    while clock64() - start < cycles:
        pass
    x[0] += value


def cycles(device: str) -> int:
    return 20_000_000 if device == "cuda" else 1


def test_a_stream_and_an_event_are_awaited(device: str) -> None:
    async def run() -> list[int]:
        x = kdsl.zeros(1, np.int32)
        stream = kdsl.Stream()
        wait_and_add[1, 1, stream](x, cycles(device), 1)
        await stream
        assert stream.done
        event = stream.record()
        await event
        wait_and_add[1, 1, stream](x, cycles(device), 1)
        event.record(stream)
        await event
        assert event.done
        await kdsl.Event()  # never recorded: nothing to wait for
        return x.to_host().tolist()

    assert asyncio.run(run()) == [2]


def test_other_tasks_run_while_one_waits(device: str) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def run() -> None:
        x = kdsl.zeros(1, np.int32)
        stream = kdsl.Stream()
        counting = asyncio.create_task(count())
        wait_and_add[1, 1, stream](x, cycles(device), 1)
        await stream
        counting.cancel()

    asyncio.run(run())
    assert turns > (10 if device == "cuda" else 0)


def test_many_awaits_at_once(device: str) -> None:
    async def one(stream: kdsl.Stream, value: int) -> int:
        x = kdsl.zeros(1, np.int32)
        wait_and_add[1, 1, stream](x, 1000 if device == "cuda" else 1, value)
        await stream
        return int(x.to_host()[0])

    async def run() -> list[int]:
        streams = [kdsl.Stream() for _ in range(8)]
        return await asyncio.gather(*(one(streams[i % 8], i) for i in range(200)))

    assert asyncio.run(run()) == list(range(200))
    deadline = time.monotonic() + 5
    while any(thread.name == "kdsl: awaited" for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "the waiting threads do not end"
        time.sleep(0.01)


def test_an_await_is_cancelled(device: str) -> None:
    async def run() -> None:
        x = kdsl.zeros(1, np.int32)
        stream = kdsl.Stream()
        wait_and_add[1, 1, stream](x, cycles(device), 1)

        async def waits() -> None:
            await stream

        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await stream
        assert x.to_host().tolist() == [1]

    asyncio.run(run())


def test_what_a_callback_raises_is_raised_by_await(device: str) -> None:
    def failing() -> None:
        raise KeyError("mine")

    async def run() -> None:
        stream = kdsl.Stream()
        stream.add_callback(failing)
        with pytest.raises(KeyError, match="mine"):
            await stream
        await stream

    asyncio.run(run())


def test_an_await_needs_a_loop(device: str) -> None:
    with pytest.raises(RuntimeError, match="needs a running asyncio loop; elsewhere call synchronize"):
        next(kdsl.Stream().__await__())


class Slow:
    """An event whose work ends when the test says."""

    def __init__(self, stream: int, error: BaseException | None = None) -> None:
        self.backend: kdsl.compiler.Backend = kdsl.current_device()
        self.stream = stream
        self.error = error
        self.ended = threading.Event()

    @property
    def done(self) -> bool:
        return False

    def synchronize(self) -> None:
        assert self.ended.wait(10)
        if self.error is not None:
            raise self.error


def test_each_stream_has_a_thread_while_something_is_awaited() -> None:
    waiters = Waiters()
    told: list[tuple[str, object]] = []
    error = kdsl.DeviceError("broken")
    slow, failing, other = Slow(1), Slow(1, error), Slow(2)
    for name, event in (("slow", slow), ("failing", failing), ("other", other)):
        waiters.add(event, lambda outcome, name=name: told.append((name, outcome)))  # type: ignore[misc]
    assert sum(thread.name == "kdsl: awaited" for thread in threading.enumerate()) == 2
    failing.ended.set()
    other.ended.set()
    until(lambda: told == [("other", None)])
    slow.ended.set()
    until(lambda: told == [("other", None), ("slow", None), ("failing", error)])
    until(lambda: not any(thread.name == "kdsl: awaited" for thread in threading.enumerate()))
    again = Slow(1)
    again.ended.set()
    waiters.add(again, lambda outcome: told.append(("again", outcome)))
    until(lambda: told[-1] == ("again", None))


def until(condition: object) -> None:
    deadline = time.monotonic() + 10
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.001)
