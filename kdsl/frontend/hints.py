"""What to write instead: hints for numbers that do not fit, and for names that are not defined."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from kdsl.lang.float8 import FORMATS
from kdsl.lang.types import ScalarType, boolean

if TYPE_CHECKING:
    from kdsl.frontend.frame import Frame


def misfit(value: int | float | complex, type: ScalarType) -> tuple[str, str | None]:
    """Message and hint for a literal that does not fit the type that it meets."""
    if isinstance(value, complex):
        return f"{value} is a complex literal where {type} is needed", "take a part: .real or .imag"
    if type == boolean:
        return f"{value} is a number where a bool is needed", f"write {bool(value)}"
    if isinstance(value, float) and type.is_int:
        return f"{value} is a float literal where {type} is needed", f"write an int, or cast it: {type}({value})"
    shown = value if abs(value) < 10**40 else "this constant"
    if type.is_float:
        return (
            f"{shown} does not fit {type}",
            "the largest f32 is about 3.4e38; use f64" if type.bits == 32 else None,
        )
    if type.is_float8:
        largest = f"{FORMATS[type.name].largest:.0f}"
        return f"{shown} does not fit {type}", f"the largest {type} is {largest}; {type}({value}) gives it"
    hint = f"write {type}({value}) to keep the low bits" if abs(value) < 1 << 64 else None
    if type.bits < 64 and 1 << 31 <= abs(value) < 1 << 63:
        hint = f"write i64({value}), or {type}({value}) to keep the low bits"
    return f"{shown} does not fit {type}, which holds {type.minimum} to {type.maximum}", hint


def take_part(frame: Frame, node: ast.expr) -> str:
    """What to write where a real number is needed and this is a complex one."""
    text = frame.text(node)
    is_atom = isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
    return f"take a part: {text if is_atom else f'({text})'}.real"


def public_names() -> list[str]:
    """What a kernel's file can import from kdsl for use in it."""
    import kdsl  # only for its table of names: the package itself imports nothing

    return [name for name, home in kdsl._HOME.items() if home.startswith(("kdsl.lang", "kdsl.variables"))]


def similar(name: str, known: list[str]) -> str | None:
    """A hint for a name that is not imported or misspelt; ``known`` are those that may be meant."""
    import difflib  # start-up cost: only for an error

    from kdsl.frontend.cuda_names import of_cuda
    from kdsl.lang import math as device_math

    public = public_names()
    if name in public:
        return f"from kdsl import {name}"
    if name in device_math.__all__:
        return f"from kdsl import math, and write math.{name}"
    if (instead := of_cuda(name)) is not None:
        return f"CUDA's `{name}` is {instead} here" if " " not in instead.split("(")[0] else instead
    close = difflib.get_close_matches(name, [*known, *public], n=1)
    return f"did you mean `{close[0]}`?" if close else None
