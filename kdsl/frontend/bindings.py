"""One place that binds a name, and the branch of the function in which it stands."""

from __future__ import annotations

import ast
from enum import Enum

from kdsl.records import dataclass


class How(Enum):
    """What binds a name."""

    ASSIGN = "assignment"
    AUGMENTED = "augmented assignment"
    FOR = "for"
    WALRUS = "walrus"
    FUNCTION = "def"
    RETURN = "return"


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """One place that binds a name to (the part at ``path`` of) the value of an expression.

    ``loops`` are the enclosing ``for`` statements that may be over tuples, outermost first. ``reads`` names what the
    value, and whether the place is reached at all, depend on.
    """

    name: str
    how: How
    target: ast.expr | ast.stmt
    value: ast.expr | None
    path: tuple[int | slice, ...]
    statement: ast.stmt
    loops: tuple[ast.For, ...]
    reads: frozenset[str]
    branch: Branch | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """An arm of an ``if`` or ``match``, inside of ``outer`` or none; where ``test`` is known, the other is dropped."""

    outer: Branch | None
    test: ast.expr
    reads: frozenset[str]
    is_true: bool

    @property
    def asks_for_types(self) -> bool:
        """Whether the test may look at types alone, and so be known though its variables are not."""
        return any(
            (isinstance(node, ast.Name) and node.id in ("isinstance", "type_of"))
            or (isinstance(node, ast.Attribute) and node.attr in ("dtype", "ndim"))
            for node in ast.walk(self.test)
        )
