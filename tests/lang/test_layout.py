"""Parameter buffers, against C's own struct layout as ctypes has it."""

from __future__ import annotations

import ctypes

import pytest

from kdsl.lang.layout import buffer_size, parameter_layout
from kdsl.lang.types import F16, F32, F64, I8, I16, I32, I64, U8, VOID, ArrayType, PointerType, Space, Type, boolean

C = {I8: ctypes.c_int8, I16: ctypes.c_int16, I32: ctypes.c_int32, I64: ctypes.c_int64, U8: ctypes.c_uint8,
     F32: ctypes.c_float, F64: ctypes.c_double, F16: ctypes.c_uint16, boolean: ctypes.c_bool}  # fmt: skip


def test_vadd() -> None:
    pointer = PointerType(F32)
    layout = parameter_layout([("a", pointer), ("b", pointer), ("c", pointer), ("n", I32)])
    assert [(f.name, f.offset, f.size, f.ptx) for f in layout] == [
        ("a", 0, 8, ".u64"), ("b", 8, 8, ".u64"), ("c", 16, 8, ".u64"), ("n", 24, 4, ".u32"),
    ]  # fmt: skip
    assert buffer_size(layout) == 28


@pytest.mark.parametrize("types", [[I8, F64, I16, I32], [boolean, F16, U8, I64, F32], [F64, I8], [I8, I8, I16, F64]])
def test_scalars_lie_as_in_a_c_struct(types: list[Type]) -> None:
    struct = type("S", (ctypes.Structure,), {"_fields_": [(f"p{i}", C[t]) for i, t in enumerate(types)]})
    layout = parameter_layout((f"p{i}", t) for i, t in enumerate(types))
    assert [f.offset for f in layout] == [getattr(struct, f"p{i}").offset for i in range(len(types))]


def test_an_array_is_its_address_extents_and_strides() -> None:
    layout = parameter_layout(
        [("x", I8), ("a", ArrayType(F32, 2, index=I32, strided=True)), ("b", ArrayType(F32, 1, index=I64))]
    )
    assert [(f.name, f.offset, f.size, f.index) for f in layout] == [
        ("x", 0, 1, 0),
        ("a", 8, 8, 1), ("a.extent0", 16, 4, 1), ("a.extent1", 20, 4, 1),
        ("a.stride0", 24, 4, 1), ("a.stride1", 28, 4, 1),
        ("b", 32, 8, 2), ("b.extent0", 40, 8, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("type_", [VOID, ArrayType(F32, 1, Space.SHARED, (4,))])
def test_what_no_launch_can_pass(type_: Type) -> None:
    with pytest.raises(TypeError, match="a kernel parameter cannot have the type"):
        parameter_layout([("x", type_)])
