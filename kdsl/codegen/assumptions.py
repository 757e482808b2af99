"""The relations of a launch contract as what LLVM may assume at a kernel's entry.

A contract counts in Python's ints, so a relation is told to LLVM only where no part of it can leave 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.contracts import LONG, comparisons, is_integer, known_intervals
from kdsl.codegen.intrinsics_index import grid_index
from kdsl.codegen.ranges import ONE_D, Interval, binary_interval, register_interval
from kdsl.codegen.types import I64, VOID
from kdsl.contracts.contract import Contract
from kdsl.contracts.expressions import (
    Argument,
    Binary,
    Choice,
    Compare,
    Configured,
    Logical,
    Node,
    Number,
    OfArray,
    Unary,
    pairs,
)
from kdsl.ir import nodes as ir
from kdsl.ir.operators import BinaryOp
from kdsl.lang.layout import parameter_parts
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, ScalarType, VectorType
from kdsl.records import dataclass

_WORD = Interval(-(2**31), 2**31 - 1)
_REGISTERS = {"grid": "nctaid", "block": "ntid"}
_ARITHMETIC = {
    "+": BinaryOp.ADD, "-": BinaryOp.SUB, "*": BinaryOp.MUL, "//": BinaryOp.FLOORDIV, "%": BinaryOp.MOD,
    "&": BinaryOp.AND, "|": BinaryOp.OR, "^": BinaryOp.XOR,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Known:
    """A value that a contract names: in LLVM, whether it is signed, and what it may be."""

    value: Any
    is_signed: bool
    interval: Interval


def assume_contract(context: Context, f: ir.Function, function: llvm.Function) -> None:
    """Tell LLVM the relations, at the kernel's entry."""
    contract = f.options.contract
    if not contract.requires:
        return
    lowering = _Lowering(context, f, function)
    for relation in contract.requires:
        lowering.assume(relation)
    for left, op, right in comparisons(contract):
        axis = _covered_axis(left, contract)
        if axis and op in ("==", "<=", "<"):
            lowering.assume_covered(axis, right)


def _covered_axis(node: Node, contract: Contract) -> str:
    """The axis d if the expression is grid.d * block.d, all threads along it."""
    if not isinstance(node, Binary) or node.op != "*":
        return ""
    block = contract.fixed_block
    for grid, threads in ((node.left, node.right), (node.right, node.left)):
        if isinstance(grid, Configured) and grid.what == "grid" and grid.axis in ("x", "y", "z"):
            fixed = Number(block["xyz".index(grid.axis)]) if block is not None else None
            same = isinstance(threads, Number) and fixed is not None and threads.value == fixed.value
            if same or threads == Configured("block", grid.axis):
                return grid.axis
    return ""


class _Lowering:
    """Relations as LLVM's, over the parameters of one kernel."""

    def __init__(self, context: Context, f: ir.Function, function: llvm.Function) -> None:
        self.context = context
        self.contract = f.options.contract
        self.scalars: dict[str, _Known] = {}
        self.extents: dict[str, list[_Known]] = {}
        self.types = {p.name: p.type for p in f.parameters}
        intervals = known_intervals(f)
        arguments = iter(function.args)
        for p in f.parameters:
            own = [next(arguments) for _ in parameter_parts(p.name, p.type)]
            if isinstance(p.type, ScalarType) and is_integer(p.type):
                interval = intervals.get(p.uid, Interval.of(p.type))
                self.scalars[p.name] = _Known(own[0], p.type.is_signed, interval)
            elif isinstance(p.type, ArrayType):
                words = own[1 : 1 + p.type.ndim]
                most = Interval(0, 2 ** (words[0].type.width - 1) - 1)
                self.extents[p.name] = [_Known(word, True, most) for word in words]

    def assume(self, relation: Node) -> None:
        """Assume a relation, if all of it can be said."""
        bits = self._bits(relation)
        if bits:
            self._promise(self._relation(relation, bits))

    def assume_covered(self, axis: str, limit: Node) -> None:
        """Assume that a thread's index along an axis is less than what all threads along it are at most."""
        bits = self._bits(limit)
        if not bits:
            return
        index = grid_index(self.context, axis)
        if bits == 64:
            index = self.context.builder.sext(index, I64)
        self._promise(self.context.builder.icmp_signed("<", index, self._number(limit, bits)))

    def _promise(self, condition: Any) -> None:
        self.context.call("llvm.assume", VOID, [condition])

    def _bits(self, node: Node) -> int:
        """The width in which no part of an expression wraps, 32 or 64; 0 where it cannot be said to LLVM."""
        match node:
            case Logical(operands=operands):
                found = [self._bits(operand) for operand in operands]
                # Each in its own width.
                return 0 if 0 in found else 64
            case Compare(operands=operands):
                widths = [self._width(operand) for operand in operands]
                return 0 if 0 in widths else max(widths)
            case _:
                return self._width(node)

    def _width(self, node: Node) -> int:
        widest = 32
        for part in _every(node):
            interval = self._interval(part)
            if interval is None or not interval.within(LONG):
                return 0
            is_long = isinstance(part, Argument) and self.scalars[part.name].value.type.width == 64
            widest = max(widest, 64 if is_long or not interval.within(_WORD) else 32)
        return widest

    def _interval(self, node: Node) -> Interval | None:
        match node:
            case Number(value) if type(value) is int:
                return Interval(value, value)
            case Argument(name) if name in self.scalars:
                return self.scalars[name].interval
            case OfArray(name) if name in self.extents:
                return self._of_array(node)
            case Configured(what, axis) if axis in ("x", "y", "z"):
                block = self.contract.fixed_block if what == "block" else None
                if block is not None:
                    extent = block["xyz".index(axis)]
                    return Interval(extent, extent)
                return register_interval(f"{_REGISTERS[what]}.{axis}")
            case Unary("-", operand):
                found = self._interval(operand)
                return None if found is None else Interval(-found.high, -found.low)
            case Choice(op, operands):
                return self._choice(op, operands)
            case Binary():
                return self._binary_interval(node)
            case _:
                return None

    def _of_array(self, node: OfArray) -> Interval | None:
        words = self.extents[node.name]
        match node.attribute:
            case "shape":
                return words[node.axis].interval
            case "ndim":
                return Interval(len(words), len(words))
            case "size" | "nbytes":
                most = self._item(node)
                for word in words:
                    most *= word.interval.high
                return Interval(0, most)
            case _:
                return None

    def _item(self, node: OfArray) -> int:
        """What a size is multiplied by."""
        type_ = self.types[node.name]
        assert isinstance(type_, ArrayType)
        element = type_.element
        is_plain = isinstance(element, ScalarType | StructType | VectorType)
        return element.size if node.attribute == "nbytes" and is_plain else 1

    def _choice(self, op: str, operands: tuple[Node, ...]) -> Interval | None:
        kind = BinaryOp.MIN if op == "min" else BinaryOp.MAX
        found = self._interval(operands[0])
        for operand in operands[1:]:
            other = self._interval(operand)
            found = None if found is None or other is None else binary_interval(kind, found, other)
        return found

    def _binary_interval(self, node: Binary) -> Interval | None:
        if _covered_axis(node, self.contract):
            return Interval(1, ONE_D)  # the launcher refuses more threads along an axis
        left, right = self._interval(node.left), self._interval(node.right)
        if left is None or right is None or node.op not in _ARITHMETIC:
            return None
        if node.op in ("//", "%") and not (right.low == right.high > 0 and (left.low >= 0 or _is_power(right.low))):
            return None
        if node.op in "&|^" and (left.low < 0 or right.low < 0):
            return None
        return binary_interval(_ARITHMETIC[node.op], left, right)

    def _relation(self, node: Node, bits: int) -> Any:
        builder = self.context.builder
        match node:
            case Compare():
                found = [self._pair(pair, bits) for pair in pairs(node)]
            case Logical("not", (operand,)):
                return builder.not_(self._relation(operand, self._bits(operand)))
            case Logical("or", operands):
                either = [self._relation(operand, self._bits(operand)) for operand in operands]
                result = either[0]
                for other in either[1:]:
                    result = builder.or_(result, other)
                return result
            case Logical(operands=operands):
                found = [self._relation(operand, self._bits(operand)) for operand in operands]
            case _:
                raise AssertionError(node)
        result = found[0]
        for other in found[1:]:
            result = builder.and_(result, other)
        return result

    def _pair(self, pair: Compare, bits: int) -> Any:
        left, right = (self._number(operand, bits) for operand in pair.operands)
        return self.context.builder.icmp_signed(pair.ops[0], left, right)

    def _number(self, node: Node, bits: int) -> Any:
        """A number's value, sign-extended to so many bits."""
        builder, t = self.context.builder, llvm.IntType(bits)
        interval = self._interval(node)
        assert interval is not None
        # Not a parameter: that it has this value is what LLVM is to be told.
        if interval.low == interval.high and not isinstance(node, Argument):
            return llvm.Constant(t, interval.low)
        match node:
            case Argument(name):
                return self._extended(self.scalars[name], bits)
            case OfArray(name, "shape", axis):
                return self._extended(self.extents[name][axis], bits)
            case OfArray(name):
                result: Any = llvm.Constant(t, self._item(node))
                for word in self.extents[name]:
                    result = builder.mul(result, self._extended(word, bits))
                return result
            case Configured(what, axis):
                register = self.context.special_register(f"{_REGISTERS[what]}.{axis}")
                return self._extended(_Known(register, True, interval), bits)
            case Unary(operand=operand):
                return builder.neg(self._number(operand, bits))
            case Choice(op, operands):
                return self._chosen(op, [self._number(operand, bits) for operand in operands])
            case Binary(op, left, right):
                return self._arithmetic(op, self._number(left, bits), self._number(right, bits), self._interval(left))
            case _:
                raise AssertionError(node)

    def _extended(self, known: _Known, bits: int) -> Any:
        builder, t = self.context.builder, llvm.IntType(bits)
        if known.value.type.width == bits:
            return known.value
        if known.value.type.width > bits:
            return builder.trunc(known.value, t)
        return builder.sext(known.value, t) if known.is_signed else builder.zext(known.value, t)

    def _chosen(self, op: str, values: list[Any]) -> Any:
        builder, result = self.context.builder, values[0]
        for value in values[1:]:
            result = builder.select(builder.icmp_signed("<" if op == "min" else ">", value, result), value, result)
        return result

    def _arithmetic(self, op: str, left: Any, right: Any, known: Interval | None) -> Any:
        builder = self.context.builder
        is_natural = known is not None and known.low >= 0
        match op:
            case "+":
                return builder.add(left, right)
            case "-":
                return builder.sub(left, right)
            case "*":
                return builder.mul(left, right)
            case "//" if is_natural:
                return builder.udiv(left, right)
            case "//":  # by a power of two, rounded down
                return builder.ashr(left, llvm.Constant(right.type, right.constant.bit_length() - 1))
            case "%" if is_natural:
                return builder.urem(left, right)
            case "%":
                return builder.and_(left, llvm.Constant(right.type, right.constant - 1))
            case "&":
                return builder.and_(left, right)
            case "|":
                return builder.or_(left, right)
            case _:
                return builder.xor(left, right)


def _every(node: Node) -> Iterator[Node]:
    """An expression and all parts of it."""
    yield node
    match node:
        case Unary(operand=operand):
            yield from _every(operand)
        case Binary(left=left, right=right):
            yield from _every(left)
            yield from _every(right)
        case Choice(operands=operands):
            for operand in operands:
                yield from _every(operand)


def _is_power(value: int) -> bool:
    return value & (value - 1) == 0
