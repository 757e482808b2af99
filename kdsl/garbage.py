"""Holding back Python's cyclic garbage collector while a compilation makes its trees."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """No collection inside; may be nested.

    Collections would walk the growing trees again and again, which hold next to no garbage, and make the time of a
    compilation grow faster than the kernel.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # A compilation in another thread that began meanwhile found it disabled, and leaves it to us.
        if enabled:
            gc.enable()
