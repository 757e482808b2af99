"""Shared and local arrays that a kernel reads, and that nothing in it writes."""

from __future__ import annotations

from kdsl import Array, Ptr, atomic, f32, i32, kernel, local, map_shared_rank, shared, static_range, struct, thread_idx

from ..harness import check_errors, module_of


@struct
class Pair:
    left: f32
    right: f32


def test_arrays_that_nothing_writes():
    @kernel
    def k(a: Ptr[f32], n: i32):
        s = local.array(8, f32)
        t, u = shared.array((4, 4), f32), local.array(4, Pair)
        for i in range(n):
            a[i] = (
                s[i & 7]  # error: `s` is read, and nothing writes it
                #   hint: a new local.array() holds no zeros: store to its elements first
                + s[0]
                + t[0, i]  # error: `t` is read, and nothing writes it
                #   hint: a new shared.array() holds no zeros: store to its elements first
                + u[i].left  # error: `u` is read, and nothing writes it
            )

    check_errors(k)


def first_of(x: Ptr[f32]) -> f32:
    return x[0]


def sum_of_scratch(x):
    s = local.array(4, f32)
    return x + s[1]  # error: `s` is read, and nothing writes it


def test_arrays_of_a_helper_and_of_a_loop():
    @kernel
    def k(a: Ptr[f32], n: i32):
        for i in range(n):
            t = local.array(2, i32)
            t[0] = i
            v = local.array(2, i32)
            if t[1] > 0:
                a[i] = sum_of_scratch(first_of(a)) + v[i]  # error: `v` is read, and nothing writes it

    check_errors(k, helpers=[sum_of_scratch])


def set_first(x):
    x[0] = 1.0


def shared_by_instances(x, write):
    s = shared.array(4, f32)
    if write:
        s[thread_idx.x] = x
    return s[0]


def test_what_may_be_written():
    """Through another name, a part, a helper, an atomic, in one of several copies; or what is never read."""

    @kernel
    def k(a: Array[f32, 1], n: i32):
        unused = local.array(4, f32)
        by_alias, by_part = local.array(4, f32), local.array((4, 4), f32)
        alias, part = by_alias, by_part[n]
        alias[0] = part[0] = 1.0
        by_helper = local.array(4, f32)
        set_first(by_helper)
        by_nested = local.array(4, f32)

        def nested():
            by_nested[0] = 2.0

        nested()
        by_atomic, by_cluster = shared.array(4, f32), shared.array(4, f32)
        atomic.add(by_atomic, 0, 1.0)
        map_shared_rank(by_cluster, 1)[0] = 1.0
        conditional = local.array(2, f32)
        if n == 5:
            conditional[0] = 1.0
        either = a
        if n > 3:
            either = a[1:]
        a[0] = by_alias[0] + by_part[0, 0] + by_helper[0] + by_nested[0] + by_atomic[0] + by_cluster[0]
        a[1] = conditional[0] + either[0] + unused.shape[0]
        for copy in static_range(2):
            scratch = shared.array(4, f32)
            if copy == 0:
                scratch[0] = 1.0
            else:
                a[2] = scratch[0]
        a[3] = shared_by_instances(a[0], True) + shared_by_instances(a[0], False)

    module_of(k)
