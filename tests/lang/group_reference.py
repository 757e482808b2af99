"""What groups compute, lane by lane in Python: the order in which values are combined included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Combine = Callable[[Any, Any], Any]

OPERATIONS: dict[str, Combine] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": lambda a, b: b if b < a else a,
    "max": lambda a, b: b if b > a else a,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


def operations_of(dtype: np.dtype) -> list[str]:
    if dtype.kind == "b":
        return ["and", "or", "xor"]
    return list(OPERATIONS) if dtype.kind in "iu" else ["add", "mul", "min", "max"]


def identity(op: str, dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return np.bool_(op == "and")
    if op in ("min", "max"):
        if dtype.kind in "iu":
            return getattr(np.iinfo(dtype), "max" if op == "min" else "min")
        return dtype.type(np.inf if op == "min" else -np.inf)
    return dtype.type({"add": 0, "mul": 1, "and": 0, "or": 0, "xor": 0}[op]) if op != "and" else ~dtype.type(0)


def reduce(values: Sequence[Any], f: Combine) -> Any:
    """Neighbours in pairs, then those results, a last one without a neighbour as it is."""
    while len(values) > 1:
        values = [f(*values[i : i + 2]) if i + 1 < len(values) else values[i] for i in range(0, len(values), 2)]
    return values[0]


def scan(values: Sequence[Any], f: Combine) -> list[Any]:
    """Each with the one 1, 2, 4, 8 and 16 ranks below."""
    values = list(values)
    for step in (1, 2, 4, 8, 16):
        values = [f(values[i - step], v) if i >= step else v for i, v in enumerate(values)]
    return values


def block_scan(values: Sequence[Any], f: Combine) -> list[Any]:
    warps = [scan(values[i : i + 32], f) for i in range(0, len(values), 32)]
    totals = scan([w[-1] for w in warps], f)
    return [f(totals[k - 1], v) if k else v for k, warp in enumerate(warps) for v in warp]


def block_exclusive_scan(values: Sequence[Any], f: Combine, first: Any) -> list[Any]:
    """The first thread of a warp gets what the warps before it gave together."""
    warps = [scan(values[i : i + 32], f) for i in range(0, len(values), 32)]
    totals = scan([w[-1] for w in warps], f)
    inside = [[first if i == 0 else w[i - 1] for i in range(len(w))] for w in warps]
    return inside[0] + [
        totals[k] if i == 0 else f(totals[k], v) for k, w in enumerate(inside[1:]) for i, v in enumerate(w)
    ]


def samples(dtype: np.dtype, op: str, count: int, seed: int) -> np.ndarray:
    """Values whose sums round, and whose products stay in range."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 8, count) > 0 if op == "and" else rng.integers(0, 8, count) == 0
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, count, dtype, endpoint=True)
    if op == "mul":
        return rng.uniform(0.9, 1.1, count).astype(dtype)
    return (rng.uniform(-1, 1, count) * 10 ** rng.uniform(-2, 2, count)).astype(dtype)
