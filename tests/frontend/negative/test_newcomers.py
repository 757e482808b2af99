"""What those who come from CUDA C++ and NumPy write first, and what each is told."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, block_dim, f32, f32x4, kernel, shared, thread_idx

from ..harness import check_errors


def test_registers_have_named_components():
    @kernel
    def k(x: Ptr[f32]):
        i, j, z = thread_idx  # error: `thread_idx` cannot be unpacked: it is no tuple
        #   # hint: name its components: thread_idx.x, thread_idx.y, thread_idx.z
        m = block_dim[0]  # error: `block_dim` cannot be indexed # hint: name its components: .x, .y and .z

    check_errors(k)


def test_vectors_in_loops():
    @kernel
    def k(x: Ptr[f32]):
        v = f32x4(1, 2, 3, 4)
        for i in range(4):
            x[0] += v[i]  # error: a vector is indexed with a constant
            #   # hint: for i in static_range(4) makes it one; a local.array(4, f32) is indexed at run time

    check_errors(k)


def test_a_bad_grid_shows_the_launch_alone():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = 1.0

    with pytest.raises(kdsl.LaunchConfigError, match="grid.x = 0 must be at least 1") as caught:
        k[0, 256]
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 2


def test_dynamic_shared_memory_without_bytes():
    @kernel
    def k(x: Ptr[f32]):
        p = shared.dynamic(f32)
        p[thread_idx.x] = 1.0
        x[0] = p[0]

    previous = kdsl.current_device().name
    kdsl.set_device("emulator")
    try:
        with pytest.raises(kdsl.MemoryFault, match=r"as the fourth number: k\[grid, block, stream, shared_bytes\]"):
            k[1, 32](np.zeros(1, np.float32))
    finally:
        kdsl.set_device(previous)


@pytest.mark.parametrize("type", [Ptr[f32], Array[f32, 2]])
def test_no_parameter_is_optional(type: object):
    with pytest.raises(TypeError, match="a parameter of a kernel has one type, and no None"):
        _ = type | None
    with pytest.raises(TypeError, match="a parameter of a kernel has one type, and no None"):
        _ = None | type
