"""JAX's arrays as arguments of a launch: read where they lie, on a GPU or the host, and never written.

Nothing here imports JAX: who passes an array has done so.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from kdsl.runtime.dlpack import NO_ORDER, dlpack_array
from kdsl.runtime.foreign_array import ForeignArray, NotOnDeviceError

IMMUTABLE = (
    "JAX's arrays never change: write into kdsl.empty(shape, dtype) and take that as jax.dlpack.from_dlpack(out), or "
    "use jax.pure_callback, as docs/interop.md shows"
)


def is_jax(value: Any) -> bool:
    """Whether it is an array of JAX, or what stands for one while JAX traces."""
    if not value.__class__.__module__.startswith("jax"):
        return False  # Array's own check of what is one takes microseconds
    jax = sys.modules.get("jax")
    # While JAX is being imported it has no Array yet.
    kind = getattr(jax, "Array", None)
    return kind is not None and isinstance(value, kind)


def jax_array(value: Any, stream: int) -> ForeignArray:
    """The array's memory; NotOnDeviceError for a traced one, and one that is spread over several devices."""
    jax = sys.modules["jax"]
    if isinstance(value, jax.core.Tracer):
        raise NotOnDeviceError(
            "stands for an array that JAX traces, and has no memory; call the kernel through jax.pure_callback, as "
            "docs/interop.md shows"
        )
    if value.is_deleted():
        raise NotOnDeviceError("was deleted or donated; pass a live array")
    count = len(value.devices())
    if count != 1:
        raise NotOnDeviceError(f"is spread over {count} devices; pass one of its addressable_shards' data")
    # Why no -1? JAX takes it for a stream; and without one it orders nothing.
    # Not __cuda_array_interface__: it waits on the host until the array is ready, and has no bfloat16.
    return replace(dlpack_array(value, None if stream == NO_ORDER else stream), readonly=True, immutable=IMMUTABLE)
