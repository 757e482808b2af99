"""The checks on the typed tree find what breaks its contract, and the printer shows every kind of node."""

from __future__ import annotations

import dataclasses

import pytest

from kdsl import Array, Ptr, atomic, bitcast, f32, f64, i32, kernel, local, u32
from kdsl.ir import nodes as ir
from kdsl.ir.show import show
from kdsl.ir.verify import verify
from kdsl.lang.types import F32, F64, I32, VOID, PointerType, boolean
from kdsl.source import InternalError, Span

from .harness import module_of

SPAN = Span("k.py", 1)
X = ir.Local("x", PointerType(F32), 1)
N = ir.Local("n", I32, 2)


def one(value: int | float, type=F32) -> ir.Const:
    return ir.Const(value, type, SPAN)


def read(local: ir.Local) -> ir.Read:
    return ir.Read(local, local.type, SPAN)


def element(index: ir.Expr) -> ir.ElementAddress:
    return ir.ElementAddress(read(X), (index,), PointerType(F32), SPAN)


def module(*body: ir.Stmt) -> ir.Module:
    return ir.Module((ir.Function("k", "k", (X, N), VOID, body, SPAN, is_kernel=True),))


TRUE = ir.Const(True, boolean, SPAN)
BROKEN = {
    "a store of another type": ir.Store(element(one(0, I32)), one(1.0, F64), SPAN),
    "a float index": ir.Store(element(one(1.0)), one(1.0), SPAN),
    "a test that is no bool": ir.If(one(1, I32), (), (), SPAN),
    "operands of two types": ir.Evaluate(ir.Binary(ir.BinaryOp.ADD, one(1.0), one(1.0, F64), F32, SPAN), SPAN),
    "a division of ints": ir.Evaluate(ir.Binary(ir.BinaryOp.DIV, one(1, I32), one(1, I32), I32, SPAN), SPAN),
    "an implicit conversion": ir.Assign(N, one(1.0), SPAN),
    "a comparison of two types": ir.Evaluate(ir.Compare(ir.CompareOp.LT, one(1.0), one(1, I32), boolean, SPAN), SPAN),
    "arms of two types": ir.Evaluate(ir.Conditional(TRUE, one(1.0), one(1, I32), F32, SPAN), SPAN),
    "a break outside of a loop": ir.Break(SPAN),
    "a constant out of range": ir.Evaluate(one(2**31, I32), SPAN),
    "an int for a float": ir.Evaluate(one(1, F32), SPAN),
    "an unknown function": ir.Evaluate(ir.Call("f", (), F32, SPAN), SPAN),
    "a value returned": ir.Return(one(1.0), SPAN),
    "an argument that is not promoted": ir.Print("%f\n", (one(1.0),), SPAN),
    "a format for other arguments": ir.Print("%d %d\n", (one(1, I32),), SPAN),
    "two variables of one uid": ir.Assign(ir.Local("m", F32, 2), one(1.0), SPAN),
    "bits of another size": ir.Evaluate(ir.Bitcast(one(1.0), F64, SPAN), SPAN),
    "an atomic of another type": ir.Evaluate(
        ir.Atomic(ir.AtomicOp.ADD, element(one(0, I32)), (one(1, I32),), F32, SPAN), SPAN
    ),
    "a range of two types": ir.ForRange(N, one(0, I32), one(1.0), one(1, I32), (), (), SPAN),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_breaks_the_contract_is_found(what):
    with pytest.raises(InternalError, match="typed tree"):
        verify(module(BROKEN[what]))


def test_names_are_unique_and_legal():
    good = module().kernels[0]
    with pytest.raises(InternalError, match="one name"):
        verify(ir.Module((good, good)))
    with pytest.raises(InternalError, match="PTX cannot hold"):
        verify(ir.Module((dataclasses.replace(good, name="é"),)))


def test_good_trees_pass():
    verify(module(ir.Store(element(read(N)), one(1.0), SPAN), ir.While(TRUE, (ir.Break(SPAN),), (), SPAN)))


def both(v):
    return v, v + 1


def test_every_kind_of_node_is_shown():
    @kernel
    def k(x: Ptr[f32], a: Array[f64, 2], n: i32):
        t = both(n)
        mine = local.array((2, 2), u32)
        mine[0, 1] = bitcast(x[0], u32)
        x[n] = -x[n] if not n > 0 and n != 3 else abs(max(x[0], 1.0))
        m = a.shape[1] * (n + 1) - ~n
        while m > 0:
            m -= 1
            if (m & 1) == t[1]:
                continue
            break
        else:
            return
        for i in range(n):
            atomic.add(a, (i, 0), 0.1)
        for v in (1, 2):
            print("v", v, m)
        assert m > 0

    assert show(module_of(k)) == SHOWN


SHOWN = """\
kernel k(x: Ptr[f32], a: Array[f64, 2], n: i32):
    t: tuple[i32, i32] = both(n)
    mine: local[u32, (2, 2)] = local.array((2, 2), u32)
    mine[0, 1] = bitcast(x[0], u32)
    x[n] = (-x[n] if (not (n > 0)) and (n != 3) else abs(max(x[0], 1.0)))
    m: i32 = (a.shape[1] * (n + 1)) - (~n)
    while m > 0:
        m = m - 1
        if (m & 1) == t[1]:
            continue
        break
    else:
        return
    for i: i32 in range(0, n, 1):
        atomic.add(&a[i, 0], 0.1)
    unrolled, 2 copies:
      copy:
        print('v 1 %d\\n', m)
      copy:
        print('v 2 %d\\n', m)
    assert m > 0, 'assertion failed: m > 0'

function both(v: i32) -> tuple[i32, i32]:
    return (v, v + 1)"""
