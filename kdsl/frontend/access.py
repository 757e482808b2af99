"""What the calls that access one element have in common: its address, its type, and options that are constants."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, TypeVar

from kdsl.frontend.effects import has_effects
from kdsl.frontend.frame import Frame
from kdsl.frontend.intrinsics import constant_of
from kdsl.frontend.memory import address_of, elements, written_address
from kdsl.frontend.values import Poison, Runtime
from kdsl.frontend.vectors import vector_type
from kdsl.ir import nodes as ir
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ScalarType, VectorType

T = TypeVar("T")


def address_argument(frame: Frame, node: ast.Call, found: dict[str, ast.expr]) -> ir.ElementAddress | None:
    """The address of the element that the arguments ``array`` and ``index`` name; None (reported) if they name none."""
    array, index = frame.value(found["array"]), frame.value(found["index"])
    if isinstance(array, Poison) or isinstance(index, Poison):
        return None
    indices = (None if vector_type(index) else elements(frame, index, found["index"])) or (index,)
    written = found["index"]
    places = tuple(written.elts) if isinstance(written, ast.Tuple) else (written,) * len(indices)
    return address_of(frame, array, found["array"], indices, places, node)


def written_argument(frame: Frame, node: ast.Call, found: dict[str, ast.expr]) -> ir.ElementAddress | None:
    """The same of what is to be written."""
    address = address_argument(frame, node, found)
    return None if address is None else written_address(frame, address, found["array"])


def element_type(
    frame: Frame, address: ir.ElementAddress, types: tuple[ScalarType, ...], found: dict[str, ast.expr], name: str
) -> ScalarType | None:
    """The element's type; None (reported) if it is none of ``types``."""
    type = address.type.element
    if type in types and isinstance(type, ScalarType):
        return type
    takes = ", ".join(str(t) for t in types)
    hint = None
    if isinstance(type, VectorType):
        hint = f"take a component's address: bitcast({frame.text(found['array'])}, Ptr[{type.element}])"
    if isinstance(type, StructType):
        array, index = frame.text(found["array"]), frame.text(found["index"])
        hint = f"take a field's address: {name}(address_of({array}[{index}].{type.fields[0].name}), 0, ...)"
    frame.error(found["array"], f"{name}() takes elements of {takes}, and these are {type}", hint)
    return None


def choice(
    frame: Frame, found: dict[str, ast.expr], parameter: str, choices: Mapping[Any, T], default: T, name: str
) -> T | None:
    """What a constant among the arguments means; None (reported) if it is none of ``choices``."""
    if parameter not in found:
        return default
    value = frame.value(found[parameter])
    constant = constant_of(value)
    # True == 1, and is no choice for it.
    if any(type(c) is type(constant) and c == constant for c in choices):
        return choices[constant]
    if not isinstance(value, Poison):
        takes = " or ".join(map(repr, choices))
        frame.error(found[parameter], f"`{parameter}` of {name}() takes {takes}, known while the kernel is compiled")
    return None


def store_in_order(
    frame: Frame,
    address: ir.ElementAddress,
    value: ir.Expr,
    node: ast.Call,
    access: ir.Access | None,
    policy: ir.Expr | None = None,
) -> None:
    """A store whose address is computed first, as the arguments of a call are."""
    where: ir.Expr = address
    if has_effects(Runtime(value)) or has_effects(Runtime(address)):
        local = frame.local("address", address.type)
        frame.emit(ir.Assign(local, address, address.span))
        where = ir.Read(local, address.type, address.span)
    frame.emit(ir.Store(where, value, frame.span(node), access, policy))
