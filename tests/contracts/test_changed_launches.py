"""Launches that are changed after they were made keep the contract: nodes of graphs; and what occupancy makes of a fixed block."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl import Array, LaunchConfigError, LaunchContractError, Ptr, bf16, f32, grid, i32, kernel, shared


@kernel(requires=("a.size >= n", "grid.x * block.x >= n", "x.shape[0] >= n > 0", "f > 0", "x.ptr % 16 == 0"), block=32)
def fill(a: Ptr[f32], n: i32, x: Array[f32, 1], f: bf16) -> None:
    i = grid(1)
    if i < n:
        a[i] = x[i]


def refused(launch, *arguments, **keywords) -> str:
    with pytest.raises(LaunchContractError) as caught:
        launch(*arguments, **keywords)
    return str(caught.value)


def test_nodes_of_graphs(device: str) -> None:
    a, b, x = kdsl.zeros(100), kdsl.zeros(10), kdsl.to_device(np.ones(90, np.float32))
    stream = kdsl.Stream()
    with stream.capture() as graph:
        fill[3, 32, stream](a, 64, x, 1.0)
    ready = graph.instantiate()
    (node,) = ready.nodes
    assert refused(node.update, n=80) == (
        "fill requires a.size >= n, and of an earlier launch nothing is known of `a`; give a too"
    )
    node.update(n=80, a=a)
    ready.launch()
    kdsl.synchronize()
    assert a.to_host().sum() == 80
    assert refused(node.update, a=b) == "fill requires a.size >= n: a.size = 10, n = 80; pass n <= 10 or a larger `a`"
    assert refused(node.update, a=a, n=91) == (
        "fill requires x.shape[0] >= n > 0: x.shape[0] = 90, n = 91; pass n <= 90 or a larger `x`"
    )
    assert refused(node.update, (1, 32)).startswith(
        "fill requires grid.x * block.x >= n: grid.x = 1, block.x = 32, n = "
    )
    assert refused(node.update, f=-1.0) == "fill requires f > 0: f = -1.0; pass f > 0"
    with pytest.raises(LaunchConfigError, match="compiled for blocks of"):
        node.update((4, 64))
    node.update(f=2.0)
    node.update((4, 32))


def test_the_occupancy_of_a_fixed_block() -> None:
    @kernel(block=(16, 4), requires="grid.x > 7", shared="4 * n")
    def fixed(a: Ptr[f32], n: i32) -> None:
        s = shared.dynamic(f32)
        s[0] = a[0]
        a[0] = s[0]

    fixed.occupancy((16, 4))
    assert fixed.suggest_block().block == 64
    with pytest.raises(LaunchConfigError, match="compiled for blocks of"):
        fixed.occupancy(64)
