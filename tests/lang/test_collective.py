"""Matches, reductions and elections across warps, against a reading of each warp lane by lane."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

from kdsl import (
    FULL_MASK,
    Array,
    Ptr,
    f32,
    i32,
    kernel,
    lanemask_lt,
    match_all_sync,
    match_any_sync,
    reduce_add_sync,
    reduce_max_sync,
    thread_idx,
)
from kdsl.backend import Backend
from kdsl.lang import types as t

from .calls import Call, calls
from .device import evaluate

BY_NAME: dict[str, list[Call]] = {}
for _call in calls():
    BY_NAME.setdefault(_call.intrinsic.name, []).append(_call)

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "reduce_add_sync": lambda x, y: x + y,
    "reduce_min_sync": min,
    "reduce_max_sync": max,
    "reduce_and_sync": lambda x, y: x & y,
    "reduce_or_sync": lambda x, y: x | y,
    "reduce_xor_sync": lambda x, y: x ^ y,
}


def masks(kind: str, threads: int) -> np.ndarray:
    """For each thread the lanes that it works with, its own among them."""
    group = {
        "full": np.zeros(threads, int),
        "halves": np.arange(threads) % 32 // 16,
        "scattered": np.random.default_rng(3).integers(0, 5, threads),
        "alone": np.arange(threads),
    }[kind]
    lanes = [[o for o in members(i, threads) if group[o] == group[i]] for i in range(threads)]
    return np.array([sum(1 << o % 32 for o in others) for others in lanes], np.uint32)


def members(thread: int, threads: int, mask: int = 0xFFFF_FFFF) -> list[int]:
    """The threads of a thread's warp that ``mask`` names."""
    start = thread - thread % 32
    return [other for other in range(start, min(start + 32, threads)) if mask >> other % 32 & 1]


def few_values(type_: t.ScalarType, count: int, seed: int) -> np.ndarray:
    """Values of any bits, each many times."""
    rng = np.random.default_rng(seed)
    if type_.numpy.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    pool = np.frombuffer(rng.bytes(3 * type_.size), type_.numpy)
    return pool[rng.integers(0, 3, count)]


KINDS = ["full", "halves", "scattered", "alone"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", BY_NAME["match_any_sync"], ids=lambda c: c.id)
def test_match_any(call: Call, kind: str, backend: Backend) -> None:
    values, mask = few_values(call.bound, 64, 1), masks(kind, 64)
    (results,) = evaluate(backend, call, [mask, values])
    for thread in range(64):
        same = [o for o in members(thread, 64, int(mask[thread])) if values[o].tobytes() == values[thread].tobytes()]
        assert results[thread] == sum(1 << o % 32 for o in same)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", BY_NAME["match_all_sync"], ids=lambda c: c.id)
def test_match_all(call: Call, kind: str, backend: Backend) -> None:
    values, mask = few_values(call.bound, 64, 2), masks(kind, 64)
    values[:32] = values[0]
    found, agreed = evaluate(backend, call, [mask, values])
    for thread in range(64):
        held = {values[o].tobytes() for o in members(thread, 64, int(mask[thread]))}
        assert bool(agreed[thread]) == (len(held) == 1)
        assert found[thread] == (mask[thread] if len(held) == 1 else 0)
    assert agreed[:32].all()


FLOAT_BITS = [0, 0x8000_0000, 1, 0x8000_0001, 0x3F80_0000, 0xBF80_0000, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000]
"""Both zeros, subnormals, ones, infinities, a NaN."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arch", [None, "sm_75", "sm_100a"])
@pytest.mark.parametrize("name", ["reduce_min_sync", "reduce_max_sync"])
def test_reduction_of_floats(name: str, arch: str | None, kind: str, backend: Backend) -> None:
    if arch == "sm_100a" and backend.name == "cuda" and not backend.target.startswith("sm_100"):
        pytest.skip("the instruction is of sm_100a")
    (call,) = [c for c in BY_NAME[name] if c.bound == t.F32]
    rng = np.random.default_rng(6)
    values = np.array(FLOAT_BITS, np.uint32).view(np.float32)[rng.integers(0, len(FLOAT_BITS), 64)]
    mask = masks(kind, 64)
    (results,) = evaluate(backend, call, [mask, values], arch=arch)
    choose = min if name == "reduce_min_sync" else max
    for thread in range(64):
        inputs = [values[o] for o in members(thread, 64, int(mask[thread]))]
        numbers = [v for v in inputs if not np.isnan(v)]
        if not numbers:
            assert np.isnan(results[thread])
            continue
        expected = choose(numbers, key=lambda v: (v, not np.signbit(v)))
        assert results[thread].tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arch", [None, "sm_75"], ids=["redux", "shuffles"])
@pytest.mark.parametrize(
    "call", [c for name in OPERATIONS for c in BY_NAME[name] if c.bound.is_int], ids=lambda c: c.id
)
def test_reduction(call: Call, arch: str | None, kind: str, backend: Backend) -> None:
    rng, type_ = np.random.default_rng(5), call.bound
    values = rng.integers(type_.minimum, type_.maximum, 64, type_.numpy, endpoint=True)
    mask = masks(kind, 64)
    (results,) = evaluate(backend, call, [mask, values], arch=arch)
    for thread in range(64):
        inputs = [values[o].item() for o in members(thread, 64, int(mask[thread]))]
        expected = functools.reduce(OPERATIONS[call.intrinsic.name], inputs)
        assert results[thread].item() & 0xFFFF_FFFF == expected & 0xFFFF_FFFF


@pytest.mark.parametrize("arch", [None, "sm_75"], ids=["redux", "shuffles"])
def test_reduction_over_lanes_that_the_block_does_not_have(arch: str | None, backend: Backend) -> None:
    call = next(c for c in BY_NAME["reduce_max_sync"] if c.bound == t.I32)
    values = -1 - np.arange(40, dtype=np.int32)
    (results,) = evaluate(backend, call, [np.full(40, 0xFFFF_FFFF, np.uint32), values], arch=arch)
    assert results.tolist() == [-1] * 32 + [-33] * 8


@pytest.mark.parametrize("kind", KINDS)
def test_one_lane_of_a_mask_is_elected(kind: str, backend: Backend) -> None:
    mask = masks(kind, 64)
    (chosen,) = evaluate(backend, BY_NAME["elect_sync"][0], [mask])
    for thread in range(64):
        assert sum(bool(chosen[o]) for o in members(thread, 64, int(mask[thread]))) == 1


@pytest.mark.parametrize("relation", ["eq", "lt", "le", "gt", "ge"])
def test_lane_masks(relation: str, backend: Backend) -> None:
    (results,) = evaluate(backend, BY_NAME[f"lanemask_{relation}"][0], [], 40)
    compare = getattr(int, f"__{relation}__")
    assert results.tolist() == [sum(1 << o for o in range(32) if compare(o, i % 32)) for i in range(40)]


@kernel
def agreement(values: Ptr[f32], out: Array[i32, 2]) -> None:
    i = thread_idx.x
    same = match_any_sync(FULL_MASK, values[i])
    found, agreed = match_all_sync(FULL_MASK, values[i])
    leader = same & lanemask_lt() == 0
    out[i, 0] = reduce_add_sync(FULL_MASK, i32(leader))
    out[i, 1] = reduce_max_sync(same, i)
    out[i, 2] = i32(agreed and found == FULL_MASK)


def test_a_kernel_written_in_python() -> None:
    values = (np.arange(32) % 5).astype(np.float32)
    out = np.zeros((32, 3), np.int32)
    agreement[1, 32](values, out)
    assert out[:, 0].tolist() == [5] * 32
    assert out[:, 1].tolist() == [max(j for j in range(32) if j % 5 == i % 5) for i in range(32)]
    assert not out[:, 2].any()


def test_reductions_are_one_instruction() -> None:
    body = agreement.compile(target="sm_80").ptx
    assert body.count("redux.sync.add.s32") == body.count("redux.sync.max.s32") == 1
    assert "shfl" not in body
    older = agreement.compile(target="sm_75").ptx
    assert "redux" not in older
    assert "shfl.sync.bfly" in older
