"""Decorators for stubs whose f32 and f64 forms libdevice names alike: ``__nv_sinf`` and ``__nv_sin``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kdsl.lang.intrinsic import Libdevice, intrinsic
from kdsl.lang.types import F32, F64

C = TypeVar("C", bound=Callable[..., Any])

# PTX names the directed roundings by the infinity that they go to.
PTX_ROUNDING = {"rn": "rn", "rz": "rz", "ru": "rp", "rd": "rm"}


def libdevice(name: str, *, fast: bool = False, outputs: int = 0, ptx: str = "fma.rn") -> Callable[[C], C]:
    """A libdevice function of f32 and f64; ``fast`` says that there is a ``__nv_fast_`` form of f32 for fastmath."""
    lowering = Libdevice(
        {F32: f"__nv_{name}f", F64: f"__nv_{name}"}, {F32: f"__nv_fast_{name}f"} if fast else None, outputs
    )
    return intrinsic(lowering, ptx=ptx, pure=True)


def rounded(operation: str, rounding: str) -> Callable[[C], C]:
    """One IEEE operation of f32 and f64 with its rounding said."""
    lowering = Libdevice({F32: f"__nv_f{operation}_{rounding}", F64: f"__nv_d{operation}_{rounding}"})
    return intrinsic(lowering, ptx=f"{operation}.{PTX_ROUNDING[rounding]}", pure=True)
