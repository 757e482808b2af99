"""The checks of debug builds: indices, divisors, and casts to ints. `kdsl.checks` says how a failure is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llvmlite import ir as llvm

from kdsl import checks
from kdsl.checks import Site, Table
from kdsl.codegen.context import Context, ModuleContext
from kdsl.codegen.conversions import float_to_float
from kdsl.codegen.memory import extent
from kdsl.codegen.ranges import Interval
from kdsl.codegen.types import DOUBLE, I8, I32, I64, VOID, constant, pointer
from kdsl.codegen.walk import subexpressions
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import BinaryOp
from kdsl.lang.types import F32, F64, ArrayType, Kind, ScalarType, Space
from kdsl.source import Span

_FAILED = "kdsl_check_failed"
_CLAIMED, _TOLD = "kdsl_record_claimed", "kdsl_record_told"
_BY_ZERO = {BinaryOp.FLOORDIV: "division", BinaryOp.MOD: "modulo"}
_GLOBAL = pointer(Space.GLOBAL)
_CLAIM = 'syncscope("device") monotonic'


def may_fail(e: ir.Expr) -> bool:
    """Whether there is a check in an expression without memory accesses."""
    return any(
        part.checked if isinstance(part, ir.Cast) else isinstance(part, ir.Binary) and part.op in _BY_ZERO
        for part in subexpressions(e)
    )


def check_indices(
    context: Context,
    e: ir.ElementAddress,
    base: llvm.Value,
    t: ArrayType,
    indices: Sequence[tuple[llvm.Value, ScalarType]],
    known: Sequence[Interval | None],
) -> None:
    """Each index is at least 0 and less than its axis' extent."""
    for axis, (index, interval) in enumerate(zip(indices, known, strict=True)):
        check_axis(context, e, base, t, axis, index, interval)


def check_axis(
    context: Context,
    e: ir.ElementAddress | ir.View,
    base: llvm.Value,
    t: ArrayType,
    axis: int,
    index: tuple[llvm.Value, ScalarType],
    known: Interval | None,
) -> None:
    """One index is at least 0 and less than its axis' extent."""
    if t.shape is not None and known is not None and known.within(Interval(0, t.shape[axis] - 1)):
        return
    size = extent(context, base, t, axis)
    wide, most = word(context, *index), _signed_word(context, size)
    text = f"index {{}} is outside of axis {axis} of {_array_name(e.base)}, whose extent is {{}}"
    holds = context.builder.icmp_unsigned("<", wide, most)
    _require(context, holds, _site(e.span, letter(index[1]) + "s", text, memory=True), (wide, most))


def check_bound(
    context: Context,
    e: ir.View,
    axis: int,
    verb: str,
    is_empty: llvm.Value,
    holds: llvm.Value,
    values: tuple[llvm.Value, llvm.Value],
) -> None:
    """A slice's start or stop, for which ``holds`` unless the slice has no elements."""
    text = f"a slice {verb} at {{}}, outside of axis {axis} of {_array_name(e.base)}, whose extent is {{}}"
    bound, size = (_signed_word(context, v) for v in values)
    _require(context, context.builder.or_(is_empty, holds), _site(e.span, "ss", text, memory=True), (bound, size))


def check_step(context: Context, e: ir.View, axis: int, holds: llvm.Value, step: llvm.Value, size: llvm.Value) -> None:
    """A step that is known at run time only is at least 1."""
    text = f"a slice of axis {axis} of {_array_name(e.base)} has step {{}}, which is not positive"
    values = (_signed_word(context, step), _signed_word(context, size))
    _require(context, holds, _site(e.span, "ss", text), values)


def check_size(context: Context, e: ir.ArrayExpr, made: llvm.Value, size: llvm.Value) -> None:
    """A new shape has as many elements as the array."""
    holds = context.builder.icmp_unsigned("==", made, size)
    text = "a shape of {} elements for an array of {}"
    _require(
        context,
        holds,
        _site(e.span, "ss", text, memory=True),
        (_signed_word(context, made), _signed_word(context, size)),
    )


def check_alignment(context: Context, e: ir.AssumeAligned, holds: llvm.Value, address: llvm.Value) -> None:
    """An address is what was promised of it."""
    text = f"assume_aligned() of {_array_name(e.operand)}: address {{:#x}} is no multiple of {{}}"
    alignment = llvm.Constant(I64, e.alignment)
    _require(context, holds, _site(e.span, "uu", text, memory=True), (address, alignment))


def _signed_word(context: Context, value: llvm.Value) -> llvm.Value:
    return value if value.type == I64 else context.builder.sext(value, I64)


def _array_name(array: ir.Expr) -> str:
    match array:
        case ir.View(base=base):
            name = _array_name(base)
            return f"a part of {name}" if name.startswith("`") else name
        case ir.SharedArray(name=name) | ir.LocalArray(name=name) | ir.ConstantArray(name=name):
            return f"`{name}`"
        case ir.ModuleVariable(name=name):
            return f"`{name}`"
        case ir.Read(local):
            return f"`{local.name}`"
        case _:
            return "the array"


def check_divisor(context: Context, e: ir.Binary, n: llvm.Value, d: llvm.Value, divisor: Interval | None) -> None:
    """An int is not divided by zero."""
    if e.op not in _BY_ZERO or not e.type.is_int:
        return
    interval = divisor or Interval.of(e.type)
    if not interval.low <= 0 <= interval.high:
        return
    site = _site(e.span, 2 * letter(e.type), f"integer {_BY_ZERO[e.op]} by zero: {{}} {e.op.value} {{}}")
    holds = context.builder.icmp_unsigned("!=", d, constant(e.type, 0))
    _require(context, holds, site, (word(context, n, e.type), word(context, d, e.type)))


def check_cast(context: Context, e: ir.Cast, value: llvm.Value, result: llvm.Value, known: Interval | None) -> None:
    """An int that is cast to another int type stays the same number; a float's whole part fits, and is a number."""
    source = e.operand.type
    assert isinstance(source, ScalarType)
    if not e.type.is_int or source.kind is Kind.BOOL:
        return
    if source.is_float:
        holds = _float_fits(context, value, source, e.type)
    elif (known or Interval.of(source)).within(Interval.of(e.type)):
        return
    else:
        holds = _int_fits(context, value, source, e.type)
    site = _site(e.span, letter(source) + letter(e.type), f"{{}} does not fit {e.type}, which makes it {{}}")
    _require(context, holds, site, (word(context, value, source), word(context, result, e.type)))


def _int_fits(context: Context, value: llvm.Value, source: ScalarType, target: ScalarType) -> llvm.Value:
    builder = context.builder
    compare = builder.icmp_signed if source.is_signed else builder.icmp_unsigned
    low, high = max(source.minimum, target.minimum), min(source.maximum, target.maximum)
    return builder.and_(compare(">=", value, constant(source, low)), compare("<=", value, constant(source, high)))


def _float_fits(context: Context, value: llvm.Value, source: ScalarType, target: ScalarType) -> llvm.Value:
    """Ordered comparisons, which a NaN fails. The bounds are powers of two, which f32 and f64 hold, or one less."""
    builder = context.builder
    if source.bits == 16:
        value, source = float_to_float(context, value, source, F32), F32
    # The whole part of -128.9 fits an i8. Where minimum - 1 is no value of the float type, the next smaller one is
    # too small as well.
    exact = target.bits <= (24 if source == F32 else 53)
    if exact or not target.is_signed:
        low = builder.fcmp_ordered(">", value, constant(source, float(target.minimum - 1)))
    else:
        low = builder.fcmp_ordered(">=", value, constant(source, float(target.minimum)))
    return builder.and_(low, builder.fcmp_ordered("<", value, constant(source, float(target.maximum + 1))))


def _site(span: Span, values: str, text: str, *, memory: bool = False) -> Site:
    file = span.file if span.file.startswith("<") else Path(span.file).name
    return Site(file, span.line, memory, values, text)


def letter(t: ScalarType) -> str:
    """How a value is recorded: as a signed int, an unsigned one, or an f64."""
    return "f" if t.is_float else "s" if t.is_signed else "u"


def word(context: Context, value: llvm.Value, t: ScalarType) -> llvm.Value:
    """A scalar as 64 bits: an int extended, a float as an f64."""
    builder = context.builder
    if t.is_float:
        wide = value if value.type == DOUBLE else float_to_float(context, value, t, F64)
        return builder.bitcast(wide, I64)
    if value.type == I64:
        return value
    return (builder.sext if t.is_signed else builder.zext)(value, I64)


def _require(context: Context, holds: llvm.Value, site: Site, values: tuple[llvm.Value, llvm.Value]) -> None:
    """Go on if ``holds``, else tell the host and stop."""
    builder, sites = context.builder, context.shared.sites
    failed, passed = builder.append_basic_block("check.failed"), builder.append_basic_block("check.passed")
    builder.cbranch(holds, passed, failed)
    builder.position_at_end(failed)
    sites.append(site)
    builder.call(_failing(context.shared), [llvm.Constant(I32, len(sites)), *values])
    # Why not `unreachable` alone? LLVM would take it for a promise, and drop the check.
    context.call("llvm.trap", VOID, [])
    builder.unreachable()
    builder.position_at_end(passed)


def _failing(shared: ModuleContext) -> llvm.Function:
    """The function that a thread whose check failed calls: (the check's number, two values). It does not return."""
    known = shared.module.globals.get(_FAILED)
    if known is not None:
        return known
    function = _cold(shared, _FAILED, VOID, [I32, I64, I64])
    builder = llvm.IRBuilder(function.append_basic_block("entry"))
    address = builder.call(claim_record(shared), [])
    listens = builder.icmp_unsigned("!=", address, llvm.Constant(I64, 0))
    tell, stop = function.append_basic_block("tell"), function.append_basic_block("stop")
    builder.cbranch(listens, tell, stop)
    builder.position_at_end(tell)
    record = builder.inttoptr(address, _GLOBAL)
    number, first, second = function.args
    for position, value in enumerate((first, second)):
        place = builder.gep(record, [llvm.Constant(I64, checks.VALUES_OFFSET + 8 * position)], source_etype=I8)
        builder.store(value, place, align=8)
    builder.call(tell_record(shared), [address, number])
    builder.unreachable()
    builder.position_at_end(stop)
    builder.call(shared.declare("llvm.trap", VOID, []), [])
    builder.unreachable()
    return function


def claim_record(shared: ModuleContext) -> llvm.Function:
    """The function of a thread that failed: the address of the record, 0 where nobody listens. Others that fail end."""
    known = shared.module.globals.get(_CLAIMED)
    if known is not None:
        return known
    function = _cold(shared, _CLAIMED, I64, [])
    state = _variable(shared, checks.STATE, bytes(checks.STATE_BYTES), 8)
    builder = llvm.IRBuilder(function.append_basic_block("entry"))
    late, first = function.append_basic_block("late"), function.append_basic_block("first")
    claim = builder.gep(state, [llvm.Constant(I64, checks.CLAIM_OFFSET)], source_etype=I8)
    claimed = builder.cmpxchg(claim, llvm.Constant(I32, 0), llvm.Constant(I32, 1), _CLAIM, "monotonic")
    builder.cbranch(builder.extract_value(claimed, 1), first, late)

    # Why does a thread that failed later not trap? The trap would end the first one before its record is whole.
    builder.position_at_end(late)
    builder.call(shared.declare("llvm.nvvm.exit", VOID, []), [])
    builder.unreachable()

    builder.position_at_end(first)
    builder.ret(builder.load(state, align=8, typ=I64))
    return function


def tell_record(shared: ModuleContext) -> llvm.Function:
    """The function that completes a record with (its address, the check's number), and stops."""
    known = shared.module.globals.get(_TOLD)
    if known is not None:
        return known
    function = _cold(shared, _TOLD, VOID, [I64, I32])
    builder = llvm.IRBuilder(function.append_basic_block("entry"))
    address, number = function.args
    _tell(shared, builder, builder.inttoptr(address, _GLOBAL), number)
    builder.call(shared.declare("llvm.trap", VOID, []), [])
    builder.unreachable()
    return function


def _cold(shared: ModuleContext, name: str, result: llvm.Type, parameters: Sequence[llvm.Type]) -> llvm.Function:
    """A function of the module's own that is called where something has failed."""
    function = llvm.Function(shared.module, llvm.FunctionType(result, parameters), name)
    function.linkage = "internal"
    for attribute in ("noinline", "cold", "nounwind"):
        function.attributes.add(attribute)
    return function


def _tell(shared: ModuleContext, builder: llvm.IRBuilder, record: llvm.Value, number: llvm.Value) -> None:
    """Fill the record; the check's number last, since it says that all is there."""

    def write(value: llvm.Value, offset: int) -> None:
        place = builder.gep(record, [llvm.Constant(I64, offset)], source_etype=I8)
        builder.store(value, place, align=value.type.width // 8)

    for offset, register in ((checks.BLOCK_OFFSET, "ctaid"), (checks.THREAD_OFFSET, "tid")):
        for position, axis in enumerate("xyz"):
            read = shared.declare(f"llvm.nvvm.read.ptx.sreg.{register}.{axis}", I32, [])
            write(builder.call(read, []), offset + 4 * position)
    fence = shared.declare("llvm.nvvm.membar.sys", VOID, [])
    builder.call(fence, [])
    write(number, 0)
    builder.call(fence, [])


def add_table(shared: ModuleContext, kernels: Sequence[str]) -> None:
    """Put the table of all checks into the module."""
    _variable(shared, checks.TABLE, Table(tuple(kernels), tuple(shared.sites)).encoded(), 1)


def _variable(shared: ModuleContext, name: str, data: bytes, align: int) -> llvm.GlobalVariable:
    """A global variable that the host finds by its name."""
    t = llvm.ArrayType(I8, len(data))
    variable = shared.variable(t, name, Space.GLOBAL, align)
    variable.linkage, variable.initializer = "", llvm.Constant(t, bytearray(data))
    return variable
