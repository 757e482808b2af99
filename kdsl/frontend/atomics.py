"""``atomic.add(a, i, v)`` and the other atomics: on an element of a Ptr, Array, shared or local array."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import converted
from kdsl.frontend.memory import address_of, elements
from kdsl.frontend.values import POISON, Poison, Runtime, Value
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import AtomicOp
from kdsl.lang.types import F32, F64, I32, I64, U32, U64, ScalarType

INTS = (I32, U32, I64, U64)
TYPES: dict[AtomicOp, tuple[ScalarType, ...]] = {
    AtomicOp.ADD: (*INTS, F32, F64),
    AtomicOp.SUB: (*INTS, F32, F64),
    AtomicOp.MIN: (*INTS, F32, F64),
    AtomicOp.MAX: (*INTS, F32, F64),
    AtomicOp.EXCH: (*INTS, F32, F64),
    AtomicOp.CAS: (*INTS, F32, F64),
    AtomicOp.AND: INTS,
    AtomicOp.OR: INTS,
    AtomicOp.XOR: INTS,
    AtomicOp.INC: (U32,),
    AtomicOp.DEC: (U32,),
}


def atomic(op: AtomicOp) -> Callable[[Frame, ast.Call], Value]:
    """The handler of one atomic."""
    values = ("expected", "new") if op is AtomicOp.CAS else ("value",)

    def call(frame: Frame, node: ast.Call) -> Value:
        name = frame.text(node.func)
        found = match_arguments(frame, node, name, ("array", "index", *values))
        if found is None:
            return POISON
        array, index = frame.value(found["array"]), frame.value(found["index"])
        given = [frame.value(found[v]) for v in values]
        if any(isinstance(v, Poison) for v in (array, index, *given)):
            return POISON
        indices = elements(frame, index, found["index"]) or (index,)
        written = found["index"]
        places = tuple(written.elts) if isinstance(written, ast.Tuple) else (written,) * len(indices)
        address = address_of(frame, array, found["array"], indices, places, node)
        if address is None:
            return POISON
        type = address.type.element
        if type not in TYPES[op]:
            takes = ", ".join(str(t) for t in TYPES[op])
            return frame.error(found["array"], f"{name}() takes elements of {takes}, and these are {type}")
        assert isinstance(type, ScalarType)
        operands = [converted(frame, v, type, found[n], f"{name}()") for n, v in zip(values, given, strict=True)]
        if None in operands:
            return POISON
        return Runtime(ir.Atomic(op, address, tuple(o for o in operands if o is not None), type, frame.span(node)))

    return call
