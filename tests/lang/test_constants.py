"""Constexpr of tuples, types, enum members, strings and None; enums in kernels; ``*args`` of device functions."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest

import kdsl
from kdsl import Array, Constexpr, Ptr, f32, f64, i32, i64, kernel, shared, static_range, type_of

T = TypeVar("T")


class Mode(enum.Enum):
    FAST = "fast"
    EXACT = "exact"


class Color(enum.IntEnum):
    RED = 1
    GREEN = 2


class Access(enum.Flag):
    READ = 1
    WRITE = 2
    BOTH = 3


@kernel
def constants(
    out: Ptr[f64],
    shape: Constexpr[tuple[int, int]],
    nested: Constexpr[tuple[f32, tuple[bool, i64]]],
    kind: Constexpr[type],
    mode: Constexpr[Mode],
    color: Constexpr[Color] = Color.RED,
    access: Constexpr[Access] = Access.READ,
    name: Constexpr[str] = "sum",
    limit: Constexpr[int | None] = None,
    steps: Constexpr[tuple[int, ...]] = (),
):
    tile = shared.array(shape, kind)
    tile[shape[0] - 1, shape[1] - 1] = 2.5 if kind is f64 or kind is f32 else 7
    rows, columns = shape
    out[0] = rows * 100 + columns + tile[rows - 1, columns - 1]
    out[1] = nested[0]
    out[2] = nested[1][1] if nested[1][0] else 0
    if mode is Mode.FAST:
        out[3] = 1
    elif mode == Mode.EXACT:
        out[3] = 2
    else:
        out[3] = out.no_such_attribute
    match color:
        case Color.RED:
            out[4] = color + 10
        case Color.GREEN:
            out[4] = 20 if color is Color.GREEN else out.no_such_attribute
    if access & Access.WRITE:
        out[5] = 5
    if Access.READ in access:
        out[6] = 6
    out[7] = 1 if name == "sum" else 2
    if limit is not None:
        out[8] = limit
    for step in steps:
        out[9] += step
    out[10] = 1 if kind == np.float64 and type_of(nested[0]) is f32 else 0


def test_values(device: Any):
    for _ in range(2):
        out = np.zeros(11)
        constants[1, 1](out, (4, 8), (0.1, (True, 2**40)), f64, Mode.FAST)
        assert list(out) == [410.5, float(np.float32(0.1)), 2**40, 1, 11, 0, 6, 1, 0, 0, 1]
        out = np.zeros(11)
        constants[1, 1](
            out, kind=np.int32, nested=(2, (False, 1)), shape=(2, 3), mode=Mode.EXACT, color=Color.GREEN,
            access=Access.BOTH, name="max", limit=9, steps=(1, 2, 3),
        )  # fmt: skip
        assert list(out) == [210, 2, 0, 2, 20, 5, 6, 2, 9, 6, 0]
    assert len({types for _, types in constants._specializations}) == 2


def test_a_launch_is_fast_again(device: Any):
    out, shape = kdsl.zeros(11, f64), (4, 8)
    for n in (1, 1, 2, 1):
        constants[1, 1](out, shape, (0.1, (True, n)), np.float64, Mode.FAST)
        assert out.to_host()[2] == n


def test_without_a_launch():
    signature: dict[str, Any] = {"shape": (4, 8), "nested": (0.1, (True, 3)), "kind": f32, "mode": Mode.FAST}
    compilation = constants.compile(target="sm_90", signature=signature)
    assert [f.name for f in compilation.params["constants"]] == ["out"]
    for name, value, message in (
        ("shape", (4,), "`shape` takes a tuple of 2, got one of 1"),
        ("shape", 4, "`shape` takes a tuple, got int 4"),
        ("shape", (4, 2.5), r"`shape\[1\]` takes an int"),
        ("nested", (1, (2, 3)), r"`nested\[1\]\[0\]` takes a bool, got int 2"),
        ("kind", "f32x", "`kind` takes a type such as f32 or np.float32, got str 'f32x'"),
        ("kind", None, "`kind` takes a type such as f32 or np.float32, got None"),
        ("mode", "fast", r"`mode` takes a member of Mode \(Mode.FAST, Mode.EXACT\), got str 'fast'"),
        ("color", 1, r"`color` takes a member of Color"),
        ("name", 1, "`name` takes a string, got int 1"),
        ("limit", "1", "`limit` takes an int"),
    ):
        with pytest.raises(TypeError, match=message):
            constants.compile(target="sm_90", signature={**signature, name: value})
    for name, example in (("shape", r"\(16, 16\)"), ("kind", "f32"), ("mode", "Mode.FAST")):
        with pytest.raises(TypeError, match=rf"say its value, as in signature=\{{'{name}': {example}\}}"):
            constants.compile(target="sm_90", signature={k: v for k, v in signature.items() if k != name})


def filled(x: Ptr[f32], shape: Constexpr[tuple[int, int]], kind: Constexpr[type], mode: Constexpr[Mode | None] = None):
    for i in static_range(shape[0] * shape[1]):
        x[i] = kind(i) if mode is None else -kind(i)


def test_of_device_functions(device: Any):
    @kernel
    def k(x: Ptr[f32], n: i32):
        filled(x, (2, 2), i32)
        if n > 1:
            filled(x, (1, 3), f32, Mode.FAST)

    x = np.zeros(4, np.float32)
    k[1, 1](x, 2)
    assert list(x) == [0, -1, -2, 3]


def test_wrong_constants_of_device_functions():
    @kernel
    def k(x: Ptr[f32], n: i32):
        filled(x, (2, 2, 2), i32)
        filled(x, (2, 2), 3)
        filled(x, (n, 2), i32)
        filled(x, (2, 2), i32, "fast")

    with pytest.raises(kdsl.CompileError) as caught:
        k.check()
    assert [d.message for d in caught.value.diagnostics] == [
        "this is tuple[i32, i32, i32], but `shape` of `filled` takes Constexpr[tuple[int, int]]",
        "this is an int literal (i32), but `kind` of `filled` takes Constexpr[type]",
        "`shape` of `filled` is Constexpr[tuple[int, int]], and this is known at run time only",
        "this is the string 'fast', but `mode` of `filled` takes Constexpr[Mode | None]",
    ]


def test_enums_at_run_time(device: Any):
    @kernel
    def k(out: Ptr[i32], color: i32):
        out[0] = 1 if color == Color.RED else 2
        out[1] = 1 if color in (Color.RED, Color.GREEN) else 2
        out[2] = Color.GREEN + color
        match color:
            case Color.RED:
                out[3] = 10
            case Color.GREEN:
                out[3] = 20
            case _:
                out[3] = 30

    for value in (Color.RED, Color.GREEN, 3):
        out = np.zeros(4, np.int32)
        k[1, 1](out, value)
        assert list(out) == [1 if value == 1 else 2, 1 if value < 3 else 2, 2 + value, value * 10]


def total(first, *others):
    for v in others:
        first += v
    return first


def scaled(by: f32, *values: i32, offset: i32 = 0) -> f32:
    return by * sum(values) + offset + len(values)


def largest(*values: T) -> T:
    best = values[0]
    for v in values:
        best = max(best, v)
    return best


def applied(f: Callable[..., Any], *values):
    return f(*values)


def test_any_number_of_arguments(device: Any):
    @kernel
    def k(out: Ptr[f64], x: Array[f32, 1], n: i32):
        pair = (x[0], n)
        out[0] = total(x[0], x[1], n, 4)
        out[1] = total(n)
        out[2] = scaled(0.5, n, 3, offset=10) + scaled(2)
        out[3] = largest(x[0], x[1], 2)
        out[4] = applied(total, *pair, 1)
        out[5] = total(*pair, *(1, 2))
        out[6] = max(*pair)

        def nested(*values):
            return sum(values) * n

        out[7] = nested(1, 2, 3)

    out = np.zeros(8)
    k[1, 1](out, np.array([1.5, 2.5], np.float32), 3)
    assert list(out) == [11, 3, 0.5 * 6 + 10 + 2, 2.5, 5.5, 7.5, 3, 18]


def test_wrong_unpacking():
    @kernel
    def k(x: Ptr[f32], n: i32):
        total(*n)
        total()
        scaled(1, 2.5)
        max(*x)

    with pytest.raises(kdsl.CompileError) as caught:
        k.check()
    assert [d.message for d in caught.value.diagnostics] == [
        "`*` takes a tuple apart, and this is i32",
        "total() needs `first`",
        "2.5 is a float literal where i32 is needed",
        "`*` takes a tuple apart, and this is Ptr[f32]",
    ]
