"""``barrier(id, count)`` and ``barrier_arrive(id, count)``: constants that no barrier can have are refused."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from kdsl.frontend.frame import Frame
from kdsl.frontend.intrinsics import intrinsic_call
from kdsl.frontend.values import Runtime, Value
from kdsl.ir import nodes as ir
from kdsl.lang.intrinsic import Intrinsic

BARRIERS = 16
THREADS, WARP = 1024, 32


def named_barrier(intrinsic: Any) -> Callable[[Frame, ast.Call], Value]:
    """The handler of one of them; to a type checker it is the function that its stub says."""
    assert isinstance(intrinsic, Intrinsic)

    def call(frame: Frame, node: ast.Call) -> Value:
        value = intrinsic_call(frame, intrinsic, node)
        match value:
            case Runtime(ir.IntrinsicCall(arguments=(ir.Const(int(id)) as first, _))) if id >= BARRIERS:
                return frame.error(first.span, f"a block has the barriers 0 to {BARRIERS - 1}, and this is {id}")
            case Runtime(ir.IntrinsicCall(arguments=(_, ir.Const(int(count)) as second))):
                if count % WARP or not WARP <= count <= THREADS:
                    message = f"a barrier counts whole warps, {WARP} to {THREADS} threads, and this is {count}"
                    up = min(-(-count // WARP) * WARP, THREADS) or WARP
                    return frame.error(second.span, message, f"write {up}")
        return value

    return call
