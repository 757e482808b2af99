"""Random numbers: Random123's known answers, Philox in Python's integers, and what the distributions should be."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from kdsl import Array, Ptr, f32, grid, kernel, u32
from kdsl.random import normal, philox4x32, uniform

# Counter, key and result of `philox4x32 10` in Random123's tests/kat_vectors.
KNOWN = """
    00000000 00000000 00000000 00000000 00000000 00000000   6627e8d5 e169c58d bc57ac4c 9b00dbd8
    ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff   408f276d 41c83b0e a20bc7c6 6d5451fd
    243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0   d16cfe09 94fdcceb 5001e420 24126ea1
"""


def known() -> np.ndarray:
    return np.array([[int(word, 16) for word in line.split()] for line in KNOWN.strip().splitlines()], np.uint32)


def philox(counter: list[int], key: list[int]) -> list[int]:
    """The algorithm as the paper describes it: each round multiplies, exchanges halves, and moves the keys on."""
    left, right, low = list(counter[::2]), list(counter[1::2]), 0xFFFF_FFFF
    for step in range(10):
        products = [0xD2511F53 * left[0], 0xCD9E8D57 * left[1]]
        keys = [key[0] + step * 0x9E3779B9 & low, key[1] + step * 0xBB67AE85 & low]
        left = [products[1 - i] // 2**32 ^ right[i] ^ keys[i] for i in range(2)]
        right = [products[1 - i] % 2**32 for i in range(2)]
    return [left[0], right[0], left[1], right[1]]


@kernel
def words(inputs: Array[u32, 2], out: Array[u32, 2]) -> None:
    i = grid(1)
    if i < inputs.shape[0]:
        counter = inputs[i, 0], inputs[i, 1], inputs[i, 2], inputs[i, 3]
        a, b, c, d = philox4x32(counter, (inputs[i, 4], inputs[i, 5]))
        out[i, 0] = a
        out[i, 1] = b
        out[i, 2] = c
        out[i, 3] = d


@kernel
def samples(out: Array[f32, 2], seed: u32) -> None:
    i = grid(1)
    if i < out.shape[0]:
        a, b, c, d = philox4x32((u32(i), 0, 0, 0), (seed, 0))
        x, y = normal(c, d)
        out[i, 0] = uniform(a)
        out[i, 1] = uniform(b)
        out[i, 2] = x
        out[i, 3] = y


@kernel
def of_words(given: Ptr[u32], out: Array[f32, 2]) -> None:
    i = grid(1)
    if i < out.shape[0]:
        x, y = normal(given[2 * i], given[2 * i + 1])
        out[i, 0] = uniform(given[2 * i])
        out[i, 1] = x
        out[i, 2] = y


def test_known_answers(device: str) -> None:
    table = known()
    out = np.zeros((3, 4), np.uint32)
    words[1, 32](np.ascontiguousarray(table[:, :6]), out)
    assert np.array_equal(out, table[:, 6:])


def test_words_are_those_of_the_algorithm(device: str) -> None:
    assert [philox(row[:4], row[4:6]) for row in known().tolist()] == known()[:, 6:].tolist()
    inputs = np.random.default_rng(1).integers(0, 2**32, (500, 6), np.uint32)
    out = np.zeros((500, 4), np.uint32)
    words[4, 128](inputs, out)
    assert out.tolist() == [philox(row[:4], row[4:]) for row in inputs.tolist()]


def test_a_round_takes_two_multiplications() -> None:
    ptx = words.compile(target="sm_90").ptx
    assert ptx.count("mul.hi.u32") == 20  # each beside its mul.lo: one IMAD.WIDE, tests/codegen/test_wide_products.py
    assert "bra" not in ptx.split("mul.hi.u32", 1)[1]


def test_a_debug_build_finds_no_cast_that_loses_a_value() -> None:
    out, inputs = np.zeros((3, 4), np.uint32), np.full((3, 6), 0xFFFF_FFFF, np.uint32)
    kernel(debug=True)(words.function)[1, 32](inputs, out)
    assert out.tolist() == [philox([0xFFFF_FFFF] * 4, [0xFFFF_FFFF] * 2)] * 3


EDGES = [0, 0xFF, 0x100, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FEFF, 0xFFFF_FFFF]


def test_numbers_are_those_of_the_words(device: str) -> None:
    pairs = [(a, b) for a in EDGES for b in EDGES]
    pairs += np.random.default_rng(2).integers(0, 2**32, (463, 2)).tolist()
    out = np.zeros((512, 3), np.float32)
    of_words[4, 128](np.array(pairs, np.uint32), out)
    for (first, second), (flat, x, y) in zip(pairs, out.tolist(), strict=True):
        assert flat == (first >> 8) / 2**24
        radius = math.sqrt(-2 * math.log(1 - (first >> 8) / 2**24))
        angle = 2 * math.pi * (second >> 8) / 2**24
        # A few ulp each of log, sqrt, sincospi and the product.
        assert abs(x - radius * math.cos(angle)) <= 2**-21 * radius
        assert abs(y - radius * math.sin(angle)) <= 2**-21 * radius
        assert radius < 5.77


@pytest.fixture(scope="module")
def many() -> np.ndarray:
    out = np.zeros((1 << 15, 4), np.float32)
    samples[256, 128](out, 2026)
    return out.astype(np.float64)


def test_uniform_numbers_are_uniform(many: np.ndarray) -> None:
    flat = many[:, :2]
    assert 0 <= flat.min() < 1e-3 < 1 - 1e-3 < flat.max() < 1
    assert _distance(flat.ravel(), lambda x: x) < 1.63 / math.sqrt(flat.size)
    assert abs(np.corrcoef(flat.T)[0, 1]) < 3 / math.sqrt(len(flat))


def test_normal_numbers_are_normal(many: np.ndarray) -> None:
    bell = many[:, 2:]
    assert _distance(bell.ravel(), statistics.NormalDist().cdf) < 1.63 / math.sqrt(bell.size)
    assert abs(np.corrcoef(bell.T)[0, 1]) < 3 / math.sqrt(len(bell))


def _distance(sample: np.ndarray, cumulative) -> float:
    """Kolmogorov's and Smirnov's; 1.63 over the root of the count is passed by one sample in a hundred."""
    expected = np.array([cumulative(x) for x in np.sort(sample)])
    return float(np.abs(expected - (np.arange(len(sample)) + 0.5) / len(sample)).max())
