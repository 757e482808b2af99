"""Scalar arguments: what fits a scalar parameter, as the value that is packed; anything else is an error that names the
fix.
"""

from __future__ import annotations

import contextlib
import math
import operator
import struct
from numbers import Number
from typing import Any

import numpy as np

from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.types import F64, I32, I64, U64, Kind, ScalarType
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError, written
from kdsl.runtime.formats import FORMATS
from kdsl.runtime.host_values import is_masked
from kdsl.runtime.interface import is_on_gpu

# Exact classes that any float parameter packs directly. Others (Fraction, Decimal, 0-d arrays) take the checked way.
REAL_CLASSES: frozenset[type] = frozenset(
    {float, int, bool, np.float16, np.float32, np.float64}
    | {np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64}
)

# Those of them that compare with any number, without a rounding of its own; and of ints, what a double holds.
WIDE_CLASSES: frozenset[type] = frozenset({float, np.float64})
INT_CLASSES: frozenset[type] = frozenset({int, bool})
EXACT_INTS = 2**53

# What has a __float__ and is no real number: text, records and dates of NumPy among them.
NO_REALS = (str, bytes, complex, np.complexfloating, np.flexible, np.datetime64, np.timedelta64)

WIDER = {"f32": "declare the parameter as f64, or ", "f64": ""}
"""What to do about a number that is too large for a type; of the types of 16 bits it is f32."""


def bf16_bits(value: Any) -> int:
    """The bits of the bfloat16 nearest to a real number, ties to even, rounded once; OverflowError for a finite value
    too large.
    """
    number = to_odd(value)
    bits: int = struct.unpack("<I", struct.pack("<f", number))[0]
    if math.isnan(number):
        return 0x7FFF
    # Rounding to f32 first would round twice. So: f32 rounded to odd, by looking at what the first rounding did.
    back: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    if back != number:
        if abs(back) > abs(number):
            bits -= 1
        bits |= 1
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    if math.isfinite(number) and (rounded & 0x7FFF) == 0x7F80:
        raise OverflowError("float too large to pack as bf16")
    return rounded


def to_odd(value: Any) -> float:
    """A double that rounds to every narrower type as a real number itself does: the nearest would round twice. Where it
    is not the number, it is that beside it whose last bit is 1 (Boldo and Melquiond, When double rounding is odd).
    """
    number = float(value)
    if type(value) in WIDE_CLASSES or not math.isfinite(number) or not isinstance(value, Number):
        return number
    exact: Any = int(value) if isinstance(value, np.integer) else value
    if number == exact:
        return number
    outwards = math.inf if exact > 0 else -math.inf
    if (number > exact) == (exact > 0):
        number = math.nextafter(number, -outwards)
    is_odd = struct.pack("<d", number)[0] & 1
    return number if is_odd else math.nextafter(number, outwards)


def packable(where: str, type_: ScalarType, value: Any) -> Any:
    """What `struct` packs for ``value`` in a parameter of ``type_``; ``where`` begins every message."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        if is_masked(value):
            raise ArgumentTypeError(f"{where} takes a number ({type_}), got a masked array; pass its data: x.data[()]")
        value = value[()]
    if type(value) not in REAL_CLASSES and is_on_gpu(value):
        # Its __float__ and __index__ would wait for the GPU unasked.
        raise ArgumentTypeError(
            f"{where} takes a number ({type_}), got {shown(value)} in a GPU's memory; pass value.item(), which waits "
            f"for it, or declare the parameter as Ptr[{type_}]"
        )
    if type_.kind is Kind.BOOL:
        return _boolean(where, value)
    return _floating(where, type_, value) if type_.is_float else _integer(where, type_, value)


def _boolean(where: str, value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ArgumentTypeError(f"{where} takes a bool, got {shown(value)}; pass bool(...) or a comparison")


def _integer(where: str, type_: ScalarType, value: Any) -> int:
    # np.bool_ has no __index__, but a bool converts to any int.
    if isinstance(value, np.bool_):
        return int(value)
    try:
        number = operator.index(value)
    except TypeError:
        fix = "; pass int(...) to drop the fraction" if isinstance(value, (float, np.floating)) else ""
        raise ArgumentTypeError(f"{where} takes an int ({type_}), got {shown(value)}{fix}") from None
    if not type_.minimum <= number <= type_.maximum:
        raise ArgumentValueError(
            f"{where} takes {type_}, {type_.minimum} to {type_.maximum}, got {written(number)}, which does not fit; "
            f"declare the parameter as {narrowest(number) or 'a float, or split the value: no integer type holds it'}"
        )
    return number


def constant(where: str, type_: ConstexprType, value: Any) -> bool | int | float:
    """The number that a ``Constexpr`` parameter is compiled for."""
    assert type_.element is not None
    if type_.is_literal:
        # It takes the type it meets: only what none could take is refused here.
        widest = F64 if type_.element.is_float else I64
        with contextlib.suppress(TypeError):  # of what is no int, which `packable` says
            if widest is I64 and operator.index(value) > I64.maximum:
                widest = U64
    else:
        widest = type_.element
    packed = packable(where, widest, value)
    if widest.is_float:
        return float(value) if widest is F64 else to_odd(value)
    return bool(packed) if widest.kind is Kind.BOOL else int(packed)


def narrowest(number: int) -> ScalarType | None:
    """What a literal of this value is when nothing gives it a type: i32, i64 or u64; None if no type holds it."""
    return next((type_ for type_ in (I32, I64, U64) if type_.minimum <= number <= type_.maximum), None)


def _floating(where: str, type_: ScalarType, value: Any) -> Any:
    # Why ask the class? `int` itself, whose objects are numbers, has these methods as well.
    is_number = hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
    if isinstance(value, NO_REALS) or not is_number:
        fix = "; pass value.real" if isinstance(value, (complex, np.complexfloating)) else ""
        raise ArgumentTypeError(f"{where} takes a real number ({type_}), got {shown(value)}{fix}")
    if getattr(value, "shape", ()) != ():
        raise ArgumentTypeError(f"{where} takes one number ({type_}), got {shown(value)}; pass one element: value[0]")
    try:
        number = float(value) if type_.name == "f64" else to_odd(value)
        # Some give infinity where others raise: a Decimal, a longdouble.
        if math.isinf(number) and value != number and isinstance(value, Number):
            raise OverflowError
        packed = bf16_bits(number) if type_.name == "bf16" else number
        struct.pack(f"<{FORMATS[type_.name]}", packed)
    except TypeError:
        raise ArgumentTypeError(f"{where} takes a real number ({type_}), got {shown(value)}") from None
    except OverflowError:
        raise ArgumentValueError(
            f"{where} takes {type_}, got {written(value)}, which is too large for it; "
            f"{WIDER.get(type_.name, 'declare the parameter as f32, or ')}pass math.inf"
        ) from None
    return packed


def shown(value: Any) -> str:
    """How a message names an argument: its type, and its value where that is short."""
    if value is None:
        return "None"
    module = type(value).__module__.partition(".")[0]
    name = type(value).__name__ if module == "builtins" else f"{module}.{type(value).__name__}"
    text = written(value) if isinstance(value, (int, float, complex, str, bytes, np.generic)) else ""
    if isinstance(value, np.generic):
        text = str(value)
    return f"{name} {text}" if text and len(text) <= 40 else name
