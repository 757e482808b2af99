"""Conway's Game of Life with all generations in one launch: the blocks wait for each other at a barrier of the grid."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import Array, Ptr, atomic, block_dim, block_idx, grid_dim, grid_sync, i32, kernel, thread_idx, u8


def wrapped(i: i32, length: i32) -> i32:
    """An index up to one step outside, brought to the other edge."""
    return length - 1 if i < 0 else 0 if i == length else i


def lives(board: Array[u8, 2], y: i32, x: i32) -> bool:
    """Whether a cell is alive in the next generation."""
    alive = board[y, x]
    around = -i32(alive)  # the cell itself is one of the nine below, and no neighbour
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            around += board[wrapped(y + dy, board.shape[0]), wrapped(x + dx, board.shape[1])]
    return around == 3 or (alive == 1 and around == 2)


@kernel
def generations(first: Array[u8, 2], second: Array[u8, 2], population: Ptr[i32], steps: i32) -> None:
    """`population[k]` counts the cells that are alive after k + 1 steps."""
    board, after = first, second
    for step in range(steps):
        count = 0
        for y in range(block_idx.x, board.shape[0], grid_dim.x):
            for x in range(thread_idx.x, board.shape[1], block_dim.x):
                alive = lives(board, y, x)
                after[y, x] = u8(alive)
                count += i32(alive)
        if count > 0:
            atomic.add(population, step, count)
        # A cell needs neighbours that other blocks computed: nobody goes on before all of this generation is there.
        grid_sync()
        board, after = after, board


def reference(board: NDArray[np.uint8], steps: int) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    shifts = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]
    population = np.zeros(steps, np.int32)
    for step in range(steps):
        around = sum(np.roll(board, shift, (0, 1)) for shift in shifts)
        board = ((around == 3) | (board.astype(bool) & (around == 2))).astype(np.uint8)
        population[step] = np.count_nonzero(board)
    return board, population


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Conway's Game of Life in one launch")
    parser.add_argument("--height", type=int, default=200)
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=64, help="blocks of 256 threads, which all run at once")
    size = parser.parse_args(argv)

    start = np.random.default_rng(22).integers(0, 2, (size.height, size.width), np.uint8)
    boards = kdsl.to_device(start), kdsl.empty(start.shape, np.uint8)
    population = kdsl.zeros(max(size.steps, 1), np.int32)
    # kdsl sees that the kernel calls grid_sync, and launches it cooperatively: more blocks than the GPU runs at once
    # would wait for each other for ever, so they are refused, with the largest number that is not.
    generations[size.blocks, 256](*boards, population, size.steps)

    board, counts = reference(start, size.steps)
    found = boards[size.steps % 2].to_host()
    if not np.array_equal(found, board) or not np.array_equal(population.to_host()[: size.steps], counts):
        print("life_in_one_launch: MISMATCH")
        return 1
    print(f"life_in_one_launch: {size.steps} generations, {np.count_nonzero(found)} cells alive, verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
