"""Which part of a tuple each target of an unpacking gets."""

from __future__ import annotations

import ast


def paths(targets: list[ast.expr]) -> list[int | slice]:
    """Which part of a tuple each target gets: those after a star are counted from the end."""
    star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    if star is None:
        return list(range(len(targets)))
    after = len(targets) - star - 1
    return [*range(star), slice(star, -after if after else None), *range(-after, 0)]
