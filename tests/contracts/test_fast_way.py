"""What a contract costs: it is checked in the generated packer, and configurations are derived once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Ptr, Stream, f32, grid, i32, kernel
from kdsl.ir.show import show
from kdsl.runtime.contracts import LaunchChecks
from kdsl.runtime.derived import DerivedLaunches


@kernel(
    requires=("a.size >= n >= 0 and a.ptr % 16 == 0", "a.shape[0] >= n and a.ndim == 1", "a.nbytes >= 4 * n", "a.strides[0] == 4",
              "grid.x * block.x >= n", "x < 2.5", "1 << n < 2000 or n > 9"),
    block=32, grid="ceil(n / 32)",
)  # fmt: skip
def fill(a: Ptr[f32], n: i32, x: f32) -> None:
    i = grid(1)
    if i < n:
        a[i] = x


class Counting:
    """An int that is another one each time it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __index__(self) -> int:
        self.asked += 1
        return 2 if self.asked == 1 else 1000


def test_the_number_that_is_checked_is_the_one_that_is_passed(device: str) -> None:
    # Its own on each device: a launch that finds its arrays on another one begins anew.
    @kernel(requires="n <= 4")
    def few(x: Ptr[i32], n: i32) -> None:
        x[0] = n

    x = kdsl.zeros(1, i32)
    for launch in (few[1, 1], few[1, 1], lambda *given: few.prepare(1, 1, *given)()):
        launch(x, Counting())
        assert x.to_host()[0] == 2


def never(*_: Any, **__: Any) -> None:
    raise AssertionError("the checked way was taken")


def test_launches_with_device_arrays_stay_on_the_fast_way(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a = kdsl.zeros(100)
    stream = Stream()
    fill[4, 32](a, 100, 1.0)
    fill.launch(a, 100, 1.0)
    fill.launch_on(stream, a, 100, 1.0)
    with monkeypatch.context() as patched:
        patched.setattr(LaunchChecks, "check", never)
        patched.setattr(DerivedLaunches, "_derived", never)
        fill[4, 32](a, 100, 2.0)
        fill[4, 32](a, np.int64(99), 2.0)
        fill.launch(a, 98, x=2.0)
        fill.launch_on(stream, a, 97, 2.0)
        with pytest.raises(AssertionError, match="the checked way"):
            fill[4, 32](a, 101, 2.0)
        with pytest.raises(AssertionError, match="the checked way"):
            fill[4, 32](a, 100, np.float32(2.0))  # whose comparisons round
        with pytest.raises(AssertionError, match="the checked way"):
            fill.launch(a, 5, 2.0)  # a new grid
    kdsl.synchronize()
    assert (a.to_host() == 2).all()


def test_what_the_configuration_alone_says_is_not_looked_at_in_launches(device: str) -> None:
    @kernel(requires=("block.x == 32", "grid.size < 9"))
    def configured(a: Ptr[f32]) -> None:
        a[0] = 1.0

    configured[1, 32](kdsl.zeros(1))
    (made,) = configured._specializations.values()
    assert "block" not in made.launcher.describe
    assert "grid" not in made.launcher.describe


def test_the_packer_checks_in_plain_python(device: str) -> None:
    fill[4, 32](kdsl.zeros(100), 100, 1.0)
    (made, *_) = fill._specializations.values()
    text = made.launcher.describe
    for part in (
        "(_prod(a.shape) >= _n_value >= 0)",
        "((a.address % 16) == 0)",
        "(a.shape[0] >= _n_value)",
        "((_prod(a.shape) * 4) >= (4 * _n_value))",
        "((_grid_x * _block_x) >= _n_value)",
        "_type(x) is _float and",
    ):
        assert part in text, part


def test_the_tree_shows_the_contract() -> None:
    assert show(fill.compile(target="sm_90").tree).splitlines()[:11] == [
        "kernel fill(a: Ptr[f32], n: i32, x: f32):",
        "    requires a.size >= n >= 0",
        "    requires a.ptr % 16 == 0",
        "    requires a.shape[0] >= n",
        "    requires a.ndim == 1",
        "    requires a.nbytes >= 4 * n",
        "    requires a.strides[0] == 4",
        "    requires grid.x * block.x >= n",
        "    requires x < 2.5",
        "    requires 1 << n < 2000 or n > 9",
        "    block 32, 1, 1",
    ]


def test_the_ptx_says_the_contract() -> None:
    text = fill.compile(target="sm_90").ptx
    before = text[: text.index(".visible .entry fill(")].splitlines()
    assert before[-11:] == [
        "// requires a.size >= n >= 0",
        "// requires a.ptr % 16 == 0",
        "// requires a.shape[0] >= n",
        "// requires a.ndim == 1",
        "// requires a.nbytes >= 4 * n",
        "// requires a.strides[0] == 4",
        "// requires grid.x * block.x >= n",
        "// requires x < 2.5",
        "// requires 1 << n < 2000 or n > 9",
        "// block 32, 1, 1",
        "// grid ceil(n / 32), 1, 1",
    ]
