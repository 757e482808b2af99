"""The typed tree as text: the kernel as the compiler understood it, with every type and every conversion to be seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import numpy as np

from kdsl.contracts import expressions as contracts
from kdsl.contracts.contract import Contract
from kdsl.ir import nodes as ir
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import F32, VOID, ArrayType, PointerType, TupleType, Type


def show(module: ir.Module) -> str:
    """All functions of a module, kernels first; no trailing newline."""
    return "\n\n".join(show_function(f) for f in (*module.kernels, *module.functions))


def show_function(function: ir.Function) -> str:
    """One function. A variable's type stands where it is first assigned."""
    return "\n".join(_Printer().function(function))


def contract_lines(contract: Contract) -> Iterator[str]:
    """What a kernel's launch contract says, a line for each part."""
    for relation in contract.requires:
        yield f"requires {contracts.show(relation)}"
    for name, extents in (("block", contract.block), ("grid", contract.grid)):
        if extents is not None:
            yield f"{name} {', '.join(map(contracts.show, extents))}"
    if contract.shared is not None:
        yield f"shared {contracts.show(contract.shared)}"


class _Printer:
    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._typed: set[int] = set()

    def function(self, f: ir.Function) -> Iterator[str]:
        parameters = ", ".join(f"{self.name(p)}: {p.type}" for p in f.parameters)
        self._typed.update(p.uid for p in f.parameters)
        result = "" if f.result == VOID else f" -> {f.result}"
        yield f"{'kernel' if f.is_kernel else 'function'} {f.name}({parameters}){result}:"
        if f.is_kernel:
            yield from (f"    {line}" for line in contract_lines(f.options.contract))
        yield from self.block(f.body)

    def name(self, local: ir.Local) -> str:
        """The variable's name, made different from those of others."""
        if local.uid not in self._names:
            taken = local.name in self._names.values()
            self._names[local.uid] = f"{local.name}.{local.uid}" if taken else local.name
        return self._names[local.uid]

    def target(self, local: ir.Local) -> str:
        if local.uid in self._typed:
            return self.name(local)
        self._typed.add(local.uid)
        return f"{self.name(local)}: {type_text(local)}"

    def block(self, body: tuple[ir.Stmt, ...]) -> Iterator[str]:
        for statement in body:
            for line in self.statement(statement):
                yield f"    {line}"
        if not body:
            yield "    pass"

    def statement(self, s: ir.Stmt) -> Iterator[str]:
        match s:
            case ir.Assign(local, value):
                text = self.expr(value)
                yield f"{self.target(local)} = {text}"
            case ir.Store(address, value, access=ir.Ordering() as ordering):
                yield f"atomic.store({self.expr(address)}, {self.expr(value)}{_named(ordering)})"
            case ir.Store(address, value, access=ir.Caching() as caching, policy=policy):
                yield f"store({self.expr(address)}, {self.expr(value)}{self.caching(caching, policy)})"
            case ir.Prefetch(address, level):
                yield f"prefetch({self.expr(address)}, level={level!r})"
            case ir.Store(address, value):
                yield f"{self.memory(address)} = {self.expr(value)}"
            case ir.Evaluate(value):
                yield self.expr(value)
            case ir.If(test, body, orelse):
                yield f"if {self.expr(test)}:"
                yield from self.block(body)
                if orelse:
                    yield "else:"
                    yield from self.block(orelse)
            case ir.While(test, body, orelse):
                yield f"while {self.expr(test)}:"
                yield from self.block(body)
                yield from self.orelse(orelse)
            case ir.ForRange(target, start, stop, step, body, orelse):
                hint = f", unroll={s.unroll}" if s.unroll is not None else ""
                bounds = f"range({self.expr(start)}, {self.expr(stop)}, {self.expr(step)}{hint})"
                bounds = f"reversed({bounds})" if s.reverse else bounds
                yield f"for {self.target(target)} in {bounds}:"
                yield from self.block(body)
                yield from self.orelse(orelse)
            case ir.Unrolled(bodies, orelse):
                yield f"unrolled, {len(bodies)} copies:"
                for body in bodies:
                    yield "  copy:"
                    yield from self.block(body)
                yield from self.orelse(orelse)
            case ir.Break():
                yield "break"
            case ir.Continue():
                yield "continue"
            case ir.Return(value):
                yield "return" if value is None else f"return {self.expr(value)}"
            case ir.Print(format, arguments):
                yield f"print({', '.join([repr(format), *map(self.expr, arguments)])})"
            case ir.Assert(test, message, values=values):
                yield f"assert {self.expr(test)}, {', '.join([repr(message), *map(self.expr, values)])}"
            case _:
                assert_never(s)

    def orelse(self, body: tuple[ir.Stmt, ...]) -> Iterator[str]:
        if body:
            yield "else:"
            yield from self.block(body)

    def memory(self, address: ir.Expr) -> str:
        """What an address points at."""
        if isinstance(address, ir.FieldAddress):
            assert isinstance(address.address.type, PointerType)
            return f"{self.memory(address.address)}.{_field_name(address.address.type.element, address.index)}"
        if isinstance(address, ir.ElementAddress):
            return f"{self.expr(address.base)}[{', '.join(map(self.expr, address.indices))}]"
        return f"*{self.expr(address)}"

    def caching(self, caching: ir.Caching, policy: ir.Expr | None) -> str:
        """What an access says of caches, as further arguments."""
        said = [str(caching)] if str(caching) else []
        return "".join(f", {word}" for word in [*said, *([f"policy={self.expr(policy)}"] if policy else [])])

    def expr(self, e: ir.Expr) -> str:
        match e:
            case ir.Const(value, type):
                return str(np.float32(value)) if type == F32 else str(value)
            case ir.Read(local):
                return self.name(local)
            case ir.LocalAddress(local):
                return f"&{self.name(local)}"
            case ir.AssignExpr(local, value):
                text = self.expr(value)
                return f"({self.target(local)} := {text})"
            case ir.Binary(op, left, right) if op in (ir.BinaryOp.MIN, ir.BinaryOp.MAX):
                return f"{op.value}({self.expr(left)}, {self.expr(right)})"
            case ir.Binary(op, left, right) | ir.Compare(op, left, right) | ir.Logical(op, left, right):
                return f"{self.operand(left)} {op.value} {self.operand(right)}"
            case ir.Unary(ir.UnaryOp.NOT, operand):
                return f"not {self.operand(operand)}"
            case ir.Unary(op, operand) if op in (ir.UnaryOp.NEG, ir.UnaryOp.INVERT):
                return f"{op.value}{self.operand(operand)}"
            case ir.Unary(op, operand):
                return f"{op.value}({self.expr(operand)})"
            case ir.Conditional(test, then, orelse):
                return f"({self.expr(then)} if {self.expr(test)} else {self.expr(orelse)})"
            case ir.Cast(operand, type):
                return f"{type}({self.expr(operand)})"
            case ir.Bitcast(operand, type):
                return f"bitcast({self.expr(operand)}, {type})"
            case ir.PointerDifference(left, right):
                return f"({self.expr(left)} - {self.expr(right)})"
            case ir.ElementAddress() | ir.FieldAddress():
                return f"&{self.memory(e)}"
            case ir.Load(address, access=ir.Ordering() as ordering):
                return f"atomic.load({self.expr(address)}{_named(ordering)})"
            case ir.Load(address, access=ir.Caching() as caching, policy=policy):
                return f"load({self.expr(address)}{self.caching(caching, policy)})"
            case ir.Load(address):
                return self.memory(address)
            case ir.Extent(array, axis):
                return f"{self.expr(array)}.shape[{axis}]"
            case ir.Stride(array, axis):
                return f"{self.expr(array)}.strides[{axis}]"
            case ir.ListExpr(_, elements, repeat):
                return f"[{', '.join(map(self.expr, elements))}]{f' * {repeat}' if repeat > 1 else ''}"
            case ir.AssumeAligned(operand, alignment):
                return f"assume_aligned({self.expr(operand)}, {alignment})"
            case ir.IsAligned(operand, alignment):
                return f"is_aligned({self.expr(operand)}, {alignment})"
            case ir.View():
                return self.view(e)
            case ir.ArrayExpr(data, extents, strides, type):
                shape = list(map(self.expr, extents)) if type.shape is None else list(map(str, type.shape))
                step = f", strides=({', '.join(map(self.expr, strides))})" if type.strided else ""
                return f"array({self.expr(data)}, ({', '.join(shape)}){step})"
            case ir.SharedArray(_, _, type) | ir.LocalArray(_, _, type):
                return f"{type.space.name.lower()}.array({type.shape}, {type.element})"
            case ir.ConstantArray(name):
                return f"constant.array({name})"
            case ir.ModuleVariable(name):
                return name
            case ir.DynamicShared(offset, type):
                return f"shared.dynamic({type.element}, {self.expr(offset)})"
            case ir.TupleExpr(elements):
                return f"({', '.join(map(self.expr, elements))}{',' if len(elements) == 1 else ''})"
            case ir.TupleElement(value, index):
                return f"{self.operand(value)}[{index}]"
            case ir.StructExpr(elements, type):
                return f"{type}({', '.join(map(self.expr, elements))})"
            case ir.FieldValue(value, index):
                return f"{self.operand(value)}.{_field_name(value.type, index)}"
            case ir.WithField(value, index, element):
                return f"{self.operand(value)}.with({_field_name(value.type, index)}={self.expr(element)})"
            case ir.VectorExpr(elements, type):
                return f"{type}({', '.join(map(self.expr, elements))})"
            case ir.Swizzle(value, lanes):
                return f"{self.operand(value)}.{''.join('xyzw'[i] for i in lanes)}"
            case ir.WithLane(value, index, element):
                return f"{self.operand(value)}.with({'xyzw'[index]}={self.expr(element)})"
            case ir.Lanewise():
                return self.lanewise(e)
            case ir.VectorCast(operand, type):
                return f"{type}({self.expr(operand)})"
            case ir.Call(function, arguments):
                return f"{function}({', '.join(map(self.expr, arguments))})"
            case ir.ExternCall(extern, arguments):
                return f"extern {extern.symbol}({', '.join(map(self.expr, arguments))})"
            case ir.IntrinsicCall():
                return self.intrinsic(e)
            case ir.InlinePtx():
                return self.inline_ptx(e)
            case ir.Atomic(op, address, operands, ordering=ordering):
                taken = ", ".join(map(self.expr, (address, *operands)))
                return f"atomic.{op.value}({taken}{_named(ordering)})"
            case _:
                assert_never(e)

    def view(self, e: ir.View) -> str:
        """Each axis as a slice or an index."""
        axes = []
        for start, stop, step, kept in zip(e.starts, e.stops, e.steps, e.kept, strict=True):
            first, last = ("" if part is None else self.expr(part) for part in (start, stop))
            by = "" if step is None else f":{self.expr(step)}"
            axes.append(f"{first}:{last}{by}" if kept else first)
        return f"{self.operand(e.base)}[{', '.join(axes)}]"

    def lanewise(self, e: ir.Lanewise) -> str:
        operator = e.op.value if e.op is not None else "fma"
        if operator.isalpha():
            return f"{operator}({', '.join(map(self.expr, e.operands))})"
        if len(e.operands) == 1:
            return f"{operator}{self.operand(e.operands[0])}"
        return f" {operator} ".join(map(self.operand, e.operands))

    def intrinsic(self, e: ir.IntrinsicCall) -> str:
        if e.intrinsic.register:
            return e.intrinsic.name
        arguments = [*map(self.expr, e.arguments), *(f"{name}={value!r}" for name, value in e.constants)]
        bound = f"[{e.bound}]" if e.bound is not None else ""
        return f"{e.intrinsic.name}{bound}({', '.join(arguments)})"

    def inline_ptx(self, e: ir.InlinePtx) -> str:
        """As it is written, on one line."""
        results = ("d",) if not isinstance(e.type, TupleType) else tuple(f"d{i}" for i in range(len(e.results)))
        names = (*results[: len(e.results)], *e.names)
        text = "".join(f"{{{names[part]}}}" if isinstance(part, int) else braces(part) for part in e.template)
        given = [f"{name}={self.expr(operand)}" for name, operand in zip(e.names, e.operands, strict=True)]
        given += [f"out={e.type}"] if e.results else []
        given += [f"{name}=True" for name in ("volatile", "memory") if getattr(e, name)]
        return f"asm({', '.join([repr(' '.join(text.split())), *given])})"

    def operand(self, e: ir.Expr) -> str:
        """An operand, in parentheses if it is an operation itself."""
        match e:
            case ir.Binary(op) if op in (ir.BinaryOp.MIN, ir.BinaryOp.MAX):
                return self.expr(e)
            case ir.Unary(op) if op not in (ir.UnaryOp.NEG, ir.UnaryOp.INVERT, ir.UnaryOp.NOT):
                return self.expr(e)
            case ir.Lanewise(None):
                return self.expr(e)
            case ir.Lanewise(op) if op is not None and op.value.isalpha():
                return self.expr(e)
            case ir.Binary() | ir.Compare() | ir.Logical() | ir.Unary() | ir.Lanewise():
                return f"({self.expr(e)})"
            case _:
                return self.expr(e)


def braces(text: str) -> str:
    """PTX as a template has it."""
    return text.replace("{", "{{").replace("}", "}}")


def _field_name(type: Type, index: int) -> str:
    assert isinstance(type, StructType)
    return type.fields[index].name


def _named(ordering: ir.Ordering) -> str:
    """The last arguments of an atomic, where they are not what they are by default."""
    return "" if ordering == ir.RELAXED else f", {ordering}"


def type_text(local: ir.Local) -> str:
    """A variable's type; a shared or local array's with its shape."""
    type = local.type
    if isinstance(type, ArrayType) and type.shape is not None:
        return f"{type.space.name.lower()}[{type.element}, {type.shape}]"
    return str(type)
