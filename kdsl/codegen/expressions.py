"""Expressions: one `match` over the tree's nodes, each evaluated once, in Python's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, assert_never

from llvmlite import ir as llvm

from kdsl.codegen import arithmetic, arrays, checks, libdevice, memory, promises, structs, vectors, views
from kdsl.codegen.atomics import atomic_load, emit_atomic
from kdsl.codegen.caching import cached_load
from kdsl.codegen.context import Context
from kdsl.codegen.conversions import cast, rebind_half
from kdsl.codegen.debug_info import Locations
from kdsl.codegen.effort import is_simple, needs_libdevice
from kdsl.codegen.externs import emit_extern_call
from kdsl.codegen.inline_ptx import emit_inline_ptx
from kdsl.codegen.intrinsics import emit_intrinsic
from kdsl.codegen.lists import fill
from kdsl.codegen.ranges import Interval, Ranges, is_grid_index, is_grid_product
from kdsl.codegen.types import BFLOAT, HALF, alignment, constant, llvm_type, memory_type, pointer
from kdsl.codegen.variables import module_variable
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import BinaryOp
from kdsl.lang.fixed_array import has_fixed_array
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import U8, ArrayType, PointerType, ScalarType, Space, Type, VectorType
from kdsl.records import dataclass
from kdsl.source import CompileError, Span

_SHIFTS = (BinaryOp.SHL, BinaryOp.SHR)
_CHAIN = (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL)
_BYTES = PointerType(U8, Space.SHARED)


@dataclass(slots=True)
class Expressions:
    """Lowers the expressions of one function.

    ``variables`` holds the allocas of locals, ``values`` the parameters that are never assigned, ``arrays`` by uid.
    """

    context: Context
    function: ir.Function
    ranges: Ranges
    functions: Mapping[str, llvm.Function]
    locations: Locations
    variables: dict[int, llvm.Value] = field(default_factory=dict)
    values: dict[int, llvm.Value] = field(default_factory=dict)
    arrays: dict[int, llvm.Value] = field(default_factory=dict)

    @property
    def builder(self) -> llvm.IRBuilder:
        return self.context.builder

    def locate(self, span: Span) -> None:
        """What is built next comes from ``span``."""
        self.builder.debug_metadata = self.locations.at(span)

    def value(self, e: ir.Expr) -> Any:
        """The value of an expression in registers."""
        match e:
            case ir.Const():
                return self._constant(e)
            case ir.Read():
                return self._read(e)
            case ir.LocalAddress():
                # LLVM allots generic addresses, but the type says local ones, which are half as wide.
                return self._at(e, self.builder.addrspacecast, self.variable(e.local), pointer(Space.LOCAL))
            case ir.AssignExpr():
                return self.assign(e.local, self.value(e.value), e.span)
            case ir.Binary():
                return self._binary(e, self.value(e.left), self.value(e.right), index=False)
            case ir.Unary():
                return self._at(e, arithmetic.unary, self.context, e.op, e.type, self.value(e.operand))
            case ir.Compare():
                return self._compare(e)
            case ir.Logical():
                return self._logical(e)
            case ir.Conditional():
                return self._conditional(e)
            case ir.Cast():
                return self._cast(e, self.value(e.operand))
            case ir.Bitcast():
                return self._bitcast(e)
            case ir.ElementAddress():
                return self._element_address(e)
            case ir.PointerDifference():
                assert isinstance(e.left.type, PointerType)
                pair = self.value(e.left), self.value(e.right)
                return self._at(e, memory.difference, self.context, *pair, e.left.type.element)
            case ir.Load(access=ir.Ordering() as ordering):
                return self._at(e, atomic_load, self.context, self.value(e.address), _scalar(e.type), ordering, e.span)
            case ir.Load(access=ir.Caching() as caching):
                address, policy = self.value(e.address), None if e.policy is None else self.value(e.policy)
                return self._at(e, cached_load, self.context, address, e.type, caching, policy, e.span)
            case ir.Load():
                return self._at(e, memory.load, self.context, self.value(e.address), e.type)
            case ir.Extent():
                assert isinstance(e.array.type, ArrayType)
                return self._at(e, memory.extent, self.context, self.value(e.array), e.array.type, e.axis)
            case ir.Stride():
                assert isinstance(e.array.type, ArrayType)
                return self._at(e, memory.stride, self.context, self.value(e.array), e.array.type, e.axis)
            case ir.ListExpr():
                elements = [self.value(x) for x in e.elements]
                return self._at(e, fill, self.context, self._array(e.array), e, elements)
            case ir.AssumeAligned():
                return self._at(e, promises.assume, self.context, e, self.value(e.operand))
            case ir.IsAligned():
                return self._at(e, promises.is_aligned, self.context, e, self.value(e.operand))
            case ir.View():
                return self._view(e)
            case ir.ArrayExpr():
                data, words = self.value(e.address), [self.value(x) for x in (*e.extents, *e.strides)]
                size = self.value(e.size) if e.size is not None and self.context.options.debug else None
                return self._at(e, views.whole, self.context, e, data, words, size)
            case ir.SharedArray() | ir.LocalArray():
                return self._array(e)
            case ir.ConstantArray():
                # PTX knows ASCII names only.
                return self.context.shared.constant(e.data, e.name if e.name.isascii() else "array")
            case ir.ModuleVariable():
                return self._at(e, module_variable, self.context, e.name, e.variable)
            case ir.DynamicShared():
                offset = [(self.index(e.offset), _scalar(e.offset.type))]
                start = self.context.shared.dynamic_shared()
                return self._at(e, memory.element_address, self.context, start, _BYTES, offset)
            case ir.TupleExpr():
                return self._tuple(e)
            case ir.TupleElement():
                return self._at(e, self.builder.extract_value, self.value(e.value), e.index)
            case ir.StructExpr() | ir.FieldValue() | ir.WithField() | ir.FieldAddress():
                return self._struct(e)
            case ir.VectorExpr() | ir.Swizzle() | ir.WithLane() | ir.Lanewise() | ir.VectorCast():
                return self._vector(e)
            case ir.Call():
                return self._call(e)
            case ir.IntrinsicCall():
                return self._at(e, emit_intrinsic, self.context, e, [self.value(a) for a in e.arguments])
            case ir.ExternCall():
                return self._at(e, emit_extern_call, self.context, e, [self.value(a) for a in e.arguments])
            case ir.Atomic():
                address, values = self.value(e.address), [self.value(o) for o in e.operands]
                return self._at(e, emit_atomic, self.context, e, address, values)
            case ir.InlinePtx():
                return self._at(e, emit_inline_ptx, self.context, e, [self.value(o) for o in e.operands])
            case _:
                assert_never(e)

    def _at(self, e: ir.Expr, emit: Any, *arguments: Any) -> Any:
        """What ``emit`` builds, located at ``e``; the arguments were evaluated before, each at its own place."""
        self.locate(e.span)
        return emit(*arguments)

    def _constant(self, e: ir.Const) -> llvm.Constant:
        assert isinstance(e.type, ScalarType)
        return constant(e.type, e.value)

    def _read(self, e: ir.Read) -> Any:
        if e.local.uid in self.values:
            return self.values[e.local.uid]
        self.locate(e.span)
        place = self.variable(e.local)
        if has_fixed_array(e.local.type):
            return memory.load(self.context, place, e.local.type)
        return self.builder.load(place, typ=llvm_type(e.local.type))

    def assign(self, local: ir.Local, value: llvm.Value, span: Span) -> Any:
        """Store to a local; gives the value."""
        self.locate(span)
        place = self.variable(local)
        if has_fixed_array(local.type):
            memory.store(self.context, value, place, local.type)
        else:
            self.builder.store(value, place)
        return value

    def variable(self, local: ir.Local) -> llvm.Value:
        """The alloca of a local. A struct with an array lies there as in memory: its elements have addresses."""
        if local.uid not in self.variables:
            is_memory = has_fixed_array(local.type)
            t = memory_type(local.type) if is_memory else llvm_type(local.type)
            self.variables[local.uid] = self.context.alloca(t, local.name)
            if is_memory:
                self.variables[local.uid].align = alignment(local.type)
        return self.variables[local.uid]

    def _binary(self, e: ir.Binary, left: llvm.Value, right: llvm.Value, *, index: bool) -> Any:
        known = (self.ranges.interval(e.left), self.ranges.interval(e.right))
        self.locate(e.span)
        if e.op in _SHIFTS:
            amount = e.right.type
            assert isinstance(amount, ScalarType)
            return arithmetic.shift(self.context, e.op, e.type, left, right, amount, known[1])
        if needs_libdevice(e) and libdevice.find() is None:
            raise CompileError.at(e.span, f"`{e.op.value}` of floats needs NVIDIA's libdevice", libdevice.INSTALL)
        if self.context.options.debug:
            checks.check_divisor(self.context, e, left, right, known[1])
        nsw = e.type.is_signed and e.op in _CHAIN and (index or self._never_wraps(e))
        # LLVM would conclude from nsw that block_idx * block_dim is not negative, and index by unsigned arithmetic,
        # which ptxas schedules worse. The sum with thread_idx has nsw, which is what 64-bit addresses need.
        nsw = nsw and not (e.op is BinaryOp.MUL and is_grid_product(e, self.ranges, "ctaid"))
        return arithmetic.binary(self.context, e.op, e.type, left, right, known, nsw=nsw)

    def _cast(self, e: ir.Cast, value: llvm.Value) -> Any:
        source = _scalar(e.operand.type)
        result = self._at(e, cast, self.context, value, source, e.type)
        if e.checked and self.context.options.debug:
            checks.check_cast(self.context, e, value, result, self.ranges.interval(e.operand))
        return result

    def _never_wraps(self, e: ir.Binary) -> bool:
        exact = self.ranges.exact_binary(e)
        return exact is not None and exact.within(Interval.of(e.type))

    def index(self, e: ir.Expr) -> Any:
        """An index, whose chain of + - * may be taken not to wrap: if it did, the access would be out of bounds.

        Not in a debug build, which says so: from an index that wraps LLVM might conclude that its check holds.
        """
        if self.context.options.debug:
            return self.value(e)
        if isinstance(e, ir.Binary) and e.op in _CHAIN and e.type.is_signed and not is_grid_index(e, self.ranges):
            return self._binary(e, self.index(e.left), self.index(e.right), index=True)
        if isinstance(e, ir.Cast) and _widens(e):
            source = e.operand.type
            assert isinstance(source, ScalarType)
            return self._at(e, cast, self.context, self.index(e.operand), source, e.type)
        return self.value(e)

    def _compare(self, e: ir.Compare) -> Any:
        left, right = self.value(e.left), self.value(e.right)
        t = e.left.type if isinstance(e.left.type, ScalarType) else None
        return self._at(e, arithmetic.compare, self.builder, e.op, t, left, right)

    def _logical(self, e: ir.Logical) -> Any:
        conjunction = e.op is ir.LogicalOp.AND
        left = self.value(e.left)
        decided = llvm.Constant(left.type, 0 if conjunction else 1)
        if self._is_simple(e.right):
            right = self.value(e.right)
            self.locate(e.span)
            sides = (right, decided) if conjunction else (decided, right)
            return self.builder.select(left, *sides)
        self.locate(e.span)
        before, other, end = self.builder.block, self._block("other"), self._block("decided")
        self.builder.cbranch(left, *((other, end) if conjunction else (end, other)))
        self.builder.position_at_end(other)
        right = self.value(e.right)
        self.locate(e.span)
        last = self.builder.block
        self.builder.branch(end)
        self.builder.position_at_end(end)
        return self._merge([(decided, before), (right, last)])

    def _conditional(self, e: ir.Conditional) -> Any:
        test = self.value(e.test)
        if self._is_simple(e.then) and self._is_simple(e.orelse):
            then, orelse = self.value(e.then), self.value(e.orelse)
            return self._at(e, self.builder.select, test, then, orelse)
        self.locate(e.span)
        sides, end = (self._block("then"), self._block("else")), self._block("end")
        self.builder.cbranch(test, *sides)
        incoming = []
        for block, side in zip(sides, (e.then, e.orelse), strict=True):
            self.builder.position_at_end(block)
            incoming.append((self.value(side), self.builder.block))
            self.builder.branch(end)
        self.locate(e.span)
        self.builder.position_at_end(end)
        return self._merge(incoming)

    def _is_simple(self, e: ir.Expr) -> bool:
        """Whether ``e`` may be evaluated needlessly: not where a check in it might fail."""
        return is_simple(e) and not (self.context.options.debug and checks.may_fail(e))

    def _merge(self, incoming: list[tuple[llvm.Value, llvm.Block]]) -> Any:
        phi = self.builder.phi(incoming[0][0].type)
        for value, block in incoming:
            phi.add_incoming(value, block)
        return phi

    def _block(self, name: str) -> llvm.Block:
        return self.builder.append_basic_block(name)

    def _bitcast(self, e: ir.Bitcast) -> Any:
        value = self.value(e.operand)
        self.locate(e.span)
        if isinstance(e.operand.type, ArrayType):
            value = memory.data_pointer(self.context, value, e.operand.type)
        t = llvm_type(e.type)
        if isinstance(e.type, PointerType):
            return value if value.type == t else self.builder.addrspacecast(value, t)
        if value.type == t:
            return value
        if {value.type, t} == {HALF, BFLOAT}:
            return rebind_half(self.builder, value, t)
        return self.builder.bitcast(value, t)

    def _element_address(self, e: ir.ElementAddress) -> Any:
        t = e.base.type
        assert isinstance(t, PointerType | ArrayType)
        base = self.value(e.base)
        indices = [(self.index(i), _scalar(i.type)) for i in e.indices]
        if self.context.options.debug and isinstance(t, ArrayType):
            self.locate(e.span)
            checks.check_indices(self.context, e, base, t, indices, [self.ranges.interval(i) for i in e.indices])
        return self._at(e, memory.element_address, self.context, base, t, indices)

    def _view(self, e: ir.View) -> Any:
        base = self.value(e.base)

        def bound(part: ir.Expr | None, evaluate: Callable[[ir.Expr], Any]) -> views.Bound | None:
            return None if part is None else (evaluate(part), _scalar(part.type))

        # What wraps in a bound makes an empty axis, which may be asked for its length: it is no index.
        axes = [
            views.Axis(
                bound(start, self.value if kept else self.index),
                bound(stop, self.value),
                bound(step, self.value),
                kept,
                views.constant_of(step),
            )
            for start, stop, step, kept in zip(e.starts, e.stops, e.steps, e.kept, strict=True)
        ]
        return self._at(e, views.view, self.context, e, base, axes)

    def _array(self, e: ir.SharedArray | ir.LocalArray) -> Any:
        if e.uid not in self.arrays:
            self.arrays[e.uid] = arrays.allot(self.context, e, self.function.name)
        return self.arrays[e.uid]

    def _tuple(self, e: ir.TupleExpr) -> Any:
        elements = [self.value(element) for element in e.elements]
        self.locate(e.span)
        result: Any = llvm.Constant(llvm_type(e.type), llvm.Undefined)
        for i, element in enumerate(elements):
            result = self.builder.insert_value(result, element, i)
        return result

    def _struct(self, e: ir.StructExpr | ir.FieldValue | ir.WithField | ir.FieldAddress) -> Any:
        match e:
            case ir.StructExpr(elements):
                return self._at(e, structs.build, self.context, [self.value(x) for x in elements], e.type)
            case ir.FieldValue(value, index):
                return self._at(e, self.builder.extract_value, self.value(value), index)
            case ir.WithField(value, index, element):
                new = self.value(element)
                return self._at(e, self.builder.insert_value, self.value(value), new, index)
            case ir.FieldAddress(address, index):
                assert isinstance(address.type, PointerType)
                assert isinstance(address.type.element, StructType)
                start = self.value(address)
                return self._at(e, structs.field_address, self.context, start, address.type.element, index)

    def _vector(self, e: ir.VectorExpr | ir.Swizzle | ir.WithLane | ir.Lanewise | ir.VectorCast) -> Any:
        match e:
            case ir.VectorExpr(elements):
                return self._at(e, vectors.build, self.context, [self.value(x) for x in elements], e.type)
            case ir.Swizzle(value, lanes):
                return self._at(e, vectors.swizzle, self.context, self.value(value), lanes)
            case ir.WithLane(value, index, element):
                new = self.value(element)
                return self._at(e, vectors.with_lane, self.context, self.value(value), index, new)
            case ir.Lanewise(operands=parts):
                return self._at(e, vectors.lanewise, self.context, e, [self.value(p) for p in parts])
            case ir.VectorCast(operand):
                source = operand.type
                assert isinstance(source, VectorType)
                return self._at(e, vectors.convert, self.context, self.value(operand), source, e.type)

    def _call(self, e: ir.Call) -> Any:
        arguments = [self.value(a) for a in e.arguments]
        self.locate(e.span)
        return self.builder.call(self.functions[e.function], arguments, attrs=("convergent",))


def _widens(e: ir.Cast) -> bool:
    """Whether a cast only extends a signed index, so that the chain below it is still the index."""
    source = e.operand.type
    return isinstance(source, ScalarType) and source.is_signed and e.type.is_signed and e.type.bits > source.bits


def _scalar(t: Type) -> ScalarType:
    assert isinstance(t, ScalarType)
    return t
