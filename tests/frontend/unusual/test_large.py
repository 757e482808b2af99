"""Deep nesting and long kernels."""

import pytest

from kdsl import Ptr, f32, i32, kernel

from ..sources import define
from .running import run


def nest(lines, step, body, deepest):
    """Lines that each indent those after them."""
    out = [f"{' ' * i}{line}" for i, line in enumerate(lines)]
    return "\n".join([*out, f"{' ' * len(lines)}{body}", *deepest])


def defined(body):
    """A kernel made of text."""
    text = "@kernel\ndef k(x: Ptr[f32], y: Ptr[i32], n: i32):\n"
    text += "".join(f" {line}\n" for line in body.splitlines())
    return define(text, "k", kernel=kernel, Ptr=Ptr, f32=f32, i32=i32, f=lambda v: v + 1)


LARGE = {
    "ifs": (nest([f"if n > {i - 60}:" for i in range(50)], 1, "y[0] = 1", []), 1),
    "fors": (nest([f"for i{i} in range(1):" for i in range(18)], 1, "y[0] += 1", []), 1),
    "whiles": (nest(["while True:"] * 15, 1, "y[0] += 1", [" " * i + "break" for i in range(15, 0, -1)]), 1),
    "parentheses": (f"y[0] = {'(' * 50}n{')' * 50}", 5),
    "signs": (f"y[0] = {'-(' * 50}n{')' * 50}", 5),
    "right": (f"y[0] = {'1 + (' * 80}n{')' * 80}", 85),
    "sum": (f"y[0] = {' + '.join(['n'] * 150)}", 750),
    "and": (f"y[0] = {' and '.join(['n'] * 150)}", 1),
    "elifs": (
        "if n == 0: y[0] = 0\n" + "".join(f"elif n == {i + 100}: y[0] = {i}\n" for i in range(150)) + "else: y[0] = 9",
        9,
    ),
    "conditionals": (f"y[0] = {' else '.join(f'{i} if n == {i}' for i in range(40))} else 99", 5),
    "calls": (f"y[0] = {'f(' * 30}n{')' * 30}", 35),
    "variables": (
        "a0 = n\n" + "".join(f"a{i} = a{i - 1} + {i}\n" for i in range(1, 1000)) + "y[0] = a999",
        5 + sum(range(1000)),
    ),
    "statements": ("".join(f"y[{i % 8}] += {i} + n\n" for i in range(400)), sum(i + 5 for i in range(0, 400, 8))),
}


@pytest.mark.parametrize("name", LARGE)
def test_large(name):
    body, expected = LARGE[name]
    assert run(defined(body))[1][0] == expected
