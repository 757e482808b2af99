"""The index of what a call may name besides functions and types: the frontend knows each object by identity."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from functools import cache
from typing import Any

from kdsl import complex_functions
from kdsl.frontend import (
    addresses,
    alignment,
    arrays,
    atomics,
    builtin,
    caching,
    casts,
    choosing,
    complex_numbers,
    printing,
    scratch,
    sizes,
    tuples,
)
from kdsl.frontend.barriers import named_barrier
from kdsl.frontend.clusters import map_rank, rank_of
from kdsl.frontend.frame import Frame
from kdsl.frontend.policies import fractional
from kdsl.frontend.values import Value
from kdsl.groups.scratch import collect, collect_from, deposit
from kdsl.ir.nodes import AtomicOp, UnaryOp
from kdsl.lang import atomic
from kdsl.lang import groups as lang_groups
from kdsl.lang.alignment import assume_aligned, copy_block, is_aligned
from kdsl.lang.casts import bitcast
from kdsl.lang.cluster import map_shared_rank, shared_rank_of
from kdsl.lang.inline import asm
from kdsl.lang.memory import address_of, constant, load, local, prefetch, shared, store
from kdsl.lang.policies import createpolicy_fractional
from kdsl.lang.sizes import align_of, size_of
from kdsl.lang.static import static_assert, static_range, type_of, unroll
from kdsl.lang.synchronization import barrier, barrier_arrive

Handler = Callable[[Frame, ast.Call], Value]


def _group(name: str) -> Handler:
    def call(frame: Frame, node: ast.Call) -> Value:
        from kdsl.frontend import groups  # start-up cost: only kernels with groups need it

        return groups.make(frame, node, name)

    return call


def _inline(frame: Frame, node: ast.Call) -> Value:
    from kdsl.frontend import inline  # start-up cost: few kernels have PTX of their own

    return inline.asm(frame, node)


@cache
def handlers() -> dict[int, tuple[Any, Handler]]:
    """What each object becomes when it is called, by the object's id (some are unhashable); it is kept alive."""
    table: list[tuple[Any, Handler]] = [
        (builtins.min, builtin.minimum),
        (builtins.max, builtin.maximum),
        (builtins.abs, builtin.one_operand(UnaryOp.ABS)),
        (builtins.round, builtin.round_),
        (builtins.pow, builtin.power),
        (builtins.divmod, builtin.divmod_),
        (builtins.len, builtin.length),
        (builtins.range, builtin.range_),
        (builtins.enumerate, tuples.enumerate_),
        (builtins.zip, tuples.zip_),
        (builtins.reversed, tuples.reversed_),
        (builtins.tuple, tuples.tuple_),
        (builtins.sum, tuples.sum_),
        (builtins.any, tuples.any_),
        (builtins.all, tuples.all_),
        (builtins.print, printing.print_),
        (math.floor, builtin.one_operand(UnaryOp.FLOOR)),
        (math.ceil, builtin.one_operand(UnaryOp.CEIL)),
        (bitcast, casts.bitcast),
        (shared.array, arrays.shared_array),
        (constant.array, arrays.constant_array),
        (shared.dynamic, arrays.shared_dynamic),
        (local.array, arrays.local_array),
        (atomic.add, atomics.atomic(AtomicOp.ADD)),
        (atomic.sub, atomics.atomic(AtomicOp.SUB)),
        (atomic.min, atomics.atomic(AtomicOp.MIN)),
        (atomic.max, atomics.atomic(AtomicOp.MAX)),
        (atomic.exch, atomics.atomic(AtomicOp.EXCH)),
        (atomic.and_, atomics.atomic(AtomicOp.AND)),
        (atomic.or_, atomics.atomic(AtomicOp.OR)),
        (atomic.xor, atomics.atomic(AtomicOp.XOR)),
        (atomic.inc, atomics.atomic(AtomicOp.INC)),
        (atomic.dec, atomics.atomic(AtomicOp.DEC)),
        (atomic.cas, atomics.atomic(AtomicOp.CAS)),
        (atomic.load, atomics.load),
        (atomic.store, atomics.store),
        (barrier, named_barrier(barrier)),
        (createpolicy_fractional, fractional),
        (barrier_arrive, named_barrier(barrier_arrive)),
        (map_shared_rank, map_rank),
        (shared_rank_of, rank_of),
        (address_of, addresses.address_of),
        (load, caching.load),
        (store, caching.store),
        (prefetch, caching.prefetch),
        (asm, _inline),
        (assume_aligned, alignment.assume_aligned),
        (is_aligned, alignment.is_aligned),
        (copy_block, alignment.copy_block),
        (lang_groups.this_block, _group("Block")),
        (lang_groups.this_cluster, _group("Cluster")),
        (lang_groups.this_grid, _group("Grid")),
        (lang_groups.tile, _group("Tile")),
        (lang_groups.coalesced, _group("Coalesced")),
        (deposit, scratch.deposit),
        (collect, scratch.collect),
        (collect_from, scratch.collect_from),
        (static_range, builtin.static_range),
        (unroll, builtin.unroll),
        (static_assert, builtin.static_assert),
        (type_of, choosing.type_of_),
        (size_of, sizes.size_of),
        (align_of, sizes.align_of),
        (builtins.isinstance, choosing.isinstance_),
        (complex_functions.joined, complex_numbers.joined),
    ]
    return {id(object): (object, handler) for object, handler in table}


def handler(object: Any) -> Handler | None:
    """What an object becomes when it is called; None if it is no construct of the language."""
    found = handlers().get(id(object))
    return found[1] if found is not None else None
