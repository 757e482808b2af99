"""What a debug build says of views that leave their arrays."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    MemoryFault,
    Ptr,
    f32,
    i32,
    kernel,
)

A = np.arange(24, dtype=np.float32).reshape(4, 6)


@kernel(debug=True)
def checked(a: Array[f32, 2], lo: i32, hi: i32, j: i32, what: i32, out: Ptr[f32]):
    if what == 0:
        row = a[lo]
        out[0] = row[j]
    elif what == 1:
        part = a[0, lo:hi]
        out[0] = part[j]
    elif what == 2:
        out[0] = a[:, j][lo]
    elif what == 3:
        out[0] = f32(len(a[0, lo:hi:j]))
    elif what == 4:
        out[0] = f32(a.reshape(lo, hi).shape[0])
    elif what == 5:
        out[0] = f32(len(a[0, lo:hi:-1]))


def run_checked(*arguments: int) -> str:
    try:
        checked[1, 1](A, *arguments, np.zeros(1, np.float32))
    except kdsl.DeviceError as error:
        return str(error).partition("checked: ")[2].partition(" (block")[0]
    return ""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((4, 0, 0, 0), "index 4 is outside of axis 0 of `a`, whose extent is 4"),
        ((-1, 0, 0, 0), "index -1 is outside of axis 0 of `a`, whose extent is 4"),
        ((0, 0, 6, 0), "index 6 is outside of axis 0 of `row`, whose extent is 6"),
        ((0, 7, 0, 1), "a slice ends at 7, outside of axis 1 of `a`, whose extent is 6"),
        ((-1, 3, 0, 1), "a slice starts at -1, outside of axis 1 of `a`, whose extent is 6"),
        ((0, -1, 0, 1), "a slice ends at -1, outside of axis 1 of `a`, whose extent is 6"),
        ((2, 5, 3, 1), "index 3 is outside of axis 0 of `part`, whose extent is 3"),
        ((3, 1, 0, 1), "index 0 is outside of axis 0 of `part`, whose extent is 0"),
        ((4, 0, 1, 2), "index 4 is outside of axis 0 of a part of `a`, whose extent is 4"),
        ((0, 0, 6, 2), "index 6 is outside of axis 1 of `a`, whose extent is 6"),
        ((0, 6, 0, 3), "a slice of axis 1 of `a` has step 0, which is not positive"),
        ((0, 6, 2, 3), ""),
        ((9, 3, 1, 3), ""),
        ((5, 5, 0, 4), "a shape of 25 elements for an array of 24"),
        ((3, 8, 0, 4), ""),
        ((6, 1, 0, 5), "a slice starts at 6, outside of axis 1 of `a`, whose extent is 6"),
        ((3, -1, 0, 5), "a slice ends at -1, outside of axis 1 of `a`, whose extent is 6"),
        ((5, 0, 0, 5), ""),
    ],
)
def test_debug_builds_check_bounds(arguments: tuple[int, ...], text: str) -> None:
    assert run_checked(*arguments) == text


def test_a_failed_check_is_a_memory_fault() -> None:
    with pytest.raises(MemoryFault):
        checked[1, 1](A, 0, 7, 0, 1, np.zeros(1, np.float32))
