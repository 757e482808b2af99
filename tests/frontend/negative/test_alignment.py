"""Promises of alignment, and block copies, that are refused."""

# mypy: ignore-errors

from __future__ import annotations

from kdsl import Array, Ptr, assume_aligned, copy_block, f32, f64, i32, is_aligned, kernel, shared

from ..harness import check_errors


def test_alignments():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], n: i32):
        assume_aligned(x, n)  # error: an alignment is a constant power of two, up to 4096 bytes
        #   # hint: such as assume_aligned(p, 16)
        assume_aligned(x, 12)  # error: an alignment is a constant power of two, up to 4096 bytes
        is_aligned(n, 16)  # error: is_aligned() takes a Ptr or an array, and this is i32
        assume_aligned(x)  # error: assume_aligned() needs `alignment`

    check_errors(k)


def test_block_copies():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], b: Array[f32, 1], d: Array[f64, 1], n: i32):
        tile = shared.array((4, 8), f32)
        copy_block(tile, x)  # error: copy_block() takes arrays, and this is Ptr[f32] # hint: say its end: x[0:n]
        copy_block(tile, b)  # error: copy_block() of Array[f32, 1] to a shared array of 4 x 8 f32
        #   # hint: extents must be equal
        copy_block(tile, tile.T)  # error: copy_block() of a shared array of 8 x 4 f32 to a shared array of 4 x 8 f32
        y = copy_block(tile, a)  # error: copy_block() returns no value # hint: call it in a statement of its own
        copy_block(tile[0], 3)  # error: copy_block() takes arrays, and this is an int literal (i32)

    check_errors(k)
