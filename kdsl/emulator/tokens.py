"""PTX text to tokens. Line directives such as ``.loc`` are one token: they end at the line's end, not at a
semicolon."""

from __future__ import annotations

import re
import struct

import numpy as np

from kdsl.backend import DeviceError
from kdsl.emulator.syntax import Float, Integer
from kdsl.records import dataclass

TOKEN = re.compile(
    r"""(?P<skip>[ \t\r]+|//[^\n]*|/\*.*?\*/)
    |(?P<newline>\n)
    |(?P<line>\.(?:loc|file|version|target|address_size)\b[^\n]*)
    |(?P<number>0[fF][0-9A-Fa-f]{8}\b|0[dD][0-9A-Fa-f]{16}\b|-?0[xX][0-9A-Fa-f]+U?|-?0[bB][01]+U?
        |-?\d+\.\d*(?:[eE][-+]?\d+)?|-?\d+U?)
    |(?P<directive>\.[A-Za-z_][\w$]*(?:::\w+)*)
    |(?P<name>[%$A-Za-z_][\w$]*(?:(?:\.|::)[\w]+)*)
    |(?P<string>"[^"]*")
    |(?P<mark>[{}()\[\],;:|!@<>=+*-])
    |(?P<bad>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    start: int
    line: int


def tokenize(text: str) -> list[Token]:
    tokens: list[Token] = []
    line = 1
    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        assert kind is not None
        if kind == "newline":
            line += 1
        elif kind == "skip":
            line += match.group().count("\n")
        elif kind == "bad":
            raise DeviceError(f"PTX line {line}: unexpected character {match.group()!r}")
        else:
            tokens.append(Token(kind, match.group(), match.start(), line))
    tokens.append(Token("end", "", len(text), line))
    return tokens


def integer(text: str) -> int:
    text = text.rstrip("U")
    digits = text.lstrip("-")
    octal = len(digits) > 1 and digits[0] == "0" and set(digits) <= set("01234567")
    if digits.isdigit() and not octal:
        return int(text)
    return int(text, 8 if octal else 0)


def negated(value: Float) -> Float:
    return Float(value.bits ^ 1 << (8 * value.size - 1), value.size)


def literal(text: str) -> Integer | Float:
    head = text[:2].lower()
    if head == "0f":
        return Float(int(text[2:], 16), 4)
    if head == "0d":
        return Float(int(text[2:], 16), 8)
    if "." in text:
        return Float(struct.unpack("<Q", struct.pack("<d", float(text)))[0], 8)
    return Integer(integer(text))


def float_bits(value: Float, width: int) -> int:
    """The bits of a literal where ``width`` bytes are wanted; from 8 to 4 it is rounded."""
    if width == value.size or width not in {4, 8}:
        return value.bits
    if width == 8:
        return int(np.array([value.bits], np.uint32).view(np.float32).astype(np.float64).view(np.uint64)[0])
    return int(np.array([value.bits], np.uint64).view(np.float64).astype(np.float32).view(np.uint32)[0])
