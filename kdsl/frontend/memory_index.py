"""What stands in the brackets of `a[i, lo:hi]`: indices, slices and `...`."""

from __future__ import annotations

import ast

from kdsl.frontend.frame import Frame
from kdsl.frontend.values import Poison, Value, constant_int, describe
from kdsl.ir import nodes as ir
from kdsl.lang.types import ArrayType, PointerType, ScalarType
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """An index (with its value), a slice, or `...`."""

    place: ast.expr
    value: Value | None = None
    slice: ast.Slice | None = None
    is_ellipsis: bool = False

    @property
    def is_slice(self) -> bool:
        return self.slice is not None


def as_int(frame: Frame, node: ast.expr) -> str:
    """The hint for a float where an int is needed: `//` for a division, else a cast."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"divide with //: {frame.text(node.left)} // {frame.text(node.right)}"
    return f"cast it: i32({frame.text(node)})"


def int_of(frame: Frame, value: Value, node: ast.expr, rule: str) -> ir.Expr | None:
    """A value where an int is needed; None (reported) if it is none: ``rule`` says so, as in "an index is an int"."""
    expr = frame.runtime(value, node)
    if expr is None or (isinstance(expr.type, ScalarType) and expr.type.is_int):
        return expr
    hint = as_int(frame, node) if isinstance(expr.type, ScalarType) else None
    frame.error(node, f"{rule}, and this is {describe(expr.type)}", hint)
    return None


def checked_index(
    frame: Frame, value: Value, node: ast.expr, base: PointerType | ArrayType, axis: int, base_node: ast.expr
) -> ir.Expr | None:
    """An index along one axis; None (reported) if it is no int, or known to be outside."""
    number = constant_int(value)
    if number is not None and isinstance(base, ArrayType):
        name = frame.text(base_node)
        if number < 0:
            end = f"{base.shape[axis]}" if base.shape else f"{name}.shape[{axis}]"
            message = f"a negative index does not count from the end: `{name}` would be read before its start"
            counted = f"{end} - {-number}"
            frame.error(node, message, f"write {name}[{counted}]" if base.ndim == 1 else f"write {counted}")
            return None
        if base.shape is not None and number >= base.shape[axis]:
            frame.error(
                node, f"index {number} is out of range: `{name}` has extent {base.shape[axis]} along axis {axis}"
            )
            return None
    return None if isinstance(value, Poison) else int_of(frame, value, node, "an index is an int")
