"""f16 and bf16 in their own instructions, where a function through f32 would round twice (PTX ISA 9.0, 9.7.4)."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.generic import H
from kdsl.lang.intrinsic import Nvvm, intrinsic
from kdsl.lang.types import BF16, F16


@intrinsic(
    Nvvm({F16: "llvm.nvvm.fma.rn.f16", BF16: "llvm.nvvm.fma.rn.bf16"}, ("x", "y", "z")),
    ptx="fma.rn",
    min_sm=80,
    pure=True,
)
def hfma(x: H, y: H, z: H) -> H:
    """``x * y + z`` of f16 or bf16, rounded once to that type; `fma` of them gives an f32."""


@intrinsic(
    Nvvm({F16: "llvm.nvvm.fma.rn.relu.f16", BF16: "llvm.nvvm.fma.rn.relu.bf16"}, ("x", "y", "z")),
    ptx="fma.rn.relu",
    min_sm=80,
    pure=True,
)
def hfma_relu(x: H, y: H, z: H) -> H:
    """`hfma`, and 0 for a negative result; a NaN stays one."""
