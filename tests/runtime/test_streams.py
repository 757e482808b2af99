"""Streams on the current device: the current one, priorities, foreign handles, callbacks."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import kdsl
from kdsl import DeviceError, LaunchConfigError, Ptr, grid, i32, kernel


@kernel
def add(x: Ptr[i32], value: i32) -> None:
    i = grid(1)
    if i < 64:
        x[i] += value


@kernel
def spin(x: Ptr[i32], turns: i32) -> None:
    value = x[0]
    for i in range(turns):
        value = value * 1664525 + i
    x[0] = value


def test_priorities_are_clamped_to_what_the_device_has(device: str) -> None:
    assert kdsl.Stream().priority == 0
    assert kdsl.Stream(-1).priority == -1
    assert kdsl.Stream(priority=-100).priority == kdsl.Stream(priority=-101).priority < 0
    assert kdsl.Stream(priority=7).priority == 0
    with pytest.raises(TypeError, match="priority is an int, such as -1, got 'high'"):
        kdsl.Stream(priority="high")  # type: ignore[arg-type]


@pytest.mark.parametrize("blocking", [True, False])
def test_work_in_a_stream_is_ordered_with_fills_and_frees(device: str, blocking: bool) -> None:
    stream = kdsl.Stream(blocking=blocking)
    assert stream.blocking is blocking
    for round in range(20):
        x = kdsl.zeros(64, np.int32)
        x.fill(round)
        add[1, 64, stream](x, 1)
        add[1, 64, stream](x, 2)
        np.testing.assert_array_equal(x.to_host(), np.full(64, round + 3))
        add[1, 64, stream](x, 2)
        del x
    stream.synchronize()
    assert stream.done and stream.query()


def test_launches_without_a_stream_go_to_the_current_one(device: str) -> None:
    x = kdsl.zeros(64, np.int32)
    outer, inner = kdsl.Stream(blocking=False), kdsl.Stream()
    bound = add[1, 64]
    bound(x, 1)
    assert kdsl.current_stream() is kdsl.legacy_stream and isinstance(kdsl.legacy_stream, kdsl.Stream)
    with outer as entered:
        assert kdsl.current_stream() is outer is entered
        bound(x, 1)
        with inner:
            assert kdsl.current_stream() is inner
            inner.wait(outer)
            add[1, 64](x, 1)
        assert kdsl.current_stream() is outer
        inner.synchronize()
        add[1, 64, kdsl.legacy_stream](x, 1)
        kdsl.legacy_stream.synchronize()
        add[1, 64, kdsl.per_thread_stream](x, 1)
    assert kdsl.current_stream() is kdsl.legacy_stream
    np.testing.assert_array_equal(x.to_host(), np.full(64, 5))


def test_the_current_stream_is_each_threads_and_each_tasks_own(device: str) -> None:
    seen = {}
    stream, other = kdsl.Stream(), kdsl.Stream()

    async def task(name: str, own: kdsl.Stream) -> None:
        with own:
            await asyncio.sleep(0.001)
            seen[name] = kdsl.current_stream()
            await asyncio.sleep(0.001)

    async def tasks() -> None:
        await asyncio.gather(task("first", stream), task("second", other))
        seen["after"] = kdsl.current_stream()

    with stream:
        thread = threading.Thread(target=lambda: seen.update(thread=kdsl.current_stream()))
        thread.start()
        thread.join()
    asyncio.run(tasks())
    assert seen == {
        "thread": kdsl.legacy_stream,
        "first": stream,
        "second": other,
        "after": kdsl.legacy_stream,
    }


def test_with_blocks_of_streams_nest(device: str) -> None:
    first, second = kdsl.Stream(), kdsl.Stream()
    first.__enter__()
    second.__enter__()
    with pytest.raises(RuntimeError, match="is not the current stream"):
        first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)


def test_streams_and_events_wait_for_each_other(device: str) -> None:
    x = kdsl.to_device(np.ones(64, np.int32))
    first, second = kdsl.Stream(blocking=False), kdsl.Stream(blocking=False)
    add[1, 64, first](x, 1)
    second.wait(first)
    add[1, 64, second](x, 10)
    event = second.record(kdsl.Event(timing=False))
    assert event.stream == second.handle
    first.wait(event)
    add[1, 64, first](x, 100)
    first.synchronize()
    assert event.done
    np.testing.assert_array_equal(x.to_host(), np.full(64, 112))
    with pytest.raises(TypeError, match="record takes an Event or nothing, got 3"):
        first.record(3)  # type: ignore[arg-type]


def test_a_stream_is_used_by_its_handle_and_kept_by_its_owner(device: str) -> None:
    if device == "emulator":
        with pytest.raises(LaunchConfigError, match="is a CUDA stream; the emulator runs kernels only in its own"):
            kdsl.Stream.from_handle(0x7F0000001000)
        return
    owner = kdsl.Stream(-1, blocking=False)

    class Foreign:
        def __cuda_stream__(self) -> tuple[int, int]:
            return owner.__cuda_stream__()

    foreign = Foreign()
    stream = kdsl.Stream.from_handle(foreign)
    assert (stream.handle, stream.priority, stream.blocking) == (owner.handle, -1, False)
    x = kdsl.zeros(64, np.int32)
    add[1, 64, stream](x, 1)
    add[1, 64, owner.handle](x, 1)
    del stream, foreign
    gc.collect()
    owner.synchronize()
    np.testing.assert_array_equal(x.to_host(), np.full(64, 2))


def test_a_callback_comes_between_the_work_before_and_after_it(device: str) -> None:
    x = kdsl.zeros(64, np.int32)
    stream = kdsl.Stream()
    seen: list[object] = []
    for round in range(10):
        spin[1, 1, stream](x, 10000 if device == "cuda" else 10)
        stream.add_callback(seen.append, round)
    stream.add_callback(lambda: seen.append(threading.get_ident()))
    stream.synchronize()
    *rounds, thread = seen
    assert rounds == list(range(10))
    assert (thread == threading.get_ident()) == (device == "emulator")
    with pytest.raises(TypeError, match="a callback is a function, got None"):
        stream.add_callback(None)  # type: ignore[arg-type]


WAITS: list[Callable[[kdsl.Stream], object]] = [
    lambda stream: stream.synchronize(),
    lambda stream: kdsl.synchronize(),
    lambda stream: kdsl.zeros(3).to_host(),
]


@pytest.mark.parametrize("wait", WAITS, ids=["stream", "device", "read"])
def test_what_a_callback_raises_is_raised_by_what_waits(device: str, wait: Callable[[kdsl.Stream], object]) -> None:
    stream, other = kdsl.Stream(), kdsl.Stream()

    def failing(text: str) -> None:
        raise KeyError(text)

    stream.add_callback(failing, "one")
    other.synchronize()
    with pytest.raises(KeyError, match="one"):
        wait(stream)
    stream.synchronize()
    stream.add_callback(failing, "one")
    stream.add_callback(failing, "two")
    with pytest.raises(BaseExceptionGroup) as caught:
        wait(stream)
    assert [error.args for error in caught.value.exceptions] == [("one",), ("two",)]


def test_a_callback_does_not_use_the_device(device: str) -> None:
    x = kdsl.zeros(64, np.int32)
    add[1, 64](x, 0)
    stream = kdsl.Stream()
    for use in (lambda: kdsl.zeros(3), kdsl.synchronize, lambda: x.to_host(), lambda: kdsl.Stream()):
        stream.add_callback(use)
        with pytest.raises(DeviceError, match="a callback of a stream must not use the device"):
            stream.synchronize()


def test_memory_is_freed_after_a_callback_that_dropped_it(device: str) -> None:
    held = [kdsl.zeros(1000), kdsl.Stream(), kdsl.Event()]
    stream = kdsl.Stream()
    stream.add_callback(held.clear)
    stream.synchronize()
    assert not held
    kdsl.zeros(1000)


def test_waiting_lets_callbacks_take_the_interpreter(device: str) -> None:
    # Whoever waits with the GIL held would wait for ever: the callback needs it.
    x = kdsl.zeros(64, np.int32)
    stream = kdsl.Stream()
    seen = []
    waits: list[Callable[[], object]] = [
        stream.synchronize,
        kdsl.synchronize,
        x.to_host,
        lambda: x.copy_from(np.zeros(64, np.int32)),
        lambda: stream.record().synchronize(),
        lambda: stream.record().elapsed_ms(stream.record()),
    ]
    for wait in waits:
        spin[1, 1, stream](x, 100000 if device == "cuda" else 10)
        stream.add_callback(seen.append, wait)
        wait()
    stream.synchronize()
    assert seen == waits


def test_a_stream_that_is_dropped_finishes_its_work(device: str) -> None:
    # Of an array each, because streams are not ordered among themselves.
    arrays = [kdsl.zeros(64, np.int32) for _ in range(50)]
    for x in arrays:
        add.__class__.__getitem__(add, (1, 64, kdsl.Stream()))(x, 1)
    gc.collect()
    for x in arrays:
        np.testing.assert_array_equal(x.to_host(), np.ones(64))


def test_current_streams_of_many_threads(device: str) -> None:
    x = kdsl.zeros(64, np.int32)
    bound = add[1, 64]
    bound(x, 0)
    failures: list[object] = []

    def work() -> None:
        streams = [kdsl.Stream() for _ in range(2)]
        for turn in range(50 if device == "emulator" else 500):
            with streams[turn % 2] as stream:
                bound(x, 1)
                if kdsl.current_stream() is not stream:
                    failures.append(turn)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kdsl.synchronize()
    assert not failures and kdsl.current_device().backend.stream_state.uses == 0  # type: ignore[attr-defined]


AT_EXIT = """
import kdsl

@kdsl.kernel
def spin(x: kdsl.Ptr[kdsl.i32], turns: kdsl.i32) -> None:
    value = x[0]
    for i in range(turns):
        value = value * 1664525 + i
    x[0] = value

kdsl.set_device({device!r})
stream = kdsl.Stream()
x = kdsl.zeros(1, kdsl.i32)
spin[1, 1, stream](x, {turns})
stream.add_callback(print, "called")
stream.add_callback({{}}.__getitem__, "a key that there is not")
"""


def test_callbacks_end_before_the_process_does(device: str, tmp_path: Path) -> None:
    turns = 100_000_000 if device == "cuda" else 10
    file = tmp_path / "program.py"
    file.write_text(AT_EXIT.format(device=device, turns=turns))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "called\n" and done.returncode == 0
    assert "KeyError: 'a key that there is not'" in done.stderr
