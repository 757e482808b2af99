"""Rows: inline PTX, clocks and traps, debug builds."""

import numpy as np

from kdsl import (
    Array,
    CheckError,
    DeviceError,
    MemoryFault,
    Ptr,
    asm,
    brkpt,
    clock,
    clock64,
    f32,
    globaltimer,
    grid,
    i32,
    i64,
    kernel,
    local,
    nanosleep,
    shared,
    sm_id,
    sync_threads,
    thread_idx,
    trap,
    u8,
    u32,
    u64,
)

from .capability import Capability, row

N = np.arange(32)
A, B = (N * 2654435761 % 2**32).astype(np.uint32), (N * 40503 % 2**32).astype(np.uint32)


@row("Inline PTX", "asm(..., out=u32)", "an instruction with typed operands and a result", out=A ^ B ^ np.uint32(5), inputs=(A, B),
     instructions=("lop3.b32",))  # fmt: skip
@kernel
def one_result(out: Ptr[u32], a: Ptr[u32], b: Ptr[u32]):
    i = grid(1)
    out[i] = asm("lop3.b32 {d}, {a}, {b}, {c}, 0x96;", a=a[i], b=b[i], c=u32(5), out=u32)


@row("Inline PTX", "asm(..., out=(u32, u32))", "several results are a tuple",
     out=(A.astype(np.uint64) * B >> np.uint64(32)) ^ (A.astype(np.uint64) * B & np.uint64(2**32 - 1)), inputs=(A, B),
     instructions=("mul.lo.u32", "mul.hi.u32"))  # fmt: skip
@kernel
def two_results(out: Ptr[u64], a: Ptr[u32], b: Ptr[u32]):
    i = grid(1)
    low, high = asm("mul.lo.u32 {d0}, {a}, {b}; mul.hi.u32 {d1}, {a}, {b};", a=a[i], b=b[i], out=(u32, u32))
    out[i] = low ^ high


@row("Inline PTX", "registers and labels of its own", "in braces, `{{ .reg .pred p; ... }}`", out=np.maximum(A, B), inputs=(A, B),
     instructions=("setp.gt.u32", "selp.b32"))  # fmt: skip
@kernel
def own_registers(out: Ptr[u32], a: Ptr[u32], b: Ptr[u32]):
    i = grid(1)
    template = "{{ .reg .pred p; setp.gt.u32 p, {a}, {b}; selp.b32 {d}, {a}, {b}, p; }}"
    out[i] = asm(template, a=a[i], b=b[i], out=u32)


@row("Inline PTX", "predicate operands", "a bool is a predicate register, `@{p}`", out=np.where(N % 2, N, 7))
@kernel
def predicated(out: Ptr[i64]):
    i = grid(1)
    out[i] = asm("mov.b32 {d}, 7; @{p} mov.b32 {d}, {a};", p=i % 2 == 1, a=i, out=i32)


@row("Inline PTX", "addresses", "a pointer or array is its address, in its own space", out=N[::-1].astype(np.uint32),
     instructions=("st.shared.u32", "st.global.u32"))  # fmt: skip
@kernel
def addresses(out: Ptr[u32]):
    s = shared.array(32, u32)
    i = thread_idx.x
    asm("{{ .reg .u32 t; mad.lo.u32 t, {i}, 4, {s}; st.shared.u32 [t], {i}; }}", i=u32(i), s=s)
    sync_threads()
    asm("st.global.u32 [{p}], {v};", p=out + i, v=s[31 - i])


@row(
    "Inline PTX",
    "volatile=True",
    "not left out, and not merged with an equal one",
    out=np.ones(32, int),
    instructions=("%clock",),
)
@kernel
def volatile(out: Ptr[i64]):
    first = asm("mov.u32 {d}, %clock;", out=u32, volatile=True)
    second = asm("mov.u32 {d}, %clock;", out=u32, volatile=True)
    out[grid(1)] = second - first < 1000000


@row("Inline PTX", "special registers", "the language need not have a name for them", out=N, instructions=("%laneid",))
@kernel
def special_register(out: Ptr[i64]):
    out[grid(1)] = asm("mov.u32 {d}, %laneid;", out=u32)


def clocked(function: object, instruction: str) -> Capability:
    @row("Special", function.name, "goes on", out=np.ones(32, int), instructions=(instruction,))
    @kernel
    def timed(out: Ptr[i64]):
        first = function()
        nanosleep(2000)
        second = function()
        out[grid(1)] = second >= first

    return timed


CLOCKS = [clocked(clock, "%clock"), clocked(clock64, "%clock64"), clocked(globaltimer, "%globaltimer")]


@row("Special", "nanosleep", "waits for about that long", out=N, instructions=("nanosleep.u32",))
@kernel
def sleeping(out: Ptr[i64]):
    nanosleep(100)
    out[grid(1)] = grid(1)


@row(
    "Special",
    "sm_id",
    "the multiprocessor that runs the block",
    out=np.ones(64, int),
    block=64,
    instructions=("%smid",),
)
@kernel
def multiprocessor(out: Ptr[i64]):
    s = shared.array(1, i32)
    if thread_idx.x == 0:
        s[0] = sm_id()
    sync_threads()
    out[thread_idx.x] = s[0] == sm_id() and sm_id() >= 0


@row(
    "Special",
    "trap",
    "stops the kernel; the host gets a DeviceError",
    inputs=(N,),
    raises=(DeviceError, "trap"),
    instructions=("trap",),
)
@kernel
def trapping(x: Ptr[i64]):
    if x[thread_idx.x] == 5:
        trap()


@row(
    "Special",
    "brkpt",
    "a breakpoint for a debugger; where no thread comes it does nothing",
    out=N,
    instructions=("brkpt",),
)
@kernel
def breakpoints(out: Ptr[i64]):
    out[grid(1)] = grid(1)
    if grid(1) > 1000:
        brkpt()


@row("Debug builds", "index of an array", "outside of an axis: file, line, block, thread and values", inputs=(N.astype(np.float32), np.int32(3)),
     raises=(MemoryFault, "index 32 is outside of axis 0 of `a`, whose extent is 32 (block (0, 0, 0), thread (29, 0, 0))"),
     instructions=("trap",))  # fmt: skip
@kernel(debug=True)
def outside(a: Array[f32, 1], offset: i32):
    a[thread_idx.x + offset] = 1.0


@row("Debug builds", "negative index", "is outside, too", inputs=(N.astype(np.float32), np.int32(-1)),
     raises=(MemoryFault, "index -1 is outside of axis 0 of `a`"))  # fmt: skip
@kernel(debug=True)
def negative(a: Array[f32, 1], offset: i32):
    a[thread_idx.x + offset] = 1.0


@row("Debug builds", "index of a shared array", "each axis", inputs=(np.int32(4),),
     raises=(MemoryFault, "index 4 is outside of axis 1 of `s`, whose extent is 4"))  # fmt: skip
@kernel(debug=True)
def shared_outside(n: i32):
    s = shared.array((2, 4), i32)
    s[0, n] = thread_idx.x


@row("Debug builds", "index of a local array", "each axis", inputs=(np.int32(9),),
     raises=(MemoryFault, "index 9 is outside of axis 0 of `own`, whose extent is 4"))  # fmt: skip
@kernel(debug=True)
def local_outside(n: i32):
    own = local.array(4, i32)
    own[n] = thread_idx.x


@row(
    "Debug builds",
    "division by zero",
    "`//`, `%` and divmod of ints",
    inputs=(N, np.int32(0)),
    raises=(CheckError, "by zero"),
)
@kernel(debug=True)
def by_zero(x: Ptr[i64], n: i32):
    x[thread_idx.x] = x[thread_idx.x] // n


@row(
    "Debug builds",
    "casts that lose",
    "of an int to a smaller int",
    inputs=(N, np.int32(300)),
    raises=(CheckError, "300"),
)
@kernel(debug=True)
def lossy(x: Ptr[i64], n: i32):
    x[thread_idx.x] = u8(n)


@row(
    "Debug builds",
    "float casts out of range",
    "of a float to an int",
    inputs=(N, np.float32(1e20)),
    raises=(CheckError, "i32"),
)
@kernel(debug=True)
def out_of_range(x: Ptr[i64], v: f32):
    x[thread_idx.x] = i32(v)


@row("Debug builds", "correct kernels", "give the same as without checks", out=N // 3 + N.astype(np.uint8))
@kernel(debug=True)
def correct(out: Array[i64, 1]):
    i = grid(1)
    out[i] = i // 3 + u8(i)
