"""Inline PTX: every type of operand, several results, memory, and what LLVM may do with it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    DeviceError,
    Ptr,
    Target,
    asm,
    bf16,
    constant,
    f16,
    f32,
    f64,
    grid,
    i8,
    i16,
    i32,
    i64,
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
from kdsl.codegen.sass import AssemblyError

ADD3 = "{{ .reg .u32 t; add.u32 t, {a}, {b}; add.u32 {d}, t, {c}; }}"
TABLE = np.arange(8, dtype=np.uint32) * 3


def asm_lines(compilation: kdsl.Compilation) -> list[str]:
    """The instructions between LLVM's marks, registers without their numbers."""
    found = re.findall(r"// begin inline asm\n(.*?)\n\t// end inline asm", compilation.ptx, re.DOTALL)
    return [re.sub(r"(%[a-z]+)\d+", r"\1", line.strip()) for text in found for line in text.split("\n")]


@kernel
def logic(x: Ptr[u32], y: Ptr[u32], z: Ptr[u32]):
    i = grid(1)
    z[i] = asm("lop3.b32 {d}, {a}, {b}, {c}, 0x96;", a=x[i], b=y[i], c=z[i], out=u32)


def test_an_instruction(device: str) -> None:
    random = np.random.default_rng(1)
    x, y, z = (random.integers(0, 1 << 32, 64, dtype=np.uint32) for _ in range(3))
    expected = x ^ y ^ z
    logic[2, 32](x, y, z)
    np.testing.assert_array_equal(z, expected)


@kernel
def two_results(x: Ptr[u32], low: Ptr[u32], high: Ptr[u32]):
    i = grid(1)
    a, b = asm("mul.lo.u32 {d0}, {a}, {a}; mul.hi.u32 {d1}, {a}, {a};", a=x[i], out=(u32, u32))
    low[i], high[i] = a, b
    (only,) = asm("not.b32 {d0}, {a};", a=x[i], out=(u32,))
    x[i] = only


def test_several_results_are_a_tuple(device: str) -> None:
    x = np.random.default_rng(2).integers(0, 1 << 32, 32, dtype=np.uint32)
    low, high = np.zeros_like(x), np.zeros_like(x)
    square, complement = x.astype(np.uint64) ** 2, ~x
    two_results[1, 32](x, low, high)
    np.testing.assert_array_equal(low | high.astype(np.uint64) << np.uint64(32), square)
    np.testing.assert_array_equal(x, complement)


def moved(t: Any, instruction: str) -> Any:
    @kernel
    def move(x: Ptr[t], y: Ptr[t]):
        i = grid(1)
        y[i] = asm(instruction, a=x[i], out=t)

    return move


TYPES = {
    i8: "mov.b16", u8: "mov.b16", i16: "mov.b16", u16: "mov.u16", i32: "mov.s32", u32: "mov.u32", i64: "mov.s64",
    u64: "mov.b64", f16: "mov.b16", bf16: "mov.b16", f32: "mov.f32", f64: "mov.f64",
}  # fmt: skip


@pytest.mark.parametrize("t", TYPES, ids=str)
def test_every_scalar_type(t: Any, device: str) -> None:
    x = np.random.default_rng(3).integers(-100, 100, 32).astype(np.int8).astype(t.numpy)
    y = np.zeros_like(x)
    moved(t, f"{TYPES[t]} {{d}}, {{a}};")[1, 32](x, y)
    np.testing.assert_array_equal(y.view(np.uint8), x.view(np.uint8))


@kernel
def small(x: Ptr[i8], y: Ptr[u8], wide: Ptr[i32]):
    i = grid(1)
    wide[i] = asm("cvt.s32.s16 {d}, {a};", a=x[i], out=i32) * 1000 + asm("cvt.s32.s16 {d}, {a};", a=y[i], out=i32)
    x[i] = asm("cvt.sat.s8.s32 {d}, {a};", a=wide[i], out=i8)


def test_eight_bits_are_extended_by_their_sign(device: str) -> None:
    x, y = np.arange(-16, 16, dtype=np.int8), np.arange(224, 256, dtype=np.uint8)
    wide = np.zeros(32, np.int32)
    expected = x.astype(np.int32) * 1000 + y
    small[1, 32](x, y, wide)
    np.testing.assert_array_equal(wide, expected)
    np.testing.assert_array_equal(x, np.clip(expected, -128, 127))


@kernel
def predicates(x: Ptr[i32], y: Ptr[i32]):
    i = grid(1)
    p = asm("setp.gt.s32 {d}, {a}, 7;", a=x[i], out=bool)
    q, r = asm("setp.lt.s32 {d0}, {a}, 20; not.pred {d1}, {p};", a=x[i], p=p, out=(bool, bool))
    y[i] = asm("selp.b32 {d}, {a}, {b}, {p};", a=1, b=2, p=p and q, out=i32) + (10 if r else 0)
    asm("@!{p} st.global.b32 [{y}], {v};", p=r, y=x + i, v=-1)


def test_bools_are_predicates(device: str) -> None:
    x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    predicates[1, 32](x, y)
    i = np.arange(32)
    np.testing.assert_array_equal(y, np.where((i > 7) & (i < 20), 1, 2) + np.where(i > 7, 0, 10))
    np.testing.assert_array_equal(x, np.where(i > 7, -1, i))


@kernel
def memories(x: Ptr[u32], y: Array[u32, 1]):
    i = thread_idx.x
    s, m, c = shared.array(32, u32), local.array(4, u32), constant.array(TABLE)
    asm("st.shared.u32 [{p}], {v};", p=bitcast_of(s) + i, v=x[i])
    sync_threads()
    m[1] = 5
    other = asm("ld.shared.u32 {d}, [{p} + 4];", p=s, out=u32)
    mine = asm("ld.local.u32 {d}, [{p} + 4];", p=m, out=u32)
    fixed = asm("ld.const.u32 {d}, [{p} + 8];", p=c, out=u32)
    before = asm("atom.global.add.u32 {d}, [{p}], {v};", p=y, v=1, out=u32)
    x[i] = asm(ADD3, a=other, b=mine, c=fixed, out=u32) + (1000 if before < 32 else 0)


def bitcast_of(array):
    return kdsl.bitcast(array, Ptr[u32])


def test_addresses_are_of_their_own_space(device: str) -> None:
    x, y = np.arange(100, 132, dtype=np.uint32), np.zeros(4, np.uint32)
    memories[1, 32](x, y)
    np.testing.assert_array_equal(x, np.full(32, 101 + 5 + 6 + 1000))
    assert y[0] == 32


@kernel
def generic_address(x: Ptr[u32]):
    s = shared.array(32, u32)
    s[thread_idx.x] = x[thread_idx.x] * 2
    sync_threads()
    p = asm("{{ .reg .u64 t; cvt.u64.u32 t, {p}; cvta.shared.u64 {d}, t; }}", p=s, out=u64)
    x[thread_idx.x] = asm("ld.u32 {d}, [{p} + 12];", p=p, out=u32)


def test_a_shared_address_made_generic(device: str) -> None:
    x = np.arange(32, dtype=np.uint32)
    generic_address[1, 32](x)
    np.testing.assert_array_equal(x, np.full(32, 6))


@kernel
def fibonacci(x: Ptr[u32], n: i32):
    a, b = u32(0), u32(1)
    for _ in range(n):
        # The first instruction must not write a register that the second one reads.
        a, b = asm("mov.u32 {d0}, {b}; add.u32 {d1}, {a}, {b};", a=a, b=b, out=(u32, u32))
    x[0] = a


def test_a_result_has_a_register_of_its_own(device: str) -> None:
    x = np.zeros(1, np.uint32)
    fibonacci[1, 1](x, 30)
    assert x[0] == 832040


@kernel
def branches(x: Ptr[u32], n: u32):
    total = u32(0)
    for _ in range(2, unroll=True):
        # 1 + 2 + ... + n, twice in one function: volatile ones are not merged
        total += asm(
            """
            {{
                .reg .u32 i, sum;
                .reg .pred more;
                mov.u32 i, {n};       // counts down
                mov.u32 sum, 0;
            next:
                add.u32 sum, sum, i;
                sub.u32 i, i, 1;
                setp.gt.u32 more, i, 0;
                @more bra next;
                mov.u32 {d}, sum;
            }}
            """,
            n=n,
            out=u32,
            volatile=True,
        )
    x[0] = total


def test_registers_and_labels_of_its_own(device: str) -> None:
    assert kdsl.compile(branches).ptx.count("next:") == 2
    x = np.zeros(1, np.uint32)
    branches[1, 1](x, 10)
    assert x[0] == 110


@kernel
def left_out(x: Ptr[u32]):
    asm("mov.u32 {d}, %clock;", out=u32)
    asm("mov.u32 {d}, %clock_hi;", out=u32, volatile=True)
    asm("mov.u32 {d}, %globaltimer_lo;", out=u32, memory=True)
    x[0] = asm("not.b32 {d}, {a};", a=x[0], out=u32) + asm("not.b32 {d}, {a};", a=x[0], out=u32)
    asm("ld.global.u32 {d}, [{p}];", p=x, out=u32)
    asm("bar.sync 0;")


def test_what_has_no_effect_is_left_out() -> None:
    assert asm_lines(kdsl.compile(left_out)) == [
        "mov.u32 %r, %clock_hi;",
        "mov.u32 %r, %globaltimer_lo;",
        "not.b32 %r, %r;",
        "ld.global.u32 %r, [%rd];",
        "bar.sync 0;",
    ]


@kernel
def ordered(x: Ptr[u32], y: Ptr[u32]):
    x[0] = 1
    asm("membar.gl;")
    x[0] = 2
    asm("nanosleep.u32 20;", memory=False)
    x[0] = 3


def test_memory_keeps_its_place() -> None:
    ptx = kdsl.compile(ordered).ptx
    found = re.findall(r"^\t(st\.global|membar|nanosleep)", ptx, re.MULTILINE)
    assert found.index("membar") == 1 and found.count("st.global") >= 2, found


def test_it_is_convergent() -> None:
    compilation = kdsl.compile([logic, left_out, predicates])
    attributes = dict(re.findall(r"^attributes #(\d+) = \{(.*)\}", compilation.llvm_optimized, re.MULTILINE))
    calls = re.findall(r"call .*asm .*#(\d+)", compilation.llvm_optimized)
    assert len(calls) >= 9
    assert all("convergent" in attributes[number] for number in calls)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_ptxas_takes_all(arch: str) -> None:
    kernels = [logic, two_results, small, predicates, memories, generic_address, fibonacci, branches, left_out, ordered]
    assert kdsl.compile(kernels, target=Target.parse(arch)).cubin
    for t, mnemonic in TYPES.items():
        assert kdsl.compile(moved(t, f"{mnemonic} {{d}}, {{a}};"), target=Target.parse(arch)).cubin


@pytest.mark.parametrize("template", ["add.rz.u32 {d}, {a}, 1;", "mul.wide.f32 {d}, {a}, {a};"])
def test_what_ptxas_refuses_has_the_python_line(template: str) -> None:
    @kernel
    def wrong(x: Ptr[u32]):
        x[0] = 1
        x[1] = asm(template, a=x[2], out=u32)

    line = wrong.function.__code__.co_firstlineno + 3
    place = rf"test_inline_ptx\.py:{line}: ptxas kernel\.ptx, line \d+; error"
    with pytest.raises(AssemblyError, match=place):
        _ = kdsl.compile(wrong).cubin


def test_what_the_emulator_lacks_is_an_error_when_it_is_loaded() -> None:
    @kernel
    def special(x: Ptr[u32]):
        x[0] = asm("vadd.u32.u32.u32 {d}, {a}, {a};", a=x[0], out=u32)

    with pytest.raises(DeviceError, match=r"vadd"):
        special[1, 1](np.zeros(1, np.uint32))


def test_the_tree_shows_it() -> None:
    @kernel
    def shown(x: Ptr[u32], p: bool):
        x[0] = asm(ADD3, a=x[1], b=2, c=3, out=u32)
        asm("nanosleep.u32 {t};", t=100)

    assert str(kdsl.compile(shown).tree).split("\n", 1)[1] == (
        "    x[0] = asm('{{ .reg .u32 t; add.u32 t, {a}, {b}; add.u32 {d}, t, {c}; }}', a=x[1], b=2, c=3, out=u32)\n"
        "    asm('nanosleep.u32 {t};', t=100, volatile=True)"
    )


def test_what_is_only_an_operand_counts_as_written() -> None:
    (tree,) = kdsl.compile(memories).tree.kernels
    assert tree.written == {p.uid for p in tree.parameters}


def test_on_the_host_it_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"asm\(\) is a function of the kernel language"):
        asm("bar.sync 0;")
