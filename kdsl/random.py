"""Random numbers from a counter: functions that kernels call. There is no state, so any thread can make any number.

The generator is Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). The same counter
and key give the same four words everywhere, those that Random123 gives too. Not for secrets.
"""

from __future__ import annotations

import math

from kdsl.lang.math import mul_hi, sincospi
from kdsl.lang.static import static_range
from kdsl.lang.type_names import f32, u32

_MULTIPLIER_0, _MULTIPLIER_1 = 0xD251_1F53, 0xCD9E_8D57
# The golden ratio and the square root of 3, less 1 each, times 2**32.
_WEYL_0, _WEYL_1 = 0x9E37_79B9, 0xBB67_AE85


def philox4x32(counter: tuple[u32, u32, u32, u32], key: tuple[u32, u32]) -> tuple[u32, u32, u32, u32]:
    """Four independent random words for each ``counter`` (sample, thread, 0, 0, say) and ``key``, the seed."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in static_range(10):
        # Why in halves? Of a 64-bit product LLVM makes more than its two words; ptxas joins the halves again.
        upper, lower = mul_hi(c2, _MULTIPLIER_1) ^ c1 ^ k0, mul_hi(c0, _MULTIPLIER_0) ^ c3 ^ k1
        c0, c1, c2, c3 = upper, c2 * _MULTIPLIER_1, lower, c0 * _MULTIPLIER_0
        k0 += _WEYL_0
        k1 += _WEYL_1
    return c0, c1, c2, c3


def uniform(word: u32) -> f32:
    """One of the ``2**24`` evenly spaced numbers from 0 up to, and without, 1: the upper 24 bits of a random word."""
    return f32(word >> 8) * 2.0**-24


def normal(first: u32, second: u32) -> tuple[f32, f32]:
    """Two independent numbers of the standard normal distribution from two random words, by Box and Muller.

    24 bits of ``first`` make the radius: none is larger than 5.77.
    """
    # From 1 down to, and without, 0: its logarithm is finite.
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(first)))
    sine, cosine = sincospi(2.0 * uniform(second))
    return radius * cosine, radius * sine
