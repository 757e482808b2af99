"""Device functions, function pointers, recursion, printing and assertions on the emulator."""

from __future__ import annotations

import io
import struct
import sys

import numpy as np
import pytest

from kdsl.backend import DeviceAssertionError, DeviceError
from kdsl.emulator import Emulator
from tests.emulator.engine import HEADER, LINEAR, REGISTERS, Machine, Run, element, emulate, kernel

FIBONACCI = f"""
.func (.param .b32 func_retval0) fib(.param .b32 fib_param_0)
{{{REGISTERS}
    .local .align 4 .b8 depot[4];
    ld.param.b32 %r1, [fib_param_0];
    mov.b64 %rd1, depot;
    st.local.u32 [%rd1], %r1;
    setp.lt.u32 %p1, %r1, 2;
    @%p1 bra $END;
    sub.u32 %r2, %r1, 1;
    {{ // callseq 0, 0
    .param .b32 param0;
    st.param.b32 [param0], %r2;
    .param .b32 retval0;
    call.uni (retval0), fib, (param0);
    ld.param.b32 %r3, [retval0];
    }} // callseq 0
    ld.local.u32 %r4, [%rd1];
    sub.u32 %r4, %r4, 2;
    {{ // callseq 1, 0
    .param .b32 param0;
    st.param.b32 [param0], %r4;
    .param .b32 retval0;
    call.uni (retval0), fib, (param0);
    ld.param.b32 %r5, [retval0];
    }} // callseq 1
    add.u32 %r1, %r3, %r5;
$END:
    st.param.b32 [func_retval0], %r1;
    ret;
}}
"""


def test_recursion_of_a_different_depth_in_each_lane(run: Run) -> None:
    body = LINEAR + (
        "and.b32 %r10, %r4, 15; { .param .b32 param0; st.param.b32 [param0], %r10; .param .b32 retval0;"
        "call.uni (retval0), fib, (param0); ld.param.b32 %r11, [retval0]; }"
    )
    body += element("%rd1", "out") + "st.global.u32 [%rd1], %r11; ret;"
    (out,) = run(kernel("u64 out", body, module=FIBONACCI), 2, 48, np.zeros(96, np.uint32))
    fib = [0, 1]
    while len(fib) < 16:
        fib.append(fib[-1] + fib[-2])
    assert out.tolist() == [fib[i % 16] for i in range(96)]


def test_structs_by_value_and_results_in_several_parts(run: Run) -> None:
    module = f"""
.func (.param .align 8 .b8 func_retval0[16]) both(.param .align 8 .b8 both_param_0[16], .param .b32 both_param_1)
{{{REGISTERS}
    ld.param.v2.b32 {{%r1, %r2}}, [both_param_0]; ld.param.b64 %rd1, [both_param_0+8]; ld.param.b8 %r3, [both_param_1];
    ld.param.s8 %r6, [both_param_0+1];
    add.u32 %r4, %r1, %r2; cvt.u64.u32 %rd2, %r3; add.s64 %rd3, %rd1, %rd2; add.u32 %r4, %r4, %r6;
    st.param.b64 [func_retval0+8], %rd3; st.param.b32 [func_retval0], %r4; ret;
}}
"""
    body = LINEAR + (
        "mov.b64 %rd5, {%r4, %r1}; mul.wide.u32 %rd6, %r4, 1000; { .param .align 8 .b8 param0[16]; .param .b32 param1;"
        "st.param.b64 [param0], %rd5; st.param.b64 [param0+8], %rd6; st.param.b32 [param1], 0x1FF;"
        ".param .align 8 .b8 retval0[16]; call.uni (retval0), both, (param0, param1); ld.param.b32 %r20, [retval0];"
        "ld.param.b64 %rd20, [retval0+8]; }"
    )
    body += (
        element("%rd1", "out", size=16)
        + "st.global.u64 [%rd1+8], %rd20; cvt.u64.u32 %rd21, %r20; st.global.u64 [%rd1], %rd21; ret;"
    )
    (out,) = run(kernel("u64 out", body, module=module), 2, 200, np.zeros((400, 2), np.uint64))
    i = np.arange(400)
    np.testing.assert_array_equal(out[:, 0], i + i % 200 + (i >> 8))
    np.testing.assert_array_equal(out[:, 1], 1000 * i + 255)


def test_a_result_that_is_stored_before_lanes_part(run: Run) -> None:
    module = f"""
.func (.param .b32 func_retval0) f(.param .b32 f_param_0, .param .b64 f_param_1)
{{{REGISTERS}
    ld.param.b32 %r1, [f_param_0]; ld.param.b64 %rd1, [f_param_1]; mul.lo.u32 %r2, %r1, 7;
    st.param.b32 [func_retval0], %r2; and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra $E;
    mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], 1;
    ret;
$E: ret;
}}
"""
    body = LINEAR + (
        "ld.param.u64 %rd5, [mark]; { .param .b32 param0; .param .b64 param1; st.param.b32 [param0], %r4;"
        "st.param.b64 [param1], %rd5; .param .b32 retval0; call.uni (retval0), f, (param0, param1);"
        "ld.param.b32 %r11, [retval0]; }"
    )
    body += element("%rd1", "out") + "st.global.u32 [%rd1], %r11; ret;"
    out, mark = run(kernel("u64 out, u64 mark", body, module=module), 1, 64, *np.zeros((2, 64), np.uint32))
    np.testing.assert_array_equal(out, np.arange(64) * 7)
    np.testing.assert_array_equal(mark, np.arange(64) % 2)


POINTED = "".join(
    f"""
.func (.param .b32 func_retval0) f{k}(.param .b32 p)
{{{REGISTERS} ld.param.b32 %r1, [p]; {operation} st.param.b32 [func_retval0], %r1; ret; }}
"""
    for k, operation in enumerate(["add.u32 %r1, %r1, 100;", "mul.lo.u32 %r1, %r1, 3;", ""])
)


def test_calls_through_pointers(run: Run) -> None:
    module = POINTED + ".global .align 8 .u64 table[3] = {f0, f1, f2};"
    body = LINEAR + (
        "rem.u32 %r5, %r4, 3; mul.wide.u32 %rd2, %r5, 8; mov.u64 %rd3, table; add.s64 %rd3, %rd3, %rd2; ld.global.u64 %rd4, [%rd3];"
        "{ .param .b32 param0; st.param.b32 [param0], %r4; .param .b32 retval0;"
        "prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);"
        "call (retval0), %rd4, (param0), prototype_0; ld.param.b32 %r6, [retval0]; }"
    )
    body += element("%rd1", "out") + "add.u32 %r6, %r6, %r5; st.global.u32 [%rd1], %r6; ret;"
    (out,) = run(kernel("u64 out", body, module=module), 2, 50, np.zeros(100, np.uint32))
    i = np.arange(100)
    np.testing.assert_array_equal(out, np.choose(i % 3, [i + 100, i * 3, i]) + i % 3)


def test_a_call_of_what_is_no_function() -> None:
    body = "mov.u64 %rd4, 5; p : .callprototype () _ ();\n.loc 1 6 1\ncall %rd4, (), p;\nret;"
    with pytest.raises(DeviceError, match=r"k\.py:6: kernel k: call of address 0x5, which is no function \(block"):
        emulate(kernel("", body), 1, 1)


def test_endless_recursion_overflows_the_stack() -> None:
    module = f".func f() {{{REGISTERS}\n.loc 1 2 1\ncall.uni f, ();\nret; }}"
    with pytest.raises(DeviceError, match=r"k\.py:2: kernel k: stack overflow: 4096 calls deep"):
        emulate(kernel("", "call.uni f, (); ret;", module=module), 1, 1)


def text(string: str) -> str:
    raw = string.encode() + b"\0"
    return f"[{len(raw)}] = {{{', '.join(str(b) for b in raw)}}}"


def printing(form: str, stores: str, size: int = 64) -> str:
    module = f"""
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.global .align 1 .b8 form{text(form)};
.global .align 1 .b8 word{text("word")};
"""
    body = f".local .align 8 .b8 depot[{size}]; mov.b64 %rd1, depot; cvta.local.u64 %rd2, %rd1;" + LINEAR
    return module, body + stores + (  # type: ignore[return-value]
        "{ .param .b64 param0; mov.u64 %rd3, form; cvta.global.u64 %rd3, %rd3; st.param.b64 [param0], %rd3;"
        ".param .b64 param1; st.param.b64 [param1], %rd2; .param .b32 retval0;"
        "call.uni (retval0), vprintf, (param0, param1); ld.param.b32 %r30, [retval0]; }"
    )


def printed(form: str, stores: str, grid: int = 1, block: int = 1) -> str:
    module, body = printing(form, stores)
    machine = Machine()
    machine.run(kernel("", body + "ret;", module=module), grid, block)
    return machine.output.getvalue()


def as_store(place: int, kind: str, value: float | int) -> str:
    size = struct.calcsize(kind)
    bits = int.from_bytes(struct.pack("<" + kind, value), "little")
    return f"mov.b{8 * size} {'%rd10' if size == 8 else '%r10'}, {bits:#x}; st.local.b{8 * size} [%rd1+{place}], {'%rd10' if size == 8 else '%r10'};"


@pytest.mark.parametrize(
    ("form", "kind", "value", "want"),
    [
        ("%d|", "i", -5, "-5|"),
        ("%5d|", "i", 42, "   42|"),
        ("%-5d|", "i", 42, "42   |"),
        ("%+05d|", "i", 42, "+0042|"),
        ("%u", "I", 4294967295, "4294967295"),
        ("%ld", "q", -(2**40), "-1099511627776"),
        ("%lld", "q", -1, "-1"),
        ("%llu", "Q", 2**64 - 1, "18446744073709551615"),
        ("%lu", "Q", 7, "7"),
        ("%x", "I", 0xBEEF, "beef"),
        ("%#X", "I", 0xBEEF, "0XBEEF"),
        ("%#x", "I", 0, "0"),
        ("%08llx", "Q", 0xABC, "00000abc"),
        ("%c", "i", 65, "A"),
        ("%f", "d", 1.5, "1.500000"),
        ("%.3f", "d", -2.0005, "-2.001"),
        ("%10.2e|", "d", 12345.678, "  1.23e+04|"),
        ("%g", "d", 1e-10, "1e-10"),
        ("%G", "d", float("inf"), "INF"),
        ("%f", "d", float("-inf"), "-inf"),
        ("%p", "Q", 0x1234, "0x1234"),
        ("100%%%d", "i", 1, "100%1"),
        ("%hd", "i", 65537, "1"),
        ("%.4d", "i", 7, "0007"),
    ],
)
def test_formats(form: str, kind: str, value: float, want: str) -> None:
    assert printed(form, as_store(0, kind, value)) == want


def test_several_arguments_are_naturally_aligned() -> None:
    stores = as_store(0, "i", 7) + as_store(8, "d", 0.5) + as_store(16, "i", 3) + as_store(24, "q", -9)
    stores += "mov.u64 %rd11, word; cvta.global.u64 %rd11, %rd11; st.local.u64 [%rd1+32], %rd11;" + as_store(40, "i", 6)
    assert printed("%d %f %d %lld %s %*d\n", stores + as_store(44, "i", 1)) == "7 0.500000 3 -9 word      1\n"


def test_lanes_print_in_order_and_the_number_of_arguments_is_returned() -> None:
    module, body = printing("%d\n", "st.local.u32 [%rd1], %r4;")
    machine = Machine()
    body += element("%rd20", "out") + "st.global.u32 [%rd20], %r30; ret;"
    (out,) = machine.run(kernel("u64 out", body, module=module), 3, 40, np.zeros(120, np.uint32))
    assert machine.output.getvalue() == "".join(f"{i}\n" for i in range(120))
    assert (out == 1).all()


def test_prints_go_to_where_sys_stdout_is_then(monkeypatch: pytest.MonkeyPatch) -> None:
    module, body = printing("hello %d\n", "st.local.u32 [%rd1], %r4;")
    machine = Machine()
    machine.emulator = Emulator()
    later = io.StringIO()
    monkeypatch.setattr(sys, "stdout", later)
    machine.run(kernel("", body + "ret;", module=module), 1, 1)
    assert later.getvalue() == "hello 0\n"


def test_a_failed_assertion_names_everything() -> None:
    module = f"""
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .b8 message{text("i < 70")}; .global .b8 file{text("vadd.py")}; .global .b8 func{text("vadd")};
"""
    strings = "".join(
        f"mov.u64 %rd{10 + i}, {n}; cvta.global.u64 %rd{10 + i}, %rd{10 + i};"
        for i, n in enumerate(["message", "file", "func"])
    )
    body = (
        LINEAR
        + strings
        + (
            "setp.lt.u32 %p1, %r4, 70; @%p1 bra $OK; { .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;"
            "st.param.b64 [p0], %rd10; st.param.b64 [p1], %rd11; st.param.b32 [p2], 17; st.param.b64 [p3], %rd12; st.param.b64 [p4], 1;"
            "call.uni __assertfail, (p0, p1, p2, p3, p4); } $OK: ret;"
        )
    )
    with pytest.raises(DeviceAssertionError) as caught:
        emulate(kernel("", body, module=module), 2, 64)
    error = caught.value
    assert str(error) == ("vadd.py:17: kernel k: assertion failed in vadd: i < 70 (block (1, 0, 0), thread (6, 0, 0))")
    assert (error.file, error.line, error.block, error.thread) == ("vadd.py", 17, (1, 0, 0), (6, 0, 0))


def test_an_external_function_that_nothing_defines_is_refused_when_called() -> None:
    ptx = f"{HEADER}.extern .func nosuch ();\n.visible .entry k() {{{REGISTERS}\ncall.uni nosuch, (); ret; }}"
    with pytest.raises(DeviceError, match="nosuch is external and nothing defines it: call.uni nosuch"):
        Machine().emulator.load(ptx.encode())
