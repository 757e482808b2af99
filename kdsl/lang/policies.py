"""Cache policies: what the L2 cache shall do with lines, for ``policy=`` of ``load`` and ``store`` (PTX ISA 9.0,
9.7.9.18).
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Literal

from kdsl.lang.intrinsic import Emit, intrinsic
from kdsl.lang.type_names import f32, u64


@intrinsic(Emit("createpolicy_fractional"), ptx="createpolicy.fractional", min_sm=80, pure=True)
def createpolicy_fractional(
    primary: Literal["evict_last", "evict_normal", "evict_first", "evict_unchanged"],
    fraction: f32 = 1.0,
    secondary: Literal["evict_unchanged", "evict_first"] = "evict_unchanged",
) -> u64:
    """A cache policy, opaque: that ``fraction`` of the lines, above 0 and up to 1, has the ``primary`` priority of
    eviction in L2, and the others the ``secondary`` one. What is to stay is ``evict_last``, a stream ``evict_first``.
    """
