"""Device functions: typed at the call, specialised on constants, nested ones with what they capture."""

from __future__ import annotations

import enum
import types

import pytest

import kdsl
from kdsl import Array, Ptr, f16, f32, f64, i32, kernel, shared
from kdsl.frontend import KernelRequest, check_kernels
from kdsl.ir.show import show

from .harness import module_of, tree, variables

SCALE = 3
square = lambda x: x * x


class Mode(enum.IntEnum):
    FAST = 2


class Config:
    BLOCK = 64
    WEIGHTS = (1, 0.5)

    @staticmethod
    def twice(x):
        return 2 * x


NAMESPACE = types.SimpleNamespace(offset=7)


def clamp(x, low=0.0, high: f32 = 1.0):
    return min(max(x, low), high)


def ordered(x, y):
    if x > y:
        return y, x
    return x, y


def accumulate(total, x):
    return total + x


def store(p, i, value):
    p[i] = value


def load(p, i):
    return p[i]


def typed(tile: Array[f32, 1], p: Ptr[f32]) -> f64:
    return tile[0] + p[1]


def signatures(kernel_) -> list[str]:
    """The device functions of a kernel, as the tree prints their first lines."""
    return [line for line in show(module_of(kernel_)).splitlines() if line.startswith("function")]


def test_functions_are_typed_at_the_call():
    @kernel
    def k(x: Ptr[f32], y: Ptr[f64]):
        a = square(x[0])
        b = square(y[0])
        c = square(x[1])
        low, high = ordered(x[0], x[1])

    assert variables(k) == {"a": "f32", "b": "f64", "c": "f32", "value": "tuple[f32, f32]", "low": "f32", "high": "f32"}
    assert signatures(k) == [
        "function lambda(x: f32) -> f32:",
        "function lambda_2(x: f64) -> f64:",
        "function ordered(x: f32, y: f32) -> tuple[f32, f32]:",
    ]


def test_constants_are_part_of_the_instance_and_annotated_parameters_are_not():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = clamp(x[0])
        x[1] = clamp(x[1], high=2)

    assert signatures(k) == ["function clamp(x: f32, high: f32) -> f32:"]
    assert "clamp(x[1], 2.0)" in tree(k)


def test_a_literal_keeps_its_type_open_through_a_call():
    @kernel
    def k(x: Ptr[f16], n: i32):
        total = 0.0
        for i in range(n):
            total = accumulate(total, x[i])

    assert variables(k) == {"total": "f16", "i": "i32"}


def test_nested_functions_take_what_they_capture_as_parameters():
    @kernel
    def k(x: Ptr[f32], n: i32):
        factor = x[1]
        two = 2

        def scale(v):
            return v * factor * two

        again = lambda v: scale(v) + n
        x[0] = again(x[0])

    assert signatures(k) == [
        "function scale(v: f32, factor: f32) -> f32:",
        "function lambda(v: f32, factor: f32, n: i32) -> f32:",
    ]


def test_captured_constants_and_attribute_chains():
    @kernel
    def k(x: Ptr[f32]):
        x[SCALE] = Mode.FAST + Config.BLOCK + NAMESPACE.offset
        x[1] = Config.WEIGHTS[1] * x[0] + kdsl.warp_size
        x[2] = Config.twice(x[0])

    assert tree(k).splitlines()[:2] == ["    x[3] = 73.0", "    x[1] = (0.5 * x[0]) + 32.0"]


def test_shared_arrays_and_arrays_as_pointers():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2]):
        tile = shared.array(8, f32)
        x[0] = f32(typed(tile, tile) + typed(tile, a))

    assert "typed(tile, &tile[0]) + typed_2(tile, &a[0, 0])" in tree(k)


def written(kernel_) -> set[str]:
    (function,) = module_of(kernel_).kernels
    return {p.name for p in function.parameters if p.uid in function.written}


def test_which_parameters_are_written():
    @kernel
    def k(a: Ptr[f32], b: Ptr[f32], c: Ptr[f32], d: Ptr[f32], e: Ptr[f32], f: Array[f32, 1], g: Ptr[i32], n: i32):
        store(a, 0, load(b, n))
        c[0] += d[n]
        q = e
        kdsl.atomic.add(g, n, len(f))

    assert written(k) == {"a", "c", "e", "g"}


def test_the_captured_names_of_the_specialisation():
    def make(factor):
        @kernel
        def k(x: Ptr[f32]):
            x[0] = clamp(x[0]) * factor + SCALE + Config.BLOCK

        return k

    checked = check_kernels([KernelRequest(make(2.5).function)])
    assert {c.name: c.namespace.get(c.name) is c.value for c in checked.captured} == dict.fromkeys(
        ["clamp", "__code__", "__defaults__", "factor", "SCALE", "Config", "BLOCK", "min", "max"], True
    )


def test_functions_of_several_kernels_share_a_module():
    @kernel
    def first(x: Ptr[f32]):
        x[0] = square(x[0])

    @kernel
    def second(x: Ptr[f64]):
        x[0] = square(x[0])

    module = check_kernels([KernelRequest(first.function), KernelRequest(second.function)]).module
    assert [f.name for f in module.kernels] == ["first", "second"]
    assert [f.name for f in module.functions] == ["lambda", "lambda_2"]


@pytest.mark.parametrize("n", [3, 40])
def test_a_chain_of_calls(n):
    source = "def step0(x):\n    return x + 1\n"
    source += "".join(f"def step{i}(x):\n    return step{i - 1}(x) * 2\n" for i in range(1, n))
    source += f"def k(x: Ptr[f32]):\n    x[0] = step{n - 1}(x[0])\n"
    from .sources import define

    module = module_of(define(source, "k", Ptr=Ptr, f32=f32))
    assert len(module.functions) == n


def subtract(a, b):
    return a - b


def test_arguments_are_evaluated_in_the_order_of_the_call():
    @kernel
    def k(x: Ptr[i32], n: i32):
        x[0] = subtract(b=kdsl.atomic.add(x, 1, 1), a=kdsl.atomic.add(x, 2, 1))
        x[1] = subtract(b=n, a=x[0])

    first, second = tree(k).splitlines()[:2]
    assert first.strip() == (
        "x[0] = subtract(((b: i32 := atomic.add(&x[1], 1)), (a: i32 := atomic.add(&x[2], 1)))[1], b)"
    )
    assert second.strip() == "x[1] = subtract(x[0], n)"


def test_pointers_in_a_loop_over_a_tuple_stay_the_parameters():
    @kernel
    def k(x: Ptr[f32], y: Ptr[f32], z: Ptr[f32]):
        for p in (x, y):
            z[0] = p[1]

    assert written(k) == {"z"}
