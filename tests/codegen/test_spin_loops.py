"""Atomics in shared memory that ptxas makes loops of: no such loop begins where one of the program's begins."""

from __future__ import annotations

import re

import numpy as np
import pytest

import kdsl
from kdsl import Ptr, atomic, f32, i32, i64, kernel, mul_hi, shared, sync_threads, thread_idx
from kdsl.codegen import ptx_text
from kdsl.codegen.sass import find_tool
from kdsl.codegen.spin_loops import part_spin_loops

needs_tools = pytest.mark.skipif(not (find_tool("ptxas") and find_tool("nvdisasm")), reason="needs ptxas and nvdisasm")


@kernel
def contended(x: Ptr[f32], out: Ptr[i64], value: i64, rounds: f32) -> None:
    t = thread_idx.x
    m = shared.array(64, i64)
    m[t] = i64(t)
    sync_threads()
    for _ in range(i32(min(rounds, 100.0)) & 3):
        atomic.xor(m, i32(x[t]) % 64, mul_hi(value, value))
    sync_threads()
    out[t] = m[t]


def merged_loops(sass: str) -> int:
    """Spinning atomics whose way back is another loop's as well."""
    lines = sass.splitlines()
    back = [(i, found[1]) for i, line in enumerate(lines) if (found := re.search(r"BRA `\((\.L\w+)\)", line))]
    spins = [i for i, line in enumerate(lines) if "SPIN" in line]
    ways = [next(label for i, label in back if i > spin) for spin in spins]
    return sum([label for _, label in back].count(way) > 1 for way in ways)


@needs_tools
def test_ptxas_would_merge_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should this fail, ptxas has been mended, and `spin_loops` can go."""
    monkeypatch.setenv("KDSL_CACHE", "0")  # what is wrong on purpose is not kept
    monkeypatch.setattr(ptx_text, "part_spin_loops", lambda ptx: ptx)
    assert merged_loops(kdsl.compile(contended, target="sm_90").sass) == 1


@needs_tools
@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
def test_the_loops_are_apart(target: str) -> None:
    sass = kdsl.compile(contended, target=target).sass
    assert "SPIN" in sass or "CAS" in sass
    assert merged_loops(sass) == 0


def test_it_ends(device: str) -> None:
    x, out = np.zeros(64, np.float32), np.zeros(64, np.int64)
    value = (1 << 62) + 12345
    contended[1, 64](x, out, value, 3.0)
    assert out.tolist() == list(range(64))  # 3 * 64 times the same: an even number


LOOP = """$L__BB0_2:
\t.loc\t1 6 5
{before}\t{atomic}
\tadd.s32 \t%r13, %r13, 1;
\tsetp.ne.b32 \t%p2, %r13, %r3;
\t@%p2 bra \t$L__BB0_2;
"""
ATOMIC = "red.shared.add.f32 \t[%r4+8], %r2;"


@pytest.mark.parametrize(
    ("atomic_", "read"),
    [
        (ATOMIC, "b32 %unused, [%r4+8]"),
        ("atom.relaxed.cta.shared.min.s64 \t%rd9, [%r4], %rd2;", "b64 %unused, [%r4]"),
        ("red.shared.add.noftz.f16 \t[%r4], %rs1;", "b16 %unused, [%r4]"),
        ("red.shared.add.noftz.bf16x2 \t[%r4], %r1;", "b32 %unused, [%r4]"),
    ],
)
def test_a_read_comes_before_the_atomic(atomic_: str, read: str) -> None:
    lines = part_spin_loops(LOOP.format(before="", atomic=atomic_)).splitlines()
    place = lines.index(f"\t{atomic_}")
    assert lines[place - 1].endswith(f"ld.volatile.shared.{read}; }}")


@pytest.mark.parametrize(
    ("before", "atomic_"),
    [
        ("\tadd.s32 \t%r5, %r13, %r9;\n", ATOMIC),  # each iteration has something to do first
        ("", "red.shared.add.u32 \t[%r4], %r2;"),  # one instruction
        ("", "red.global.add.f32 \t[%rd4], %r2;"),
    ],
)
def test_others_stay_as_they_are(before: str, atomic_: str) -> None:
    text = LOOP.format(before=before, atomic=atomic_)
    assert part_spin_loops(text) == text
    straight = f"\t{ATOMIC}\n"
    assert part_spin_loops(straight) == straight
