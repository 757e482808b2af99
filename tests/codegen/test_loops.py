"""Loops over ranges: how often they run, what the variable holds, and the form that LLVM unrolls."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kdsl.backend import Backend
from kdsl.ir import nodes as ir
from kdsl.lang.index import block_dim, grid, gridsize, thread_idx
from kdsl.lang.types import F32, I8, I16, I32, I64, U8, U32, U64, ScalarType

from . import trees as t
from .compile import ptx_of
from .emulate import Device

LIMIT = 9
"""Iterations after which the loops under test break."""


def loop_kernel(s: ScalarType, step: int | None) -> ir.Function:
    """Per thread: counts the iterations up to the limit, sums a mix of the variable, and says how the loop ended."""
    kernel = t.Kernel("k")
    count, last, mixed, ended = (kernel.pointer(name, s) for name in ("count", "last", "mixed", "ended"))
    bounds = [kernel.pointer(name, s) for name in ("start", "stop", "step")]
    i, n, total, seen, end = (t.local(name, s) for name in ("i", "n", "total", "seen", "end"))
    lane = t.intrinsic(thread_idx.x)
    start, stop, stride = (t.load(bound, lane) for bound in bounds)
    body = (
        t.assign(n, t.binary("+", t.read(n), t.const(1, s))),
        t.assign(seen, t.read(i)),
        t.assign(total, t.binary("+", t.binary("*", t.read(total), t.const(5, s)), t.read(i))),
        # Rebinding the variable does not change the iteration.
        t.assign(i, t.const(77, s)),
        ir.If(t.compare("==", t.read(n), t.const(LIMIT, s)), (t.assign(end, t.const(2, s)), ir.Break(t.AT)), (), t.AT),
    )
    kernel.add(
        *(t.assign(v, t.const(0, s)) for v in (n, total, seen, end)),
        ir.ForRange(
            i, start, stop, stride if step is None else t.const(step, s), body, (t.assign(end, t.const(1, s)),), t.AT
        ),
        *(t.store(p, lane, t.read(v)) for p, v in ((count, n), (last, seen), (mixed, total), (ended, end))),
    )
    return kernel.function()


def bounds_of(s: ScalarType) -> list[int]:
    near = [s.minimum, s.minimum + 1, s.minimum + 7, s.maximum - 8, s.maximum - 1, s.maximum]
    return sorted({v for v in [-5, -1, 0, 1, 4, 10, *near] if s.minimum <= v <= s.maximum})


def steps_of(s: ScalarType) -> list[int]:
    edges = [s.minimum, s.minimum + 1, s.maximum // 2, s.maximum - 1, s.maximum]
    return sorted({v for v in [-4, -1, 0, 1, 3, 4, *edges] if s.minimum <= v <= s.maximum})


def wrap(value: int, s: ScalarType) -> int:
    value &= (1 << s.bits) - 1
    return value - (1 << s.bits) if s.is_signed and value >> (s.bits - 1) else value


def python(start: int, stop: int, step: int, s: ScalarType) -> tuple[int, int, int, int]:
    count = last = total = 0
    for i in range(start, stop, step) if step else ():
        count, last, total = count + 1, i, wrap(total * 5 + i, s)
        if count == LIMIT:
            return count, last, total, 2
    return count, last, total, 1


@pytest.mark.parametrize("s", [I8, U8, I16, I32, U32, I64, U64])
def test_a_range_runs_as_python_s_does(s: ScalarType, backend: Backend) -> None:
    run_lanes(backend, s, None, list(itertools.product(bounds_of(s), bounds_of(s), steps_of(s))))


@pytest.mark.parametrize("s", [I8, U8, I16, I32, U32, I64, U64])
def test_a_range_with_a_constant_step(s: ScalarType, backend: Backend) -> None:
    for step in steps_of(s):
        run_lanes(backend, s, step, list(itertools.product(bounds_of(s), bounds_of(s), [step])))


def run_lanes(backend: Backend, s: ScalarType, step: int | None, lanes: list[tuple[int, int, int]]) -> None:
    device = Device(ptx_of(loop_kernel(s, step)), backend)
    for first in range(0, len(lanes), 1024):
        part = lanes[first : first + 1024]
        results = [np.zeros(len(part), s.numpy) for _ in range(4)]
        device.run("k", [*results, *(np.array(column, s.numpy) for column in zip(*part, strict=True))], len(part))
        for k, lane in enumerate(part):
            assert tuple(int(r[k]) for r in results) == python(*lane, s), lane


def test_a_range_that_would_wrap_runs_twice(backend: Backend) -> None:
    assert python(2147483640, 2147483647, 4, I32)[:2] == (2, 2147483644)
    run_lanes(backend, I32, 4, [(2147483640, 2147483647, 4)])


def grid_stride() -> ir.Function:
    kernel = t.Kernel("saxpy")
    x, y = kernel.pointer("x", F32), kernel.pointer("y", F32)
    a, n = kernel.parameter("a", F32), kernel.parameter("n", I32)
    i = t.local("i", I32)
    sum_ = t.binary("+", t.binary("*", a, t.load(x, t.read(i))), t.load(y, t.read(i)))
    kernel.add(
        ir.ForRange(
            i, t.intrinsic(grid, ndim=1), n, t.intrinsic(gridsize, ndim=1), (t.store(y, t.read(i), sum_),), (), t.AT
        )
    )
    return kernel.function()


def test_a_grid_stride_loop_is_unrolled() -> None:
    ptx = ptx_of(grid_stride())
    assert ptx.count("fma.rn.f32") == 9  # eight and the remainder's
    assert ptx.count("div.u32") == 1


def test_a_grid_stride_loop_computes_every_element(backend: Backend) -> None:
    x, y = np.arange(10000, dtype=np.float32), np.ones(10000, np.float32)
    arguments = [x, y, np.float32(2).tobytes(), np.int32(9990).tobytes()]
    Device(ptx_of(grid_stride()), backend).run("saxpy", arguments, 32, 4)
    assert (y[:9990] == 2 * np.arange(9990) + 1).all()
    assert (y[9990:] == 1).all()


def test_a_block_stride_loop_is_unrolled() -> None:
    kernel = t.Kernel("k")
    x, n = kernel.pointer("x", F32), kernel.parameter("n", I32)
    i = t.local("i", I32)
    zero = t.store(x, t.read(i), t.const(0.0, F32))
    kernel.add(ir.ForRange(i, t.intrinsic(thread_idx.x), n, t.intrinsic(block_dim.x), (zero,), (), t.AT))
    assert ptx_of(kernel.function()).count("st.global") >= 5
