"""Nothing is kept of a launch: neither memory of the device, nor the process's, nor one object of Python.

A moment's worth by default; with KDSL_STRESS=1 a million launches on a GPU.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable

import numpy as np
import pytest

import kdsl
from kdsl import LaunchConfig, grid, i32, kernel
from tests.stress.measured import add, resident

FULL = os.environ.get("KDSL_STRESS", "") not in ("", "0")
N = 64
OBJECTS = 150
"""Of Python, by which its own caches may differ."""
BYTES = 8 << 20
"""By which the process's memory may differ: what malloc keeps, and no byte a launch."""
ROUND, ROUNDS = 120, 4
pytestmark = pytest.mark.timeout(1200)


@kernel
def open_add(x, by) -> None:
    x[grid(1)] += by


def same_arrays() -> Callable[[int], None]:
    x = kdsl.zeros(N, i32)
    return lambda number: add[1, N](x, number % 7, N)


def new_arrays(number: int) -> None:
    add[1, N](kdsl.zeros(N, i32), number % 7, N)


def arrays_without_types(number: int) -> None:
    open_add[1, N](kdsl.zeros(N, i32), number % 7)


def configurations(number: int) -> None:
    """More than a kernel remembers, the same number in each round."""
    x = kdsl.zeros(N, i32)
    add[1 + number % 60, N](x, 1, N)
    add[LaunchConfig(1 + number % 60, 32)](x, 1, N)


def host_arrays(number: int) -> None:
    add[1, N](np.zeros(N, np.int32), number % 7, N)


def streams_and_events(number: int) -> None:
    stream = kdsl.Stream()
    x = kdsl.zeros(N, i32)
    add[1, N, stream](x, 1, N)
    with stream:
        add[1, N](x, 1, N)
    stream.record().synchronize()


def prepared() -> Callable[[int], None]:
    x = kdsl.zeros(N, i32)
    launch = add.prepare(1, N, x, 1, N)

    def again(number: int) -> None:
        launch()
        launch.with_arguments(by=number % 7)()

    return again


def graphs() -> Callable[[int], None]:
    x = kdsl.zeros(N, i32)
    stream = kdsl.Stream()
    with stream.capture() as graph:
        add[1, N, stream](x, 1, N)
    run = graph.instantiate()
    return lambda _: run.launch(stream)


def refused(number: int) -> None:
    """A launch that is refused, and whose error is forgotten."""
    try:
        add[1, N](kdsl.zeros(N, kdsl.f32), 1, N)
    except TypeError:
        return
    raise AssertionError(f"launch {number} was not refused")


WAYS = {
    "same arrays": (same_arrays, 1.0),
    "new arrays": (lambda: new_arrays, 0.2),
    "arrays without types": (lambda: arrays_without_types, 0.1),
    "configurations": (lambda: configurations, 0.05),
    "host arrays": (lambda: host_arrays, 0.05),
    "streams and events": (lambda: streams_and_events, 0.02),
    "prepared": (prepared, 0.2),
    "graphs": (graphs, 0.2),
    "refused": (lambda: refused, 0.02),
}


@pytest.fixture
def few_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered up to a limit has reached it after a few launches."""
    limits = (
        "emulator.memory.MOST_FREED",
        "runtime.configurations.MOST_CONFIGURATIONS",
        "compiler.MOST_HOT",
        "runtime.launcher.MOST_BOUND",
    )
    for limit in limits:
        monkeypatch.setattr(f"kdsl.{limit}", 20)


def taken() -> tuple[int, int, int]:
    """What Python's objects, the process and arrays take, when all launches have ended."""
    kdsl.synchronize()
    gc.collect()
    return sys.getallocatedblocks(), resident(), kdsl.memory_info().used


@pytest.mark.parametrize("name", WAYS)
def test_nothing_is_kept(name: str, device: str, few_remembered: None) -> None:
    make, part = WAYS[name]
    launches = max(1, int(part * (1000 if FULL else 30))) * ROUND if device == "cuda" else ROUND
    launch = make()
    rounds = []
    for _ in range(2 * ROUNDS):
        for number in range(launches):
            launch(number)
        rounds.append(taken())
    early, late = (map(max, zip(*half, strict=True)) for half in (rounds[:ROUNDS], rounds[ROUNDS:]))
    objects, memory, used = (after - before for before, after in zip(early, late, strict=True))
    assert objects < OBJECTS, f"{objects / ROUNDS / launches:.2f} objects are left of each launch"
    assert memory < BYTES
    assert used <= 0
