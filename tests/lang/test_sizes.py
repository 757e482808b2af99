"""`size_of` and `align_of`, on the host and in kernels; against ctypes and NumPy."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

import ctypes
import re
from typing import TypeVar

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    FixedArray,
    Ptr,
    align_of,
    bf16,
    complex64,
    complex128,
    f8e4m3,
    f32,
    f32x2,
    f32x3,
    f32x4,
    f64,
    i8,
    i16,
    i32,
    kernel,
    shared,
    size_of,
    static_assert,
    struct,
    type_of,
    u64,
)

T = TypeVar("T", f32, f64)


@struct
class Part:
    tag: i8
    at: f64
    w: FixedArray[i16, 3]


@struct(align=16)
class Whole:
    part: Part
    next: Ptr[f32]


class CPart(ctypes.Structure):
    _fields_ = (("tag", ctypes.c_int8), ("at", ctypes.c_double), ("w", ctypes.c_int16 * 3))


EXPECTED = [
    (i8, 1, 1), (i16, 2, 2), (f32, 4, 4), (u64, 8, 8), (bool, 1, 1), (int, 4, 4), (float, 4, 4), (bf16, 2, 2),
    (f8e4m3, 1, 1), (f32x2, 8, 8), (f32x3, 12, 4), (f32x4, 16, 16), (complex64, 8, 8), (complex128, 16, 16),
    (complex, 8, 8), (Ptr[i8], 8, 8), (np.float64, 8, 8), (np.dtype("u2"), 2, 2), (FixedArray[f32, 3, 2], 24, 4),
    (Part, ctypes.sizeof(CPart), ctypes.alignment(CPart)), (FixedArray[Part, 2], 2 * ctypes.sizeof(CPart), 8),
    (Whole, 32, 16),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "size", "align"), EXPECTED, ids=lambda v: str(v))
def test_on_the_host_and_in_a_kernel(type_, size, align) -> None:
    @kernel
    def k(out: Ptr[i32]):
        static_assert(size_of(type_) == size)
        static_assert(align_of(dtype=type_) == align)
        out[0] = size_of(type_) * 100 + align_of(type_)

    assert (size_of(type_), align_of(dtype=type_)) == (size, align)
    assert (type(size_of(type_)), type(align_of(type_))) == (int, int)
    assert re.findall(r"st\.global\.\w+\s+\[%\w+\], (\d+);", kdsl.compile(k, target="sm_90").ptx) == [
        str(size * 100 + align)
    ]


def test_numpys_items_are_as_large() -> None:
    assert all(size_of(type_) == type_.dtype.itemsize for type_ in (Part, Whole))


def test_in_a_kernel(device) -> None:
    @kernel
    def k(out: Array[i32, 1], a: Array[Whole, 1], x: T, wide: Ptr[u64]):
        room = shared.array(size_of(Part) // 4, i32)
        out[0] = size_of(T)
        out[1] = size_of(type_of(x)) + size_of(a.dtype)
        out[2] = len(room)
        out[3] = align_of(Ptr[Whole]) + align_of(FixedArray[Part, 3])
        out[4] = size_of(Whole) if size_of(Whole) > 24 else 0
        wide[0] = size_of(f32x4)  # a literal takes the type that it meets
        x = size_of(f32x2)

    for x, size in ((np.float32(1), 4), (np.float64(1), 8)):
        out, wide = np.zeros(5, np.int32), np.zeros(1, np.uint64)
        k[1, 1](out, np.zeros(1, Whole.dtype), x, wide)
        assert out.tolist() == [size, size + 32, 6, 16, 32]
        assert wide.tolist() == [16]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "takes a type, got 3"),
        ("f4", "takes a type, got 'f4'"),
        (np.zeros(3), r"takes a type, got array\(\[0., 0., 0.\]\)"),
        (np.float32(1), "takes a type, got"),
        (Whole(Part(1, 2.0, (1, 2, 3)), None), r"takes a type, got Whole\("),
        (str, "takes a type, got <class 'str'>"),
        (np.dtype("O"), "takes a type, got dtype"),
        (Array[f32, 1], r"takes a type that lies in memory; of an array's elements: \w+\(f32\)"),
        (tuple[f32, i32], r"takes a type that lies in memory, and tuple\[f32, i32\] does not"),
    ],
    ids=lambda v: str(v)[:20],
)
def test_what_has_no_size(given, message) -> None:
    for function in (size_of, align_of):
        with pytest.raises(TypeError, match=rf"^{function.name}\(\) {message}"):
            function(given)


def test_none_has_no_size() -> None:
    with pytest.raises(TypeError, match="takes a type, got None"):
        size_of(None)


def test_a_struct_that_is_not_made_yet_has_no_size() -> None:
    with pytest.raises(TypeError, match=r"size_of\(Node\): not all fields of Node are known yet"):
        struct(type("Node", (), {"__annotations__": {"a": "FixedArray[f32, size_of(Node)]"}}))
