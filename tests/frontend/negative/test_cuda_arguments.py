"""Functions of the language with the arguments that their namesakes of CUDA C++ or Numba take: the hint is the call."""

# mypy: disable-error-code="call-arg, operator, call-overload, arg-type"

from __future__ import annotations

from kdsl import (
    Ptr,
    ballot_sync,
    barrier,
    barrier_arrive,
    elect_sync,
    f32,
    grid,
    grid_sync,
    gridsize,
    i32,
    kernel,
    lane_id,
    load,
    reduce_add_sync,
    shared,
    shfl_down_sync,
    store,
    sync_threads,
    sync_threads_or,
    thread_idx,
)

from ..harness import check_errors


def test_barriers():
    @kernel
    def k(n: i32):
        barrier()  # error: barrier() needs `id` and `count`
        # hint: it takes id, count; sync_threads() waits for all threads of the block, and barrier(id, count) for
        #   count of them
        barrier_arrive(1)  # error: barrier_arrive() needs `count`
        # hint: it takes id, count; barrier_arrive(id, count) is for threads that do not wait at barrier(id, count)
        sync_threads(0)  # error: sync_threads() takes 0 arguments, and this gives 1
        # hint: write sync_threads(); barrier(id, count) waits for some of the block's threads
        sync_threads_or()  # error: sync_threads_or() needs `predicate`
        # hint: write sync_threads_or(p), or sync_threads()
        grid_sync(0)  # error: grid_sync() takes 0 arguments, and this gives 1
        # hint: it takes none: write grid_sync()

    check_errors(k)


def test_warps():
    @kernel
    def k(n: i32):
        shfl_down_sync(n, 16)  # error: shfl_down_sync() needs `delta`
        # hint: it takes mask, value, delta, width; the mask comes first: shfl_down_sync(FULL_MASK, value, delta)
        ballot_sync(n > 0)  # error: ballot_sync() needs `predicate`
        # hint: it takes mask, predicate; the mask comes first: ballot_sync(FULL_MASK, predicate)
        reduce_add_sync(n)  # error: reduce_add_sync() needs `value`
        # hint: it takes mask, value; the mask comes first: reduce_add_sync(FULL_MASK, value)
        elect_sync()  # error: elect_sync() needs `mask` # hint: such as elect_sync(FULL_MASK)
        lane_id(0)  # error: lane_id() takes 0 arguments, and this gives 1 # hint: it takes none: write lane_id()

    check_errors(k)


def test_places_of_threads():
    @kernel
    def k(n: i32):
        a = grid()  # error: grid() needs `ndim`
        # hint: grid(1) is the thread's index in the whole grid, grid(2) the pair along x and y
        b = gridsize()  # error: gridsize() needs `ndim`
        # hint: gridsize(1) counts the threads of the whole grid along x
        c = thread_idx()  # error: `thread_idx` is a Registers, not a function that a kernel can call
        # hint: read thread_idx.x, .y or .z, without a call
        d = thread_idx.x()  # error: `thread_idx.x` is i32, not a function # hint: write thread_idx.x, without a call

    check_errors(k)


def test_memory():
    @kernel
    def k(x: Ptr[f32]):
        a = shared.array(f32, 4)  # error: an extent of shared.array() is an int, and this is `f32`
        # hint: such as shared.array(64, f32)
        # error: shared.array() takes a scalar, vector or struct type here
        # hint: such as shared.array(64, f32)
        load(x)  # error: load() needs `index`
        # hint: it takes array, index, cache, volatile, evict, policy, l2_prefetch; such as load(x, i)
        store(x, 1.0)  # error: store() needs `value`
        # hint: it takes array, index, value, cache, volatile, evict, policy; such as store(x, i, value)

    check_errors(k)
