"""Default values of kernel parameters, and arguments by keyword."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kdsl import Array, Constexpr, Ptr, f32, i32, kernel, static_range


@kernel
def defaults(out: Ptr[i32], n: i32 = 5, *, m: i32 = 3):
    out[0] = n * 10 + m


@pytest.mark.parametrize("again", [False, True])
def test_filled_in(device: Any, again: bool):
    out = np.zeros(1, np.int32)
    for _ in range(1 + again):
        for arguments, keywords, expected in (
            ((), {}, 53),
            ((1,), {}, 13),
            ((), {"n": 2}, 23),
            ((4,), {"m": 1}, 41),
            ((), {"m": 9, "n": 8}, 89),
        ):
            defaults[1, 1](out, *arguments, **keywords)
            assert out[0] == expected
        defaults[1, 1](n=7, out=out)
        assert out[0] == 73


def test_without_annotations(device: Any):
    @kernel
    def k(x, scale=0.5, count: Constexpr[int] = 2):
        for i in static_range(count):
            x[i] = x[i] * scale

    x = np.full(3, 8, np.float32)
    k[1, 1](x)
    k[1, 1](x, np.float32(3), count=3)
    assert list(x) == [12, 12, 24]
    k[1, 1](x, count=1)
    assert list(x) == [6, 12, 24]


def test_checked_before_a_launch():
    @kernel
    def wrong(x: Array[f32, 1], n: i32 = 0.5):  # type: ignore[assignment]
        x[0] = n

    x = np.zeros(1, np.float32)
    with pytest.raises(TypeError, match="`n` takes an int"):
        wrong[1, 1](x)
    wrong[1, 1](x, 2)
    assert x[0] == 2
    with pytest.raises(TypeError, match="`out` is missing"):
        defaults[1, 1]()


def test_check_and_compile_know_them():
    @kernel
    def k(x: Ptr[f32], n=4, size: Constexpr[int] = 2):
        x[n] = size

    assert not k.open_names()
    k.check()
    assert "st.global" in k.compile(target="sm_90").ptx
    assert "st.global" in k.compile(target="sm_90", signature={"size": 9}).ptx
