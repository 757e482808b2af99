"""Where the fields of a struct lie: as in C, by ctypes and by nvcc; and NumPy's dtype of them."""

# mypy: ignore-errors

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess

import numpy as np
import pytest

import kdsl
from kdsl import (
    Ptr,
    bf16,
    f16,
    f32,
    f32x2,
    f32x4,
    f64,
    f64x2,
    i8,
    i16,
    i32,
    i64,
    struct,
    u8,
    u8x4,
    u16,
    u16x2,
    u32,
    u64,
)
from kdsl.lang.layout import buffer_size, parameter_layout
from kdsl.lang.types import STRUCT_TYPE, StructType, as_type

SCALARS = {
    bool: ("bool", ctypes.c_bool), i8: ("signed char", ctypes.c_int8), u8: ("unsigned char", ctypes.c_uint8),
    i16: ("short", ctypes.c_int16), u16: ("unsigned short", ctypes.c_uint16), i32: ("int", ctypes.c_int32),
    u32: ("unsigned", ctypes.c_uint32), i64: ("long long", ctypes.c_int64), u64: ("unsigned long long", ctypes.c_uint64),
    f16: ("unsigned short", ctypes.c_uint16), bf16: ("unsigned short", ctypes.c_uint16),
    f32: ("float", ctypes.c_float), f64: ("double", ctypes.c_double), Ptr[f32]: ("float*", ctypes.c_void_p),
}  # fmt: skip
VECTORS = {f32x2: "float2", f32x4: "float4", f64x2: "double2", u8x4: "uchar4", u16x2: "ushort2"}


def made(fields: list, align: int = 1, name: str = "S") -> type:
    cls = type(name, (), {"__annotations__": {f"f{i}": t for i, t in enumerate(fields)}})
    return struct(align=align)(cls)


def layout(cls: type) -> StructType:
    return vars(cls)[STRUCT_TYPE]


def as_c(cls: type) -> type:
    """The same struct of ctypes."""
    fields = []
    for field in layout(cls).fields:
        inner = isinstance(field.type, StructType)
        c = as_c(field.type.python) if inner else next(c for t, (_, c) in SCALARS.items() if as_type(t) == field.type)
        fields.append((field.name, c))
    return type(cls.__name__, (ctypes.Structure,), {"_fields_": fields})


def random_struct(rng: random.Random, kinds: list, depth: int = 2) -> type:
    fields = [
        random_struct(rng, kinds, depth - 1) if depth and rng.random() < 0.2 else rng.choice(kinds)
        for _ in range(rng.randint(1, 6))
    ]
    return made(fields, name=f"S{rng.randrange(10**9)}")


@pytest.mark.parametrize("seed", range(40))
def test_offsets_are_those_of_ctypes(seed: int) -> None:
    cls = random_struct(random.Random(seed), list(SCALARS))
    c = as_c(cls)
    assert layout(cls).size == ctypes.sizeof(c)
    assert layout(cls).align == ctypes.alignment(c)
    assert [f.offset for f in layout(cls).fields] == [getattr(c, f.name).offset for f in layout(cls).fields]
    assert cls.dtype.itemsize == ctypes.sizeof(c)
    assert [cls.dtype.fields[n][1] for n in cls.dtype.names] == [f.offset for f in layout(cls).fields]


@pytest.mark.parametrize("seed", range(10))
def test_dtypes_are_numpys_aligned_ones(seed: int) -> None:
    cls = random_struct(random.Random(seed), [t for t in SCALARS if t is not bf16], depth=0)
    fields = [(f.name, f.type.numpy) for f in layout(cls).fields]
    assert cls.dtype == np.dtype(fields, align=True)


def c_text(cls: type, done: dict[type, str]) -> str:
    """Declarations of a struct and those in it, with CUDA's vector types."""
    before, lines = "", []
    for field in layout(cls).fields:
        if isinstance(field.type, StructType):
            before += "" if field.type.python in done else c_text(field.type.python, done)
            name = field.type.name
        else:
            known = {as_type(t): c for t, (c, _) in SCALARS.items()} | VECTORS
            name = known[field.type]
        lines.append(f"  {name} {field.name};\n")
    done[cls] = cls.__name__
    align = layout(cls).align
    text = f"{before}struct __align__({align}) {cls.__name__} {{\n{''.join(lines)}}};\n"
    text += f'static_assert(sizeof({cls.__name__}) == {layout(cls).size}, "size");\n'
    for field in layout(cls).fields:
        text += f'static_assert(offsetof({cls.__name__}, {field.name}) == {field.offset}, "{field.name}");\n'
    return text


def test_offsets_are_those_of_nvcc(tmp_path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    rng, done = random.Random(1), {}
    text = "#include <cstddef>\n"
    for _ in range(40):
        text += c_text(random_struct(rng, [*SCALARS, *VECTORS]), done)
    text += c_text(made([f32, f32, f32], align=16, name="Aligned"), done)
    (tmp_path / "layout.cu").write_text(text)
    command = [nvcc, "-arch=sm_90", "-ptx", "layout.cu", "-o", "layout.ptx"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_parameters_lie_as_in_c() -> None:
    inner = made([i8, f32x4])
    fields = parameter_layout([("a", as_type(u8)), ("s", layout(inner)), ("b", as_type(i16))])
    assert [(f.name, f.offset, f.size) for f in fields] == [("a", 0, 1), ("s", 16, 32), ("b", 48, 2)]
    assert fields[1].ptx == ".align 16 .b8[32]"
    assert buffer_size(fields) == 50


def test_vectors_and_alignment() -> None:
    cls = made([f32, f32x4, i8, f64x2], name="V")
    assert [f.offset for f in layout(cls).fields] == [0, 16, 32, 48]
    assert (layout(cls).size, layout(cls).align) == (64, 16)
    assert cls.dtype.fields["f1"][0] == np.dtype(("f4", (4,)))
    assert (layout(made([f32, f32, f32], 16)).size, layout(made([i8], 2)).size) == (16, 2)
    assert (layout(made([f64], 4)).align, layout(made([i8, i8])).size) == (8, 2)


def test_leaves() -> None:
    inner = made([i8, f32x2], name="Inner")
    outer = made([u8, inner, f64], name="Outer")
    assert [(path, str(type_), offset) for path, type_, offset in layout(outer).leaves()] == [
        ("f0", "u8", 0), ("f1.f0", "i8", 8), ("f1.f1", "f32x2", 16), ("f2", "f64", 24),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "Bad has no fields: a struct annotates each, as in mass: f32"),
        ({"a": "Bad"}, "field `a` of Bad: a struct cannot hold itself; hold a pointer to one: Ptr[Bad]"),
        ({"a": "missing"}, "field `a` of Bad is annotated `missing`: name 'missing' is not defined"),
        ({"a": "1 +"}, "field `a` of Bad is annotated `1 +`: invalid syntax"),
        ({"a": str}, "field `a` of Bad is <class 'str'>, which is no type of the kernel language"),
        (
            {"a": kdsl.Array[f32, 1]},
            "field `a` of Bad is Array[f32, 1]; a field is a scalar, a vector, a Ptr, a FixedArray or a struct",
        ),
        ({"a": None}, "field `a` of Bad is None; a field is a scalar, a vector, a Ptr, a FixedArray or a struct"),
        ({"class": f32}, "field `class` of Bad: a field cannot have this name"),
        ({"__a": f32}, "field `__a` of Bad: a field cannot have this name"),
        ({"dtype": f32}, "field `dtype` of Bad: a field cannot have this name"),
    ],
)
def test_what_is_no_struct(fields: dict, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        struct(type("Bad", (), {"__annotations__": fields}))
    assert str(caught.value).partition(" (<string>")[0] == message


def test_what_the_decorator_refuses() -> None:
    with pytest.raises(TypeError, match="align is one of 1, 2, 4, 8, 16, got 32"):
        made([f32], align=32)
    with pytest.raises(TypeError, match=r"@struct takes a class, got 3"):
        struct(3)
    base = type("Base", (), {})
    with pytest.raises(
        TypeError, match=r"Derived: a struct has no base class \(Base\): make that a field, as in base: Base"
    ):
        struct(type("Derived", (base,), {"__annotations__": {"a": f32}}))
