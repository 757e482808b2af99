"""Heat in a plate, step after step: two steps are captured into a graph, which is launched again and again while the
power of the heater changes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import Array, f32, grid, kernel

RATE = np.float32(0.2)


# Without contraction the sums are rounded as NumPy rounds them, so that results are compared bit by bit.
@kernel(fmad=False)
def step(now: Array[f32, 2], after: Array[f32, 2], power: f32) -> None:
    """One step of the plate, whose edge stays as it is; `power` heats its middle."""
    x, y = grid(2)
    height, width = now.shape
    if 0 < y < height - 1 and 0 < x < width - 1:
        around = now[y - 1, x] + now[y + 1, x] + now[y, x - 1] + now[y, x + 1]
        heat = power if y == height // 2 and x == width // 2 else 0.0
        after[y, x] = now[y, x] + RATE * (around - 4.0 * now[y, x]) + heat


def power_at(pair: int) -> float:
    """The heater's power in a pair of steps: on for eight, and off for four."""
    return 10.0 if pair % 12 < 8 else 0.0


def reference(plate: NDArray[np.float32], pairs: int) -> NDArray[np.float32]:
    middle = plate.shape[0] // 2, plate.shape[1] // 2
    for step in range(2 * pairs):
        after = plate.copy()
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        inner = plate[1:-1, 1:-1]
        after[1:-1, 1:-1] = inner + RATE * (around - np.float32(4) * inner)
        after[middle] += np.float32(power_at(step // 2))
        plate = after
    return plate


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="heat in a plate, as a graph that is launched for each two steps")
    parser.add_argument("--height", type=int, default=300)
    parser.add_argument("--width", type=int, default=400)
    parser.add_argument("--pairs", type=int, default=100, help="pairs of steps")
    size = parser.parse_args(argv)

    start = np.random.default_rng(27).random((size.height, size.width), np.float32)
    plate, other = kdsl.to_device(start), kdsl.to_device(start)
    launch = step[((size.width + 31) // 32, (size.height + 7) // 8), (32, 8)]

    stream = kdsl.Stream()
    with stream.capture() as graph:  # inside, launches go into the graph, and nothing runs
        launch(plate, other, 0.0)
        launch(other, plate, 0.0)
    both_steps = graph.instantiate()
    for pair in range(size.pairs):
        for node in both_steps.nodes:
            # Launches that are under way keep the arguments that they were made with.
            node.update(power=power_at(pair))
        both_steps.launch(stream)
    stream.synchronize()

    if not np.array_equal(plate.to_host(), reference(start, size.pairs)):
        print("graphs: MISMATCH")
        return 1
    print(f"graphs: {size.pairs} launches of a graph of {len(graph)} kernels, verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
