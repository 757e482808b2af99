"""Reads of shared and local memory that nothing has written: LLVM must not drop them, and the emulator says so."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl import MemoryFault, Ptr, block_idx, f32, kernel, local, shared, sync_threads, thread_idx


@kernel
def never(a: Ptr[f32]) -> None:
    s = shared.array(32, f32)
    if block_idx.x > 0:
        s[thread_idx.x] = 0.0
    sync_threads()
    a[thread_idx.x] = s[thread_idx.x ^ 1]


@kernel
def elsewhere(a: Ptr[f32]) -> None:
    s = shared.array(2, f32)
    s[0] = 1.0
    a[0] = s[1]


@kernel
def of_a_thread(a: Ptr[f32]) -> None:
    s = local.array(8, f32)
    i = thread_idx.x
    s[i & 3] = 1.0
    a[i] = s[i & 7]


@pytest.mark.parametrize("read", [never, elsewhere, of_a_thread])
def test_a_read_of_what_nothing_wrote(read) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(MemoryFault, match="read of 4 bytes of .* that were never written"):
        read[1, 32](np.zeros(32, np.float32))
