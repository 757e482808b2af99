"""Convolution of an image: filters in constant memory, and a shared tile with a halo of the pixels around it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kdsl import Array, block_idx, constant, f32, i32, kernel, shared, sync_threads, thread_idx

RADIUS = 2
SIDE = 2 * RADIUS + 1
TILE = 16
WIDE = TILE + 2 * RADIUS  # the tile and its halo

# A blur, and what changes from left to right and from top to bottom.
SMOOTH, SLOPE = [1, 4, 6, 4, 1], [1, 2, 0, -2, -1]
FILTERS = np.array([np.outer(SMOOTH, SMOOTH), np.outer(SMOOTH, SLOPE), np.outer(SLOPE, SMOOTH)], np.float32) / 256


@kernel
def convolve(image: Array[f32, 2], out: Array[f32, 2], chosen: i32) -> None:
    # Why constant? All threads of a warp read the same weight at the same time: one access serves them.
    filters = constant.array(FILTERS)
    tile = shared.array((WIDE, WIDE), f32)
    tx = thread_idx.x
    ty = thread_idx.y
    height = image.shape[0]
    width = image.shape[1]

    # A tile has more pixels than the block has threads, so some load twice or more. Outside of the image is black.
    for row in range(ty, WIDE, TILE):
        for column in range(tx, WIDE, TILE):
            y = block_idx.y * TILE + row - RADIUS
            x = block_idx.x * TILE + column - RADIUS
            tile[row, column] = image[y, x] if 0 <= y < height and 0 <= x < width else 0.0
    sync_threads()

    total = 0.0
    for i in range(SIDE):
        for j in range(SIDE):
            # A convolution mirrors the filter: hence the minus signs.
            total += filters[chosen, i, j] * tile[ty + 2 * RADIUS - i, tx + 2 * RADIUS - j]
    y = block_idx.y * TILE + ty
    x = block_idx.x * TILE + tx
    if y < height and x < width:
        out[y, x] = total


def reference(image: NDArray[np.float32], weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """In f64: each weight moves the whole image, and scales it."""
    height, width = image.shape
    out = np.zeros((height + 2 * RADIUS, width + 2 * RADIUS))
    for i in range(SIDE):
        for j in range(SIDE):
            out[i : i + height, j : j + width] += np.float64(weights[i, j]) * image
    return out[RADIUS:-RADIUS, RADIUS:-RADIUS]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="convolution of an image with three filters of 5 x 5")
    parser.add_argument("--height", type=int, default=200)
    parser.add_argument("--width", type=int, default=300)
    size = parser.parse_args(argv)

    image = np.random.default_rng(17).random((size.height, size.width), np.float32)
    out = np.empty_like(image)
    blocks = ((size.width + TILE - 1) // TILE, (size.height + TILE - 1) // TILE)
    for chosen, weights in enumerate(FILTERS):
        convolve[blocks, (TILE, TILE)](image, out, chosen)
        # A chain of 25 fused multiply-adds of numbers whose absolute values add up to at most 1: half an ulp of 1
        # (2^-24) each.
        if not np.all(np.abs(out - reference(image, weights)) <= SIDE * SIDE * 2.0**-24):
            print(f"convolution2d: MISMATCH with filter {chosen}")
            return 1
    print(f"convolution2d: {size.height} x {size.width} pixels, {len(FILTERS)} filters verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
