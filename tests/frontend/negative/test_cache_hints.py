"""Hints that contradict each other, or are of memory that has no caches."""

from __future__ import annotations

from kdsl import Ptr, createpolicy_fractional, f32, i32, kernel, load, prefetch, shared, store, u64

from ..harness import check_errors


def test_hints():
    @kernel
    def k(x: Ptr[f32], n: i32, p: u64):
        s = shared.array(4, f32)
        a = load(x, 0, cache="cg", evict="first")  # error: an access has a cache operator or a priority of eviction
        #   # hint: leave out one of them; cache='cg' says when the line is evicted, too
        b = load(x, 0, evict="never")  # error: `evict` of load() takes 'first' or 'last' or 'normal' or 'unchanged' or
        #   'no_allocate', known while the kernel is compiled
        c = load(x, 0, l2_prefetch=32)  # error: `l2_prefetch` of load() takes 64 or 128 or 256, known while the kernel
        #   is compiled
        d = load(x, 0, l2_prefetch=n)  # error: `l2_prefetch` of load() takes 64 or 128 or 256, known while the kernel
        #   is compiled
        e = load(s, 0, evict="first")  # error: `evict` of load() is of global memory, and this is shared memory
        f = load(s, 0, policy=p)  # error: `policy` of load() is of global memory, and this is shared memory
        g = load(x, 0, volatile=True, evict="first")  # error: a volatile access has no `evict`
        #   # hint: leave out one of them
        h = load(x, 0, volatile=True, policy=p)  # error: a volatile access has no `policy`
        j = load(x, 0, policy=n)  # error: `policy` of load() is what createpolicy_fractional() gives, and this is i32
        store(x, 0, 1.0, l2_prefetch=64)  # error: store() has no parameter `l2_prefetch`
        store(x, 0, 1.0, cache="cs", evict="first")  # error: an access has a cache operator or a priority of eviction
        prefetch(x, 0, level="L2::evict_first")  # error: `level` of prefetch() takes 'L1' or 'L2' or
        #   'L2::evict_last' or 'L2::evict_normal', known while the kernel is compiled
        q = createpolicy_fractional("last")  # error: `primary` takes 'evict_last' or 'evict_normal' or 'evict_first' or
        #   'evict_unchanged', known while the kernel is compiled
        r = createpolicy_fractional("evict_first", secondary="evict_last")  # error: `secondary` takes
        #   'evict_unchanged' or 'evict_first', known while the kernel is compiled
        t = createpolicy_fractional("evict_last", 2)  # error: a fraction is above 0 and up to 1, and this is 2.0
        v = createpolicy_fractional("evict_last", 0.0)  # error: a fraction is above 0 and up to 1, and this is 0.0
        w = load(x, 0, policy=u64(3))  # error: `policy` of load() is what createpolicy_fractional() gives, and this is
        #   a constant

    check_errors(k)
