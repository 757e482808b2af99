"""Why a launch breaks its contract: the relation, what is on both sides of it, and what to change."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kdsl.contracts.evaluate import NoValue, evaluate
from kdsl.contracts.expressions import (
    COMPARISONS,
    Argument,
    Binary,
    Compare,
    Configured,
    Logical,
    Node,
    Number,
    OfArray,
    Value,
    leaves,
    literal,
    pairs,
    parts,
    show,
)

Values = Callable[[Node], Value]
_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def explain(kernel: str, relation: Node, values: Values) -> str:
    """The message for a relation that does not hold."""
    text = f"{kernel} requires {show(relation)}"
    known = named(relation, values)
    try:
        pair = _failing(relation, values)
        advice = _advice(pair, values) if pair is not None else []
    except NoValue as error:
        return f"{text}, which has no value, but {error}: {known}"
    return f"{text}: {known}; {' or '.join(advice) or 'pass arguments with which it holds'}"


def named(node: Node, values: Values) -> str:
    """What an expression's names and sides are: ``n = 5, a.size = 3``."""
    return ", ".join(_named(node, values))


def _named(relation: Node, values: Values) -> Iterator[str]:
    """The value of each name in it, and of each side of its comparisons; each once."""
    seen = set()
    for node in (*leaves(relation), *_sides(relation)):
        text = show(node)
        if text in seen or (isinstance(node, Number) and not node.name):
            continue
        seen.add(text)
        try:
            yield f"{text} = {said(evaluate(node, values))}"
        except NoValue:
            continue


def said(value: Value) -> str:
    """A value in a message."""
    return literal(value) if isinstance(value, int) else str(value)


def _sides(relation: Node) -> Iterator[Node]:
    """The operands of comparisons that are made of several parts."""
    match relation:
        case Compare(operands=operands):
            yield from (o for o in operands if parts(o) and not all(isinstance(leaf, Number) for leaf in leaves(o)))
        case Logical(operands=operands):
            for operand in operands:
                yield from _sides(operand)


def _failing(relation: Node, values: Values) -> Compare | None:
    """The comparison that fails, if that is one alone."""
    if not isinstance(relation, Compare):
        return None
    for pair in pairs(relation):
        left, right = (evaluate(operand, values) for operand in pair.operands)
        if not COMPARISONS[pair.ops[0]](left, right):
            return pair
    return None


def _advice(pair: Compare, values: Values) -> list[str]:
    """What to do, each alone."""
    (left, right), (op,) = pair.operands, pair.ops
    sides = [(left, op, right), (right, _FLIPPED[op], left)]
    scalars, arrays, configured = [], [], []
    for side, operator, other in sides:
        value = evaluate(other, values)
        match side:
            case Argument(name):
                scalars.append(f"another {name}" if operator == "!=" else f"{name} {_equals(operator)} {said(value)}")
            case Binary("%", Argument(name), Number(divisor)) if (operator, value) == ("==", 0):
                scalars.append(f"a multiple of {said(divisor)} as {name}")
            case Binary("%", OfArray(name, "ptr"), Number(divisor)) if (operator, value) == ("==", 0):
                arrays.append(f"kdsl.to_device({name}), whose memory begins at a multiple of {divisor}")
            case OfArray(name):
                arrays.append(_other_array(side, operator, value))
            case Configured():
                configured.append(f"launch with {show(side)} {_equals(operator)} {said(value)}")
    passed = " or ".join(scalars + arrays)
    return ([f"pass {passed}"] if passed else []) + configured


def _equals(operator: str) -> str:
    return "=" if operator == "==" else operator


def _other_array(side: OfArray, operator: str, value: Value) -> str:
    if side.attribute == "strides":
        return f"another `{side.name}`"
    match operator:
        case ">" | ">=":
            return f"a larger `{side.name}`" if side.attribute != "ndim" else f"a `{side.name}` of more dimensions"
        case "<" | "<=":
            return f"a smaller `{side.name}`" if side.attribute != "ndim" else f"a `{side.name}` of fewer dimensions"
        case "==":
            attribute = show(side).partition(".")[2]
            return f"a `{side.name}` with {attribute} = {said(value)}"
        case _:
            return f"another `{side.name}`"
