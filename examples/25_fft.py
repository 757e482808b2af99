"""Fast Fourier transform of each row of a matrix of complex numbers: a block for each row, in shared memory.

Stockham's form with steps of four: each of the five steps leaves its results where the next one finds them in order, so
nothing is reversed bit by bit at the end.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import Array, block_idx, complex64, f32, kernel, math, shared, sync_threads, thread_idx

N = 1024  # 4 ** 5
BLOCK = N // 4  # each thread transforms four numbers in each step


def transform4(
    a: complex64, b: complex64, c: complex64, d: complex64
) -> tuple[complex64, complex64, complex64, complex64]:
    """The Fourier transform of four numbers."""
    even, odd = a + c, b + d
    difference, other = a - c, b - d
    # -1j * other. Why not so? A product with 1j is one with 0, too, and nothing tells that the other part is finite.
    turned = complex64(other.imag, -other.real)
    return even + odd, difference + turned, even - odd, difference - turned


@kernel
def fft(x: Array[complex64, 2], out: Array[complex64, 2]) -> None:
    data = shared.array(N, complex64)
    row, i = block_idx.x, thread_idx.x
    a, b, c, d = x[row, i], x[row, i + BLOCK], x[row, i + 2 * BLOCK], x[row, i + 3 * BLOCK]
    a, b, c, d = transform4(a, b, c, d)
    data[4 * i], data[4 * i + 1], data[4 * i + 2], data[4 * i + 3] = a, b, c, d
    for done in (4, 16, 64, 256):  # so many numbers are in each transform that is finished
        sync_threads()
        sine, cosine = math.sincospi(f32(i % done) * (-0.5 / done))
        turn = complex64(cosine, sine)
        turn2 = turn * turn
        a, b = data[i], data[i + BLOCK] * turn
        c, d = data[i + 2 * BLOCK] * turn2, data[i + 3 * BLOCK] * (turn2 * turn)
        a, b, c, d = transform4(a, b, c, d)
        if done < BLOCK:
            sync_threads()  # all have read
            place = i // done * (4 * done) + i % done
            data[place], data[place + done] = a, b
            data[place + 2 * done], data[place + 3 * done] = c, d
        else:
            out[row, i], out[row, i + BLOCK] = a, b
            out[row, i + 2 * BLOCK], out[row, i + 3 * BLOCK] = c, d


def reference(x: NDArray[np.complex64]) -> NDArray[np.complex128]:
    return np.fft.fft(x.astype(np.complex128), axis=1)


def error_bound(expected: NDArray[np.complex128]) -> NDArray[np.float64]:
    """How far each row may be from the exact transform, as the root of the sum of squares.

    In units of 2^-24 of the row's size, to first order. A part of `turn` is off by 1 ulp, so 2; its cube by three
    times that and two products, each by sqrt(5); its product with the data by sqrt(5) again. The two sums of
    `transform4`, which rotates what it adds, are off by 1 each. Four such steps, and the sums of the first one.
    """
    step = 3 * 2 + 3 * 5**0.5 + 2
    bound: NDArray[np.float64] = (4 * step + 2) * 2.0**-24 * np.linalg.norm(expected, axis=1)
    return bound


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=f"Fourier transforms of rows of {N} complex numbers")
    parser.add_argument("--rows", type=int, default=64)
    rows = parser.parse_args(argv).rows

    rng = np.random.default_rng(25)
    # Of this size, so that those of the transform are near 1.
    x = rng.normal(scale=N**-0.5, size=(rows, N, 2)).astype(np.float32).view(np.complex64)[..., 0]
    out = np.empty_like(x)
    fft[rows, BLOCK](x, out)

    expected = reference(x)
    if not np.all(np.linalg.norm(out - expected, axis=1) <= error_bound(expected)):
        print("fft: MISMATCH")
        return 1
    print(f"fft: {rows} rows of {N} numbers verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
