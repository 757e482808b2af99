"""What a kernel may call that is no Python object of the host: nested functions, and methods of values."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import TYPE_CHECKING

from kdsl.frontend.values import Runtime
from kdsl.lang.group_type import GroupType
from kdsl.records import dataclass

if TYPE_CHECKING:
    from kdsl.frontend.frame import Frame


@dataclass(frozen=True, eq=False)
class NestedFunction:
    """A lambda, or a function defined inside of another; ``frame`` is where it was defined."""

    node: ast.FunctionDef | ast.Lambda
    frame: Frame

    @property
    def __name__(self) -> str:
        return getattr(self.node, "name", "<lambda>")


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """``p.kinetic``, to be called."""

    function: FunctionType
    receiver: Runtime
    place: ast.expr


@dataclass(frozen=True, slots=True)
class GroupMethod:
    """``g.reduce`` of a group of threads, to be called."""

    group: Runtime
    type: GroupType
    name: str
