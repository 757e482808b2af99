"""Calls of intrinsics: one LLVM intrinsic or libdevice function as the stub's table row says, or a small function.

Those small functions are in the files ``intrinsics_*``; `_EMITTERS` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from llvmlite import ir as llvm

from kdsl.codegen import libdevice
from kdsl.codegen.context import Context
from kdsl.codegen.intrinsics_approximate import APPROXIMATE
from kdsl.codegen.intrinsics_bits import BITS
from kdsl.codegen.intrinsics_cluster import CLUSTER
from kdsl.codegen.intrinsics_collective import COLLECTIVE
from kdsl.codegen.intrinsics_fields import FIELDS
from kdsl.codegen.intrinsics_index import INDEX
from kdsl.codegen.intrinsics_special import SPECIAL
from kdsl.codegen.intrinsics_warp import WARP
from kdsl.codegen.types import I1, I32, VOID, pointer
from kdsl.ir import nodes as ir
from kdsl.lang.intrinsic import Emit, Libdevice, Nvvm
from kdsl.lang.types import ScalarType, Space, TupleType, Type
from kdsl.source import CompileError

Emitter = Callable[[Context, ir.IntrinsicCall, Sequence[llvm.Value]], Any]
_EMITTERS: Mapping[str, Emitter] = {
    **INDEX,
    **WARP,
    **COLLECTIVE,
    **BITS,
    **FIELDS,
    **SPECIAL,
    **APPROXIMATE,
    **CLUSTER,
}

# What a libdevice function becomes may be newer than the oldest PTX of an architecture that has it.
_PTX_VERSIONS = {"__nv_fast_tanhf": 70}

_REGISTER = "llvm.nvvm.read.ptx.sreg."


def emit_intrinsic(context: Context, call: ir.IntrinsicCall, arguments: Sequence[llvm.Value]) -> Any:
    """Lower one call; the result is a value of ``call.type`` in registers, a struct for a tuple.

    CompileError at the call if the target is too old for the intrinsic, or if libdevice is needed and not there.
    """
    name = call.intrinsic.name if call.intrinsic.register else f"{call.intrinsic.name}()"
    context.require_sm(call.intrinsic.min_sm, name, call.span)
    match call.intrinsic.lowering:
        case Nvvm() as lowering:
            return _nvvm(context, call, lowering, arguments)
        case Libdevice() as lowering:
            return _libdevice(context, call, lowering, arguments)
        case Emit(name):
            return _EMITTERS[name](context, call, arguments)
        case lowering:
            assert_never(lowering)


def _nvvm(context: Context, call: ir.IntrinsicCall, lowering: Nvvm, arguments: Sequence[llvm.Value]) -> Any:
    name = _named(lowering.name, call)
    if name.startswith(_REGISTER) and call.intrinsic.pure:
        return context.special_register(name.removeprefix(_REGISTER))
    values = dict(zip(call.parameters, arguments, strict=True))
    operands = [_operand(values, a) for a in lowering.arguments] if lowering.arguments is not None else list(arguments)
    flags = context.flags if isinstance(call.type, ScalarType) and call.type.is_float else ()
    return context.call(name, context.type(call.type), operands, convergent=call.intrinsic.convergent, flags=flags)


def _operand(values: Mapping[str, llvm.Value], argument: str | int | bool) -> llvm.Value:
    if isinstance(argument, str):
        return values[argument]
    return llvm.Constant(I1 if isinstance(argument, bool) else I32, int(argument))


def _libdevice(context: Context, call: ir.IntrinsicCall, lowering: Libdevice, arguments: Sequence[llvm.Value]) -> Any:
    if libdevice.find() is None:
        raise CompileError.at(call.span, f"{call.intrinsic.name}() needs NVIDIA's libdevice", libdevice.INSTALL)
    name = _named(lowering.name, call)
    if context.options.fastmath and lowering.fast and call.bound:
        name = lowering.fast.get(call.bound, name)
    context.require_ptx(_PTX_VERSIONS.get(name, 0))
    # The library was written before address spaces were inferred: its pointers are generic.
    operands = [_generic(context, a) for a in arguments]
    if not lowering.outputs:
        return context.call(name, context.type(call.type), operands)
    return _through_pointers(context, call.type, name, operands, lowering.outputs)


def _through_pointers(context: Context, t: Type, name: str, arguments: list[llvm.Value], outputs: int) -> Any:
    """Call a function that writes its last results through pointers, and gather all its results into a tuple."""
    assert isinstance(t, TupleType)
    types = [context.type(element) for element in t.elements]
    returned, written = types[: len(types) - outputs], types[len(types) - outputs :]
    slots = [context.alloca(each) for each in written]
    result = context.call(name, returned[0] if returned else VOID, [*arguments, *slots])
    values = [result] if returned else []
    values += [context.builder.load(slot, typ=each) for slot, each in zip(slots, written, strict=True)]
    aggregate: Any = llvm.Constant(context.type(t), llvm.Undefined)
    for i, value in enumerate(values):
        aggregate = context.builder.insert_value(aggregate, value, i)
    return aggregate


def _generic(context: Context, value: llvm.Value) -> llvm.Value:
    if isinstance(value.type, llvm.PointerType) and value.type.addrspace != Space.GENERIC.value:
        return context.builder.addrspacecast(value, pointer(Space.GENERIC))
    return value


def _named(name: str | Mapping[ScalarType, str], call: ir.IntrinsicCall) -> str:
    if isinstance(name, str):
        return name
    assert call.bound is not None, f"{call.intrinsic.name} depends on a type variable"
    return name[call.bound]
