"""Views: a part of an array as an array. Where it begins, how long its axes are, and how far apart their elements.

Everything is computed where the view is made; what nobody reads, and what multiplies by a known 1, LLVM drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen import checks, memory
from kdsl.codegen.context import Context
from kdsl.codegen.types import I32, I64, llvm_type
from kdsl.ir import nodes as ir
from kdsl.lang import types
from kdsl.lang.types import ArrayType, PointerType, ScalarType
from kdsl.records import dataclass

Bound = tuple[llvm.Value, ScalarType]


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of the base: evaluated bounds, None where the view does not say them."""

    start: Bound | None
    stop: Bound | None
    step: Bound | None
    kept: bool
    constant_step: int | None
    """The step, if it is known."""


def view(context: Context, e: ir.View, base: llvm.Value, axes: Sequence[Axis]) -> Any:
    """``base[starts:stops:steps]``."""
    t = e.base.type
    assert isinstance(t, ArrayType | PointerType)
    bounds = [b for axis in axes for b in (axis.start, axis.stop, axis.step) if b is not None]
    index = e.type.index or types.I32
    bits = max(index.bits, *(b[1].bits for b in bounds), 32) if bounds else index.bits
    builder = _Builder(context, e, base, t, bits)
    parts = [builder.axis(number, axis) for number, axis in enumerate(axes)]
    starts = [(start, types.I64 if bits == 64 else types.I32) for start, _, _ in parts]
    data = memory.element_address(context, base, t, starts)
    kept = [part for part, axis in zip(parts, axes, strict=True) if axis.kept]
    extents = [builder.narrow(size, index) for _, size, _ in kept] if e.type.shape is None else []
    strides = [builder.narrow(apart, index) for _, _, apart in kept] if e.type.strided else []
    return array(context, e.type, data, extents, strides)


def array(
    context: Context, t: ArrayType, data: llvm.Value, extents: Sequence[llvm.Value], strides: Sequence[llvm.Value]
) -> Any:
    """An array's value of its parts."""
    if not extents and not strides:
        return data
    result: Any = llvm.Constant(llvm_type(t), llvm.Undefined)
    for position, part in enumerate((data, *extents, *strides)):
        result = context.builder.insert_value(result, part, position)
    return result


@dataclass(frozen=True, slots=True)
class _Builder:
    """Builds the axes of one view, in words of ``bits``."""

    context: Context
    e: ir.View
    base: llvm.Value
    t: ArrayType | PointerType
    bits: int

    @property
    def word(self) -> llvm.Type:
        return I64 if self.bits == 64 else I32

    def number(self, value: int) -> llvm.Constant:
        return llvm.Constant(self.word, value)

    def bound(self, bound: Bound) -> llvm.Value:
        return memory.extended(self.context.builder, *bound, self.bits)

    def narrow(self, value: llvm.Value, index: ScalarType) -> llvm.Value:
        t = llvm_type(index)
        return value if value.type == t else self.context.builder.trunc(value, t)

    def widened(self, value: llvm.Value) -> llvm.Value:
        return value if value.type == self.word else self.context.builder.sext(value, self.word)

    def size(self, axis: int) -> llvm.Value:
        """The base's extent; a pointer has none, and every slice of it says its end."""
        assert isinstance(self.t, ArrayType)
        return self.widened(memory.extent(self.context, self.base, self.t, axis))

    def apart(self, axis: int) -> llvm.Value:
        """The base's stride."""
        if isinstance(self.t, PointerType):
            return self.number(1)
        return self.widened(memory.stride(self.context, self.base, self.t, axis))

    def axis(self, number: int, axis: Axis) -> tuple[llvm.Value, llvm.Value, llvm.Value]:
        """Where an axis starts, how many elements it has, and how far apart they are."""
        if not axis.kept:
            assert axis.start is not None
            self.check_index(number, axis.start)
            zero = self.number(0)
            return self.bound(axis.start), zero, zero
        if axis.start is None and axis.stop is None and axis.step is None:
            return self.number(0), self.size(number), self.apart(number)
        backwards = axis.constant_step is not None and axis.constant_step < 0
        start, distance = self.backwards(number, axis) if backwards else self.forwards(number, axis)
        self.check_slice(number, axis, start, distance)
        count, step = self.counted(axis, distance)
        strides = self.e.type.strided
        apart = self.context.builder.mul(self.apart(number), step, flags=("nsw",)) if strides else self.number(1)
        return start, count, apart

    def forwards(self, number: int, axis: Axis) -> tuple[llvm.Value, llvm.Value]:
        """The start, and how far the stop is past it."""
        start = self.bound(axis.start) if axis.start is not None else self.number(0)
        stop = self.bound(axis.stop) if axis.stop is not None else self.size(number)
        if axis.start is None and axis.stop is None:
            return start, stop
        return start, self.distance(start, stop)

    def backwards(self, number: int, axis: Axis) -> tuple[llvm.Value, llvm.Value]:
        """The same from the end to the beginning."""
        builder = self.context.builder
        last = self.number(-1)
        start = self.bound(axis.start) if axis.start is not None else builder.add(self.size(number), last)
        stop = self.bound(axis.stop) if axis.stop is not None else last
        return start, self.distance(stop, start)

    def distance(self, low: llvm.Value, high: llvm.Value) -> llvm.Value:
        """How far ``high`` is above ``low``, 0 if it is not. A difference might wrap, so the greater is found first."""
        most = self.context.call(f"llvm.smax.i{self.bits}", self.word, [high, low])
        return self.context.builder.sub(most, low)

    def counted(self, axis: Axis, distance: llvm.Value) -> tuple[llvm.Value, llvm.Value]:
        """How many steps fit a distance, and the step."""
        builder = self.context.builder
        if axis.constant_step is not None:
            step = self.number(axis.constant_step)
            size = abs(axis.constant_step)
            if size == 1:
                return distance, step
            return builder.udiv(builder.add(distance, self.number(size - 1)), self.number(size)), step
        assert axis.step is not None
        step = self.bound(axis.step)
        ahead = builder.icmp_signed(">", step, self.number(0))
        # By what is no step nothing is divided: LLVM would make anything of it.
        divisor = builder.select(ahead, step, self.number(1))
        count = builder.udiv(builder.add(distance, builder.sub(divisor, self.number(1))), divisor)
        return builder.select(ahead, count, self.number(0)), step

    def check_index(self, number: int, index: Bound) -> None:
        if self.context.options.debug and isinstance(self.t, ArrayType):
            checks.check_axis(self.context, self.e, self.base, self.t, number, index, None)

    def check_slice(self, number: int, axis: Axis, start: llvm.Value, distance: llvm.Value) -> None:
        """In a debug build: a slice that is not empty lies in the array, and its bounds do not count from the end."""
        if not self.context.options.debug or not isinstance(self.t, ArrayType):
            return
        builder, zero = self.context.builder, self.number(0)
        size = self.size(number)
        is_empty = builder.icmp_signed("==", distance, zero)
        if axis.constant_step is not None and axis.constant_step < 0:
            inside = builder.and_(builder.icmp_signed(">=", start, zero), builder.icmp_signed("<", start, size))
            checks.check_bound(self.context, self.e, number, "starts", is_empty, inside, (start, size))
            if axis.stop is not None:
                stop = self.bound(axis.stop)
                ahead = builder.icmp_signed(">=", stop, zero)
                checks.check_bound(self.context, self.e, number, "ends", is_empty, ahead, (stop, size))
            return
        never = llvm.Constant(is_empty.type, 0)
        if axis.start is not None:
            ahead = builder.icmp_signed(">=", start, zero)
            checks.check_bound(self.context, self.e, number, "starts", never, ahead, (start, size))
        if axis.stop is not None:
            stop = self.bound(axis.stop)
            ahead = builder.icmp_signed(">=", stop, zero)
            checks.check_bound(self.context, self.e, number, "ends", never, ahead, (stop, size))
            inside = builder.icmp_signed("<=", stop, size)
            checks.check_bound(self.context, self.e, number, "ends", is_empty, inside, (stop, size))
        if axis.step is not None and axis.constant_step is None:
            step = self.bound(axis.step)
            checks.check_step(self.context, self.e, number, builder.icmp_signed(">", step, zero), step, size)


def whole(
    context: Context, e: ir.ArrayExpr, data: llvm.Value, words: Sequence[llvm.Value], size: llvm.Value | None
) -> Any:
    """An array of its address, extents and strides; with a ``size`` to be checked."""
    count = len(e.extents)
    if size is not None:
        product = words[0]
        for factor in words[1:count]:
            product = context.builder.mul(product, factor)
        checks.check_size(context, e, product, size)
    return array(context, e.type, data, words[:count], words[count:])


def constant_of(e: ir.Expr | None) -> int | None:
    """The step that is known: 1 if there is none."""
    if e is None:
        return 1
    return int(e.value) if isinstance(e, ir.Const) else None
