"""Checks kernels in tests: what a good one's variables are, and that a bad one's errors are those that its comments say.

A negative kernel carries ``# error: text`` on each wrong line (twice on a line with two mistakes), and may carry
``# hint: text`` behind it. Comment lines below belong to the same line: those that start with ``#   `` continue the text.
``line {-2}`` in a text stands for the number of the line two lines above. The set of (line, message) must be equal to what
is reported; a hint is compared where the comment has one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kdsl.frontend import KernelRequest, check_kernels
from kdsl.ir import nodes as ir
from kdsl.ir.show import show
from kdsl.ir.verify import verify
from kdsl.lang.types import as_type
from kdsl.source import CompileError, Diagnostic

COMMENT = re.compile(r"#\s*(error|hint):\s*")


def module_of(kernel: Any, *types: Any, options: ir.Options | None = None) -> ir.Module:
    """The verified tree of a kernel; ``types`` are those of all parameters, where the annotations do not say them."""
    parameters = tuple(as_type(t) for t in types) if types else None
    function = getattr(kernel, "function", kernel)
    module = check_kernels([KernelRequest(function, parameters, options or ir.Options())]).module
    verify(module)
    return module


def tree(kernel: Any, *types: Any) -> str:
    """The printed tree without the kernel's first line, for comparison with a literal text."""
    return show(module_of(kernel, *types)).partition("\n")[2]


def variables(kernel: Any, *types: Any) -> dict[str, str]:
    """The type of each local variable of a kernel, parameters left out; of variables of one name, the last one's."""
    (function,) = module_of(kernel, *types).kernels
    parameters = {p.uid for p in function.parameters}
    return {v.name: str(v.type) for v in _locals(function.body) if v.uid not in parameters}


def _locals(node: Any) -> Iterator[ir.Local]:
    if isinstance(node, ir.Local):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from _locals(part)
    elif hasattr(node, "__dataclass_fields__"):
        for name in node.__dataclass_fields__:
            yield from _locals(getattr(node, name))


def errors_of(kernel: Any, *types: Any, options: ir.Options | None = None) -> tuple[Diagnostic, ...]:
    """What is reported for a kernel; the test fails if nothing is."""
    with pytest.raises(CompileError) as caught:
        module_of(kernel, *types, options=options)
    return caught.value.diagnostics


def check_errors(
    kernel: Any, *types: Any, helpers: tuple[Callable[..., Any], ...] = (), options: ir.Options | None = None
) -> None:
    """The errors of a kernel are exactly those that the comments in it (and in its ``helpers``) say."""
    reported = errors_of(kernel, *types, options=options)
    expected: dict[tuple[int, str], str | None] = {}
    for function in (getattr(kernel, "function", kernel), *helpers):
        expected.update(expected_errors(function))
    got = {(d.span.line, d.message) for d in reported}
    wrong = [f"not reported: line {line}: {message}" for line, message in sorted(expected.keys() - got)]
    wrong += [f"not expected: line {line}: {message}" for line, message in sorted(got - expected.keys())]
    assert not wrong, "\n".join(wrong)
    hints = {(d.span.line, d.message): d.hint for d in reported}
    assert {k: hints[k] for k, hint in expected.items() if hint is not None} == {
        k: hint for k, hint in expected.items() if hint is not None
    }


def expected_errors(function: Callable[..., Any]) -> dict[tuple[int, str], str | None]:
    """(line, message) of each ``# error:`` comment in a function, with its hint if a comment says one."""
    lines, first = inspect.getsourcelines(function)
    found: list[list[Any]] = []
    place = first
    for number, line in enumerate(lines, first):
        code, _, _ = line.partition("#")
        pieces = COMMENT.split(line)
        if code.strip():
            place = number
        elif found and (more := re.match(r"\s*#   (?!\s*#)(.*)", COMMENT.split(line)[0])):
            slot = 2 if found[-1][2] is not None else 1
            found[-1][slot] = f"{found[-1][slot]} {more[1].strip()}".strip()
        for kind, text in zip(pieces[1::2], pieces[2::2], strict=True):
            if kind == "error":
                found.append([place, text.strip(), None])
            else:
                found[-1][2] = text.strip()
    return {(line, _absolute(message, line)): hint for line, message, hint in found}


def _absolute(message: str, line: int) -> str:
    """``line {-2}`` in a message means two lines before the comment's own."""
    return re.sub(r"line \{(-?\d+)\}", lambda found: f"line {line + int(found[1])}", message)
