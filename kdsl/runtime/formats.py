"""How `struct` packs a kernel's parameter buffer."""

from __future__ import annotations

from collections.abc import Sequence

from kdsl.lang.layout import parameter_layout
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ScalarType, Type, VectorType

# struct's format characters (Python's struct module). bf16 is packed as its bits.
FORMATS: dict[str, str] = {
    "bool": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "f16": "e", "bf16": "H", "f32": "f", "f64": "d",
}  # fmt: skip


def struct_format(parameters: Sequence[tuple[str, Type]]) -> str:
    """The `struct.Struct` format of the whole buffer, gaps as explicit pad bytes.

    Native, since that packs an address (P) in half the time of a u64 (Q); sizes are the same on all of CUDA's hosts.
    """
    text, end = "@", 0
    for field in parameter_layout(parameters):
        name, type_ = parameters[field.index]
        # An address is the one part of a pointer or array that has the parameter's own name.
        text += "x" * (field.offset - end)
        if isinstance(field.type, StructType | VectorType):
            text += f"{field.size}s"
        else:
            is_address = field.name == name and not isinstance(type_, ScalarType)
            text += "P" if is_address else FORMATS[field.type.name]
        end = field.offset + field.size
    return text
