"""What statements become: the printed tree of small kernels."""

from __future__ import annotations

import pytest

from kdsl import (
    Array,
    CompileError,
    Ptr,
    atomic,
    f32,
    f64,
    grid,
    i32,
    kernel,
    local,
    shared,
    static_assert,
    static_range,
    u8,
)

from .harness import module_of, tree, variables


def lines(text: str) -> str:
    """A block as the tree prints it: four more spaces than written here, which start at column 8."""
    return "\n".join(line[4:] for line in text.strip("\n").splitlines()).rstrip()


def test_if_elif_else():
    @kernel
    def k(x: Ptr[f32], n: i32):
        if n > 0:
            v = 1.0
        elif n:
            v = 2.0
        else:
            return
        x[0] = v

    assert tree(k) == lines(
        """
        if n > 0:
            v: f32 = 1.0
        else:
            if n != 0:
                v = 2.0
            else:
                return
        x[0] = v
        """
    )


def test_loops_with_else_break_and_continue():
    @kernel
    def k(x: Ptr[f32], n: i32):
        for i in range(1, n, 2):
            if x[i] > 0:
                continue
            break
        else:
            x[0] = 1
        while n > 0:
            n -= 1
        else:
            x[1] = n

    assert tree(k) == lines(
        """
        for i: i32 in range(1, n, 2):
            if x[i] > 0.0:
                continue
            break
        else:
            x[0] = 1.0
        while n > 0:
            n = n - 1
        else:
            x[1] = f32(n)
        """
    )


def test_an_element_is_addressed_once():
    @kernel
    def k(x: Array[f32, 2], n: i32):
        x[n, n + 1] += 2

    assert tree(k) == lines(
        """
        address: Ptr[f32] = &x[n, n + 1]
        *address = *address + 2.0
        """
    )


def test_swaps_and_chains_evaluate_once():
    @kernel
    def k(x: Ptr[f32], n: i32):
        a = b = x[n]
        a, b = b, a
        x[0], x[1] = x[1], x[0]

    assert tree(k) == lines(
        """
        value: f32 = x[n]
        a: f32 = value
        b: f32 = value
        value.6: f32 = b
        value.7: f32 = a
        a = value.6
        b = value.7
        value.8: f32 = x[1]
        value.9: f32 = x[0]
        x[0] = value.8
        x[1] = value.9
        """
    )


def test_chained_comparison_evaluates_its_middle_once():
    @kernel
    def k(x: Ptr[f32], n: i32):
        if 0 < atomic.add(x, 0, 1) <= 10.0 < x[1]:
            x[2] = 1

    assert tree(k) == lines(
        """
        if ((0.0 < (compared: f32 := atomic.add(&x[0], 1.0))) and (compared <= 10.0)) and (10.0 < x[1]):
            x[2] = 1.0
        """
    )


def test_a_loop_over_a_tuple_is_unrolled_with_constants():
    @kernel
    def k(x: Ptr[f64], n: i32):
        for weight, value in ((0.1, n), (2, x[1])):
            x[0] += weight * value

    assert tree(k).count("copy:") == 2
    assert "* f64(value" not in tree(k)
    assert "0.1 * " in tree(k)


def test_a_tuple_loop_variable_read_afterwards_is_a_variable():
    @kernel
    def k(x: Ptr[f32]):
        for v in (1, 2, 3):
            if x[v] > 0:
                break
        x[0] = v

    assert variables(k) == {"v": "i32"}


def test_static_range_unrolls_and_static_assert_is_checked():
    @kernel
    def k(x: Ptr[f32]):
        static_assert(2 > 1, "fine")
        for i in static_range(2):
            for j in static_range(i, i + 2):
                x[i] = j

    assert tree(k).count("x[1] = 2.0") == 1
    assert tree(k).count("copy:") == 6


def test_walrus_and_conditional():
    @kernel
    def k(x: Ptr[f32], n: i32):
        if (m := n * 2) > 3 and n > 0:
            x[m] = 1 if n > m else 2.5

    assert tree(k) == lines(
        """
        if ((m: i32 := n * 2) > 3) and (n > 0):
            x[m] = (1.0 if n > m else 2.5)
        """
    )


def test_arrays_are_allocated_once_per_place():
    @kernel
    def k(x: Ptr[f32]):
        for i in static_range(3):
            tile = shared.array((4, 8), f32)
            mine = local.array(2, u8)
            tile[0, i] = x[i]
            mine[1] = 3
        x[0] = tile.size + len(tile) + tile.ndim + tile.shape[1]

    (function,) = module_of(k).kernels
    assert tree(k).count("x[0] = 46.0") == 1
    uids = {
        node.value.uid
        for body in function.body[0].bodies
        for node in body
        if hasattr(node, "value") and hasattr(node.value, "uid")
    }
    assert len(uids) == 2


def test_assert_keeps_its_message_and_may_be_dropped():
    from kdsl.ir.nodes import Options

    @kernel
    def k(n: i32):
        assert n > 0, "n is positive"
        assert n < 7

    assert tree(k) == lines(
        """
        assert n > 0, 'n is positive'
        assert n < 7, 'assertion failed: n < 7'
        """
    )
    assert module_of(k, options=Options(asserts=False)).kernels[0].body == ()


def test_what_is_assigned_on_every_path_may_be_read():
    @kernel
    def k(x: Ptr[f32], n: i32):
        while True:
            if n > 3:
                a = 1
                break
            n += 1
        for i in range(4):
            b = i * n
        if n > 0 and (c := n + 1) > 2:
            x[2] = c
        if not (n > 0 and (d := n) > 1):
            return
        for j in range(n):
            if j == 3:
                break
        else:
            return
        x[0] = a + b + i + d + j

    assert variables(k)["b"] == "i32"


def test_early_return_and_definite_results():
    def first(x, n):
        for i in range(n):
            if x[i] > 0:
                return i
        return -1

    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = first(x, n)

    assert "function first(x: Ptr[f32], n: i32) -> i32:" in tree(k)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_grid_is_a_number_or_a_tuple(dimensions):
    if dimensions == 1:

        @kernel
        def k(x: Ptr[f32]):
            i = grid(1)
            x[i] = 1
    elif dimensions == 2:

        @kernel
        def k(x: Ptr[f32]):
            i, j = grid(2)
            x[i * j] = 1
    else:

        @kernel
        def k(x: Ptr[f32]):
            i, j, l = grid(3)
            x[i * j * l] = 1

    assert variables(k)["i"] == "i32"


def test_what_is_not_wanted_of_a_tuple_still_happens():
    @kernel
    def k(x: Ptr[i32]):
        x[0] = (atomic.add(x, 1, 2), 3)[1]
        x[2] = (x[3], 4)[1]
        (1 if atomic.add(x, 1, 5) > 0 else 2, (atomic.add(x, 1, 7), 8))
        x[4] = divmod(-x[5], 6)[1]

    text = tree(k)
    for line in (
        "x[0] = (atomic.add(&x[1], 2), 3)[1]",
        "x[2] = 4",
        "(1 if atomic.add(&x[1], 5) > 0 else 2)",
        "atomic.add(&x[1], 7)",
        "x[4] = ((operand: i32 := -x[5]) // 6, operand % 6)[1]",
    ):
        assert line in text.replace("    ", "").splitlines()


def test_len_does_not_evaluate_a_tuple():
    @kernel
    def k(x: Ptr[i32]):
        x[0] = len((atomic.add(x, 1, 2), 3))

    with pytest.raises(CompileError, match="does not evaluate"):
        module_of(k)


def test_arrays_are_called_as_the_variable_that_holds_them():
    @kernel
    def k(x: Ptr[f32]):
        tile = shared.array(4, f32)
        ß = local.array(2, f32)
        tile[0] = ß[1] = 1.0
        x[0] = tile[0] + ß[1]

    (function,) = module_of(k).kernels
    assert [s.value.name for s in function.body[:2]] == ["tile", "_udf_"]
