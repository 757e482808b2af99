"""What groups cost: which instructions a reduction becomes, and that nothing of a group is left."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

import kdsl
from kdsl import Ptr, f32, f64, groups, i32, kernel, thread_idx, u8
from kdsl.codegen.sass import assemble
from kdsl.target import Target


def instructions(k: Any, arch: str = "sm_80", **signature: Any) -> Counter[str]:
    """How often each opcode is in the PTX, moves and addresses included."""
    ptx = kdsl.compile(k, target=arch, **({"signature": signature} if signature else {})).ptx
    assemble(ptx, Target.parse(arch))
    lines = re.findall(r"^\t(?:@!?%p\d+ )?([a-z][\w.]*)\s.*;", ptx, re.MULTILINE)
    return Counter(line for line in lines if not line.startswith("."))


def only(found: Counter[str], *prefixes: str) -> dict[str, int]:
    return {name: n for name, n in found.items() if name.startswith(prefixes)}


@kernel
def warp_i32(a: Ptr[i32]):
    a[thread_idx.x] = groups.tile(32).reduce(a[thread_idx.x], "add")


@kernel
def warp_f32(a: Ptr[f32]):
    a[thread_idx.x] = groups.tile(32).reduce(a[thread_idx.x], "add")


@kernel
def half_f64(a: Ptr[f64]):
    a[thread_idx.x] = groups.tile(16).reduce(a[thread_idx.x], "max")


@kernel
def small_i32(a: Ptr[i32]):
    a[thread_idx.x] = groups.tile(8).reduce(a[thread_idx.x], "max")


@kernel
def alone(a: Ptr[f32]):
    a[thread_idx.x] = groups.tile(1).reduce(a[thread_idx.x], "add")


@kernel
def any_lanes(a: Ptr[i32]):
    if a[thread_idx.x] > 0:
        a[thread_idx.x] = groups.coalesced().reduce(a[thread_idx.x], "xor")


@kernel
def block_i32(a: Ptr[i32]):
    a[thread_idx.x] = groups.this_block().reduce(a[thread_idx.x], "add")


@kernel
def block_f32(a: Ptr[f32]):
    a[thread_idx.x] = groups.this_block().reduce(a[thread_idx.x], "add")


@kernel
def twice(a: Ptr[f32], b: Ptr[i32]):
    block = groups.this_block()
    a[thread_idx.x] = block.reduce(a[thread_idx.x], "add") + block.reduce(a[thread_idx.x], "max")
    b[thread_idx.x] = block.exclusive_scan(b[thread_idx.x], "add") + block.reduce(b[thread_idx.x], "min")


def test_a_warp_of_ints_is_one_instruction() -> None:
    found = instructions(warp_i32)
    assert only(found, "redux", "shfl", "bra", "setp") == {"redux.sync.add.s32": 1}
    assert sum(found.values()) == 8


def test_a_warp_of_floats_is_five_shuffles_and_five_adds() -> None:
    found = instructions(warp_f32)
    assert only(found, "shfl", "add.rn", "add.f32", "fma", "bra", "setp", "selp", "ld", "st", "call") == {
        "shfl.sync.bfly.b32": 5,
        "add.rn.f32": 5,
        "ld.param.b64": 1,
        "ld.global.b32": 1,
        "st.global.b32": 1,
    }
    assert sum(found.values()) == 16


def test_half_a_warp_of_doubles() -> None:
    assert only(instructions(half_f64), "shfl", "max", "bra", "setp") == {"shfl.sync.bfly.b32": 8, "max.f64": 4}


def test_a_part_of_a_warp_of_ints_is_one_instruction() -> None:
    assert only(instructions(small_i32), "redux", "shfl", "bra") == {"redux.sync.max.s32": 1}
    assert only(instructions(any_lanes), "redux", "shfl") == {"redux.sync.xor.b32": 1}


def test_a_tile_of_one_is_nothing() -> None:
    assert only(instructions(alone), "shfl", "add.rn", "add.f32", "bra") == {}


@pytest.mark.parametrize("k", [block_i32, block_f32])
def test_a_block_takes_two_barriers_and_no_local_memory(k: Any) -> None:
    found = instructions(k)
    assert found["bar.sync"] == 2
    assert not only(found, "ld.local", "st.local", "call")
    wanted = {"redux.sync.add.s32": 2} if k is block_i32 else {"shfl.sync.down.b32": 10}
    assert only(found, "redux", "shfl") == wanted


def test_calls_share_their_memory() -> None:
    ptx = kdsl.compile(twice).ptx
    sizes = [int(n) for n in re.findall(r"\.shared \.align 16 \.b8 \w+[$\w]*\[(\d+)\]", ptx)]
    scalars = len(re.findall(r"\.shared \.align 16 \.[bfsu]32 ", ptx))
    # Two of floats and two of ints, of 32 words or of the one that is used.
    assert len(sizes) + scalars == 4
    assert max(sizes) == 128


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("k", [warp_i32, warp_f32, half_f64, small_i32, any_lanes, block_i32, block_f32, twice])
def test_every_architecture_takes_it(k: Any, arch: str) -> None:
    assert instructions(k, arch)


@kernel
def told(a: Ptr[u8]):
    i = thread_idx.x
    a[i] = u8(groups.tile(8).ballot(a[i] > 3) & 255)


def test_lines_are_those_of_the_call() -> None:
    """The functions of `kdsl.groups` have no lines of their own in what the user sees."""
    ptx = kdsl.compile(twice).ptx
    assert re.findall(r'\.file\s+\d+ "([^"]+)"', ptx) == ["test_groups.py"]
    # A ballot, a shift by 0, 8, 16 or 24, and no more.
    assert only(instructions(told), "vote", "shr", "shfl") == {"vote.sync.ballot.b32": 1, "shr.u32": 1}
