"""Atomics on the emulator: old values and final values of colliding lanes, against one lane after the other in Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.emulator.engine import LINEAR, Machine, Run, element, emulate, kernel

M32, M64 = 2**32, 2**64


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


Step = Callable[[int, int, int], int]
CASES: dict[str, Step] = {
    "add.u32": lambda old, b, c: (old + b) % M32,
    "add.s32": lambda old, b, c: (old + b) % M32,
    "add.u64": lambda old, b, c: (old + b) % M64,
    "and.b32": lambda old, b, c: old & b,
    "or.b32": lambda old, b, c: old | b,
    "xor.b32": lambda old, b, c: old ^ b,
    "and.b64": lambda old, b, c: old & b,
    "min.u32": lambda old, b, c: min(old, b),
    "max.u32": lambda old, b, c: max(old, b),
    "min.s32": lambda old, b, c: old if signed(old, 32) <= signed(b, 32) else b,
    "max.s64": lambda old, b, c: old if signed(old, 64) >= signed(b, 64) else b,
    "max.u64": lambda old, b, c: max(old, b),
    "exch.b32": lambda old, b, c: b,
    "exch.b64": lambda old, b, c: b,
    "inc.u32": lambda old, b, c: 0 if old >= b else old + 1,
    "dec.u32": lambda old, b, c: b if old == 0 or old > b else old - 1,
    "cas.b32": lambda old, b, c: c if old == b else old,
    "cas.b64": lambda old, b, c: c if old == b else old,
}


def one_by_one(step: Step, memory: np.ndarray[Any, Any], where: list[int], b: list[int], c: list[int]) -> list[int]:
    olds = []
    for i, place in enumerate(where):
        old = int(memory[place])
        olds.append(old)
        memory[place] = step(old, b[i], c[i])
    return olds


@pytest.mark.parametrize("space", ["global", "shared", "generic"])
@pytest.mark.parametrize("places", [1, 3, 40, 1000])
@pytest.mark.parametrize("operation", sorted(CASES))
def test_each_operation(operation: str, places: int, space: str) -> None:
    """Lanes of one block hit ``places`` elements; small values make limits and comparisons meet."""
    kind = operation.split(".")[1]
    size = int(kind[1:]) // 8
    dtype = np.dtype(f"u{size}")
    reg = "%rd" if size == 8 else "%r"
    n = 500
    rng = np.random.default_rng(places)
    where = rng.integers(0, places, n).astype(np.int32)
    small = operation[:3] in {"inc", "dec", "cas"}
    b, c = (rng.integers(0, 6 if small else 2**63, n).astype(dtype) for _ in range(2))
    initial = rng.integers(0, 6 if small else 2**62, places).astype(dtype)
    body = LINEAR + element("%rd1", "w") + "ld.global.u32 %r10, [%rd1];"
    body += element("%rd2", "b", size=size) + f"ld.global.u{8 * size} {reg}20, [%rd2];"
    body += element("%rd3", "c", size=size) + f"ld.global.u{8 * size} {reg}21, [%rd3];"
    body += element("%rd4", "m", "%r10", size) + element("%rd5", "out", size=size)
    word = {"global": "global.", "shared": "shared.", "generic": ""}[space]
    if space == "shared":
        body += f"mov.u32 %r11, tile; mad.lo.u32 %r12, %r10, {size}, %r11; mov.b64 %rd6, %rd4; cvt.u64.u32 %rd4, %r12;"
        body += f"setp.ge.u32 %p1, %r1, {places}; @%p1 bra $S;"
        body += element("%rd7", "m", "%r1", size) + f"ld.global.u{8 * size} {reg}22, [%rd7];"
        body += f"mad.lo.u32 %r13, %r1, {size}, %r11; st.shared.u{8 * size} [%r13], {reg}22; $S: bar.sync 0;"
    last = f", {reg}21" if operation.startswith("cas") else ""
    body += f"atom.relaxed.gpu.{word}{operation} {reg}23, [%rd4], {reg}20{last}; st.global.u{8 * size} [%rd5], {reg}23;"
    if space == "shared":
        body += f"bar.sync 0; ld.shared.u{8 * size} {reg}24, [%rd4]; st.global.u{8 * size} [%rd6], {reg}24;"
    ptx = kernel(
        "u64 m, u64 w, u64 b, u64 c, u64 out", body + "ret;", module=f".shared .align 8 .b8 tile[{places * size}];"
    )
    if space == "shared" and places > n:
        initial[n:] = 0
        where = (where % n).astype(np.int32)
    expected = initial.copy()
    olds = one_by_one(CASES[operation], expected, where.tolist(), b.tolist(), c.tolist())
    memory, *_, out = emulate(ptx, 1, n, initial, where, b, c, np.zeros(n, dtype))
    assert out.tolist() == olds
    assert memory.tolist() == expected.tolist()


FLOATS: dict[str, Any] = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("places", [1, 5, 300])
@pytest.mark.parametrize("kind", sorted(FLOATS))
def test_each_float_sum_is_rounded(kind: str, places: int) -> None:
    dtype = FLOATS[kind]
    size = np.dtype(dtype).itemsize
    reg = {8: "%rd", 4: "%r", 2: "%rs"}[size]
    rng = np.random.default_rng(places)
    n = 400
    values = (rng.random(n) * 10.0 ** rng.integers(-3, 4, n)).astype(dtype)
    where = rng.integers(0, places, n).astype(np.int32)
    noftz = ".noftz" if size == 2 else ""
    body = LINEAR + element("%rd1", "w") + "ld.global.u32 %r10, [%rd1];"
    body += (
        element("%rd2", "v", size=size) + f"ld.global.b{8 * size} {reg}20, [%rd2];" + element("%rd3", "m", "%r10", size)
    )
    body += element("%rd4", "out", size=size)
    body += f"atom.global.add{noftz}.{kind} {reg}21, [%rd3], {reg}20; st.global.b{8 * size} [%rd4], {reg}21; ret;"
    memory, _, _, out = emulate(
        kernel("u64 m, u64 w, u64 v, u64 out", body),
        2,
        n // 2,
        np.ones(places, dtype),
        where,
        values,
        np.zeros(n, dtype),
    )
    expected = np.ones(places, dtype)
    for i in range(n):
        assert out[i] == expected[where[i]]
        expected[where[i]] = expected[where[i]] + values[i]
    np.testing.assert_array_equal(memory, expected)


def test_float_sums_flush_subnormals_on_global_memory_only(run: Run) -> None:
    tiny = np.uint32(0x00000001).view(np.float32)
    body = (
        "ld.param.u64 %rd1, [m]; ld.global.f32 %r5, [%rd1]; st.shared.f32 [tile], %r5; atom.shared.add.f32 %r6, [tile], %r5;"
        "ld.shared.f32 %r7, [tile]; atom.global.add.f32 %r8, [%rd1], %r5; ld.global.f32 %r9, [%rd1];"
        "st.global.f32 [%rd1+4], %r7; st.global.f32 [%rd1+8], %r9; ret;"
    )
    (out,) = run(
        kernel("u64 m", body, module=".shared .align 4 .b8 tile[4];"), 1, 1, np.array([tiny, 1, 1], np.float32)
    )
    assert out.view(np.uint32)[1:].tolist() == [2, 0]


SMALLEST, SUBNORMAL = 0x00800000, 0x00500000


@pytest.mark.parametrize(("old", "value"), [(SUBNORMAL, SUBNORMAL), (SMALLEST, SUBNORMAL), (SUBNORMAL, SMALLEST)])
def test_subnormal_operands_of_a_sum_are_flushed_too(run: Run, old: int, value: int) -> None:
    body = f"ld.param.u64 %rd1, [m]; mov.u32 %r5, {value}; red.global.add.f32 [%rd1], %r5; ret;"
    (out,) = run(kernel("u64 m", body), 1, 1, np.array([old], np.uint32))
    assert out[0] == (0 if old == value else SMALLEST)


@pytest.mark.parametrize("n", [1, 64])
def test_a_float_sum_that_is_no_number_is_the_canonical_one(n: int, run: Run) -> None:
    body = "ld.param.u64 %rd1, [m]; atom.global.add.f32 %r8, [%rd1], 0fFF800000; ret;"
    (out,) = run(kernel("u64 m", body), 1, n, np.array([np.inf], np.float32))
    assert out.view(np.uint32)[0] == 0x7FFFFFFF


def test_pairs_of_halves(run: Run) -> None:
    n = 96
    values = (np.arange(2 * n) % 16).astype(np.float16).reshape(n, 2)
    body = LINEAR + element("%rd2", "v") + "ld.global.b32 %r20, [%rd2]; ld.param.u64 %rd3, [m]; and.b32 %r5, %r4, 1;"
    body += "mul.wide.u32 %rd4, %r5, 4; add.s64 %rd3, %rd3, %rd4; red.global.add.noftz.f16x2 [%rd3], %r20; ret;"
    memory, _ = run(kernel("u64 m, u64 v", body), 1, n, np.zeros((2, 2), np.float16), values)
    expected = np.zeros((2, 2), np.float16)
    for i in range(n):
        expected[i % 2] += values[i]
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("mnemonic", ["red.global.add.u32", "atom.acq_rel.sys.global.add.u32 %r9,", "atom.add.u32 _,"])
def test_a_counter_of_all_threads(mnemonic: str, run: Run) -> None:
    ptx = kernel("u64 m", f"ld.param.u64 %rd1, [m]; {mnemonic} [%rd1+4], 3; ret;")
    (out,) = run(ptx, 1000, 256, np.zeros(2, np.uint32))
    assert out.tolist() == [0, 3 * 256_000]


def test_a_histogram_with_heavy_collisions_is_fast() -> None:
    rng = np.random.default_rng(3)
    data = rng.integers(0, 8, 1 << 18).astype(np.uint32)
    body = LINEAR + element("%rd1", "d") + "ld.global.u32 %r10, [%rd1];" + element("%rd2", "h", "%r10")
    body += element("%rd3", "out") + "atom.global.add.u32 %r11, [%rd2], 1; st.global.u32 [%rd3], %r11; ret;"
    start = time.perf_counter()
    _, histogram, order = emulate(
        kernel("u64 d, u64 h, u64 out", body), 1024, 256, data, np.zeros(8, np.uint32), np.zeros(1 << 18, np.uint32)
    )
    seconds = time.perf_counter() - start
    np.testing.assert_array_equal(histogram, np.bincount(data))
    for value in range(8):
        np.testing.assert_array_equal(order[data == value], np.arange(histogram[value]))
    assert seconds < 2


LOCK = """
$TRY: atom.acquire.gpu.global.cas.b32 %r20, [%rd1], 0, 1;
    setp.ne.u32 %p1, %r20, 0; @%p1 bra $TRY;
    ld.volatile.global.u32 %r21, [%rd1+4]; mul.lo.u32 %r21, %r21, 3; add.u32 %r21, %r21, 1;
    st.volatile.global.u32 [%rd1+4], %r21;
    atom.release.gpu.global.exch.b32 %r22, [%rd1], 0;
    ret;
"""


@pytest.mark.parametrize(("grid", "block"), [(1, 64), (40, 4), (3, 33)])
def test_a_spin_lock_lets_one_thread_in_at_a_time(grid: int, block: int, run: Run) -> None:
    """Winners leave the loop upwards, so the losers would run for ever if the lowest program counter always went first."""
    (out,) = run(kernel("u64 m", "ld.param.u64 %rd1, [m];" + LOCK), grid, block, np.zeros(2, np.uint32))
    want = 0
    for _ in range(grid * block):
        want = (want * 3 + 1) % M32
    assert out.tolist() == [0, want]


def test_a_block_may_wait_for_a_block_of_a_later_batch() -> None:
    """Every block waits until all 64 have arrived; they do not fit in one batch."""
    body = LINEAR + (
        "ld.param.u64 %rd1, [m]; setp.ne.u32 %p1, %r1, 0; @%p1 bra $B; atom.global.add.u32 %r5, [%rd1], 1;"
        "$W: ld.acquire.gpu.global.u32 %r6, [%rd1]; setp.lt.u32 %p2, %r6, 64; @%p2 bra $W; $B: bar.sync 0;"
        "ld.global.u32 %r7, [%rd1]; setp.eq.u32 %p3, %r7, 64; @%p3 red.global.add.u32 [%rd1+4], 1; ret;"
    )
    (out,) = Machine(step_limit=1 << 22).run(kernel("u64 m", body), 64, 1024, np.zeros(2, np.uint32))
    assert out.tolist() == [64, 65536]


def test_a_lock_that_each_warp_s_first_lane_takes_for_its_warp(run: Run) -> None:
    """The other lanes wait at a warp barrier meanwhile, and those of other warps spin."""
    body = LINEAR + (
        "ld.param.u64 %rd1, [m]; and.b32 %r5, %r1, 31; setp.ne.u32 %p1, %r5, 0; @%p1 bra $IN;"
        "$TRY: atom.acquire.gpu.global.cas.b32 %r20, [%rd1], 0, 1; setp.ne.u32 %p2, %r20, 0; @%p2 bra $TRY;"
        "$IN: bar.warp.sync -1; mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2; ld.volatile.global.u32 %r21, [%rd3+4];"
        "mul.lo.u32 %r21, %r21, 3; add.u32 %r21, %r21, 1; st.volatile.global.u32 [%rd3+4], %r21; membar.gl; bar.warp.sync -1;"
        "@%p1 bra $END; atom.release.gpu.global.exch.b32 %r22, [%rd1], 0; $END: ret;"
    )
    (out,) = run(kernel("u64 m", body), 6, 128, np.zeros(33, np.uint32))
    want = 0
    for _ in range(24):
        want = (want * 3 + 1) % M32
    assert out.tolist() == [0] + [want] * 32
