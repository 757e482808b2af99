"""Structs as arguments: arrays of a matching dtype, records and objects by value, and what is wrong with others."""

# mypy: ignore-errors

from __future__ import annotations

import copy

import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, f32, f32x2, f64, grid, kernel, struct, u8
from kdsl.runtime.errors import ArgumentError


@struct
class Vec:
    x: f32
    y: f32 = 2.0

    def dot(self, other: Vec) -> f32:
        return self.x * other.x + self.y * other.y

    def __add__(self, other: Vec) -> Vec:
        return Vec(self.x + other.x, self.y + other.y)


@struct
class Body:
    id: u8
    velocity: Vec = Vec(1.0)
    pair: f32x2 = (3, 4)
    mass: f64 = 1.0
    data: Ptr[f32] = None


@kernel
def scale(a: Array[Body, 1], factor: f32):
    i = grid(1)
    if i < len(a):
        a[i].mass = a[i].mass * factor


@kernel
def first(a: Ptr[Body], out: Ptr[f64]):
    out[0] = a[0].mass


@kernel
def by_value(b: Body, out: Ptr[f64]):
    out[0] = b.mass + b.id + b.velocity.x + b.pair.y


@kernel
def load(b: Body, out: Ptr[f32]):
    out[0] = b.data[2]


def message(run) -> str:
    with pytest.raises((ArgumentError, TypeError)) as caught:
        run()
    return str(caught.value)


def test_host_arrays_are_copied_in_and_out(device: str) -> None:
    a = np.zeros((40,), Body.dtype)
    a["mass"] = np.arange(40)
    scale[2, 32](a, 2.0)
    assert (a["mass"] == 2 * np.arange(40)).all()
    out = np.zeros(1)
    first[1, 1](a.reshape(4, 10), out)
    first[1, 1](a[3:], out)
    assert out[0] == 6


def test_device_arrays(device: str) -> None:
    a = kdsl.zeros(40, Body)
    host = a.to_host()
    assert host.dtype == Body.dtype
    assert (a.dtype, a.itemsize, a.nbytes) == (Body.dtype, 40, 1600)
    host["mass"] = 3
    a.copy_from(host)
    scale[2, 32](a, 2.0)
    # What comes from a NumPy array knows no class, but has the same dtype.
    b = kdsl.to_device(a.to_host())
    scale[2, 32](b, 2.0)
    assert (b.to_host()["mass"] == 12).all()
    assert kdsl.empty((2, 3), Body.dtype).dtype == Body.dtype
    b.fill(np.asarray(Body(1, mass=5)))
    assert (b.to_host() == np.asarray(Body(1, mass=5))).all()


def test_by_value(device: str) -> None:
    out = np.zeros(1)
    body = Body(7, Vec(0.5), mass=100)
    record = np.asarray(body)
    for given in (body, record, record[()], np.full(2, record)[0]):
        out[:] = 0
        by_value[1, 1](given, out)
        assert out[0] == 111.5
    body.pair = np.array([1, 2.5])
    by_value[1, 1](body, out)
    assert out[0] == 110


def test_a_pointer_in_a_struct_is_device_memory(device: str) -> None:
    data, out = kdsl.to_device(np.arange(4, dtype=np.float32)), np.zeros(1, np.float32)
    load[1, 1](Body(1, data=data), out)
    assert out[0] == 2
    load[1, 1](Body(1, data=data.address), out)
    assert message(lambda: load[1, 1](Body(1, data=np.zeros(3, np.float32)), out)) == (
        "load: argument `b`: field `data` takes Ptr[f32], got numpy.ndarray; pass a DeviceArray, kdsl.to_device(a), which "
        "you keep alive"
    )
    assert message(lambda: load[1, 1](Body(1, data=kdsl.zeros(3, f64)), out)) == (
        "load: argument `b`: field `data` takes Ptr[f32], got a DeviceArray of float64; convert a copy"
    )


def changed(field: str, dtype) -> np.dtype:
    fields = Body.dtype.fields
    names = [n if n != field or dtype is not None else "other" for n in Body.dtype.names]
    kinds = [dtype if n == field and dtype is not None else fields[n][0] for n in Body.dtype.names]
    return np.dtype({"names": names, "formats": kinds}, align=True)


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        (np.dtype("f4"), "float32 has no fields"),
        (changed("mass", np.dtype("f4")), "its field 'mass' is float32, not float64"),
        (changed("mass", None), "it has no field 'mass'"),
        (np.dtype([*((n, Body.dtype.fields[n][0]) for n in Body.dtype.names), ("z", "f4")]), "Body has no field 'z'"),
        (np.dtype([(n, Body.dtype.fields[n][0]) for n in Body.dtype.names]), "its field 'velocity' is at byte 1, not 4"),
        (
            np.dtype([(n, Body.dtype.fields[n][0]) for n in reversed(Body.dtype.names)]),
            "its fields are in the order data, mass, pair, velocity, id",
        ),
        (
            np.dtype(
                {"names": Body.dtype.names, "formats": [f[0] for f in Body.dtype.fields.values()],
                 "offsets": [f[1] for f in Body.dtype.fields.values()], "itemsize": 48}
            ),
            "its elements have 48 bytes, not 40",
        ),
    ],
    ids=range(7),
)  # fmt: skip
def test_another_dtype(dtype: np.dtype, text: str) -> None:
    got = message(lambda: scale[1, 1](np.zeros(3, dtype), 1.0))
    assert got.startswith("scale: argument `a` takes Array[Body, 1] (an array of Body.dtype with 1 dimension), got a ")
    assert f"; {text}: " in got
    order = list(Body.dtype.names) if "order" in text else ""
    fix = f"pass a{[order] if order else ''}.astype(Body.dtype), and keep it: the kernel may write it"
    if "no field" in text:
        fix = "make it np.zeros(shape, Body.dtype) before, and set its fields, a['id'] = ..."
    assert got.endswith(f": {fix}")


def test_what_is_no_struct() -> None:
    out = np.zeros(1)
    takes = "by_value: argument `b` takes Body, got"
    fix = "pass Body(...) or an element of an array of Body.dtype"
    assert message(lambda: by_value[1, 1](3, out)) == f"{takes} int 3; {fix}"
    assert message(lambda: by_value[1, 1]((1, 2), out)) == f"{takes} tuple; {fix}"
    assert message(lambda: by_value[1, 1](Vec(1), out)).startswith(takes)
    assert message(lambda: by_value[1, 1](np.zeros(1, Vec.dtype)[0], out)) == (
        f"{takes} a NumPy record of {{x: float32, y: float32}}; it has no field 'id': pass Body(...)"
    )
    assert "field `id` takes u8, 0 to 255, got 300" in message(lambda: by_value[1, 1](Body(300), out))
    assert "field `velocity`: field `x` takes a real number (f32), got str 'a'" in message(
        lambda: by_value[1, 1](Body(1, Vec("a")), out)
    )
    assert "field `velocity` takes Vec, got float 1.0" in message(lambda: by_value[1, 1](Body(1, 1.0), out))
    assert "field `pair` takes 2 numbers (f32x2), got tuple" in message(
        lambda: by_value[1, 1](Body(1, pair=(1, 2, 3)), out)
    )


def test_arrays_of_structs_that_are_refused() -> None:
    out = np.zeros(1)
    assert "pass np.array(..., Body.dtype)" in message(lambda: first[1, 1]([1, 2], out))
    assert "pass an array, such as np.zeros(n, Body.dtype) or kdsl.empty(n, Body)" in message(
        lambda: first[1, 1](None, out)
    )
    assert "not contiguous" in message(lambda: first[1, 1](np.zeros(8, Body.dtype)[::2], out))
    frozen = np.zeros(8, Body.dtype)
    frozen.flags.writeable = False
    first[1, 1](frozen, out)
    assert "a read-only NumPy array" in message(lambda: scale[1, 1](frozen, 1.0))
    assert "got a DeviceArray of float64; pass an array of Body" in message(
        lambda: first[1, 1](kdsl.zeros(3, f64), out)
    )
    swapped = np.zeros(3, Body.dtype.newbyteorder())
    assert "not this machine's byte order" in message(lambda: first[1, 1](swapped, out))


def test_a_class_on_the_host() -> None:
    v = Vec(1)
    assert repr(v) == "Vec(x=1, y=2.0)"
    assert v == Vec(1, 2) and v != Vec(1, 3) and v != (1, 2)
    assert v.dot(Vec(3)) == 7 and v + v == Vec(2, 4)
    v.x = 5
    assert v == Vec(x=5)
    assert Body(1) == Body(1) and Body(1, pair=np.array([3, 4])) == Body(1)
    a, b = Body(1), Body(1)
    a.velocity.x = 9
    assert b.velocity.x == 1.0  # a default is nobody else's
    assert copy.deepcopy(a) == a
    with pytest.raises(TypeError, match="unhashable"):
        hash(v)
    assert np.stack([Vec(1), Vec(2)]).dtype == Vec.dtype
    assert np.zeros(3, Vec).dtype == Vec.dtype == np.dtype(Vec)
    a = np.zeros(2, Vec.dtype)
    a[0] = np.asarray(Vec(3))
    assert a[0].item() == (3, 2)
