"""The names of the variables that a module's image declares: PTX text, or the symbols of a cubin."""

from __future__ import annotations

import re
import struct

# `.visible .global .align 4 .b8 table[16] = {...};`: the name is the last word before what ends it.
_DECLARATION = re.compile(
    rb"^\s*(?:\.(?:visible|weak|common)\s+)?\.(?:global|const)\b[^;={\[\n]*?([A-Za-z_$%][\w$]*)\s*[;=\[]", re.MULTILINE
)
_SYMBOL_TABLE = 2
_OBJECT = 1
_UNDEFINED = 0


def variable_names(image: bytes) -> tuple[str, ...]:
    """Sorted; none for a fatbin, which may hold several compressed images."""
    if image[:4] == b"\x7fELF":
        return tuple(sorted(_of_cubin(image)))
    if image[:4] == b"\x50\xed\x55\xba":
        return ()
    return tuple(sorted({found.decode() for found in _DECLARATION.findall(image)}))


def _of_cubin(image: bytes) -> set[str]:
    """The data symbols that a 64-bit ELF file defines. ptxas makes local ones of what the PTX says is visible."""
    (start,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, start + size * index) for index in range(count)]
    names: set[str] = set()
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != _SYMBOL_TABLE or not entry:
            continue
        strings = sections[link][4]
        for place in range(offset, offset + length, entry):
            name, about, _, section = struct.unpack_from("<IBBH", image, place)
            if about & 0xF == _OBJECT and section != _UNDEFINED:
                names.add(image[strings + name : image.index(b"\0", strings + name)].decode())
    return names
