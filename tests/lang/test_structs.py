"""Structs: fields, methods and operators in kernels; in arrays, shared and local memory, as parameters; against NumPy."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

from typing import ClassVar

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    Ptr,
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
    struct,
    sync_threads,
    thread_idx,
    u8,
)

N = 40


@struct
class Vec:
    x: f32
    y: f32 = 2.0

    def __add__(self, other: "Vec") -> "Vec":
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, s: f32) -> "Vec":
        return Vec(self.x * s, self.y * s)

    def __rmul__(self, s: f32) -> "Vec":
        return self * s

    def __neg__(self) -> "Vec":
        return Vec(-self.x, -self.y)

    def __iadd__(self, other: "Vec") -> "Vec":
        self.x += other.x
        self.y += other.y
        return self

    def __lt__(self, other: "Vec") -> bool:
        return self.dot(self) < other.dot(other)

    def __getitem__(self, i: i32) -> f32:
        return self.x if i == 0 else self.y

    def __call__(self, s):
        return self.x * s + self.y

    def __bool__(self) -> bool:
        return self.x != 0 or self.y != 0

    def __len__(self):
        return 2

    def __abs__(self):
        return Vec(abs(self.x), abs(self.y))

    def dot(self, other: "Vec") -> f32:
        return self.x * other.x + self.y * other.y


@struct
class Particle:
    position: f32x4
    velocity: Vec = Vec(1.0)
    mass: f32 = 1.0
    alive: bool = True
    id: i32 = 7
    SCALE: ClassVar[float] = 3.0
    OFFSET = 2

    @property
    def speed2(self):
        return self.velocity.dot(self.velocity)

    @staticmethod
    def at(k):
        return Particle(f32x4(k), Vec(k, k + 1), id=i32(k))

    def kinetic(self, scale: f32 = 0.5) -> f32:
        return scale * self.mass * self.speed2


def particles(n: int = N) -> np.ndarray:
    rng = np.random.default_rng(3)
    a = np.zeros(n, Particle.dtype)
    a["position"] = rng.integers(-8, 9, (n, 4))
    a["velocity"]["x"] = rng.integers(-8, 9, n)
    a["velocity"]["y"] = rng.integers(-8, 9, n)
    a["mass"] = rng.integers(1, 9, n)
    a["alive"] = rng.integers(0, 2, n)
    a["id"] = np.arange(n)
    return a


def test_whole_elements_are_copied(device):
    @kernel
    def k(a: Ptr[Particle], b: Array[Particle, 1], n: i32):
        i = grid(1)
        if i < n:
            b[n - 1 - i] = a[i]

    a, b = particles(), np.zeros(N, Particle.dtype)
    k[2, 32](a, b, N)
    assert (b == a[::-1]).all()


def test_fields_of_elements(device):
    @kernel
    def k(a: Array[Particle, 1], mass: Ptr[f32], n: i32):
        i = grid(1)
        if i < n:
            mass[i] = a[i].mass + a[i].velocity.y + a[i].position.z
            a[i].mass = 2.5
            a[i].velocity.x += 1
            a[i].position.w = 9
            a[i].alive = not a[i].alive

    a, mass = particles(), np.zeros(N, np.float32)
    expected = a.copy()
    expected["mass"] = 2.5
    expected["velocity"]["x"] += 1
    expected["position"][:, 3] = 9
    expected["alive"] ^= True
    sums = a["mass"] + a["velocity"]["y"] + a["position"][:, 2]
    k[2, 32](a, mass, N)
    assert (a == expected).all()
    assert (mass == sums).all()


def test_variables_are_values(device):
    @kernel
    def k(a: Array[Particle, 1]):
        p = a[thread_idx.x]
        q = p
        q.mass = 100
        q.velocity.x = 7
        q.position.y = q.velocity.x
        q.velocity = q.velocity + Vec(1, 1)
        p.id = 1 if p.mass == 100 else 0
        a[thread_idx.x + 20] = q
        a[thread_idx.x] = p

    a = particles()
    expected = a.copy()
    expected[20:] = a[:20]
    expected["mass"][20:] = 100
    expected["position"][20:, 1] = 7
    expected["velocity"]["x"][20:] = 8
    expected["velocity"]["y"][20:] = a["velocity"]["y"][:20] + 1
    expected["id"][:20] = a["mass"][:20] == 100
    k[1, 20](a)
    assert (a == expected).all()


def test_construction_and_defaults(device):
    @kernel
    def k(a: Array[Particle, 1], n: i32):
        i = thread_idx.x
        a[0] = Particle(f32x4(1, 2, 3, 4))
        a[1] = Particle(f32x4(n), mass=n, id=n, velocity=Vec(n))
        a[2] = Particle.at(2.0)
        a[3] = Particle(alive=False, position=f32x4(i))

    a = np.zeros(4, Particle.dtype)
    k[1, 1](a, 5)
    expected = [
        Particle((1, 2, 3, 4)),
        Particle((5, 5, 5, 5), Vec(5, 2), 5, True, 5),
        Particle((2, 2, 2, 2), Vec(2, 3), id=2),
        Particle((0, 0, 0, 0), alive=False),
    ]
    assert (a == np.stack([np.asarray(p) for p in expected])).all()


def test_methods_properties_and_class_constants(device):
    @kernel
    def k(a: Array[Particle, 1], out: Ptr[f32]):
        i = thread_idx.x
        p = a[i]
        out[4 * i] = p.kinetic()
        out[4 * i + 1] = p.kinetic(scale=1.0) + a[i].speed2
        out[4 * i + 2] = Particle.kinetic(a[i], 2) + Particle.SCALE
        out[4 * i + 3] = p.SCALE * p.OFFSET

    a, out = particles(), np.zeros((N, 4), np.float32)
    k[1, N](a, out)
    speed2 = a["velocity"]["x"] ** 2 + a["velocity"]["y"] ** 2
    kinetic = a["mass"] * speed2
    assert (out == np.stack([kinetic / 2, kinetic + speed2, 2 * kinetic + 3, np.full(N, 6)], 1)).all()


def test_operators(device):
    @kernel
    def k(a: Array[Vec, 1], out: Array[Vec, 1], flags: Ptr[i32], other: Vec):
        i = thread_idx.x
        v = a[i]
        w = 2 * v + v * 0.5 + -other
        w += v
        out[i] = abs(w)
        out[i] += Vec(v[1], v(3)) * len(v)
        flags[i] = (v == other) + 2 * (v != other) + 4 * (v < other) + 8 * (v > other) + (16 if v else 32)

    a, out, flags = np.zeros(N, Vec.dtype), np.zeros(N, Vec.dtype), np.zeros(N, np.int32)
    rng = np.random.default_rng(7)
    a["x"], a["y"] = rng.integers(-3, 4, N), rng.integers(-3, 4, N)
    a[0], a[1] = (2, 1), (0, 0)
    k[1, N](a, out, flags, Vec(2, 1))
    x, y = a["x"], a["y"]
    assert (out["x"] == abs(3.5 * x - 2) + 2 * y).all()
    assert (out["y"] == abs(3.5 * y - 1) + 2 * (3 * x + y)).all()
    equal, size = (x == 2) & (y == 1), x * x + y * y
    truth = np.where((x != 0) | (y != 0), 16, 32)
    assert (flags == equal + 2 * ~equal + 4 * (size < 5) + 8 * (size > 5) + truth).all()
    assert list(flags[:2]) == [1 + 16, 2 + 4 + 32]


def test_functions_take_and_return_structs(device):
    def moved(p: Particle, dt: f32) -> Particle:
        p.position.x += p.velocity.x * dt
        return p

    def pair(v, w):
        return w, (v, 1)

    @kernel
    def k(a: Array[Particle, 1]):
        i = thread_idx.x
        p = moved(a[i], 2)
        v, (w, n) = pair(p.velocity, Vec(1, 1))
        p.velocity = w if p.alive else v
        p.id += n
        a[i] = p

    a = particles()
    expected = a.copy()
    expected["position"][:, 0] += 2 * a["velocity"]["x"]
    expected["velocity"][~a["alive"]] = (1, 1)
    expected["id"] += 1
    k[1, N](a)
    assert (a == expected).all()


def test_joins_of_variables(device):
    @kernel
    def k(a: Array[Vec, 1], n: i32):
        v = Vec(0, 0)
        best = a[0]
        for i in range(n):
            v = v + a[i]
            if best < a[i]:
                best = a[i]
        a[0] = v
        a[1] = best

    a = np.zeros(10, Vec.dtype)
    a["x"], a["y"] = np.arange(10), 2
    total = a["x"].sum()
    k[1, 1](a, 10)
    assert a[0].item() == (total, 20)
    assert a[1].item() == (9, 2)


@pytest.mark.parametrize("space", ["shared", "local", "dynamic"])
def test_shared_and_local_memory(device, space):
    def reversed_in_shared(a, i):
        s = shared.array(N, Particle)
        s[i] = a[i]
        s[i].mass += 1
        sync_threads()
        a[i] = s[N - 1 - i]

    def reversed_in_local(a, i):
        s = local.array(N, Particle)
        for j in range(N):
            s[j] = a[j]
            s[j].mass += 1
        sync_threads()
        a[i] = s[N - 1 - i]

    def reversed_in_dynamic(a, i):
        s = shared.dynamic(Particle, 16)
        s[i] = a[i]
        s[i].mass += 1
        sync_threads()
        a[i] = s[N - 1 - i]

    reverse = {"shared": reversed_in_shared, "local": reversed_in_local, "dynamic": reversed_in_dynamic}[space]

    @kernel
    def k(a: Array[Particle, 1]):
        reverse(a, thread_idx.x)

    a = particles()
    expected = a[::-1].copy()
    expected["mass"] += 1
    k[1, N, 0, 16 + N * Particle.dtype.itemsize](a)
    assert (a == expected).all()


@struct
class Mixed:
    a: i8
    b: f64
    c: i16
    d: bool
    e: u8
    f: i64
    g: Vec
    h: Ptr[f32]
    i: i8


def test_parameters_by_value(device):
    @kernel
    def k(before: u8, m: Mixed, out: Ptr[f64], n: i32):
        out[0] = m.a
        out[1] = m.b
        out[2] = m.c
        out[3] = 1 if m.d else 0
        out[4] = m.e
        out[5] = f64(m.f)
        out[6] = m.g.x
        out[7] = m.h[n]
        out[8] = m.i
        m.b = 5
        m.g.y += before
        out[9] = m.b + m.g.y

    data = kdsl.to_device(np.arange(8, dtype=np.float32))
    m = Mixed(-1, 2.5, -300, True, 200, -(2**40), Vec(3), data, -128)
    out = np.zeros(10)
    k[1, 1](3, m, out, 6)
    expected = [-1, 2.5, -300, 1, 200, -(2**40), 3, 6, -128, 10]
    assert out.tolist() == expected
    record = np.array([(-1, 2.5, -300, True, 200, -(2**40), (3, 2), data.address, -128)], Mixed.dtype)
    for given in (record[0], record[0:1].reshape(())):
        out[:] = 0
        k[1, 1](3, given, out, 6)
        assert out.tolist() == expected


def test_linked_structs(device):
    @struct
    class Node:
        value: i32
        next: "Ptr[Node]"

    @kernel
    def k(nodes: Ptr[Node], out: Ptr[i32], n: i32):
        for i in range(n - 1):
            nodes[i].next = nodes + (i + 1)
        node = nodes
        total = 0
        for _ in range(n):
            total += node[0].value
            node = node[0].next
        out[0] = total

    nodes = kdsl.zeros(9, Node)
    host = nodes.to_host()
    host["value"] = np.arange(9)
    nodes.copy_from(host)
    out = np.zeros(1, np.int32)
    k[1, 1](nodes, out, 9)
    assert out[0] == 36


def test_a_captured_struct_is_a_constant(device):
    gravity = Vec(0.25, 8)

    @kernel
    def k(out: Array[Vec, 1]):
        out[0] = gravity + Vec(1, 1)
        out[1].x = gravity.y

    out = np.zeros(2, Vec.dtype)
    k[1, 1](out)
    assert out.tolist() == [(1.25, 9), (8, 0)]
    gravity.y = 3  # a launch notices
    k[1, 1](out)
    assert out.tolist() == [(1.25, 4), (3, 0)]


def test_arguments_of_a_call_are_evaluated_in_its_order(device):
    @kernel
    def k(out: Ptr[f32]):
        n = 0.0
        v = Vec(y=(n := n * 10 + 1), x=(n := n * 10 + 2))
        out[0], out[1] = v.x, v.y
        w = (n := n * 10 + 3) * Vec((n := n * 10 + 4), 1)
        out[2], out[3] = w.x, w.y

    out = np.zeros(4, np.float32)
    k[1, 1](out)
    assert out.tolist() == [12, 1, 123 * 1234, 123]


def test_parameters_without_annotations(device):
    @kernel
    def k(a, p, out):
        i = thread_idx.x
        out[i] = a[i].mass + p.mass + a[i].velocity.x

    a, out = particles(), np.zeros(N, np.float32)
    for p in (Particle((1, 2, 3, 4), mass=3), np.array(((1, 2, 3, 4), (0, 0), 3, True, 0), Particle.dtype)[()]):
        k[1, N](a, p, out)
        assert (out == a["mass"] + 3 + a["velocity"]["x"]).all()
        k[1, N](a[::-1], p, out)
        assert (out == (a["mass"] + 3 + a["velocity"]["x"])[::-1]).all()


def test_two_classes_of_one_name_are_two_types(device: str) -> None:
    def make(kind):
        @struct
        class Same:
            a: kind

        @kernel
        def k(p: Ptr[Same], s: Same):
            p[0].a += s.a

        return Same, k

    for kind, dtype in ((f32, np.float32), (i32, np.int32)):
        same, k = make(kind)
        array = kdsl.zeros(1, same)
        k[1, 1](array, same(2))
        assert array.to_host()["a"].tolist() == [2]
        assert array.dtype["a"] == dtype
