"""Signatures as the command line has them: ``n=16``, ``T=f64``, ``f=module_function``.

A value is a literal, a name of the file or of kdsl, an attribute of one (an enum's member), a type such as
``Ptr[f32]``, or a tuple of such. Nothing is called.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import kdsl


class SignatureError(Exception):
    """The text of a signature says no value; the message says why."""


def parsed(texts: tuple[str, ...], names: Mapping[str, Any]) -> dict[str, Any]:
    """The signature that ``NAME=VALUE`` texts say; ``names`` are those of the file."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, written = text.partition("=")
        if not equals or not name.strip().isidentifier() or not written.strip():
            raise SignatureError(f"--signature takes NAME=VALUE, such as T=f64 or n=16, got {text!r}")
        if name.strip() in found:
            raise SignatureError(f"--signature says {name.strip()} twice")
        try:
            node = ast.parse(written.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            raise SignatureError(f"--signature {text}: {written!r} is no value of Python") from None
        found[name.strip()] = _value(node, names, partial(_wrong, text))
    return found


def _wrong(text: str, why: str) -> SignatureError:
    return SignatureError(f"--signature {text}: {why}")


def _value(node: ast.expr, names: Mapping[str, Any], wrong: Callable[[str], SignatureError]) -> Any:
    match node:
        case ast.Name(name):
            if name in names:
                return names[name]
            if name in kdsl.__all__:
                return getattr(kdsl, name)
            if name in ("int", "float", "bool", "complex"):
                return {"int": int, "float": float, "bool": bool, "complex": complex}[name]
            raise wrong(f"neither the file nor kdsl has the name {name!r}")
        case ast.Attribute(value, name):
            owner = _value(value, names, wrong)
            if not hasattr(owner, name):
                raise wrong(f"{ast.unparse(value)} has no {name!r}")
            return getattr(owner, name)
        case ast.Subscript(value, index):
            return _indexed(_value(value, names, wrong), _value(index, names, wrong), node, wrong)
        case ast.Tuple(elements):
            return tuple(_value(element, names, wrong) for element in elements)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        raise wrong(f"write a literal, or a name of the file, instead of {ast.unparse(node)}") from None


def _indexed(owner: Any, index: Any, node: ast.expr, wrong: Callable[[str], SignatureError]) -> Any:
    """``Ptr[f32]``: the types of the kernel language alone are indexed."""
    if not str(getattr(owner, "__module__", "")).startswith("kdsl."):
        raise wrong(f"only types such as Ptr[f32] have brackets here, and this is {ast.unparse(node)}")
    try:
        return owner[index]
    except TypeError as error:
        raise wrong(str(error)) from None
