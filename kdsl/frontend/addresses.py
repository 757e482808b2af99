"""``address_of(a[i].mass)``: where an element, or a part of one, lies in memory."""

from __future__ import annotations

import ast

from kdsl.frontend.arguments import positional
from kdsl.frontend.describing import describe_object
from kdsl.frontend.frame import Frame
from kdsl.frontend.places import InMemory, OfVariable, origin
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value


def address_of(frame: Frame, node: ast.Call) -> Value:
    """A pointer to what its argument was loaded from."""
    arguments = positional(frame, node, "address_of", 1, 1)
    if arguments is None:
        return POISON
    place = arguments[0]
    value = frame.value(place)
    if isinstance(value, Poison):
        return POISON
    text = frame.text(place)
    found = origin(frame, value.expr) if isinstance(value, Runtime) else None
    if isinstance(found, InMemory):
        return Runtime(found.address)
    if isinstance(found, OfVariable):
        hint = f"local.array(1, {found.type}) is a variable that has one"
        return frame.error(place, f"`{text}` is in a register, which has no address", hint)
    what = describe_object(value.object, text) if isinstance(value, Static) else f"`{text}`"
    return frame.error(
        place, f"{what} does not lie in memory", "address_of() takes an element or a part of one: a[i].x"
    )
