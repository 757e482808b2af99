"""How `struct` packs a kernel's parameter buffer."""

from __future__ import annotations

from collections.abc import Sequence

from kdsl.lang.layout import ParameterField

# struct's format characters, of standard size (Python's struct module). bf16 is packed as its bits.
FORMATS: dict[str, str] = {
    "bool": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "f16": "e", "bf16": "H", "f32": "f", "f64": "d",
}  # fmt: skip


def struct_format(layout: Sequence[ParameterField]) -> str:
    """The `struct.Struct` format of the whole buffer: little endian, gaps as explicit pad bytes."""
    text, end = "<", 0
    for field in layout:
        text += "x" * (field.offset - end) + FORMATS[field.type.name]
        end = field.offset + field.size
    return text
