"""Prepared launches: the memory that they hold, and what they say once it was given back."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Ptr, f32, grid, i32, kernel


@kernel
def scale(x: Ptr[f32], n: i32, by: f32 = 2.0) -> None:
    i = grid(1)
    if i < n:
        x[i] = x[i] * by


@kdsl.struct
class Node:
    value: i32
    next: Ptr[i32]


@kernel
def follow(node: Node, out: Ptr[i32]) -> None:
    out[0] = node.value + node.next[0]


@kernel
def applied(x: Ptr[i32], f) -> None:  # type: ignore[no-untyped-def]
    x[0] = f(x[0])


def test_the_memory_that_a_struct_points_at_stays(device: str) -> None:
    node = Node(5, kdsl.to_device(np.array([30], np.int32)))
    kept = weakref.ref(node.next)
    out = kdsl.zeros(1, i32)
    p = follow.prepare(1, 1, node, out)
    node.next = None
    node.value = 0
    gc.collect()
    assert kept() is not None
    p()
    assert out.to_host()[0] == 35
    del p
    gc.collect()
    assert kept() is None


def test_the_memory_that_a_struct_in_a_function_points_at_stays(device: str) -> None:
    node = Node(5, kdsl.to_device(np.array([30], np.int32)))
    kept = weakref.ref(node.next)

    def reading(node: Any) -> Any:
        return lambda v: v + node.value + node.next[0]

    x = kdsl.zeros(1, i32)
    p = applied.prepare(1, 1, x, reading(node))
    node.next = None
    gc.collect()
    assert kept() is not None
    p()
    assert x.to_host()[0] == 35


def test_a_freed_array_is_told_and_not_used(device: str) -> None:
    x, y = kdsl.to_device(np.ones(4, np.float32)), kdsl.to_device(np.ones(4, np.float32))
    p = scale.prepare(1, 32, x, 4)
    q = p.with_arguments(x=y)
    through_view = scale.prepare(1, 32, x[1:], 2)
    p()
    x.free()
    for launch in (p, p.launch, through_view, p):
        with pytest.raises(ValueError, match=r"was freed by free\(\)"):
            launch()
    for again in (lambda: p.with_arguments(n=3), lambda: p.with_config(1, 64)):
        with pytest.raises(ValueError, match="freed"):
            again()
    with kdsl.launch_hooks(before=print), pytest.raises(ValueError, match="freed"):
        p()
    q()
    p.with_arguments(x=y)()
    assert (y.to_host() == 4).all()


def test_memory_that_a_struct_points_at_may_be_freed(device: str) -> None:
    node, out = Node(5, kdsl.to_device(np.array([30], np.int32))), kdsl.zeros(1, i32)
    p = follow.prepare(1, 1, node, out)
    node.next.free()
    with pytest.raises(ValueError, match="freed"):
        p()
