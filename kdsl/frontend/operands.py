"""The two values that an operator or comparison meets, and where they are written."""

from __future__ import annotations

import ast
from dataclasses import replace

from kdsl.frontend.values import Value
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Operands:
    """``left op right``; ``node`` is the whole of it, ``places`` are those of the two values."""

    left: Value
    right: Value
    node: ast.expr | ast.stmt
    places: tuple[ast.expr, ast.expr]

    @property
    def values(self) -> tuple[Value, Value]:
        """Both values."""
        return self.left, self.right

    @property
    def sides(self) -> tuple[tuple[Value, ast.expr], tuple[Value, ast.expr]]:
        """Each value with its place."""
        return (self.left, self.places[0]), (self.right, self.places[1])

    @property
    def whole(self) -> ast.expr | ast.stmt:
        """What an error of both points at: of ``a += b`` that is b, which is what can be changed."""
        return self.node.value if isinstance(self.node, ast.AugAssign) else self.node

    def of(self, left: Value, right: Value) -> Operands:
        """Other values in the same places."""
        return replace(self, left=left, right=right)
