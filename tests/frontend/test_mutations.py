"""Whatever is typed into a kernel, the frontend answers with a tree that passes `verify`, or with a CompileError."""

from __future__ import annotations

import io
import random
import tokenize
import warnings

import pytest

import kdsl
from kdsl.source import CompileError

from .harness import module_of
from .sources import define

KERNELS = {
    "saxpy": """
def saxpy(x: Ptr[f32], y: Ptr[f32], a: f32, n: i32):
    for i in range(grid(1), n, gridsize(1)):
        y[i] = a * x[i] + y[i]
""",
    "reduction": """
def warp_sum(value):
    for offset in (16, 8, 4, 2, 1):
        value += shfl_down_sync(FULL_MASK, value, offset)
    return value

def reduction(x: Ptr[f32], sums: Ptr[f32], n: i32):
    partial = shared.array(32, f32)
    total = 0.0
    for i in range(grid(1), n, gridsize(1)):
        total += x[i]
    total = warp_sum(total)
    if thread_idx.x % 32 == 0:
        partial[thread_idx.x // 32] = total
    sync_threads()
    while n > 0 and not total < 1.0:
        n -= 1
        total = partial[n] if n < 32 else 0.0
    if thread_idx.x == 0:
        atomic.add(sums, block_idx.x, total)
""",
    "matmul": """
def matmul(a: Array[f32, 2], b: Array[f64, 2], c: Array[f32, 2]):
    column, row = grid(2)
    rows, inner = a.shape
    def scaled(v, by=2):
        return v * by * rows
    if row < rows and column < c.shape[1]:
        total: f64 = 0.0
        for k in range(inner):
            total += scaled(a[row, k]) * b[k, column]
        c[row, column] = f32(total)
        assert total > 0, "positive"
        print(f"{total:.3f}", row, column, sep=";")
""",
}
PIECES = (
    "0 1 -1 x n i None True 's' 1.5 [0] (1,2) f32 range lambda:1 * + - // % ** << and or not if else in is .x .shape () (x) "
    ": = += == < , while for return break continue yield await del 1j 2**70 print ... @ ~ := global pass def class import"
).split()
ROUNDS = 400


def mutated(source: str, dice: random.Random) -> str:
    """The source with one or two tokens replaced, removed, or followed by another."""
    tokens = [(t.type, t.string) for t in tokenize.generate_tokens(io.StringIO(source).readline)]
    places = [i for i, (kind, _) in enumerate(tokens) if kind in (tokenize.NAME, tokenize.OP, tokenize.NUMBER)]
    for _ in range(dice.randrange(1, 3)):
        i, other = dice.choice(places), tokens[dice.choice(places)][1]
        kind, text = tokens[i]
        change = dice.choice((other, dice.choice(PIECES), "", f"{text} {dice.choice(PIECES)}"))
        tokens[i] = (kind, change)
    return tokenize.untokenize(tokens)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("seed", range(3))
def test_a_mutated_kernel_is_checked_or_refused(name, seed):
    names = {n: getattr(kdsl, n) for n in kdsl.__all__}
    dice = random.Random(f"{name} {seed}")
    checked = refused = 0
    for _ in range(ROUNDS):
        source = mutated(KERNELS[name], dice)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kernel = define(source, name, **names)
            kernel.__code__  # noqa: B018 (another statement may have taken its name)
        except (SyntaxError, NameError, TypeError, AttributeError, ValueError, KeyError, IndexError, RecursionError):
            continue  # not a Python function: nothing for the frontend
        try:
            module_of(kernel)
            checked += 1
        except CompileError as error:
            assert str(error)
            refused += 1
    assert checked
    assert refused
