"""Many threads for a long time: right results, and memory that does not grow.

A moment's worth by default; with KDSL_STRESS=1 as long as it takes: 16 threads of 10,000 launches.
"""

from __future__ import annotations

import gc
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Device, Ptr, atomic, grid, i32, kernel
from tests.stress.measured import add, resident

FULL = os.environ.get("KDSL_STRESS", "") not in ("", "0")
THREADS = 16 if FULL else 8
LAUNCHES = 10_000 if FULL else 120
N = 64
COMPILE_EVERY = LAUNCHES // 4
pytestmark = pytest.mark.timeout(3600 if FULL else 300)


@kernel
def count(total: Ptr[i32], x) -> None:
    atomic.add(total, 0, x[grid(1)])


def in_threads(work: Callable[[int], None], number: int = THREADS) -> None:
    """Run ``work`` in threads that begin together; the first error of any of them is raised."""
    errors: list[BaseException] = []
    ready = threading.Barrier(number)

    def run(index: int) -> None:
        ready.wait()
        try:
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3000 if FULL else 200)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def fresh(factor: int) -> Any:
    """A kernel that no thread has compiled yet."""

    @kernel
    def multiply(x: Ptr[i32], n: i32) -> None:
        i = grid(1)
        if i < n:
            x[i] *= factor

    return multiply


def launch_and_check(index: int, total: kdsl.DeviceArray, launches: int) -> None:
    """Launches, in a stream of the thread's own, with compilations, allocations and frees between them."""
    stream = kdsl.Stream()
    x = kdsl.zeros(N, i32)
    expected = 0
    for number in range(launches):
        if number % COMPILE_EVERY == COMPILE_EVERY // 2:
            fresh(index + 2)[1, N, stream](x, N)
            expected = (expected * (index + 2) + 2**31) % 2**32 - 2**31
        add[1, N, stream](x, index + 1, N)
        expected = (expected + index + 1 + 2**31) % 2**32 - 2**31
        if number % 10 == 9:
            # In the default stream, after what is in this one; the old array is freed while that may be in flight.
            count[1, 1](total, x)
            copy = kdsl.to_device(x)
            x, old = copy, x
            del old
        if number % 40 == 39:
            stream.synchronize()
            assert (x.to_host() == expected).all(), f"thread {index}, launch {number}"
    assert (x.to_host() == expected).all()


def test_launches_with_compilations_and_frees(device: str) -> None:
    total = kdsl.zeros(1, i32)
    in_threads(lambda index: launch_and_check(index, total, LAUNCHES // 10), 2)
    gc.collect()
    kdsl.synchronize()
    used, memory = kdsl.memory_info().used, resident()
    in_threads(lambda index: launch_and_check(index, total, LAUNCHES))
    gc.collect()
    kdsl.synchronize()
    assert kdsl.memory_info().used == used
    # What 160,000 launches may leave: compiled kernels and the threads' own memory, and no more with more launches.
    assert resident() - memory < 192 << 20


def test_arrays_freed_by_others_and_devices_that_change(device: str) -> None:
    """Each thread has a device of its own in a block, another one changes the default, another one frees."""
    devices = kdsl.devices() if device == "cuda" else [Device("emulator:0"), Device("emulator:1")]
    freed: deque[Any] = deque()
    done = threading.Event()
    launches = LAUNCHES // 4
    running = threading.Semaphore(0)

    def free() -> None:
        while not done.is_set() or freed:
            try:
                freed.popleft()
            except IndexError:
                done.wait(0.001)

    def change() -> None:
        number = 0
        while not done.is_set():
            kdsl.set_device(devices[number % len(devices)])
            number += 1
            done.wait(0.001)

    def work(index: int) -> None:
        if index == 0:
            free()
        elif index == 1:
            change()
        else:
            try:
                launch(index)
            finally:
                running.release()
                if index == 2:
                    for _ in range(THREADS - 2):
                        running.acquire()
                    done.set()

    def launch(index: int) -> None:
        mine = devices[index % len(devices)]
        with mine:
            host = np.zeros(N, np.int32)
            for number in range(launches):
                x = kdsl.zeros(N, i32)
                add[1, N](x, number, N)
                if number % 20 == 0:
                    assert x.device == mine and (x.to_host() == number).all()
                    add[1, N](host, 1, N)
                freed.append(x)
        assert (host == len(range(0, launches, 20))).all()

    in_threads(work)
    assert not freed
