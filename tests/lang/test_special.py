"""Clocks, sleep and traps: that time goes on, and that reads of it stay in their place."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl import (
    Array,
    CompileError,
    DeviceError,
    Ptr,
    brkpt,
    clock64,
    f32,
    globaltimer,
    kernel,
    nanosleep,
    thread_idx,
    trap,
    u64,
)
from kdsl.backend import Backend, Launch
from kdsl.emulator import Emulator

from .calls import calls
from .device import evaluate

BY_NAME = {c.intrinsic.name: c for c in calls()}


@pytest.mark.parametrize("name", ["clock", "clock64", "globaltimer"])
def test_clocks_are_read(name: str, backend: Backend) -> None:
    (first,) = evaluate(backend, BY_NAME[name], [], 32)
    assert first.any()


def test_a_block_runs_on_one_multiprocessor(backend: Backend) -> None:
    (found,) = evaluate(backend, BY_NAME["sm_id"], [], 64)
    assert (found == found[0]).all()
    assert 0 <= found[0] < 1024


@kernel
def timed(out: Array[u64, 1], x: Ptr[f32]) -> None:
    out[0] = clock64()
    out[1] = globaltimer()
    nanosleep(1000)
    out[2] = clock64()
    out[3] = globaltimer()


def test_time_goes_on() -> None:
    out = np.zeros(4, np.uint64)
    timed[1, 1](out, np.zeros(1, np.float32))
    assert out[2] > out[0] > 0
    assert out[3] >= out[1] > 0


@kernel
def around_a_load(out: Ptr[u64], x: Ptr[f32]) -> None:
    before = clock64()  # mov.u64 %clock64, then
    y = x[thread_idx.x]  # the load, then
    after = clock64()  # mov.u64 %clock64
    x[thread_idx.x + 1] = y
    out[0] = after - before


def test_accesses_stay_on_their_side_of_the_clock() -> None:
    ptx = around_a_load.compile(target="sm_90").ptx
    words = ("%clock64", "ld.global", "st.global.b32", "st.global.b64")
    order = [word for line in ptx.splitlines() for word in words if word in line]
    assert order == ["%clock64", "ld.global", "%clock64", "st.global.b32", "st.global.b64"]


@kernel
def trapping(x: Ptr[f32]) -> None:
    x[0] = 1.0
    if x[1] > 0.0:
        trap()
    x[2] = 1.0


def test_a_trap_reaches_the_host() -> None:
    # Not on a GPU: the process could launch nothing after it.
    device = Emulator()
    function = device.function(device.load(trapping.compile(target="sm_90").ptx.encode()), "trapping")
    address = device.alloc(12)

    def run(second: float) -> None:
        device.write(address, memoryview(np.array([0, second, 0], np.float32).view(np.uint8)))
        device.launch(function, Launch((1, 1, 1), (1, 1, 1)), address.to_bytes(8, "little"))
        device.synchronize()

    run(-1.0)
    with pytest.raises(DeviceError, match="kernel trapping: trap"):
        run(1.0)


def test_breakpoints_are_in_the_ptx() -> None:
    @kernel
    def stopping(x: Ptr[f32]) -> None:
        x[0] = 1.0
        brkpt()
        x[1] = 1.0

    lines = [line.strip() for line in stopping.compile(target="sm_90").ptx.splitlines()]
    kept = [line.split()[0] for line in lines if line.startswith(("st.global", "brkpt"))]
    assert kept == ["st.global.b32", "brkpt;", "st.global.b32"]


def test_pythons_breakpoint_is_refused_with_the_name_to_use() -> None:
    @kernel
    def stopping(x: Ptr[f32]) -> None:
        breakpoint()

    with pytest.raises(CompileError, match=r"brkpt\(\) of kdsl"):
        stopping.check()
