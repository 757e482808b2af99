"""Digests, for keys and against damage.

Why not hashlib? It loads OpenSSL, which takes longer than all else that a warm start does with the cache.
"""

from __future__ import annotations

import json
from typing import Any

try:
    from _blake2 import blake2b
except ImportError:  # no CPython
    from hashlib import blake2b

BYTES = 24


def digest(*parts: bytes) -> str:
    """48 hexadecimal digits that differ if any part does, or where one ends and the next begins."""
    found = blake2b(digest_size=BYTES)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return str(found.hexdigest())


def digest_of(value: Any) -> str:
    """The same for anything that JSON holds."""
    return digest(canonical(value))


def canonical(value: Any) -> bytes:
    """JSON, always the same for equal values."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
