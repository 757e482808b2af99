"""Names of the kernel language that the host computes with: an error that says where they have a value, and nothing
that looks like a number.
"""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import atomic, block_dim, block_idx, cluster_idx, grid, lane_id, shared, sync_threads, thread_idx

VALUE = "{0} has a value in a kernel alone: read it inside a @kernel function"
FUNCTION = "{0}() is a function of the kernel language: call it inside a @kernel function"
REGISTER = "{0}.x, .y and .z have values in a kernel alone: read them inside a @kernel function"
USES: list[Callable[[Any], object]] = [
    lambda v: v + 1, lambda v: 1 + v, lambda v: v - 1, lambda v: 2 * v, lambda v: v / 2, lambda v: v // 2,
    lambda v: v % 2, lambda v: 2**v, lambda v: divmod(v, 2), lambda v: v << 1, lambda v: v & 1, lambda v: v | 1,
    lambda v: v ^ 1, lambda v: v @ v, lambda v: -v, lambda v: +v, lambda v: ~v, abs, round, lambda v: v < 5,
    lambda v: 5 <= v, lambda v: v == 0, lambda v: v != 0, lambda v: 0 == v, lambda v: v == np.int32(3), int, float,
    complex, range, math.sqrt, operator.index, lambda v: [1, 2][v], lambda v: np.float32(2) * v, np.int32,
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (thread_idx.x, VALUE.format("thread_idx.x")),
        (block_idx.y, VALUE.format("block_idx.y")),
        (block_dim.z, VALUE.format("block_dim.z")),
        (cluster_idx.x, VALUE.format("cluster_idx.x")),
        (lane_id, FUNCTION.format("lane_id")),
        (sync_threads, FUNCTION.format("sync_threads")),
        (shared.array, FUNCTION.format("shared.array")),
        (atomic.add, FUNCTION.format("atomic.add")),
    ],
)
def test_it_is_no_number(value: Any, text: str) -> None:
    for use in USES:
        with pytest.raises(TypeError) as caught:
            use(value)
        assert str(caught.value) == text


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: bool(thread_idx.x), TypeError, VALUE.format("thread_idx.x")),
        (lambda: thread_idx.x(), TypeError, VALUE.format("thread_idx.x")),  # type: ignore[operator]
        (lambda: block_idx[0], TypeError, REGISTER.format("block_idx")),  # type: ignore[index]
        (lambda: thread_idx + 1, TypeError, REGISTER.format("thread_idx")),  # type: ignore[operator]
        (lambda: block_dim.w, AttributeError, "a special register has .x, .y and .z, and no 'w'"),  # type: ignore[attr-defined]
        (lambda: grid(1), TypeError, FUNCTION.format("grid")),
        (lambda: atomic.add(np.zeros(1), 0, 1), TypeError, FUNCTION.format("atomic.add")),
    ],
)
def test_other_uses(call: Callable[[], object], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_they_stay_objects() -> None:
    names: list[Any] = [thread_idx.x, thread_idx.y, lane_id, sync_threads, shared.array]
    assert [names.index(name) for name in names] == [0, 1, 2, 3, 4]
    assert {name: index for index, name in enumerate(names)}[lane_id] == 2
    assert thread_idx.x != thread_idx.y and thread_idx.x is not None and lane_id != "lane_id"  # type: ignore[comparison-overlap]
    for name in names:
        assert pickle.loads(pickle.dumps(name)) is name
        assert copy.copy(name) is name and str(name).endswith("of the kernel language>")
    assert pickle.loads(pickle.dumps(thread_idx)).x is thread_idx.x
    assert kdsl.warp_size + 1 == 33
