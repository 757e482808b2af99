"""Every instruction that LLVM selects for scalar IR, of all types, for five architectures, is known to the arithmetic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import llvmlite.binding as llvm
import pytest

from kdsl.emulator.instructions import UnknownInstruction, pure_operation

MACHINE = {"bra", "call", "ret", "exit", "ld", "st", "mov", "cvta", "trap"}
INSTRUCTION = re.compile(
    r"^\s+(?:\{\s+)?(?:@!?%p\d+\s+)?([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_:]+)*)(?=\s|;)([^;\n]*)", re.MULTILINE
)
INTEGERS, FLOATS = ["i8", "i16", "i32", "i64"], {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
PAIRS = {"<2 x half>": "v2f16", "<2 x bfloat>": "v2bf16", "<2 x float>": "v2f32"}
BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
TARGETS = [("sm_75", "ptx70"), ("sm_80", "ptx70"), ("sm_90", "ptx86"), ("sm_100", "ptx86"), ("sm_120", "ptx90")]

Function = tuple[str, list[str], str]
"""Result type, parameter types, and the expression of ``%r`` with the parameters as ``%0``, ``%1``."""


def binary(type_name: str, names: str) -> Iterator[Function]:
    for name in names.split():
        yield type_name, [type_name] * 2, f"{name} {type_name} %0, %1"


def intrinsics(type_name: str, suffix: str, count: int, names: str, last: str = "") -> Iterator[Function]:
    for name in names.split():
        arguments = ", ".join(f"{type_name} %{k}" for k in range(count)) + last
        yield type_name, [type_name] * count, f"call {type_name} @llvm.{name}.{suffix}({arguments})"


def integer_functions() -> Iterator[Function]:
    for t in [*INTEGERS, "i1", "<2 x i16>"]:
        yield from binary(t, "add sub mul udiv sdiv urem srem and or xor shl lshr ashr")
    yield from binary("i128", "add sub mul")
    for t in INTEGERS:
        yield from intrinsics(t, t, 2, "smin smax umin umax uadd.sat sadd.sat usub.sat ssub.sat")
        yield from intrinsics(t, t, 3, "fshl fshr")
        yield from intrinsics(t, t, 1, "ctpop bitreverse" + (" bswap" if t != "i8" else ""))
        yield from intrinsics(t, t, 1, "ctlz cttz abs", ", i1 false")
        for test in "eq ne ugt uge ult ule sgt sge slt sle".split():
            yield "i1", [t, t], f"icmp {test} {t} %0, %1"
        for u in INTEGERS:
            larger = int(u[1:]) > int(t[1:])
            for name in ("zext", "sext") if larger else ("trunc",) if u != t else ():
                yield u, [t], f"{name} {t} %0 to {u}"


def float_functions() -> Iterator[Function]:
    for t, suffix in {**FLOATS, **PAIRS}.items():
        yield from binary(t, "fadd fsub fmul fdiv")
        yield t, [t], f"fneg {t} %0"
        yield from intrinsics(t, suffix, 1, "fabs sqrt floor ceil trunc rint nearbyint round roundeven")
        yield from intrinsics(t, suffix, 2, "minnum maxnum minimum maximum minimumnum maximumnum copysign")
        yield from intrinsics(t, suffix, 3, "fma fmuladd")
    for t, suffix in FLOATS.items():
        yield from binary(t, "frem")
        for test in "oeq one olt ole ogt oge ueq une ult ule ugt uge ord uno".split():
            yield "i1", [t, t], f"fcmp {test} {t} %0, %1"
        for u in FLOATS:
            if BITS[u] != BITS[t]:
                yield u, [t], f"{'fpext' if BITS[u] > BITS[t] else 'fptrunc'} {t} %0 to {u}"
        if t != "double":
            yield t, [t, t], f"fdiv afn {t} %0, %1"
            yield t, [t], f"call afn {t} @llvm.sqrt.{suffix}({t} %0)"
    for name in ("sin", "cos", "tanh", "exp2"):
        yield "float", ["float"], f"call afn float @llvm.{name}.f32(float %0)"
    for t in ("half", "bfloat"):
        yield f"<2 x {t}>", ["<2 x float>"], f"fptrunc <2 x float> %0 to <2 x {t}>"


def conversions() -> Iterator[Function]:
    for t, (f, suffix) in product(INTEGERS, FLOATS.items()):
        for sign in "us":
            yield f, [t], f"{sign}itofp {t} %0 to {f}"
            yield t, [f], f"fpto{sign}i {f} %0 to {t}"
            yield t, [f], f"call {t} @llvm.fpto{sign}i.sat.{t}.{suffix}({f} %0)"


def source(functions: list[Function], attributes: str) -> str:
    declarations, definitions = set(), []
    for place, (result, types, expression) in enumerate(functions):
        parameters = ", ".join(types)
        definitions.append(
            f"define {result} @f{place}({parameters}) {attributes} {{ %r = {expression}\n ret {result} %r }}"
        )
        called = re.search(r"call (?:afn )?(.*) (@llvm\.[\w.]+)\((.*)\)", expression)
        if called:
            flag = ", i1" if called[3].endswith("i1 false") else ""
            declarations.add(f"declare {called[1]} {called[2]}({parameters}{flag})")
    return "\n".join([*sorted(declarations), *definitions])


def compiled(text: str, cpu: str, ptx: str, level: int) -> str:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    machine = target.create_target_machine(cpu=cpu, features=f"+{ptx}", opt=3)
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = "nvptx64-nvidia-cuda", str(machine.target_data)
    if level:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=level))
        builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


@pytest.mark.parametrize(("cpu", "ptx"), TARGETS)
@pytest.mark.parametrize("attributes", ["", '"denormal-fp-math-f32"="preserve-sign"'])
def test_every_instruction_is_known(cpu: str, ptx: str, attributes: str) -> None:
    functions = [*integer_functions(), *float_functions(), *conversions()]
    if attributes:  # LLVM then prints setp.ftz.bf16, which ptxas refuses
        functions = [f for f in functions if not ("fcmp" in f[2] and "bfloat" in f[2])]
        functions = [
            f for f in functions if not ("bfloat" in f[2] and ("min" in f[2] or "max" in f[2] or "round" in f[2]))
        ]
    text = source(functions, attributes)
    found = {match for level in (0, 3) for match in INSTRUCTION.findall(compiled(text, cpu, ptx, level))}
    assert len({name for name, _ in found}) > 250
    problems = set()
    for name, operands in found:
        opcode = tuple(name.split("."))
        if opcode[0] in MACHINE:
            continue
        try:
            operation = pure_operation(opcode)
        except UnknownInstruction:
            problems.add(f"{name}: unknown form")
            continue
        if operation is None:
            problems.add(f"{name}: unknown")
        elif operands.count(",") != sum(kind != "cc" for kind in operation.operands):
            problems.add(f"{name}: {operation.operands} for {operands.strip()}")
    assert not problems, sorted(problems)
