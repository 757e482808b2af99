"""Ordinary kernels, as users write them: a type checker must have nothing to say about them (see test_typing.py)."""

from __future__ import annotations

import cmath
import math

import numpy as np

import kdsl
from kdsl import (
    FULL_MASK,
    Array,
    FixedArray,
    Ptr,
    active_mask,
    address_of,
    align_of,
    all_sync,
    any_sync,
    asm,
    assume_aligned,
    atomic,
    ballot_sync,
    barrier,
    barrier_arrive,
    bfe,
    bfi,
    bitcast,
    block_dim,
    block_idx,
    brev,
    byte_perm,
    clock64,
    cluster_arrive,
    cluster_idx,
    cluster_rank,
    cluster_size,
    cluster_sync,
    cluster_wait,
    clz,
    complex64,
    complex128,
    constant,
    copy_block,
    dp4a,
    elect_sync,
    f32,
    f32x2,
    f32x3,
    f32x4,
    f64,
    fast,
    fence,
    ffs,
    fma,
    funnel_shift_l,
    globaltimer,
    grid,
    grid_dependency_wait,
    grid_dim,
    grid_launch_dependents,
    grid_sync,
    gridsize,
    groups,
    i32,
    i64,
    is_aligned,
    kernel,
    lane_id,
    lanemask_eq,
    lanemask_gt,
    lanemask_lt,
    load,
    local,
    lop3,
    map_shared_rank,
    match_all_sync,
    match_any_sync,
    mul_hi,
    mul_wide,
    nanosleep,
    popc,
    prefetch,
    reduce_add_sync,
    reduce_max_sync,
    rsqrt,
    shared,
    shared_rank_of,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    size_of,
    static_assert,
    store,
    struct,
    sync_threads,
    sync_threads_and,
    sync_threads_count,
    sync_threads_or,
    sync_warp,
    thread_idx,
    trap,
    u32,
    u64,
    warp_id,
    warp_size,
)
from kdsl.random import normal, uniform


@kernel
def saxpy(a: f32, x: Ptr[f32], y: Ptr[f32], n: i32) -> None:
    for i in range(grid(1), n, gridsize(1)):
        y[i] = a * x[i] + y[i]


@kernel
def transpose(source: Array[f32, 2], target: Array[f32, 2]) -> None:
    tile = shared.array((32, 33), f32)
    x, y = grid(2)
    if x < source.shape[1] and y < source.shape[0]:
        tile[thread_idx.y, thread_idx.x] = source[y, x]
    sync_threads()
    target[x, y] = tile[thread_idx.x, thread_idx.y]


@kernel
def reduce(x: Ptr[f64], out: Ptr[f64], n: i32) -> None:
    total = 0.0
    for i in range(block_idx.x * block_dim.x + thread_idx.x, n, grid_dim.x * block_dim.x):
        total += x[i]
    offset = warp_size // 2
    while offset > 0:
        total += shfl_down_sync(FULL_MASK, total, u32(offset))
        offset //= 2
    if lane_id() == 0:
        atomic.add(out, 0, total)


@kernel
def warps(out: Ptr[i32], bits: Ptr[u32]) -> None:
    lane = lane_id()
    even = lane % 2 == 0
    value = shfl_sync(FULL_MASK, lane, 3) + shfl_up_sync(FULL_MASK, lane, 1) + shfl_xor_sync(FULL_MASK, lane, 1, 16)
    if all_sync(FULL_MASK, even) or any_sync(active_mask(), even):
        bits[warp_id()] = ballot_sync(FULL_MASK, even)
    sync_warp()
    fence("block")
    many = sync_threads_count(even)
    if sync_threads_and(even) or sync_threads_or(even):
        many += 1
    out[thread_idx.x] = value + many


@kernel
def numbers(x: Ptr[f32], counts: Ptr[i32]) -> None:
    i = grid(1)
    scratch = local.array(4, f32)
    scratch[0] = math.sqrt(x[i]) + rsqrt(x[i]) + fma(x[i], 2.0, 1.0) + fast.sin(x[i]) * math.pi
    sine, cosine = kdsl.math.sincos(x[i])
    fraction, exponent = math.frexp(sine)
    scratch[1] = math.ldexp(fraction, exponent) + cosine
    x[i] = scratch[0] + scratch[1]
    counts[i] = kdsl.math.popc(bitcast(x[i], u32)) + kdsl.math.float2int_rn(x[i])
    old = atomic.cas(counts, i, 0, 1)
    counts[i] = atomic.exch(counts, i, old) + atomic.max(counts, i, i32(i64(7)))


@kernel
def collectives(x: Ptr[f32], out: Ptr[i32], masks: Ptr[u32]) -> None:
    i = thread_idx.x
    same = match_any_sync(FULL_MASK, x[i])
    found, agreed = match_all_sync(FULL_MASK, i)
    if agreed and elect_sync(found):
        masks[0] = found
    below = same & lanemask_lt() | lanemask_eq() & ~lanemask_gt()
    out[i] = reduce_add_sync(same, popc(below)) + reduce_max_sync(FULL_MASK, i)


@kernel
def bits(x: Ptr[u32], wide: Ptr[u64], n: i32) -> None:
    a, b, c = x[0], x[1], x[2]
    wide[0] = mul_wide(a, b)
    x[0] = lop3(a, b, c, 0x96) ^ byte_perm(a, b, 0x0123) ^ funnel_shift_l(a, b, u32(n))
    x[1] = bfi(bfe(a, 4, 8), b, 8, 4) + mul_hi(a, c) + dp4a(a, b, c)
    x[2] = u32(clz(a) + ffs(b)) + brev(c)


@kernel
def timing(x: Ptr[f32], out: Ptr[u64]) -> None:
    start = clock64()
    x[0] = fast.rcp(fast.ex2(x[0]))
    out[0] = clock64() - start
    if out[0] > 1 << 40:
        trap()
    nanosleep(100)
    out[1] = globaltimer()


@kernel
def inline(x: Ptr[u32], y: Ptr[f32]) -> None:
    x[0] = asm("add.u32 {d}, {a}, {b};", a=x[1], b=2, out=u32)
    x[1], y[0] = asm("mov.u32 {d0}, {a}; cvt.rn.f32.u32 {d1}, {a};", a=x[2], out=(u32, f32))
    asm("membar.gl;", memory=True)


@kernel
def noise(out: Ptr[f32], seed: u32) -> None:
    i = grid(1)
    a, b, c, _ = kdsl.random.philox4x32((u32(i), 0, 0, 0), (seed, 0))
    x, y = normal(a, b)
    out[i] = x * y + uniform(c)


TABLE = np.zeros((4, 4), np.float32)


@kernel
def memory(x: Ptr[f32], flags: Ptr[i32], rows: Array[f32, 2], n: i32) -> None:
    i = thread_idx.x
    room = shared.dynamic(f32)
    marks = shared.dynamic(i32, 4 * n)
    weights = constant.array(TABLE)
    prefetch(x, i + 32, level="L2")
    room[i] = load(x, i, cache="cs") * weights[i % 4, 0] + load(rows, (0, i), volatile=True)
    marks[i] = atomic.load(flags, i, order="acquire", scope="block")
    if i < 32:
        barrier_arrive(1, 64)
    else:
        barrier(1, 64)
    old = atomic.add(flags, 0, 1, order="acq_rel", scope="system")
    atomic.store(flags, 1, old + marks[0], order="release")
    store(x, i, room[n - i], cache="wt")


@kernel
def pointers(x: Ptr[f32], out: Ptr[i32]) -> None:
    p = 1 + x + thread_idx.x
    p += 2
    while p - 1 > x:
        p -= 1
    bits = bitcast(p, Ptr[i32])
    out[0] = bits[0] + i32(p - x)


def halved(v: f32x4) -> f32x4:
    return v * 0.5


@kernel
def vectors(a: Ptr[f32x4], b: Array[f32x4, 1], pairs: Ptr[f32x2], n: i32) -> None:
    i = grid(1)
    if i < n:
        v = halved(a[i])
        v.x += 1.0
        pairs[i] = v.xy
        b[i] = f32x4(pairs[i], 0.0, 1.0) + v


@kernel
def whole_vectors(points: Array[f32x3, 1], out: Ptr[f32], offset: f32x3, scale: f32x4) -> None:
    i = grid(1)
    if i < len(points):
        p = points[i] + offset
        p.xz = p.zx
        points[i].yx = scale.xy
        x, *others = p
        out[i] = x + sum(others) + max(*scale)
        print(f"{p}")


@kernel(cluster=(2, 1, 1), max_registers=64)
def of_a_cluster(x: Ptr[f32], room: Array[f32, 1]) -> None:
    own = shared.array(32, f32)
    moved = shared.dynamic(f32)
    own[thread_idx.x] = x[cluster_idx.x]
    cluster_sync()
    there = map_shared_rank(own, (cluster_rank() + 1) % cluster_size())
    further = map_shared_rank(moved, 0) + 1
    further[0] = there[thread_idx.x] + 1.0
    cluster_arrive("relaxed")
    cluster_wait()
    x[0] = float(shared_rank_of(moved))
    grid_launch_dependents()
    grid_dependency_wait()
    grid_sync()


def of_any(g: groups.Collective, v: f32) -> f32:
    return g.reduce(v, "add")


@kernel
def together(a: Ptr[f32], n: Ptr[i32]) -> None:
    i = thread_idx.x
    block, warp = groups.this_block(), groups.tile(32)
    largest, where = block.reduce((a[i], i), lambda p, q: p if p[0] > q[0] else q)
    a[i] = of_any(block, a[i]) + of_any(warp, largest) + warp.shfl_xor(a[i], 1)
    if a[i] > 0:
        lanes = groups.coalesced().partition(where % 2 == 0)
        n[i] = lanes.exclusive_scan(i, "add", init=3) + lanes.broadcast(where) + lanes.size
    block.sync()


@kernel
def of_parts(a: Array[f32, 2], p: Ptr[f32], n: i32) -> None:
    weights = [0.25, 0.5, 0.25]
    sums = [0.0] * 4
    squares = [[i * j for j in range(4)] for i in range(4)]
    row, part = a[thread_idx.x], p[0:n]
    for k, w in enumerate(weights):
        sums[k] += w * row[k] + squares[k][1]
    p[0:4] = sums
    tile = shared.array((4, 4), f32)
    copy_block(tile, a[0:4, 0:4])
    first, *others = sums
    aligned = assume_aligned(p, 16)
    assert is_aligned(aligned, 16), f"{n:>5} of {first:.3f}"
    aligned[0] = sum(x * x for x in others) + max(part[i] for i in range(4)) + tile.T[0, 1]


@struct
class Vec:
    x: f32
    y: f32 = 2.0

    def __add__(self, other: Vec) -> Vec:
        return Vec(self.x + other.x, self.y + other.y)

    def __rmul__(self, factor: f32) -> Vec:
        return Vec(factor * self.x, factor * self.y)

    def grow(self, factor: f32) -> None:
        self.x *= factor


@struct(align=16)
class Body:
    position: f32x4
    velocity: Vec
    count: i32 = 0

    @property
    def speed(self) -> f32:
        return math.hypot(self.velocity.x, self.velocity.y)

    @staticmethod
    def at(x: f32) -> Body:
        return Body(f32x4(x), Vec(x), count=1)


@kernel
def of_structs(a: Ptr[Body], b: Array[Body, 1], wind: Vec, n: i32) -> None:
    i = grid(1)
    p = a[i]
    p.velocity += 0.5 * wind
    p.velocity.grow(2.0)
    p.position.x = p.speed
    a[i].velocity.y = p.velocity.x
    a[i] = Body.at(1.0) if i < n else p
    total: i32 = atomic.add(address_of(a[i].count), 0, 1)
    tile = shared.array(64, Body)
    tile[i] = p
    b[i] = tile[total]


@struct
class Filter:
    w: FixedArray[f32, 4]
    m: FixedArray[f64, 2, 3]
    bodies: FixedArray[Vec, 2]

    def total(self) -> f32:
        s = 0.0
        for x in self.w:
            s += x
        return s

    def scale(self, factor: f32) -> None:
        for i in range(4):
            self.w[i] *= factor


@kernel
def of_arrays_in_structs(a: Array[Filter, 1], one: Filter, out: Ptr[f64], n: i32) -> None:
    i = grid(1)
    f: Filter = a[i]
    f.scale(2.0)
    f.w[n] += one.w[0] + f.total()
    f.bodies[1].x = f.w[2]
    a[i].m[1, n] = one.m[0, 0]
    a[i].w = f.w
    out[i] = f.m[1, 2] + size_of(Filter) + align_of(FixedArray[f32, 4])
    static_assert(size_of(Filter) == 80)


def structs_on_the_host() -> None:
    of_arrays_in_structs[1, 32](
        np.zeros(size_of(Filter), Filter.dtype),  # type: ignore[attr-defined]
        Filter((1, 2, 3, 4), np.zeros((2, 3)), [Vec(1.0), Vec(2.0)]),
        kdsl.zeros(32, f64),
        3,
    )
    bodies = np.zeros(10, np.dtype(Body))
    of_structs[1, 32](kdsl.zeros(10, Body), bodies, Vec(1.0), 10)


@kernel
def complex_numbers(z: Array[complex64, 1], out: Ptr[complex64], wide: Ptr[complex128], x: f32, w: complex64) -> None:
    i = grid(1)
    turn = cmath.exp(1j * x)
    tile = shared.array(32, complex64)
    tile[i] = w
    v = out[i] * turn + 2.0 * w / (1 - 2j)
    v += z[i] - 1
    out[i] = complex64(v.real, -v.imag) + v.conjugate() + abs(v)
    wide[i] = complex128(v) ** 2
    if out[i] == w and v != 0:
        length, angle = cmath.polar(w)
        out[i] = cmath.rect(length, angle) + cmath.sqrt(v)
