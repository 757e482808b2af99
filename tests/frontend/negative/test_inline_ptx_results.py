"""Inline PTX that would lose what an instruction writes, or takes other registers than a matrix has."""

from __future__ import annotations

from kdsl import Ptr, asm, f32, f64, kernel, shared, u32, u64

from ..harness import check_errors


def test_operands_that_are_written():
    @kernel
    def k(o: Ptr[u32], n: u32, p: Ptr[u32]):
        asm("vote.sync.ballot.b32 {q}, {p}, 0xffffffff;", p=n > 1, q=o[0])
        #   # error: `vote.sync.ballot.b32` writes `q`, which is an operand to read
        #   # hint: write {d}, and give its type: out=u32
        asm("activemask.b32 {q};", q=n)  # error: `activemask.b32` writes `q`, which is an operand to read
        asm("redux.sync.add.u32 {q}, {n}, 0xffffffff;", q=n, n=n)
        #   # error: `redux.sync.add.u32` writes `q`, which is an operand to read
        asm("barrier.cta.red.popc.u32 {q}, 0, {p};", q=n, p=n > 1)
        #   # error: `barrier.cta.red.popc.u32` writes `q`, which is an operand to read
        o[1] = asm("elect.sync {d}|{p}, 0xffffffff;", p=n > 1, out=u32)
        #   # error: `elect.sync` writes `p`, which is an operand to read
        asm("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{{a}, {b}}}, [{s}];", a=n, b=n, s=shared.array(64, u32))
        #   # error: `ldmatrix.sync.aligned.m8n8.x2.shared.b16` writes `a`, which is an operand to read
        #   # error: `ldmatrix.sync.aligned.m8n8.x2.shared.b16` writes `b`, which is an operand to read
        asm("bar.sync {b};", b=n)

    check_errors(k)


def test_results_that_nothing_writes():
    @kernel
    def k(o: Ptr[u32], n: u32):
        o[0] = asm("st.global.u32 [{o}], {d};", o=o, out=u32)  # error: no instruction writes `d`
        #   # hint: it is the first operand of one
        o[1], o[2] = asm("mov.u32 {d0}, {d1};", out=(u32, u32))  # error: no instruction writes `d1`

    check_errors(k)


def test_registers_of_matrices():
    @kernel
    def k(o: Ptr[u32], x: Ptr[f32], n: u32, f: f32, g: f64, w: u64):
        x[0] = asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {d}, {a}, {b}, {c};", a=n, b=n, c=f, out=f32)
        #   # error: operand 1 of `mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32` is 4 registers of each lane, and
        #   this has 1
        #   # hint: write {{{d0}, {d1}, {d2}, {d3}}}
        #   # error: operand 2 of `mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32` is 4 registers of each lane, and
        #   this has 1
        #   # error: operand 3 of `mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32` is 2 registers of each lane, and
        #   this has 1
        #   # error: operand 4 of `mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32` is 4 registers of each lane, and
        #   this has 1
        x[0], x[1] = asm(
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{d0}, {d1}}}, {{{a}}}, {{{b}}}, {{{c}, {c}}};",
            #   # error: `c` is u64, and `mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64` takes f64 here
            a=g,
            b=g,
            c=w,
            out=(f64, f64),
        )
        o[1] = asm("mma.sync.aligned.row.col {d}, {a}, {a}, {a};", a=n, out=u32)
        #   # error: `mma.sync.aligned.row.col` has no shape and four types
        o[2] = asm("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {d}, [{s}];", s=shared.array(64, u32), out=u32)
        #   # error: operand 1 of `ldmatrix.sync.aligned.m8n8.x4.shared.b16` is 4 registers of each lane, and this has 1
        #   # hint: write {{{d0}, {d1}, {d2}, {d3}}}

    check_errors(k)


def test_operands_have_no_numbers():
    @kernel
    def k(o: Ptr[u32], n: u32):
        o[0] = asm("add.u32 %0, %1, %1;", a=n, out=u32)  # error: `%0` is not declared
        #   # hint: operands have names, not numbers: {d} is the result, and {a} is a=...

    check_errors(k)
