"""How a failed check of a debug build is told to the host: what is in the module, and the exception that it becomes.

A module with checks has two global variables. `TABLE` holds JSON, ended by a zero: the kernels, and each check's place
and message. `STATE` is where a failing thread looks: the address of a record, which the host writes after loading (0
where nobody listens), and a word that the first thread to fail claims. That thread fills the record, its number last,
and traps.

Why a record, and not memory of the module? After a trap a GPU's memory cannot be read any more, but host memory can.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from kdsl.backend import CheckError, DeviceAssertionError, DeviceError, MemoryFault
from kdsl.records import dataclass

STATE = "kdsl_check_state"
TABLE = "kdsl_check_table"

CLAIM_OFFSET = 8
STATE_BYTES = 16

# A check's number from 1 (0: none has failed), block x y z, thread x y z, nothing, and values.
_RECORD = struct.Struct("<7I4x16Q")
RECORD_BYTES = _RECORD.size
BLOCK_OFFSET, THREAD_OFFSET, VALUES_OFFSET = 4, 16, 32

_VALUES = {"s": "<q", "u": "<Q", "f": "<d", "e": "<d", "h": "<d", "b": "<Q", "p": "<Q"}
"""How a value is read by its letter: signed, unsigned, an f64; one that was an f32 or f16; a bool, an address."""
_SHOWN: dict[str, Callable[[Any], Any]] = {"e": np.float32, "h": np.float16, "b": bool, "p": hex}
"""What is shown of it: of an f32 no more digits than it has."""


@dataclass(frozen=True, slots=True)
class Site:
    """One check. ``text`` has a ``{}`` for each value, and ``values`` a letter; ``memory`` says that it is of an
    access, ``function`` that it is the assert of one.
    """

    file: str
    line: int
    memory: bool
    values: str
    text: str
    function: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The checks of a module, and its kernels."""

    kernels: tuple[str, ...]
    sites: tuple[Site, ...]

    def encoded(self) -> bytes:
        """The bytes of `TABLE`."""
        return json.dumps([self.kernels, [astuple(site) for site in self.sites]]).encode() + b"\0"

    @classmethod
    def decoded(cls, data: bytes) -> Table:
        """The table whose bytes these are."""
        kernels, sites = json.loads(data.split(b"\0")[0])
        return cls(tuple(kernels), tuple(Site(*site) for site in sites))


def has_checks(image: bytes) -> bool:
    """Whether a module is a debug build: PTX and cubins name their global variables."""
    return STATE.encode() in image


def failure(record: bytes, table: Table, launched: Sequence[str]) -> DeviceError | None:
    """The exception for what a record says; None if it says nothing. ``launched`` are the kernels that it may be of."""
    number, *rest = _RECORD.unpack(record)
    places, raw = rest[:6], rest[6:]
    if not 0 < number <= len(table.sites):
        return None
    site = table.sites[number - 1]
    block, thread = (places[0], places[1], places[2]), (places[3], places[4], places[5])
    kernels = [name for name in table.kernels if name in launched] or table.kernels
    kernel = kernels[0] if len(kernels) == 1 else None
    values = [_value(word, letter) for word, letter in zip(raw, site.values, strict=False)]
    kind = DeviceAssertionError if site.function else MemoryFault if site.memory else CheckError
    text = site.text.format(*values)
    text = f"assertion failed in {site.function}: {text}" if site.function else text
    named = f"kernel {kernel}" if kernel else f"one of the kernels {', '.join(kernels)}"
    return kind(
        f"{site.file}:{site.line}: {named}: {text} (block {block}, thread {thread})",
        kernel=kernel,
        file=site.file,
        line=site.line,
        block=block,
        thread=thread,
    )


def _value(raw: int, letter: str) -> Any:
    found = struct.unpack(_VALUES[letter], struct.pack("<Q", raw))[0]
    with np.errstate(all="ignore"):
        return _SHOWN.get(letter, lambda value: value)(found)
