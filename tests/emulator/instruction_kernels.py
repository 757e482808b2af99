"""PTX kernels of one instruction each: load a thread's operands, do it, store the results. And the list of all forms.

A carry is handed in and read out by the instructions that PTX has for it.
"""

from __future__ import annotations

import re
from itertools import product

from kdsl.emulator.instructions import pure_operation
from kdsl.emulator.operation import WIDTH, Opcode, Operation

REGISTER = {8: "%h", 16: "%h", 32: "%r", 64: "%d"}
LOAD = {8: "u8", 16: "b16", 32: "b32", 64: "b64"}
LOP3_TABLE = 0xE8
ROUND = "{rn,rz,rm,rp}"

TEXTS = [
    "{add,sub}.{u16,s16,u32,s32,u64,s64,sat.s32}",
    "add.{u16x2,s16x2}",
    "mul.{lo,hi}.{u16,s16,u32,s32,u64,s64}",
    "{mul,mad}.wide.{u16,s16,u32,s32}",
    "mad.lo.{u16,s16,u32,s32,u64,s64}",
    "mad.hi.{u16,s16,u32,s32,u64,s64,sat.s32}",
    "{mul24,mad24}.{lo,hi}.{u32,s32}",
    "mad24.hi.sat.s32",
    "{div,rem}.{u16,s16,u32,s32,u64,s64}",
    "sad.{u16,s16,u32,s32,u64,s64}",
    "{min,max}.{u16,s16,u32,s32,u64,s64,relu.s32,u16x2,s16x2,relu.s16x2}",
    "{neg,abs}.{s16,s32,s64}",
    "dp4a.{u32,s32}.{u32,s32}",
    "dp2a.{lo,hi}.{u32,s32}.{u32,s32}",
    "{add.cc,addc,addc.cc,sub.cc,subc,subc.cc}.{u32,s32,u64,s64}",
    "{mad.lo.cc,mad.hi.cc,madc.lo,madc.hi,madc.lo.cc,madc.hi.cc}.{u32,s32,u64,s64}",
    "{and,or,xor}.{b16,b32,b64}",
    "{not,cnot}.{b16,b32,b64}",
    "shl.{b16,b32,b64}",
    "shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64}",
    "shf.{l,r}.{wrap,clamp}.b32",
    "lop3.b32",
    "{popc,clz,brev}.{b32,b64}",
    "bfind.{u32,s32,u64,s64}",
    "bfind.shiftamt.{u32,s32,u64,s64}",
    "bfe.{u32,s32,u64,s64}",
    "bfi.{b32,b64}",
    "bmsk.{wrap,clamp}.b32",
    "szext.{wrap,clamp}.{u32,s32}",
    "fns.b32",
    "prmt.b32",
    "prmt.b32.{f4e,b4e,rc8,ecl,ecr,rc16}",
    f"{{add,sub,mul,fma,div,rcp,sqrt}}.{ROUND}.{{f32,f64,ftz.f32}}",
    f"{{add,sub,mul,fma}}.{ROUND}.{{sat.f32,ftz.sat.f32}}",
    "{neg,abs}.{f32,ftz.f32,f64,f16,ftz.f16,f16x2,bf16,bf16x2}",
    "{min,max}.{f32,f64,ftz.f32,NaN.f32,ftz.NaN.f32,xorsign.abs.f32,NaN.xorsign.abs.f32}",
    "{min,max}.{f16,f16x2,bf16,bf16x2,ftz.f16,NaN.f16,NaN.bf16x2,xorsign.abs.f16,NaN.xorsign.abs.bf16}",
    "copysign.{f32,f64}",
    "testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}",
    "{add,sub,mul,fma}.rn.{f16,f16x2,bf16,bf16x2,ftz.f16,sat.f16,ftz.sat.f16x2}",
    "fma.rn.{relu.f16,ftz.relu.f16x2,relu.bf16,relu.bf16x2}",
    "setp.{eq,ne,lt,le,gt,ge}.{u16,s16,u32,s32,u64,s64}",
    "setp.{eq,ne}.{b16,b32,b64}",
    "setp.{lo,ls,hi,hs}.{u16,u32,u64}",
    "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{f16,bf16,f32,f64,ftz.f32}",
    "setp.lt.{and,or,xor}.{s32,f32}",
    "set.{lt,geu}.{u32,s32,f32}.{f32,f64}",
    "set.eq.{and,or,xor}.u32.s32",
    "selp.{b16,b32,b64,f32,f64}",
    "slct.{u32,f64}.{s32,f32}",
    "cvt.{u8,s8,u16,s16,u32,s32,u64,s64}.{u8,s8,u16,s16,u32,s32,u64,s64}",
    "cvt.sat.u8.{s8,u16,s16,u32,s32,u64,s64}",
    "cvt.sat.s8.{u8,u16,s16,u32,s32,u64,s64}",
    "cvt.sat.u16.{s8,s16,u32,s32,u64,s64}",
    "cvt.sat.s16.{u16,u32,s32,u64,s64}",
    "cvt.sat.u32.{s8,s16,s32,u64,s64}",
    "cvt.sat.s32.{u32,u64,s64}",
    "cvt.sat.u64.{s8,s16,s32,s64}",
    "cvt.sat.s64.u64",
    f"cvt.{ROUND}.{{f16,f32,f64}}.{{u8,s8,u16,s16,u32,s32,u64,s64}}",
    "cvt.rn.bf16.{u16,s16,u32,s32,u64,s64}",
    "cvt.{rni,rzi,rmi,rpi}.{u8,s8,u16,s16,u32,s32,u64,s64}.{f16,f32,f64}",
    "cvt.rzi.{u16,s16,u32,s32,u64,s64}.bf16",
    "cvt.{rni,rzi,rmi,rpi}.{f16.f16,f32.f32,f64.f64,ftz.f32.f32}",
    f"cvt.{ROUND}.{{f32.f64,ftz.f32.f64,f16.f32,f16.f64}}",
    "cvt.{rn,rz}.{bf16.f32,relu.bf16.f32,f16x2.f32,bf16x2.f32,relu.f16x2.f32}",
    "cvt.{f32.f16,f64.f16,f32.bf16,f64.f32,ftz.f32.f16,sat.f32.f32}",
    "cvt.rna.tf32.f32",
    "cvt.rn.satfinite.{e4m3x2,e5m2x2}.{f32,f16x2}",
    "cvt.rn.f16x2.{e4m3x2,e5m2x2}",
    "cvt.pack.sat.{u16,s16}.s32",
    "cvt.pack.sat.{u8,s8}.s32.b32",
]
"""Every form that is exact, for sm_90; a brace is a choice."""

APPROXIMATE = [
    "{rcp,sqrt,rsqrt,sin,cos,lg2,ex2}.approx.{f32,ftz.f32}",
    "div.{approx,full}.{f32,ftz.f32}",
    "tanh.approx.{f32,f16,f16x2,bf16,bf16x2}",
    "ex2.approx.{f16,f16x2,ftz.bf16,ftz.bf16x2}",
    "{rcp.approx.ftz,rsqrt.approx.ftz,rsqrt.approx}.f64",
]

BLACKWELL = [
    f"{{add,sub,mul,fma}}.{ROUND}.{{f32x2,ftz.f32x2}}",
    f"{{add,sub,fma}}.{ROUND}.{{f32.f16,f32.bf16,sat.f32.f16}}",
]
"""Forms that sm_100 brought."""


def expand(text: str) -> list[Opcode]:
    parts = [part[1:-1].split(",") if part[0] == "{" else [part] for part in re.findall(r"\{[^}]*\}|[^{]+", text)]
    return [tuple("".join(choice).split(".")) for choice in product(*parts)]


def operation_of(opcode: Opcode) -> Operation:
    operation = pure_operation(opcode)
    assert operation is not None, opcode
    return operation


def kernel(name: str, opcode: Opcode) -> str:
    """``.entry name(operands..., results..., count)``: arrays of each type's width, a byte for a predicate or carry."""
    operation = operation_of(opcode)
    types = [*operation.operands, *operation.results]
    body = ["mov.u32 %r0, %ctaid.x;", "mov.u32 %r1, %ntid.x;", "mov.u32 %r2, %tid.x;", "mad.lo.u32 %r0, %r0, %r1, %r2;"]
    body += ["ld.param.u32 %r1, [count];", "setp.ge.u32 %p0, %r0, %r1;", "@%p0 ret;"]
    registers, before, after = [], [], []
    subtracts = opcode[0].startswith("sub")
    for place, type_name in enumerate(types):
        width = WIDTH[type_name]
        number, size = place + 10, max(width, 8) // 8
        address = [f"ld.param.u64 %d0, [p{place}];", f"mad.wide.u32 %d{number + 20}, %r0, {size}, %d0;"]
        is_flag, is_result = width == 1, place >= len(operation.operands)
        body += address
        register = f"%p{number}" if type_name == "pred" else f"{REGISTER[8 if is_flag else width]}{number}"
        place_in_memory = f"[%d{number + 20}]"
        if is_result and is_flag:
            if type_name == "pred":
                after.append(f"selp.u16 %h{number}, 1, 0, {register};")
            else:
                after += [f"{'subc' if subtracts else 'addc'}.u32 %r{number}, 0, 0;"]
                after += [f"and.b32 %r{number}, %r{number}, 1;", f"cvt.u16.u32 %h{number}, %r{number};"]
            after.append(f"st.global.u8 {place_in_memory}, %h{number};")
        elif is_result:
            after.append(f"st.global.{LOAD[width]} {place_in_memory}, {register};")
        elif is_flag:
            body.append(f"ld.global.u8 %h{number}, {place_in_memory};")
            if type_name == "pred":
                body.append(f"setp.ne.u16 {register}, %h{number}, 0;")
            else:
                body.append(f"cvt.u32.u16 %r{number}, %h{number};")
                carry = (
                    f"sub.cc.u32 %r{number}, 0, %r{number};" if subtracts else f"add.cc.u32 %r{number}, %r{number}, -1;"
                )
                before.append(carry)
        else:
            signed = "s8" if type_name == "s8" else LOAD[width]
            body.append(f"ld.global.{signed} {register}, {place_in_memory};")
        if type_name != "cc":
            registers.append((register, is_result))
    texts = [register for register, is_result in registers if is_result]
    texts += [register for register, is_result in registers if not is_result]
    if opcode[0] == "lop3":
        texts[-1] = hex(LOP3_TABLE)
    body += [*before, f"{'.'.join(opcode)} {', '.join(texts)};", *after, "ret;"]
    parameters = ", ".join(f".param .u64 p{place}" for place in range(len(types)))
    declarations = ".reg .pred %p<40>; .reg .b16 %h<40>; .reg .b32 %r<40>; .reg .b64 %d<40>;"
    return f".visible .entry {name}({parameters}, .param .u32 count)\n{{\n{declarations}\n" + "\n".join(body) + "\n}\n"


def module(opcodes: list[Opcode], version: str = "8.6", target: str = "sm_90") -> str:
    header = f".version {version}\n.target {target}\n.address_size 64\n"
    return header + "".join(kernel(f"k{place}", opcode) for place, opcode in enumerate(opcodes))
