"""``createpolicy_fractional(primary, fraction, secondary)``: a constant that is no fraction is refused."""

from __future__ import annotations

import ast
from typing import Any

from kdsl.frontend.frame import Frame
from kdsl.frontend.intrinsics import intrinsic_call
from kdsl.frontend.values import Runtime, Value
from kdsl.ir import nodes as ir
from kdsl.lang.intrinsic import Intrinsic
from kdsl.lang.policies import createpolicy_fractional


def fractional(frame: Frame, node: ast.Call) -> Value:
    """The call; PTX ISA 9.0, 9.7.9.18, leaves undefined what other fractions mean."""
    intrinsic: Any = createpolicy_fractional  # to a type checker it is the function that its stub says
    assert isinstance(intrinsic, Intrinsic)
    value = intrinsic_call(frame, intrinsic, node)
    match value:
        case Runtime(ir.IntrinsicCall(arguments=(ir.Const(fraction) as given, *_))) if not 0 < fraction <= 1:
            return frame.error(given.span, f"a fraction is above 0 and up to 1, and this is {fraction}")
    return value
