"""What is a stream, and its handle: of libraries that have `__cuda_stream__`, of those whose classes are known, and raw
handles.
"""

from __future__ import annotations

from typing import Any

HANDLES = {"torch": "cuda_stream", "warp": "cuda_stream", "cupy": "ptr"}
"""Where the streams of libraries have their handles, beside or in place of `__cuda_stream__`."""
STREAM_CLASSES = ("Stream", "ExternalStream")
DRIVER_CLASSES = ("CUstream", "cudaStream_t")
MOST_HANDLE = 2**64 - 1


def handle_of(stream: Any) -> int | None:
    """The handle in a stream of another library, or an int; None for what is no stream."""
    if isinstance(stream, type):
        return None  # a class of streams is none
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        given = protocol() if callable(protocol) else protocol
        pair = given if isinstance(given, tuple | list) and len(given) == 2 else (0, None)
        return pair[1] if isinstance(pair[1], int) and 0 <= pair[1] <= MOST_HANDLE else None
    # Why refuse small ints? k[grid, block, 1024] is a forgotten stream far more often than a handle, which is an
    # address; 0, 1 and 2 are CUDA's own names for the default, the legacy and the per-thread stream.
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream if 0 <= stream <= 2 or 0xFFFF < stream <= MOST_HANDLE else None
    # Why look at classes? CuPy's memory and events have a `ptr`, too; a launch in one would end the process.
    for class_ in type(stream).__mro__:
        library = str(class_.__module__).partition(".")[0]
        if library in HANDLES and class_.__name__ in STREAM_CLASSES:
            found = getattr(stream, HANDLES[library], None)
            return found if isinstance(found, int) else None
        if library == "cuda" and class_.__name__ in DRIVER_CLASSES:
            return int(stream)
    return None
