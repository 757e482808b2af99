"""Unpacking: which part of a tuple goes to which target, ``a, *rest = t`` included."""

from __future__ import annotations

import ast

from kdsl.frontend.frame import Frame
from kdsl.frontend.values import Tuple, Value


def spread(
    frame: Frame, parts: tuple[Value, ...], target: ast.expr, targets: list[ast.expr]
) -> tuple[Value, ...] | None:
    """A value for each target; None (reported) if there are too many or too few."""
    stars = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
    if not stars:
        if len(parts) == len(targets):
            return parts
        frame.error(target, unpacked(len(parts), len(targets)))
        return None
    star = stars[0]  # Python allows one
    after = len(targets) - star - 1
    if len(parts) < star + after:
        frame.error(target, unpacked(len(parts), star + after) + " at least")
        return None
    end = len(parts) - after
    return (*parts[:star], Tuple(parts[star:end]), *parts[end:])


def unpacked(values: int, names: int) -> str:
    """The message for a tuple of another length than its targets."""
    return (
        f"{'1 value is' if values == 1 else f'{values} values are'} unpacked to {names} name{'s' if names != 1 else ''}"
    )
