"""Alignment that the compiler cannot see, and copies by a whole block that use it."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import TypeVar

from kdsl.lang.construct import construct
from kdsl.lang.type_names import Array, Ptr

P = TypeVar("P")


@construct
def assume_aligned(pointer: P, alignment: int) -> P:
    """The same pointer or array, whose address is promised to be a multiple of ``alignment`` bytes: neighbouring
    accesses through it may become one of up to 16 bytes.

    A constant power of two. C++'s ``__builtin_assume_aligned``: a promise that is broken is a fault at the access, and
    in a debug build an error here.
    """


@construct
def is_aligned(pointer: Ptr[int] | Array, alignment: int) -> bool:
    """Whether the address of a pointer or array is a multiple of ``alignment`` bytes, a constant power of two."""


@construct
def copy_block(destination: Array, source: Array) -> None:
    """Copy an array's elements to another of the same extents, by all threads of the block. A statement of its own.

    It does not wait: `sync_threads()` before another thread's elements are read. Contiguous arrays of one element type
    are copied 16 bytes at a time where both addresses are multiples of 16.
    """
