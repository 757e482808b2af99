"""Control flow on the emulator: divergence, loops, branch tables, guards, early exits, and how lanes meet again."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from kdsl.backend import DeviceError, LaunchTimeout
from tests.emulator.engine import LINEAR, Machine, Run, element, emulate, kernel


def test_vadd_with_a_guard(run: Run) -> None:
    ptx = kernel(
        "u64 a, u64 b, u64 c, u32 n",
        LINEAR
        + "ld.param.u32 %r5, [n]; setp.ge.s32 %p1, %r4, %r5; @%p1 bra $END;"
        + element("%rd1", "a") + element("%rd2", "b") + element("%rd3", "c")
        + "ld.global.f32 %r6, [%rd1]; ld.global.f32 %r7, [%rd2]; add.rn.f32 %r8, %r6, %r7; st.global.f32 [%rd3], %r8;"
        + "$END: ret;",
    )  # fmt: skip
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 100_001), np.float32)
    *_, c = run(ptx, 391, 256, a, b, np.zeros_like(a), 100_001)
    np.testing.assert_array_equal(c, a + b)


@pytest.mark.parametrize("block", [1, 32, 37, 1024])
def test_collatz_steps_loop_a_different_number_of_times_in_each_lane(block: int, run: Run) -> None:
    ptx = kernel(
        "u64 out",
        LINEAR + "add.s32 %r10, %r4, 1; mov.u32 %r11, 0;"
        "$LOOP: setp.eq.u32 %p1, %r10, 1; @%p1 bra $DONE;"
        "and.b32 %r12, %r10, 1; setp.eq.u32 %p2, %r12, 0; @%p2 bra $EVEN;"
        "mad.lo.s32 %r10, %r10, 3, 1; bra.uni $NEXT;"
        "$EVEN: shr.u32 %r10, %r10, 1;"
        "$NEXT: add.s32 %r11, %r11, 1; bra.uni $LOOP;"
        "$DONE:" + element("%rd1", "out") + "st.global.u32 [%rd1], %r11; ret;",
    )

    def steps(n: int) -> int:
        count = 0
        while n != 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    n = 3 * block
    (out,) = run(ptx, 3, block, np.zeros(n, np.uint32))
    assert out.tolist() == [steps(i + 1) for i in range(n)]


def test_registers_are_right_where_only_some_lanes_have_met_again(run: Run) -> None:
    """A loop whose body parts and joins; what has left the loop waits, and the joined lanes read a register from before."""
    ptx = kernel(
        "u64 out",
        LINEAR + "mov.u32 %r10, 0; mov.u32 %r11, 0; xor.b32 %r13, %r4, 21;"
        "$LOOP: setp.ge.u32 %p1, %r10, %r1; @%p1 bra $DONE; and.b32 %r12, %r4, 1; setp.eq.u32 %p2, %r12, 0; @%p2 bra $EVEN;"
        "add.u32 %r11, %r11, 3; bra.uni $NEXT; $EVEN: add.u32 %r11, %r11, 5;"
        "$NEXT: add.u32 %r11, %r11, %r13; add.u32 %r10, %r10, 1; bra.uni $LOOP;"
        "$DONE:" + element("%rd1", "out") + "st.global.u32 [%rd1], %r11; ret;",
    )
    i = np.arange(80)
    (out,) = run(ptx, 2, 40, np.zeros(80, np.uint32))
    np.testing.assert_array_equal(out, i % 40 * ((i ^ 21) + np.where(i % 2, 3, 5)))


def test_lanes_that_parted_run_together_again() -> None:
    ptx = kernel(
        "u64 out",
        LINEAR + "and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra $A; add.u32 %r6, %r1, 1; bra.uni $J;"
        "$A: add.u32 %r6, %r1, 2; $J: activemask.b32 %r7;" + element("%rd1", "out") + "st.global.u32 [%rd1], %r7; ret;",
    )
    (out,) = emulate(ptx, 1, 64, np.zeros(64, np.uint32))
    assert out.tolist() == [2**32 - 1] * 64


def test_lanes_that_parted_keep_registers_that_only_some_of_them_change(run: Run) -> None:
    ptx = kernel(
        "u64 out",
        LINEAR + "mov.u32 %r10, 7; mul.lo.s32 %r11, %r4, 3; and.b32 %r12, %r4, 3;"
        "setp.eq.u32 %p1, %r12, 0; @%p1 bra $A; setp.eq.u32 %p2, %r12, 1; @%p2 bra $B; bra.uni $M;"
        "$A: mov.u32 %r10, 100; bra.uni $M;"
        "$B: add.s32 %r11, %r11, 1000;"
        "$M: add.s32 %r13, %r10, %r11;" + element("%rd1", "out") + "st.global.u32 [%rd1], %r13; ret;",
    )
    i = np.arange(200)
    (out,) = run(ptx, 2, 100, np.zeros(200, np.uint32))
    np.testing.assert_array_equal(out, np.where(i % 4 == 0, 100, 7) + 3 * i + np.where(i % 4 == 1, 1000, 0))


def test_branch_table(run: Run) -> None:
    ptx = kernel(
        "u64 out",
        LINEAR + "rem.u32 %r5, %r4, 3; $T: .branchtargets $X, $Y, $X; brx.idx %r5, $T;"
        "$X: mov.u32 %r6, 10; bra.uni $E; $Y: mov.u32 %r6, 20;"
        "$E:" + element("%rd1", "out") + "st.global.u32 [%rd1], %r6; ret;",
    )
    (out,) = run(ptx, 1, 96, np.zeros(96, np.uint32))
    np.testing.assert_array_equal(out, np.where(np.arange(96) % 3 == 1, 20, 10))


def test_branch_table_out_of_range() -> None:
    ptx = kernel("", "mov.u32 %r5, 2; $T: .branchtargets $X, $X; .loc 1 4 1\nbrx.idx %r5, $T; $X: ret;")
    with pytest.raises(DeviceError, match=r"k\.py:4: kernel k: branch index 2 of 2 targets"):
        emulate(ptx, 1, 1)


def test_guards_on_instructions_other_than_branches(run: Run) -> None:
    ptx = kernel(
        "u64 out",
        LINEAR
        + "and.b32 %r5, %r4, 1; setp.eq.u32 %p1, %r5, 1; mov.u32 %r6, 5;"
        "@%p1 mov.u32 %r6, 6; @!%p1 add.s32 %r6, %r6, 10;" + element("%rd1", "out")
        + "@%p1 st.global.u32 [%rd1], %r6; @!%p1 exit; st.global.u32 [%rd1], 99; ret;",
    )  # fmt: skip
    (out,) = run(ptx, 1, 64, np.zeros(64, np.uint32))
    assert out.tolist() == [0, 99] * 32


def test_labels_in_braces_are_their_own(run: Run) -> None:
    count = "{ NEXT: add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, LIMIT; @%p1 bra NEXT; bra END; trap; END: }"
    ptx = kernel(
        "u64 out",
        LINEAR + "mov.u32 %r10, 0;" + count.replace("LIMIT", "5") + "NEXT: add.u32 %r10, %r10, 100;"
        "setp.lt.u32 %p1, %r10, 300; @%p1 bra NEXT;" + count.replace("LIMIT", "0")
        + element("%rd1", "out") + "st.global.u32 [%rd1], %r10; ret;",
    )  # fmt: skip
    (out,) = run(ptx, 1, 2, np.zeros(2, np.uint32))
    assert out.tolist() == [306, 306]


def test_scoped_registers_shadow_the_kernel_s_own(run: Run) -> None:
    ptx = kernel(
        "u64 out",
        "mov.u32 %r5, 1; { .reg .b32 %r5; .reg .b32 tmp; mov.u32 %r5, 7; add.u32 tmp, %r5, 1; mov.u32 %r6, tmp; }"
        "ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r5; st.global.u32 [%rd1+4], %r6; ret;",
    )
    (out,) = run(ptx, 1, 1, np.zeros(2, np.uint32))
    assert out.tolist() == [1, 8]


def test_special_registers_of_three_dimensions(run: Run) -> None:
    names = [f"%{n}.{a}" for n in ("tid", "ntid", "ctaid", "nctaid") for a in "xyz"] + ["%laneid"]
    names += ["%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge"]
    body = (
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mad.lo.u32 %r4, %r3, 4, %r2;"
        "mad.lo.u32 %r4, %r4, 5, %r1; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;"
        "mad.lo.u32 %r5, %r3, 3, %r2; mad.lo.u32 %r5, %r5, 2, %r1; mad.lo.u32 %r4, %r5, 40, %r4;"
    )
    body += element("%rd1", "out", size=4 * len(names))
    for i, name in enumerate(names):
        body += f"mov.u32 %r6, {name}; st.global.u32 [%rd1+{4 * i}], %r6;"
    grid, block = (2, 3, 2), (5, 4, 2)
    (out,) = run(kernel("u64 out", body + "ret;"), grid, block, np.zeros((480, len(names)), np.uint32))
    for block_index, thread in np.ndindex(12, 40):
        lane = thread % 32
        tid = (thread % 5, thread // 5 % 4, thread // 20)
        cta = (block_index % 2, block_index // 2 % 3, block_index // 6)
        masks = [1 << lane, (1 << lane) - 1, (2 << lane) - 1, 2**32 - (2 << lane), 2**32 - (1 << lane)]
        want = [*tid, *block, *cta, *grid, lane, *masks]
        assert out[block_index * 40 + thread].tolist() == want


def test_the_warp_s_index_is_its_place_in_the_block() -> None:
    """On hardware it is a place on the multiprocessor, and may change."""
    body = LINEAR + element("%rd1", "out", size=8) + "mov.u32 %r5, %warpid; mov.u32 %r6, %nwarpid;"
    (out,) = emulate(
        kernel("u64 out", body + "st.global.v2.u32 [%rd1], {%r5, %r6}; ret;"), 2, 70, np.zeros((140, 2), np.uint32)
    )
    np.testing.assert_array_equal(out[:, 0], np.arange(140) % 70 // 32)
    assert (out[:, 1] == 3).all()


def test_an_endless_loop_names_its_line() -> None:
    ptx = kernel(
        "u64 a",
        "ld.param.u64 %rd1, [a];\n.loc 1 3 1\nmov.u32 %r2, 0;\n.loc 1 5 1\n$L: ld.volatile.global.u32 %r1, [%rd1];\n"
        ".loc 1 4 1\nsetp.eq.u32 %p1, %r1, 0; @%p1 bra $L;\n.loc 1 9 1\nret;",
    )
    with pytest.raises(LaunchTimeout) as caught:
        Machine(step_limit=5000).run(ptx, 1, 32, np.zeros(1, np.uint32))
    assert str(caught.value) == (
        "k.py:4: kernel k: no end after 5000 steps: the loop here may be endless (if it is not, KDSL_STEP_LIMIT can be "
        "set to more) (block (0, 0, 0), thread (0, 0, 0))"
    )
    assert (caught.value.file, caught.value.line, caught.value.kernel) == ("k.py", 4, "k")


def test_a_spin_on_an_atomic_ends_sooner_because_its_steps_take_longer() -> None:
    body = "ld.param.u64 %rd1, [a];\n$L: atom.global.add.u32 %r1, [%rd1], 1;\nsetp.ne.u32 %p1, %r1, 4294967295; @%p1 bra $L;\nret;"
    machine = Machine(step_limit=5000)
    counter = np.zeros(1, np.uint32)
    address = machine.upload(counter)
    with pytest.raises(LaunchTimeout):
        machine.run(kernel("u64 a", body), 1, 1, struct.pack("<Q", address))
    machine.emulator.read(address, memoryview(counter).cast("B"))
    assert 100 < counter[0] < 300


def test_trap_names_its_line_block_and_thread() -> None:
    ptx = kernel("", LINEAR + "setp.ne.u32 %p1, %r4, 37; @%p1 bra $E;\n.loc 1 8 1\ntrap;\n$E: ret;")
    with pytest.raises(DeviceError) as caught:
        emulate(ptx, 2, 32)
    assert str(caught.value) == "k.py:8: kernel k: trap (block (1, 0, 0), thread (5, 0, 0))"
    assert (caught.value.block, caught.value.thread) == ((1, 0, 0), (5, 0, 0))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "frobnicate.u32 %r1, %r2;",
            "the emulator does not know the instruction frobnicate.u32: frobnicate.u32 %r1, %r2",
        ),
        ("add.q7 %r1, %r2, %r3;", "the emulator does not know the instruction add.q7: add.q7 %r1, %r2, %r3"),
        ("bra $NOWHERE;", "unknown label $NOWHERE: bra $NOWHERE"),
        ("mov.u32 %r1, %nosuch;", "unknown special register %nosuch: mov.u32 %r1, %nosuch"),
        ("mov.u64 %rd1, nosuch;", "unknown name nosuch: mov.u64 %rd1, nosuch"),
        ("ld.frob.u32 %r1, [%rd1];", "unknown qualifier .frob: ld.frob.u32 %r1, [%rd1]"),
        ("add.u32 %r1, %r2;", "expected 3 operands, found 2: add.u32 %r1, %r2"),
        ("call nosuch;", "unknown function nosuch: call nosuch"),
    ],
)
def test_what_is_not_emulated_is_refused_when_loaded(body: str, message: str) -> None:
    ptx = kernel("", body + " ret;")
    line = next(i for i, text in enumerate(ptx.split("\n"), 1) if body in text)
    with pytest.raises(DeviceError) as caught:
        Machine().emulator.load(ptx.encode())
    assert str(caught.value) == f"PTX line {line}: {message}"


def test_an_unknown_directive_is_refused_when_loaded() -> None:
    with pytest.raises(DeviceError, match=r"PTX line 4: expected a declaration, found '\.frob': \.frob x;"):
        Machine().emulator.load(b".version 8.0\n.target sm_90\n.address_size 64\n.frob x;\n")
