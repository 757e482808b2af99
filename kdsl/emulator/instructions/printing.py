"""What vprintf writes: CUDA's formats (CUDA C++ Programming Guide, formatted output) over arguments in local memory."""

from __future__ import annotations

import re
import struct

from kdsl.backend import MemoryFault
from kdsl.emulator.access import lane_bytes
from kdsl.emulator.fragment import Fragment
from kdsl.emulator.memory import LaneFault

SPECIFIER = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|j|z|t|L)?([diouxXcspfFeEgGaA%])")
LONGEST_STRING = 1 << 20


def lane_string(f: Fragment, position: int, address: int) -> str:
    """The NUL-terminated string at a generic address."""
    found = bytearray()
    while len(found) < LONGEST_STRING:
        byte = lane_bytes(f, position, address + len(found), 1)
        if byte == b"\0":
            return found.decode("utf-8", "replace")
        found += byte
    raise LaneFault(MemoryFault, f"the string at {address:#x} has no end", position)


class Arguments:
    """The packed argument buffer of one lane: each value at its natural alignment."""

    def __init__(self, f: Fragment, position: int, address: int) -> None:
        self.f = f
        self.position = position
        self.address = address

    def take(self, width: int) -> bytes:
        self.address = -(-self.address // width) * width
        found = lane_bytes(self.f, self.position, self.address, width)
        self.address += width
        return found

    def integer(self, width: int, signed: bool) -> int:
        return int.from_bytes(self.take(width), "little", signed=signed)

    def double(self) -> float:
        return float(struct.unpack("<d", self.take(8))[0])


def format_lane(f: Fragment, position: int, text: str, address: int) -> tuple[str, int]:
    """The text that one lane prints, and the number of arguments in it, which is what vprintf returns."""
    arguments = Arguments(f, position, address)
    count = 0
    parts: list[str] = []
    start = 0
    for match in SPECIFIER.finditer(text):
        parts.append(text[start : match.start()])
        start = match.end()
        if match[5] == "%":
            parts.append("%")
            continue
        count += 1
        parts.append(one(arguments, *match.groups()))
    parts.append(text[start:])
    return "".join(parts), count


def one(
    arguments: Arguments, flags: str, width: str | None, precision: str | None, length: str | None, conversion: str
) -> str:
    if width == "*":
        stars = arguments.integer(4, True)
        flags, width = (flags + "-" if stars < 0 else flags), str(abs(stars))
    if precision == "*":
        precision = str(max(arguments.integer(4, True), 0))
    place = f"%{flags}{width or ''}{'' if precision is None else '.' + precision}"
    bytes_of = 8 if length in {"l", "ll", "j", "z", "t"} else 4
    match conversion:
        case "d" | "i":
            return (place + "d") % narrowed(arguments.integer(bytes_of, True), length, signed=True)
        case "u":
            return (place + "d") % narrowed(arguments.integer(bytes_of, False), length, signed=False)
        case "o":
            return (place + "o").replace("#", "") % narrowed(arguments.integer(bytes_of, False), length, signed=False)
        case "x" | "X":
            value = narrowed(arguments.integer(bytes_of, False), length, signed=False)
            # C writes no prefix for zero.
            return ((place if value else place.replace("#", "")) + conversion) % value
        case "c":
            return (place + "c") % chr(arguments.integer(4, False) & 0xFF)
        case "s":
            return (place + "s") % lane_string(arguments.f, arguments.position, arguments.integer(8, False))
        case "p":
            return f"%{flags}{width or ''}s" % f"{arguments.integer(8, False):#x}"
        case "a" | "A":
            text = arguments.double().hex()
            return f"%{flags}{width or ''}s" % (text.upper() if conversion == "A" else text)
        case _:
            return (place + conversion) % arguments.double()


def narrowed(value: int, length: str | None, signed: bool) -> int:
    """``%hhd`` and ``%hd`` print the low bits of an int."""
    bits = {"hh": 8, "h": 16}.get(length or "")
    if bits is None:
        return value
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value
