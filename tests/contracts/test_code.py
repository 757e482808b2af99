"""What the compiler makes of a contract: constants, ranges, alignment and relations, and only where launches check them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    Ptr,
    block_dim,
    block_idx,
    f32,
    grid,
    grid_dim,
    i32,
    i64,
    kernel,
    shared,
    static_range,
    sync_threads,
    thread_idx,
    u8,
    u32,
)
from kdsl.codegen.sass import find_tool

TARGET = "sm_90"


def ptx(function: Callable[..., Any], **options: Any) -> str:
    return kernel(**options)(function).compile(target=TARGET).ptx


def instructions(text: str) -> list[str]:
    """The instructions of PTX text, without directives and labels."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line.endswith(";") and not line.startswith((".", "//", "$"))]


def sass(function: Callable[..., Any], **options: Any) -> int:
    """The number of machine instructions."""
    text = kernel(**options)(function).compile(target=TARGET).sass
    return len([line for line in text.splitlines() if re.match(r"\s+/\*[0-9a-f]{4}\*/", line) and "NOP" not in line])


needs_ptxas = pytest.mark.skipif(
    find_tool("ptxas") is None or find_tool("nvdisasm") is None, reason="needs ptxas and nvdisasm"
)


def vadd(a: Ptr[f32], b: Ptr[f32], c: Ptr[f32], n: i32) -> None:
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < n:
        c[i] = a[i] + b[i]


def test_a_fixed_block_is_required_and_constant() -> None:
    free, fixed = ptx(vadd), ptx(vadd, block=256)
    assert ".reqntid 256\n" in fixed
    assert "%ntid" in free
    assert "%ntid" not in fixed
    assert re.search(r"shl\.b32\s+%r\d+, %r\d+, 8;", fixed)
    assert ".reqntid 16, 8\n" in ptx(vadd, block=(16, 8))
    assert ".reqntid 2, 1, 4\n" in ptx(vadd, block=(2, 1, 4))
    assert ".reqntid" not in ptx(vadd, block="min(n, 256)")
    both = ptx(vadd, block=256, launch_bounds=(256, 4))
    assert ".reqntid 256\n.minnctapersm 4\n" in both
    assert ".maxntid" not in both


def test_other_uses_of_the_block_size() -> None:
    def indices(out: Ptr[i32]) -> None:
        t = thread_idx.y * block_dim.x + thread_idx.x
        out[0] = t // block_dim.x + t % block_dim.x + kdsl.gridsize(1) // block_dim.x + kdsl.warp_id()

    text = ptx(indices, block=(32, 4))
    assert "%ntid" not in text
    assert not re.search(r"\b(div|rem)\.", text)
    assert re.search(r"\b(div|rem)\.", ptx(indices))


def reduce(a: Ptr[f32], out: Ptr[f32]) -> None:
    s = shared.array(256, f32)
    t = thread_idx.x
    s[t] = a[grid(1)]
    sync_threads()
    k = block_dim.x // 2
    while k > 0:
        if t < k:
            s[t] += s[t + k]
        sync_threads()
        k //= 2
    if t == 0:
        out[block_idx.x] = s[0]


def test_a_loop_over_the_block_is_unrolled() -> None:
    barriers = r"\bbar(?:rier)?\.sync\b"
    assert len(re.findall(barriers, ptx(reduce))) == 2
    assert len(re.findall(barriers, ptx(reduce, block=256))) == 9


def test_device_functions_know_it_too() -> None:
    def lane(x: i32) -> i32:
        return x % block_dim.x

    def caller(out: Ptr[i32]) -> None:
        out[thread_idx.x] = lane(thread_idx.x)

    text = ptx(caller, block=64)
    assert "%ntid" not in text
    assert not re.search(r"\b(rem|and)\.", text)


def test_kernels_of_one_module_have_their_own() -> None:
    def size() -> i32:
        return block_dim.x

    @kernel(block=64)
    def first(out: Ptr[i32]) -> None:
        out[0] = size()

    @kernel(block=128)
    def second(out: Ptr[i32]) -> None:
        out[0] = size()

    @kernel
    def third(out: Ptr[i32]) -> None:
        out[0] = size()

    a, b, c = kdsl.compile([first, second, third], target=TARGET).ptx.split(".visible .entry")[1:]
    assert ".reqntid 64\n" in a and "64;" in a and "%ntid" not in a
    assert ".reqntid 128\n" in b and "128;" in b and "%ntid" not in b
    assert ".reqntid" not in c and "%ntid" in c


def test_a_covered_range_needs_no_guard() -> None:
    for requires in (
        "grid.x * block.x == n",
        "n == block.x * grid.x",
        "grid.x * block.x <= n",
        "n >= grid.x * 256",
        "0 < grid.x * 256 < n",
    ):
        text = ptx(vadd, block=256, requires=requires)
        assert "setp" not in text and "bra" not in text, requires
    assert "setp" not in ptx(vadd, requires="grid.x * block.x == n")  # nor a fixed block
    for requires in (
        "grid.x * block.x >= n",
        "grid.y * block.y == n",
        "grid.x * 128 == n",
        "grid.x * block.x == n or n < 0",
        "a.size >= n",
    ):
        text = ptx(vadd, block=256, requires=requires)
        assert "setp" in text, requires

    def two(x: Array[f32, 2]) -> None:
        i, j = grid(2)
        if i < x.shape[1] and j < x.shape[0]:
            x[j, i] = 0.0

    assert "setp" not in ptx(two, block=(16, 16), requires=("grid.x * 16 == x.shape[1]", "grid.y * 16 == x.shape[0]"))
    assert "setp" in ptx(two, block=(16, 16), requires="grid.x * 16 == x.shape[1]")


def test_ranges() -> None:
    def divide(out: Ptr[i32], n: i32) -> None:
        out[0] = n // 10
        out[1] = n % 10

    assert len(instructions(ptx(divide, requires="n >= 0"))) <= len(instructions(ptx(divide))) - 3
    assert len(instructions(ptx(divide, requires="0 <= n < 32"))) <= len(instructions(ptx(divide, requires="n >= 0")))

    def known(out: Ptr[i32], n: i32, k: u32, w: i64) -> None:
        out[0] = i32(n < 32)
        out[1] = i32(k > 7)
        out[2] = i32(w == 5)
        out[3] = n % 4

    text = ptx(known, requires=("0 <= n < 32", "k > 7", "w == 5", "n % 4 == 0"))
    assert "setp" not in text
    assert "and.b32" not in text


def test_relations_between_parameters() -> None:
    def both(out: Ptr[i32], n: i32, m: i32, a: Array[f32, 1]) -> None:
        out[0] = i32(n < m)
        out[1] = i32(n <= a.shape[0])

    text = ptx(both, requires=("n < m", "a.shape[0] >= n"))
    assert "setp" not in text
    assert ptx(both, requires="n < m").count("setp") == 1

    def neither(out: Ptr[i32], n: i32, m: i32) -> None:
        out[0] = i32(n + m > 0)

    # The kernel's sum wraps, the contract's does not.
    assert "setp" in ptx(neither, requires="n + m > 0")
    assert "setp" not in ptx(neither, requires=("n + m > 0", "0 <= n < 1000", "0 <= m < 1000"))


def test_a_relation_that_wraps_in_a_kernel_is_not_assumed_wrongly(device: str) -> None:
    @kernel(requires=("n * 3 > 0", "n + 2000000000 > 0", "k * 2 > 0"))
    def wraps(out: Ptr[i32], n: i32, k: u8) -> None:
        out[0] = i32(n * 3 > 0)
        out[1] = i32(n + 2000000000 > 0)
        out[2] = i32(k * 2 > 0)

    out = np.full(3, 7, np.int32)
    wraps[1, 1](out, 2**30, 200)
    assert out.tolist() == [0, 0, 1]


def test_alignment_makes_vectors() -> None:
    def scale(a: Ptr[f32], b: Ptr[f32]) -> None:
        i = 4 * thread_idx.x
        for k in static_range(4):
            b[i + k] = a[i + k] * 3.0

    aligned = ptx(scale, requires=("a.ptr % 16 == 0", "0 == b.ptr % 16"), restrict=True)
    assert "ld.global.nc.v4.b32" in aligned
    assert "st.global.v4.b32" in aligned
    assert ".v4" not in ptx(scale, restrict=True)
    assert ".v4" not in ptx(scale, requires=("a.ptr % 16 != 0", "b.ptr % 16 == 4"), restrict=True)


def test_a_shared_test_of_what_is_only_checked_changes_no_code() -> None:
    plain = instructions(ptx(vadd))
    for requires in ("a.size >= n", "a.size * b.size > 5", "shared >= 4 * n", "a.ndim == 1", "grid.size > 2"):
        assert instructions(ptx(vadd, requires=requires)) == plain, requires


def test_min_max_and_other_operators() -> None:
    @kernel(
        requires=(
            "max(n, k) - min(n, k) < 8",
            "abs(n) < 100",
            "n & 1 == 0",
            "(n - 7) // 4 < k",
            "-n // 8 != 3",
            "ceil(n / 8) < 9",
            "n << 2 < 200",
            "not n == 5",
            "n == 2 or n == 4 or k == 1",
            "~n < 0",
        )
    )
    def many(out: Ptr[i32], n: i32, k: i32) -> None:
        out[0] = n + k

    kdsl.compile(many, target="sm_75")


def test_a_contract_that_no_launch_fits_compiles() -> None:
    kernel(requires=("n < 0", "n > 0"))(vadd).compile(target="sm_75")
    kernel(requires="1 > 2")(vadd).compile(target="sm_75")


def test_builds_ahead_of_time_rely_on_the_block_alone(tmp_path: Any) -> None:
    if find_tool("ptxas") is None or find_tool("fatbinary") is None:
        pytest.skip("needs ptxas and fatbinary")
    contracted = kernel(block=256, requires="grid.x * block.x == n")(vadd)
    built = kdsl.build(contracted, tmp_path, targets=[TARGET])
    text = built.compilations[TARGET].ptx
    assert ".reqntid 256\n" in text
    assert "setp" in text  # its loader looks at no contract


@needs_ptxas
def test_machine_code_is_shorter() -> None:
    assert sass(vadd, block=256, requires="grid.x * block.x == n") < sass(vadd, block=256) <= sass(vadd)

    def rows(a: Ptr[i32]) -> None:
        t = thread_idx.y * block_dim.x + thread_idx.x
        a[t] = t // block_dim.x + t % block_dim.x

    assert sass(rows, block=(16, 16)) < sass(rows) // 2


@pytest.mark.parametrize(
    "requires", ["grid.x * block.x == n", "n % 4 == 0 and n >= 4", "0 < n <= 1024 and a.shape[0] == n"]
)
def test_results_are_the_same(requires: str, device: str) -> None:
    def fill(a: Array[f32, 1], n: i32) -> None:
        i = grid(1)
        if i < n:
            a[i] = f32(i // 4 + n % 8 + n // 4 + grid_dim.x * block_dim.x)

    n = 512
    expected = np.arange(n) // 4 + n % 8 + n // 4 + n
    for options in ({}, {"block": 64}):
        contracted = kernel(requires=requires, **options)(fill)
        a = np.zeros(n, np.float32)
        contracted[n // 64, 64](a, n)
        assert (a == expected).all()


def test_a_contract_with_names_beyond_ascii_is_ptx() -> None:
    """Its comments too: ptxas and the driver refuse other characters."""

    def first(a: Ptr[f32], größe: i32) -> None:
        if größe > 0:
            a[0] = 1.0

    text = ptx(first, requires="größe >= 0 and a.size >= größe", block=1, grid="größe")
    assert text.isascii()
    assert r"// requires gr\xf6\xdfe >= 0" in text
