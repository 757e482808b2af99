"""``map_shared_rank(array, rank)`` and ``shared_rank_of(pointer)``: shared memory of the other blocks of a cluster."""

from __future__ import annotations

import ast
from dataclasses import replace

from kdsl.frontend.arguments import match_arguments
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import cast
from kdsl.frontend.memory_index import int_of
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Value, constant_int, describe
from kdsl.ir import nodes as ir
from kdsl.lang.intrinsic import Emit, Intrinsic
from kdsl.lang.types import I32, U32, ArrayType, PointerType, ScalarType, Space
from kdsl.source import Span

MOST_BLOCKS = 16
"""Of a cluster, on every architecture so far (CUDA C++ Programming Guide, thread block clusters)."""


def map_shared_rank() -> None:
    """The shared memory of another block."""


def shared_rank_of() -> None:
    """The block whose shared memory it is."""


_MAPA = Intrinsic(
    map_shared_rank,
    Emit("map_shared_rank"),
    "mapa.shared::cluster",
    min_sm=90,
)
_RANK = Intrinsic(shared_rank_of, Emit("shared_rank_of"), "getctarank.shared::cluster", min_sm=90)


def map_rank(frame: Frame, node: ast.Call) -> Value:
    """``map_shared_rank(array, rank)``."""
    name = "map_shared_rank"
    found = match_arguments(frame, node, name, ("array", "rank"))
    if found is None:
        return POISON
    array, rank = _shared(frame, found["array"], name), _rank(frame, found["rank"], name)
    if array is None or rank is None:
        return POISON
    return Runtime(in_block(array, rank, frame.span(node)))


def in_block(array: ir.Expr, rank: ir.Expr, span: Span) -> ir.Expr:
    """The same array, or pointer into shared memory, in another block."""
    assert isinstance(array.type, PointerType | ArrayType)
    type = replace(array.type, space=Space.CLUSTER)
    return ir.IntrinsicCall(_MAPA, (array, rank), ("array", "rank"), None, type, span)


def rank_of(frame: Frame, node: ast.Call) -> Value:
    """``shared_rank_of(pointer)``."""
    name = "shared_rank_of"
    found = match_arguments(frame, node, name, ("pointer",))
    if found is None:
        return POISON
    pointer = _shared(frame, found["pointer"], name, (Space.SHARED, Space.CLUSTER))
    if pointer is None:
        return POISON
    return Runtime(ir.IntrinsicCall(_RANK, (pointer,), ("pointer",), None, U32, frame.span(node)))


def _shared(frame: Frame, place: ast.expr, name: str, spaces: tuple[Space, ...] = (Space.SHARED,)) -> ir.Expr | None:
    """A shared array or pointer; None (reported) for anything else."""
    value = frame.value(place)
    if isinstance(value, Poison):
        return None
    type = value.type if isinstance(value, Runtime) else None
    if isinstance(value, Runtime) and isinstance(type, PointerType | ArrayType) and type.space in spaces:
        return value.expr
    what = f"`{frame.text(place)}` is {describe(type)}" if type is not None else "this is no array"
    hint = "map the block's own array" if _is_mapped(value) else "such as s = shared.array(32, f32)"
    frame.error(place, f"{name}() takes an array or pointer in shared memory, and {what}", hint)
    return None


def _is_mapped(value: Value) -> bool:
    type = value.type if isinstance(value, Runtime) else None
    return isinstance(type, PointerType | ArrayType) and type.space is Space.CLUSTER


def _rank(frame: Frame, place: ast.expr, name: str) -> ir.Expr | None:
    """The rank as a u32; None (reported) if it is no int, or a constant that no cluster has."""
    value = frame.value(place)
    number = constant_int(value)
    if number is not None and not 0 <= number < MOST_BLOCKS:
        frame.error(place, f"a cluster has the ranks 0 to {MOST_BLOCKS - 1} at most, and this is {number}")
        return None
    if isinstance(value, Poison):
        return None
    if isinstance(value, Static):
        frame.error(place, f"the rank of {name}() is an int")
        return None
    rank = int_of(frame, value, place, f"the rank of {name}() is an int")
    if rank is None:
        return None
    assert isinstance(rank.type, ScalarType)
    if rank.type.bits > U32.bits:
        frame.error(place, f"the rank of {name}() has 32 bits, and this is {rank.type}", f"i32({frame.text(place)})")
        return None
    return rank if rank.type in (I32, U32) else cast(rank, U32, frame.span(place))
