"""Rows: every atomic operation on every type that has it, and every order and scope of each kind."""

import ml_dtypes
import numpy as np

from kdsl import (
    Ptr,
    atomic,
    bf16,
    f16,
    f32,
    f64,
    grid,
    i32,
    i64,
    kernel,
    shared,
    sync_threads,
    thread_idx,
    u16,
    u32,
    u64,
)

from .capability import Capability, row

DTYPES = {
    i32: np.int32, u32: np.uint32, i64: np.int64, u64: np.uint64, f32: np.float32, f64: np.float64,
    f16: np.float16, bf16: ml_dtypes.bfloat16, u16: np.uint16,
}  # fmt: skip
NAMES = {T: np.dtype(d).name.replace("uint", "u").replace("int", "i").replace("bfloat", "bf").replace("float", "f")
         for T, d in DTYPES.items()}  # fmt: skip
VALUES = np.arange(1, 33)
"""What 32 threads bring: their sums and extremes are exact in every type."""


def operation(
    name: str, T: object, start: int, end: int, instruction: str, minimum: str = "sm_75", shown_on: str | None = None
) -> Capability:
    """32 threads do it to one element with 1 to 32."""
    dtype = DTYPES[T]
    do = getattr(atomic, name)

    @row(
        "Atomics",
        f"atomic.{name} of {NAMES[T]}",
        "one element of global memory, by all threads at once",
        out=np.array([end], dtype),
        start=np.array([start], dtype),
        inputs=(VALUES.astype(dtype),),
        instructions=(instruction,),
        minimum=minimum,
        shown_on=shown_on,
    )
    @kernel
    def combine(out: Ptr[T], values: Ptr[T]):
        do(out, 0, values[thread_idx.x])

    return combine


SUM = int(VALUES.sum())
OR, XOR = int(np.bitwise_or.reduce(VALUES)), int(np.bitwise_xor.reduce(VALUES))
OPERATIONS = [
    operation("add", i32, 5, 5 + SUM, "red.global.add.u32"),
    operation("add", u32, 5, 5 + SUM, "red.global.add.u32"),
    operation("add", i64, 5, 5 + SUM, "red.global.add.u64"),
    operation("add", u64, 5, 5 + SUM, "red.global.add.u64"),
    operation("add", f32, 5, 5 + SUM, "red.global.add.f32"),
    operation("add", f64, 5, 5 + SUM, "red.global.add.f64"),
    operation("add", f16, 5, 5 + SUM, "red.global.add.noftz.f16"),
    operation("sub", i32, 5, 5 - SUM, "red.global.add.u32"),
    operation("sub", u32, 1000, 1000 - SUM, "red.global.add.u32"),
    operation("sub", i64, 5, 5 - SUM, "red.global.add.u64"),
    operation("sub", u64, 1000, 1000 - SUM, "red.global.add.u64"),
    operation("sub", f32, 5, 5 - SUM, "red.global.add.f32"),
    operation("sub", f64, 5, 5 - SUM, "red.global.add.f64"),
    operation("sub", f16, 5, 5 - SUM, "red.global.add.noftz.f16"),
    operation("min", i32, 50, 1, "red.global.min.s32"),
    operation("min", u32, 50, 1, "red.global.min.u32"),
    operation("min", i64, 50, 1, "red.global.min.s64"),
    operation("min", u64, 50, 1, "red.global.min.u64"),
    operation("min", f32, 50, 1, "atom.relaxed.gpu.global.cas.b32"),
    operation("min", f64, 50, 1, "atom.relaxed.gpu.global.cas.b64"),
    operation("max", i32, 5, 32, "red.global.max.s32"),
    operation("max", u32, 5, 32, "red.global.max.u32"),
    operation("max", i64, 5, 32, "red.global.max.s64"),
    operation("max", u64, 5, 32, "red.global.max.u64"),
    operation("max", f32, 5, 32, "atom.relaxed.gpu.global.cas.b32"),
    operation("max", f64, 5, 32, "atom.relaxed.gpu.global.cas.b64"),
    operation("and_", i32, 64, 0, "red.global.and.b32"),
    operation("and_", u32, 64, 0, "red.global.and.b32"),
    operation("and_", i64, 64, 0, "red.global.and.b64"),
    operation("and_", u64, 64, 0, "red.global.and.b64"),
    operation("or_", i32, 64, 64 | OR, "red.global.or.b32"),
    operation("or_", u32, 64, 64 | OR, "red.global.or.b32"),
    operation("or_", i64, 64, 64 | OR, "red.global.or.b64"),
    operation("or_", u64, 64, 64 | OR, "red.global.or.b64"),
    operation("xor", i32, 64, 64 ^ XOR, "red.global.xor.b32"),
    operation("xor", u32, 64, 64 ^ XOR, "red.global.xor.b32"),
    operation("xor", i64, 64, 64 ^ XOR, "red.global.xor.b64"),
    operation("xor", u64, 64, 64 ^ XOR, "red.global.xor.b64"),
]


@row(
    "Atomics", "atomic.add of bf16", "one instruction from sm_90, compare-and-swap before",
    out=np.array([133], ml_dtypes.bfloat16), start=np.array([5], ml_dtypes.bfloat16),
    instructions=("red.global.add.noftz.bf16",), shown_on="sm_90", block=128,
)  # fmt: skip
@kernel
def add_bf16(out: Ptr[bf16]):
    atomic.add(out, 0, 1)


@row(
    "Atomics", "atomic.sub of bf16", "one instruction from sm_90, compare-and-swap before",
    out=np.array([-123], ml_dtypes.bfloat16), start=np.array([5], ml_dtypes.bfloat16),
    instructions=("atom.relaxed.gpu.global.cas.b16",), block=128,
)  # fmt: skip
@kernel
def sub_bf16(out: Ptr[bf16]):
    atomic.sub(out, 0, 1)


def exchange(T: object, bits: int) -> Capability:
    dtype = DTYPES[T]

    @row("Atomics", f"atomic.exch of {NAMES[T]}", "a value for another, one thread after the other",
         out=np.array([SUM + 7], dtype),
         inputs=(np.array([7], dtype), VALUES.astype(dtype)),
         instructions=(f"atom.global.exch.b{bits}",))  # fmt: skip
    @kernel
    def swap(out: Ptr[T], place: Ptr[T], values: Ptr[T]):
        old = atomic.exch(place, 0, values[thread_idx.x])
        atomic.add(out, 0, old)
        sync_threads()
        if thread_idx.x == 0:
            out[0] += place[0]

    return swap


EXCHANGES = [exchange(T, 8 * np.dtype(DTYPES[T]).itemsize) for T in (i32, u32, i64, u64, f32, f64)]


def compare_and_swap(T: object, bits: int) -> Capability:
    dtype = DTYPES[T]

    @row("Atomics", f"atomic.cas of {NAMES[T]}", "a new value if the old one is as expected",
         out=np.array([32], dtype), instructions=(f"atom.relaxed.gpu.global.cas.b{bits}",))  # fmt: skip
    @kernel
    def count(out: Ptr[T]):
        expected = out[0]
        while True:
            found = atomic.cas(out, 0, expected, T(expected + 1))
            if found == expected:
                break
            expected = found

    return count


SWAPS = [compare_and_swap(T, 8 * np.dtype(DTYPES[T]).itemsize) for T in (i32, u32, i64, u64, f32, f64, f16, bf16, u16)]


@row("Atomics", "atomic.inc of u32", "counts up to a bound, then from 0", out=np.array([2], np.uint32),
     instructions=("red.global.inc.u32",))  # fmt: skip
@kernel
def increment(out: Ptr[u32]):
    atomic.inc(out, 0, 9)


@row("Atomics", "atomic.dec of u32", "counts down to 0, then from a bound", out=np.array([8], np.uint32),
     instructions=("red.global.dec.u32",))  # fmt: skip
@kernel
def decrement(out: Ptr[u32]):
    atomic.dec(out, 0, 9)


@row("Atomics", "atomics on shared memory", "of a shared array, by the threads of a block",
     out=np.array([SUM, 32, 0x3F, 32], np.int32),
     instructions=("red.shared.add.u32", "red.shared.max.s32", "red.shared.or.b32", "atom.relaxed.gpu.shared.cas.b32"),
     )  # fmt: skip
@kernel
def on_shared(out: Ptr[i32]):
    s = shared.array(4, i32)
    i = thread_idx.x
    if i < 4:
        s[i] = 0
    sync_threads()
    atomic.add(s, 0, i + 1)
    atomic.max(s, 1, i + 1)
    atomic.or_(s, 2, i + 1)
    expected = 0
    while True:
        found = atomic.cas(s, 3, expected, expected + 1)
        if found == expected:
            break
        expected = found
    sync_threads()
    if i < 4:
        out[i] = s[i]


@row("Atomics", "atomics of several dimensions", "the index may be a tuple", out=np.array([0, 0, 0, 32], np.int32),
     )  # fmt: skip
@kernel
def on_two_dimensions(out: Ptr[i32]):
    s = shared.array((2, 2), i32)
    i = thread_idx.x
    if i < 4:
        s[i // 2, i % 2] = 0
    sync_threads()
    atomic.add(s, (1, 1), 1)
    sync_threads()
    if i < 4:
        out[i] = s[i // 2, i % 2]


# Order and scope: every one of each kind of access, seen in the PTX.
SCOPES = {"block": "cta", "cluster": "cluster", "gpu": "gpu", "system": "sys"}


def ordered(kind: str, order: str, scope: str) -> Capability:
    """``kind`` is add, cas, load or store; seq_cst is a fence and then the access."""
    strong = SCOPES[scope]
    minimum = "sm_90" if scope == "cluster" else "sm_75"
    semantics = "acquire" if order == "seq_cst" else order
    fence = (f"fence.sc.{strong}",) if order == "seq_cst" else ()
    name = f'atomic.{kind}(order="{order}", scope="{scope}")'
    if kind in ("add", "cas"):
        ending = "add.u32" if kind == "add" else "cas.b32"
        # Why without? PTX's default is relaxed and gpu.
        plain = kind == "add" and (order, scope) == ("relaxed", "gpu")
        verb = "red" if kind == "add" and order in ("relaxed", "release") else "atom"
        instruction = f"{verb}.global.{ending}" if plain else f"{verb}.{semantics}.{strong}.global.{ending}"
    else:
        semantics = "release" if kind == "store" and order == "seq_cst" else semantics
        instruction = f"{'ld' if kind == 'load' else 'st'}.{semantics}.{strong}.global.b32"
    made = row("Atomics", name, "ordered and scoped", out=np.array([32, 1], np.uint32), start=np.array([0, 1], np.uint32),
               instructions=(*fence, instruction), minimum=minimum)  # fmt: skip

    @kernel
    def add(out: Ptr[u32]):
        atomic.add(out, 0, 1, order=order, scope=scope)

    @kernel
    def cas(out: Ptr[u32]):
        i = u32(thread_idx.x)
        while atomic.cas(out, 0, i, i + 1, order=order, scope=scope) != i:
            pass

    @kernel
    def load(out: Ptr[u32]):
        atomic.add(out, 0, atomic.load(out, 1, order=order, scope=scope))

    @kernel
    def store(out: Ptr[u32]):
        atomic.store(out, 0, 32, order=order, scope=scope)

    return made({"add": add, "cas": cas, "load": load, "store": store}[kind])


READS_AND_WRITES = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
ORDERED = [
    ordered(kind, order, scope)
    for kind, orders in (
        ("add", READS_AND_WRITES),
        ("cas", READS_AND_WRITES),
        ("load", ("relaxed", "acquire", "seq_cst")),
        ("store", ("relaxed", "release", "seq_cst")),
    )
    for order in orders
    for scope in SCOPES
]


def of_each_kind(name: str, instruction: str) -> Capability:
    do = getattr(atomic, name)

    @row("Atomics", f'atomic.{name}(order="acq_rel", scope="block")', "ordered and scoped, as every operation can be",
         out=np.zeros(1, np.uint32), instructions=(f"atom.acq_rel.cta.global.{instruction}",))  # fmt: skip
    @kernel
    def change(out: Ptr[u32]):
        do(out, 0, 0, order="acq_rel", scope="block")

    return change


KINDS = [
    of_each_kind(*k)
    for k in (
        ("min", "min.u32"), ("max", "max.u32"), ("and_", "and.b32"), ("or_", "or.b32"), ("xor", "xor.b32"),
        ("exch", "exch.b32"), ("inc", "inc.u32"), ("dec", "dec.u32"),
    )
]  # fmt: skip


@row("Atomics", "release and acquire of a flag", "what was written before a release is seen after an acquire",
     out=np.arange(64) + 100, grid=2, start=np.zeros(64, np.int64), inputs=(np.zeros(1, np.int32),),
     instructions=("st.release.gpu.global.b32", "ld.acquire.gpu.global.b32"))  # fmt: skip
@kernel
def hand_over(out: Ptr[i64], flag: Ptr[i32]):
    i = grid(1)
    if i < 32:
        out[i] = i + 100
        out[i + 32] = i
        sync_threads()
        if i == 0:
            atomic.store(flag, 0, 1, order="release")
    else:
        if i == 32:
            while atomic.load(flag, 0, order="acquire") == 0:
                pass
        sync_threads()
        out[i] += 132
