"""What structs become in PTX: a field alone is one access, aligned structs wide ones, variables stay in registers."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

import pytest

import kdsl
from kdsl import Array, Ptr, address_of, atomic, f32, f32x4, grid, i32, i64, kernel, local, shared, struct, thread_idx
from kdsl.codegen.sass import assemble
from kdsl.target import Target

from .compile import instructions, mnemonics


@struct
class Vec:
    x: f32
    y: f32

    def __add__(self, other: "Vec") -> "Vec":
        return Vec(self.x + other.x, self.y + other.y)


@struct
class Particle:
    position: f32x4
    velocity: Vec
    mass: f32
    id: i32


@struct(align=16)
class Quad:
    a: f32
    b: f32
    c: f32
    d: f32


@struct(align=8)
class Pair:
    key: i32
    value: f32


@struct
class View:
    data: Ptr[f32]
    n: i64


def memory(k, target="sm_90"):
    """The instructions that access memory, parameters left out; there is no local memory, and ptxas takes it."""
    ptx = kdsl.compile(k, target=target).ptx
    assert ".local" not in ptx
    assemble(ptx, Target.parse(target))
    return [m for m in mnemonics(ptx) if m.split(".")[0] in ("ld", "st", "atom", "red") and ".param" not in m]


def test_a_field_is_one_access():
    @kernel
    def k(a: Ptr[Particle]):
        a[grid(1)].mass = a[grid(1)].velocity.y

    assert memory(k) == ["ld.global.b32", "st.global.b32"]


def test_an_augmented_field_is_one_load_and_one_store():
    @kernel
    def k(a: Array[Particle, 1]):
        a[grid(1)].velocity.x += 1

    assert memory(k) == ["ld.global.b32", "st.global.b32"]


def test_aligned_structs_are_accessed_at_once():
    @kernel
    def k(a: Ptr[Quad], b: Ptr[Quad], c: Ptr[Pair], d: Ptr[Pair]):
        i = grid(1)
        b[i] = a[i]
        d[i] = c[i]

    assert memory(k) == ["ld.global.v4.b32", "st.global.v4.b32", "ld.global.v2.b32", "st.global.v2.b32"]


def test_variables_stay_in_registers():
    @kernel
    def k(a: Ptr[Particle], n: i32):
        p = a[0]
        best = p
        for i in range(n):
            q = a[i]
            p.velocity = p.velocity + q.velocity
            p.position.x = q.position.y
            if q.mass > best.mass:
                best = q
        p.id = best.id
        a[1] = p if n > 3 else best

    memory(k)


def test_local_arrays_with_constant_indices_stay_in_registers():
    @kernel
    def k(a: Ptr[Particle]):
        s = local.array(2, Particle)
        s[0] = a[0]
        s[1] = a[1]
        s[0].mass = s[1].mass
        a[2] = s[0]

    memory(k)


def test_a_parameter_is_read_where_it_is_needed():
    @kernel
    def k(before: i32, p: Particle, view: View):
        view.data[view.n] = p.mass * before

    ptx = kdsl.compile(k, target="sm_90").ptx
    assert ".param .align 16 .b8 k_param_1[32]" in ptx
    assert ".param .align 8 .b8 k_param_2[16]" in ptx
    loads = [i for i in instructions(ptx) if i.startswith("ld.param")]
    assert len(loads) == 4 or len(loads) == 3
    # A pointer in a parameter is global: no generic store.
    assert memory(k) == ["st.global.b32"]


def test_atomics_on_a_field():
    @kernel
    def k(a: Ptr[Particle]):
        s = shared.array(32, Particle)
        atomic.add(address_of(a[grid(1)].mass), 0, 1.5)
        atomic.max(address_of(s[thread_idx.x].id), 0, 3)

    (first, second) = memory(k)
    assert first.startswith(("atom.", "red.")) and "global" in first and first.endswith("add.f32")
    assert second.startswith(("atom.", "red.")) and "shared" in second and second.endswith("max.s32")


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_ptxas_takes_all_of_it(target):
    @kernel
    def k(a: Array[Particle, 2], p: Particle, view: View, pairs: Ptr[Pair], q: Quad):
        i = grid(1)
        s = shared.array(64, Pair)
        s[i] = pairs[i]
        a[i, 0] = p
        a[i, 1].velocity = Vec(s[63 - i].value, q.d)
        pairs[i].key = i

    memory(k, target)
