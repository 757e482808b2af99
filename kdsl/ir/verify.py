"""What every stage may assume of the typed tree, asserted: types agree, conversions are explicit, names resolve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from math import prod
from typing import Any, assert_never

from kdsl.ir import nodes as ir
from kdsl.lang.group_type import GroupType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import (
    I32,
    I64,
    U32,
    VOID,
    ArrayType,
    Kind,
    PointerType,
    ScalarType,
    Space,
    TupleType,
    Type,
    VectorType,
)
from kdsl.source import InternalError

LOAD_ORDERS = (ir.Order.RELAXED, ir.Order.ACQUIRE, ir.Order.SEQ_CST)
STORE_ORDERS = (ir.Order.RELAXED, ir.Order.RELEASE, ir.Order.SEQ_CST)
# PTX ISA 9.0, 9.7.9.1: cache operators; and 9.7.9.15.
LOAD_CACHES = ("ca", "cg", "cs", "lu", "cv", "nc")
STORE_CACHES = ("wb", "cg", "cs", "wt")
EVICTIONS = ("first", "last", "normal", "unchanged", "no_allocate")
PREFETCH_SIZES = (64, 128, 256)
PREFETCH_LEVELS = ("L1", "L2", "L2::evict_last", "L2::evict_normal")
SHIFTS = (ir.BinaryOp.SHL, ir.BinaryOp.SHR)


def verify(module: ir.Module) -> None:
    """InternalError for the first node that breaks the contract of `kdsl.ir.nodes`."""
    known: set[str] = set()
    # Functions may call themselves, and each other in a circle.
    callees = {f.name: f for f in module.functions}
    for function in (*module.functions, *module.kernels):
        _require(function.name not in known, function, "two functions of one name")
        _require(function.name.isascii() and function.name.isidentifier(), function, "a name that PTX cannot hold")
        _Verifier(function, callees).run()
        known.add(function.name)


def _require(holds: bool, node: Any, rule: str) -> None:
    if not holds:
        place = getattr(node, "span", "?")
        raise InternalError(f"typed tree: {rule}, at {place}: {type(node).__name__} {node!r:.300}")


class _Verifier:
    def __init__(self, function: ir.Function, callees: dict[str, ir.Function]) -> None:
        self.function = function
        self.callees = callees
        self.locals: dict[int, ir.Local] = {}

    def run(self) -> None:
        f = self.function
        for parameter in f.parameters:
            self.local(parameter, f)
        _require(f.written is None or f.written <= {p.uid for p in f.parameters}, f, "written names no parameter")
        if f.is_kernel:
            _require(f.result == VOID, f, "a kernel with a result")
        self.block(f.body, in_loop=False)

    def local(self, local: ir.Local, node: Any) -> None:
        _require(self.locals.setdefault(local.uid, local) == local, node, "two variables of one uid")
        _require(_is_concrete(local.type), node, "a variable without a concrete type")

    def block(self, body: tuple[ir.Stmt, ...], in_loop: bool) -> None:
        for statement in body:
            self.statement(statement, in_loop)

    def statement(self, s: ir.Stmt, in_loop: bool) -> None:
        for expr in _expressions(s):
            self.expr(expr)
        match s:
            case ir.Assign(local, value):
                self.local(local, s)
                _require(value.type == local.type, s, f"{value.type} assigned to {local.type}")
            case ir.Store(address, value, access=access):
                _require(_is_access(access, STORE_ORDERS, STORE_CACHES), s, "no access of a store")
                _require(isinstance(address.type, PointerType), s, "a store to no address")
                assert isinstance(address.type, PointerType)
                _require(address.type.element == value.type, s, f"{value.type} stored")
                _require(address.type.space is not Space.CONSTANT, s, "a store to constant memory")
            case ir.Prefetch(address, level):
                _require(isinstance(address.type, PointerType) and level in PREFETCH_LEVELS, s, "no prefetch")
            case ir.If(test, body, orelse):
                _require(_is_bool(test.type), s, "a test that is no bool")
                self.block(body, in_loop)
                self.block(orelse, in_loop)
            case ir.While(test, body, orelse):
                _require(_is_bool(test.type), s, "a test that is no bool")
                self.block(body, True)
                self.block(orelse, in_loop)
            case ir.ForRange(target, start, stop, step, body, orelse):
                self.local(target, s)
                types = {str(e.type) for e in (start, stop, step)} | {str(target.type)}
                _require(len(types) == 1 and _is_int(target.type), s, f"a range of {types}")
                _require(s.unroll is None or s.unroll >= 0, s, f"{s.unroll} copies of a body")
                self.block(body, True)
                self.block(orelse, in_loop)
            case ir.Unrolled(bodies, orelse):
                for body in bodies:
                    self.block(body, True)
                self.block(orelse, in_loop)
            case ir.Break() | ir.Continue():
                _require(in_loop, s, "outside of a loop")
            case ir.Return(value):
                got = VOID if value is None else value.type
                _require(got == self.function.result, s, f"{got} returned")
            case ir.Assert(test):
                _require(_is_bool(test.type), s, "a test that is no bool")
            case ir.Print(format, arguments):
                _require(format.replace("%%", "").count("%") == len(arguments), s, "a format for other arguments")
                allowed = ("i32", "u32", "i64", "u64", "f64", "bool")
                _require(
                    all(str(a.type) in allowed or isinstance(a.type, PointerType) for a in arguments), s, "not promoted"
                )
            case ir.Evaluate():
                pass

    def expr(self, e: ir.Expr) -> None:
        for child in _expressions(e):
            self.expr(child)
        may_be_void = isinstance(e, ir.Call | ir.IntrinsicCall | ir.InlinePtx | ir.ExternCall)
        _require(_is_concrete(e.type) or may_be_void, e, "no concrete type")
        match e:
            case ir.Const(value, type):
                _require(_holds(value, type), e, f"{value!r} is no {type}")
            case ir.Read(local, type):
                _require(local.type == type, e, "another type than its variable")
                _require(self.locals.get(local.uid, local) == local, e, "two variables of one uid")
            case ir.LocalAddress(local, type):
                _require(local.type == type.element and type.space is Space.LOCAL, e, "another type than its variable")
                _require(self.locals.get(local.uid, local) == local, e, "two variables of one uid")
            case ir.AssignExpr(local, value, type):
                self.local(local, e)
                _require(local.type == value.type == type, e, "another type than its variable")
            case ir.Conditional(test, then, orelse, type):
                _require(_is_bool(test.type) and then.type == orelse.type == type, e, "arms of other types")
            case ir.TupleExpr(elements, type):
                types = tuple(x.type for x in elements)
                _require(isinstance(type, TupleType) and type.elements == types, e, "other elements")
            case ir.TupleElement(value, index, type):
                _require(isinstance(value.type, TupleType) and value.type.elements[index] == type, e, "no such element")
            case ir.StructExpr() | ir.FieldValue() | ir.WithField() | ir.FieldAddress():
                _verify_struct(e)
            case ir.VectorExpr() | ir.Swizzle() | ir.WithLane() | ir.Lanewise() | ir.VectorCast():
                _verify_vector(e)
            case ir.Call():
                self.call(e)
            case ir.IntrinsicCall(arguments=arguments, parameters=parameters):
                _require(len(arguments) == len(parameters), e, "arguments without names")
            case ir.Binary() | ir.Unary() | ir.Compare() | ir.Logical() | ir.Cast() | ir.Bitcast():
                _verify_operation(e)
            case ir.SharedArray(type=type) | ir.LocalArray(type=type):
                _require(type.shape is not None and len(type.shape) == type.ndim, e, "no shape")
            case ir.PointerDifference(left, right, type):
                _require(left.type == right.type and isinstance(left.type, PointerType), e, "no pointers alike")
                _require(type == I64, e, f"a difference of type {type}")
            case ir.ConstantArray(_, data, type):
                size = prod(type.shape or ()) * type.element.size
                _require(type.space is Space.CONSTANT and len(data) == size, e, "another size than its shape's")
            case ir.ModuleVariable(type=type):
                _require(type.space in (Space.GLOBAL, Space.CONSTANT) and type.shape is not None, e, "no such space")
            case ir.DynamicShared(offset, type):
                _require(_is_int(offset.type) and type.space is Space.SHARED, e, "no offset into shared memory")
            case ir.ElementAddress() | ir.Load() | ir.Extent() | ir.Stride() | ir.Atomic():
                _verify_access(e)
            case ir.AssumeAligned(operand, alignment) | ir.IsAligned(operand, alignment):
                _require(isinstance(operand.type, PointerType | ArrayType), e, "the alignment of no address")
                _require(alignment > 0 and not alignment & (alignment - 1), e, "no alignment")
                _require(isinstance(e, ir.IsAligned) or operand.type == e.type, e, "another type")
            case ir.View() | ir.ArrayExpr():
                _verify_view(e)
            case ir.ListExpr(array, elements, repeat, type):
                _require(len(elements) * repeat == prod(type.shape or ()), e, "another number of elements")
                _require(all(x.type == type.element for x in elements) and array.type == type, e, "other elements")
            case ir.InlinePtx():
                _verify_inline_ptx(e)
            case ir.ExternCall(extern, arguments, type):
                _require(len(arguments) == len(extern.parameters), e, "other arguments")
                _require(type == extern.result, e, "another result")
            case _:
                assert_never(e)

    def call(self, e: ir.Call) -> None:
        callee = self.callees.get(e.function)
        _require(callee is not None, e, f"{e.function} is not defined before it is called")
        assert callee is not None
        types = tuple(p.type for p in callee.parameters)
        _require(tuple(a.type for a in e.arguments) == types, e, "other arguments")
        _require(callee.result == e.type, e, "another result")


def _verify_operation(e: ir.Binary | ir.Unary | ir.Compare | ir.Logical | ir.Cast | ir.Bitcast) -> None:
    match e:
        case ir.Binary(op, left, right, type):
            _require(left.type == type, e, f"left operand {left.type}")
            _require(_is_int(right.type) if op in SHIFTS else right.type == type, e, f"right operand {right.type}")
            _require(op is not ir.BinaryOp.DIV or type.is_float, e, "a division of ints")
        case ir.Unary(op, operand, type):
            _require(operand.type == type, e, f"operand {operand.type}")
            _require(op is not ir.UnaryOp.NOT or _is_bool(type), e, "not of no bool")
        case ir.Compare(_, left, right, type):
            _require(left.type == right.type and _is_bool(type), e, f"{left.type} compared with {right.type}")
        case ir.Logical(_, left, right, type):
            _require(all(map(_is_bool, (left.type, right.type, type))), e, "operands that are no bools")
        case ir.Cast(operand, type):
            _require(isinstance(operand.type, ScalarType) and isinstance(type, ScalarType), e, "no scalars")
        case ir.Bitcast(operand, GroupType()):
            _require(operand.type == U32, e, "a group from no lanes")
        case ir.Bitcast(operand, ScalarType() as type) if isinstance(operand.type, GroupType):
            _require(type == U32, e, "a group's lanes as another type")
        case ir.Bitcast(operand, ScalarType() as type):
            _require(isinstance(operand.type, ScalarType) and operand.type.bits == type.bits, e, "sizes differ")
        case ir.Bitcast(operand):
            _require(isinstance(operand.type, ArrayType | PointerType), e, "a pointer from no pointer")


def _verify_struct(e: ir.StructExpr | ir.FieldValue | ir.WithField | ir.FieldAddress) -> None:
    match e:
        case ir.StructExpr(elements, type):
            _require(tuple(x.type for x in elements) == tuple(f.type for f in type.fields), e, "other fields")
        case ir.FieldValue(value, index, type):
            _require(_field(value.type, index) == type, e, "no such field")
        case ir.WithField(value, index, element, type):
            _require(value.type == type and _field(type, index) == element.type, e, "other types")
        case ir.FieldAddress(address, index, type):
            _require(isinstance(address.type, PointerType), e, "a field of no memory")
            assert isinstance(address.type, PointerType)
            _require(_field(address.type.element, index) == type.element, e, "no such field")
            _require(type.space == address.type.space, e, "another space")


def _field(type: Type, index: int) -> Type | None:
    """The type of a struct's field; None if there is none."""
    return type.fields[index].type if isinstance(type, StructType) and index < len(type.fields) else None


LANEWISE = {ir.BinaryOp: 2, ir.UnaryOp: 1, type(None): 3}
"""How many operands an operator has."""


def _verify_vector(e: ir.VectorExpr | ir.Swizzle | ir.WithLane | ir.Lanewise | ir.VectorCast) -> None:
    match e:
        case ir.VectorExpr(elements, type):
            _require(len(elements) == type.lanes and all(x.type == type.element for x in elements), e, "other elements")
        case ir.Swizzle(value, lanes, type):
            source = value.type
            _require(isinstance(source, VectorType), e, "lanes of no vector")
            assert isinstance(source, VectorType)
            _require(all(0 <= i < source.lanes for i in lanes), e, "no such lane")
            made: Type = source.element if len(lanes) == 1 else VectorType(source.element, len(lanes))
            _require(made == type, e, "not its lanes' type")
        case ir.WithLane(value, lane, element, type):
            _require(value.type == type and element.type == type.element, e, "other types")
            _require(0 <= lane < type.lanes, e, "no such lane")
        case ir.Lanewise(op, operands, type):
            _require(len(operands) == LANEWISE[op.__class__], e, "operands")
            _require(all(o.type == type for o in operands), e, "operands of another type")
            _require(op is not None or type.element.is_float, e, "a fused operation of ints")
        case ir.VectorCast(operand, type):
            count = operand.type.lanes if isinstance(operand.type, VectorType) else 0
            _require(count == type.lanes, e, "not as many lanes")


def _verify_view(e: ir.View | ir.ArrayExpr) -> None:
    t = e.type
    _require(t.shape is None or len(t.shape) == t.ndim, e, "another shape")
    if isinstance(e, ir.ArrayExpr):
        _require(_points_at(e.address, t.element), e, "no address of its elements")
        _require(len(e.extents) == (t.ndim if t.shape is None else 0), e, "extents")
        _require(len(e.strides) == (t.ndim if t.strided else 0), e, "strides")
        _require(all(x.type == (t.index or I32) for x in (*e.extents, *e.strides)), e, "no index type")
        return
    base = e.base.type
    _require(isinstance(base, PointerType | ArrayType), e, "a part of no memory")
    assert isinstance(base, PointerType | ArrayType)
    ndim = base.ndim if isinstance(base, ArrayType) else 1
    _require(all(len(x) == ndim for x in (e.starts, e.stops, e.steps, e.kept)), e, "axes")
    _require(sum(e.kept) == t.ndim, e, "other axes than kept")
    _require((base.element, base.space) == (t.element, t.space), e, "other memory")
    bounds = [b for b in (*e.starts, *e.stops, *e.steps) if b is not None]
    _require(all(_is_int(b.type) for b in bounds), e, "bounds")
    _require(all(s is not None for s, k in zip(e.starts, e.kept, strict=True) if not k), e, "no index")


def _verify_access(e: ir.ElementAddress | ir.Load | ir.Extent | ir.Stride | ir.Atomic) -> None:
    match e:
        case ir.ElementAddress(base, indices, type):
            _require(isinstance(base.type, PointerType | ArrayType), e, "an element of no memory")
            assert isinstance(base.type, PointerType | ArrayType)
            ndim = base.type.ndim if isinstance(base.type, ArrayType) else 1
            _require(len(indices) == ndim and all(_is_int(i.type) for i in indices), e, "indices")
            _require(type.element == base.type.element and type.space == base.type.space, e, "another pointer type")
        case ir.Load(address, type, access=access):
            _require(_is_access(access, LOAD_ORDERS, LOAD_CACHES), e, "no access of a load")
            _require(_points_at(address, type), e, "not its address's type")
        case ir.Extent(array, axis):
            _require(isinstance(array.type, ArrayType) and axis < array.type.ndim, e, "no such axis")
        case ir.Stride(array, axis):
            _require(isinstance(array.type, ArrayType) and axis < array.type.ndim, e, "no such axis")
        case ir.Atomic(op, address, operands, type):
            _require(_points_at(address, type), e, "not its address's type")
            _require(len(operands) == (2 if op is ir.AtomicOp.CAS else 1), e, "operands")
            _require(all(o.type == type for o in operands), e, "operands of another type")


def _verify_inline_ptx(e: ir.InlinePtx) -> None:
    used = {part for part in e.template if isinstance(part, int)}
    _require(used == set(range(len(e.results) + len(e.operands))), e, "other operands than the template's")
    _require(len(e.names) == len(e.operands), e, "operands without names")
    _require(all(isinstance(t, ScalarType) for t in e.results), e, "a result that is no scalar")
    _require(all(isinstance(o.type, ScalarType | PointerType) for o in e.operands), e, "an operand for no register")


def _is_access(access: ir.Access | None, orders: tuple[ir.Order, ...], caches: tuple[str, ...]) -> bool:
    match access:
        case ir.Ordering(order):
            return order in orders
        case ir.Caching(cache, volatile, evict, size):
            known = cache in ("", *caches) and evict in ("", *EVICTIONS) and size in (0, *PREFETCH_SIZES)
            return known and not (volatile and (cache or evict or size))
        case None:
            return True


def _points_at(address: ir.Expr, type: Type) -> bool:
    return isinstance(address.type, PointerType) and address.type.element == type


def _expressions(node: Any) -> Iterator[Any]:
    """The expressions directly inside of a node (not those of the statements in it)."""
    for field in fields(node):
        value = getattr(node, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if is_dataclass(part) and isinstance(part, ir.Expr):
                yield part


def _is_concrete(type: Type) -> bool:
    if isinstance(type, TupleType):
        return all(map(_is_concrete, type.elements))
    return isinstance(type, ScalarType | VectorType | StructType | PointerType | ArrayType | GroupType)


def _is_bool(type: Any) -> bool:
    return isinstance(type, ScalarType) and type.kind is Kind.BOOL


def _is_int(type: Any) -> bool:
    return isinstance(type, ScalarType) and type.is_int


def _holds(value: Any, type: Type) -> bool:
    if not isinstance(type, ScalarType):
        return False
    if type.kind is Kind.BOOL:
        return isinstance(value, bool)
    if type.is_float or type.is_float8:
        return isinstance(value, float)
    return isinstance(value, int) and not isinstance(value, bool) and type.minimum <= value <= type.maximum
