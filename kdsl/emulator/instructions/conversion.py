"""cvt (PTX ISA 9.7.9.21) of single values: integers and floats to each other. Packed forms: packed_conversion.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdsl.emulator.instructions import packed_conversion
from kdsl.emulator.instructions.formats import (
    INFINITY,
    ROUNDINGS,
    canonical,
    flush,
    flush_tiny,
    narrow,
    payload_f64,
    real,
    relu,
    round_bf16,
    saturate,
    to_odd,
)
from kdsl.emulator.operation import (
    INTEGERS,
    UNSIGNED,
    WIDTH,
    Array,
    Opcode,
    Operation,
    Run,
    in_blocks,
    is_signed,
    value,
)
from kdsl.records import dataclass

TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
FLOATS = frozenset(INFINITY)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A cvt's words: the two types, the rounding if any, and the flags."""

    result: str
    source: str
    rounding: str | None
    flags: frozenset[str]


def _parse(opcode: Opcode) -> Conversion | None:
    words, rounding = opcode[1:-2], None
    if words and (words[0] in ROUNDINGS or words[0] in TO_INTEGER):
        rounding, words = words[0], words[1:]
    flags = frozenset(words)
    if not flags <= {"ftz", "sat", "relu"} or len(flags) != len(words):
        return None
    return Conversion(opcode[-2], opcode[-1], rounding, flags)


def _limits(type_name: str) -> tuple[int, int]:
    width = WIDTH[type_name]
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed(type_name) else (0, (1 << width) - 1)


def low_bits(values: Array, type_name: str) -> Array:
    """Integer values, wrapped, as bits of the type."""
    bits = values.astype(UNSIGNED[WIDTH[type_name]])
    return bits & np.uint16(0xFF) if WIDTH[type_name] == 8 else bits


def clamp_integer(source: str, result: str) -> Run:
    """From a source type's values to the nearest that the result type has."""
    (low, high), (source_low, source_high) = _limits(result), _limits(source)
    low, high = max(low, source_low), min(high, source_high)
    return lambda values: np.clip(values, values.dtype.type(low), values.dtype.type(high))


def _integer_to_integer(cvt: Conversion) -> Run | None:
    if cvt.rounding or cvt.flags - {"sat"}:
        return None
    source, result = cvt.source, cvt.result
    if "sat" in cvt.flags:
        clamp = clamp_integer(source, result)
        return lambda a: low_bits(clamp(value(a, source)), result)
    return lambda a: low_bits(value(a, source), result)


def _integer_to_float(cvt: Conversion) -> Run | None:
    if cvt.rounding not in ROUNDINGS or cvt.flags - {"sat"}:
        return None
    source, result, mode = cvt.source, cvt.result, cvt.rounding
    assert mode is not None
    if mode == "rn" and result in ("f32", "f64"):
        dtype, register = (np.float32, np.uint32) if result == "f32" else (np.float64, np.uint64)

        def run(a: Array) -> Array:
            return value(a, source).astype(dtype).view(register)
    else:

        def run(a: Array) -> Array:
            return _round_integer(value(a, source), result, mode)

        run = in_blocks(run)

    if "sat" in cvt.flags:
        return lambda a: saturate(run(a), result)
    return run


def _round_integer(values: Array, result: str, mode: str) -> Array:
    """Integers of up to 64 bits, in any mode: the nearest f64 and what it leaves."""
    nearest = values.astype(np.float64)
    if values.dtype.itemsize < 8:
        error = np.zeros(values.shape)
    else:
        # Why halves? 2**64, the nearest f64 of the largest u64, is no 64-bit integer; the difference wraps right.
        half = (nearest * 0.5).astype(np.int64 if values.dtype.kind == "i" else np.uint64)
        error = (values.view(np.int64) - (half.view(np.int64) << 1)).astype(np.float64)
        error[np.abs(nearest) < 2.0**53] = 0  # exact, and odd ones have no half
    if result != "f64":
        return narrow(to_odd(nearest, error), result, mode)
    # An f64 is 0, or at least 1 and far from its range's ends, so a step of one bit is a step of one ulp.
    bits, positive = nearest.view(np.uint64), nearest > 0
    if mode == "rn":
        return bits
    over = np.where(positive, error < 0, error > 0)
    under = np.where(positive, error > 0, error < 0)
    grows = np.zeros(positive.shape, np.bool_) if mode == "rz" else positive == (mode == "rp")
    one = np.uint64(1)
    return np.where(grows & under, bits + one, np.where(~grows & over, bits - one, bits))


def _float_to_integer(cvt: Conversion) -> Run | None:
    """Out of range saturates. NaN gives the sign bit alone from f64 or to 64 bits, and else 0 (PTX ISA, cvt)."""
    if cvt.rounding not in TO_INTEGER or cvt.flags - {"ftz", "sat"}:
        return None
    source, result, ftz = cvt.source, cvt.result, "ftz" in cvt.flags
    whole, values, width = TO_INTEGER[cvt.rounding], real(source), WIDTH[result]
    low, high = _limits(result)
    nan_bits = 1 << (width - 1) if source == "f64" or width == 64 else 0
    register = UNSIGNED[width]
    dtype = np.int64 if is_signed(result) else np.uint64
    top = float(high + 1) if width == 64 else float(high)

    def run(a: Array) -> Array:
        if ftz and source == "f32":
            a = flush(a, "f32")
        exact = values(a).astype(np.float64)
        rounded = whole(exact)
        inside = np.fmin(np.fmax(rounded, float(low)), top)
        if width == 64:
            past = inside >= top
            bits = np.where(past, 0.0, inside).astype(dtype).view(np.uint64)
            bits = np.where(past, np.uint64(high), bits)
        else:
            bits = low_bits(inside.astype(np.int64), result)
        nan = np.isnan(exact)
        return np.where(nan, register(nan_bits), bits) if nan.any() else bits

    return in_blocks(run)


def _same_float(cvt: Conversion) -> Run | None:
    """To the same type: to a whole number, or only .ftz and .sat."""
    if cvt.rounding in ROUNDINGS or "relu" in cvt.flags:
        return None
    type_name, register = cvt.source, UNSIGNED[WIDTH[cvt.source]]
    whole, values = TO_INTEGER.get(cvt.rounding or ""), real(cvt.source)
    ftz = "ftz" in cvt.flags and type_name == "f32"
    sat = "sat" in cvt.flags

    def run(a: Array) -> Array:
        if ftz:
            a = flush(a, type_name)
        if whole is not None and type_name == "f64":
            a = payload_f64(whole(a.view(np.float64)), a)
        elif whole is not None:
            a = narrow(whole(values(a)), type_name)
        if sat:
            return saturate(a, type_name)
        return a if type_name == "f64" else canonical(a.astype(register), type_name)

    return run


def _widen(source: str, result: str, ftz: bool) -> Run | None:
    """To a type that has every value of the source."""
    match source, result:
        case "bf16", "f32":
            # A shift on hardware too, so that a NaN keeps its payload.
            run: Run = lambda a: a.astype(np.uint32) << np.uint32(16)  # noqa: E731
        case "f16", "f32":
            run = lambda a: canonical(a.view(np.float16).astype(np.float32).view(np.uint32), "f32")  # noqa: E731
        case _, "f64":
            values = real(source)
            if source == "f32" and ftz:
                return lambda a: values(flush(a, "f32")).astype(np.float64).view(np.uint64)
            return lambda a: values(a).astype(np.float64).view(np.uint64)
        case _:
            return None
    return (lambda a: flush(run(a), "f32")) if ftz else run


def _float_to_float(cvt: Conversion) -> Run | None:
    source, result = cvt.source, cvt.result
    if source == result:
        return _same_float(cvt)
    ftz = "ftz" in cvt.flags and "f32" in (source, result)
    if WIDTH[result] > WIDTH[source]:
        run = None if cvt.rounding else _widen(source, result, ftz)
    elif cvt.rounding in ROUNDINGS:
        assert cvt.rounding is not None
        run = _narrow_float(source, result, cvt.rounding, ftz)
    else:
        return None
    if run is None:
        return None
    whole = run
    if "sat" in cvt.flags:
        return lambda a: saturate(whole(a), result)
    return (lambda a: relu(whole(a), result)) if "relu" in cvt.flags else whole


def _keep_payload(bits: Array, source: Array, result: str) -> Array:
    """From f64, unlike from f32, a NaN keeps its sign and its payload's upper bits, quieted."""
    nan = np.isnan(source.view(np.float64))
    if not nan.any():
        return bits
    fraction = {"f32": 23, "f16": 10, "bf16": 7}[result]
    payload = (source >> np.uint64(52 - fraction)) & np.uint64((1 << fraction) - 1) | np.uint64(1 << (fraction - 1))
    sign = (source >> np.uint64(63)).astype(bits.dtype) << bits.dtype.type(WIDTH[result] - 1)
    return np.where(nan, sign | INFINITY[result] | payload.astype(bits.dtype), bits)


def _narrow_float(source: str, result: str, mode: str, ftz: bool) -> Run:
    if source == "f32" and result == "bf16" and not ftz:
        return in_blocks(lambda a: round_bf16(a, mode))
    values = real(source)

    def run(a: Array) -> Array:
        if ftz and source == "f32":
            a = flush(a, "f32")
        bits = narrow(values(a), result, mode)
        if source == "f64":
            bits = _keep_payload(bits, a, result)
        return flush_tiny(bits, values(a), "f32", mode) if ftz and result == "f32" else bits

    return in_blocks(run)


def _cvt(opcode: Opcode) -> Operation | None:
    packed = packed_conversion.decode(opcode)
    if packed is not None or len(opcode) < 3:
        return packed
    cvt = _parse(opcode)
    if cvt is None or not {cvt.result, cvt.source} <= INTEGERS | FLOATS:
        return None
    match cvt.source in INTEGERS, cvt.result in INTEGERS:
        case True, True:
            run = _integer_to_integer(cvt)
        case True, False:
            run = _integer_to_float(cvt)
        case False, True:
            run = _float_to_integer(cvt)
        case _:
            run = _float_to_float(cvt)
    return None if run is None else Operation(run, (cvt.source,), (cvt.result,))


DECODE: dict[str, Callable[[Opcode], Operation | None]] = {"cvt": _cvt}
