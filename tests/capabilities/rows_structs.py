"""Rows: structs, named tuples and tuples as arguments."""

from typing import NamedTuple

import numpy as np

from kdsl import (
    FULL_MASK,
    Array,
    FixedArray,
    Ptr,
    address_of,
    atomic,
    f32,
    f32x4,
    f64,
    grid,
    i8,
    i32,
    kernel,
    local,
    shared,
    shfl_xor_sync,
    struct,
    sync_threads,
    thread_idx,
    u8,
)

from .capability import row

N = np.arange(32)


@struct
class Vec:
    x: f32
    y: f32 = 2.0

    def __add__(self, other: "Vec") -> "Vec":
        return Vec(self.x + other.x, self.y + other.y)

    def __rmul__(self, factor: f32) -> "Vec":
        return Vec(factor * self.x, factor * self.y)

    def __neg__(self) -> "Vec":
        return Vec(-self.x, -self.y)

    def __lt__(self, other: "Vec") -> bool:
        return self.x < other.x

    @property
    def area(self) -> f32:
        return self.x * self.y

    def dot(self, other: "Vec") -> f32:
        return self.x * other.x + self.y * other.y


@struct
class Mixed:
    small: i8
    wide: f64
    v: Vec
    tail: u8


@struct(align=16)
class Quad:
    a: f32
    b: f32
    c: f32
    d: f32


VECS = np.zeros(32, Vec.dtype)
VECS["x"], VECS["y"] = N, N * 3
MIXED = np.zeros(32, Mixed.dtype)
MIXED["small"], MIXED["wide"], MIXED["v"]["x"], MIXED["tail"] = -N, N / 7, N * 2, N + 100


@row("Types", "@struct", "named fields in C's layout; NumPy's structured dtype matches", inputs=(MIXED,), out=-N + N / 7 + N * 2 + (N + 100),
     instructions=("ld.global.s8", "ld.global.b64", "ld.global.b32"))  # fmt: skip
@kernel
def fields(out: Ptr[f64], m: Array[Mixed, 1]):
    i = grid(1)
    out[i] = m[i].small + m[i].wide + m[i].v.x + m[i].tail


@row("Types", "structs by value", "parameters of a kernel, as C lays them", inputs=(Vec(3.0), Mixed(1, 2.5, Vec(4.0, 5.0), 6)),
     out=np.full(32, 3 + 2 + 1 + 2.5 + 4 + 5 + 6))  # fmt: skip
@kernel
def by_value(out: Ptr[f64], v: Vec, m: Mixed):
    out[grid(1)] = f64(v.x + v.y) + m.small + m.wide + m.v.x + m.v.y + m.tail


@row("Types", "structs in arrays", "loaded, copied, changed and stored", inputs=(VECS,), out=np.repeat(VECS, 1)[::-1])
@kernel
def copied(out: Array[Vec, 1], x: Array[Vec, 1]):
    i = grid(1)
    p = x[31 - i]
    q = p
    q.x += 1
    out[i] = p


@row("Types", "methods and operators of structs", "`__add__`, `__rmul__`, `__neg__`, `__lt__`, properties",
     inputs=(VECS,), out=(N * 2 - 1) * (N * 6 + 2) + N + 9 * N + (N < 5) * 1000.0)  # fmt: skip
@kernel
def operators(out: Ptr[f64], x: Array[Vec, 1]):
    i = grid(1)
    v = x[i]
    w = 2.0 * v + -Vec(1.0, -2.0)
    out[i] = f64(w.area) + v.dot(Vec(1.0, 3.0)) + (1000 if v < Vec(5.0) else 0)


@row(
    "Types",
    "structs in shared and local memory",
    "arrays of them, field by field",
    inputs=(VECS,),
    out=N[::-1] * 4.0 + N,
)
@kernel
def in_memories(out: Ptr[f64], x: Array[Vec, 1]):
    s = shared.array(32, Vec)
    own = local.array(2, Vec)
    i = thread_idx.x
    s[i] = x[i]
    own[i % 2].x = f32(i)
    sync_threads()
    out[i] = f64(s[31 - i].x + s[31 - i].y + own[i % 2].x)


@struct
class Weights:
    w: FixedArray[f32, 4]
    m: FixedArray[i32, 2, 3]


WEIGHTS = np.zeros(32, Weights.dtype)
WEIGHTS["w"], WEIGHTS["m"] = N[:, None] * [1, 2, 3, 4], N[:, None, None] + np.arange(6).reshape(2, 3)


@row("Types", "FixedArray[f32, 4]", "arrays in structs, indexed at run time: one load", inputs=(WEIGHTS,),
     out=N * (N % 4 + 1.0) + N + 3 + N % 3, instructions=("ld.global.b32",))  # fmt: skip
@kernel
def arrays_in_structs(out: Ptr[f64], a: Array[Weights, 1]):
    i = grid(1)
    out[i] = f64(a[i].w[i % 4]) + a[i].m[1, i % 3]


@row("Types", "arrays of variables' structs", "changed, iterated, copied with their struct", inputs=(WEIGHTS,),
     out=N * 10 + 5.0 + 100 * N)  # fmt: skip
@kernel
def arrays_in_variables(out: Ptr[f64], a: Array[Weights, 1]):
    i = grid(1)
    f = a[i]
    g = f
    f.w[i % 4] += 5
    total = 0.0
    for x in f.w:
        total += x
    out[i] = f64(total) + 100 * g.w[0]


QUADS = np.zeros(32, Quad.dtype)
for place, letter in enumerate("abcd"):
    QUADS[letter] = N * 10 + place


@row("Types", "@struct(align=16)", "neighbouring fields are one access", inputs=(QUADS,), out=QUADS,
     instructions=("ld.global.v4.b32", "st.global.v4.b32"))  # fmt: skip
@kernel
def aligned(out: Array[Quad, 1], x: Array[Quad, 1]):
    out[grid(1)] = x[grid(1)]


COUNTED = np.zeros(4, Mixed.dtype)
COUNTED["v"]["y"] = 32


@row("Types", "address_of", "the address of a field, for atomics and inline PTX", out=COUNTED)
@kernel
def addressed(out: Array[Mixed, 1]):
    for k in range(4):
        atomic.add(address_of(out[k].v.y), 0, 1)


class Line(NamedTuple):
    slope: f32
    offset: f32 = 1.0


@row(
    "Types",
    "named tuples",
    "as arguments, made and returned in kernels",
    inputs=(Line(2.0, 3.0),),
    out=(2.0 * N + 3) + 3,
)
@kernel
def named(out: Ptr[f64], line: Line):
    other = Line(f32(2.0))
    out[grid(1)] = f64(line.slope * f32(grid(1)) + line.offset) + other.slope + other.offset


@row(
    "Types",
    "tuples as arguments",
    "each element is a parameter of its own",
    inputs=((N + 0.0, np.int32(3)),),
    out=N + 3.0,
)
@kernel
def tuple_argument(out: Ptr[f64], pair: tuple[Ptr[f64], i32]):
    x, n = pair
    out[grid(1)] = x[grid(1)] + n


@row("Warp", "shuffles of vectors", "in as few 32-bit words as they have", out=((N ^ 1)[:, None] * [1, 2, 3, 4]).astype(np.float32),
     inputs=((N[:, None] * [1, 2, 3, 4]).astype(np.float32),), instructions=("shfl.sync.bfly.b32",))  # fmt: skip
@kernel
def vectors(out: Ptr[f32x4], x: Ptr[f32x4]):
    out[thread_idx.x] = shfl_xor_sync(FULL_MASK, x[thread_idx.x], 1)


@row("Warp", "shuffles of structs and tuples", "field by field", inputs=(VECS,), out=(N ^ 1) * 4 + (N ^ 2) * 2.5,
     instructions=("shfl.sync.bfly.b32",))  # fmt: skip
@kernel
def structs(out: Ptr[f64], x: Array[Vec, 1]):
    i = thread_idx.x
    v = shfl_xor_sync(FULL_MASK, x[i], 1)
    a, b = shfl_xor_sync(FULL_MASK, (i * 2, f64(i) / 2), 2)
    out[i] = f64(v.x + v.y) + a + b
