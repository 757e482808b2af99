"""The launcher on the emulator: PTX written by hand, NumPy and device arrays, and faults that leave the host alone."""

from __future__ import annotations

import gc
import re

import numpy as np
import pytest

from kdsl.backend import MemoryFault
from kdsl.emulator import Emulator
from kdsl.lang.types import F32, I32, PointerType
from kdsl.runtime.array_making import empty, to_device
from kdsl.runtime.launch import LaunchConfig, Launcher

P = PointerType
VADD = b"""
.version 7.8
.target sm_90
.address_size 64
.visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %r<4>; .reg .f32 %f<3>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [c]; ld.param.u32 %r0, [n];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r1, %r1, %r2, %r3;
    setp.ge.s32 %p, %r1, %r0; @%p bra DONE;
    mul.wide.s32 %d3, %r1, 4;
    add.s64 %d0, %d0, %d3; add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;
    ld.global.f32 %f0, [%d0]; ld.global.f32 %f1, [%d1]; add.rn.f32 %f2, %f0, %f1; st.global.f32 [%d2], %f2;
DONE:
    ret;
}
"""


@pytest.fixture
def emulator() -> Emulator:
    return Emulator()


@pytest.fixture
def vadd(emulator: Emulator) -> Launcher:
    parameters = (("a", P(F32)), ("b", P(F32)), ("c", P(F32)), ("n", I32))
    return Launcher("vadd", parameters, emulator, emulator.function(emulator.load(VADD), "vadd"), written={2})


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 10_000])
def test_vadd(emulator: Emulator, vadd: Launcher, n: int) -> None:
    a, b = (np.random.default_rng(seed).random(n, np.float32) for seed in (1, 2))
    c = np.full(n, -1, np.float32)
    run = vadd.bind(LaunchConfig.for_num_elems(n))
    run(a, b, c, n)
    np.testing.assert_array_equal(c, a + b)
    x, y, z = to_device(a, emulator), to_device(b, emulator), empty(n, backend=emulator)
    run(x, y, z, n)
    np.testing.assert_array_equal(z.to_host(), a + b)


def test_one_array_and_overlapping_ones(vadd: Launcher) -> None:
    a = np.arange(64, dtype=np.float32)
    vadd.bind(LaunchConfig(1, 64))(a, a, a, 64)
    np.testing.assert_array_equal(a, np.arange(64) * 2)
    base = np.arange(100, dtype=np.float32)
    vadd.bind(LaunchConfig(1, 64))(base[:40], base[:40], base[60:], 40)
    np.testing.assert_array_equal(base, [*range(60), *range(0, 80, 2)])
    # One warp loads all of its operands before it stores, so what overlaps by 8 is read before it is written.
    base = np.arange(40, dtype=np.float32)
    vadd.bind(LaunchConfig(1, 32))(base[:32], base[:32], base[8:], 32)
    np.testing.assert_array_equal(base, [*range(8), *range(0, 64, 2)])


def test_reading_past_an_array(emulator: Emulator, vadd: Launcher) -> None:
    a, c = np.ones(100, np.float32), np.zeros(128, np.float32)
    with pytest.raises(MemoryFault, match=re.escape("vadd")) as caught:
        vadd.bind(LaunchConfig(1, 128))(a, a, c, 128)
    assert caught.value.kernel == "vadd" and caught.value.thread == (100, 0, 0)
    assert not c.any()
    vadd.bind(LaunchConfig(1, 128))(a, a, c, 100)
    assert c[:100].all() and not c[100:].any()


def test_all_memory_comes_back(emulator: Emulator, vadd: Launcher) -> None:
    def once() -> None:
        a = to_device(np.ones(10, np.float32), emulator)
        vadd.bind(LaunchConfig(1, 32))(a, np.ones(10, np.float32), a.reshape(2, 5), 10)
        np.testing.assert_array_equal(a.to_host(), np.full(10, 2))

    gc.disable()
    try:
        freed: list[int] = []
        free = emulator.free
        emulator.free = lambda address: (freed.append(address), free(address))[1]  # type: ignore[method-assign]
        once()
    finally:
        gc.enable()
    assert len(freed) == 2  # without the garbage collector: by reference counts alone
