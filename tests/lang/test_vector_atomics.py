"""Sums of vectors, every atomic of 16 bits, and `red` where nobody wants the old value."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kdsl
from kdsl import (
    CompileError,
    DeviceError,
    MemoryFault,
    Ptr,
    Target,
    asm,
    atomic,
    bf16,
    bf16x2,
    bf16x4,
    bitcast,
    block_idx,
    f16,
    f16x2,
    f16x4,
    f32,
    f32x2,
    f32x4,
    grid,
    i16,
    i32,
    kernel,
    local,
    shared,
    sync_threads,
    thread_idx,
    u8,
    u16,
    u32,
    u64,
)

ACCESS = re.compile(r"^\t((?:atom|red|fence)[.\w:]*)", re.MULTILINE)
BF16 = ml_dtypes.bfloat16


def accesses(compiled: Any, arch: str, **signature: Any) -> list[str]:
    """The mnemonics of atomics and fences in the PTX, which ptxas takes."""
    compilation = kdsl.compile(compiled, target=Target.parse(arch), signature=signature or None)
    assert compilation.cubin
    return ACCESS.findall(compilation.ptx)


@kernel
def sums(a: Ptr[f32x4], b: Ptr[f32x2], c: Ptr[f16x2], d: Ptr[f16x4], e: Ptr[bf16x2], f: Ptr[bf16x4]):
    i = grid(1)
    x = f32(i % 4)
    atomic.add(a, i % 2, f32x4(1, 2, x, -x))
    atomic.sub(b, i % 3, f32x2(x, 1), order="release", scope="system")
    atomic.add(c, i % 16, f16x2(1, -2))
    atomic.sub(d, i % 16, f16x4(1, 2, -3, x), scope="block")
    atomic.add(e, i % 16, bf16x2(1, 2), order="release")
    atomic.sub(f, i % 16, bf16x4(1, -1, 2, x))


def test_sums_under_contention(device: str) -> None:
    a, b = np.zeros((2, 4), np.float32), np.zeros((3, 2), np.float32)
    c, d = np.zeros((16, 2), np.float16), np.zeros((16, 4), np.float16)
    e, f = np.zeros((16, 2), BF16), np.zeros((16, 4), BF16)
    sums[8, 96](a, b, c, d, e, f)
    i = np.arange(8 * 96)
    x = i % 4
    wide = [np.zeros(v.shape) for v in (a, b, c, d, e, f)]
    one = np.ones_like(i)
    np.add.at(wide[0], i % 2, np.stack([one, 2 * one, x, -x], 1))
    np.add.at(wide[1], i % 3, -np.stack([x, one], 1))
    np.add.at(wide[2], i % 16, np.stack([one, -2 * one], 1))
    np.add.at(wide[3], i % 16, -np.stack([one, 2 * one, -3 * one, x], 1))
    np.add.at(wide[4], i % 16, np.stack([one, 2 * one], 1))
    np.add.at(wide[5], i % 16, -np.stack([one, -one, 2 * one, x], 1))
    for got, expected in zip((a, b, c, d, e, f), wide, strict=True):
        assert got.astype(np.float64).tolist() == expected.tolist()


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_ptx_of_sums(arch: str) -> None:
    if int(arch[3:]) >= 90:
        assert accesses(sums, arch) == [
            "red.relaxed.gpu.global.add.v4.f32",
            "red.release.sys.global.add.v2.f32",
            "red.relaxed.gpu.global.add.noftz.f16x2",
            "red.relaxed.cta.global.add.noftz.v2.f16x2",
            "red.release.gpu.global.add.noftz.bf16x2",
            "red.relaxed.gpu.global.add.noftz.v2.bf16x2",
        ]
    else:
        assert accesses(sums, arch) == [
            *["red.global.add.f32"] * 4,
            *["red.release.sys.global.add.f32"] * 2,
            "red.relaxed.gpu.global.add.noftz.f16x2",
            *["red.relaxed.cta.global.add.noftz.f16x2"] * 2,
            *["atom.release.gpu.global.cas.b16"] * 2,
            *["atom.relaxed.gpu.global.cas.b16"] * 4,
        ]


@kernel
def old_values(a: Ptr[f32x4], c: Ptr[f16x4], out: Ptr[f32x4], halves: Ptr[f16x4]):
    i = grid(1)
    out[i] = atomic.add(a, 0, f32x4(1, 2, 4, 8), order="acq_rel")
    halves[i] = atomic.add(c, 0, f16x4(1, 1, 2, 2), order="seq_cst", scope="system")


def test_old_values(device: str) -> None:
    n = 256
    a, c = np.zeros((1, 4), np.float32), np.zeros((1, 4), np.float16)
    out, halves = np.zeros((n, 4), np.float32), np.zeros((n, 4), np.float16)
    old_values[4, 64](a, c, out, halves)
    assert a.tolist() == [[n, 2 * n, 4 * n, 8 * n]] and c.tolist() == [[n, n, 2 * n, 2 * n]]
    # Each element is atomic by itself: every old value is seen once.
    for lane, step in enumerate((1, 2, 4, 8)):
        assert sorted(out[:, lane]) == [step * k for k in range(n)]
    for lane, step in enumerate((1, 1, 2, 2)):
        assert sorted(halves[:, lane]) == [step * k for k in range(n)]


def test_ptx_of_old_values() -> None:
    assert accesses(old_values, "sm_90") == [
        "atom.acq_rel.gpu.global.add.v4.f32",
        "fence.sc.sys",
        "atom.acquire.sys.global.add.noftz.v2.f16x2",
    ]


@kernel
def elsewhere(out: Ptr[f32]):
    i = thread_idx.x
    s = shared.array(2, f32x2)
    h = shared.array(1, f16x2)
    own = local.array(2, f32x4)
    if i < 2:
        s[i] = f32x2(0)
        h[0] = f16x2(0)
        own[0] = own[1] = f32x4(1)
    own[0] = own[1] = f32x4(1)
    sync_threads()
    atomic.add(s, i % 2, f32x2(1, 3), order="acq_rel", scope="block")
    atomic.add(h, 0, f16x2(1, 2))
    atomic.sub(own, i % 2, f32x4(1, 2, 3, 4))
    sync_threads()
    out[i] = s[0].x + 100 * s[1].y + f32(h[0].y) * 10000 + own[i % 2].w


def test_shared_and_own_memory(device: str) -> None:
    out = np.zeros(32, np.float32)
    elsewhere[1, 32](out)
    assert out.tolist() == [16 + 4800 + 640000 - 3] * 32
    assert accesses(elsewhere, "sm_90") == [
        *["atom.acq_rel.cta.shared.add.f32"] * 2,
        "red.relaxed.gpu.shared.add.noftz.f16x2",
    ]


def of_16_bits(name: str, T: Any) -> Any:
    do = getattr(atomic, name)

    @kernel
    def k(x, values, old):
        i = grid(1)
        old[i] = do(x, i % 2, values[i])

    return k


NAMES = ("add", "sub", "min", "max", "exch", "and_", "or_", "xor")
TYPES: dict[str, Any] = {"i16": np.int16, "u16": np.uint16, "f16": np.float16, "bf16": BF16}
CASES = [(n, t) for t in TYPES for n in NAMES if t[0] in "iu" or n in NAMES[:5]]
KERNELS = {case: of_16_bits(case[0], case[1]) for case in CASES}
REDUCE: dict[str, Any] = {
    "add": np.add.reduce, "sub": lambda v: -np.add.reduce(v), "min": np.minimum.reduce, "max": np.maximum.reduce,
    "and_": np.bitwise_and.reduce, "or_": np.bitwise_or.reduce, "xor": np.bitwise_xor.reduce,
}  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_operation_of_16_bits(device: str, name: str, kind: str) -> None:
    rng = np.random.default_rng(16)
    dtype = TYPES[kind]
    low, high = (0, 4) if kind == "u16" else (-2, 3)
    wide = name in ("min", "max", "exch", "and_", "or_", "xor") and kind in ("i16", "u16")
    values = rng.integers(0, 1 << 16, 128).astype(np.uint16).view(dtype) if wide else rng.integers(low, high, 128)
    values = values.astype(dtype)
    # The neighbours on both sides stay as they are.
    x = np.array([5, 3, 7, 9], dtype)
    old = np.zeros(128, dtype)
    view = kdsl.to_device(x)
    KERNELS[name, kind][2, 64](view, values, old)
    got = view.to_host()
    assert got[2:].tolist() == [7, 9]
    for place in range(2):
        mine, seen = values[place::2], old[place::2]
        if name == "exch":
            assert sorted([*seen.tolist(), got[place].tolist()]) == sorted([*mine.tolist(), x[place].tolist()])
            continue
        exact = mine.astype(np.float64) if kind in ("f16", "bf16") else mine.astype(np.int64)
        total = REDUCE[name](exact)
        start = float(x[place]) if exact.dtype == np.float64 else int(x[place])
        expected = start + total if name in ("add", "sub") else REDUCE[name](np.array([start, total]))
        if exact.dtype == np.int64:
            expected = np.int64(expected).astype(dtype)
        assert got[place] == expected, (name, kind, place)
        assert x[place] in seen


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_ptx_of_16_bits(arch: str) -> None:
    for (name, kind), compiled in KERNELS.items():
        T = {"i16": i16, "u16": u16, "f16": f16, "bf16": bf16}[kind]
        found = accesses(compiled, arch, x=Ptr[T], values=Ptr[T], old=Ptr[T])
        is_sum = name in ("add", "sub") and (kind == "f16" or (kind == "bf16" and arch != "sm_75"))
        assert found == [f"atom.global.add.noftz.{kind}" if is_sum else "atom.relaxed.gpu.global.cas.b16"]


@kernel
def nan_and_zero(h: Ptr[f16]):
    i = thread_idx.x
    atomic.min(h, 0, f16(3 + i))
    atomic.max(h, 1, f16(-0.0) if i == 0 else f16(0.0))


def test_min_of_a_nan_is_the_number(device: str) -> None:
    h = np.array([np.nan, -1], np.float16)
    nan_and_zero[1, 32](h)
    assert h[0] == 3 and h[1] == 0 and not np.signbit(h[1])


@kernel
def unused(x: Ptr[u32], y: Ptr[u64], f: Ptr[f32], out: Ptr[u32], n: i32):
    i = grid(1)
    atomic.add(x, i, 1)
    atomic.max(y, i, 5, order="release", scope="system")
    atomic.or_(x, i, 1, scope="block")
    atomic.inc(x, i, 9)
    atomic.add(x, i, 1, order="acquire")
    atomic.exch(x, i, 1)
    atomic.cas(x, i, 1, 2)
    old = atomic.add(f, 0, 1.0)
    out[i] = atomic.sub(x, i, 2)
    if n > 5:
        atomic.min(x, 0, u32(n))
    if old > 5 and n < 0:
        out[0] = 5


def test_ptx_without_the_old_value() -> None:
    assert accesses(unused, "sm_90") == [
        "red.global.add.u32",
        "red.release.sys.global.max.u64",
        "red.relaxed.cta.global.or.b32",
        "red.global.inc.u32",
        # PTX has no red that acquires, exchanges or compares.
        "atom.acquire.gpu.global.add.u32",
        "atom.global.exch.b32",
        "atom.relaxed.gpu.global.cas.b32",
        "atom.global.add.f32",
        "atom.global.add.u32",
        "red.global.min.u32",
    ]


@kernel
def with_braces(x: Ptr[u32], out: Ptr[u32]):
    old = atomic.add(x, 0, 1)
    half = asm("{{\n.reg .u32 t;\nmov.u32 t, {a};\nshr.u32 {d}, t, 1;\n}}\n", a=x[1], out=u32)
    out[0] = old + half


@kernel
def beside_it(x: Ptr[u32], out: Ptr[u32]):
    atomic.add(x, 0, 1)
    out[0] = x[1]


def test_braces_in_inline_ptx_end_no_function(device: str) -> None:
    compilation = kdsl.compile([with_braces, beside_it], target="sm_90")
    assert compilation.cubin
    assert ACCESS.findall(compilation.ptx) == ["atom.global.add.u32", "red.global.add.u32"]
    x, out = np.array([5, 14], np.uint32), np.zeros(1, np.uint32)
    with_braces[1, 1](x, out)
    assert (x.tolist(), out[0]) == ([6, 14], 12)


def test_a_misaligned_vector_is_a_fault() -> None:
    machine = kdsl.current_device().backend
    ptx = """.version 8.1
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) { .reg .b64 %rd<3>; .reg .f32 %f<3>;
ld.param.u64 %rd1, [p]; mov.f32 %f1, 0f3F800000;
red.global.add.v2.f32 [%rd1+4], {%f1, %f1}; ret; }"""
    loaded = machine.function(machine.load(ptx.encode()), "k")
    address = machine.alloc(16)
    with pytest.raises(MemoryFault, match="misaligned write of 8 bytes"):
        machine.launch(loaded, kdsl.LaunchConfig(1, 1).check(machine), address.to_bytes(8, "little"))
    with pytest.raises(DeviceError, match=r"there is no red\.shared\.add\.v2\.f32"):
        machine.load(ptx.replace("red.global", "red.shared").encode())


@kernel
def one_block_after_the_other(turn: Ptr[i32], total: Ptr[f32x4], seen: Ptr[f32x4]):
    """A plain read of what others added: each releases its sum, and the next one acquires it."""
    b = block_idx.x
    while atomic.load(turn, 0, order="acquire") != b:
        pass
    seen[b] = total[0]
    atomic.add(total, 0, f32x4(1, 2, 3, b), order="release")
    atomic.add(turn, 0, 1, order="release")


def test_a_sum_that_releases(device: str) -> None:
    turn, total, seen = np.zeros(1, np.int32), np.zeros((1, 4), np.float32), np.zeros((20, 4), np.float32)
    one_block_after_the_other[20, 1](turn, total, seen)
    b = np.arange(20)
    assert seen.tolist() == np.stack([b, 2 * b, 3 * b, b * (b - 1) // 2], 1).tolist()


def test_no_atomics_of_8_bits() -> None:
    @kernel
    def k(x: Ptr[u8]):
        atomic.add(x, 0, 1)

    with pytest.raises(CompileError, match="no GPU has atomics of 8 bits: make the elements u16 or u32"):
        kdsl.compile(k, target="sm_90")


def test_other_operations_take_no_vector() -> None:
    @kernel
    def k(x: Ptr[f32x4], y: Ptr[f16x2]):
        atomic.max(x, 0, x[1])
        atomic.add(bitcast(x, Ptr[f32]), 0, 1.0)
        atomic.add(y, 0, 1.0)

    with pytest.raises(CompileError) as caught:
        kdsl.compile(k, target="sm_90")
    assert [d.message.partition(",")[0] for d in caught.value.diagnostics] == [
        "atomic.max() takes elements of i16",
        "this is f32",
    ]
