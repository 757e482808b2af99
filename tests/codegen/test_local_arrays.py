"""Local arrays: constant indices need no memory, others are local accesses."""

from __future__ import annotations

import numpy as np

import kdsl
from kdsl import Ptr, f32, i32, kernel, local, thread_idx


@kernel
def constant_indices(x: Ptr[f32], y: Ptr[f32]):
    pair = local.array(2, f32)
    pair[0] = x[thread_idx.x]
    pair[1] = 2.0
    y[thread_idx.x] = pair[0] + pair[1]


@kernel
def variable_indices(x: Ptr[f32], y: Ptr[f32], n: i32):
    ring = local.array(4, f32)
    for j in range(4):
        ring[(j + n) % 4] = x[thread_idx.x] + f32(j)
    y[thread_idx.x] = ring[3]


def test_constant_indices_stay_in_registers(device: str) -> None:
    assert ".local" not in kdsl.compile(constant_indices, target="sm_90").ptx
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    constant_indices[1, 4](x, y)
    assert y.tolist() == [2.0, 3.0, 4.0, 5.0]


def test_variable_indices_are_local_memory(device: str) -> None:
    assert "st.local.b32" in kdsl.compile(variable_indices, target="sm_90").ptx
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    variable_indices[1, 4](x, y, 1)
    assert y.tolist() == [2.0, 3.0, 4.0, 5.0]
