"""What an expression costs: whether it may be evaluated needlessly, and whether it becomes a call of libdevice."""

from __future__ import annotations

from kdsl.codegen.power import PRODUCTS
from kdsl.codegen.walk import operands
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import BinaryOp

_COSTLY = (BinaryOp.FLOORDIV, BinaryOp.MOD, BinaryOp.POW, BinaryOp.DIV)


def is_simple(e: ir.Expr) -> bool:
    """Whether evaluating ``e`` needlessly is cheap and has no effect: no memory, no call, no division by a variable."""
    match e:
        case ir.Const() | ir.Read():
            return True
        case ir.Binary(op=op) if op in _COSTLY:
            constant_divisor = isinstance(e.right, ir.Const) and not e.type.is_float and op is not BinaryOp.POW
            return constant_divisor and is_simple(e.left)
        case ir.IntrinsicCall():
            return e.intrinsic.register
        case ir.Binary() | ir.Unary() | ir.Compare() | ir.Logical() | ir.Conditional() | ir.Cast() | ir.Extent():
            return all(is_simple(o) for o in operands(e))
        case ir.TupleElement() | ir.Stride() | ir.Bitcast() | ir.Swizzle() | ir.VectorExpr() | ir.WithLane():
            return all(is_simple(o) for o in operands(e))
        case ir.StructExpr() | ir.FieldValue() | ir.WithField():
            return all(is_simple(o) for o in operands(e))
        case _:
            return False


def needs_libdevice(e: ir.Binary) -> bool:
    """Whether an operator becomes a call of libdevice: fmod, or pow but for exponents that are products."""
    if not e.type.is_float or e.op not in (BinaryOp.FLOORDIV, BinaryOp.MOD, BinaryOp.POW):
        return False
    return not (e.op is BinaryOp.POW and isinstance(e.right, ir.Const) and e.right.value in PRODUCTS)
