"""Asserts with formatted messages: the host's exception shows what Python's own would."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import DeviceAssertionError, Ptr, bf16, block_idx, f16, f32, f64, i8, i32, kernel, thread_idx, u64
from kdsl.codegen.sass import assemble
from kdsl.target import Target

WIDTH = 6


@kernel
def formats(x: f32, n: i32, h: f16, d: f64, w: u64, s: i8, b: bool, q: bf16):
    assert n < 0, (
        f"{n} {n=} {n:5d}|{n:<5}|{n:^7}|{n:*>6}|{n:+}|{n:#x}|{n:#b}|{n:,}|{n:0{WIDTH}d} {x} {x=} {x!r} {x:.3f} {x:e} {x:10.2%}"
        f" {h} {d!s:>12} {w:_} {s:c} {b} {b!r:>6} {b:d} {{braces}} {WIDTH:03d}"
    )


def test_every_format_of_python(device: str) -> None:
    if device != "emulator":
        pytest.skip("a failed assert ends the context; tests/gpu has it")
    x, n, h, d, w, s, b = np.float32(0.1), 1234, np.float16(0.1), 1e300, 2**63, 65, True
    with pytest.raises(DeviceAssertionError) as caught:
        formats[1, 1](x, n, h, d, w, s, b, 1.5)
    expected = (
        f"{n} {n=} {n:5d}|{n:<5}|{n:^7}|{n:*>6}|{n:+}|{n:#x}|{n:#b}|{n:,}|{n:0{WIDTH}d} {x!s} x={x!s} {x!s} {x:.3f} {x:e} {x:10.2%}"
        f" {h!s} {d!s:>12} {w:_} {s:c} {b} {b!r:>6} {b:d} {{braces}} {WIDTH:03d}"
    )
    lines, first = inspect.getsourcelines(formats.function)
    line = first + next(i for i, source in enumerate(lines) if "assert n" in source)
    place = f"test_assert_messages.py:{line}: kernel formats: assertion failed in formats: "
    assert str(caught.value) == f"{place}{expected} (block (0, 0, 0), thread (0, 0, 0))"
    assert (caught.value.kernel, caught.value.line, caught.value.thread) == ("formats", line, (0, 0, 0))


def half(n):
    assert n % 2 == 0, f"{n} is odd, of block {block_idx.x} at {(n, 0.5)}"
    return n // 2


@kernel
def helper(x: Ptr[i32]):
    x[0] = half(thread_idx.x * 3 + block_idx.x)


def test_the_first_thread_to_fail_tells() -> None:
    with pytest.raises(DeviceAssertionError) as caught:
        helper[2, 4](np.zeros(1, np.int32))
    text = (
        "kernel helper: assertion failed in half: 3 is odd, of block 0 at (3, 0.5) (block (0, 0, 0), thread (1, 0, 0))"
    )
    assert str(caught.value).endswith(text)
    assert (caught.value.block, caught.value.thread) == ((0, 0, 0), (1, 0, 0))


@kernel
def plain(n: i32):
    assert n < 5, "n is small: {n} %d"
    assert n != 3


def test_messages_without_values() -> None:
    plain[1, 1](2)
    with pytest.raises(DeviceAssertionError, match=r"assertion failed in plain: n is small: \{n\} %d \(block"):
        plain[1, 1](7)
    with pytest.raises(DeviceAssertionError, match=r"assertion failed in plain: assertion failed: n != 3 \(block"):
        plain[1, 1](3)
    plain[1, 1](2)


def effect(p):
    p[0] += 1
    return p[0]


@kernel
def lazily(p: Ptr[i32], n: i32):
    assert n == 0, f"{effect(p)}"


def test_the_message_is_evaluated_where_the_assert_fails(device: str) -> None:
    p = np.zeros(1, np.int32)
    lazily[1, 1](p, 0)
    assert p[0] == 0
    if device == "emulator":
        with pytest.raises(DeviceAssertionError, match="in lazily: 1 "):
            lazily[1, 1](p, 1)


@kernel
def many(x: Ptr[f32], n: i32):
    i = thread_idx.x
    x[i] = x[i] * 2.0


@kernel
def many_checked(x: Ptr[f32], n: i32):
    i = thread_idx.x
    assert i < n, f"{i=} is not below {n}: {x[0]}"
    x[i] = x[i] * 2.0


@kernel
def many_plain(x: Ptr[f32], n: i32):
    i = thread_idx.x
    assert i < n
    x[i] = x[i] * 2.0


def hot(k: Any) -> int:
    """Instructions that a thread runs whose asserts hold: the branch over what fails is taken."""
    count, target = 0, ""
    for line in (line.strip() for line in kdsl.compile(k, target="sm_90").sass.splitlines()):
        if target and line.startswith(target):
            target = ""
        if target or not line.startswith("/*0") or ";" not in line:
            continue
        count += 1
        if "@!P0 BRA" in line:
            target = line.partition("`(")[2].partition(")")[0] + ":"
        if "EXIT" in line:
            return count
    raise AssertionError("no exit")


def test_an_assert_that_holds_costs_a_comparison_and_a_branch() -> None:
    assert hot(many_checked) <= hot(many) + 4
    assert hot(many_checked) == hot(many_plain)
    assert "local" not in kdsl.compile(many_checked, target="sm_90").ptx


@pytest.mark.parametrize("sm", ["sm_75", "sm_90", "sm_120"])
def test_ptxas_takes_it(sm: str) -> None:
    for k in (formats, helper, lazily):
        target = Target.parse(sm)
        if k is formats and sm == "sm_75":
            continue  # bf16 by value
        assert assemble(kdsl.compile(k, target=sm).ptx, target)


@kernel
def too_many(n: i32):
    assert n, (
        f"{n + 1}{n + 2}{n + 3}{n + 4}{n + 5}{n + 6}{n + 7}{n + 8}{n + 9}{n - 1}{n - 2}{n - 3}{n - 4}{-n}{~n}{n * 2}{n}"
    )


def test_a_message_of_too_many_values() -> None:
    with pytest.raises(kdsl.CompileError, match="the message of an assert shows 16 values at most"):
        kdsl.compile(too_many, target="sm_90")
