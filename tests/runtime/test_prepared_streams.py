"""Prepared launches with arrays of other libraries: the stream that each launch goes to, and what hooks are told."""

from __future__ import annotations

from typing import Any

import pytest

import kdsl
from kdsl.lang.types import F32, I32, PointerType
from kdsl.runtime.array_making import zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.launch import Launcher
from kdsl.runtime.prepared import prepare
from kdsl.runtime.stream import Stream

from .fake_driver import function
from .test_foreign_arrays import Lent

SCALE = (("x", PointerType(F32)), ("n", I32))


@pytest.fixture
def theirs(gpu: CudaDriver) -> Stream:
    """The stream of another library."""
    return Stream(gpu)


def test_without_a_stream_it_goes_where_a_launch_would(gpu: CudaDriver, fake_driver: Any, theirs: Stream) -> None:
    launcher, x, current, named = (
        Launcher("vadd", SCALE, gpu, function(gpu)),
        zeros(4, backend=gpu),
        Stream(gpu),
        Stream(gpu),
    )
    lent = Lent(data=(x.address, False), stream=theirs.handle)
    run, p = launcher.bind(LaunchConfig(1, 32)), prepare(launcher, LaunchConfig(1, 32), {"x": lent, "n": 3})
    in_named = p.with_config(LaunchConfig(1, 32, stream=named))

    def launch() -> list[int]:
        fake_driver.launched.clear()
        run(lent, 3), p(), in_named()
        return [launched[-1] for launched in fake_driver.launched]

    records: list[kdsl.LaunchRecord] = []
    for _ in range(2):
        assert launch() == [theirs.handle, theirs.handle, named.handle]
        with current:
            assert launch() == [current.handle, current.handle, named.handle]
            with kdsl.launch_hooks(before=records.append):
                launch()
        with kdsl.launch_hooks(before=records.append):
            launch()
    assert [record.stream for record in records] == [
        *(current.handle, current.handle, named.handle), *(theirs.handle, theirs.handle, named.handle)
    ] * 2  # fmt: skip


def test_it_is_captured_and_not_launched_at_once(gpu: CudaDriver, fake_driver: Any, theirs: Stream) -> None:
    launcher, x = Launcher("vadd", SCALE, gpu, function(gpu)), zeros(4, backend=gpu)
    lent = Lent(data=(x.address, False), stream=theirs.handle)
    p = prepare(launcher, LaunchConfig(1, 32), {"x": lent, "n": 3})
    with Stream(gpu).capture() as graph:
        p()
    assert len(graph) == 1 and fake_driver.launched == []
