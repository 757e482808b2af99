"""The arguments of a call, matched to parameter names."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kdsl.frontend.frame import Frame
from kdsl.frontend.instead import of_arguments


def plain_arguments(frame: Frame, node: ast.Call) -> bool:
    """Whether a call has no ``*args`` or ``**kwargs``; what has is reported."""
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            frame.error(argument, "a kernel has no * unpacking", "write each argument")
            return False
    for keyword in node.keywords:
        if keyword.arg is None:
            frame.error(keyword.value, "a kernel has no ** unpacking", "write each argument")
            return False
    return True


def match_arguments(
    frame: Frame,
    node: ast.Call,
    name: str,
    parameters: Sequence[str],
    optional: frozenset[str] = frozenset(),
    keyword_only: frozenset[str] = frozenset(),
    positional_only: frozenset[str] = frozenset(),
) -> dict[str, ast.expr] | None:
    """The expression for each parameter that is given; None (reported) for a call that does not fit."""
    if not plain_arguments(frame, node):
        return None
    takes = ", ".join(parameters)
    positional = [p for p in parameters if p not in keyword_only]
    if len(node.args) > len(positional):
        least = len([p for p in positional if p not in optional])
        count = f"{least} to {len(positional)}" if least < len(positional) else str(len(positional))
        plural = "" if count == "1" else "s"
        listed = f" ({', '.join(positional)})" if positional else ""
        hint = of_arguments(name)
        frame.error(node, f"{name}() takes {count} argument{plural}{listed}, and this gives {len(node.args)}", hint)
        return None
    found = dict(zip(positional, node.args, strict=False))
    for keyword in node.keywords:
        assert keyword.arg is not None
        if keyword.arg not in parameters or keyword.arg in positional_only:
            frame.error(keyword, f"{name}() has no parameter `{keyword.arg}`", f"it takes {takes}" if takes else None)
            return None
        if keyword.arg in found:
            frame.error(keyword, f"{name}() got `{keyword.arg}` twice")
            return None
        found[keyword.arg] = keyword.value
    missing = [p for p in parameters if p not in found and p not in optional]
    if missing:
        known = [f"it takes {takes}"] if len(parameters) > 1 else []
        hint = _apart(frame, node, name, positional) or "; ".join([*known, *filter(None, [of_arguments(name)])]) or None
        frame.error(node, f"{name}() needs {' and '.join(f'`{m}`' for m in missing)}", hint)
        return None
    return found


def _apart(frame: Frame, node: ast.Call, name: str, parameters: Sequence[str]) -> str | None:
    """The hint for an element where an array and its index are arguments of their own."""
    if list(parameters[:2]) != ["array", "index"] or not node.args or not isinstance(node.args[0], ast.Subscript):
        return None
    element = node.args[0]
    index = frame.text(element.slice)
    written = f"({index})" if isinstance(element.slice, ast.Tuple) and not index.startswith("(") else index
    given = [*map(frame.text, node.args[1:]), *(f"{k.arg}={frame.text(k.value)}" for k in node.keywords)]
    rest = "".join(f", {argument}" for argument in given)
    return f"an array and its index are two arguments: {name}({frame.text(element.value)}, {written}{rest})"


def positional(frame: Frame, node: ast.Call, name: str, least: int, most: int | None) -> list[ast.expr] | None:
    """The arguments of a builtin that takes no keywords; None (reported) if there are too few or too many."""
    if not plain_arguments(frame, node):
        return None
    if node.keywords:
        frame.error(node.keywords[0], f"{name}() takes no keyword arguments in a kernel")
        return None
    if len(node.args) < least or (most is not None and len(node.args) > most):
        count = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
        plural = "" if count == "1" else "s"
        frame.error(node, f"{name}() takes {count} argument{plural}, and this gives {len(node.args)}")
        return None
    return node.args
