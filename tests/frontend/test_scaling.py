"""The work of a check is linear in the size of a kernel: counted in expressions evaluated, not in seconds."""

from __future__ import annotations

import dataclasses

import pytest

from kdsl import Ptr, f32, i32
from kdsl.frontend import KernelRequest, check, check_kernel

from .sources import define

SHAPES = {
    "a chain of variables": lambda n: "".join(f"    a{i + 1} = a{i} * 2.0 + x[{i}]\n" for i in range(n)),
    "one variable": lambda n: "".join(f"    a0 = a0 + x[{i}]\n" for i in range(n)),
    "branches": lambda n: "".join(
        f"    if n > {i}:\n        b{i} = 1\n    else:\n        b{i} = n\n    x[{i}] = b{i}\n" for i in range(n)
    ),
    "a circle": lambda n: (
        "".join(f"    c{i} = 0.0\n" for i in range(n + 1))
        + "    for i in range(n):\n"
        + "".join(f"        c{i} = c{i + 1} + 1.0\n" for i in range(n))
        + f"        c{n} = x[i]\n"
    ),
    "a circle backwards": lambda n: (
        "".join(f"    c{i} = 0.0\n" for i in range(n + 1))
        + "    for i in range(n):\n"
        + f"        c{n} = x[i]\n"
        + "".join(f"        c{i} = c{i + 1} + 1.0\n" for i in reversed(range(n)))
    ),
    "calls": lambda n: "".join(f"    x[{i}] = f(x[{i + 1}])\n" for i in range(n)),
    "calls of one nested function": lambda n: (
        "    def g(v):\n        w = v + a0\n"
        + "".join(f"        w = w * v + {i}\n" for i in range(n))
        + "        return w\n"
        + "".join(f"    x[{i}] = g(x[{i}])\n    b{i} = g(x[{i}]) + 1.0\n" for i in range(n))
    ),
    "nested functions": lambda n: "".join(
        f"    def g{i}(v):\n        return v + a0\n    x[{i}] = g{i}(x[{i}])\n" for i in range(n)
    ),
}


def evaluations(monkeypatch: pytest.MonkeyPatch, body: str) -> int:
    """How often an expression is evaluated while a kernel of this body is checked."""
    count = 0
    evaluate = check.evaluate

    def counted(frame, node):
        nonlocal count
        count += 1
        return evaluate(frame, node)

    monkeypatch.setattr(check, "evaluate", counted)
    source = f"def f(x):\n    return x * x\ndef k(x: Ptr[f32], n: i32):\n    a0 = x[n]\n{body}"
    check_kernel(KernelRequest(define(source, "k", Ptr=Ptr, f32=f32, i32=i32)))
    monkeypatch.undo()
    return count


@pytest.mark.parametrize("shape", SHAPES)
def test_work_is_linear(shape, monkeypatch):
    small, large = (evaluations(monkeypatch, SHAPES[shape](n)) for n in (50, 200))
    assert large < 4.5 * small


def test_each_expression_of_a_plain_kernel_is_evaluated_twice_at_most(monkeypatch):
    """Once for the types, once to build it; a store only to build it."""
    body = "".join(f"    x[{i}] = x[{i}] + 1.0\n" for i in range(100))
    # target, index and value of each store: x, i, x[i] + 1.0, x[i], x, i, 1.0
    assert evaluations(monkeypatch, body) <= 100 * 7 + 10


def test_the_tree_of_a_large_kernel_is_of_its_size():
    body = SHAPES["branches"](300)
    source = f"def k(x: Ptr[f32], n: i32):\n{body}"
    (function,) = check_kernel(KernelRequest(define(source, "k", Ptr=Ptr, f32=f32, i32=i32))).kernels
    assert len(function.body) == 600
    assert dataclasses.is_dataclass(function.body[0])
