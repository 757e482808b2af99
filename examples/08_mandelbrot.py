"""The Mandelbrot set as a PNG: two-dimensional launches, and loops that end at a different time in every thread."""

from __future__ import annotations

import argparse
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kdsl import Array, f32, grid, i32, kernel


# Why fmad=False? Near the border of the set the last bit of a step decides when a point escapes. Without fused
# multiply-adds each operation is rounded as NumPy rounds it, and the two images are equal, pixel by pixel.
@kernel(fmad=False)
def mandelbrot(steps: Array[i32, 2], left: f32, top: f32, pixel: f32, limit: i32) -> None:
    x, y = grid(2)
    if y < steps.shape[0] and x < steps.shape[1]:
        c_real = left + x * pixel
        c_imaginary = top - y * pixel
        real = imaginary = 0.0
        count = 0
        while count < limit and real * real + imaginary * imaginary <= 4.0:
            real, imaginary = real * real - imaginary * imaginary + c_real, 2.0 * real * imaginary + c_imaginary
            count += 1
        steps[y, x] = count


def reference(height: int, width: int, left: float, top: float, pixel: float, limit: int) -> NDArray[np.int32]:
    c_real = np.float32(left) + np.arange(width, dtype=np.float32)[None, :] * np.float32(pixel)
    c_imaginary = np.float32(top) - np.arange(height, dtype=np.float32)[:, None] * np.float32(pixel)
    real = np.zeros((height, width), np.float32)
    imaginary = np.zeros_like(real)
    steps = np.zeros((height, width), np.int32)
    for _ in range(limit):
        inside = real * real + imaginary * imaginary <= 4
        steps += inside
        # A point that has left stays where it is, outside.
        real, imaginary = (
            np.where(inside, real * real - imaginary * imaginary + c_real, real),
            np.where(inside, 2 * real * imaginary + c_imaginary, imaginary),
        )
    return steps


def write_png(path: Path, gray: NDArray[np.uint8]) -> None:
    """Write an 8-bit grey image: a signature, then chunks of length, name, data and CRC-32 (PNG specification, 5)."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width = gray.shape
    rows = np.zeros((height, width + 1), np.uint8)  # byte 0 of a row names its filter: none
    rows[:, 1:] = gray
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    image = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + image)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="the Mandelbrot set as a PNG")
    parser.add_argument("path", nargs="?", type=Path, default=Path("mandelbrot.png"))
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--limit", type=int, default=100, help="steps after which a point counts as inside")
    arguments = parser.parse_args(argv)

    width, limit = arguments.width, arguments.limit
    height = width * 2 // 3
    left, top, pixel = -2.0, 1.0, 3.0 / width
    steps = np.empty((height, width), np.int32)
    mandelbrot[((width + 31) // 32, (height + 7) // 8), (32, 8)](steps, left, top, pixel, limit)

    if not np.array_equal(steps, reference(height, width, left, top, pixel, limit)):
        print("mandelbrot: MISMATCH")
        return 1
    # Inside is black; outside, the longer a point stayed the brighter, by the logarithm.
    shade = np.log1p(steps) * (255 / np.log1p(limit))
    write_png(arguments.path, np.where(steps == limit, 0, shade).astype(np.uint8))
    print(f"mandelbrot: {width} x {height} pixels verified, written to {arguments.path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
