"""The kernels that an image declares, with where their parameters lie and what they ask of every launch.

PTX text says it in words (PTX ISA 9.0, 11.4), a cubin in the section ``.nv.info.NAME``, as records of a format byte, an
attribute and its value, as cuobjdump -elf shows them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterator

from kdsl.backend import Dim3
from kdsl.records import dataclass
from kdsl.runtime import elf, images

Place = tuple[int, int]
"""Offset and size in bytes of a parameter."""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+([\w$%]+)\s*(?:\(([^)]*)\))?([^{;]*)[{;]")
_ALIGN = re.compile(r"\.align\s+(\d+)")
_TYPE = re.compile(r"\.(?:[usbf]|bf)(\d+)(?:x2)?\b")
_COUNT = re.compile(r"\[\s*(\d*)\s*\]\s*$")
_DIRECTIVE = re.compile(r"\.(maxntid|reqntid|reqnctapercluster)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")

_FUNCTION = re.compile(rb"^[^\n/]*\.(?P<kind>entry|func)\s+(?:\([^)]*\)\s*)?(?P<name>[\w$]+)", re.MULTILINE)

# The values of an attribute that lie behind its record.
_SIZED = 4
_PARAMETER, _MOST_THREADS, _BLOCK, _CLUSTER = 0x17, 0x05, 0x10, 0x3D
_INFO = ".nv.info."


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel. ``parameters`` are in order; ``block`` is the only block that it takes, ``most_threads`` those of the
    largest, ``cluster`` the blocks of a cluster; None where it does not say.
    """

    name: str
    parameters: tuple[Place, ...]
    block: Dim3 | None = None
    most_threads: int | None = None
    cluster: Dim3 | None = None


def entries(image: bytes) -> dict[str, Entry]:
    """By name. Of a fatbin those of the first image that is not compressed."""
    for plain in images.plain_images(image):
        found = _of_cubin(plain) if plain[:4] == elf.MAGIC else _of_ptx(plain.decode(errors="replace"))
        return {entry.name: entry for entry in found}
    return {}


def _of_ptx(text: str) -> Iterator[Entry]:
    for found in _ENTRY.finditer(_COMMENT.sub(" ", text)):
        name, parameters, directives = found.groups()
        said = {d[1]: _dim3(d.groups()[1:]) for d in _DIRECTIVE.finditer(directives)}
        most = said.get("maxntid")
        yield Entry(
            name,
            tuple(_places(parameters or "")),
            said.get("reqntid"),
            most[0] * most[1] * most[2] if most else None,
            said.get("reqnctapercluster"),
        )


def _dim3(numbers: tuple[str | None, ...]) -> Dim3:
    x, y, z = (int(number or 1) for number in numbers)
    return x, y, z


def _places(parameters: str) -> Iterator[Place]:
    offset = 0
    for declared in filter(None, (part.strip() for part in parameters.split(","))):
        # `.ptr .align 16` is of what is pointed at.
        own = declared.partition(".ptr")[0]
        type_ = _TYPE.search(own)
        width = int(type_[1]) // 8 if type_ else 8
        align = max(width, int(found[1])) if (found := _ALIGN.search(own)) else width
        count = _COUNT.search(declared)
        size = width * int(count[1] or 0) if count else width
        offset = -(-offset // align) * align
        yield offset, size
        offset += size


def _of_cubin(image: bytes) -> Iterator[Entry]:
    for section in elf.sections(image):
        if section.name.startswith(_INFO):
            yield _entry(section.name.removeprefix(_INFO), section.data)


def _entry(name: str, info: bytes) -> Entry:
    parameters: dict[int, Place] = {}
    said: dict[int, Dim3] = {}
    for attribute, value in _records(info):
        if attribute == _PARAMETER and len(value) == 12:
            _, ordinal, offset, packed = struct.unpack("<IHHI", value)
            parameters[ordinal] = offset, packed >> 18
        elif attribute in (_MOST_THREADS, _BLOCK, _CLUSTER) and len(value) == 12:
            x, y, z = struct.unpack("<III", value)
            said[attribute] = x, y, z
    most = said.get(_MOST_THREADS)
    return Entry(
        name,
        tuple(parameters[ordinal] for ordinal in sorted(parameters)),
        said.get(_BLOCK),
        most[0] * most[1] * most[2] if most else None,
        said.get(_CLUSTER),
    )


def _records(info: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, place)
        place += 4
        if form == _SIZED:
            yield attribute, info[place : place + size]
            place += size


def cooperative(image: bytes) -> Collection[str]:
    """The kernels of PTX text that look for a cooperative launch's workspace, themselves or maybe in a function."""
    if (
        b"%envreg" not in image or images.kind_of(image) is not images.Kind.PTX
    ):  # most modules; and cubins, which do not tell
        return frozenset()
    starts = [*_FUNCTION.finditer(image)]
    ends = [*(start.start() for start in starts[1:]), len(image)]
    looking = [start for start, end in zip(starts, ends, strict=True) if b"%envreg1" in image[start.start() : end]]
    found = [start for start in starts if start["kind"] == b"entry"]
    if all(start["kind"] == b"entry" for start in looking):
        found = looking
    return frozenset(start["name"].decode() for start in found)
