"""The kernel that `kdsl demo` shows and runs: the sum of two arrays, checked against NumPy."""

from __future__ import annotations

import inspect
import sys
from time import perf_counter
from typing import Any

import numpy as np

from kdsl.compiler import Kernel
from kdsl.current import current_backend
from kdsl.decorator import kernel
from kdsl.lang.index import block_dim, block_idx, thread_idx
from kdsl.lang.type_names import Ptr, f32, i32
from kdsl.timeline import Timeline

ELEMENTS = 1_000_000


@kernel
def vadd(a: Ptr[f32], b: Ptr[f32], c: Ptr[f32], n: i32) -> None:
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < n:
        c[i] = a[i] + b[i]


def run(timeline: Timeline) -> bool:
    """Show `vadd`, run it on a million floats and say whether every one of them is NumPy's."""
    device = current_backend()
    example: Kernel[Any] = vadd
    print(inspect.getsource(example.function))
    rng = np.random.default_rng(0)
    a, b = rng.random(ELEMENTS, np.float32), rng.random(ELEMENTS, np.float32)
    c = np.zeros_like(a)
    grid = (ELEMENTS + 255) // 256
    compilation = example._specialize((a, b, c, ELEMENTS), {}).compilation
    print(compilation.ptx)
    start = perf_counter()
    with timeline.step("launch, copies included"):
        example[grid, 256](a, b, c, ELEMENTS)
    elapsed = perf_counter() - start
    print(f"ran on: {device.description}")
    print(f"{grid} blocks of 256 threads over {ELEMENTS} elements: {elapsed * 1e3:.1f} ms, copies included")
    print("\nstage times\n" + timeline.render())
    wrong = np.flatnonzero(c != a + b)
    if len(wrong):
        print(f"WRONG: element {wrong[0]} is {c[wrong[0]]}, NumPy has {a[wrong[0]] + b[wrong[0]]}", file=sys.stderr)
        return False
    print("\nverified: every element equals NumPy's a + b")
    return True
