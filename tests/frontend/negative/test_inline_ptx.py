"""Inline PTX: templates that are no PTX, and operands that do not fit them."""

from __future__ import annotations

from kdsl import Array, Ptr, asm, bf16, bitcast, f16, f32, f64, i8, i32, i64, kernel, shared, u32, u64

from ..harness import check_errors, errors_of

SETS = "mov.u32 {d}, %smid;"
NUMBER = 5


def test_names():
    @kernel
    def k(x: Ptr[u32], n: u32):
        x[0] = asm("add.u32 {d}, {a}, {c};", a=n, out=u32)  # error: asm() has no operand `c` # hint: write c=...
        x[1] = asm("mov.u32 {d}, {a};", a=n, b=n, out=u32)
        #   # error: the template has no {b} # hint: leave the operand out
        asm("mov.u32 {d}, {a};", a=n)  # error: asm() has no operand `d` # hint: out=u32 gives {d}
        x[2] = asm("mov.u32 {d0}, {a};", a=n, out=u32)  # error: asm() has no operand `d0`
        #   # hint: out=(u32, u32) gives {d0} and {d1}, out=u32 gives {d}
        #   # error: the template has no {d}, which `out` asks for # hint: {d} is the result, of several {d0}
        p, q = asm("mov.u32 {d0}, {a};", a=n, out=(u32, u32))  # error: the template has no {d1}, which `out` asks for
        x[3] = asm("nanosleep.u32 {a};", a=n, out=u32)  # error: the template has no {d}, which `out` asks for
        x[4] = asm("mov.u32 {d}, {d};", d=n, out=u32)  # error: `d` names a result of asm() here
        #   # hint: give the operand another name

    check_errors(k)


def test_how_it_is_called():
    @kernel
    def k(x: Ptr[u32], a: Array[f32, 2], n: u32):
        asm()  # error: asm() takes one template, and this gives 0 # hint: operands have names: a=x
        asm("bar.warp.sync {a};", n)  # error: asm() takes one template, and this gives 2
        asm(f"bar.warp.sync {n};")  # error: the template of asm() is no f-string
        #   # hint: operands have names: {a}, and a=x
        asm(n)  # error: the template of asm() is a constant string
        asm(NUMBER)  # error: the template of asm() is a constant string
        x[0] = asm(SETS, out=NUMBER)
        #   # error: `out` of asm() takes a scalar type, or a tuple of them # hint: such as out=u32
        x[1] = asm(SETS, out=Ptr[u32])  # error: `out` of asm() takes a scalar type, or a tuple of them
        x[2] = asm(SETS, out=())  # error: `out` of asm() takes a scalar type, or a tuple of them
        asm("bar.warp.sync {a};", a=(n, n))
        #   # error: an operand of asm() is a scalar or a pointer, and this is tuple[u32, u32]
        #   # hint: pass each element
        asm("bar.warp.sync {a};", a=SETS)
        #   # error: the string 'mov.u32 {d}, %smid;' is not a value that a kernel computes with
        asm("bar.warp.sync {a};", a=n, memory=n > 0)
        #   # error: `memory` of asm() takes True or False, known while the kernel is compiled
        asm("bar.warp.sync {a};", a=n, volatile=1)
        #   # error: `volatile` of asm() takes True or False, known while the kernel is compiled
        x[3] = asm("bar.warp.sync {a};", a=n)  # error: `asm("bar.warp.sync {a};", a=n)` returns no value
        asm("bar.warp.sync {a};", a=undefined)  # error: `undefined` is not defined
        asm(SETS, out=f16(1))  # error: `out` of asm() takes a scalar type, or a tuple of them

    check_errors(k)


def test_malformed_templates():
    @kernel
    def k(x: Ptr[u32], n: u32):
        x[0] = asm("add.u32 {d}, {a}, {a}", a=n, out=u32)
        #   # error: the instruction does not end # hint: write ; at its end
        x[1] = asm("add.u32 {d}, {a} {a};", a=n, out=u32)  # error: `,` or `;` is expected, not `{a}`
        x[2] = asm("add.u32 {d}, , {a};", a=n, out=u32)  # error: an operand is expected, not `,`
        x[3] = asm("addd.u32 {d}, {a}, {a};", a=n, out=u32)  # error: PTX has no instruction `addd`
        #   # hint: did you mean `add`?
        x[4] = asm("add.u32 d, {a}, {a};", a=n, out=u32)  # error: `d` is not declared
        #   # hint: write {d} for an operand; a register is declared: {{ .reg .u32 d; ... }}
        x[5] = asm("mov.u32 {d}, %smidd;", out=u32)  # error: `%smidd` is not declared
        x[6] = asm("mov.u32 {d}, {a};}", a=n, out=u32)  # error: '}' is no PTX here
        #   # hint: braces of PTX are doubled: {{ and }}
        x[7] = asm("{{ mov.u32 {d}, {a};", a=n, out=u32)  # error: this brace is not closed # hint: write }}
        x[8] = asm("mov.u32 {d}, {a}; }}", a=n, out=u32)  # error: an instruction is expected, not `}}`
        x[9] = asm("ld.global.u32 {d}, [{a};", a=x, out=u32)  # error: this `[` is not closed # hint: write ]
        x[10] = asm("ld.global.u32 {d}, [];", out=u32)  # error: an address is expected # hint: [{p}]
        x[11] = asm("mov.u32 {d}, ü;", out=u32)  # error: 'ü' is no PTX here
        asm("")  # error: there is no instruction in this template
        asm(" // nothing")  # error: there is no instruction in this template
        asm("{a};", a=n)  # error: an instruction is expected, not `{a}`
        asm(".shared .u32 t;")  # error: `.shared` has no place in inline PTX # hint: of directives there is `.reg`
        asm("@{a} {a};", a=n)  # error: an instruction is expected, not `{a}`

    check_errors(k)


def test_control_stays_inside():
    @kernel
    def k(n: u32):
        asm("ret;")  # error: `ret` leaves the template # hint: write `return` in Python
        asm("bra there;")  # error: `there` is no label of this template # hint: control stays in it
        asm("here: bra here;")  # error: a label stands outside of braces
        asm(".reg .u32 t; mov.u32 t, 1;")  # error: registers are declared outside of braces
        asm("{{ .reg .u99x t; mov.u32 t, 1; }}")
        #   # error: `.reg` is followed by a type, not `.u99x` # hint: .reg .u32 t;
        asm("{{ .reg .u32 {a}; }}", a=n)  # error: a register's name is expected, not `{a}`
        asm("{{ .reg .u32 t<x>; }}")  # error: a count of registers is expected # hint: such as t<4>
        asm("{{ .reg .u32 t<2>; mov.u32 t2, 1; }}")  # error: `t2` is not declared

    check_errors(k)


def test_types_of_operands():
    @kernel
    def k(x: Ptr[u32], y: Ptr[f32], n: u32, w: u64, f: f32, b: i8):
        x[0] = asm("add.u32 {d}, {a}, {b};", a=n, b=w, out=u32)
        #   # error: `b` is u64, and `add.u32` takes an int of 32 bits here # hint: cast it: b=u32(...)
        x[1] = asm("add.u32 {d}, {a}, {b};", a=n, b=f, out=u32)
        #   # error: `b` is f32, and `add.u32` takes an int of 32 bits here
        #   # hint: cast it: b=u32(...), or bitcast(b, u32) to keep the bits
        y[0] = asm("add.f32 {d}, {a}, {b};", a=f, b=n, out=f32)
        #   # error: `b` is u32, and `add.f32` takes f32 here
        #   # hint: cast it: b=f32(...), or bitcast(b, f32) to keep the bits
        y[1] = asm("add.f32 {d}, {a}, {a};", a=f, out=u32)  # error: `d` is u32, and `add.f32` takes f32 here
        #   # hint: out=f32
        x[2] = asm("add.u64 {d}, {a}, 1;", a=w, out=u32)
        #   # error: `d` is u32, and `add.u64` takes an int of 64 bits here
        #   # hint: out=u64
        x[3] = asm("add.u16 {d}, {a}, {a};", a=b, out=u32)
        #   # error: `d` is u32, and `add.u16` takes an int of 16 bits here # hint: out=u16
        x[4] = asm("mul.wide.u32 {d}, {a}, {a};", a=n, out=u32)
        #   # error: `d` is u32, and `mul.wide.u32` takes an int of 64 bits here
        x[5] = asm("selp.b32 {d}, {a}, {a}, {p};", a=n, p=n, out=u32)
        #   # error: `p` is u32, and `selp.b32` takes a bool here
        #   # hint: p=... != 0
        x[6] = asm("add.u32 {d}, {a}, {p};", a=n, p=n > 1, out=u32)
        #   # error: `p` is bool, and `add.u32` takes an int of 32 bits here
        x[7] = asm("@{a} mov.u32 {d}, 1;", a=n, out=u32)  # error: `a` is u32, and a guard is a bool
        x[8] = asm("popc.b64 {d}, {a};", a=w, out=u64)  # error: `d` is u64, and `popc.b64` takes 32 bits here
        x[9] = asm("cvt.u32.f16 {d}, {a};", a=f, out=u32)  # error: `a` is f32, and `cvt.u32.f16` takes f16 here
        x[10] = asm("add.u32 {d}, {a};", a=n, out=u32)  # error: `add.u32` takes 3 operands, and this has 2
        x[11] = asm("add {d}, {a}, {a};", a=n, out=u32)  # error: `add` has no type # hint: such as add.u32
        x[12] = asm("mov.u32 {d}, 1; mov.u32 {a}, 2;", a=n, out=u32)
        #   # error: `mov.u32` writes `a`, which is an operand to read # hint: write {d}, and give its type: out=u32
        x[13] = asm("add.f64 {d}, {a}, {a};", a=1.5, out=u64)
        #   # error: `d` is u64, and `add.f64` takes f64 here
        #   # error: `a` is f32, and `add.f64` takes f64 here
        #   # error: `a` is f32, and `add.f64` takes f64 here

    check_errors(k)


def test_addresses():
    @kernel
    def k(x: Ptr[u32], n: u32, w: u64):
        s = shared.array(8, u32)
        x[0] = asm("ld.global.u32 {d}, {p};", p=x, out=u32)  # error: `ld.global.u32` takes an address here
        #   # hint: write it in brackets: [{p}]
        x[1] = asm("ld.global.u32 {d}, [{p}];", p=s, out=u32)
        #   # error: `p` is an address in shared memory, and `ld.global.u32` is not of it # hint: write ld.shared
        x[2] = asm("ld.u32 {d}, [{p}];", p=s, out=u32)
        #   # error: `p` is an address in shared memory, and `ld.u32` is not of it
        x[3] = asm("ld.shared.u32 {d}, [{p}];", p=x, out=u32)
        #   # error: `p` is an address in global memory, and `ld.shared.u32` is not of it
        x[4] = asm("ld.global.u32 {d}, [{p}];", p=n, out=u32)
        #   # error: `p` is u32, and an address is a Ptr or an int of 64 bits
        x[5] = asm("ld.global.u32 {d}, [{p}];", p=w, out=u32) + asm("ld.shared.u32 {d}, [{p}];", p=n, out=u32)

    check_errors(k)


def test_errors_point_into_the_template():
    @kernel
    def k(x: Ptr[u32], n: u32):
        x[0] = asm("add.u32 {d}, {a}, {c};", a=n, out=u32)
        x[1] = asm(
            """
            mov.u32 {d}, {a};
            movv.u32 {d}, {a};
            """,
            a=n,
            out=u32,
        )

    first, second = errors_of(k)
    line = k.function.__code__.co_firstlineno + 2
    assert (first.span.line, first.span.column, first.span.end_column) == (line, 39, 42)
    assert (second.span.line, second.span.column, second.span.end_column) == (line + 4, 13, 21)
