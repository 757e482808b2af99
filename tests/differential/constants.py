"""Which conditions the compiler may know: what such a condition drops is never typed, and the reference types all."""

from __future__ import annotations

from . import program as p


def may_be_constant(e: p.Expr) -> bool:
    """Whether an expression might be known while the kernel is compiled. Only inputs, ``x0`` and so on, surely are not."""
    match e:
        case p.Literal():
            return True
        case p.Index() | p.Place() | p.View():
            return False
        case p.Item():
            return True
        case p.Components(vector):
            return may_be_constant(vector)
        case p.Tuple(items) | p.Vector(_, items):
            return all(map(may_be_constant, items))
        case p.Name(name):
            return not name.startswith("x")
        case p.Unary(_, operand) | p.Cast(_, operand) | p.Bitcast(operand, _) | p.Walrus(_, operand):
            return may_be_constant(operand)
        case p.Binary(_, left, right):
            return may_be_constant(left) and may_be_constant(right)
        case p.Compare(_, operands) if len(operands) == 2:
            return all(map(may_be_constant, operands))
        case p.Builtin(_, arguments) | p.Intrinsic(_, arguments):
            return all(map(may_be_constant, arguments))
        case p.Compare(_, parts) | p.Logical(_, parts) | p.Call(_, parts):
            # One part that is known can settle the whole.
            return any(map(may_be_constant, parts))
        case p.Conditional(then, test, orelse):
            return any(map(may_be_constant, (then, test, orelse)))
