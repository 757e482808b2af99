"""Makes a program that shows a disagreement smaller, for as long as a smaller one still shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args

from . import program as p
from . import reference, typing_rules
from .harness import Mismatch, expected, smaller_case
from .memory import Undefined
from .reference_statements import TooManySteps

EXPRESSIONS = get_args(p.Expr)
STATEMENTS = get_args(p.Stmt)


def shrink(found: Mismatch, check: Callable[[p.Program], Mismatch | None], attempts: int = 300) -> Mismatch:
    """``check`` gives the disagreement that a program still shows, or None."""
    tried: set[p.Program] = set()
    improved = True
    while improved and attempts > 0:
        improved = False
        for candidate in candidates(found.case.program):
            if candidate in tried or not well_typed(candidate, found):
                continue
            tried.add(candidate)
            attempts -= 1
            smaller = check(candidate)
            if smaller is not None:
                found, improved = smaller, True
                break
            if attempts <= 0:
                break
    return found


def well_typed(program: p.Program, found: Mismatch) -> bool:
    """Whether the reference takes the program, and it ends without reading what was never bound, or racing."""
    try:
        expected(smaller_case(found, program))
    except (
        typing_rules.IllTyped,
        reference.UnknownYet,
        TooManySteps,
        Undefined,
        KeyError,
        AssertionError,
        RecursionError,
    ):
        return False
    return True


def candidates(program: p.Program) -> Iterator[p.Program]:
    """Programs with one part less, the largest cuts first."""
    yield from without_unused(program)
    for body in smaller_blocks(program.body):
        yield replace(program, body=body)
    for result in smaller_expressions(program.result):
        for output in (*typing_rules.TYPES, *typing_rules.VECTORS):
            yield replace(program, result=result, output=output)
    for k, function in enumerate(program.functions):
        for body in smaller_blocks(function.body):
            rest = (*program.functions[:k], replace(function, body=body), *program.functions[k + 1 :])
            yield replace(program, functions=rest)


def without_unused(program: p.Program) -> Iterator[p.Program]:
    text = repr((program.body, program.result, [f.body for f in program.functions]))
    used = tuple((n, t) for n, t in program.inputs if f"'{n}'" in text)
    if used and used != program.inputs:
        yield replace(program, inputs=used)
    uniforms = tuple((n, t) for n, t in program.uniforms if f"'{n}'" in text)
    buffers = tuple(b for b in program.buffers if f"'{b.name}'" in text)
    if (uniforms, buffers) != (program.uniforms, program.buffers):
        yield replace(program, uniforms=uniforms, buffers=buffers)
    called = tuple(f for f in program.functions if f"'{f.name}'" in text)
    if called != program.functions:
        yield replace(program, functions=called)


def smaller_blocks(block: tuple[p.Stmt, ...]) -> Iterator[tuple[p.Stmt, ...]]:
    for k, s in enumerate(block):
        yield (*block[:k], *block[k + 1 :])
        for inner in (getattr(s, "body", ()), getattr(s, "orelse", ())):
            if inner:
                yield (*block[:k], *inner, *block[k + 1 :])
        for smaller in smaller_nodes(s):
            yield (*block[:k], smaller, *block[k + 1 :])


def smaller_expressions(e: p.Expr) -> Iterator[p.Expr]:
    yield from (part for part in parts(e) if isinstance(part, EXPRESSIONS))
    if not isinstance(e, p.Name | p.Literal):
        yield p.Literal(1)
    yield from smaller_nodes(e)


def smaller_nodes(node: Any) -> Iterator[Any]:
    """The node with one of its fields smaller."""
    for f in fields(node):
        value = getattr(node, f.name)
        for smaller in smaller_values(value):
            yield replace(node, **{f.name: smaller})


def smaller_values(value: Any) -> Iterator[Any]:
    if isinstance(value, EXPRESSIONS):
        yield from smaller_expressions(value)
    elif isinstance(value, tuple) and value and isinstance(value[0], STATEMENTS):
        yield from smaller_blocks(value)
    elif isinstance(value, tuple) and value and is_dataclass(value[0]):
        if isinstance(value[0], p.Case):
            yield from ((*value[:k], *value[k + 1 :]) for k in range(len(value) if len(value) > 1 else 0))
        smaller_part = smaller_expressions if isinstance(value[0], EXPRESSIONS) else smaller_nodes
        for k, part in enumerate(value):
            for smaller in smaller_part(part):
                yield (*value[:k], smaller, *value[k + 1 :])
    elif isinstance(value, p.Function):
        yield from smaller_nodes(value)


def parts(e: p.Expr) -> Iterator[Any]:
    for f in fields(e):
        value = getattr(e, f.name)
        yield from value if isinstance(value, tuple) else (value,)
