"""Which names a function binds, where, and what each binding depends on; and the names that PTX can hold.

Only the AST is read here. A `Scope` serves every typed instance of its function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cached_property, lru_cache

from kdsl.frontend.bindings import Binding, Branch, How
from kdsl.frontend.branches import case_branches, with_branches
from kdsl.frontend.target_paths import paths
from kdsl.records import dataclass
from kdsl.source import FunctionNode

RETURN = "return"
"""The name under which a function's results are inferred; Python allows no variable of that name."""


@dataclass(slots=True)
class Bindings:
    """What the walk over a function finds."""

    by_name: dict[str, list[Binding]] = field(default_factory=dict)
    declared: dict[str, ast.AnnAssign] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    loads: set[str] = field(default_factory=set)
    outside: set[str] = field(default_factory=set)
    """Names read where no tuple loop binds them."""
    refused: frozenset[str] = frozenset()
    """Names bound in statements that are outside of the language: a read of one is no second mistake."""


class Scope:
    """The names of one function."""

    def __init__(self, node: FunctionNode) -> None:
        self.node = node
        a = node.args
        rest = (a.vararg,) if a.vararg is not None else ()
        self.parameters: tuple[ast.arg, ...] = (*a.posonlyargs, *a.args, *rest, *a.kwonlyargs)
        walk = _Walk()
        if isinstance(node, ast.Lambda):
            statement = ast.copy_location(ast.Return(node.body), node.body)
            walk.statements([statement])
            self.body: list[ast.stmt] = [statement]
        else:
            walk.statements(node.body)
            self.body = node.body
        self.bindings = walk.found.by_name
        self.declared = walk.found.declared
        self.functions = walk.found.functions
        self.loads = walk.found.loads
        self.refused = walk.found.refused
        names = {p.arg for p in self.parameters}
        self.bindings = with_branches(self.bindings, names)
        # A bit for each variable, for definite assignment.
        self.bits: dict[str, int] = {n: 1 << i for i, n in enumerate({**dict.fromkeys(names), **self.bindings})}
        self.copied: frozenset[str] = frozenset(
            name
            for name, found in self.bindings.items()
            if name not in names
            and name not in walk.found.outside
            and all(b.how is How.FOR and not is_range(b.value) for b in found)
        )
        """Targets of loops over tuples that are read in those loops only: each copy of the body has its own."""

    @cached_property
    def free(self) -> frozenset[str]:
        """Names that the function reads and does not bind."""
        return frozenset(self.loads - self.bits.keys())

    @cached_property
    def components(self) -> list[list[str]]:
        """The variables in groups that depend on each other in a circle, each group after those it depends on."""
        reads = {
            name: {r for b in found for r in b.reads if r in self.bindings} for name, found in self.bindings.items()
        }
        return list(_components(reads))


@lru_cache(maxsize=512)
def scope_of(node: FunctionNode) -> Scope:
    """A function's names, which do not depend on types."""
    return Scope(node)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a statement besides expressions: the parts of a `with` or `try`."""
    return (
        child
        for child in ast.iter_child_nodes(node)
        if not isinstance(child, ast.expr | ast.expr_context | ast.operator)
    )


@lru_cache(maxsize=512)
def captured_name(pattern: ast.pattern) -> ast.Name | None:
    """The name that a pattern binds to what it matches, as a target of an assignment; None for `_` and others."""
    if not isinstance(pattern, ast.MatchAs) or pattern.name is None:
        return None
    end = pattern.end_col_offset
    start = end - len(pattern.name.encode()) if pattern.pattern is not None else pattern.col_offset
    line = pattern.end_lineno
    return ast.Name(pattern.name, ast.Store(), lineno=line, col_offset=start, end_lineno=line, end_col_offset=end)


def stored_names(statement: ast.stmt | ast.pattern) -> frozenset[str]:
    """Every name that a statement or pattern binds, in whatever way."""
    found: set[str | None] = set()
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add(other or name.partition(".")[0])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
                found.add(name)
            case ast.MatchMapping(rest=name):
                found.add(name)
    return frozenset(name for name in found if name is not None)


class _Walk:
    """Collects bindings in source order, without recursion over statements (an elif chain may be long)."""

    def __init__(self) -> None:
        self.found = Bindings()
        self.branch: Branch | None = None
        """Where the statement stands that is being walked."""

    def statements(self, body: list[ast.stmt]) -> None:
        pending: list[tuple[ast.stmt, tuple[ast.For, ...], Branch | None]] = [(s, (), None) for s in reversed(body)]
        while pending:
            statement, loops, self.branch = pending.pop()
            blocks = self.statement(statement, loops)
            arms: list[Branch | None] = [self.branch] * len(blocks)
            if isinstance(statement, ast.If):
                reads = frozenset(_loads(_walk(statement.test)))
                arms = [Branch(self.branch, statement.test, reads, is_true) for is_true in (True, False)]
            elif isinstance(statement, ast.Match):
                arms = list(case_branches(statement, self.branch, lambda test: frozenset(_loads(_walk(test)))))
            for (block, inner), branch in reversed([*zip(blocks, arms, strict=True)]):
                pending += [(s, inner, branch) for s in reversed(block)]

    def statement(self, s: ast.stmt, loops: tuple[ast.For, ...]) -> list[tuple[list[ast.stmt], tuple[ast.For, ...]]]:
        match s:
            case ast.Assign():
                reads = self.expression(s.value, s, loops)
                for target in s.targets:
                    self.target(target, How.ASSIGN, s.value, (), s, loops, reads)
            case ast.AnnAssign(target=ast.Name(id=name)):
                self.found.declared.setdefault(name, s)
                reads = self.expression(s.value, s, loops) if s.value else frozenset()
                if s.value:
                    self.bind(name, How.ASSIGN, s.target, s.value, (), s, loops, reads)
            case ast.AugAssign(target=ast.Name(id=name)):
                self.load(name, loops)
                reads = self.expression(s.value, s, loops) | {name}
                self.bind(name, How.AUGMENTED, s.target, s.value, (), s, loops, reads)
            case ast.For():
                reads = self.expression(s.iter, s, loops)
                inner = loops if is_range(s.iter) else (*loops, s)
                self.target(s.target, How.FOR, s.iter, (), s, loops, reads)
                return [(s.body, inner), (s.orelse, loops)]
            case ast.While() | ast.If():
                self.expression(s.test, s, loops)
                return [(s.body, loops), (s.orelse, loops)]
            case ast.Match():
                reads = self.expression(s.subject, s, loops)
                for case in s.cases:
                    self.pattern(case.pattern, (), s, loops, reads)
                    if case.guard is not None:
                        self.expression(case.guard, s, loops)
                return [(case.body, loops) for case in s.cases]
            case ast.Return(value=value):
                reads = self.expression(value, s, loops) if value else frozenset()
                self.bind(RETURN, How.RETURN, s, value, (), s, loops, reads)
            case ast.FunctionDef():
                free = scope_of(s).free
                for name in free:
                    self.load(name, ())
                for default in [*s.args.defaults, *(d for d in s.args.kw_defaults if d)]:
                    self.expression(default, s, loops)
                self.found.functions.setdefault(s.name, s)
                self.bind(s.name, How.FUNCTION, s, None, (), s, loops, free)
            case ast.ClassDef() | ast.AsyncFunctionDef() | ast.Import() | ast.ImportFrom():
                self.found.refused |= stored_names(s)
            case _:
                self.found.refused |= stored_names(s) if any(_statements(s)) else frozenset()
                for child in ast.iter_child_nodes(s):
                    if isinstance(child, ast.expr):
                        self.expression(child, s, loops)
        return []

    def target(
        self,
        target: ast.expr,
        how: How,
        value: ast.expr,
        path: tuple[int | slice, ...],
        statement: ast.stmt,
        loops: tuple[ast.For, ...],
        reads: frozenset[str],
    ) -> None:
        match target:
            case ast.Name(id=name):
                self.bind(name, how, target, value, path, statement, loops, reads)
            case ast.Starred(value=inner):
                self.target(inner, how, value, path, statement, loops, reads)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                whole = value.elts if isinstance(value, ast.Tuple) and not path and how is How.ASSIGN else None
                starred = any(isinstance(x, ast.Starred) for x in (*parts, *(whole or ())))
                for i, (part, place) in enumerate(zip(parts, paths(parts), strict=True)):
                    if whole is not None and len(whole) == len(parts) and not starred:
                        # Each part of `a, b = b, a` depends on its own value alone.
                        only = frozenset(_loads(_walk(whole[i])))
                        self.target(part, how, whole[i], (), statement, loops, only)
                    else:
                        self.target(part, how, value, (*path, place), statement, loops, reads)
            case _:
                self.expression(target, statement, loops)

    def pattern(
        self,
        pattern: ast.pattern,
        path: tuple[int, ...],
        statement: ast.Match,
        loops: tuple[ast.For, ...],
        reads: frozenset[str],
    ) -> None:
        """Note what a pattern reads, and the parts of the subject that it binds names to."""
        match pattern:
            case ast.MatchValue(value=value):
                self.expression(value, statement, loops)
            case ast.MatchAs(pattern=inner):
                if inner is not None:
                    self.pattern(inner, path, statement, loops, reads)
                target = captured_name(pattern)
                if target is not None:
                    self.bind(target.id, How.ASSIGN, target, statement.subject, path, statement, loops, reads)
            case ast.MatchOr(patterns=patterns):
                for one in patterns:
                    self.pattern(one, path, statement, loops, reads)
            case ast.MatchClass(cls=asked, patterns=[], kwd_patterns=[]):
                self.expression(asked, statement, loops)
            case ast.MatchSequence(patterns=patterns):
                for i, one in enumerate(patterns):
                    self.pattern(one, (*path, i), statement, loops, reads)
            case _:
                self.found.refused |= stored_names(pattern)

    def bind(
        self,
        name: str,
        how: How,
        target: ast.expr | ast.stmt,
        value: ast.expr | None,
        path: tuple[int | slice, ...],
        statement: ast.stmt,
        loops: tuple[ast.For, ...],
        reads: frozenset[str],
    ) -> None:
        binding = Binding(name, how, target, value, path, statement, loops, reads, self.branch)
        self.found.by_name.setdefault(name, []).append(binding)

    def load(self, name: str, loops: tuple[ast.For, ...]) -> None:
        self.found.loads.add(name)
        if not any(name in _names(loop.target) for loop in loops):
            self.found.outside.add(name)

    def expression(self, e: ast.expr, statement: ast.stmt, loops: tuple[ast.For, ...]) -> frozenset[str]:
        """Note what an expression reads and binds; the names that it reads."""
        nodes = list(_walk(e))
        reads = frozenset(_loads(nodes))
        for name in reads:
            self.load(name, loops)
        for node in nodes:
            if isinstance(node, ast.NamedExpr):
                inner = frozenset(_loads(_walk(node.value)))
                self.bind(node.target.id, How.WALRUS, node.target, node.value, (), statement, loops, inner)
        return reads


def is_range(iterable: ast.expr | None) -> bool:
    """Whether a ``for`` counts, by its spelling: all others may be over tuples."""
    return iterable is not None and range_call(iterable) is not None


def range_call(iterable: ast.expr) -> ast.Call | None:
    """The call of range() in ``range(...)``, or within ``reversed()``, ``enumerate()`` and ``unroll()``."""
    while isinstance(iterable, ast.Call):
        match iterable.func:
            case ast.Name("range"):
                return iterable
            case ast.Name("reversed" | "enumerate" | "unroll") | ast.Attribute(attr="unroll") if iterable.args:
                iterable = iterable.args[0]
            case _:
                return None
    return None


def _walk(e: ast.expr) -> Iterator[ast.AST]:
    """All nodes of an expression in evaluation order, but those inside of lambdas."""
    pending: list[ast.AST] = [e]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _LEAVES):
            pending += reversed([c for c in ast.iter_child_nodes(node) if not isinstance(c, _NO_NODES)])


_LEAVES = (ast.Name, ast.Constant, ast.Lambda)
_NO_NODES = (ast.expr_context, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)


def _loads(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names that an expression reads, those that its lambdas capture included."""
    for node in nodes:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                yield node.id
        elif isinstance(node, ast.NamedExpr):
            # Its value may be read again in the same expression.
            yield node.target.id
        elif isinstance(node, ast.Lambda):
            yield from scope_of(node).free


def _names(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def _components(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """Tarjan's strongly connected components, callees first, without recursion; members in the graph's order."""
    order = {name: i for i, name in enumerate(graph)}
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for root in graph:
        if root in number:
            continue
        work: list[tuple[str, Iterator[str]]] = [(root, iter(()))]
        while work:
            name, children = work[-1]
            if name not in number:
                number[name] = low[name] = len(number)
                stack.append(name)
                on_stack.add(name)
                children = iter(sorted(graph[name], key=order.__getitem__))
                work[-1] = (name, children)
            child = next(children, None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == number[name]:
                    members: list[str] = []
                    while name not in members[-1:]:
                        members.append(stack.pop())
                    on_stack.difference_update(members)
                    yield sorted(members, key=order.__getitem__)
            elif child not in number:
                work.append((child, iter(())))
            elif child in on_stack:
                low[name] = min(low[name], number[child])


PTX_RESERVED = frozenset({"_", "WARP_SZ"})
# What the code that is made calls itself: the device's runtime, and libdevice (by its prefix).
CALLED = frozenset({"vprintf", "__assertfail"})
LIBDEVICE = "__nv_"


def mangle(name: str) -> str:
    """A name that PTX can hold: ASCII, no dot, not one of PTX or of what is called. Different names stay different."""
    escaped = "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"_u{ord(c):x}_" for c in name)
    if escaped in PTX_RESERVED or escaped in CALLED or escaped.startswith(LIBDEVICE):
        return f"{escaped}_u"
    return escaped if not escaped[:1].isdigit() else f"_{escaped}"


def unique(name: str, taken: Iterable[str]) -> str:
    """``name``, or ``name_2`` and so on if it is taken."""
    used = set(taken)
    count, candidate = 1, name
    while candidate in used:
        count += 1
        candidate = f"{name}_{count}"
    return candidate
