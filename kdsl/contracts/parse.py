"""From the text of a launch contract to its expression. Nothing is run: what is not in the grammar is an error."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import Any

from kdsl.contracts.evaluate import FURTHEST_SHIFT
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
    Value,
    show,
)

AXES = "xyz"
LARGEST_ALIGNMENT = 256
"""Of a pointer: what a device's fresh memory is aligned to at least."""
DEEPEST = 64
LONGEST = 1024
"""Bits of a number."""
SCALARS = "size", "ndim", "nbytes"
ALONG_AXES = "shape", "strides"
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
GRAMMAR = (
    "it has arguments by name, of arrays .size .shape[0] .ndim .nbytes .strides[0] and .ptr % 16, of the launch grid.x "
    "block.x grid.size block.size and shared, numbers, + - * // % & | ^ << >> ~, ceil(a / b), min max abs, "
    "comparisons, and, or, not"
)


class Malformed(Exception):
    """A text that is not in the language; ``start`` to ``end`` is the part that is wrong."""

    def __init__(self, message: str, hint: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message, self.hint, self.start, self.end = message, hint, start, end


class Parser:
    """One text of a contract, of a kernel with these parameters. ``captured`` gives what another name is bound to, or
    None. ``configured`` says whether the launch's configuration may be named.
    """

    def __init__(
        self, text: str, parameters: Collection[str], captured: Callable[[str], Any], *, configured: bool = True
    ) -> None:
        self.text = text
        self.parameters = parameters
        self.captured = captured
        self.configured = configured

    def relation(self) -> Node:
        """The text as a relation, which holds or does not."""
        return self._relation(self._parsed())

    def number(self) -> Node:
        """The text as a number."""
        return self._number(self._parsed())

    def _parsed(self) -> ast.expr:
        if not self.text.strip():
            raise Malformed("there is nothing in it", GRAMMAR, 0, len(self.text))
        # Why the parentheses? A long relation may go over several lines.
        try:
            found = ast.parse(f"({self.text}\n)", mode="eval").body
        except SyntaxError as error:
            lines = self.text.splitlines(keepends=True)
            at = (error.offset or 1) - (2 if error.lineno == 1 else 1)
            start = sum(map(len, lines[: (error.lineno or 1) - 1])) + max(at, 0)
            start = min(start, max(len(self.text) - 1, 0))
            raise Malformed(f"this is no Python expression: {error.msg}", GRAMMAR, start, start + 1) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise Malformed(f"this is no Python expression: {error}", GRAMMAR, 0, len(self.text)) from None
        if _is_deep(found):
            hint = "say it in several relations, or pass what it needs as an argument"
            raise Malformed("this is nested too deeply", hint, 0, len(self.text))
        for node in ast.walk(found):
            if isinstance(node, ast.Constant) and isinstance(node.value, int):
                self._limited(node, node.value)
        return found

    def _limited(self, node: ast.expr, value: int) -> int:
        # Python does not even write down numbers of more than 4300 digits.
        if value.bit_length() > LONGEST:
            raise self._wrong(node, f"a number has at most {LONGEST} bits", "no argument has more than 64")
        return value

    def _wrong(self, node: ast.expr, message: str, hint: str = GRAMMAR) -> Malformed:
        lines = self.text.splitlines(keepends=True) or [""]

        def position(line: int, offset: int) -> int:
            before = sum(map(len, lines[: line - 1]))
            row = ("(" if line == 1 else "") + (lines[line - 1] if line <= len(lines) else "")
            return before + len(row.encode()[:offset].decode(errors="replace")) - (1 if line == 1 else 0)

        start, end = position(node.lineno, node.col_offset), position(node.end_lineno or 1, node.end_col_offset or 1)
        return Malformed(message, hint, start, end)

    def _relation(self, node: ast.expr) -> Node:
        match node:
            case ast.BoolOp(op, values):
                return Logical("and" if isinstance(op, ast.And) else "or", tuple(map(self._relation, values)))
            case ast.UnaryOp(ast.Not(), operand):
                return Logical("not", (self._relation(operand),))
            case ast.Compare(left, [ast.In() | ast.NotIn() as op], [ast.Tuple(elts) | ast.List(elts)]) if elts:
                value = self._number(left)
                equal = tuple(Compare((value, self._number(e)), ("==",)) for e in elts)
                found: Node = Logical("or", equal) if len(equal) > 1 else equal[0]
                return found if isinstance(op, ast.In) else Logical("not", (found,))
            case ast.Compare(left, ops, comparators):
                for compared in ops:
                    if type(compared) not in _COMPARE:
                        raise self._wrong(node, "a relation compares numbers", "write == != < <= > >=, or in (1, 2)")
                operands = tuple(map(self._number, (left, *comparators)))
                return Compare(operands, tuple(_COMPARE[type(op)] for op in ops))
            case ast.Name() | ast.Constant(bool()):
                return self._number(node)  # whether it is a bool, its type says
            case _:
                text = show(self._number(node))
                raise self._wrong(node, f"`{text}` is a number, and no relation", f"compare it, as in {text} > 0")

    def _number(self, node: ast.expr) -> Node:
        match node:
            case ast.Constant(bool() | int() | float() as value):
                return Number(value)
            case ast.Name(name):
                return self._name(node, name)
            case ast.Attribute(ast.Name(owner), attribute):
                return self._attribute(node, owner, attribute, None)
            case ast.Subscript(ast.Attribute(ast.Name(owner), attribute), index):
                return self._attribute(node, owner, attribute, index)
            case ast.UnaryOp(ast.USub() | ast.Invert() as op, operand):
                return _folded(Unary("-" if isinstance(op, ast.USub) else "~", self._number(operand)))
            case ast.UnaryOp(ast.UAdd(), operand):
                return self._number(operand)
            case ast.BinOp(ast.Attribute(ast.Name(owner), "ptr"), ast.Mod(), right) if owner in self.parameters:
                return Binary("%", OfArray(owner, "ptr"), self._alignment(right))
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                return self._binary(node, _BINARY[type(op)], left, right)
            case ast.BinOp(_, ast.Div(), _):
                text = ast.unparse(node)
                raise self._wrong(node, f"`{text}` is no whole number", f"write ceil({text}), which rounds up, or //")
            case ast.BinOp(left, ast.Pow(), right):
                shift = f"1 << {ast.unparse(right)}" if ast.unparse(left) == "2" else "a product"
                raise self._wrong(node, "there is no ** in a contract", f"write {shift}")
            case ast.Call(ast.Name(name), arguments, []):
                return self._call(node, name, arguments)
            case _:
                raise self._wrong(node, f"`{_short(ast.unparse(node))}` cannot be in a contract")

    def _name(self, node: ast.expr, name: str) -> Node:
        if name in self.parameters:
            return Argument(name)
        if name == "shared" and self.configured:
            return Configured("shared")
        if name in ("grid", "block") and self.configured:
            raise self._wrong(node, f"`{name}` has three extents", f"write {name}.x, or {name}.size for their product")
        value = self.captured(name)
        if value is None:
            parameters = ", ".join(self.parameters)
            raise self._wrong(
                node,
                f"`{name}` is no parameter, and no name of a number where the kernel is defined",
                f'the parameters are {parameters or "none"}; a local number goes in by an f-string, f"... {{{name}}}"',
            )
        if type(value) not in (int, bool):
            raise self._wrong(node, f"`{name}` is a {type(value).__name__}, and a contract takes ints", GRAMMAR)
        return Number(self._limited(node, value), name)

    def _attribute(self, node: ast.expr, owner: str, attribute: str, index: ast.expr | None) -> Node:
        if owner not in self.parameters:
            if owner in ("grid", "block") and self.configured and index is None and attribute in (*AXES, "size"):
                return Configured(owner, attribute)
            if owner in ("grid", "block"):
                where = f"{owner}.x {owner}.y {owner}.z or {owner}.size"
                hint = f"write {where}" if self.configured else "it is what this says: write it from the arguments"
                raise self._wrong(node, f"`{ast.unparse(node)}` cannot be in this contract", hint)
            raise self._wrong(
                node, f"`{owner}` is no parameter", f"the parameters are {', '.join(self.parameters) or 'none'}"
            )
        if attribute in SCALARS and index is None:
            return OfArray(owner, attribute)
        if attribute in ALONG_AXES:
            match index:
                case ast.Constant(int() as axis) if not isinstance(axis, bool):
                    return OfArray(owner, attribute, axis)
            raise self._wrong(
                node, f"a contract takes one of the {attribute} of `{owner}`", f"write {owner}.{attribute}[0]"
            )
        if attribute == "ptr" and index is None:
            raise self._wrong(node, "of an address a contract takes its alignment", f"write {owner}.ptr % 16 == 0")
        raise self._wrong(
            node,
            f"a contract knows no `{ast.unparse(node)}`",
            f"of an array it knows {owner}.size, .shape[0], .ndim, .nbytes, .strides[0] and {owner}.ptr % 16",
        )

    def _alignment(self, node: ast.expr) -> Number:
        found = self._number(node)
        value = found.value if isinstance(found, Number) else 0
        if type(value) is not int or value not in [1 << bit for bit in range(LARGEST_ALIGNMENT.bit_length())]:
            raise self._wrong(
                node,
                "an address is asked for a multiple of a power of two",
                f"write 4, 8, 16 and so on up to {LARGEST_ALIGNMENT}, which all fresh memory has",
            )
        assert isinstance(found, Number)
        return found

    def _binary(self, node: ast.expr, op: str, left: ast.expr, right: ast.expr) -> Node:
        made = Binary(op, self._number(left), self._number(right))
        if isinstance(made.right, Number):
            if op in ("//", "%") and made.right.value == 0:
                raise self._wrong(right, "this divides by zero", "write another divisor")
            if op in ("<<", ">>") and not 0 <= made.right.value <= FURTHEST_SHIFT:
                raise self._wrong(right, "no number is shifted so far", f"write 0 to {FURTHEST_SHIFT}")
        return made

    def _call(self, node: ast.expr, name: str, arguments: list[ast.expr]) -> Node:
        match name, arguments:
            case "ceil", [ast.BinOp(left, ast.Div(), right)]:
                return self._ceil(left, right)
            case "ceil", _:
                raise self._wrong(node, "ceil() takes a division", "write ceil(n / 256)")
            case "abs", [operand]:
                return Unary("abs", self._number(operand))
            case "len", [ast.Name(owner)] if owner in self.parameters:
                return OfArray(owner, "shape", 0)
            case "min" | "max", [_, _, *_]:
                return Choice(name, tuple(map(self._number, arguments)))
            case _:
                raise self._wrong(node, f"`{_short(ast.unparse(node))}` cannot be in a contract")

    def _ceil(self, left: ast.expr, right: ast.expr) -> Node:
        """``ceil(a / b / c)`` divides by the product."""
        divisor = self._number(right)
        if isinstance(divisor, Number) and divisor.value == 0:
            raise self._wrong(right, "this divides by zero", "write another divisor")
        while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div):
            divisor = Binary("*", self._number(left.right), divisor)
            left = left.left
        return Binary("ceil", self._number(left), divisor)


def _is_deep(node: ast.AST) -> bool:
    """Whether what is made of it would have more parentheses than Python takes."""
    level = [node]
    for _ in range(DEEPEST):
        level = [child for parent in level for child in ast.iter_child_nodes(parent)]
        if not level:
            return False
    return True


def _folded(node: Unary) -> Node:
    """A negative constant as such."""
    if node.op == "-" and isinstance(node.operand, Number) and not node.operand.name:
        value: Value = -node.operand.value
        return Number(value)
    return node


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
