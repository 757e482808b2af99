"""Block barriers on the emulator: release by block, reductions, named barriers, divergence and deadlock."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl.backend import SynchronizationError
from tests.emulator.engine import LINEAR, Machine, Run, element, kernel


def stuck(ptx: str, grid: int, block: int, *arguments: object) -> str:
    with pytest.raises(SynchronizationError) as caught:
        Machine().run(ptx, grid, block, *arguments)
    return str(caught.value)


def test_blocks_pass_a_barrier_a_different_number_of_times(run: Run) -> None:
    """Block b rotates its values through shared memory b + 1 times."""
    ptx = kernel(
        "u64 a",
        LINEAR + element("%rd1", "a")
        + "ld.global.u32 %r5, [%rd1]; mov.u32 %r6, 0; mov.u32 %r7, tile; shl.b32 %r8, %r1, 2; add.u32 %r8, %r7, %r8;"
        "add.u32 %r9, %r1, 1; rem.u32 %r9, %r9, %r3; shl.b32 %r9, %r9, 2; add.u32 %r9, %r7, %r9;"
        "$L: st.shared.u32 [%r8], %r5; bar.sync 0; ld.shared.u32 %r5, [%r9]; bar.sync 0; add.u32 %r6, %r6, 1;"
        "setp.le.u32 %p1, %r6, %r2; @%p1 bra $L; st.global.u32 [%rd1], %r5; ret;",
        module=".shared .align 4 .b8 tile[256];",
    )  # fmt: skip
    a = np.arange(9 * 50, dtype=np.uint32)
    (out,) = run(ptx, 9, 50, a)
    want = np.stack([np.roll(row, -(b + 1)) for b, row in enumerate(a.reshape(9, 50))])
    np.testing.assert_array_equal(out, want.reshape(-1))


def test_exited_threads_do_not_hold_a_barrier(run: Run) -> None:
    ptx = kernel(
        "u64 a",
        LINEAR + element("%rd1", "a")
        + "mov.u32 %r7, tile; shl.b32 %r8, %r1, 2; add.u32 %r8, %r7, %r8; st.shared.u32 [%r8], %r4;"
        "setp.gt.u32 %p1, %r1, 40; @%p1 exit; bar.sync 0; xor.b32 %r9, %r1, 1; shl.b32 %r9, %r9, 2; add.u32 %r9, %r7, %r9;"
        "ld.shared.u32 %r10, [%r9]; st.global.u32 [%rd1], %r10; ret;",
        module=".shared .align 4 .b8 tile[256];",
    )  # fmt: skip
    (out,) = run(ptx, 3, 64, np.zeros(192, np.uint32))
    i = np.arange(192)
    np.testing.assert_array_equal(out, np.where(i % 64 <= 40, i ^ 1, 0))


@pytest.mark.parametrize(("operation", "want"), [("popc", [0, 33, 66]), ("and", [0, 0, 1]), ("or", [0, 1, 1])])
def test_reductions(operation: str, want: list[int], run: Run) -> None:
    """In block 0 no predicate holds, in block 1 that of the even threads, in block 2 all."""
    result = "bar.red.popc.u32 %r6, 0, %p1;" if operation == "popc" else (
        f"bar.red.{operation}.pred %p2, 0, %p1; selp.u32 %r6, 1, 0, %p2;"
    )  # fmt: skip
    ptx = kernel(
        "u64 a",
        LINEAR
        + "not.b32 %r5, %r1; and.b32 %r5, %r5, 1; add.u32 %r5, %r5, %r2; setp.ge.u32 %p1, %r5, 2;"
        + "setp.eq.u32 %p3, %r1, 65; @%p3 bra $LATE; $LATE: "
        + result + element("%rd1", "a") + "st.global.u32 [%rd1], %r6; ret;",
    )  # fmt: skip
    (out,) = run(ptx, 3, 66, np.full(198, 9, np.uint32))
    np.testing.assert_array_equal(out, np.repeat(want, 66))


def test_named_barriers_of_two_groups(run: Run) -> None:
    """Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2; producers only arrive at barrier 3."""
    ptx = kernel(
        "u64 a",
        LINEAR + element("%rd1", "a")
        + "mov.u32 %r7, tile; shl.b32 %r8, %r1, 2; add.u32 %r8, %r7, %r8; shr.u32 %r10, %r1, 6; add.u32 %r10, %r10, 1;"
        "st.shared.u32 [%r8], %r4; bar.sync %r10, 64; xor.b32 %r9, %r1, 63; shl.b32 %r9, %r9, 2; add.u32 %r9, %r7, %r9;"
        "ld.shared.u32 %r11, [%r9]; setp.lt.u32 %p1, %r1, 64; @%p1 bra $CONSUME;"
        "st.shared.u32 [%r8+512], %r11; bar.arrive 3, 128; bra.uni $END;"
        "$CONSUME: bar.sync 3, 128; ld.shared.u32 %r12, [%r8+768]; add.u32 %r11, %r11, %r12; $END:"
        "st.global.u32 [%rd1], %r11; ret;",
        module=".shared .align 4 .b8 tile[1024];",
    )  # fmt: skip
    (out,) = run(ptx, 2, 128, np.zeros(256, np.uint32))
    t = np.arange(256)
    np.testing.assert_array_equal(out, np.where(t % 128 < 64, (t ^ 63) + ((t + 64) ^ 63), t ^ 63))


def test_blocks_may_name_different_counts_of_one_barrier(run: Run) -> None:
    """The last warp that comes is warp 1 in block 0, warp 2 in block 1."""
    ptx = kernel(
        "u64 a",
        LINEAR + element("%rd1", "a")
        + "shl.b32 %r10, %r2, 5; add.u32 %r10, %r10, 32; add.u32 %r9, %r10, 32; setp.lt.u32 %p1, %r1, %r10;"
        "@!%p1 bra $LAST; bar.sync 1, %r9; ld.shared.u32 %r4, [tile]; bra.uni $END;"
        "$LAST: setp.ge.u32 %p1, %r1, %r9; @%p1 bra $END; st.shared.u32 [tile], 7; bar.sync 1, %r9;"
        "$END: st.global.u32 [%rd1], %r4; ret;",
        module=".shared .align 4 .b8 tile[4];",
    )  # fmt: skip
    (out,) = run(ptx, 2, 96, np.zeros(192, np.uint32))
    t = np.arange(192)
    np.testing.assert_array_equal(out, np.where(t % 96 < np.where(t < 96, 32, 64), 7, t))


def test_a_barrier_at_which_all_only_arrive_begins_anew() -> None:
    """The second time warp 0 waits for warp 1, which never comes."""
    body = LINEAR + "bar.arrive 1, 64; setp.ge.u32 %p1, %r1, 32; @%p1 exit;\n.loc 1 5 1\nbar.sync 1, 64;\nret;"
    assert "deadlock: threads wait at `bar.sync 1, 64` (k.py:5); others have exited" in stuck(kernel("", body), 1, 64)


DIVERGENT = """
    setp.lt.u32 %p1, %r1, 10; @%p1 bra $A;
.loc 1 7 1
    bar.sync 0;
    bra.uni $E;
$A:
.loc 1 9 1
    bar.sync 0;
$E: ret;
"""


def test_divergent_barriers_name_both_lines() -> None:
    assert stuck(kernel("", LINEAR + DIVERGENT), 2, 32) == (
        "k.py:9: kernel k: divergent barrier: some threads of the block wait at `bar.sync 0` (k.py:9), others at "
        "`bar.sync 0` (k.py:7) (block (0, 0, 0), thread (0, 0, 0))"
    )


def test_divergence_is_seen_in_a_block_behind_others() -> None:
    """Blocks 0, 1 and 2 come to their own barriers but for one lane of block 2, which comes to that of block 0."""
    body = (
        LINEAR
        + """
        setp.eq.u32 %p1, %r4, 70; @%p1 bra $A; setp.eq.u32 %p1, %r2, 0; @%p1 bra $A; setp.eq.u32 %p1, %r2, 1; @%p1 bra $B;
    .loc 1 7 1
        bar.sync 0; bra.uni $E;
    $A:
    .loc 1 8 1
        bar.sync 0; bra.uni $E;
    $B:
    .loc 1 9 1
        bar.sync 0;
    $E: ret;
    """
    )
    assert stuck(kernel("", body), 3, 32) == (
        "k.py:7: kernel k: divergent barrier: some threads of the block wait at `bar.sync 0` (k.py:7), others at "
        "`bar.sync 0` (k.py:8) (block (2, 0, 0), thread (0, 0, 0))"
    )


def test_different_barriers_are_right_when_whole_blocks_take_them(run: Run) -> None:
    body = LINEAR + DIVERGENT.replace("setp.lt.u32 %p1, %r1, 10", "setp.lt.u32 %p1, %r2, 1")
    run(kernel("", body), 4, 64)


def test_threads_at_two_barrier_numbers_deadlock() -> None:
    body = LINEAR + DIVERGENT.replace("bar.sync 0;\n    bra", "bar.sync 1;\n    bra")
    assert stuck(kernel("", body), 1, 32) == (
        "k.py:9: kernel k: deadlock: threads wait at `bar.sync 0` (k.py:9), others at `bar.sync 1` (k.py:7) "
        "(block (0, 0, 0), thread (0, 0, 0))"
    )


def test_a_barrier_and_a_warp_barrier_deadlock() -> None:
    body = LINEAR + DIVERGENT.replace("bar.sync 0;\n$E", "bar.warp.sync -1;\n$E")
    assert stuck(kernel("", body), 1, 32) == (
        "k.py:9: kernel k: deadlock: threads wait at `bar.warp.sync -1` (k.py:9), others at `bar.sync 0` (k.py:7) "
        "(block (0, 0, 0), thread (0, 0, 0))"
    )


def test_a_barrier_that_counts_more_threads_than_come_deadlocks() -> None:
    body = LINEAR + "setp.lt.u32 %p1, %r1, 32; @%p1 exit;\n.loc 1 5 1\nbar.sync 1, 64;\nret;"
    assert stuck(kernel("", body), 1, 64) == (
        "k.py:5: kernel k: deadlock: threads wait at `bar.sync 1, 64` (k.py:5); others have exited "
        "(block (0, 0, 0), thread (32, 0, 0))"
    )


def test_a_barrier_number_out_of_range() -> None:
    assert "barrier 16 does not exist; there are 0 to 15" in stuck(kernel("", "bar.sync 16; ret;"), 1, 1)
