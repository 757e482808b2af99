"""The names of the variables that a module's image declares: PTX text, or the symbols of a cubin."""

from __future__ import annotations

import re

from kdsl.runtime import elf, images

# `.visible .global .align 4 .b8 table[16] = {...};`: the name is the last word before what ends it.
_DECLARATION = re.compile(
    rb"^\s*(?:\.(?:visible|weak|common)\s+)?\.(?:global|const)\b[^;={\[\n]*?([A-Za-z_$%][\w$]*)\s*[;=\[]", re.MULTILINE
)


def variable_names(image: bytes) -> tuple[str, ...]:
    """Sorted. Of a fatbin only those of images that are not compressed."""
    return tuple(sorted({name for plain in images.plain_images(image) for name in _names(plain)}))


def _names(image: bytes) -> set[str]:
    if image[:4] == elf.MAGIC:
        # ptxas makes local symbols of what the PTX says is visible.
        return {s.name for s in elf.symbols(image) if s.kind == elf.OBJECT and s.section != elf.UNDEFINED}
    return {found.decode() for found in _DECLARATION.findall(image)}
