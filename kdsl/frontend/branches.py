"""Branches that a constant may drop: the tests of `if` and of the cases of `match`, as far as they are of constants."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from kdsl.frontend.bindings import Binding, Branch, How


def with_branches(bindings: dict[str, list[Binding]], parameters: set[str]) -> dict[str, list[Binding]]:
    """The bindings with those branches alone whose tests may be known while a function is compiled: of constants."""
    known: dict[Branch, Branch | None] = {}
    reads: dict[Branch | None, frozenset[str]] = {None: frozenset()}

    def reduced(branch: Branch | None) -> Branch | None:
        chain: list[Branch] = []
        while branch is not None and branch not in known:
            chain.append(branch)
            branch = branch.outer
        result = known[branch] if branch is not None else None
        for one in reversed(chain):
            if _may_be_constant(one, bindings, parameters):
                outer, result = result, replace(one, outer=result)
                reads[result] = reads[outer] | one.reads
            known[one] = result
        return result

    found: dict[str, list[Binding]] = {}
    for name, places in bindings.items():
        branches = [reduced(b.branch) for b in places]
        found[name] = [
            replace(b, branch=branch, reads=b.reads | reads[branch]) for b, branch in zip(places, branches, strict=True)
        ]
    return found


def case_branches(
    statement: ast.Match, outer: Branch | None, reads_of: Callable[[ast.expr], frozenset[str]]
) -> Iterator[Branch | None]:
    """Where each case's body stands: its own pattern matches, and none above that has no guard."""
    for case in statement.cases:
        asked = _pattern_test(case.pattern, statement.subject)
        if asked is None:
            yield outer
            continue
        reads = reads_of(asked)
        yield Branch(outer, asked, reads, True)
        if case.guard is None:
            outer = Branch(outer, asked, reads, False)


def _pattern_test(pattern: ast.pattern, subject: ast.expr) -> ast.expr | None:
    """A test for what a pattern of values asks; None for other patterns."""
    match pattern:
        case ast.MatchValue(value=value):
            return ast.copy_location(ast.Compare(subject, [ast.Eq()], [value]), value)
        case ast.MatchClass(cls=asked, patterns=[], kwd_patterns=[]):
            name = ast.copy_location(ast.Name("isinstance", ast.Load()), asked)
            return ast.copy_location(ast.Call(name, [subject, asked], []), asked)
        case ast.MatchOr(patterns=patterns):
            tests = [_pattern_test(p, subject) for p in patterns]
            known = [t for t in tests if t is not None]
            return ast.copy_location(ast.BoolOp(ast.Or(), known), known[0]) if len(known) == len(tests) else None
        case ast.MatchAs(pattern=None):
            end = pattern.end_lineno, pattern.end_col_offset
            return ast.Constant(
                True, lineno=pattern.lineno, col_offset=pattern.col_offset, end_lineno=end[0], end_col_offset=end[1]
            )
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _pattern_test(inner, subject)
        case _:
            return None


# What may be called in a test that is known while a function is compiled.
FOLDING = frozenset({"len", "min", "max", "abs", "sum", "any", "all", "isinstance", "type_of"})


def _may_be_constant(branch: Branch, bindings: dict[str, list[Binding]], parameters: set[str]) -> bool:
    for name in branch.reads:
        places = bindings.get(name, [])
        if name in parameters and places:
            return False
        if len(places) > 1 and not all(b.how is How.FOR for b in places):
            return False
    return all(
        isinstance(node.func, ast.Name) and node.func.id in FOLDING
        for node in ast.walk(branch.test)
        if isinstance(node, ast.Call)
    )
