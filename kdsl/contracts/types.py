"""Whether a contract fits the types of its kernel's parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from kdsl.contracts.contract import Contract
from kdsl.contracts.evaluate import NoValue
from kdsl.contracts.expressions import (
    Argument,
    Binary,
    Choice,
    Compare,
    Logical,
    Node,
    Number,
    OfArray,
    Unary,
    parts,
    show,
)
from kdsl.contracts.given import MOST_ALONG_Z, MOST_THREADS
from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.types import ArrayType, Kind, PointerType, ScalarType, Type, VectorType
from kdsl.records import dataclass

Types = Mapping[str, Type | None]
_FOR_INTS = frozenset({"//", "%", "&", "|", "^", "<<", ">>", "ceil", "~"})


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in the option ``option``: ``part`` is where."""

    option: str
    part: Node
    message: str
    hint: str


def problems(contract: Contract, types: Types) -> Iterator[Problem]:
    """What does not fit. A parameter without a type, or with None, may have any."""
    for relation in contract.requires:
        yield from _relation("requires", relation, types)
    for option, nodes in (("grid", contract.grid), ("block", contract.block), ("shared", (contract.shared,))):
        for node in nodes or ():
            if node is None:
                continue
            found = list(_number(option, node, types))
            yield from found
            if not found and kind(node, types) in ("float", "bool"):
                yield Problem(option, node, f"{option} takes ints", "write an expression of ints")
    if contract.block is not None:
        yield from _fixed_block(contract, contract.block[0])


def _fixed_block(contract: Contract, part: Node) -> Iterator[Problem]:
    hint = f"a block has 1 to {MOST_THREADS} threads, up to {MOST_ALONG_Z} along z"
    try:
        block = contract.fixed_block
    except NoValue as error:
        yield Problem("block", part, f"there is {error}", hint)
        return
    if block is not None and not (min(block) > 0 and prod(block) <= MOST_THREADS and block[2] <= MOST_ALONG_Z):
        yield Problem("block", part, f"the block would be {block}", hint)


def kind(node: Node, types: Types) -> str:
    """``int``, ``float`` or ``bool``; an empty string where that is not known."""
    match node:
        case Number(value):
            return type(value).__name__
        case Argument(name):
            return _kind_of(types.get(name))
        case Compare() | Logical():
            return "bool"
        case Unary() | Binary() | Choice():
            kinds = {kind(part, types) for part in parts(node)}
            return "float" if "float" in kinds else "" if "" in kinds else "int"
        case _:
            return "int"


def contract_for(contract: Contract, types: Types) -> Contract:
    """What a launch for these types is checked against: a contract with the values of parameters that are constants."""
    return contract.with_constants(
        {
            name: type.value
            for name, type in types.items()
            if isinstance(type, ConstexprType) and isinstance(type.value, bool | int | float)
        }
    )


def _kind_of(type: Type | None) -> str:
    if isinstance(type, ConstexprType):
        value = type.value
        return value.__class__.__name__ if isinstance(value, bool | int | float) else ""
    if not isinstance(type, ScalarType):
        return ""
    return "bool" if type.kind is Kind.BOOL else "float" if type.is_float or type.is_float8 else "int"


def _relation(option: str, node: Node, types: Types) -> Iterator[Problem]:
    match node:
        case Logical(operands=operands):
            for operand in operands:
                yield from _relation(option, operand, types)
        case Compare(operands=operands):
            for operand in operands:
                yield from _number(option, operand, types)
        case _:
            yield from _number(option, node, types)
            if kind(node, types) in ("int", "float"):
                yield Problem(option, node, f"`{show(node)}` is a number, and no relation", f"write {show(node)} > 0")


def _number(option: str, node: Node, types: Types) -> Iterator[Problem]:
    match node:
        case Argument(name):
            yield from _argument(option, node, types.get(name))
        case OfArray(name):
            yield from _of_array(option, node, types.get(name))
        case Unary(op) | Binary(op) if op in _FOR_INTS:
            for part in parts(node):
                found = list(_number(option, part, types))
                yield from found
                if not found and kind(part, types) == "float":
                    message = f"`{show(part)}` is a float, and {'ceil()' if op == 'ceil' else op} takes ints"
                    yield Problem(option, part, message, "compare it as it is")
        case _:
            for part in parts(node):
                yield from _number(option, part, types)


def _argument(option: str, node: Argument, type: Type | None) -> Iterator[Problem]:
    name = node.name
    match type:
        case None | ScalarType():
            return
        case ConstexprType(value=value) if value is None or isinstance(value, bool | int | float):
            return
        case PointerType() | ArrayType():
            hint = f"say what of it: {name}.size, {name}.shape[0], {name}.ptr % 16"
            yield Problem(option, node, f"`{name}` is an array, and no number", hint)
        case _:
            yield Problem(
                option, node, f"`{name}` is {type}, and a contract takes numbers and arrays", "pass what it needs apart"
            )


def _of_array(option: str, node: OfArray, type: Type | None) -> Iterator[Problem]:
    name, attribute = node.name, node.attribute
    match type:
        case None:
            return
        case PointerType(element=VectorType()) if attribute in ("shape", "strides", "ndim"):
            hint = f"write {name}.size, the number of vectors"
            yield Problem(option, node, f"`{name}` is {type}, whose array may have any shape", hint)
        case PointerType():
            return
        case ArrayType():
            if attribute in ("shape", "strides") and not 0 <= node.axis < type.ndim:
                hint = f"its axes are 0 to {type.ndim - 1}" if type.ndim > 1 else "its only axis is 0"
                yield Problem(option, node, f"`{name}` is {type}, which has no axis {node.axis}", hint)
        case _:
            yield Problem(option, node, f"`{name}` is {type}, and no array", f"write {name} alone")
