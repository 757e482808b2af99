"""Structs with arrays as fields: in memory, in variables, in methods, as parameters; against NumPy."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

import ctypes
import random

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    FixedArray,
    Ptr,
    address_of,
    align_of,
    atomic,
    constant,
    f32,
    f32x4,
    f64,
    grid,
    i8,
    i16,
    i32,
    i64,
    kernel,
    local,
    shared,
    shfl_xor_sync,
    size_of,
    struct,
    sync_threads,
    thread_idx,
)


@struct
class Tap:
    weight: f32
    offset: i32 = 0


@struct
class Filter:
    tag: i8
    w: FixedArray[f32, 4]
    m: FixedArray[f64, 2, 3]
    taps: FixedArray[Tap, 3]
    v: FixedArray[f32x4, 2]
    on: FixedArray[bool, 3]

    def total(self):
        s = 0.0
        for x in self.w:
            s += x
        return s

    def at(self, i: i32, j: i32) -> f64:
        return self.m[i, j]

    def scale(self, s: f32):
        for i in range(4):
            self.w[i] *= s
        self.taps[1].offset += 1

    def __getitem__(self, i: i32) -> f32:
        return self.w[i]


@struct
class Quad:
    w: FixedArray[f32, 4] = (1, 2, 3, 4)

    def __add__(self, other: "Quad") -> "Quad":
        made = self
        for i in range(4):
            made.w[i] += other.w[i]
        return made


def filters(n: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    a = np.zeros(n, Filter.dtype)
    a["tag"] = np.arange(n)
    a["w"] = rng.integers(-9, 9, (n, 4))
    a["m"] = rng.integers(-9, 9, (n, 2, 3))
    a["taps"]["weight"] = rng.integers(-9, 9, (n, 3))
    a["taps"]["offset"] = rng.integers(0, 4, (n, 3))
    a["v"] = rng.integers(-9, 9, (n, 2, 4))
    a["on"] = rng.integers(0, 2, (n, 3))
    return a


def test_elements_in_memory(device):
    @kernel
    def k(a: Array[Filter, 1], out: Ptr[f64], k: i32):
        i = grid(1)
        f = a[i].taps[k]
        out[i] = a[i].w[k] + a[i].w[f.offset] + a[i].m[1, k] + a[i].m[0][2] + f.weight + a[i].v[1].z + len(a[i].w)
        if a[i].on[k]:
            a[i].w[k] = 100
            a[i].m[1, 0] += 7
            a[i].taps[k].weight = 3
            a[i].on[0] = False

    a, out = filters(8), np.zeros(8)
    b = a.copy()
    k[1, 8](a, out, 2)
    f = b["taps"][:, 2]
    rows = np.arange(8)
    expected = b["w"][:, 2] + b["w"][rows, f["offset"]] + b["m"][:, 1, 2] + b["m"][:, 0, 2]
    assert out.tolist() == (expected + f["weight"] + b["v"][:, 1, 2] + 4).tolist()
    on = b["on"][:, 2]
    b["w"][on, 2] = 100
    b["m"][on, 1, 0] += 7
    b["taps"]["weight"][on, 2] = 3
    b["on"][on, 0] = False
    assert (a == b).all()


def test_variables(device):
    @kernel
    def k(a: Array[Filter, 1], k: i32):
        i = grid(1)
        f = a[i]
        f.w[0], f.w[k] = f.w[k], f.w[0]
        f.taps[k] = Tap(1.5)
        f.taps[0].offset = 9
        f.on[k] = not f.on[k]
        f.w[3] += f32(f.m[1, k])
        f.v[k - 1].x = 4
        g = f
        g.w[1] = 77
        a[i] = g if f.w[1] > 0 else f

    a = filters(8)
    b = a.copy()
    k[1, 8](a, 2)
    b["w"][:, [0, 2]] = b["w"][:, [2, 0]]
    b["taps"][:, 2] = (1.5, 0)
    b["taps"]["offset"][:, 0] = 9
    b["on"][:, 2] ^= True
    b["w"][:, 3] += b["m"][:, 1, 2].astype(np.float32)
    b["v"][:, 1, 0] = 4
    b["w"][b["w"][:, 1] > 0, 1] = 77
    assert (a == b).all()


def test_methods(device):
    @kernel
    def k(a: Array[Filter, 1], out: Ptr[f64], k: i32):
        i = grid(1)
        a[i].scale(2)
        f = a[i]
        f.scale(k)
        out[i] = f.total() + a[i].at(1, k) + f[k]
        a[i].w[:] = f.w

    a, out = filters(8), np.zeros(8)
    b = a.copy()
    k[1, 8](a, out, 2)
    b["w"] *= 4
    b["taps"]["offset"][:, 1] += 1
    assert out.tolist() == (b["w"].sum(1) + b["m"][:, 1, 2] + b["w"][:, 2]).tolist()
    assert (a == b).all()


def test_whole_arrays(device):
    @kernel
    def k(a: Array[Quad, 1], b: Array[Quad, 1], k: i32):
        i = thread_idx.x
        q = Quad((1, 2, 3, i))
        r = Quad()
        r.w = a[i].w
        a[i].w = [i, 0, i, 0]
        b[i] = q + r
        b[i].w[0] = (q + r).w[k]

    a, b = np.zeros(4, Quad.dtype), np.zeros(4, Quad.dtype)
    a["w"] = np.arange(16).reshape(4, 4)
    w = a["w"].copy()
    k[1, 4](a, b, 1)
    n = np.arange(4)
    assert a["w"].tolist() == np.stack([n, 0 * n, n, 0 * n], 1).tolist()
    w += np.stack([0 * n + 1, 0 * n + 2, 0 * n + 3, n], 1)
    w[:, 0] = w[:, 1]
    assert b["w"].tolist() == w.tolist()


def test_views_are_passed_on(device):
    def total(w: Array[f32, 1], k: i32) -> f32:
        s = 0.0
        for i in range(len(w)):
            s += w[i]
        w[k] = s
        return s

    @kernel
    def k(a: Array[Filter, 1], out: Ptr[f32], k: i32):
        out[0] = total(a[0].w, k)
        f = a[1]
        out[1] = total(f.w, k)
        out[2] = f.w[k]
        w = a[2].w
        w[0] = 5
        out[3] = a[2].w[0] + w[1:].shape[0]
        x, y, z, _ = a[3].w
        out[4] = x + y + z + max(a[3].w) + sum(a[3].w)

    a, out = filters(4), np.zeros(5, np.float32)
    b = a.copy()
    k[1, 1](a, out, 3)
    s = b["w"].sum(1)
    assert out.tolist() == [s[0], s[1], s[1], 8, b["w"][3, :3].sum() + b["w"][3].max() + s[3]]
    b["w"][0, 3] = s[0]
    b["w"][2, 0] = 5
    assert (a == b).all()


def test_parameters_constants_and_shared_memory(device):
    fixed = Quad([5, 6, 7, 8])
    table = filters(2)

    @kernel
    def k(out: Ptr[f32], f: Filter, q: Quad, i: i32):
        t = thread_idx.x
        s = shared.array(4, Quad)
        s[t] = q
        s[t].w[t] = 50
        sync_threads()
        c = constant.array(table, Filter)
        out[t] = f.w[i] + f.taps[i].weight + fixed.w[i] + fixed.w[0] + s[t ^ 1].w[t] + s[0].w[i] + c[1].w[t]

    f = filters(1)[0]
    out = np.zeros(4, np.float32)
    k[1, 4](out, f, Quad([1, 2, 3, 4]), 2)
    base = f["w"][2] + f["taps"][2]["weight"] + 7 + 5 + 3
    assert out.tolist() == (base + np.arange(1, 5) + table[1]["w"]).tolist()
    taps = [Tap(1), Tap(2, 3), Tap(4)]
    g = Filter(1, [1, 2, 3, 4], np.ones((2, 3)), taps, [[1] * 4] * 2, [True, False, True])
    k[1, 4](out, g, Quad(), 2)
    assert out.tolist() == (3 + 4 + 7 + 5 + 3 + np.arange(1, 5) + table[1]["w"]).tolist()


def test_atomics_shuffles_and_equality(device):
    @kernel
    def k(a: Array[Quad, 1], out: Ptr[f32]):
        t = thread_idx.x
        atomic.add(a[0].w, t % 4, 1)
        atomic.add(address_of(a[1].w[t % 4]), 0, 2)
        q = Quad((t, t + 1, t + 2, t + 3))
        other = shfl_xor_sync(0xFFFFFFFF, q, 1)
        out[t] = other.w[t % 4] + (100 if other == q else 0) + (1000 if q == Quad((t, t + 1, t + 2, t + 3)) else 0)

    a, out = np.zeros(2, Quad.dtype), np.zeros(32, np.float32)
    k[1, 32](a, out)
    t = np.arange(32)
    assert a["w"].tolist() == [[8] * 4, [16] * 4]
    assert out.tolist() == ((t ^ 1) + t % 4 + 1000).tolist()


def test_local_memory_and_pointers(device):
    @struct
    class Table:
        rows: FixedArray[Ptr[f32], 2]
        n: i32 = 0

    @kernel
    def k(a: Ptr[f32], b: Ptr[f32], out: Ptr[f32], k: i32):
        t = Table((a, b))
        t.rows[k][0] = 9
        many = local.array(3, Quad)
        for i in range(3):
            many[i] = Quad((i, i, i, k))
        out[0] = t.rows[0][1] + many[k].w[3] + many[2].w[k]

    a, b, out = np.ones(2, np.float32), np.zeros(2, np.float32), np.zeros(1, np.float32)
    k[1, 1](a, b, out, 1)
    assert (a.tolist(), b.tolist(), out.tolist()) == ([1, 1], [9, 0], [4])


def test_on_the_host():
    q = Quad()
    assert q.w.dtype == np.float32
    assert q == Quad([1, 2, 3, 4])
    assert q != Quad([1, 2, 3, 5])
    assert repr(q) == "Quad(w=array([1., 2., 3., 4.], dtype=float32))"
    q.w[2] = 9
    assert Quad().w.tolist() == [1, 2, 3, 4]
    assert np.asarray(q)["w"].tolist() == [1, 2, 9, 4]
    q.w = [0] * 4
    assert q.w.tolist() == [0] * 4
    with pytest.raises(ValueError, match=r"`w` of Quad takes 4 numbers \(FixedArray\[f32, 4\]\), got 3"):
        Quad([1, 2, 3])
    assert Quad.dtype == np.dtype([("w", "<f4", (4,))])


def test_constant_indices_stay_in_registers():
    @kernel
    def k(a: Array[Quad, 1], b: Array[Quad, 1]):
        i = grid(1)
        q = a[i]
        for j in range(4):
            q.w[j] += j
        b[i] = q + b[i]

    ptx = kdsl.compile(k, target="sm_90").ptx
    assert ".local" not in ptx


def test_one_load(device):
    @kernel
    def k(a: Array[Filter, 1], out: Ptr[f32], k: i32):
        out[0] = a[1].w[k]

    ptx = kdsl.compile(k, target="sm_90").ptx
    assert ptx.count("ld.global") == 1
    assert ".local" not in ptx


SCALARS = {
    bool: ctypes.c_bool, i8: ctypes.c_int8, i16: ctypes.c_int16, i32: ctypes.c_int32, i64: ctypes.c_int64,
    f32: ctypes.c_float, f64: ctypes.c_double, Ptr[f32]: ctypes.c_void_p,
}  # fmt: skip


def random_pair(rng: random.Random, depth: int) -> tuple[type, type]:
    """A struct with arrays, of arrays and structs, and the same one of ctypes."""
    ours, theirs = {}, []
    for i in range(rng.randint(1, 5)):
        if depth and rng.random() < 0.3:
            type_, c = random_pair(rng, depth - 1)
        else:
            type_, c = rng.choice(list(SCALARS.items()))
        shape = [rng.randint(1, 4) for _ in range(rng.randint(0, 3))]
        ours[f"f{i}"] = FixedArray[(type_, *shape)] if shape else type_
        for extent in reversed(shape):
            c *= extent
        theirs.append((f"f{i}", c))
    return struct(type("S", (), {"__annotations__": ours})), type("S", (ctypes.Structure,), {"_fields_": theirs})


@pytest.mark.parametrize("seed", range(40))
def test_arrays_lie_as_those_of_ctypes(seed: int) -> None:
    ours, theirs = random_pair(random.Random(seed), 2)
    assert (size_of(ours), align_of(ours)) == (ctypes.sizeof(theirs), ctypes.alignment(theirs))
    for name, c in theirs._fields_:
        dtype, offset = ours.dtype.fields[name]
        assert offset == getattr(theirs, name).offset
        assert dtype.itemsize == ctypes.sizeof(c)
    assert ours.dtype.itemsize == ctypes.sizeof(theirs)
