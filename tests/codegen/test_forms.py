"""The form of code that measured fastest against nvcc: each line of a kernel beside what it must become.

A comment ``# PTX:`` is a filecheck pattern, matched in order against the kernel's PTX for sm_90.
"""

# mypy: ignore-errors

from __future__ import annotations

import inspect
import io

import pytest

import kdsl
from kdsl import (
    Array,
    Ptr,
    atomic,
    bf16,
    block_dim,
    block_idx,
    f32,
    f64,
    grid,
    gridsize,
    i32,
    i64,
    kernel,
    local,
    shared,
    sync_threads,
    thread_idx,
    u32,
)

pytest.importorskip("filecheck")  # not everywhere where the GPU's tests run
from filecheck.finput import FInput  # noqa: E402
from filecheck.matcher import Matcher  # noqa: E402
from filecheck.options import DumpInputKind, Options  # noqa: E402
from filecheck.parser import Parser, pattern_for_opts  # noqa: E402


@kernel
def guarded(x: Ptr[f32], n: i32):
    i = block_idx.x * block_dim.x + thread_idx.x  # PTX: mad.lo.s32 [[I:%r[0-9]+]], {{.*}}
    if i < n:  # PTX: setp.ge.s32 {{.*}} [[I]]
        x[i] = x[i] * 3.0  # PTX: mul.wide.s32 {{%rd[0-9]+}}, [[I]], 4;
        # PTX: mul.rn.f32
        # PTX: st.global.b32


@kernel
def neighbours(x: Ptr[f32], y: Ptr[f32], n: i32):
    i = grid(1)
    if 0 < i < n - 1:
        y[i] = x[i - 1] + x[i + 1]  # PTX: mul.wide.{{[su]}}32
        # PTX: ld.global.b32 {{.*}}+-4];
        # PTX: ld.global.b32 {{.*}}+4];
        # PTX-NOT: mul.wide


@kernel
def grid_stride(x: Ptr[f32], n: i32):
    # PTX: mov.u32 {{.*}}%ntid.x;
    # PTX: mov.u32 {{.*}}%nctaid.x;
    # PTX: mov.u32 {{.*}}%ctaid.x;
    # PTX: mov.u32 {{.*}}%tid.x;
    for i in range(grid(1), n, gridsize(1)):  # PTX: div.u32
        x[i] = x[i] + 1.0
        # The loads of two iterations at least are there before the remainder's loop.
        # PTX: ld.global.b32
        # PTX: ld.global.b32
        # PTX: setp.ne.b32
        # PTX: .pragma "nounroll";


@kernel
def decode(a: Array[f32, 2], out: Ptr[f32]):
    i = grid(1)
    row = i // a.shape[1]  # PTX: div.u32
    column = i % a.shape[1]
    # PTX-NOT: rem.
    # PTX-NOT: div.
    out[i] = a[row, column]  # PTX: ld.global.b32


@kernel
def halves(out: Ptr[i32]):
    i = thread_idx.x
    out[i // 2] = i % 8
    # PTX-NOT: div.
    # PTX-NOT: rem.
    # PTX-DAG: and.b32 {{.*}}, 7;
    # PTX: st.global.b32


@kernel
def tile(x: Ptr[f32], y: Ptr[f32]):
    # PTX: .shared .align 16 .b8 {{.*}}[4224];
    square = shared.array((32, 33), f32)
    square[thread_idx.y, thread_idx.x] = x[grid(1)]  # PTX: st.shared.b32 [%r
    sync_threads()  # PTX: bar.sync 0;
    y[grid(1)] = square[thread_idx.x, thread_idx.y]  # PTX: ld.shared.b32 {{.*}}[%r


@kernel
def registers(x: Ptr[f32], y: Ptr[f32]):
    # PTX-NOT: .local
    parts = local.array(4, f32)
    for k in range(4):
        parts[k] = x[thread_idx.x * 4 + k]
    y[thread_idx.x] = (parts[0] + parts[1]) + (parts[2] + parts[3])  # PTX: st.global.b32


@kernel
def dot(x: Ptr[bf16], y: Ptr[bf16], out: Ptr[f32], n: i32):
    total = 0.0
    for i in range(n):
        total += f32(x[i]) * f32(y[i])  # PTX: shl.b32 {{.*}}, 16;
        # PTX: fma.rn.f32
    out[0] = total


@kernel
def count(bins: Ptr[u32], x: Ptr[i32]):
    atomic.add(bins, x[grid(1)], u32(1))  # PTX: {{atom|red}}{{.*}}.global.{{.*}}add.u32


@kernel
def either(x: Ptr[f32], n: i32, m: i32):
    i = grid(1)
    # PTX: or.pred
    # PTX: bra
    # PTX-NOT: bra
    if i < n and i != m:
        x[i] = 0.0  # PTX: st.global.b32


@kernel
def doubles(x: Ptr[f64], i: i64):
    x[i] = x[i] / 3.0  # PTX: shl.b64
    # PTX: div.rn.f64


@kernel(fmad=False)
def separate(x: Ptr[f32]):
    x[0] = x[1] * x[2] + x[3]  # PTX: mul.rn.f32
    # PTX: add.rn.f32


@kernel(fastmath=True)
def approximate(x: Ptr[f32]):
    x[0] = x[1] / x[2] + x[3]  # PTX: div.approx.ftz.f32
    # PTX: add.rn.ftz.f32


@kernel(launch_bounds=(128, 4), restrict=True)
def bounded(x: Ptr[f32], y: Ptr[f32]):
    # PTX: .maxntid 128
    # PTX: .minnctapersm 4
    y[thread_idx.x] = x[thread_idx.x]  # PTX: ld.global.nc.b32


KERNELS = [value for value in globals().values() if isinstance(value, kdsl.Kernel)]


def check(source: str, text: str) -> int:
    """Filecheck's exit code for the patterns in ``source``; it prints what it missed."""
    options = Options("kernel", check_prefixes=["PTX"], dump_input=DumpInputKind.FAIL)
    # Tabs are what LLVM puts between opcode and operands.
    file = FInput("ptx", text.replace("\t", " "))
    return Matcher(options, file, Parser(options, io.StringIO(source), *pattern_for_opts(options))).run()


@pytest.mark.parametrize("checked", KERNELS, ids=lambda k: k.__name__)
def test_form(checked: kdsl.Kernel) -> None:
    source = inspect.getsource(checked.function)
    assert "# PTX" in source
    assert check(source, kdsl.compile(checked, target="sm_90").ptx) == 0


def test_a_pattern_that_is_not_there_is_seen() -> None:
    assert check("# PTX: nonsense", kdsl.compile(guarded, target="sm_90").ptx) != 0
