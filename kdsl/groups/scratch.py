"""Where the groups' functions put values for other threads: shared memory that all calls have in common.

There is a place of 32 slots for each part of a value and its type, made when a kernel first needs it.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import TypeVar

from kdsl.lang.construct import construct
from kdsl.lang.type_names import i32

V = TypeVar("V")
PARTIAL, TOTAL, SHARED = "partial", "total", "shared"
"""The last one is what other blocks of a cluster read."""
SLOTS = 32
"""As many as a block has warps."""


@construct
def deposit(place: str, slot: i32, value: V) -> None:
    """Write a value to a slot of a place."""


@construct
def collect(place: str, slot: i32, like: V) -> V:
    """Read a value of the type of ``like`` from there."""


@construct
def collect_from(place: str, slot: i32, like: V, block: i32) -> V:
    """The same from the memory of the block of that rank in the cluster."""
