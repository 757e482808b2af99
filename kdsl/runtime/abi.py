"""Where each kernel parameter lies in the parameter buffer: natural alignment, in order, as in CUDA C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kdsl.lang.types import I32, U64, ArrayType, PointerType, ScalarType, Type

# struct's format characters, little endian and of standard size (Python's struct module). bf16 is packed as its bits.
FORMATS: dict[str, str] = {
    "bool": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "f16": "e", "bf16": "H", "f32": "f", "f64": "d",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One PTX parameter. ``part`` says which part of the kernel's parameter: "", "data", "extent 0", "stride 1", ..."""

    parameter: str
    index: int
    part: str
    type: ScalarType
    offset: int

    @property
    def size(self) -> int:
        return self.type.size

    @property
    def format(self) -> str:
        """The `struct` format character that packs it."""
        return FORMATS[self.type.name]


def parts(type_: Type) -> tuple[tuple[str, ScalarType], ...]:
    """The PTX parameters that one kernel parameter becomes: (part, type) in order."""
    match type_:
        case ScalarType():
            return (("", type_),)
        case PointerType():
            return (("", U64),)
        case ArrayType():
            index = type_.index or I32
            out: list[tuple[str, ScalarType]] = [("data", U64)]
            if type_.shape is None:
                out += [(f"extent {axis}", index) for axis in range(type_.ndim)]
                out += [(f"stride {axis}", index) for axis in range(type_.ndim) if type_.strided]
            return tuple(out)
        case _:
            raise TypeError(f"a kernel parameter cannot have the type {type_}")


def fields(parameters: Sequence[tuple[str, Type]]) -> tuple[Field, ...]:
    """The PTX parameters of a kernel, each with its offset in bytes."""
    out: list[Field] = []
    offset = 0
    for index, (name, type_) in enumerate(parameters):
        for part, scalar in parts(type_):
            offset = -(-offset // scalar.size) * scalar.size
            out.append(Field(name, index, part, scalar, offset))
            offset += scalar.size
    return tuple(out)


def buffer_size(layout: Sequence[Field]) -> int:
    """Bytes of the parameter buffer: up to the end of the last parameter, without tail padding."""
    return layout[-1].offset + layout[-1].size if layout else 0


def struct_format(layout: Sequence[Field]) -> str:
    """The `struct.Struct` format that packs the whole buffer, gaps as explicit pad bytes."""
    text, end = "<", 0
    for field in layout:
        gap = field.offset - end
        text += ("x" * gap) + field.format
        end = field.offset + field.size
    return text
