"""The registers that inline PTX's `mma` is said to take are those that ptxas takes, and no others."""

from __future__ import annotations

import pytest

from kdsl.codegen.sass import AssemblyError, assemble
from kdsl.frontend.ptx_matrices import Fragment, fragments
from kdsl.target import Target

INSTRUCTIONS = [
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90", ""),
    ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "sm_90", ""),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "sm_90", ""),
    ("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "sm_90", ""),
    ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "sm_90", ""),
    ("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "sm_90", ""),
    ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "sm_90", ""),
    ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "sm_90", ""),
    ("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "sm_90", ""),
    ("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "sm_90", ""),
    ("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "sm_90", ""),
    ("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", "sm_90", ""),
    ("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32", "sm_90", ""),
    ("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32", "sm_90", ""),
    ("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32", "sm_90", ""),
    ("mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32", "sm_90", ""),
    ("mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32", "sm_90", ""),
    ("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "sm_90", ""),
    ("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc", "sm_90", ""),
    ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "sm_90", ""),
    ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "sm_90", ""),
    ("mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32", "sm_90", ""),
    ("mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16", "sm_90", ""),
    ("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16", "sm_90", ""),
    ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "sm_90", ""),
    ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16", "sm_90", ""),
    ("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e3m2.f32", "sm_120a", ""),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "sm_90", ", %e, 0x0"),
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32", "sm_90", ", %e, 0x0"),
    ("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", "sm_90", ", %e, 0x0"),
    (
        "mma.sync.aligned.kind::mxf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0",
        "sm_120a",
        ", %e, {0, 0}, %e, {0, 0}",
    ),
    (
        "mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e2m1.f32.ue8m0",
        "sm_120a",
        ", %e, {0, 0}, %e, {0, 0}",
    ),
]


def text(instruction: str, arch: str, tail: str, found: dict[int, Fragment]) -> str:
    names = {i: [f"%r{i}_{j}" for j in range(f.count)] for i, f in found.items()}
    registers = " ".join(f".reg .{f.type} {', '.join(names[i])};" for i, f in found.items())
    operands = ", ".join(f"{{{', '.join(names[i])}}}" for i in found)
    return (
        f".version 9.0\n.target {arch}\n.address_size 64\n.visible .entry k() {{\n.reg .b32 %e; {registers}\n"
        f"{instruction} {operands}{tail};\nret;\n}}\n"
    )


@pytest.mark.parametrize(("instruction", "arch", "tail"), INSTRUCTIONS, ids=[row[0] for row in INSTRUCTIONS])
def test_ptxas_takes_these_registers(instruction: str, arch: str, tail: str) -> None:
    found = fragments(instruction.split("."))
    assert isinstance(found, dict) and len(found) == 4
    assemble(text(instruction, arch, tail, found), Target.parse(arch))
    # ptxas takes some other counts of this one, whose operands it does not all count.
    counted = {0: found[0]} if "m16n8k16.row.col.f32.e4m3" in instruction else found
    for i, fragment in counted.items():
        other = {**found, i: Fragment(fragment.count + 1, fragment.type)}
        with pytest.raises(AssemblyError):
            assemble(text(instruction, arch, tail, other), Target.parse(arch))
