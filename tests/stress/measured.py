"""What the stress tests launch, and how they see what the process takes."""

from __future__ import annotations

import os
from pathlib import Path

from kdsl import Ptr, grid, i32, kernel


@kernel
def add(x: Ptr[i32], by: i32, n: i32) -> None:
    i = grid(1)
    if i < n:
        x[i] += by


def resident() -> int:
    """Bytes of memory that the process has; 0 where the system does not tell."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0
