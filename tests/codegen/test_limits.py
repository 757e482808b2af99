"""What would take LLVM minutes, or Python's stack: an error in time."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

import pytest

import kdsl
from kdsl import CompileError, Ptr, i32, kernel, static_range


def step(x):
    return x * 3 + 1


def steps(x):
    for _ in static_range(300):
        x = step(x)
    return x


def test_copies_of_functions():
    @kernel
    def k(out: Ptr[i32]):
        for i in static_range(300):
            out[i] = steps(out[i])

    with pytest.raises(CompileError, match="is copied to each of its calls, and these make more than 65536 copies"):
        _ = kdsl.compile(k, target="sm_90").ptx


def test_a_sum_of_as_many_values_as_a_comprehension_makes():
    @kernel
    def k(out: Ptr[i32]):
        out[0] = sum(out[i] for i in range(1024))

    with pytest.raises(CompileError, match="`k` is nested too deeply to compile"):
        _ = kdsl.compile(k, target="sm_90").ptx
