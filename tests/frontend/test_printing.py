"""What print() becomes: vprintf's format and its promoted arguments."""

from __future__ import annotations

import pytest

from kdsl import Ptr, bf16, f32, f64, i8, i32, i64, kernel, u8, u32, u64
from kdsl.ir import nodes as ir

from .harness import module_of
from .sources import define

PARAMETERS = "x: Ptr[f32], n: i32, s: i8, c: u8, u: u32, l: i64, m: u64, f: f32, h: bf16, d: f64, flag: bool"
TYPES = {
    "Ptr": Ptr,
    "f32": f32,
    "i32": i32,
    "i8": i8,
    "u8": u8,
    "u32": u32,
    "i64": i64,
    "u64": u64,
    "bf16": bf16,
    "f64": f64,
}


def printed(call: str) -> ir.Print:
    k = define(f"WORD = 'w'\nN = 16\ndef k({PARAMETERS}):\n    {call}\n", "k", **TYPES)
    (function,) = module_of(k).kernels
    (statement,) = function.body
    assert isinstance(statement, ir.Print)
    return statement


@pytest.mark.parametrize(
    ("call", "format", "types"),
    [
        ("print()", "\n", []),
        ("print('100%', n)", "100%% %d\n", ["i32"]),
        ("print(n, s, c, u, l, m)", "%d %d %u %u %lld %llu\n", ["i32", "i32", "u32", "u32", "i64", "u64"]),
        ("print(f, h, d, sep=', ', end='')", "%f, %f, %f", ["f64", "f64", "f64"]),
        ("print(flag, n > 0)", "%s %s\n", ["bool", "bool"]),
        ("print(x)", "%p\n", ["Ptr[f32]"]),
        ("print(WORD, N, 2.5, True)", "w 16 2.5 True\n", []),
        ("print((n, f), (n,))", "(%d, %f) (%d,)\n", ["i32", "f64", "i32"]),
        ("print(f'{n:5d}|{n:<5}|{n:05d}|{n:+d}|{u:x}|{m:#X}|{u:08o}')", "%5d|%-5d|%05d|%+d|%x|0X%llX|%08o\n", ["i32"] * 4 + ["u32", "u64", "u32"]),
        ("print(f'{f:.3f} {d:10.2e} {f:g} {n:.1f} {d:>8f}')", "%.3f %10.2e %g %.1f %8f\n", ["f64"] * 5),
        ("print(f'{n=} {N:04d} {flag:d} {{}}')", "n=%d 0016 %d {}\n", ["i32", "i32"]),
        ("print(f'{n:{N}d}')", "%16d\n", ["i32"]),
    ],
)  # fmt: skip
def test_formats(call, format, types):
    statement = printed(call)
    assert statement.format == format
    assert [str(a.type) for a in statement.arguments] == types


def test_a_device_function_prints_too():
    def shout(v):
        print("v", v)

    @kernel
    def k(n: i32):
        shout(n)

    (function,) = module_of(k).functions
    assert isinstance(function.body[0], ir.Print)
