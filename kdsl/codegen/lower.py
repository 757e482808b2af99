"""From the typed tree to LLVM IR text: modules and functions. What is in them is in `statements` and `expressions`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from llvmlite import ir as llvm

from kdsl.codegen import memory
from kdsl.codegen.assumptions import assume_contract
from kdsl.codegen.checks import add_table
from kdsl.codegen.context import LONGEST_NAME, Context, ModuleContext
from kdsl.codegen.contracts import known_alignment, known_intervals, reqntid
from kdsl.codegen.debug_info import Directives, Locations, add_flag
from kdsl.codegen.ranges import Ranges
from kdsl.codegen.reachable import (
    check_cluster,
    check_copies,
    check_parameters,
    check_shared_memory,
    parameter_ranges,
    recursive,
    registers_of,
)
from kdsl.codegen.statements import Statements
from kdsl.codegen.types import alignment, llvm_type, memory_type, pointer
from kdsl.ir import nodes as ir
from kdsl.lang.fixed_array import has_fixed_array
from kdsl.lang.layout import parameter_parts
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, Kind, PointerType, ScalarType, Space, Type, VectorType, VoidType
from kdsl.source import CompileError
from kdsl.target import Target

TRIPLE = "nvptx64-nvidia-cuda"
# LLVM's own string for -nvptx-short-ptr: pointers to shared, constant and local memory have 32 bits.
DATA_LAYOUT = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
UNSEEN = "internal addrspace(3) global"
WRITTEN_ELSEWHERE = "internal addrspace(3) externally_initialized global"
"""Shared memory. Why externally initialized, which llvmlite cannot say? LLVM drops a read of what nothing writes, and
the emulator could not tell that it is one."""
PTX_VERSION_FLAG = "kdsl-ptx-version"
"""The module flag that carries the PTX ISA version which the module needs; `nvptx` reads it."""


class Attributes(llvm.values.FunctionAttributes):  # type: ignore[misc]  # llvmlite is untyped
    """Function attributes that may be strings, such as ``"nvvm.maxntid"="256"``: llvmlite knows only a fixed list."""

    def add(self, name: str) -> None:
        set.add(self, name)


def lower(module: ir.Module, target: Target) -> str:
    """LLVM IR text for NVPTX; CompileError where the target lacks what the tree asks for, or the tree is too deep."""
    try:
        return _lower(module, target)
    except RecursionError:
        kernel = module.kernels[0]
        message = f"`{kernel.source_name}` is nested too deeply to compile"
        hint = "name parts of its expressions in variables; write loops for sum(), any() and `in` of hundreds of values"
        raise CompileError.at(kernel.span, message, hint) from None


def _lower(module: ir.Module, target: Target) -> str:
    calls_themselves = recursive(module)
    for kernel in module.kernels:
        check_copies(kernel, module, calls_themselves)
        check_shared_memory(kernel, module)
        check_cluster(kernel, target)
    version = max(target.ptx_version, *map(check_parameters, module.kernels))
    shared = ModuleContext(llvm.Module(name="kdsl"), target, version)
    shared.module.triple, shared.module.data_layout = TRIPLE, DATA_LAYOUT
    directives = Directives(shared.module)
    functions = {
        f.name: _declare(shared.module, f, inlined=f.name not in calls_themselves)
        for f in (*module.functions, *module.kernels)
    }
    ranges = {f.name: Ranges.of(f) for f in (*module.functions, *module.kernels)}
    for kernel in module.kernels:
        ranges[kernel.name].parameters = known_intervals(kernel)
    parameter_ranges(module, ranges)
    for f in (*module.functions, *module.kernels):
        _define(shared, f, module, functions, ranges[f.name], directives)
    if shared.sites:
        add_table(shared, [kernel.name for kernel in module.kernels])
    add_flag(shared.module, 7, PTX_VERSION_FLAG, shared.ptx_version)
    if all(f.options.fastmath for f in module.kernels):
        # Read by LLVM's NVVMReflect pass, for what libdevice asks. Only for all at once: kernels share its functions.
        add_flag(shared.module, 4, "nvvm-reflect-ftz", 1)
    return str(shared.module).replace(UNSEEN, WRITTEN_ELSEWHERE)


def _declare(module: llvm.Module, f: ir.Function, *, inlined: bool) -> llvm.Function:
    """The function with its parameters and attributes, still without a body."""
    result = llvm_type(f.result) if not f.is_kernel and not isinstance(f.result, VoidType) else llvm.VoidType()
    parameters = [(p, t) for p in f.parameters for t in (_kernel_types(p.type) if f.is_kernel else [llvm_type(p.type)])]
    function = llvm.Function(module, llvm.FunctionType(result, [t for _, t in parameters]), f.name)
    function.attributes = Attributes(["nounwind", *_attributes(f, inlined)])
    if not f.is_kernel:
        function.linkage = "internal"
        for argument, parameter in zip(function.args, f.parameters, strict=True):
            argument.name = parameter.name[:LONGEST_NAME]
        return function
    function.calling_convention = "ptx_kernel"
    names = [name for p in f.parameters for name, _ in parameter_parts(p.name, p.type)]
    for argument, name in zip(function.args, names, strict=True):
        argument.name = name[:LONGEST_NAME]
    for argument, (parameter, t) in zip(function.args, parameters, strict=True):
        if isinstance(parameter.type, StructType | VectorType):
            # These lie in parameter memory. Why set.add? llvmlite asks a typed pointer for what is in it.
            set.add(argument.attributes, f"byval({memory_type(parameter.type)})")
            argument.attributes.align = parameter.type.align
        elif isinstance(t, llvm.PointerType):
            assert isinstance(parameter.type, PointerType | ArrayType)
            asked = known_alignment(f.options.contract, parameter.name)
            argument.attributes.align = max(alignment(parameter.type.element), asked)
            if f.options.restrict:
                argument.attributes.add("noalias")
    return function


def _attributes(f: ir.Function, inlined: bool) -> Iterator[str]:
    """What a function's options say to LLVM; device functions are inlined everywhere, unless they call themselves."""
    if not f.is_kernel:
        yield from ("alwaysinline", "convergent") if inlined else ("convergent",)
    bounds = f.options.launch_bounds if f.is_kernel else None
    threads = reqntid(f.options.contract) if f.is_kernel else None
    if threads:
        yield f'"nvvm.reqntid"="{threads}"'
    if bounds:
        if not threads:  # PTX takes one of the two
            yield f'"nvvm.maxntid"="{bounds[0]}"'
        if len(bounds) > 1:
            yield f'"nvvm.minctasm"="{bounds[1]}"'
        if len(bounds) > 2:
            yield f'"nvvm.maxclusterrank"="{bounds[2]}"'
    if f.is_kernel and f.options.cluster:
        yield f'"nvvm.cluster_dim"="{",".join(map(str, f.options.cluster))}"'
    if f.is_kernel and f.options.max_registers:
        yield f'"nvvm.maxnreg"="{f.options.max_registers}"'
    if f.options.fastmath:
        yield '"denormal-fp-math-f32"="preserve-sign,preserve-sign"'


def _kernel_types(t: Type) -> list[llvm.Type]:
    """The PTX parameters that a kernel parameter becomes: those of `kdsl.lang.layout`. A bool is a byte."""
    match t:
        case ArrayType():
            value = llvm_type(t)
            return list(value.elements)
        case ScalarType():
            return [memory_type(t)]
        case StructType() | VectorType():
            return [pointer(Space.GENERIC)]
        case _:
            return [llvm_type(t)]


def _define(
    shared: ModuleContext,
    f: ir.Function,
    module: ir.Module,
    functions: Mapping[str, llvm.Function],
    ranges: Ranges,
    directives: Directives,
) -> None:
    """Lower the body of a function."""
    function = functions[f.name]
    scope = directives.subprogram(f)
    function.set_metadata("dbg", scope)
    entry, body = function.append_basic_block("entry"), function.append_basic_block("body")
    context = Context(shared, llvm.IRBuilder(body), f.options, entry)
    lowering = Statements(context, f, ranges, functions, Locations(shared.module, scope))
    lowering.locate(f.span)
    if f.is_kernel:
        # Device functions are inlined later; what they read is read here, in the order that ptxas likes.
        for name in registers_of(f, module):
            context.special_register(name)
    _bind_parameters(lowering, f, function)
    if f.is_kernel:
        assume_contract(context, f, function)
    lowering.body(f.body)
    if not context.builder.block.is_terminated:
        lowering.locate(f.span)
        returns = f.is_kernel or isinstance(f.result, VoidType)
        context.builder.ret_void() if returns else context.builder.unreachable()
    llvm.IRBuilder(entry).branch(body)


def _bind_parameters(lowering: Statements, f: ir.Function, function: llvm.Function) -> None:
    """Make parameters readable: those that are assigned somewhere become variables, the others stay values."""
    arguments = iter(function.args)
    for parameter in f.parameters:
        value: llvm.Value
        if f.is_kernel:
            value = _kernel_argument(lowering.context, parameter.type, arguments)
        else:
            value = next(arguments)
        if parameter.uid in lowering.ranges.definitions or has_fixed_array(parameter.type):
            lowering.assign(parameter, value, f.span)
        else:
            lowering.values[parameter.uid] = value


def _kernel_argument(context: Context, t: Type, arguments: Iterator[llvm.Argument]) -> llvm.Value:
    """A kernel parameter's value from the PTX parameters that carry it."""
    builder = context.builder
    if isinstance(t, ArrayType):
        result: llvm.Value = llvm.Constant(llvm_type(t), llvm.Undefined)
        for i in range(len(llvm_type(t).elements)):
            result = builder.insert_value(result, next(arguments), i)
        return result
    value = next(arguments)
    if isinstance(t, StructType | VectorType):
        return memory.load(context, value, t)
    if isinstance(t, ScalarType) and t.kind is Kind.BOOL:
        return builder.icmp_unsigned("!=", value, llvm.Constant(value.type, 0))
    return value
