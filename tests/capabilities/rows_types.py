"""Rows: scalar types, vectors, pointers, arrays, tuples."""

import ml_dtypes
import numpy as np

from kdsl import (
    Array,
    Ptr,
    bf16,
    bf16x2,
    bf16x4,
    bitcast,
    f16,
    f16x2,
    f16x4,
    f32,
    f32x2,
    f32x3,
    f32x4,
    f64,
    f64x2,
    f64x3,
    fma,
    grid,
    i8,
    i8x4,
    i16,
    i16x2,
    i16x4,
    i32,
    i32x2,
    i32x3,
    i32x4,
    i64,
    i64x2,
    kernel,
    local,
    mul_hi,
    mul_wide,
    shared,
    sync_threads,
    thread_idx,
    u8,
    u8x3,
    u8x4,
    u16,
    u16x2,
    u16x4,
    u32,
    u32x2,
    u32x3,
    u32x4,
    u64,
    u64x2,
)

from .capability import Capability, row

N = np.arange(32)
BF16 = ml_dtypes.bfloat16


def scalar(T: object, dtype: object, load: str, what: str) -> Capability:
    values = (N * 7 - 50).astype(dtype)

    @row("Types", np.dtype(dtype).name.replace("int", "i").replace("ui", "u").replace("bfloat", "bf")
         .replace("float", "f"), what, out=values[::-1], inputs=(values,), instructions=(load,))  # fmt: skip
    @kernel
    def reverse(out: Ptr[T], x: Ptr[T]):
        i = grid(1)
        out[31 - i] = x[i]

    return reverse


SCALARS = [
    scalar(bool, np.bool_, "ld.global.b8", "true and false, one byte in memory; any byte but 0 is true"),
    scalar(i8, np.int8, "ld.global.b8", "8 bits, signed"),
    scalar(i16, np.int16, "ld.global.b16", "16 bits, signed"),
    scalar(i32, np.int32, "ld.global.b32", "32 bits, signed"),
    scalar(i64, np.int64, "ld.global.b64", "64 bits, signed"),
    scalar(u8, np.uint8, "ld.global.b8", "8 bits, unsigned"),
    scalar(u16, np.uint16, "ld.global.b16", "16 bits, unsigned"),
    scalar(u32, np.uint32, "ld.global.b32", "32 bits, unsigned"),
    scalar(u64, np.uint64, "ld.global.b64", "64 bits, unsigned"),
    scalar(f16, np.float16, "ld.global.b16", "IEEE half precision"),
    scalar(bf16, BF16, "ld.global.b16", "bfloat16: f32's exponent, 8 bits of precision"),
    scalar(f32, np.float32, "ld.global.b32", "IEEE single precision"),
    scalar(f64, np.float64, "ld.global.b64", "IEEE double precision"),
]


def vector(V: object, dtype: object, lanes: int, load: str, store: str) -> Capability:
    values = np.arange(32 * lanes).astype(dtype).reshape(32, lanes)
    name = str(V)

    @row("Types", name, "a vector; loaded and stored by one access", out=values[:, ::-1], inputs=(values,),
         instructions=(load, store))  # fmt: skip
    @kernel
    def reverse(out: Array[V, 1], x: Array[V, 1]):
        i = grid(1)
        v = x[i]
        out[i] = v.yx if lanes == 2 else v.wzyx

    return reverse


VECTORS = [
    vector(*v)
    for v in (
        (f32x2, np.float32, 2, "ld.global.v2.b32", "st.global.v2.b32"),
        (f32x4, np.float32, 4, "ld.global.v4.b32", "st.global.v4.b32"),
        (f64x2, np.float64, 2, "ld.global.v2.b64", "st.global.v2.b64"),
        (i32x2, np.int32, 2, "ld.global.v2.b32", "st.global.v2.b32"),
        (i32x4, np.int32, 4, "ld.global.v4.b32", "st.global.v4.b32"),
        (u32x2, np.uint32, 2, "ld.global.v2.b32", "st.global.v2.b32"),
        (u32x4, np.uint32, 4, "ld.global.v4.b32", "st.global.v4.b32"),
        (i64x2, np.int64, 2, "ld.global.v2.b64", "st.global.v2.b64"),
        (u64x2, np.uint64, 2, "ld.global.v2.b64", "st.global.v2.b64"),
        (i8x4, np.int8, 4, "ld.global.b32", "st.global.b32"),
        (u8x4, np.uint8, 4, "ld.global.b32", "st.global.b32"),
        (i16x2, np.int16, 2, "ld.global.v2.b16", "st.global.v2.b16"),
        (u16x2, np.uint16, 2, "ld.global.v2.b16", "st.global.v2.b16"),
        (i16x4, np.int16, 4, "ld.global.v4.b16", "st.global.v4.b16"),
        (u16x4, np.uint16, 4, "ld.global.v4.b16", "st.global.v4.b16"),
        (f16x2, np.float16, 2, "ld.global.v2.b16", "st.global.v2.b16"),
        (bf16x2, BF16, 2, "ld.global.v2.b16", "st.global.v2.b16"),
        (f16x4, np.float16, 4, "ld.global.v4.b16", "st.global.v4.b16"),
        (bf16x4, BF16, 4, "ld.global.v4.b16", "st.global.v4.b16"),
    )
]


def three(V: object, dtype: object, bits: int) -> Capability:
    values = np.arange(96).astype(dtype).reshape(32, 3)

    @row("Types", str(V), "a vector without padding, as CUDA's; loaded and stored by component", out=values[:, ::-1],
         inputs=(values,), instructions=(f"ld.global.b{bits}", f"st.global.b{bits}"), without=(r"\.v[24]\.",))  # fmt: skip
    @kernel
    def reverse(out: Array[V, 1], x: Array[V, 1]):
        out[grid(1)] = x[grid(1)].zyx

    return reverse


THREES = [
    three(*v)
    for v in ((f32x3, np.float32, 32), (f64x3, np.float64, 64), (i32x3, np.int32, 32), (u32x3, np.uint32, 32), (u8x3, np.uint8, 8))
]  # fmt: skip


X4 = np.arange(128, dtype=np.float32).reshape(32, 4)


@row("Types", "swizzles", "components in any order, as another vector", out=X4[:, [3, 0, 0, 1]], inputs=(X4,))
@kernel
def swizzle(out: Ptr[f32x4], x: Ptr[f32x4]):
    v = x[grid(1)]
    out[grid(1)] = f32x4(v.w, v.xxy)


@row("Types", "component assignment", "`v.x = e`, `v[1] += e`, `a[i].z = e`",
     out=(X4 * [0, 1, 0, 1] + [7, 1, 9, 0]).astype(np.float32), inputs=(X4,))  # fmt: skip
@kernel
def components(out: Ptr[f32x4], x: Ptr[f32x4]):
    i = grid(1)
    v = x[i]
    v.x = 7
    v[1] += 1
    out[i] = v
    out[i].z = 9


@row("Types", "assignment to swizzles", "`v.zx = w`, `a[i].yw += e`: several components, each named once",
     out=X4[:, [2, 1, 0, 3]] + np.float32([0, 1, 0, 1]), inputs=(X4,))  # fmt: skip
@kernel
def swizzles(out: Ptr[f32x4], x: Ptr[f32x4]):
    i = grid(1)
    v = x[i]
    v.zx = v.xz
    out[i] = v
    out[i].yw += 1


@row("Types", "vectors are taken apart", "`x, y, z = v`, `for c in v`, `sum(v)`, `len(v)`, `c in v`, `f(*v)`",
     out=(X4 @ [1000, 100, 10, 1] + 2 * X4.sum(1) + 4 + 1).astype(np.float32), inputs=(X4,))  # fmt: skip
@kernel
def taken_apart(out: Ptr[f32], x: Ptr[f32x4]):
    v = x[grid(1)]
    a, *others = v
    digits = a
    for c in others:
        digits = digits * 10 + c
    for c in v:
        digits += c
    out[grid(1)] = digits + sum(v) + len(v) + (v.w in v)


@row("Types", "vectors by value", "`k(v: f32x4)`: a parameter that lies as a float4; a launch gives four numbers",
     out=X4 * np.float32([1, 2, 3, 4]) + np.float32([5, 6, 7, 0]), inputs=(X4, (1, 2, 3, 4), np.array([5, 6, 7])),
     instructions=("ld.param.v4.b32",))  # fmt: skip
@kernel
def by_value(out: Ptr[f32x4], x: Ptr[f32x4], scale: f32x4, offset: f32x3):
    out[grid(1)] = x[grid(1)] * scale + f32x4(offset, 0)


@row("Types", "vector arithmetic", "`+ - * /`, min, max, abs on each lane; a scalar stands for all",
     out=np.maximum(abs(X4 * 2 - 100) / 4, 3), inputs=(X4,))  # fmt: skip
@kernel
def lanewise(out: Ptr[f32x4], x: Ptr[f32x4]):
    i = grid(1)
    out[i] = max(abs(x[i] * 2 - 100) / 4, f32x4(3))


@row("Types", "vector casts", "each lane is cast, from a vector of as many", out=np.trunc(X4 / 3).astype(np.int32),
     inputs=((X4 / 3).astype(np.float32),), instructions=("cvt.rzi.s32.f32",))  # fmt: skip
@kernel
def lanes_cast(out: Ptr[i32x4], x: Ptr[f32x4]):
    out[grid(1)] = i32x4(x[grid(1)])


@row("Types", "byte vectors wrap", "small ints in vectors do not widen", out=(np.arange(128) * 3 % 256).astype(np.uint8)
     .reshape(32, 4), inputs=(np.arange(128, dtype=np.uint8).reshape(32, 4),))  # fmt: skip
@kernel
def bytes_wrap(out: Ptr[u8x4], x: Ptr[u8x4]):
    out[grid(1)] = x[grid(1)] * 3


X2 = np.arange(64).reshape(32, 2)


def packed(V: object, dtype: object, ending: str, minimum: str, shown_on: str) -> Capability:
    x = X2.astype(dtype)

    @row("Types", f"{V} arithmetic", "add, subtract, multiply and fma of two at once, one instruction each",
         out=(X2 * 2 + 1 - X2 + X2).astype(dtype), inputs=(x,), minimum=minimum, shown_on=shown_on,
         instructions=(f"fma.rn.{ending}", f"add.rn.{ending}", f"sub.rn.{ending}"))  # fmt: skip
    @kernel(fmad=False)
    def arithmetic(out: Ptr[V], x: Ptr[V]):
        i = grid(1)
        v = x[i]
        out[i] = fma(v, V(2), V(1)) - v + v

    return arithmetic


PACKED = [packed(f16x2, np.float16, "f16x2", "sm_75", "sm_75"), packed(bf16x2, BF16, "bf16x2", "sm_80", "sm_90")]


@row("Types", "Array", "`shape`, `size`, `ndim`, `len`, several indices", out=np.arange(24) * 10 + 24 + 2 + 4,
     inputs=(np.arange(24, dtype=np.int32).reshape(4, 6),), block=24)  # fmt: skip
@kernel
def array_of_two(out: Array[i64, 1], a: Array[i32, 2]):
    i = grid(1)
    rows, columns = a.shape
    if i < rows * columns:
        out[i] = a[i // columns, i % columns] * 10 + a.size + a.ndim + len(a)


@row("Types", "arrays of 1 to 4 dimensions", "the last index is the fastest", out=np.arange(24, dtype=np.float32),
     inputs=(np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2),), block=24)  # fmt: skip
@kernel
def array_of_four(out: Array[f32], a: Array[f32, 4]):
    i = thread_idx.x
    out[i] = a[i // 12, i // 4 % 3, i // 2 % 2, i % 2]


TABLE = np.arange(64, dtype=np.float32).reshape(8, 8)


@row("Types", "strided arrays", "parameters without annotation specialise on dtype, rank and strides",
     out=TABLE.T[::2].ravel(), inputs=(TABLE.T[::2],), signature=(Array[f32, 1], Array[f32, 2]))  # fmt: skip
@kernel
def strided(out, a):
    i = thread_idx.x
    out[i] = a[i // 8, i % 8]


@row("Types", "tuples", "of any types, in registers, returned and unpacked", out=N // 5 * 100 + N % 5)
@kernel
def tuples(out: Ptr[i64]):
    pair = divmod(grid(1), 5)
    quotient, rest = pair
    out[grid(1)] = quotient * 100 + pair[1]


@row("Types", "pointer arithmetic", "`p + n`, `p - q`, comparisons; it counts elements", out=np.full(32, 7),
     inputs=(np.arange(64, dtype=np.float32),))  # fmt: skip
@kernel
def pointer_arithmetic(out: Ptr[i64], x: Ptr[f32]):
    p = x + grid(1)
    q = p + 7
    p += 1
    out[grid(1)] = i64(q[-1] - p[-1]) + 1 if q > p and q - p == 6 else 0


@row("Types", "pointer casts", "`bitcast(p, Ptr[u32])` reads the same memory as another type",
     out=np.ones(32, np.float32).view(np.uint32), inputs=(np.ones(32, np.float32),))  # fmt: skip
@kernel
def pointer_cast(out: Ptr[u32], x: Ptr[f32]):
    out[grid(1)] = bitcast(x, Ptr[u32])[grid(1)]


@row("Types", "address spaces", "a pointer knows its memory: shared and local are not global", out=N[::-1] * 3,
     instructions=("ld.shared.s32", "st.shared.b32", "st.global.b64"), without=(r"\bld\.b32", r"\bst\.b32"))  # fmt: skip
@kernel
def spaces(out: Ptr[i64]):
    s = shared.array(32, i32)
    own = local.array(2, i32)
    i = thread_idx.x
    own[i % 2] = i
    s[i] = own[i % 2] * 3
    sync_threads()
    out[i] = s[31 - i]


@row("Types", "mul_wide and mul_hi", "64-bit products of 32 bits, and the upper half of 128 bits",
     out=np.array([int(k * 12345678 + 7) * 987654321 for k in N], np.int64) + [(int(k) << 60) % 2**64 * 160 >> 64 for k in N],
     instructions=("mul.wide.s32", "mul.hi.u64"))  # fmt: skip
@kernel
def products(out: Ptr[i64]):
    i = grid(1)
    out[i] = mul_wide(i * 12345678 + 7, 987654321) + i64(mul_hi(u64(i) << u64(60), u64(160)))
