"""What a user gives for the options of a contract, brought into one form; TypeError for what none of them takes."""

from __future__ import annotations

from math import prod
from typing import Any

MOST_THREADS, MOST_ALONG_Z = 1024, 64
"""Of a block, on every architecture so far (CUDA C++ Programming Guide, compute capabilities)."""
REGISTERS_OF_BLOCK = 65536
"""That a block may have, on every architecture so far."""
NAMES = ("requires", "block", "grid", "shared", "min_arch")
Extent = int | str


def given_requires(value: Any) -> tuple[str, ...]:
    """Relations: one text, or a tuple or list of them."""
    texts = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, tuple | list) else None
    if texts is None or not all(isinstance(text, str) for text in texts):
        raise TypeError(f'requires takes relations as text, such as "a.size >= n", or a tuple of them, got {value!r}')
    return texts


def given_extents(name: str, value: Any) -> tuple[Extent, ...] | None:
    """A grid or block: one extent or up to three, each an int or an expression."""
    if value is None:
        return None
    extents = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(extents) <= 3 or not all(type(e) is str or (type(e) is int and e > 0) for e in extents):
        raise TypeError(
            f'{name} takes an int of at least 1, an expression such as "ceil(n / 256)", or a tuple of up to three of '
            f"them, got {value!r}"
        )
    x, y, z = (*(e if isinstance(e, int) else 1 for e in extents), 1, 1)[:3]
    if name == "block" and (x * y * z > MOST_THREADS or z > MOST_ALONG_Z):
        raise TypeError(f"a block has at most {MOST_THREADS} threads, {MOST_ALONG_Z} along z, got block={value!r}")
    return extents


def given_shared(value: Any) -> Extent | None:
    """Bytes of dynamic shared memory: an int or an expression."""
    if value is None or type(value) is str or (type(value) is int and value >= 0):
        return value
    raise TypeError(f'shared takes a number of bytes or an expression such as "4 * n", got {value!r}')


def given_min_arch(value: Any) -> str | None:
    """The name of an architecture."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f'min_arch takes an architecture, such as "sm_80", got {value!r}')
    try:
        from kdsl.target import Target  # start-up cost

        return Target.parse(value).name
    except ValueError as error:
        raise TypeError(f"min_arch: {error}") from None


def check_block(block: tuple[Extent, ...] | None, bounds: tuple[int, ...], max_registers: int | None) -> None:
    """TypeError for a constant block that contradicts the options about threads and registers."""
    if block is None or not all(isinstance(e, int) for e in block):
        return
    threads = prod(e for e in block if isinstance(e, int))
    shown = block[0] if len(block) == 1 else block
    if bounds and bounds[0] != threads:
        instead = (threads, *bounds[1:]) if len(bounds) > 1 else threads
        raise TypeError(
            f"block={shown} has {threads} threads, and launch_bounds={bounds} says {bounds[0]}; "
            f"write launch_bounds={instead}, or leave it out"
        )
    if max_registers is not None and max_registers * threads > REGISTERS_OF_BLOCK:
        raise TypeError(
            f"block={shown} has {threads} threads, and max_registers={max_registers} of each are more than the "
            f"{REGISTERS_OF_BLOCK} of a block; write max_registers={REGISTERS_OF_BLOCK // threads // 8 * 8} at most"
        )
