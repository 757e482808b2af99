"""Prices of European options: Python's math functions in a kernel, and a constant and a function from outside of it."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import Ptr, f32, grid, gridsize, i32, kernel

SQRT_HALF = math.sqrt(0.5)  # a captured Python number takes the type that it meets: here f32


def normal_cdf(x: f32) -> f32:
    """The probability that a standard normal variable is at most x."""
    return 0.5 + 0.5 * math.erf(x * SQRT_HALF)


@kernel
def black_scholes(
    spot: Ptr[f32], strike: Ptr[f32], years: Ptr[f32], call: Ptr[f32], put: Ptr[f32], rate: f32, sigma: f32, n: i32
) -> None:
    for i in range(grid(1), n, gridsize(1)):
        s = spot[i]
        k = strike[i]
        t = years[i]
        spread = sigma * math.sqrt(t)
        d1 = (math.log(s / k) + (rate + 0.5 * sigma * sigma) * t) / spread
        d2 = d1 - spread
        discounted = k * math.exp(-rate * t)
        call[i] = s * normal_cdf(d1) - discounted * normal_cdf(d2)
        put[i] = discounted * normal_cdf(-d2) - s * normal_cdf(-d1)


def reference(
    spot: NDArray[np.float32], strike: NDArray[np.float32], years: NDArray[np.float32], rate: float, sigma: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Call and put in f64; the put by put-call parity, which the kernel does not use."""
    s, k, t = (x.astype(np.float64) for x in (spot, strike, years))
    spread = sigma * np.sqrt(t)
    d1 = (np.log(s / k) + (rate + sigma**2 / 2) * t) / spread
    erf = np.vectorize(math.erf, otypes=[np.float64])
    cdf1, cdf2 = (0.5 * (1 + erf(d / math.sqrt(2))) for d in (d1, d1 - spread))
    call = s * cdf1 - k * np.exp(-rate * t) * cdf2
    return call, call - s + k * np.exp(-rate * t)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Black-Scholes option prices")
    parser.add_argument("--n", type=int, default=1 << 17, help="options")
    parser.add_argument("--blocks", type=int, default=256, help="blocks of 256 threads")
    arguments = parser.parse_args(argv)
    n = arguments.n

    rng = np.random.default_rng(6)
    spot = rng.uniform(5, 30, n).astype(np.float32)
    strike = rng.uniform(1, 100, n).astype(np.float32)
    years = rng.uniform(0.25, 10, n).astype(np.float32)
    call = np.empty_like(spot)
    put = np.empty_like(spot)
    rate, sigma = 0.02, 0.3
    black_scholes[arguments.blocks, 256](spot, strike, years, call, put, rate, sigma, n)

    # A price is the difference of two terms of at most spot and strike, each with a relative error of a few roundings:
    # 8 ulps (2^-20) of their sum.
    expected = reference(spot, strike, years, rate, sigma)
    bound = 2.0**-20 * (spot + strike)
    if not all(np.all(np.abs(got - right) <= bound) for got, right in zip((call, put), expected, strict=True)):
        print("black_scholes: MISMATCH")
        return 1
    print(f"black_scholes: {n} calls and puts verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
