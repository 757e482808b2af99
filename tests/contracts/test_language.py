"""The language of contracts: the same values as Python's, whichever way it is evaluated, and errors at the decorator."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdsl.contracts.evaluate import FUNCTIONS, NoValue, evaluate, python_source
from kdsl.contracts.expressions import Argument, Compare, Logical, show
from kdsl.contracts.parse import Malformed, Parser

NAMES = ("n", "m", "k")
HUGE = st.one_of(
    st.integers(-5, 5), st.integers(-(2**31), 2**31), st.integers(-(2**200), 2**200), st.sampled_from([2**63, -(2**63)])
)


def numbers(depth: int) -> st.SearchStrategy[str]:
    leaf = st.one_of(st.sampled_from(NAMES), HUGE.map(lambda v: f"({v})" if v < 0 else str(v)))
    if not depth:
        return leaf
    below = numbers(depth - 1)
    return st.one_of(
        leaf,
        st.tuples(below, st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^"]), below).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(below, st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^"]), leaf).map(
            lambda t: f"{t[0]} {t[1]} {t[2]}"
        ),
        st.tuples(below, st.sampled_from(["<<", ">>"]), st.integers(0, 128)).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        below.map(lambda t: f"-{t}" if not t.startswith("-") else f"-({t})"),
        below.map(lambda t: f"~({t})"),
        below.map(lambda t: f"abs({t})"),
        st.tuples(st.sampled_from(["min", "max"]), st.lists(below, min_size=2, max_size=3)).map(
            lambda t: f"{t[0]}({', '.join(t[1])})"
        ),
        st.tuples(below, below).map(lambda t: f"ceil(({t[0]}) / ({t[1]}))"),
    )


def relations(depth: int) -> st.SearchStrategy[str]:
    ops = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    one = st.tuples(numbers(2), ops, numbers(2)).map(lambda t: f"{t[0]} {t[1]} {t[2]}")
    chain = st.tuples(numbers(1), ops, numbers(1), ops, numbers(1)).map(" ".join)
    among = st.tuples(numbers(1), st.sampled_from(["in", "not in"]), st.lists(numbers(0), min_size=1, max_size=3)).map(
        lambda t: f"{t[0]} {t[1]} ({', '.join(t[2])},)"
    )
    if not depth:
        return st.one_of(one, chain, among)
    below = relations(depth - 1)
    return st.one_of(
        one,
        st.tuples(below, st.sampled_from(["and", "or"]), below).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        below.map(lambda t: f"not ({t})"),
    )


def reference(text: str, values: dict[str, int]) -> Any:
    """Python's own `eval`; ``ceil(a / b)`` over fractions. ArithmeticError where there is no value."""

    class Ceil(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            self.generic_visit(node)
            if isinstance(node.func, ast.Name) and node.func.id == "ceil":
                (quotient,) = node.args
                assert isinstance(quotient, ast.BinOp)
                node.args = [quotient.left, quotient.right]
            return node

    tree = ast.fix_missing_locations(Ceil().visit(ast.parse(text, mode="eval")))
    scope = {"ceil": lambda a, b: math.ceil(Fraction(a, b)), "min": min, "max": max, "abs": abs, "__builtins__": {}}
    return eval(compile(tree, "<reference>", "eval"), scope, values)


def outcomes(text: str, values: dict[str, int], *, relation: bool) -> tuple[Any, Any, Any]:
    """What the reference, `evaluate` and the generated source give; None for no value."""
    parser = Parser(text, NAMES, lambda _: None)
    try:
        node = parser.relation() if relation else parser.number()
    except Malformed as wrong:
        assert "divides by zero" in wrong.message
        return None, None, None

    def value(leaf: Any) -> int:
        assert isinstance(leaf, Argument)
        return values[leaf.name]

    found: list[Any] = []
    source = python_source(node, lambda leaf: leaf.name, "_")
    scope = {f"_{name}": f for name, f in FUNCTIONS.items()}
    for run in (
        lambda: reference(text, values),
        lambda: evaluate(node, value),
        lambda: eval(source, scope, values),
    ):
        try:
            found.append(run())
        except (ZeroDivisionError, NoValue):
            found.append(None)
    # What is written down again is the same expression.
    again = Parser(show(node), NAMES, lambda _: None)
    assert (again.relation() if isinstance(node, Compare | Logical) else again.number()) == node
    return tuple(found)  # type: ignore[return-value]


@settings(max_examples=400, deadline=None)
@given(numbers(3), HUGE, HUGE, HUGE)
def test_numbers_are_pythons(text: str, n: int, m: int, k: int) -> None:
    expected, evaluated, generated = outcomes(text, {"n": n, "m": m, "k": k}, relation=False)
    assert evaluated == expected
    assert generated == expected


@settings(max_examples=400, deadline=None)
@given(relations(2), HUGE, HUGE, HUGE)
def test_relations_are_pythons(text: str, n: int, m: int, k: int) -> None:
    expected, evaluated, generated = outcomes(text, {"n": n, "m": m, "k": k}, relation=True)
    assert evaluated == expected
    assert generated == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ceil(n / 256)", 2**192),
        ("ceil((n - 1) / 256)", 2**192),
        ("ceil((n + 1) / 256)", 2**192 + 1),
        ("ceil(-n / 256)", -(2**192)),
        ("ceil((1 - n) / 256)", -(2**192) + 1),
        ("ceil(-7 / 2)", -3),
        ("ceil(7 / -2)", -3),
        ("ceil(-7 / -2)", 4),
        ("-7 // 2", -4),
        ("-7 % 2", 1),
        ("-2 * -3", 6),
        ("n - (n - 1)", 1),
    ],
)
def test_exact_values(text: str, value: int) -> None:
    assert outcomes(text, {"n": 2**200, "m": 0, "k": 0}, relation=False) == (value, value, value)


def test_a_chain_of_divisions_is_rounded_once() -> None:
    for n in (2**200, 2**200 + 1, -1, 0, 1, 31, 32, 33):
        assert evaluate(Parser("ceil(n / 4 / 8)", NAMES, {}.get).number(), lambda _, n=n: n) == math.ceil(
            Fraction(n, 32)
        )


def test_a_failing_part_hides_what_is_behind_it() -> None:
    assert outcomes("n != 0 and m % n == 0", {"n": 0, "m": 1, "k": 0}, relation=True) == (False, False, False)
    assert outcomes("0 < n < m // n", {"n": 0, "m": 1, "k": 0}, relation=True) == (False, False, False)


@pytest.mark.parametrize("text", ["__import__('os')", "n.__class__", "(lambda: 1)()", "[1][0]", "n if m else k", "f'{n}'", "exec('1')", "n := 3", "n > 3 == __import__", "*n", "yield", "{n}", "n[0] > 0", "open", "...", "None", "max(n)", "max(*n)", "abs(n, m)", "min(n, key=m)", "ceil(n, m)", "n @ m", "1j", "'n'", "b'n'", "len(3)"])  # fmt: skip
def test_nothing_else_is_taken(text: str) -> None:
    parser = Parser(text, NAMES, {}.get)
    with pytest.raises(Malformed):
        parser.relation()
    with pytest.raises(Malformed):
        parser.number()


def test_deep_nesting_is_an_error() -> None:
    for text in (
        "(" * 5000 + "n" + ")" * 5000,
        "-" * 100000 + "n",
        "n" + " + n" * 20000,
        "n" + " + n" * 80,
        "abs(" * 80 + "n" + ")" * 80,
    ):
        with pytest.raises(Malformed, match="this is no Python expression|nested too deeply"):
            Parser(text, NAMES, {}.get).number()
    node = Parser("n" + " + n" * 50, NAMES, {}.get).number()
    assert eval(python_source(node, lambda leaf: leaf.name), {}, {"n": 2}) == 102
    Parser(" and ".join(["n > 0"] * 1000), NAMES, {}.get).relation()


@pytest.mark.parametrize(
    "text", ["n < 0x1" + "0" * 256, "n @ 0x" + "f" * 5000 + " > 0", "n < -0x1" + "0" * 5000, "n < K"]
)
def test_a_number_longer_than_any_is_an_error(text: str) -> None:
    with pytest.raises(Malformed, match="at most 1024 bits"):
        Parser(text, NAMES, {"K": 1 << 1024}.get).relation()
