"""Launches, compilations and frees from many threads at once."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import kdsl
import kdsl.specialization
from kdsl import Device, Ptr, atomic, i32, kernel


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What ``work`` gives, or raises, in ``count`` threads that begin together."""
    results: list[Any] = [None] * count
    ready = threading.Barrier(count)

    def run(index: int) -> None:
        ready.wait()
        try:
            results[index] = work(index)
        except BaseException as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a thread hangs"
    return results


@pytest.fixture
def often() -> Any:
    """Threads take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@kernel
def count(total: Ptr[i32], by: i32) -> None:
    atomic.add(total, 0, by)


def test_many_threads_ask_and_one_compiles(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []
    run = kdsl.specialization.compile_cached
    monkeypatch.setattr(kdsl.specialization, "compile_cached", lambda *a: runs.append(a) or time.sleep(0.05) or run(*a))

    @kernel
    def fresh(out: Ptr[i32], n: i32) -> None:
        out[n] = n

    out = kdsl.zeros(8, i32)
    assert at_once(8, lambda index: fresh[1, 1](out, index)) == [None] * 8
    assert out.to_host().tolist() == list(range(8))
    assert len(runs) == 1


def test_kernels_compile_beside_each_other(device: str, often: None) -> None:
    def work(index: int) -> int:
        @kernel
        def mine(out: Ptr[i32]) -> None:
            for k in range(8):
                out[k] = k * index + (out[k] >> 3)

        out = kdsl.zeros(8, i32)
        mine[1, 1](out)
        return out.to_host().tolist()

    assert at_once(6, work) == [[k * index for k in range(8)] for index in range(6)]


def test_every_thread_that_asks_meets_the_error(device: str) -> None:
    @kernel
    def wrong(out: Ptr[i32]) -> None:
        out[0] = missing  # noqa: F821

    out = kdsl.zeros(1, i32)
    errors = at_once(6, lambda index: wrong[1, 1](out))
    assert [type(error) for error in errors] == [kdsl.CompileError] * 6
    assert len({str(error) for error in errors}) == 1


def test_an_interrupt_during_a_compilation_leaves_nothing_broken(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from kdsl.codegen import nvptx

    monkeypatch.setenv("KDSL_CACHE", "0")

    @kernel
    def fresh(out: Ptr[i32]) -> None:
        out[0] = 5

    for place in ("_parse", "settle"):  # in the optimizer, and after the code generator

        def interrupted(*_: Any) -> Any:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(nvptx, place, interrupted)
            out = kdsl.zeros(1, i32)
            with pytest.raises(KeyboardInterrupt):
                fresh[1, 1](out)
        assert gc.isenabled()
    assert at_once(2, lambda index: fresh[1, 1](out)) == [None] * 2
    assert out.to_host()[0] == 5


def test_atomics_of_all_threads_count(device: str, often: None) -> None:
    total = kdsl.zeros(1, i32)
    assert at_once(8, lambda index: [count[2, 32](total, 1) for _ in range(10)] and None) == [None] * 8
    kdsl.synchronize()
    assert total.to_host()[0] == 8 * 10 * 64


def test_each_thread_has_its_own_device_and_stream(often: None) -> None:
    def work(index: int) -> int:
        with Device(f"emulator:{index % 4}"):
            total = kdsl.zeros(1, i32)
            stream = kdsl.Stream()
            for _ in range(20):
                count[1, 1, stream](total, index)
            stream.synchronize()
            assert total.device.ordinal == index % 4
            return int(total.to_host()[0])

    assert at_once(8, work) == [20 * index for index in range(8)]


def test_setting_the_device_while_others_launch(often: None) -> None:
    done = threading.Event()

    def work(index: int) -> int:
        if index == 0:
            for number in range(300):
                kdsl.set_device(f"emulator:{number % 2}")
            done.set()
            return 0
        launches = 0
        total = kdsl.zeros(1, i32)
        host = np.zeros(1, np.int32)
        while not done.is_set() or not launches:
            count[1, 1](total, 1)
            count[1, 1](host, 1)  # on whichever device is current
            launches += 1
        assert total.to_host()[0] == host[0] == launches
        return 0

    assert at_once(4, work) == [0] * 4


def test_arrays_are_freed_by_other_threads(device: str, often: None) -> None:
    from collections import deque

    handed: deque[Any] = deque()
    done = threading.Event()

    def free() -> int:
        while not done.is_set() or handed:
            try:
                handed.popleft()
            except IndexError:
                time.sleep(0)
        return 0

    def work(index: int) -> int:
        if index == 0:
            return free()
        total = 0
        for k in range(50):
            array = kdsl.zeros(1, i32)
            count[1, 1](array, k)
            total += int(array.to_host()[0])
            count[1, 1](array, 1)
            handed.append(array)
            del array
        if index == 1:
            time.sleep(0.1)
            done.set()
        return total

    assert at_once(5, work) == [0] + [sum(range(50))] * 4


def test_memory_freed_during_a_launch_is_given_back_after_it() -> None:
    emulator = kdsl.current_device().backend
    array = kdsl.zeros(1, i32)
    address = array.address
    alive: list[bool] = []

    @kernel
    def slow(out: Ptr[i32]) -> None:
        print("in the middle")
        out[0] = 1

    class Output:
        def write(self, text: str) -> None:
            def free() -> None:
                nonlocal array
                array = None

            thread = threading.Thread(target=free)
            thread.start()
            thread.join()
            alive.append((address >> 40) in emulator.memory.allocations)

    out = kdsl.zeros(1, i32)
    slow[1, 1](out)
    before, emulator.stdout = emulator.stdout, Output()
    try:
        slow[1, 1](out)
    finally:
        emulator.stdout = before
    assert alive == [True]
    assert (address >> 40) not in emulator.memory.allocations


def test_garbage_is_collected_anywhere(often: None) -> None:
    """Finalizers run inside of allocations, launches and compilations."""
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:

        def work(index: int) -> int:
            for _ in range(30):
                array = kdsl.zeros(1, i32)
                cycle: list[Any] = [array]
                cycle.append(cycle)
                count[1, 1](array, index)
                assert array.to_host()[0] == index
            return 0

        assert at_once(3, work) == [0] * 3
    finally:
        gc.set_threshold(*before)
    gc.collect()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_emulator_goes_on_after_a_fork_in_the_middle() -> None:
    """Another thread holds every lock while the process forks; the child has the locks, but not the thread."""
    total = kdsl.zeros(1, i32)
    count[1, 1](total, 1)
    inside, leave = threading.Event(), threading.Event()

    @kernel
    def slow(out: Ptr[i32]) -> None:
        print("waiting")

    class Output:
        def write(self, text: str) -> None:
            inside.set()
            leave.wait(60)

    emulator: Any = kdsl.current_device().backend
    before, emulator.stdout = emulator.stdout, Output()

    def hold() -> None:
        with count._lock, kdsl.codegen.nvptx._LOCK, emulator.memory._lock:
            slow[1, 1](total)

    kernel_thread = threading.Thread(target=lambda: (slow.compile(), hold()))
    kernel_thread.start()
    assert inside.wait(60)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            emulator.stdout = before

            @kernel
            def fresh(out: Ptr[i32]) -> None:
                out[0] = 7

            here = kdsl.zeros(1, i32)
            fresh[1, 1](here)
            count[1, 1](here, 3)
            code = 0 if here.to_host()[0] == 10 else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    status = None
    while status is None and time.monotonic() < deadline:
        found, status_now = os.waitpid(child, os.WNOHANG)
        status = status_now if found else None
        time.sleep(0.02)
    leave.set()
    kernel_thread.join()
    emulator.stdout = before
    if status is None:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert status == 0, "the child hangs" if status is None else "the child failed"


def test_the_emulator_runs_one_launch_at_a_time() -> None:
    """An atomic takes several calls of NumPy, between which another launch would come."""
    emulator: Any = kdsl.current_device().backend
    inside, leave, order = threading.Event(), threading.Event(), []

    @kernel
    def slow(out: Ptr[i32]) -> None:
        print("in the middle")
        out[0] = 1

    class Output:
        def write(self, text: str) -> None:
            inside.set()
            leave.wait(60)
            order.append("slow")

    out = kdsl.zeros(1, i32)
    total = kdsl.zeros(1, i32)
    count[1, 1](total, 0)
    before, emulator.stdout = emulator.stdout, Output()
    try:
        first = threading.Thread(target=lambda: slow[1, 1](out))
        first.start()
        assert inside.wait(60)
        works: list[Callable[[], Any]] = [
            lambda: count[1, 1](total, 1),
            lambda: total.to_host(),
            lambda: total.fill(0),
            lambda: total.copy_from(out),
            lambda: total.copy_from(np.zeros(1, np.int32)),
        ]
        others = [threading.Thread(target=lambda w=work: (w(), order.append("other"))) for work in works]
        for thread in others:
            thread.start()
        time.sleep(0.1)
        assert order == []
    finally:
        leave.set()
        emulator.stdout = before
    for thread in (first, *others):
        thread.join()
    assert order == ["slow"] + ["other"] * len(others)


def test_the_emulator_s_memory_is_one_for_all_threads(often: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from kdsl.emulator import memory

    monkeypatch.setattr(memory, "MOST_FREED", 2)
    shared = memory.GlobalMemory()

    def work(index: int) -> int:
        for _ in range(1500):
            one, two = shared.allocate(8, "one"), shared.allocate_constant(8, "two")
            assert shared.allocations[one.address >> memory.WINDOW_BITS] is one
            assert shared.allocations[two.address >> memory.WINDOW_BITS] is two
            shared.free(two.address)
            shared.free(one.address)
        return 0

    assert at_once(6, work) == [0] * 6
    assert not shared.allocations and len(shared.freed) == 2
    assert next(shared._windows) < 200  # windows of long ago are used again


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_leaves_no_lock_held(on_the_emulator: None) -> None:
    """Python looks for signals where a function begins: the tracer raises there, once in each."""
    x = kdsl.zeros(64, np.int32)
    begun: set[object] = set()

    def interrupt(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code not in begun:
            begun.add(frame.f_code)
            raise KeyboardInterrupt

    def uses() -> None:
        count[1, 64](x, 1)
        x.to_host()
        kdsl.zeros(3).to("emulator:1").to("emulator:0")

    uses()
    interrupted = True
    while interrupted:
        sys.settrace(interrupt)
        try:
            uses()
            interrupted = False
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
    assert len(begun) > 50
    thread = threading.Thread(target=uses, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()


def test_memory_that_is_freed_as_a_kernel_ends_is_given_back(on_the_emulator: None) -> None:
    emulator: Any = kdsl.current_device().backend
    x = kdsl.zeros(64, np.int32)

    class Ends(deque[int]):
        def append(self, address: int) -> None:
            emulator._runs_in = None
            super().append(address)

    before, emulator._unfreed, emulator._runs_in = emulator.memory.used, Ends(), -1
    del x
    assert emulator.memory.used == before - 256 and not emulator._unfreed
