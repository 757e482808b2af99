"""Methods that change their object: a variable, a field of one, an element of memory."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

import numpy as np

import kdsl
from kdsl import Array, Ptr, f32, f32x4, grid, i32, kernel, local, shared, struct, sync_threads, thread_idx


@struct
class Vec:
    x: f32
    y: f32 = 2.0

    def grow(self, s: f32):
        self.x *= s
        self.y *= s

    def take(self) -> f32:
        """The old x, which is 0 from then on."""
        old = self.x
        self.x = 0
        return old

    def clamp(self, most: f32):
        if self.x <= most:
            return
        self.x = most
        for i in range(3):
            self.y += 1
            if self.y > most:
                return


@struct
class Body:
    position: f32x4
    velocity: Vec
    steps: i32 = 0

    def advance(self, dt: f32):
        self.position.x += self.velocity.x * dt
        self.velocity.grow(2)
        self.steps += 1

    def twice(self, dt: f32):
        self.advance(dt)
        self.advance(dt)

    def set(self, n, *, other=None):
        self.steps = n
        return n > 3


@struct
class View:
    data: Ptr[f32]
    n: i32

    def put(self, i: i32, value: f32):
        # Memory is changed, not the struct.
        self.data[i] = value if i < self.n else 0


def bodies(n: int = 32) -> np.ndarray:
    a = np.zeros(n, Body.dtype)
    a["position"][:, 0] = np.arange(n)
    a["velocity"]["x"] = np.arange(n) % 7
    a["velocity"]["y"] = 3
    return a


def after(a: np.ndarray, times: int = 1) -> np.ndarray:
    a = a.copy()
    for _ in range(times):
        a["position"][:, 0] += a["velocity"]["x"] * np.float32(0.5)
        a["velocity"]["x"] *= 2
        a["velocity"]["y"] *= 2
        a["steps"] += 1
    return a


def test_of_a_variable(device):
    @kernel
    def k(a: Array[Body, 1]):
        p = a[thread_idx.x]
        q = p
        p.advance(0.5)
        a[thread_idx.x] = p
        p.twice(0.5)
        p.velocity.clamp(9)
        a[32 + thread_idx.x] = p
        a[64 + thread_idx.x] = q

    a = np.concatenate([bodies()] * 3).astype(Body.dtype)
    first = a[:32].copy()
    k[1, 32](a)
    assert (a[:32] == after(first)).all()
    expected = after(first, 3)
    x, y = expected["velocity"]["x"], expected["velocity"]["y"]
    y[x > 9] = 25  # 24, which is more than 9 after the first addition
    x[x > 9] = 9
    assert (a[32:64] == expected).all()
    assert (a[64:] == first).all()


def test_of_elements(device):
    @kernel
    def k(a: Array[Body, 1], out: Ptr[f32]):
        i = thread_idx.x
        s = shared.array(32, Body)
        t = local.array(2, Vec)
        s[i] = a[i]
        sync_threads()
        s[31 - i].twice(0.5)
        sync_threads()
        a[i] = s[i]
        a[i].velocity.grow(0.5)
        t[i % 2] = a[i].velocity
        t[i % 2].grow(3)
        out[i] = t[i % 2].x

    a, out = bodies(), np.zeros(32, np.float32)
    expected = after(a, 2)
    expected["velocity"]["x"] /= 2
    expected["velocity"]["y"] /= 2
    k[1, 32](a, out)
    assert (a == expected).all()
    assert (out == 3 * expected["velocity"]["x"]).all()


def test_an_index_is_evaluated_once(device):
    @kernel
    def k(a: Array[Vec, 1], n: Ptr[i32]):
        i = 0
        a[(i := i + 1)].grow(2)
        n[0] = i

    a, n = np.ones(4, Vec.dtype), np.zeros(1, np.int32)
    k[1, 1](a, n)
    assert (a["x"].tolist(), n[0]) == ([1, 2, 1, 1], 1)


def test_results(device):
    @kernel
    def k(a: Array[Vec, 1], out: Ptr[f32]):
        v = a[0]
        out[0] = v.x + 10 * v.take() + 100 * v.x
        out[1] = 1 if v.x == 0 and v.take() == 0 else 2
        a[1].take()
        b = Body(f32x4(0), v)
        out[2] = b.velocity.take()
        out[3] = 1 if b.set(5) else 0
        out[4] = b.steps

    a, out = np.full(4, np.asarray(Vec(3, 4))), np.zeros(5, np.float32)
    k[1, 1](a, out)
    assert out.tolist() == [33, 1, 0, 1, 5]
    assert a["x"].tolist() == [3, 0, 3, 3]


def test_a_method_that_changes_memory_only(device):
    @kernel
    def k(v: View):
        v.put(grid(1), 2.0)

    data = kdsl.zeros(8, f32)
    k[1, 8](View(data, 5))
    assert data.to_host().tolist() == [2] * 5 + [0] * 3


def test_a_condition_evaluates_a_change_where_it_is_asked(device):
    @kernel
    def k(out: Ptr[f32], n: i32):
        v = Vec(5, 1)
        w = v.take() if n > 0 else 7.0
        out[0] = w
        out[1] = v.x

    out = np.zeros(2, np.float32)
    k[1, 1](out, 1)
    assert out.tolist() == [5, 0]
    k[1, 1](out, 0)
    assert out.tolist() == [7, 5]


def test_on_the_host_it_is_the_same() -> None:
    b = Body((1, 2, 3, 4), Vec(1, 2))
    b.velocity.grow(3)
    assert b.velocity == Vec(3, 6) and b.velocity.take() == 3 and b.velocity.x == 0


COUNTS = False


@struct
class Counted:
    value: i32
    reads: i32 = 0

    def read(self) -> i32:
        self.note()
        return self.value

    def note(self):
        if COUNTS:
            self.reads += 1


def test_a_change_that_is_dropped_leaves_an_empty_body(device):
    @kernel
    def k(out: Ptr[i32]):
        c = Counted(3)
        out[0] = c.read()
        out[1] = c.reads

    out = np.zeros(2, np.int32)
    k[1, 1](out)
    assert out.tolist() == [3, 0]
