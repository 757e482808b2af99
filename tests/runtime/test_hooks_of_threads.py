"""launch_hooks of several threads: blocks that begin and end at once, and beside what else looks at launches."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import LaunchConfig, LaunchRecord, Ptr, f32, grid, i32, kernel
from kdsl.lang.types import F32, I32, PointerType
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.hooks import HOOKS
from kdsl.runtime.launch import Launcher


@kernel
def scale(x: Ptr[f32], n: i32) -> None:
    i = grid(1)
    if i < n:
        x[i] = x[i] * 2.0


def test_blocks_of_many_threads_end_without_loss() -> None:
    failures: list[BaseException] = []

    def enter_and_leave() -> None:
        try:
            for _ in range(1000):
                with kdsl.launch_hooks(before=lambda _: None):
                    pass
        except BaseException as error:
            failures.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=enter_and_leave) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failures == [] and HOOKS.hooks == ()


class Equal:
    """A hook that equals any other."""

    def __init__(self, seen: list[str], name: str) -> None:
        self.seen, self.name = seen, name

    def __call__(self, _: LaunchRecord) -> None:
        self.seen.append(self.name)

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def test_a_block_takes_its_own_hooks_away_and_not_equal_ones() -> None:
    x = kdsl.zeros(4, f32)
    seen: list[str] = []
    with kdsl.launch_hooks(before=Equal(seen, "outer")):
        with kdsl.launch_hooks(before=Equal(seen, "inner")):
            pass
        scale[1, 32](x, 4)
    assert seen == ["outer"]


def test_a_hook_that_comes_while_a_launch_is_being_made(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Launcher("scale", (("x", PointerType(F32)), ("n", I32)), backend, None).bind(LaunchConfig(1, 32))
    seen: list[str] = []
    before, after = lambda _: seen.append("before"), lambda _: seen.append("after")
    write = backend.write
    with ExitStack() as block:

        def write_and_hook(address: int, source: memoryview) -> None:
            write(address, source)
            if not HOOKS.hooks:  # as if by another thread
                block.enter_context(kdsl.launch_hooks(before=before, after=after))

        monkeypatch.setattr(backend, "write", write_and_hook)
        run(np.ones(4, np.float32), 4)
    assert seen == ["before", "after"]
    assert len(backend.launches) == 1 and not backend.memory


def test_hooks_and_what_else_looks_at_launches_may_come_at_once(gpu: CudaDriver) -> None:
    calls, started = gpu._calls, []

    def watcher(*_: Any) -> int:
        return 0

    def inside(launch: Any) -> Any:
        if not started:
            started.append(threading.Thread(target=calls.watch, args=(watcher,)))
            started[0].start()
            started[0].join(0.2)
        return launch

    calls.launch_inside(inside)
    started[0].join()
    assert calls.launch is watcher
