"""Barriers of more than a block: of a cluster, and of the whole grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir as llvm

from kdsl.codegen.context import Context
from kdsl.codegen.types import I32, I64, VOID, pointer
from kdsl.ir import nodes as ir
from kdsl.lang.types import Space

_BARRIER = "llvm.nvvm.barrier.cluster."
# PTX ISA 9.0, 9.7.13.4: barrier.cluster.arrive.relaxed came with 8.0.
_RELAXED_PTX = 80
_FLIPPED = 0x8000_0000
_COUNTER_OFFSET = 4


def _arrive(context: Context, call: ir.IntrinsicCall, _: Sequence[llvm.Value]) -> Any:
    # Why not .aligned? It is the same machine code, and threads of a warp that have parted may come.
    if dict(call.constants)["order"] == "release":
        return context.call(f"{_BARRIER}arrive", VOID, [], convergent=True)
    context.require_ptx(_RELAXED_PTX)
    return context.call(f"{_BARRIER}arrive.relaxed", VOID, [], convergent=True)


def _cluster_sync(context: Context, _: ir.IntrinsicCall, __: Sequence[llvm.Value]) -> Any:
    context.call(f"{_BARRIER}arrive", VOID, [], convergent=True)
    return context.call(f"{_BARRIER}wait", VOID, [], convergent=True)


def _map_shared_rank(context: Context, call: ir.IntrinsicCall, arguments: Sequence[llvm.Value]) -> Any:
    # Why not LLVM's intrinsic? It says that it does not capture its operand, so that what is stored through its result
    # is taken to be elsewhere, at the block's own rank too.
    builder = context.builder
    address = builder.ptrtoint(arguments[0], I32)
    signature = llvm.FunctionType(I32, [I32, I32])
    mapped = builder.asm(
        signature, "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", [address, arguments[1]], side_effect=False
    )
    return builder.inttoptr(mapped, context.type(call.type))


def _shared_rank_of(context: Context, _: ir.IntrinsicCall, arguments: Sequence[llvm.Value]) -> Any:
    # Why not LLVM's intrinsic? It takes pointers into the block's own shared memory only.
    address = context.builder.ptrtoint(arguments[0], I32)
    signature = llvm.FunctionType(I32, [I32])
    return context.builder.asm(
        signature, "getctarank.shared::cluster.u32 $0, $1;", "=r,r", [address], side_effect=False
    )


def _grid_sync(context: Context, _: ir.IntrinsicCall, __: Sequence[llvm.Value]) -> Any:
    """One thread of each block counts its block in, and waits until the top bit of the counter flips.

    Every block adds 1 but the first one, which adds what is missing to 2^31: when all have come, the lower bits are 0
    again and the top bit has changed, so that the counter needs no reset between barriers or launches. It is the
    driver's, a fresh one for each cooperative launch: launches of one kernel in two streams share nothing.

    The block's barriers order its threads before the release and behind the acquire.
    """
    builder = context.builder
    _block_barrier(context)
    arriving, waiting, done = (builder.append_basic_block(f"grid_sync.{n}") for n in ("arrive", "wait", "done"))
    builder.cbranch(_is_zero(context, "tid"), arriving, done)

    builder.position_at_end(arriving)
    counter = _counter(context)
    blocks = _register(context, "nctaid.x")
    for axis in "yz":
        blocks = builder.mul(blocks, _register(context, f"nctaid.{axis}"))
    missing = builder.sub(llvm.Constant(I32, _FLIPPED + 1), blocks)
    amount = builder.select(_is_zero(context, "ctaid"), missing, llvm.Constant(I32, 1))
    signature = llvm.FunctionType(I32, [I64, I32])
    before = builder.asm(
        signature, "atom.release.gpu.add.u32 $0, [$1], $2;", "=r,l,r,~{memory}", [counter, amount], side_effect=True
    )
    address = builder.inttoptr(counter, pointer(Space.GENERIC))
    builder.branch(waiting)

    builder.position_at_end(waiting)
    now = builder.load_atomic(address, 'syncscope("device") acquire', 4, typ=I32)
    flipped = builder.icmp_signed("<", builder.xor(before, now), llvm.Constant(I32, 0))
    builder.cbranch(flipped, done, waiting)

    builder.position_at_end(done)
    return _block_barrier(context)


def _block_barrier(context: Context) -> Any:
    return context.call("llvm.nvvm.barrier.cta.sync.aligned.all", VOID, [llvm.Constant(I32, 0)], convergent=True)


def _register(context: Context, name: str) -> Any:
    """A special register read here, where one thread needs it, and not at the top of the function."""
    return context.call(f"llvm.nvvm.read.ptx.sreg.{name}", I32, [])


def _is_zero(context: Context, index: str) -> Any:
    """Whether all three components of an index are 0."""
    x, y, z = (_register(context, f"{index}.{axis}") for axis in "xyz")
    builder = context.builder
    return builder.icmp_unsigned("==", builder.or_(builder.or_(x, y), z), llvm.Constant(I32, 0))


def _counter(context: Context) -> Any:
    """The address of the launch's counter: in the workspace that a cooperative launch gets of the driver, whose address
    is in two of PTX's environment registers. CUDA's own grid groups rely on it (cooperative_groups, driver_abi.h).
    """
    builder = context.builder
    high, low = (builder.zext(_register(context, name), I64) for name in ("envreg1", "envreg2"))
    workspace = builder.or_(builder.shl(high, llvm.Constant(I64, 32)), low)
    return builder.add(workspace, llvm.Constant(I64, _COUNTER_OFFSET))


CLUSTER: Mapping[str, Callable[[Context, ir.IntrinsicCall, Sequence[llvm.Value]], Any]] = {
    "cluster_arrive": _arrive,
    "cluster_sync": _cluster_sync,
    "map_shared_rank": _map_shared_rank,
    "shared_rank_of": _shared_rank_of,
    "grid_sync": _grid_sync,
}
