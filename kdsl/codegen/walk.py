"""What a node of the typed tree is made of: its expressions and, for statements, its bodies."""

from __future__ import annotations

from collections.abc import Iterator

from kdsl.ir import nodes as ir


def operands(node: ir.Expr) -> tuple[ir.Expr, ...]:
    """The expressions directly inside an expression, in the order of their evaluation."""
    match node:
        case ir.Binary() | ir.Compare() | ir.Logical() | ir.PointerDifference():
            return (node.left, node.right)
        case ir.Unary() | ir.Cast() | ir.Bitcast() | ir.VectorCast():
            return (node.operand,)
        case ir.Load():
            return (node.address,) if node.policy is None else (node.address, node.policy)
        case ir.ElementAddress():
            return (node.base, *node.indices)
        case ir.Call() | ir.IntrinsicCall() | ir.ExternCall():
            return node.arguments
        case ir.AssignExpr() | ir.TupleElement() | ir.Swizzle() | ir.FieldValue():
            return (node.value,)
        case ir.FieldAddress():
            return (node.address,)
        case ir.WithLane() | ir.WithField():
            return (node.element, node.value)
        case ir.Lanewise():
            return node.operands
        case ir.Conditional():
            return (node.test, node.then, node.orelse)
        case ir.AssumeAligned() | ir.IsAligned():
            return (node.operand,)
        case ir.Extent() | ir.Stride():
            return (node.array,)
        case ir.ListExpr():
            return node.elements
        case ir.View():
            bounds = [b for axis in zip(node.starts, node.stops, node.steps, strict=True) for b in axis]
            return (node.base, *(b for b in bounds if b is not None))
        case ir.ArrayExpr():
            return (node.address, *node.extents, *node.strides, *(() if node.size is None else (node.size,)))
        case ir.DynamicShared():
            return (node.offset,)
        case ir.TupleExpr() | ir.VectorExpr() | ir.StructExpr():
            return node.elements
        case ir.Atomic():
            return (node.address, *node.operands)
        case ir.InlinePtx():
            return node.operands
        case _:
            return ()


def expressions(statement: ir.Stmt) -> tuple[ir.Expr, ...]:
    """The expressions directly inside a statement, bodies not included."""
    match statement:
        case ir.Assign() | ir.Evaluate():
            return (statement.value,)
        case ir.Store():
            policy = () if statement.policy is None else (statement.policy,)
            return (statement.address, statement.value, *policy)
        case ir.Prefetch():
            return (statement.address,)
        case ir.If() | ir.While():
            return (statement.test,)
        case ir.Assert():
            return (statement.test, *statement.values)
        case ir.ForRange():
            return (statement.start, statement.stop, statement.step)
        case ir.Return():
            return () if statement.value is None else (statement.value,)
        case ir.Print():
            return statement.arguments
        case _:
            return ()


def bodies(statement: ir.Stmt) -> tuple[tuple[ir.Stmt, ...], ...]:
    """The blocks of statements directly inside a statement."""
    match statement:
        case ir.If() | ir.While() | ir.ForRange():
            return (statement.body, statement.orelse)
        case ir.Unrolled():
            return (*statement.bodies, statement.orelse)
        case _:
            return ()


def statements(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
    """Every statement of a body, nested ones included, in source order."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from statements(inner)


def subexpressions(node: ir.Expr) -> Iterator[ir.Expr]:
    """The expression and every expression inside of it."""
    yield node
    for inner in operands(node):
        yield from subexpressions(inner)


def all_expressions(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Expr]:
    """Every expression of a body, in source order."""
    for statement in statements(body):
        for expression in expressions(statement):
            yield from subexpressions(expression)
