"""Atomics of every type in global memory: old values, and what is left when threads collide."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kdsl.backend import Backend, Launch
from kdsl.ir import nodes as ir
from kdsl.lang import types as t
from kdsl.lang.index import thread_idx

from .calls import SPAN
from .device import compile_one

INTEGERS = (t.I32, t.U32, t.I64, t.U64)
FLOATS = (t.F32, t.F64)
SMALL_FLOATS = (t.F16, t.BF16)
SMALL = (t.I16, t.U16, *SMALL_FLOATS)
INTEGER_ONLY = (ir.AtomicOp.AND, ir.AtomicOp.OR, ir.AtomicOp.XOR)
WRAPPING = (ir.AtomicOp.INC, ir.AtomicOp.DEC)
CASES = [
    (op, type_)
    for op in ir.AtomicOp
    for type_ in (*INTEGERS, *FLOATS)
    if type_ in INTEGERS or op not in INTEGER_ONLY
    if type_ == t.U32 or op not in WRAPPING
]
CASES += [(op, type_) for op in (ir.AtomicOp.ADD, ir.AtomicOp.SUB) for type_ in SMALL_FLOATS]
CASES += [(ir.AtomicOp.CAS, type_) for type_ in SMALL]


ORDERINGS = (
    ir.RELAXED,
    ir.Ordering(ir.Order.SEQ_CST, ir.Scope.BLOCK),
    ir.Ordering(ir.Order.ACQ_REL, ir.Scope.SYSTEM),
)


def kernel(op: ir.AtomicOp, type_: t.ScalarType, ordering: ir.Ordering) -> ir.Function:
    """Thread i: ``out[i] = atomic(memory[index[i]], a[i], b[i])``, without ``b`` unless the operation takes two."""
    pointers = [("out", type_), ("memory", type_), ("index", t.I32), ("a", type_), ("b", type_)]
    out, memory, index, *operands = [ir.Local(n, t.PointerType(e), i) for i, (n, e) in enumerate(pointers)]
    thread = ir.IntrinsicCall(thread_idx.x, (), (), None, t.I32, SPAN)

    def at(local: ir.Local, place: ir.Expr) -> ir.ElementAddress:
        return ir.ElementAddress(ir.Read(local, local.type, SPAN), (place,), local.type, SPAN)

    taken = operands if op is ir.AtomicOp.CAS else operands[:1]
    values = tuple(ir.Load(at(local, thread), type_, SPAN) for local in taken)
    atomic = ir.Atomic(op, at(memory, ir.Load(at(index, thread), t.I32, SPAN)), values, type_, SPAN, ordering)
    store = ir.Store(at(out, thread), atomic, SPAN)
    return ir.Function("k", "k", (out, memory, index, *operands), t.VOID, (store,), SPAN, is_kernel=True)


def run(
    device: Backend,
    op: ir.AtomicOp,
    memory: np.ndarray,
    index: Any,
    a: np.ndarray,
    b: np.ndarray,
    ordering: ir.Ordering = ir.RELAXED,
    arch: str | None = None,
) -> np.ndarray:
    """The old values; ``memory`` is changed."""
    type_ = next(s for s in (*INTEGERS, *FLOATS, *SMALL) if s.numpy == memory.dtype)
    out = np.zeros_like(a)
    arrays = [out, memory, np.array(index, np.int32), a, b]
    addresses = [device.alloc(array.nbytes) for array in arrays]
    for address, array in zip(addresses, arrays, strict=True):
        device.write(address, memoryview(array.view(np.uint8)))
    function = compile_one(device, kernel(op, type_, ordering), arch)
    device.launch(function, Launch((1, 1, 1), (len(a), 1, 1)), struct.pack("<5Q", *addresses))
    device.synchronize()
    for address, array in zip(addresses[:2], (out, memory), strict=True):
        device.read(address, memoryview(array.view(np.uint8)))
    return out


def _wrapped(type_: t.ScalarType, value: int) -> int:
    value &= (1 << type_.bits) - 1
    return value - (1 << type_.bits) if type_.is_signed and value >> (type_.bits - 1) else value


def _float_max(x: float, y: float) -> float:
    return y if math.isnan(x) else x if math.isnan(y) else max((x, y), key=lambda v: (v, math.copysign(1, v)))


UPDATE: dict[ir.AtomicOp, Callable[..., Any]] = {
    ir.AtomicOp.ADD: lambda m, a, b: m + a,
    ir.AtomicOp.SUB: lambda m, a, b: m - a,
    ir.AtomicOp.MIN: lambda m, a, b: min(m, a) if isinstance(m, int) else -_float_max(-m, -a),
    ir.AtomicOp.MAX: lambda m, a, b: max(m, a) if isinstance(m, int) else _float_max(m, a),
    ir.AtomicOp.EXCH: lambda m, a, b: a,
    ir.AtomicOp.CAS: lambda m, a, b: b if struct.pack("d", m) == struct.pack("d", a) else m,
    ir.AtomicOp.AND: lambda m, a, b: m & a,
    ir.AtomicOp.OR: lambda m, a, b: m | a,
    ir.AtomicOp.XOR: lambda m, a, b: m ^ a,
    ir.AtomicOp.INC: lambda m, a, b: 0 if m >= a else m + 1,
    ir.AtomicOp.DEC: lambda m, a, b: a if m == 0 or m > a else m - 1,
}


def updated(op: ir.AtomicOp, type_: t.ScalarType, memory: Any, a: Any, b: Any) -> Any:
    if op is ir.AtomicOp.CAS and type_.is_int:
        return b if memory == a else memory
    result = UPDATE[op](memory, a, b)
    return type_.numpy.type(result) if type_.is_float else _wrapped(type_, result)


def numbers(type_: t.ScalarType, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if type_.is_float:
        special = [0.0, -0.0, math.nan, 1.0, -1.0, math.inf, -math.inf, 0.5]
        return np.array([special[i] for i in rng.integers(0, 8, count)], type_.numpy)
    edges = [0, 1, 2, 3, type_.maximum, type_.minimum, type_.maximum - 1, 7]
    return np.array([edges[i] for i in rng.integers(0, 8, count)], type_.numpy)


@pytest.mark.parametrize("ordering", ORDERINGS, ids=lambda o: o.order.name.lower())
@pytest.mark.parametrize(("op", "type_"), CASES, ids=lambda v: v.value if isinstance(v, ir.AtomicOp) else v.name)
def test_each_thread_on_its_own_element(
    op: ir.AtomicOp, type_: t.ScalarType, ordering: ir.Ordering, backend: Backend
) -> None:
    before, a, b = (numbers(type_, 64, seed) for seed in (1, 2, 3))
    memory = before.copy()
    out = run(backend, op, memory, range(64), a, b, ordering)
    assert out.tobytes() == before.tobytes()
    rows = zip(before.tolist(), a.tolist(), b.tolist(), strict=True)
    expected = np.array([updated(op, type_, *row) for row in rows], type_.numpy)
    same = (memory == expected) & (np.signbit(memory) == np.signbit(expected)) if type_.is_float else memory == expected
    assert np.all(same | (memory != memory) & (expected != expected)), (before, a, b, memory, expected)


@pytest.mark.parametrize("type_", (*INTEGERS, *FLOATS), ids=str)
def test_sums_of_colliding_threads_are_whole(type_: t.ScalarType, backend: Backend) -> None:
    a = np.arange(1, 65).astype(type_.numpy)
    memory = np.array([100, 0], type_.numpy)
    out = run(backend, ir.AtomicOp.ADD, memory, [0] * 64, a, a)
    assert memory.tolist() == [100 + 64 * 65 // 2, 0]
    # In whatever order they came, each saw the sum of those before it.
    order = np.argsort(out)
    assert out[order].tolist() == (100 + np.cumsum(a[order]) - a[order]).tolist()


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize("ordering", ORDERINGS, ids=lambda o: o.order.name.lower())
@pytest.mark.parametrize("type_", SMALL_FLOATS, ids=str)
def test_sums_of_16_bits_on_every_architecture(
    type_: t.ScalarType, ordering: ir.Ordering, arch: str, backend: Backend
) -> None:
    """bf16 by compare-and-swap before sm_90; all sums are exact. The neighbours stay as they are."""
    memory = np.array([7, 0, 8, 9], type_.numpy)
    a = (np.arange(64) % 4).astype(type_.numpy)
    run(backend, ir.AtomicOp.ADD, memory, [1] * 64, a, a, ordering, arch)
    assert memory.astype(np.float32).tolist() == [7, 96, 8, 9]


@pytest.mark.parametrize("type_", FLOATS, ids=str)
def test_extremes_of_colliding_floats(type_: t.ScalarType, backend: Backend) -> None:
    a = np.random.default_rng(4).normal(size=64).astype(type_.numpy)
    for op, expected in ((ir.AtomicOp.MAX, a.max()), (ir.AtomicOp.MIN, a.min())):
        memory = np.array([math.nan], type_.numpy)
        run(backend, op, memory, [0] * 64, a, a)
        assert memory[0] == expected
