"""Wrong uses of the shared memory of other blocks of a cluster."""

from __future__ import annotations

from kdsl import (
    Array,
    Ptr,
    asm,
    cluster_arrive,
    cluster_idx,
    cluster_rank,
    cluster_sync,
    f32,
    i32,
    i64,
    kernel,
    load,
    local,
    map_shared_rank,
    shared,
    shared_rank_of,
)

from ..harness import check_errors


def test_what_is_mapped():
    @kernel
    def k(x: Ptr[f32], a: Array[f32, 2], r: f32, r64: i64):
        s = shared.array(32, f32)
        mine = local.array(4, f32)
        map_shared_rank(x, 0)  # error: map_shared_rank() takes an array or pointer in shared memory, and `x` is
        #   Ptr[f32]
        map_shared_rank(a, 0)  # error: map_shared_rank() takes an array or pointer in shared memory, and `a` is
        #   Array[f32, 2]
        map_shared_rank(mine, 0)  # error: map_shared_rank() takes an array or pointer in shared memory, and `mine` is
        #   a local array of 4 f32
        map_shared_rank(3, 0)  # error: map_shared_rank() takes an array or pointer in shared memory, and this is no
        #   array
        map_shared_rank(s)  # error: map_shared_rank() needs `rank`
        map_shared_rank(s, r)  # error: the rank of map_shared_rank() is an int, and this is f32
        #   hint: cast it: i32(r)
        map_shared_rank(s, r64)  # error: the rank of map_shared_rank() has 32 bits, and this is i64
        #   hint: i32(r64)
        map_shared_rank(s, 16)  # error: a cluster has the ranks 0 to 15 at most, and this is 16
        map_shared_rank(s, -1)  # error: a cluster has the ranks 0 to 15 at most, and this is -1
        map_shared_rank(s, "1")  # error: the rank of map_shared_rank() is an int
        there = map_shared_rank(s, 1)
        map_shared_rank(there, 0)  # error: map_shared_rank() takes an array or pointer in shared memory, and `there` is
        #   a cluster array of 32 f32
        shared_rank_of(x)  # error: shared_rank_of() takes an array or pointer in shared memory, and `x` is Ptr[f32]
        there[32] = 1.0  # error: index 32 is out of range: `there` has extent 32 along axis 0
        load(there, 0, cache="cg")  # error: `cache` of load() is of global memory, and this is cluster memory

    check_errors(k)


def test_registers_and_barriers():
    @kernel
    def k(x: Ptr[i32]):
        x[0] = cluster_idx.w  # error: `cluster_idx` has no attribute `w`
        x[0] = cluster_rank  # error: the function `cluster_rank` is not a value that a kernel computes with
        cluster_sync(1)  # error: cluster_sync() takes 0 arguments, and this gives 1
        cluster_arrive("acquire")  # error: `order` takes 'release' or 'relaxed', known while the kernel is compiled

    check_errors(k)


def test_addresses_in_inline_ptx():
    @kernel
    def k(x: Ptr[f32]):
        s = shared.array(32, f32)
        there = map_shared_rank(s, 1)
        x[0] = asm("ld.shared.f32 {d}, [{p}];", p=there, out=f32)  # error: `p` is an address in shared::cluster memory,
        #   and `ld.shared.f32` is not of it
        x[1] = asm("ld.shared::cluster.f32 {d}, [{p}];", p=s, out=f32)
        x[2] = asm("ld.shared::cluster.f32 {d}, [{p}];", p=x, out=f32)  # error: `p` is an address in global memory, and
        #   `ld.shared::cluster.f32` is not of it

    check_errors(k)
