"""Structs of random fields, nested: copied whole and by fields, through each kind of memory and by value."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

import random

import numpy as np
import pytest

from kdsl import Array, Ptr, f8e4m3, i32, kernel, local, shared, struct, sync_threads, thread_idx
from kdsl.lang.types import BF16, F16, F32, F64, I8, I16, I32, I64, STRUCT_TYPE, U8, U16, U32, U64, StructType, as_type
from kdsl.lang.types import VectorType as V

SCALARS = [bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, f8e4m3, Ptr[F32]]
VECTORS = [V(F32, 2), V(F32, 4), V(F64, 2), V(U8, 4), V(I16, 2), V(F16, 2), V(I64, 2), V(BF16, 4)]
THREADS = 32


def random_struct(rng: random.Random, depth: int = 2) -> type:
    fields = {}
    for i in range(rng.randint(1, 5)):
        choice = rng.random()
        kind = random_struct(rng, depth - 1) if depth and choice < 0.3 else rng.choice(SCALARS + VECTORS)
        fields[f"f{i}"] = kind
    cls = type(f"S{rng.randrange(10**6)}", (), {"__annotations__": fields})
    return struct(align=rng.choice((1, 1, 8, 16)))(cls)


def filled(type_: StructType, rng: np.random.Generator) -> np.ndarray:
    """Elements of small numbers, exact in all types, and padding that is all ones."""
    a = np.full(THREADS * type_.size, 255, np.uint8).view(type_.numpy)
    for path, leaf, _ in type_.leaves():
        part = a
        for name in path.split("."):
            part = part[name]
        low, high = (0, 2) if leaf == as_type(bool) else (0, 100)
        part[...] = rng.integers(low, high, part.shape).astype(part.dtype)
    return a


def same(a: np.ndarray, b: np.ndarray, type_: StructType) -> bool:
    """Whether all fields are equal, whatever is between them."""
    for path, _, _ in type_.leaves():
        x, y = a, b
        for name in path.split("."):
            x, y = x[name], y[name]
        if x.tobytes() != y.tobytes():
            return False
    return True


def by_fields(type_: StructType, source: str, target: str, indent: str) -> str:
    """Statements that copy each scalar or vector."""
    return "".join(f"{indent}{target}.{path} = {source}.{path}\n" for path, _, _ in type_.leaves())


@pytest.mark.parametrize("seed", range(25))
def test_copies(device: str, seed: int) -> None:
    rng = random.Random(seed)
    S = random_struct(rng)
    type_ = vars(S)[STRUCT_TYPE]

    @kernel
    def whole(a: Ptr[S], b: Array[S, 1], flags: Ptr[i32]):
        i = thread_idx.x
        s = shared.array(THREADS, S)
        t = local.array(2, S)
        s[i] = a[i]
        sync_threads()
        t[i % 2] = s[THREADS - 1 - i]
        b[i] = t[i % 2]
        flags[i] = (b[i] == a[THREADS - 1 - i]) + 2 * (a[i] != a[i])

    @kernel
    def value(p: S, n: i32, b: Array[S, 1]):
        b[n] = p

    a = filled(type_, np.random.default_rng(seed))
    b, flags = np.zeros(THREADS, S.dtype), np.zeros(THREADS, np.int32)
    whole[1, THREADS](a, b, flags)
    assert same(b, a[::-1].copy(), type_)
    assert (flags == 1).all()
    value[1, 1](a[5], 3, b)
    assert same(b[3:4], a[5:6], type_)


FIELDS = """
def k(a: Ptr[S], b: Array[S, 1]):
    i = thread_idx.x
    p = a[i]
    q = a[0]
{of_variables}
{of_elements}
    a[i] = q
"""


@pytest.mark.parametrize("seed", range(15))
def test_fields(device: str, seed: int) -> None:
    import linecache

    S = random_struct(random.Random(100 + seed))
    type_ = vars(S)[STRUCT_TYPE]
    text = FIELDS.format(
        of_variables=by_fields(type_, "p", "q", "    "), of_elements=by_fields(type_, "a[i]", "b[31 - i]", "    ")
    )
    name = f"<fields {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"S": S, "Ptr": Ptr, "Array": Array, "thread_idx": thread_idx}
    exec(compile(text, name, "exec"), scope)
    k = kernel(scope["k"])
    a = filled(type_, np.random.default_rng(seed))
    original, b = a.copy(), np.zeros(THREADS, S.dtype)
    k[1, THREADS](a, b)
    assert same(a, original, type_)
    assert same(b, original[::-1].copy(), type_)


def test_floats_of_8_bits(device: str) -> None:
    @struct
    class Small:
        a: f8e4m3
        b: f8e4m3 = 1.5

    @kernel
    def k(s: Small, out: Array[Small, 1]):
        out[0] = s
        out[1] = Small(s.b, s.a)
        out[2].a = s.a

    out = np.zeros(3, Small.dtype)
    k[1, 1](Small(0.25), out)
    assert [tuple(map(float, row)) for row in out.tolist()] == [(0.25, 1.5), (1.5, 0.25), (0.25, 0)]
    with pytest.raises(ValueError, match="field `a` takes f8e4m3, got 1000, which is too large for it"):
        k[1, 1](Small(1000), out)
