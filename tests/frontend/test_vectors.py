"""The types that vectors give to variables, and the tree that they become."""

# mypy: ignore-errors

from __future__ import annotations

from kdsl import Ptr, f32, f32x2, f32x4, fma, i32, i32x4, kernel, u8x4

from .harness import tree, variables


def test_types() -> None:
    @kernel
    def k(p: Ptr[f32x4], q: Ptr[u8x4], n: i32):
        v = p[0]
        scalar = v.x
        pair = v.xy
        three = v.zzz
        first = v[0]
        b = q[0]
        sum_of_bytes = b + 1
        one_byte = b.x + 1
        scaled = n * v
        ints = i32x4(v)
        chosen = v if n > 0 else -v
        total = f32x2(0)
        for _ in range(n):
            total += pair
        least = min(v, 1.0)
        filled: f32x4 = f32x4(pair, pair)

    assert variables(k) == {
        "v": "f32x4",
        "scalar": "f32",
        "pair": "f32x2",
        "three": "f32x3",
        "first": "f32",
        "b": "u8x4",
        "sum_of_bytes": "u8x4",
        "one_byte": "i32",
        "scaled": "f32x4",
        "ints": "i32x4",
        "chosen": "f32x4",
        "total": "f32x2",
        "_": "i32",
        "least": "f32x4",
        "filled": "f32x4",
    }


def test_tree() -> None:
    @kernel
    def k(p: Ptr[f32x4], x: f32, n: i32):
        v = p[0]
        v.x = x
        v[1] += 2
        p[n].w = v.y
        p[1] = fma(v, v, 1) - f32x4(x, v.zyx) * -v
        p[2] = abs(f32x4(i32x4(v)))

    assert (
        tree(k)
        == """\
    v: f32x4 = p[0]
    v = v.with(x=x)
    v = v.with(y=v.y + 2.0)
    bitcast(&p[n], Ptr[f32])[3] = v.y
    p[1] = fma(v, v, f32x4(1.0, 1.0, 1.0, 1.0)) - (f32x4(x, v.zyx.x, v.zyx.y, v.zyx.z) * (-v))
    p[2] = abs(f32x4(i32x4(v)))"""
    )


def test_a_scalar_in_all_lanes_is_evaluated_once() -> None:
    @kernel
    def k(p: Ptr[f32x2], x: Ptr[f32]):
        p[0] = p[1] * x[0]

    assert tree(k) == "    p[0] = p[1] * f32x2((scalar: f32 := x[0]), scalar)"


def test_a_vector_parameter_of_a_function_may_be_changed() -> None:
    def changed(v):
        v.x = 0.0
        return v

    @kernel
    def k(p: Ptr[f32x4]):
        p[0] = changed(p[1])

    assert (
        tree(k).partition("\n\n")[2]
        == """\
function changed(v: f32x4) -> f32x4:
    v = v.with(x=0.0)
    return v"""
    )
