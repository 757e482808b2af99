"""Unroll hints of `range`: the metadata that LLVM reads, and what it makes of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, f32, i32, kernel, unroll
from kdsl.codegen.lower import lower
from kdsl.target import Target


@kernel
def by_four(x: Ptr[f32], n: i32):
    for i in range(n, unroll=4):
        x[i] = x[i] * 2.0


@kernel
def not_at_all(x: Ptr[f32], n: i32):
    for i in range(0, 8, unroll=False):
        x[i * n] = x[i * n] * 2.0


@kernel
def once(x: Ptr[f32], n: i32):
    for i in range(8, unroll=1):
        x[i * n] = x[i * n] * 2.0


@kernel
def whole(x: Ptr[f32], n: i32):
    # LLVM's own limit would leave this a loop.
    for i in range(200, unroll=True):
        x[i * n] = x[i * n] * 2.0


@kernel
def uncounted(x: Ptr[f32], n: i32):
    for i in range(n, unroll=True):
        x[i] = x[i] * 2.0


@kernel
def twice(x: Ptr[f32], n: i32):
    for i in range(n, unroll=2):
        x[i] = x[i] * 2.0
    for i in reversed(range(0, n, 3, unroll=2)):
        x[i] = x[i] + 1.0


@kernel
def called(x: Ptr[f32], n: i32):
    for i in unroll(range(n), 4):
        x[i] = x[i] * 2.0
    for i in unroll(range(8)):
        x[i * n] = x[i * n] * 2.0
    for k, i in enumerate(kdsl.unroll(range(0, n, 3), times=False)):
        x[i] = x[i] + k


def hints(kernel: Any) -> list[str]:
    """What the node of each loop says besides itself."""
    text = lower(kdsl.compile(kernel, target="sm_90").tree, Target.parse("sm_90"))
    nodes = dict(re.findall(r"^!(\d+) = !\{ (.*) \}$", text, re.M))
    found = []
    for number in re.findall(r"!llvm\.loop !(\d+)", text):
        own, hint = nodes[number].split(", ")
        assert own == f"!{number}"
        found.append(nodes[hint[1:]])
    return found


@pytest.mark.parametrize(
    "kernel, expected",
    [
        (by_four, ['!"llvm.loop.unroll.count", i32 4']),
        (not_at_all, ['!"llvm.loop.unroll.disable"']),
        (once, ['!"llvm.loop.unroll.disable"']),
        (whole, ['!"llvm.loop.unroll.full"']),
        (uncounted, ['!"llvm.loop.unroll.enable"']),
        (called, ['!"llvm.loop.unroll.count", i32 4', '!"llvm.loop.unroll.full"', '!"llvm.loop.unroll.disable"']),
        (twice, ['!"llvm.loop.unroll.count", i32 2'] * 2),
    ],
)
def test_metadata(kernel: Any, expected: list[str]):
    assert hints(kernel) == expected


@pytest.mark.parametrize("kernel, copies", [(by_four, 4 + 1), (not_at_all, 1), (once, 1), (whole, 200)])
def test_copies(kernel: Any, copies: int):
    assert kdsl.compile(kernel, target="sm_90").ptx.count("st.global") == copies


def test_loops_with_one_hint_stay_apart():
    text = lower(kdsl.compile(twice, target="sm_90").tree, Target.parse("sm_90"))
    first, second = re.findall(r"!llvm\.loop !(\d+)", text)
    assert first != second


@kernel
def hinted(out: Array[i32, 1], n: i32):
    a = b = c = 0
    for i in range(n, unroll=4):
        a = a * 3 + i
    for i in range(20, unroll=True):
        b = b * 3 + i * n
    for i in reversed(range(n, unroll=False)):
        c = c * 3 + i
    out[0], out[1], out[2] = a, b, c


@pytest.mark.parametrize("n", [0, 1, 3, 4, 7, 11])
def test_results(device: str, n: int):
    out = np.zeros(3, np.int32)
    hinted[1, 1](out, n)
    a = b = c = 0
    for i in range(n):
        a = a * 3 + i
    for i in range(20):
        b = b * 3 + i * n
    for i in reversed(range(n)):
        c = c * 3 + i
    assert list(out) == [(v + 2**31) % 2**32 - 2**31 for v in (a, b, c)]
