"""Warp operations on the emulator against a plain model of one warp, whole and parted, and their errors."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl.backend import SynchronizationError
from tests.emulator.engine import LINEAR, Machine, Run, element, kernel


def shuffled(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """PTX ISA 9.0, 9.7.9.6, shfl.sync, as it is written there."""
    bval, cval, mask = b & 31, c & 31, (c >> 8) & 31
    max_lane = (lane & mask) | (cval & ~mask)
    min_lane = lane & mask
    if mode == "up":
        j = lane - bval
        inside = j >= max_lane
    elif mode == "down":
        j = lane + bval
        inside = j <= max_lane
    elif mode == "bfly":
        j = lane ^ bval
        inside = j <= max_lane
    else:
        j = min_lane | (bval & ~mask)
        inside = j <= max_lane
    return (j if inside else lane), inside


@pytest.mark.parametrize("block", [32, 96])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize(
    ("b", "c"), [(1, 31), (4, 31), (1, 0), (3, 0x1807), (16, 31), (2, 0x1C03), (35, 31), (7, 0x1800)]
)
def test_shuffles(mode: str, constant: bool, b: int, c: int, block: int, run: Run) -> None:
    amount = f"{b}" if constant else "%r11"
    ptx = kernel(
        "u64 out, u32 b",
        LINEAR + element("%rd1", "out", size=8) + "ld.param.u32 %r11, [b]; add.u32 %r11, %r11, %r4; sub.u32 %r11, %r11, %r4;"
        f"mad.lo.u32 %r10, %r4, 7, 3; shfl.sync.{mode}.b32 %r12|%p1, %r10, {amount}, {c}, -1;"
        "selp.u32 %r13, 1, 0, %p1; st.global.v2.u32 [%rd1], {%r12, %r13}; ret;",
    )  # fmt: skip
    (out,) = run(ptx, 2, block, np.zeros((2 * block, 2), np.uint32), b)
    for i in range(2 * block):
        source, inside = shuffled(mode, i % 32, b, c)
        assert out[i].tolist() == [(i - i % 32 + source) * 7 + 3, int(inside)]


def test_a_shuffle_in_a_branch_of_each_half_warp(run: Run) -> None:
    """Both halves shuffle on their own, at different instructions and with their own masks."""
    ptx = kernel(
        "u64 out",
        LINEAR + element("%rd1", "out")
        + "and.b32 %r5, %r1, 16; setp.eq.u32 %p1, %r5, 0; @%p1 bra $LOW;"
        "shfl.sync.bfly.b32 %r6, %r4, 1, 31, 0xFFFF0000; bra.uni $E;"
        "$LOW: shfl.sync.idx.b32 %r6, %r4, 5, 31, 0x0000FFFF; $E: st.global.u32 [%rd1], %r6; ret;",
    )  # fmt: skip
    (out,) = run(ptx, 2, 64, np.zeros(128, np.uint32))
    i = np.arange(128)
    np.testing.assert_array_equal(out, np.where(i & 16, i ^ 1, i // 32 * 32 + 5))


def test_lanes_that_arrive_late_are_waited_for(run: Run) -> None:
    """Odd lanes come to the shuffle by a longer way with a loop; the result is as if all came at once."""
    ptx = kernel(
        "u64 out",
        LINEAR + element("%rd1", "out")
        + "mov.u32 %r6, %r4; and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra $S;"
        "mov.u32 %r7, 0; $L: add.u32 %r6, %r6, 100; add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, %r1; @%p2 bra $L; bra.uni $S;"
        "$S: shfl.sync.bfly.b32 %r8, %r6, 1, 31, -1; st.global.u32 [%rd1], %r8; ret;",
    )  # fmt: skip
    (out,) = run(ptx, 2, 64, np.zeros(128, np.uint32))
    i = np.arange(128)
    value = i + np.where(i & 1, 100 * (i % 64), 0)
    np.testing.assert_array_equal(out, value[i ^ 1])


def test_gates_before_the_code_that_feeds_them(run: Run) -> None:
    """Half of the lanes reach a later instruction first and wait at the earlier one for the rest."""
    ptx = kernel(
        "u64 out",
        LINEAR + element("%rd1", "out")
        + "setp.ge.u32 %p1, %r1, 16; @%p1 bra $FAR;"
        "$VOTE: setp.lt.u32 %p2, %r1, 20; vote.sync.ballot.b32 %r6, %p2, -1; st.global.u32 [%rd1], %r6; ret;"
        "$FAR: add.u32 %r7, %r1, 1; bra.uni $VOTE;",
    )  # fmt: skip
    (out,) = run(ptx, 1, 32, np.zeros(32, np.uint32))
    assert out.tolist() == [(1 << 20) - 1] * 32


@pytest.mark.parametrize("block", [32, 64, 40])
def test_votes_matches_and_reductions(block: int, run: Run) -> None:
    rng = np.random.default_rng(5)
    a = rng.integers(0, 4, 3 * block).astype(np.uint32)
    a[block : block + 32] = 3
    mask = "-1"
    steps = [
        f"vote.sync.all.pred %p2, %p1, {mask}; selp.u32 %r20, 1, 0, %p2;",
        f"vote.sync.any.pred %p2, %p1, {mask}; selp.u32 %r20, 1, 0, %p2;",
        f"vote.sync.uni.pred %p2, %p1, {mask}; selp.u32 %r20, 1, 0, %p2;",
        f"vote.sync.ballot.b32 %r20, %p1, {mask};",
        f"match.any.sync.b32 %r20, %r10, {mask};",
        f"match.all.sync.b32 %r20|%p2, %r10, {mask};",
        f"redux.sync.add.s32 %r20, %r11, {mask};",
        f"redux.sync.min.s32 %r20, %r11, {mask};",
        f"redux.sync.max.u32 %r20, %r11, {mask};",
        f"redux.sync.and.b32 %r20, %r11, {mask};",
        f"redux.sync.or.b32 %r20, %r11, {mask};",
        f"redux.sync.xor.b32 %r20, %r11, {mask};",
        "activemask.b32 %r20;",
        f"elect.sync %r20|%p2, {mask}; selp.u32 %r21, 64, 0, %p2; or.b32 %r20, %r20, %r21;",
    ]
    body = (
        LINEAR + element("%rd1", "a") + "ld.global.u32 %r10, [%rd1]; setp.eq.u32 %p1, %r10, 3; sub.u32 %r11, %r10, 2;"
    )
    body += element("%rd2", "out", size=4 * len(steps))
    for i, step in enumerate(steps):
        body += step + f"st.global.u32 [%rd2+{4 * i}], %r20;"
    _, out = run(kernel("u64 a, u64 out", body + "ret;"), 3, block, a, np.zeros((3 * block, len(steps)), np.uint32))
    for b in range(3):
        for start in range(0, block, 32):
            lanes = np.arange(b * block + start, b * block + min(start + 32, block))
            v, s = a[lanes].tolist(), [int(x) - 2 for x in a[lanes]]
            everyone = (1 << len(v)) - 1
            ballot = sum(1 << i for i, x in enumerate(v) if x == 3)
            xor = 0
            for x in s:
                xor ^= x
            both = [ballot == everyone, ballot != 0, ballot in (0, everyone), ballot]
            common = [
                sum(s),
                min(s),
                max(x % 2**32 for x in s),
                int(np.bitwise_and.reduce(s)),
                int(np.bitwise_or.reduce(s)),
                xor,
            ]
            for i, lane in enumerate(lanes):
                matched = sum(1 << k for k, x in enumerate(v) if x == v[i])
                agree = everyone if len(set(v)) == 1 else 0
                want = [*both, matched, agree, *common, everyone, 64 if i == 0 else 0]
                assert out[lane].tolist() == [int(w) % 2**32 for w in want]


def test_member_masks_that_differ_inside_a_warp(run: Run) -> None:
    """Each quarter of a warp reduces on its own, at one instruction."""
    ptx = kernel(
        "u64 out",
        LINEAR + element("%rd1", "out", size=8)
        + "and.b32 %r5, %r1, 24; mov.u32 %r6, 255; shl.b32 %r6, %r6, %r5; redux.sync.add.u32 %r7, %r4, %r6;"
        "shr.u32 %r9, %r1, 1; match.any.sync.b32 %r8, %r9, %r6; st.global.v2.u32 [%rd1], {%r7, %r8}; ret;",
    )  # fmt: skip
    (out,) = run(ptx, 2, 64, np.zeros((128, 2), np.uint32))
    i = np.arange(128)
    np.testing.assert_array_equal(out[:, 0], i.reshape(-1, 8).sum(1).repeat(8))
    np.testing.assert_array_equal(out[:, 1], np.uint32(3) << (i % 32 & 30).astype(np.uint32))


def test_warp_reduction_by_shuffles_of_a_loop(run: Run) -> None:
    ptx = kernel(
        "u64 a",
        LINEAR + element("%rd1", "a")
        + "ld.global.u32 %r5, [%rd1]; mov.u32 %r6, 16;"
        "$L: shfl.sync.down.b32 %r7, %r5, %r6, 31, -1; add.u32 %r5, %r5, %r7; shr.u32 %r6, %r6, 1;"
        "setp.ne.u32 %p1, %r6, 0; @%p1 bra $L; and.b32 %r8, %r1, 31; setp.ne.u32 %p2, %r8, 0; @%p2 bra $E;"
        "st.global.u32 [%rd1], %r5; $E: ret;",
    )  # fmt: skip
    a = np.arange(256, dtype=np.uint32)
    (out,) = run(ptx, 2, 128, a)
    np.testing.assert_array_equal(out[::32], a.reshape(-1, 32).sum(1))


def stuck(body: str, block: int = 32) -> str:
    with pytest.raises(SynchronizationError) as caught:
        Machine().run(kernel("", LINEAR + body), 1, block)
    return str(caught.value)


def test_an_exited_member_is_named() -> None:
    body = "setp.eq.u32 %p1, %r1, 7; @%p1 exit;\n.loc 1 5 1\nshfl.sync.bfly.b32 %r5, %r1, 1, 31, -1;\nret;"
    assert stuck(body) == (
        "k.py:5: kernel k: member mask 0xffffffff names lane 7, which has exited (block (0, 0, 0), thread (0, 0, 0))"
    )


def test_a_lane_outside_of_its_own_mask_is_named() -> None:
    body = "\n.loc 1 5 1\nvote.sync.ballot.b32 %r5, %p1, 0xFF;\nret;"
    assert stuck(body) == (
        "k.py:5: kernel k: this lane is not in its own member mask 0x000000ff (block (0, 0, 0), thread (8, 0, 0))"
    )


def test_a_member_that_waits_elsewhere_is_named() -> None:
    body = (
        "setp.eq.u32 %p1, %r1, 7; @%p1 bra $A;\n.loc 1 5 1\nbar.warp.sync -1;\nbra.uni $E;\n$A:\n.loc 1 8 1\n"
        "bar.warp.sync -1;\n$E: ret;"
    )
    assert stuck(body) == (
        "k.py:5: kernel k: deadlock: threads wait at `bar.warp.sync -1` (k.py:5), others at `bar.warp.sync -1` (k.py:8) "
        "(block (0, 0, 0), thread (0, 0, 0))"
    )


def test_a_member_that_exits_later_is_named() -> None:
    body = "setp.ne.u32 %p1, %r1, 7; @%p1 bra $A; add.u32 %r5, %r1, 1; exit;\n.loc 1 5 1\n$A: bar.warp.sync -1;\nret;"
    assert "member mask 0xffffffff names lane 7, which has exited" in stuck(body)
    body = "setp.eq.u32 %p1, %r1, 7; @%p1 bra $A;\n.loc 1 5 1\nbar.warp.sync -1;\nret;\n$A: add.u32 %r5, %r1, 1; exit;"
    assert stuck(body) == (
        "k.py:5: kernel k: deadlock: threads wait at `bar.warp.sync -1` (k.py:5); others have exited "
        "(block (0, 0, 0), thread (0, 0, 0))"
    )


def test_lanes_that_never_existed_are_not_missed(run: Run) -> None:
    ptx = kernel(
        "u64 out", LINEAR + element("%rd1", "out") + "vote.sync.ballot.b32 %r5, 1, -1; st.global.u32 [%rd1], %r5; ret;"
    )
    (out,) = run(ptx, 2, 40, np.zeros(80, np.uint32))
    assert out.tolist() == ([2**32 - 1] * 32 + [255] * 8) * 2


def test_a_lane_that_does_not_exist_gives_zero(run: Run) -> None:
    """The ISA leaves it open; an H200 does so, unless ptxas sees that all lanes hold one value."""
    body = LINEAR + element("%rd1", "out") + "mov.u32 %r6, %r4; shfl.sync.down.b32 %r5, %r6, 4, 31, -1;"
    (out,) = run(kernel("u64 out", body + "st.global.u32 [%rd1], %r5; ret;"), 2, 40, np.zeros(80, np.uint32))
    values = np.arange(80)
    for i in range(80):
        lane = i % 40 % 32
        source = i + 4 if lane + 4 < 32 else i
        assert out[i] == (values[source] if source // 40 == i // 40 and source % 40 // 32 == i % 40 // 32 else 0)
