"""Rows: bits, small products, random numbers."""

import math

import numpy as np

from kdsl import (
    Ptr,
    bfe,
    bfi,
    brev,
    byte_perm,
    clz,
    dp2a_hi,
    dp2a_lo,
    dp4a,
    f32,
    ffs,
    funnel_shift_l,
    funnel_shift_lc,
    funnel_shift_r,
    funnel_shift_rc,
    hadd,
    i32,
    i64,
    kernel,
    lop3,
    mul24,
    mul_hi,
    mul_wide,
    popc,
    rhadd,
    sad,
    thread_idx,
    u32,
    u64,
)
from kdsl.random import normal, philox4x32, uniform

from .capability import Capability, row

K = np.arange(32)
WORDS = [int(k) * 2654435761 % 2**32 for k in K + 1]
LONG = [int(k) * 0x9E3779B97F4A7C15 % 2**64 for k in K + 1]
A, B, C = (np.array([w * m % 2**32 for w in WORDS], np.uint32) for m in (1, 7, 13))
L = np.array(LONG, np.uint64)


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) & 1 else x


def reversed_bits(x: int, bits: int) -> int:
    return int(f"{x:0{bits}b}"[::-1], 2)


COUNTS = {
    popc: ("set bits", lambda x, n: x.bit_count(), "popc.b{n}"), clz: ("zero bits above the highest set one", lambda x, n: n - x.bit_length(), "clz.b{n}"),
    ffs: ("place of the lowest set bit, from 1", lambda x, n: (x & -x).bit_length(), {32: "bfind.shiftamt.u32", 64: "clz.b64"}),
    brev: ("the bits in reverse order", reversed_bits, "brev.b{n}"),
}  # fmt: skip


def counted(function: object, n: int) -> Capability:
    what, reference, ptx = COUNTS[function]
    T, x = (u32, A) if n == 32 else (u64, L)

    @row("Bits", f"{function.name} of {n} bits", what, out=np.array([reference(int(v), n) for v in x], x.dtype), inputs=(x,),
         instructions=(ptx[n] if isinstance(ptx, dict) else ptx.format(n=n),))  # fmt: skip
    @kernel
    def one(out: Ptr[T], x: Ptr[T]):
        out[thread_idx.x] = T(function(x[thread_idx.x]))

    return one


COUNTED = [counted(f, n) for f in COUNTS for n in (32, 64)]


def dot(a: int, b: int, c: int, parts: list[tuple[int, int, int]]) -> int:
    """``c`` and the products of parts: bit of ``a``, width in ``a``, bit of ``b``."""
    return (c + sum((a >> i & (1 << w) - 1) * (b >> j & 255) for i, w, j in parts)) % 2**32


THREE = {
    "lop3": (lambda a, b, c: lop3(a, b, c, 0x96), "any logic of three words: a table", "lop3.b32", lambda a, b, c: a ^ b ^ c),
    "byte_perm": (lambda a, b, c: byte_perm(a, b, c & 0x7777), "four bytes of two words", "prmt.b32",
                  lambda a, b, c: sum(((a | b << 32) >> 8 * (c >> 4 * i & 7) & 255) << 8 * i for i in range(4))),
    "funnel_shift_l": (funnel_shift_l, "two words shifted left, modulo 32", "shf.l.wrap.b32",
                       lambda a, b, c: ((b << 32 | a) << c % 32) >> 32),
    "funnel_shift_r": (funnel_shift_r, "two words shifted right, modulo 32", "shf.r.wrap.b32",
                       lambda a, b, c: (b << 32 | a) >> c % 32),
    "funnel_shift_lc": (funnel_shift_lc, "two words shifted left, at most 32", "shf.l.clamp.b32",
                        lambda a, b, c: ((b << 32 | a) << min(c, 32)) >> 32),
    "funnel_shift_rc": (funnel_shift_rc, "two words shifted right, at most 32", "shf.r.clamp.b32",
                        lambda a, b, c: (b << 32 | a) >> min(c, 32)),
    "bfe": (lambda a, b, c: bfe(a, b % 32, c % 33), "a field of bits", "bfe.u32", lambda a, b, c: a >> b % 32 & (1 << c % 33) - 1),
    "bfi": (lambda a, b, c: bfi(a, b, 5, c % 20), "a field of bits replaced", "bfi.b32",
            lambda a, b, c: b & ~((1 << c % 20) - 1 << 5) | (a & (1 << c % 20) - 1) << 5),
    "sad": (sad, "abs(x - y) + z", "sad.u32", lambda a, b, c: abs(a - b) + c),
    "dp4a": (dp4a, "four products of bytes, and a sum", "dp4a.u32.u32", lambda a, b, c: dot(a, b, c, [(8 * i, 8, 8 * i) for i in range(4)])),
    "dp2a_lo": (dp2a_lo, "two products of halves with the lower bytes", "dp2a.lo.u32.u32", lambda a, b, c: dot(a, b, c, [(0, 16, 0), (16, 16, 8)])),
    "dp2a_hi": (dp2a_hi, "two products of halves with the upper bytes", "dp2a.hi.u32.u32", lambda a, b, c: dot(a, b, c, [(0, 16, 16), (16, 16, 24)])),
    "mul_hi": (lambda a, b, c: mul_hi(a, b), "the upper half of a product", "mul.hi.u32", lambda a, b, c: a * b >> 32),
    "mul24": (lambda a, b, c: mul24(a, b), "the product of the low 24 bits", "mul.lo.s32", lambda a, b, c: a % 2**24 * (b % 2**24)),
    "hadd": (lambda a, b, c: hadd(a, b), "the mean, rounded down", "and.b32", lambda a, b, c: a + b >> 1),
    "rhadd": (lambda a, b, c: rhadd(a, b), "the mean, rounded up", "or.b32", lambda a, b, c: a + b + 1 >> 1),
}  # fmt: skip


def of_three(name: str) -> Capability:
    called, what, instruction, reference = THREE[name]
    expected = [reference(int(a), int(b), int(c)) % 2**32 for a, b, c in zip(A, B, C, strict=True)]

    @row("Bits", name, what, out=np.array(expected, np.uint32), inputs=(A, B, C), instructions=(instruction,))
    @kernel
    def three(out: Ptr[u32], a: Ptr[u32], b: Ptr[u32], c: Ptr[u32]):
        i = thread_idx.x
        out[i] = called(a[i], b[i], c[i])

    return three


OF_THREE = [of_three(name) for name in THREE]


@row(
    "Bits",
    "mul_wide",
    "the whole product, in 64 bits",
    out=A.astype(np.uint64) * B,
    inputs=(A, B),
    instructions=("mul.wide.u32",),
)
@kernel
def wide(out: Ptr[u64], a: Ptr[u32], b: Ptr[u32]):
    out[thread_idx.x] = mul_wide(a[thread_idx.x], b[thread_idx.x])


@row("Bits", "mul_hi of 64 bits", "the upper half of 128 bits", out=np.array([x * x >> 64 for x in LONG], np.uint64), inputs=(L,),
     instructions=("mul.hi.u64",))  # fmt: skip
@kernel
def upper(out: Ptr[u64], x: Ptr[u64]):
    out[thread_idx.x] = mul_hi(x[thread_idx.x], x[thread_idx.x])


@row("Bits", "bfe of signed numbers", "with the field's sign", out=[signed(w >> 3 & 0x1FF, 9) for w in WORDS], inputs=(A.view(np.int32),),
     instructions=("bfe.s32",))  # fmt: skip
@kernel
def signed_field(out: Ptr[i64], x: Ptr[i32]):
    out[thread_idx.x] = bfe(x[thread_idx.x], 3, 9)


@row("Bits", "dp4a of signed bytes", "four products, and a sum",
     out=[7 + sum(signed(int(a) >> 8 * i & 255, 8) * signed(int(b) >> 8 * i & 255, 8) for i in range(4)) for a, b in zip(A, B, strict=True)],
     inputs=(A.view(np.int32), B.view(np.int32)), instructions=("dp4a.s32.s32",))  # fmt: skip
@kernel
def signed_dot(out: Ptr[i64], a: Ptr[i32], b: Ptr[i32]):
    out[thread_idx.x] = dp4a(a[thread_idx.x], b[thread_idx.x], 7)


# Counter, key and result of `philox4x32 10` in Random123's tests/kat_vectors.
KNOWN = [
    "243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0 d16cfe09 94fdcceb 5001e420 24126ea1",
    "ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff 408f276d 41c83b0e a20bc7c6 6d5451fd",
]
VECTORS = np.array([[int(word, 16) for word in line.split()] for line in KNOWN], np.uint32)


@row("Random numbers", "philox4x32", "four words from a counter and a key: Random123's known answers", out=VECTORS[:, 6:].ravel(), block=2,
     inputs=(VECTORS[:, :6].ravel(),))  # fmt: skip
@kernel
def words(out: Ptr[u32], x: Ptr[u32]):
    i = thread_idx.x * 6
    a, b, c, d = philox4x32((x[i], x[i + 1], x[i + 2], x[i + 3]), (x[i + 4], x[i + 5]))
    o = thread_idx.x * 4
    out[o] = a
    out[o + 1] = b
    out[o + 2] = c
    out[o + 3] = d


@row(
    "Random numbers",
    "uniform",
    "an f32 in [0, 1) from a word",
    out=(A >> 8).astype(np.float32) * np.float32(2.0**-24),
    inputs=(A,),
)
@kernel
def uniformly(out: Ptr[f32], x: Ptr[u32]):
    out[thread_idx.x] = uniform(x[thread_idx.x])


def box_muller(first: int, second: int) -> float:
    """The first of two numbers, from the upper 24 bits of two words."""
    radius = math.sqrt(-2 * math.log(1 - (first >> 8) * 2.0**-24))
    return radius * math.cos(2 * math.pi * (second >> 8) * 2.0**-24)


@row("Random numbers", "normal", "two f32 of the standard normal distribution from two words", inputs=(A, B), absolute=1e-6,
     because="logarithm and cosine in f32", out=np.array([box_muller(int(a), int(b)) for a, b in zip(A, B, strict=True)], np.float32))  # fmt: skip
@kernel
def normally(out: Ptr[f32], x: Ptr[u32], y: Ptr[u32]):
    first, _ = normal(x[thread_idx.x], y[thread_idx.x])
    out[thread_idx.x] = first
