"""Conway's Game of Life on a torus: two boards on the device that change places, and one launch for each generation."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import Array, grid, i32, kernel, u8


def wrapped(i: i32, length: i32) -> i32:
    """An index up to one step outside, brought to the other edge. Cheaper than `%`, which divides."""
    return length - 1 if i < 0 else 0 if i == length else i


@kernel
def generation(board: Array[u8, 2], after: Array[u8, 2]) -> None:
    x, y = grid(2)
    height = board.shape[0]
    width = board.shape[1]
    if y < height and x < width:
        alive = board[y, x]
        around = -i32(alive)  # the cell itself is one of the nine below, and no neighbour
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                around += board[wrapped(y + dy, height), wrapped(x + dx, width)]
        after[y, x] = u8(around == 3 or (alive == 1 and around == 2))


def reference(board: NDArray[np.uint8], steps: int) -> NDArray[np.uint8]:
    shifts = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]
    for _ in range(steps):
        around = sum(np.roll(board, shift, (0, 1)) for shift in shifts)
        board = ((around == 3) | (board.astype(bool) & (around == 2))).astype(np.uint8)
    return board


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Conway's Game of Life")
    parser.add_argument("--height", type=int, default=200)
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--steps", type=int, default=20)
    size = parser.parse_args(argv)

    start = np.random.default_rng(15).integers(0, 2, (size.height, size.width), np.uint8)
    board, after = kdsl.to_device(start), kdsl.empty(start.shape, np.uint8)
    blocks = ((size.width + 31) // 32, (size.height + 7) // 8)
    # Why a launch for each generation? A cell needs neighbours of other blocks, and a launch begins when the one
    # before it is over. The boards never leave the device.
    for _ in range(size.steps):
        generation[blocks, (32, 8)](board, after)
        board, after = after, board

    result = board.to_host()
    if not np.array_equal(result, reference(start, size.steps)):
        print("game_of_life: MISMATCH")
        return 1
    print(f"game_of_life: {size.steps} generations, {np.count_nonzero(result)} cells alive, verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
