"""What a launch contract tells the compiler at once: the block size, values of parameters, alignment.

Only what every launch checks is used. Relations are told to LLVM in `assumptions`.
"""

from __future__ import annotations

from collections.abc import Iterator

from kdsl.codegen.ranges import Interval
from kdsl.contracts.contract import Contract
from kdsl.contracts.expressions import (
    Argument,
    Binary,
    Compare,
    Node,
    Number,
    OfArray,
    pairs,
)
from kdsl.ir import nodes as ir
from kdsl.lang.types import Kind, ScalarType

_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
LONG = Interval(-(2**63), 2**63 - 1)


def reqntid(contract: Contract) -> str | None:
    """The threads of every block, as LLVM takes them."""
    block = contract.fixed_block
    if block is None:
        return None
    extents = list(block)
    while len(extents) > 1 and extents[-1] == 1:
        extents.pop()
    return ",".join(map(str, extents))


def known_intervals(f: ir.Function) -> dict[int, Interval]:
    """What the contract of a kernel says of the values of its integer parameters, by uid."""
    if not f.is_kernel:
        return {}
    by_name = {p.name: p for p in f.parameters if is_integer(p.type)}
    found: dict[int, Interval] = {}
    for left, op, right in comparisons(f.options.contract):
        match left, right:
            case Argument(name), Number(int() as value) if name in by_name:
                parameter = by_name[name]
                assert isinstance(parameter.type, ScalarType)
                known = found.get(parameter.uid, Interval.of(parameter.type))
                low, high = _bounds(op, value)
                narrowed = Interval(max(known.low, low), min(known.high, high))
                # A contract that no launch fits says nothing.
                if narrowed.low <= narrowed.high:
                    found[parameter.uid] = narrowed
    return found


def known_alignment(contract: Contract, name: str) -> int:
    """What the address of an array parameter is a multiple of; 1 where the contract does not say."""
    found = 1
    for left, op, right in comparisons(contract):
        match left, op, right:
            case Binary("%", OfArray(array, "ptr"), Number(int() as divisor)), "==", Number(0) if array == name:
                found = max(found, divisor)
    return found


def comparisons(contract: Contract) -> Iterator[tuple[Node, str, Node]]:
    """Every comparison that holds in each launch, and each from its other side."""
    for relation in contract.requires:
        for pair in pairs(relation) if isinstance(relation, Compare) else ():
            (left, right), (op,) = pair.operands, pair.ops
            yield left, op, right
            yield right, _FLIPPED[op], left


def _bounds(op: str, value: int) -> tuple[int, int]:
    least, most = LONG.low, 2**64
    match op:
        case "==":
            return value, value
        case "<":
            return least, value - 1
        case "<=":
            return least, value
        case ">":
            return value + 1, most
        case ">=":
            return value, most
        case _:
            return least, most


def is_integer(t: object) -> bool:
    """Whether values of a type are integers."""
    return isinstance(t, ScalarType) and t.kind is not Kind.BOOL and not t.is_float and not t.is_float8
