"""What is known of integers, and the instructions that it saves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import kdsl
from kdsl import i32
from kdsl.codegen.ranges import Interval, Ranges
from kdsl.ir import nodes as ir
from kdsl.lang.index import block_dim, block_idx, grid, grid_dim, gridsize, thread_idx
from kdsl.lang.types import F32, I32, I64, U32, ArrayType, ScalarType

from . import trees as t
from .compile import mnemonics, ptx_of
from .test_floating_point import arithmetic

ANY = Interval(-(2**31), 2**31 - 1)


def known(e: ir.Expr, *body: ir.Stmt, parameters: tuple[ir.Local, ...] = ()) -> Interval | None:
    kernel = t.Kernel("k", parameters=list(parameters), body=list(body))
    return Ranges.of(kernel.function()).interval(e)


def variable(values: Interval, scalar: ScalarType = I32) -> ir.Expr:
    """An expression whose interval is exactly ``values``: a choice between two constants."""
    test = t.compare("<", t.const(0), t.const(1))
    return ir.Conditional(test, t.const(values.low, scalar), t.const(values.high, scalar), scalar, t.AT)


SMALL = [Interval(a, b) for a in range(-3, 4) for b in range(a, 4)]


def python(op: str, a: int, b: int) -> int:
    match op:
        case "//":
            return a // b if b else 0
        case "%":
            return a % b if b else 0
        case "<<":
            return a << b if 0 <= b < 32 else 0
        case ">>":
            return a >> (b if 0 <= b < 32 else 31)
        case "min" | "max":
            return min(a, b) if op == "min" else max(a, b)
        case _:
            return int(eval(f"a {op} b", {"a": a, "b": b}))


@pytest.mark.parametrize("op", "+ - * // % & | ^ << >> min max".split())
def test_an_interval_holds_every_result(op: str) -> None:
    for left, right in itertools.product(SMALL, SMALL):
        found = known(t.binary(op, variable(left), variable(right)))
        assert found is not None
        for a, b in itertools.product(range(left.low, left.high + 1), range(right.low, right.high + 1)):
            assert found.low <= python(op, a, b) <= found.high, (op, left, right, a, b, found)


@pytest.mark.parametrize("op", ["-", "abs", "~"])
def test_an_interval_holds_every_result_of_one_operand(op: str) -> None:
    for operand in SMALL:
        found = known(t.unary(op, variable(operand)))
        assert found is not None
        for a in range(operand.low, operand.high + 1):
            result = {"-": -a, "abs": abs(a), "~": ~a}[op]
            assert found.low <= result <= found.high


def test_what_may_wrap_is_unknown() -> None:
    big = variable(Interval(0, 2**31 - 1))
    assert known(t.binary("+", big, t.const(1))) == ANY
    assert known(t.unary("-", variable(Interval(-(2**31), 0)))) == ANY
    assert known(t.cast(variable(Interval(-1, 1)), U32)) == Interval(0, 2**32 - 1)


def test_special_registers() -> None:
    assert known(t.intrinsic(thread_idx.z)) == Interval(0, 63)
    assert known(t.intrinsic(block_dim.x)) == Interval(1, 1024)
    assert known(t.intrinsic(block_idx.y)) == Interval(0, 65534)
    assert known(t.intrinsic(grid, ndim=1)) == Interval(0, 2**31 - 2)
    assert known(t.intrinsic(gridsize, ndim=1)) == Interval(1, 2**31 - 1)


def test_the_grid_pattern_in_any_order_and_through_locals() -> None:
    product = t.binary("*", t.intrinsic(block_dim.x), t.intrinsic(block_idx.x))
    block = t.local("block", I32)
    through = t.binary("+", t.read(block), t.intrinsic(thread_idx.x))
    assert known(t.global_index()) == Interval(0, 2**31 - 2)
    assert known(t.binary("+", t.intrinsic(thread_idx.x), product)) == Interval(0, 2**31 - 2)
    assert known(through, t.assign(block, product)) == Interval(0, 2**31 - 2)
    # Another axis may wrap.
    other = t.binary("*", t.intrinsic(block_idx.x), t.intrinsic(grid_dim.x))
    assert known(t.binary("+", other, t.intrinsic(thread_idx.x))) == ANY


def test_a_local_that_depends_on_itself_is_unknown_and_others_join_their_values() -> None:
    i, j = t.local("i", I32), t.local("j", I32)
    increment = t.assign(i, t.binary("+", t.read(i), t.const(1)))
    assert known(t.read(i), t.assign(i, t.const(0)), increment) == ANY
    assert known(t.read(j), t.assign(j, t.const(2)), t.assign(j, t.const(7))) == Interval(2, 7)


def test_a_parameter_that_is_assigned_keeps_what_the_caller_passes() -> None:
    n = t.local("n", I32)
    assert known(t.read(n), t.assign(n, t.const(3)), parameters=(n,)) == ANY


def test_range_variables() -> None:
    i, n = t.local("i", I32), t.local("n", I32)
    up = ir.ForRange(i, t.const(0), t.read(n), t.const(2), (), (), t.AT)
    down = ir.ForRange(i, t.const(10), t.const(-1), t.const(-1), (), (), t.AT)
    assert known(t.read(i), up, parameters=(n,)) == Interval(0, 2**31 - 2)
    assert known(t.read(i), down) == Interval(0, 10)


def index_kernel(op: str, divisor: str) -> ir.Function:
    """``out[i op d] = 1`` with a known non-negative i and a divisor of some kind."""
    kernel = t.Kernel("k")
    out = kernel.pointer("out", F32)
    grid_array = kernel.parameter("a", ArrayType(F32, 2, index=I32))
    n = kernel.parameter("n", I32)
    d = {"n": n, "7": t.const(7), "8": t.const(8), "extent": ir.Extent(grid_array, 1, I32, t.AT),
         "block_dim": t.intrinsic(block_dim.x)}[divisor]  # fmt: skip
    kernel.add(t.store(out, t.binary(op, t.global_index(), d), t.const(1.0, F32)))
    return kernel.function()


def index_arithmetic(op: str, divisor: str) -> list[str]:
    ops = arithmetic(ptx_of(index_kernel(op, divisor)))
    return ops[ops.index("mad.lo.s32") + 1 :]


def test_division_of_known_operands_is_one_instruction() -> None:
    assert index_arithmetic("//", "block_dim") == ["div.u32"]
    assert index_arithmetic("%", "block_dim") == ["rem.u32"]


def test_division_by_constants() -> None:
    assert index_arithmetic("//", "8") == ["shr.u32"]
    assert index_arithmetic("%", "8") == ["and.b32"]
    assert "div" not in " ".join(index_arithmetic("//", "7"))


def test_an_extent_may_be_zero_and_costs_one_select() -> None:
    assert sorted(index_arithmetic("//", "extent")) == ["div.u32", "max.u32", "selp.b32", "setp.eq.b32"]
    assert sorted(index_arithmetic("%", "extent")) == ["max.u32", "rem.u32"]


def test_index_chains_widen_to_addresses_without_wrapping() -> None:
    kernel = t.Kernel("k")
    x, n = kernel.pointer("x", F32), kernel.parameter("n", I32)
    ahead = t.load(x, t.binary("+", n, t.const(1)))
    kernel.add(t.store(x, n, t.binary("+", ahead, t.load(x, t.binary("-", n, t.const(1))))))
    ptx = ptx_of(kernel.function())
    # One address, and the neighbours by their distance from it.
    assert mnemonics(ptx).count("mul.wide.s32") == 1
    assert "+4]" in ptx
    assert "+-4]" in ptx


def test_a_u32_index_wraps_in_32_bits() -> None:
    kernel = t.Kernel("k")
    x, n = kernel.pointer("x", F32), kernel.parameter("n", U32)
    kernel.add(t.store(x, t.binary("-", n, t.const(1, U32)), t.const(1.0, F32)))
    ops = mnemonics(ptx_of(kernel.function()))
    assert ops[:2] == ["add.s32", "mul.wide.u32"]


def test_an_i64_index_is_used_as_it_is() -> None:
    kernel = t.Kernel("k")
    x, n = kernel.pointer("x", F32), kernel.parameter("n", I64)
    kernel.add(t.store(x, n, t.const(1.0, F32)))
    assert mnemonics(ptx_of(kernel.function()))[:2] == ["shl.b64", "add.s64"]


def global_thread() -> i32:
    return block_idx.x * block_dim.x + thread_idx.x


def block_of(i: i32, size: i32) -> i32:
    return i // size


def test_what_a_caller_passes_is_known_in_the_function_and_what_it_returns_in_the_caller() -> None:
    @kdsl.kernel
    def blocks(out: kdsl.Ptr[i32]):
        out[thread_idx.x] = block_of(global_thread(), block_dim.x)

    ptx = kdsl.compile(blocks, target="sm_90").ptx
    assert "div.u32" in ptx
    assert "selp" not in ptx


def test_a_second_caller_widens_what_a_function_may_take() -> None:
    @kdsl.kernel
    def blocks(out: kdsl.Ptr[i32], n: i32):
        out[thread_idx.x] = block_of(global_thread(), block_dim.x)
        out[thread_idx.x + 32] = block_of(n, 7)

    out = np.zeros(64, np.int32)
    blocks[1, 32](out, -8)
    assert out.tolist() == [0] * 32 + [-2] * 32
