"""Shuffles of every scalar type, votes and counting barriers, against their definitions in the CUDA C++ guide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kdsl.backend import Backend

from .calls import Call, calls
from .device import evaluate

LANES = 64
"""Two warps, so that what crosses from one to the other is seen."""

FULL = np.full(LANES, 0xFFFF_FFFF, np.uint32)
BY_NAME: dict[str, list[Call]] = {}
for _call in calls():
    BY_NAME.setdefault(_call.intrinsic.name, []).append(_call)


def _idx(lane: int, operand: int, width: int) -> int:
    return lane - lane % width + operand % width


def _up(lane: int, operand: int, width: int) -> int:
    return lane - operand if lane % width >= operand else lane


def _down(lane: int, operand: int, width: int) -> int:
    return lane + operand if lane % width + operand < width else lane


def _xor(lane: int, operand: int, width: int) -> int:
    # A lane of a later group is out of reach, one of an earlier group is not.
    other = lane ^ operand
    return other if other < lane - lane % width + width else lane


SOURCES: dict[str, Callable[[int, int, int], int]] = {
    "shfl_sync": _idx,
    "shfl_up_sync": _up,
    "shfl_down_sync": _down,
    "shfl_xor_sync": _xor,
}


@pytest.mark.parametrize("call", [c for name in SOURCES for c in BY_NAME[name]], ids=lambda c: c.id)
@pytest.mark.parametrize("width", [32, 8, 1])
def test_shuffle(call: Call, width: int, backend: Backend) -> None:
    rng = np.random.default_rng(width)
    dtype = call.bound.numpy
    bits = rng.integers(0, 2 if dtype.kind == "b" else 256, LANES * dtype.itemsize, np.uint8)
    values = bits.view(dtype)
    operands = rng.integers(0, 32, LANES).astype(np.uint32)
    (results,) = evaluate(backend, call, [FULL, values, operands, np.full(LANES, width, np.int32)])
    source = SOURCES[call.intrinsic.name]
    expected = [
        values[thread - thread % 32 + source(thread % 32, int(operands[thread]), width)] for thread in range(LANES)
    ]
    assert results.tobytes() == np.array(expected, dtype).tobytes()


@pytest.mark.parametrize("truth", ["none", "some", "first warp", "all"])
def test_votes(truth: str, backend: Backend) -> None:
    some = np.random.default_rng(1).integers(0, 2, LANES).astype(bool)
    predicate = {"none": some & False, "some": some, "first warp": np.arange(LANES) < 32, "all": some | True}[truth]
    warps = predicate.reshape(2, 32)
    expected = {
        "all_sync": warps.all(axis=1),
        "any_sync": warps.any(axis=1),
        "ballot_sync": np.packbits(warps, axis=1, bitorder="little").view(np.uint32)[:, 0],
    }
    for name, by_warp in expected.items():
        (results,) = evaluate(backend, BY_NAME[name][0], [FULL, predicate])
        assert results.tolist() == np.repeat(by_warp, 32).tolist(), name


@pytest.mark.parametrize("truth", [0, 1, 40, LANES])
def test_counting_barriers(truth: int, backend: Backend) -> None:
    predicate = np.arange(LANES) < truth
    expected = {"sync_threads_count": truth, "sync_threads_and": truth == LANES, "sync_threads_or": truth > 0}
    for name, everywhere in expected.items():
        (results,) = evaluate(backend, BY_NAME[name][0], [predicate])
        assert results.tolist() == [everywhere] * LANES, name


def test_lanes_warps_and_who_is_there(backend: Backend) -> None:
    assert evaluate(backend, BY_NAME["lane_id"][0], [], LANES)[0].tolist() == [*range(32)] * 2
    assert evaluate(backend, BY_NAME["warp_id"][0], [], LANES)[0].tolist() == [0] * 32 + [1] * 32
    assert (
        evaluate(backend, BY_NAME["active_mask"][0], [], LANES - 8)[0].tolist() == [0xFFFF_FFFF] * 32 + [0xFF_FFFF] * 24
    )
