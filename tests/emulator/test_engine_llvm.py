"""PTX as LLVM emits it, for every architecture: hand-written IR, with and without libdevice, against NumPy and `math`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.emulator.engine import Machine

# Each with the least PTX version of the architecture.
TARGETS = [
    ("sm_75", "ptx63"), ("sm_80", "ptx70"), ("sm_86", "ptx71"), ("sm_89", "ptx78"), ("sm_90", "ptx78"),
    ("sm_100", "ptx86"), ("sm_103", "ptx88"), ("sm_120", "ptx87"), ("sm_121", "ptx88"),
]  # fmt: skip

DECLARATIONS = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
"""


def libdevice() -> bytes:
    nvidia = pytest.importorskip("nvidia", reason="libdevice is in the nvidia-nvvm wheel")
    found = [path for root in nvidia.__path__ for path in Path(root).rglob("libdevice.10.bc")]
    if not found:
        pytest.skip("libdevice.10.bc is not in the nvidia packages")
    return found[0].read_bytes()


@cache
def emit(ir: str, cpu: str = "sm_90", ptx: str = "ptx78", level: int = 3, linked: bool = False) -> str:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu, f"+{ptx}", opt=level)
    header = f'target triple = "nvptx64-nvidia-cuda"\ntarget datalayout = "{machine.target_data}"\n'
    module = llvm.parse_assembly(header + DECLARATIONS + ir)
    if linked:
        library = llvm.parse_bitcode(libdevice())
        library.triple, library.data_layout = module.triple, module.data_layout
        own = {f.name for f in module.functions if not f.is_declaration}
        module.link_in(library)
        for function in module.functions:
            if not function.is_declaration and function.name not in own:
                function.linkage = "internal"
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=level))
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


# Everything that control flow, calls, local, shared and constant memory give rise to.
MIXED = """
@tile = internal addrspace(3) global [128 x i32] undef, align 16
@primes = internal addrspace(4) constant [8 x i32] [i32 2, i32 3, i32 5, i32 7, i32 11, i32 13, i32 17, i32 19]
@text = private constant [6 x i8] c"hello\\00"
@where = internal addrspace(1) global [2 x ptr] [ptr @text, ptr getelementptr (i8, ptr @text, i64 1)]

define internal {i32, i64} @device(i32 %x, {i32, i8} %s, i1 %flag) noinline {
  %a = extractvalue {i32, i8} %s, 0
  %b = extractvalue {i32, i8} %s, 1
  %bx = sext i8 %b to i64
  %y = add i32 %x, %a
  %f = zext i1 %flag to i64
  %z = add i64 %bx, %f
  %r0 = insertvalue {i32, i64} undef, i32 %y, 0
  %r1 = insertvalue {i32, i64} %r0, i64 %z, 1
  ret {i32, i64} %r1
}

define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n, i8 %byte, i1 %flag, double %scale) {
entry:
  %table = alloca [16 x i32]
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %m = mul i32 %block, %size
  %i = add i32 %m, %tid
  br label %fill
fill:
  %k = phi i32 [0, %entry], [%k1, %fill]
  %kk = mul i32 %k, %i
  %slot = getelementptr [16 x i32], ptr %table, i32 0, i32 %k
  store i32 %kk, ptr %slot
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, 16
  br i1 %more, label %fill, label %filled
filled:
  %pick = and i32 %i, 15
  %picked = getelementptr [16 x i32], ptr %table, i32 0, i32 %pick
  %local = load volatile i32, ptr %picked
  %mine = getelementptr [128 x i32], ptr addrspace(3) @tile, i32 0, i32 %tid
  store i32 %local, ptr addrspace(3) %mine
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %other = xor i32 %tid, 1
  %theirs = getelementptr [128 x i32], ptr addrspace(3) @tile, i32 0, i32 %other
  %shared = load i32, ptr addrspace(3) %theirs
  %swapped = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %shared, i32 2, i32 31)
  %p = and i32 %i, 7
  %prime = getelementptr [8 x i32], ptr addrspace(4) @primes, i32 0, i32 %p
  %constant = load i32, ptr addrspace(4) %prime
  %s0 = insertvalue {i32, i8} undef, i32 %constant, 0
  %s1 = insertvalue {i32, i8} %s0, i8 %byte, 1
  %r = call {i32, i64} @device(i32 %swapped, {i32, i8} %s1, i1 %flag)
  %r0 = extractvalue {i32, i64} %r, 0
  %r1 = extractvalue {i32, i64} %r, 1
  %r1t = trunc i64 %r1 to i32
  %sum = add i32 %r0, %r1t
  %seven = urem i32 %i, 7
  switch i32 %seven, label %default [ i32 0, label %zero
    i32 1, label %one
    i32 2, label %two
    i32 3, label %zero
    i32 4, label %four
    i32 5, label %one ]
zero:
  %v0 = mul i32 %sum, 3
  br label %join
one:
  %v1 = xor i32 %sum, %n
  br label %join
two:
  %which = and i32 %i, 1
  %entryp = getelementptr [2 x ptr], ptr addrspace(1) @where, i32 0, i32 %which
  %string = load ptr, ptr addrspace(1) %entryp
  %char = load i8, ptr %string
  %v2 = zext i8 %char to i32
  br label %join
four:
  %d = sitofp i32 %sum to double
  %dd = fmul double %d, %scale
  %v4 = fptosi double %dd to i32
  br label %join
default:
  br label %join
join:
  %v = phi i32 [%v0, %zero], [%v1, %one], [%v2, %two], [%v4, %four], [-1, %default]
  %e = sext i32 %i to i64
  %address = getelementptr i32, ptr addrspace(1) %out, i64 %e
  store i32 %v, ptr addrspace(1) %address
  ret void
}
"""


def mixed(i: int, n: int, byte: int, flag: int, scale: float) -> int:
    """The same in Python."""

    def local(j: int) -> int:
        return j * (j & 15)

    constant = [2, 3, 5, 7, 11, 13, 17, 19][i & 7]
    total = local((i ^ 2) ^ 1) + constant + byte + flag
    match i % 7:
        case 0 | 3:
            return total * 3
        case 1 | 5:
            return total ^ n
        case 2:
            return ord("hello"[i & 1])
        case 4:
            return int(total * scale)
    return -1


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize(("cpu", "ptx"), TARGETS)
def test_everything_at_once(cpu: str, ptx: str, level: int) -> None:
    text = emit(MIXED, cpu, ptx, level)
    (out,) = Machine().run(text, 3, 96, np.zeros(288, np.int32), 77, b"\xf9", b"\x01", np.float64(1.5).tobytes())
    assert out.tolist() == [mixed(i, 77, -7, 1, 1.5) for i in range(288)]


Function = Callable[[float], float]
LIBRARY: dict[str, tuple[Function, float]] = {
    # Largest error in ulps, CUDA C++ Programming Guide, mathematical functions; one more for the reference's own.
    "sinf": (math.sin, 3), "cosf": (math.cos, 3), "tanf": (math.tan, 5), "expf": (math.exp, 3), "logf": (math.log, 2),
    "erff": (math.erf, 3), "tgammaf": (math.gamma, 6), "atanhf": (math.atanh, 4), "cbrtf": (math.cbrt, 2),
    "sin": (math.sin, 3), "cos": (math.cos, 3), "exp": (math.exp, 2), "log": (math.log, 2), "erf": (math.erf, 3),
    "tgamma": (math.gamma, 11), "asin": (math.asin, 3), "cbrt": (math.cbrt, 2), "log1p": (math.log1p, 2),
}  # fmt: skip


def library_kernel(name: str) -> str:
    kind = "float" if name.endswith("f") and name != "erf" else "double"
    return f"""
declare {kind} @__nv_{name}({kind})
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr {kind}, ptr addrspace(1) %x, i32 %t
  %q = getelementptr {kind}, ptr addrspace(1) %y, i32 %t
  %v = load {kind}, ptr addrspace(1) %p
  %r = call {kind} @__nv_{name}({kind} %v)
  store {kind} %r, ptr addrspace(1) %q
  ret void
}}
"""


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_libdevice(name: str) -> None:
    """Ordinary, tiny and large arguments: the last take the slow paths, with tables and local arrays."""
    reference, ulps = LIBRARY[name]
    dtype = np.float32 if name.endswith("f") and name != "erf" else np.float64
    rng = np.random.default_rng(4)
    large = rng.normal(size=300) * 10.0 ** rng.integers(-30, 30, 300)
    x = np.concatenate([rng.normal(size=500) * 3, large]).astype(dtype)
    _, y = Machine().run(emit(library_kernel(name), linked=True), 1, 800, x, np.zeros_like(x))
    checked = 0
    for argument, result in zip(x.tolist(), y.tolist(), strict=True):
        try:
            want = reference(argument)
        except (ValueError, OverflowError):
            continue
        if float(np.finfo(dtype).tiny) <= abs(want) < float(np.finfo(dtype).max) / 4:
            assert abs(result - want) <= ulps * float(np.spacing(dtype(abs(want)))), (argument, result, want)
            checked += 1
    assert checked > 200
