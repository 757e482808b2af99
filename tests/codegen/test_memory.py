"""Addresses: every type, rank, index type and layout reads and writes the element that NumPy does."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from kdsl.backend import MemoryFault
from kdsl.ir import nodes as ir
from kdsl.lang.index import thread_idx
from kdsl.lang.types import (
    F32,
    I8,
    I16,
    I32,
    I64,
    SCALARS,
    U8,
    U32,
    U64,
    ArrayType,
    PointerType,
    ScalarType,
    Space,
    TupleType,
    boolean,
)

from . import trees as t
from .compile import instructions, mnemonics, ptx_of
from .emulate import Array, Device

SHAPES = [(7,), (3, 5), (2, 3, 4), (2, 3, 2, 3)]


def indices(shape: tuple[int, ...], linear: ir.Expr) -> list[ir.Expr]:
    """The indices of element ``linear``, by division."""
    out: list[ir.Expr] = []
    for extent in reversed(shape):
        out.insert(0, t.binary("%", linear, t.const(extent)))
        linear = t.binary("//", linear, t.const(extent))
    return out


def array_arguments(array: Array, index: ScalarType, strided: bool) -> list[Array | bytes]:
    """What a launch passes for an array: address, extents, strides in elements."""
    words = [*array.shape, *(s // array.itemsize for s in array.strides if strided)]
    memory = array if array.flags.c_contiguous else array.base
    assert memory is not None
    return [memory, *(struct.pack("<i" if index is I32 else "<q", word) for word in words)]


@pytest.mark.parametrize("index_type", [I8, I16, I32, I64, U8, U32, U64])
@pytest.mark.parametrize("extent_type", [I32, I64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_arrays_of_every_rank(shape: tuple[int, ...], extent_type: ScalarType, index_type: ScalarType) -> None:
    kernel = t.Kernel("k")
    source = kernel.parameter("source", ArrayType(F32, len(shape), index=extent_type))
    target = kernel.pointer("target", F32)
    lane = t.intrinsic(thread_idx.x)
    place = [t.cast(i, index_type) for i in indices(shape, lane)]
    kernel.add(t.store(target, t.cast(lane, index_type), t.load(source, *place)))
    x = np.random.default_rng(1).random(shape, np.float32)
    out = np.zeros(x.size, np.float32)
    Device(ptx_of(kernel.function())).run("k", [*array_arguments(x, extent_type, False), out], x.size)
    assert (out == x.ravel()).all()


@pytest.mark.parametrize("extent_type", [I32, I64])
def test_strides_are_counted_in_elements(extent_type: ScalarType) -> None:
    shape = (3, 4)
    kernel = t.Kernel("k")
    source = kernel.parameter("source", ArrayType(F32, 2, index=extent_type, strided=True))
    target = kernel.pointer("target", F32)
    lane = t.intrinsic(thread_idx.x)
    kernel.add(t.store(target, lane, t.load(source, *indices(shape, lane))))
    base = np.arange(12, dtype=np.float32).reshape(4, 3)
    view = base.T
    out = np.zeros(12, np.float32)
    Device(ptx_of(kernel.function())).run("k", [*array_arguments(view, extent_type, True), out], 12)
    assert (out == view.ravel()).all()


@pytest.mark.parametrize("s", SCALARS.values(), ids=str)
@pytest.mark.parametrize("space", [Space.GLOBAL, Space.SHARED, Space.LOCAL])
def test_every_type_in_every_space(s: ScalarType, space: Space) -> None:
    """A value goes through memory of the space, at a place that depends on the thread, and comes out unchanged."""
    kernel = t.Kernel("k")
    x, y = kernel.pointer("x", s), kernel.pointer("y", s)
    lane = t.intrinsic(thread_idx.x)
    through: ir.Expr = y
    if space is Space.SHARED:
        through = ir.SharedArray(1, "room", ArrayType(s, 2, space, (4, 8), I32), t.AT)
    elif space is Space.LOCAL:
        through = ir.LocalArray(1, "room", ArrayType(s, 2, space, (4, 8), I32), t.AT)
    place = [lane] if space is Space.GLOBAL else indices((4, 8), lane)
    kernel.add(t.store(through, *place, t.load(x, lane)), t.store(y, lane, t.load(through, *place)))
    bits = np.random.default_rng(2).integers(0, 256, 32 * s.size, np.uint8)
    if s is boolean:
        bits = bits % 2
    out = np.zeros(32 * s.size, np.uint8)
    Device(ptx_of(kernel.function())).run("k", [bits, out], 32)
    assert (out == bits).all()


def test_a_bool_in_memory_is_a_byte_and_any_but_zero_is_true() -> None:
    invert = t.pointwise("k", boolean, [boolean], lambda x: t.unary("not", x))
    x, out = np.array([0, 1, 2, 255], np.uint8), np.full(4, 9, np.uint8)
    Device(ptx_of(invert)).run("k", [out, x], 4)
    assert out.tolist() == [1, 0, 0, 0]


def test_scalar_parameters_of_every_type() -> None:
    kernel = t.Kernel("k")
    out = kernel.pointer("out", U64)
    parameters = [kernel.parameter(f"p{s}", s) for s in SCALARS.values()]
    for k, parameter in enumerate(parameters):
        kernel.add(t.store(out, t.const(k), t.cast(parameter, U64)))
    values = [np.array([3 if s is not boolean else 1]).astype(s.numpy).tobytes() for s in SCALARS.values()]
    results = np.zeros(len(values), np.uint64)
    Device(ptx_of(kernel.function())).run("k", [results, *values], 1)
    assert results.tolist() == [1, *[3] * (len(values) - 1)]


def test_a_negative_index_on_a_pointer_is_c_s() -> None:
    kernel = t.Kernel("k")
    x = kernel.pointer("x", F32)
    i = kernel.parameter("i", I32)
    kernel.add(t.store(x, t.const(0), t.load(x, t.binary("-", i, t.const(1)))))
    data = np.arange(4, dtype=np.float32)
    device = Device(ptx_of(kernel.function()))
    device.run("k", [data, np.int32(3).tobytes()], 1)
    assert data[0] == 2.0
    with pytest.raises(MemoryFault):
        device.run("k", [data, np.int32(-5).tobytes()], 1)


@pytest.mark.parametrize("wide", [I64, U64])
def test_a_64_bit_index_does_not_wrap_into_an_array_of_32_bit_extents(wide: ScalarType) -> None:
    kernel = t.Kernel("k")
    x = kernel.parameter("x", ArrayType(F32, 2, index=I32))
    i = kernel.parameter("i", wide)
    kernel.add(t.store(x, i, t.const(0), t.const(1.0, F32)))
    arguments = [*array_arguments(np.zeros((2, 2), np.float32), I32, False), np.array(2**32, wide.numpy).tobytes()]
    with pytest.raises(MemoryFault):
        Device(ptx_of(kernel.function())).run("k", arguments, 1)


def test_a_shared_array_that_a_device_function_makes_is_one_for_the_block() -> None:
    """One thread writes, another reads."""
    from kdsl.lang.synchronization import sync_threads
    from kdsl.lang.types import VOID

    room = ir.SharedArray(5, "room", ArrayType(I32, 1, Space.SHARED, (64,), I32), t.AT)
    lane = t.local("lane", I32)
    other = t.binary("^", t.read(lane), t.const(63))
    function = ir.Function(
        "exchange",
        "exchange",
        (lane,),
        I32,
        (
            t.store(room, t.read(lane), t.binary("*", t.read(lane), t.const(3))),
            ir.Evaluate(t.intrinsic(sync_threads, t=VOID), t.AT),
            ir.Return(t.load(room, other), t.AT),
        ),
        t.AT,
    )
    kernel = t.Kernel("k")
    out = kernel.pointer("out", I32)
    index = t.intrinsic(thread_idx.x)
    kernel.add(t.store(out, index, ir.Call("exchange", (index,), I32, t.AT)))
    results = np.zeros(64, np.int32)
    ptx = ptx_of(kernel.function(), functions=(function,))
    assert ptx.count(".shared .align") == 1
    Device(ptx).run("k", [results], 64)
    assert results.tolist() == [3 * (i ^ 63) for i in range(64)]


def test_device_functions_are_inlined_and_tuples_stay_in_registers() -> None:
    pair = TupleType((F32, boolean))
    x = t.local("x", F32)
    positive = t.compare(">", t.read(x), t.const(0.0, F32))
    doubled = t.binary("*", t.read(x), t.const(2.0, F32))
    function = ir.Function(
        "pair", "pair", (x,), pair, (ir.Return(ir.TupleExpr((doubled, positive), pair, t.AT), t.AT),), t.AT
    )
    kernel = t.Kernel("k")
    out = kernel.pointer("out", F32)
    result = t.local("result", pair)
    kernel.add(
        t.assign(result, ir.Call("pair", (t.load(out, t.const(0)),), pair, t.AT)),
        ir.If(
            ir.TupleElement(t.read(result), 1, boolean, t.AT),
            (t.store(out, t.const(1), ir.TupleElement(t.read(result), 0, F32, t.AT)),),
            (),
            t.AT,
        ),
    )
    ptx = ptx_of(kernel.function(), functions=(function,))
    assert "call" not in ptx
    assert ".local" not in ptx
    data = np.array([3.0, 0.0], np.float32)
    Device(ptx).run("k", [data], 1)
    assert data.tolist() == [3.0, 6.0]


def test_pointers_in_memory() -> None:
    kernel = t.Kernel("k")
    table = kernel.pointer("table", PointerType(F32))
    out = kernel.pointer("out", F32)
    kernel.add(t.store(out, t.const(0), t.load(t.load(table, t.const(1)), t.const(2))))
    ops = [op for op in mnemonics(ptx_of(kernel.function())) if op.startswith("ld.")]
    assert ops == ["ld.global.b64", "ld.global.b32"]


def test_a_shared_address_is_32_bits() -> None:
    kernel = t.Kernel("k")
    out = kernel.pointer("out", F32)
    room = ir.SharedArray(1, "room", ArrayType(F32, 2, Space.SHARED, (32, 33), I32), t.AT)
    x, y = t.intrinsic(thread_idx.x), t.intrinsic(thread_idx.y)
    kernel.add(t.store(room, y, x, t.load(out, x)), t.store(out, y, t.load(room, x, y)))
    shared = [i for i in instructions(ptx_of(kernel.function())) if ".shared" in i]
    assert len(shared) == 2
    assert all("[%r" in i and "[%rd" not in i for i in shared)
