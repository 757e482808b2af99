"""cvt's forms with several values in a word: f16x2, bf16x2, e4m3x2, e5m2x2, and cvt.pack; and cvt to tf32."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from kdsl.emulator.instructions.formats import CANONICAL, is_nan, narrow, real, relu
from kdsl.emulator.operation import Array, Opcode, Operation, in_blocks, signed

FLOAT8: dict[str, Any] = {"e4m3x2": ml_dtypes.float8_e4m3fn, "e5m2x2": ml_dtypes.float8_e5m2}
LARGEST8 = {"e4m3x2": 448.0, "e5m2x2": 57344.0}


def join_halves(high: Array, low: Array) -> Array:
    return (high.astype(np.uint32) << np.uint32(16)) | low


def split_halves(word: Array) -> tuple[Array, Array]:
    """The upper and the lower 16 bits."""
    return (word >> np.uint32(16)).astype(np.uint16), word.astype(np.uint16)


def _two_floats(mode: str, flags: tuple[str, ...], result: str) -> Operation | None:
    """``cvt.rn.f16x2.f32 d, a, b``: a above, b below."""
    element = result.removesuffix("x2")
    if flags not in ((), ("relu",), ("satfinite",), ("relu", "satfinite")) or mode not in ("rn", "rz"):
        return None

    def one(a: Array) -> Array:
        bits = narrow(a.view(np.float32), element, mode)
        if "satfinite" in flags:
            infinite = (bits & np.uint16(0x7FFF)) == (0x7C00 if element == "f16" else 0x7F80)
            bits = np.where(infinite, bits - np.uint16(1), bits)
        return relu(bits, element) if "relu" in flags else bits

    return Operation(in_blocks(lambda a, b: join_halves(one(a), one(b))), ("f32", "f32"), (result,))


def to_float8(exact: Array, result: str) -> Array:
    """Values, rounded to nearest and clamped to the finite ones, as 8 bits; NaN is 0x7f."""
    bits = np.clip(exact, -LARGEST8[result], LARGEST8[result]).astype(FLOAT8[result]).view(np.uint8)
    return np.where(np.isnan(exact), np.uint8(0x7F), bits).astype(np.uint16)


def _to_float8(flags: tuple[str, ...], source: str, result: str) -> Operation | None:
    """``cvt.rn.satfinite{.relu}.e4m3x2.f32 d, a, b``, and of one f16x2."""
    if flags not in (("satfinite",), ("satfinite", "relu")):
        return None

    def one(exact: Array) -> Array:
        # Why where, not maximum? A NaN stays a NaN.
        return to_float8(np.where(exact < 0, np.float32(0), exact) if "relu" in flags else exact, result)

    if source == "f32":
        floats = real("f32")
        return Operation(lambda a, b: (one(floats(a)) << np.uint16(8)) | one(floats(b)), ("f32", "f32"), ("b16",))
    halves = real("f16")

    def run(a: Array) -> Array:
        high, low = split_halves(a)
        return (one(halves(high)) << np.uint16(8)) | one(halves(low))

    return Operation(run, ("f16x2",), ("b16",)) if source == "f16x2" else None


def _from_float8(flags: tuple[str, ...], source: str) -> Operation | None:
    """``cvt.rn{.relu}.f16x2.e4m3x2``: exact."""
    if flags not in ((), ("relu",)):
        return None

    def one(byte: Array) -> Array:
        values = byte.astype(np.uint8).view(FLOAT8[source]).astype(np.float16)
        bits = np.where(np.isnan(values), CANONICAL["f16"], values.view(np.uint16))
        return relu(bits, "f16") if flags else bits

    return Operation(lambda a: join_halves(one(a >> np.uint16(8)), one(a & np.uint16(0xFF))), ("b16",), ("f16x2",))


def _to_tf32(mode: str, flags: tuple[str, ...]) -> Operation | None:
    """``cvt.rna.tf32.f32`` and its .rn and .rz: ten bits of fraction, the thirteen below them zero, of a NaN too."""
    if not set(flags) <= {"satfinite", "relu"} or (mode == "rna" and "relu" in flags):
        return None

    def run(a: Array) -> Array:
        if mode == "rna":
            rounded = a + np.uint32(0x1000)
        else:
            rounded = a + np.uint32(0xFFF) + ((a >> np.uint32(13)) & np.uint32(1)) if mode == "rn" else a
        rounded = rounded & np.uint32(0xFFFFE000)
        if "satfinite" in flags:
            infinite = (rounded & np.uint32(0x7FFFFFFF)) == 0x7F800000
            rounded = np.where(infinite, rounded - np.uint32(0x2000), rounded)
        bits = np.where(is_nan(a, "f32"), a & np.uint32(0xFFFFE000), rounded)
        return relu(bits, "f32") if "relu" in flags else bits

    return Operation(run, ("f32",), ("b32",)) if mode in ("rna", "rn", "rz") else None


PACK_BITS = {"u16": 16, "s16": 16, "u8": 8, "s8": 8, "u4": 4, "s4": 4, "u2": 2, "s2": 2}


def _pack(words: Opcode) -> Operation | None:
    """``cvt.pack.sat.u16.s32 d, a, b``; narrower types have a c, which is shifted up: ``cvt.pack.sat.u8.s32.b32``."""
    if len(words) < 3 or words[0] != "sat" or words[1] not in PACK_BITS or words[2] != "s32":
        return None
    bits = PACK_BITS[words[1]]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if words[1][0] == "s" else (0, (1 << bits) - 1)
    mask = np.uint32((1 << bits) - 1)

    def clamp(a: Array) -> Array:
        return np.clip(signed(a, 32), low, high).astype(np.int32).view(np.uint32) & mask

    def pair(a: Array, b: Array) -> Array:
        return (clamp(a) << np.uint32(bits)) | clamp(b)

    if bits == 16 and len(words) == 3:
        return Operation(pair, ("s32", "s32"), ("b32",))
    if bits < 16 and words[3:] == ("b32",):
        return Operation(lambda a, b, c: (c << np.uint32(2 * bits)) | pair(a, b), ("s32", "s32", "b32"), ("b32",))
    return None


def decode(opcode: Opcode) -> Operation | None:
    match opcode[1:]:
        case ("pack", *words):
            return _pack(tuple(words))
        case (mode, *flags, "f16x2" | "bf16x2" as result, "f32"):
            return _two_floats(mode, tuple(flags), result)
        case ("rn", *flags, "e4m3x2" | "e5m2x2" as result, source):
            return _to_float8(tuple(flags), source, result)
        case ("rn", *flags, "f16x2", "e4m3x2" | "e5m2x2" as source):
            return _from_float8(tuple(flags), source)
        case (mode, *flags, "tf32", "f32"):
            return _to_tf32(mode, tuple(flags))
    return None
