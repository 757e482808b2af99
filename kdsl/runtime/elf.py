"""The sections and symbols of a 64-bit ELF file, which a cubin is.

`InvalidImageError` for one that is cut off.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from kdsl.records import dataclass
from kdsl.runtime.cuda_errors import InvalidImageError

MAGIC = b"\x7fELF"
CUDA = 190
"""The machine of a cubin (EM_CUDA)."""
RELOCATABLE = 1
SYMBOL_TABLE = 2
OBJECT = 1
FUNCTION = 2
UNDEFINED = 0

_NO_BITS = 8
_HEADER = 64


@dataclass(frozen=True, slots=True)
class Section:
    """``data`` is empty where the file holds none."""

    name: str
    kind: int
    data: bytes
    link: int
    entry: int


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str
    kind: int
    section: int
    binding: int
    """1 is global, 2 weak."""


def header(image: bytes) -> tuple[int, int, int]:
    """Type, machine and flags."""
    if len(image) < _HEADER:
        raise InvalidImageError(f"an ELF file of {len(image)} bytes is cut off")
    kind, machine = struct.unpack_from("<HH", image, 16)
    (flags,) = struct.unpack_from("<I", image, 48)
    return kind, machine, flags


def sections(image: bytes) -> tuple[Section, ...]:
    """All sections, in order."""
    header(image)
    (start,) = struct.unpack_from("<Q", image, 40)
    (programs,) = struct.unpack_from("<Q", image, 32)
    program_size, program_count, size, count, names = struct.unpack_from("<HHHHH", image, 54)
    end = max(start + size * count, programs + program_size * program_count)
    if len(image) < end:
        raise InvalidImageError(f"it is cut off: {len(image)} bytes of at least {end}")
    rows = [struct.unpack_from("<IIQQQQIIQQ", image, start + size * index) for index in range(count)]
    for _, kind, _, _, offset, length, *_ in rows:
        if kind != _NO_BITS and offset + length > len(image):
            raise InvalidImageError(f"it is cut off: {len(image)} bytes of at least {offset + length}")
    strings = rows[names][4] if count else 0
    return tuple(
        Section(
            text(image, strings + name), kind, b"" if kind == _NO_BITS else image[offset : offset + length], link, entry
        )
        for name, kind, _, _, offset, length, link, _, _, entry in rows
    )


def text(data: bytes, place: int) -> str:
    """The string that begins at a place."""
    return data[place : data.index(b"\0", place)].decode(errors="replace")


def symbols(image: bytes) -> Iterator[Symbol]:
    """Those of all symbol tables."""
    found = sections(image)
    for section in found:
        if section.kind != SYMBOL_TABLE or not section.entry:
            continue
        strings = found[section.link].data
        for place in range(0, len(section.data), section.entry):
            name, about, _, where = struct.unpack_from("<IBBH", section.data, place)
            yield Symbol(text(strings, name), about & 0xF, where, about >> 4)
