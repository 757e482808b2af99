"""What a module's image is: PTX text, a cubin, a fatbin; or what must be linked first. And for which architectures."""

from __future__ import annotations

import enum
import re
import struct
from collections.abc import Iterator

from kdsl.records import dataclass
from kdsl.runtime import elf
from kdsl.runtime.cuda_errors import InvalidImageError

FATBIN_MAGIC = b"\x50\xed\x55\xba"
LTO_IR_MAGIC = b"\xed\x43\x4e\x7f"
ARCHIVE_MAGIC = b"!<arch>\n"
_VERSION = re.compile(rb"^\s*\.version\s+(\d+\.\d+)", re.MULTILINE)
_TARGET = re.compile(rb"^\s*\.target\s+(sm_\d+[af]?)", re.MULTILINE)
_OUTER, _INNER, _WORD = struct.Struct("<4sHHQ"), struct.Struct("<HHIQ"), struct.Struct("<I")
_KINDS = {1: "PTX", 2: "cubin", 8: "LTO-IR"}
_COMPRESSED = 0xA000
"""Either way in which `fatbinary` compresses."""


class Kind(enum.Enum):
    """What an image is, in words."""

    PTX = "PTX text"
    CUBIN = "a cubin"
    FATBIN = "a fatbin"
    LTO_IR = "LTO-IR"
    OBJECT = "an object file of the host's"
    ARCHIVE = "a library (.a)"
    UNKNOWN = "no image that CUDA knows"

    @property
    def loads(self) -> bool:
        """Whether a device takes it, without a linker before."""
        return self in (Kind.PTX, Kind.CUBIN, Kind.FATBIN)


@dataclass(frozen=True, slots=True)
class Part:
    """One image of a fatbin. ``data`` is empty where it is compressed."""

    kind: str
    architecture: str
    data: bytes


def kind_of(image: bytes) -> Kind:
    """By its first bytes; PTX by its ``.version``."""
    if image[:4] == elf.MAGIC:
        return Kind.CUBIN if elf.header(image)[1] == elf.CUDA else Kind.OBJECT
    if image[:4] == FATBIN_MAGIC:
        return Kind.FATBIN
    if image[:4] == LTO_IR_MAGIC:
        return Kind.LTO_IR
    if image[:8] == ARCHIVE_MAGIC:
        return Kind.ARCHIVE
    return Kind.PTX if _VERSION.search(image) else Kind.UNKNOWN


def check_loads(image: bytes) -> None:
    """InvalidImageError for what no device can load: nothing, a part of an image, or what must be linked first."""
    if not image:
        raise InvalidImageError("it is empty")
    kind = kind_of(image)
    if kind is Kind.UNKNOWN:
        raise InvalidImageError("it is neither PTX (there is no .version in it) nor a cubin or fatbin")
    if not kind.loads:
        raise InvalidImageError(f"it is {kind.value}, which is linked first: kdsl.link([...])")
    if kind is Kind.CUBIN:
        elf.sections(image)
        if elf.header(image)[0] == elf.RELOCATABLE:
            raise InvalidImageError("it is a relocatable cubin, which is linked first: kdsl.link([...])")
    if kind is Kind.FATBIN:
        tuple(parts(image))


def ptx_version(image: bytes) -> str | None:
    """Of PTX text: ``9.0``."""
    found = _VERSION.search(image)
    return found[1].decode() if found else None


def architectures(image: bytes) -> tuple[str, ...]:
    """What an image holds code for, such as ``sm_90``; PTX says with ``PTX for`` what it was compiled for."""
    kind = kind_of(image)
    if kind is Kind.CUBIN:
        return (architecture(image),)
    if kind is Kind.FATBIN:
        return tuple(
            part.architecture if part.kind == "cubin" else f"{part.kind} for {part.architecture}"
            for part in parts(image)
        )
    found = _TARGET.search(image) if kind is Kind.PTX else None
    return (f"PTX for {found[1].decode()}",) if found else ()


def architecture(cubin: bytes) -> str:
    """Of a cubin."""
    flags = elf.header(cubin)[2]
    # The byte after the magic's is the version of the ABI: from 8 on (CUDA 13) the number stands one byte higher.
    return f"sm_{flags >> 8 & 0xFF if cubin[8] >= 8 else flags & 0xFF}"


def parts(fatbin: bytes) -> Iterator[Part]:
    """The images in a fatbin."""
    place = 0
    while place < len(fatbin) and fatbin[place : place + 4] == FATBIN_MAGIC:
        if len(fatbin) < place + _OUTER.size:
            raise InvalidImageError(f"it is cut off: {len(fatbin)} bytes")
        _, _, head, size = _OUTER.unpack_from(fatbin, place)
        end = place + head + size
        if len(fatbin) < end:
            raise InvalidImageError(f"it is cut off: {len(fatbin)} bytes of at least {end}")
        inner = place + head
        while inner < end:
            kind, _, own_head, own_size = _INNER.unpack_from(fatbin, inner)
            (number,), (flags,) = _WORD.unpack_from(fatbin, inner + 28), _WORD.unpack_from(fatbin, inner + 40)
            data = fatbin[inner + own_head : inner + own_head + own_size]
            yield Part(_KINDS.get(kind, f"kind {kind}"), f"sm_{number}", b"" if flags & _COMPRESSED else data)
            inner += own_head + own_size
        place = end


def members(archive: bytes) -> Iterator[bytes]:
    """The files in a library; its tables are left out."""
    place = len(ARCHIVE_MAGIC)
    while place + 60 <= len(archive):
        name, size = archive[place : place + 16], int(archive[place + 48 : place + 58])
        place += 60
        if not name.startswith((b"/ ", b"// ", b"/SYM64/")):
            yield archive[place : place + size]
        place += size + size % 2


def plain_images(image: bytes) -> Iterator[bytes]:
    """The image itself, if it is text or a cubin; those in a fatbin that are not compressed."""
    kind = kind_of(image)
    if kind is Kind.FATBIN:
        yield from (part.data for part in parts(image) if part.data and part.kind in ("PTX", "cubin"))
    elif kind in (Kind.PTX, Kind.CUBIN, Kind.UNKNOWN):
        yield image
