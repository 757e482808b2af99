"""Copies by all threads of a block, in the kernel language: `copy_block` is one of these, by its arrays' types."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from kdsl.lang.alignment import is_aligned
from kdsl.lang.casts import bitcast
from kdsl.lang.index import block_dim, thread_idx
from kdsl.lang.type_names import Ptr
from kdsl.lang.vectors import u32x4


def _rank():
    return thread_idx.x + block_dim.x * (thread_idx.y + block_dim.y * thread_idx.z)


def _threads():
    return block_dim.x * block_dim.y * block_dim.z


def dense(destination, source):
    """Contiguous arrays of one element type, whose size divides 16."""
    n = destination.size
    each = 16 // destination.itemsize
    to, of = destination.reshape(-1), source.reshape(-1)
    first = 0
    if is_aligned(destination, 16) and is_aligned(source, 16):
        wide_to, wide_of = bitcast(destination, Ptr[u32x4]), bitcast(source, Ptr[u32x4])
        for i in range(_rank(), n // each, _threads()):
            wide_to[i] = wide_of[i]
        first = n // each * each
    for i in range(first + _rank(), n, _threads()):
        to[i] = of[i]


def rank_1(destination, source):
    """Any arrays of one dimension."""
    for i in range(_rank(), len(destination), _threads()):
        destination[i] = source[i]


def rank_2(destination, source):
    """Any arrays of two dimensions: neighbouring threads take neighbours of a row."""
    columns = destination.shape[1]
    for i in range(_rank(), destination.size, _threads()):
        destination[i // columns, i % columns] = source[i // columns, i % columns]


def rank_3(destination, source):
    """Any arrays of three dimensions."""
    rows, columns = destination.shape[1], destination.shape[2]
    for i in range(_rank(), destination.size, _threads()):
        x, y, z = i % columns, i // columns % rows, i // (columns * rows)
        destination[z, y, x] = source[z, y, x]
