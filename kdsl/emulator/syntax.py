"""PTX as data: what `parse` returns. Opcodes are tuples of words; nothing here knows what an instruction means."""

from __future__ import annotations

from dataclasses import field

from kdsl.records import dataclass

BYTES: dict[str, int] = {
    "b8": 1, "u8": 1, "s8": 1,
    "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "f16x2": 4, "bf16x2": 4, "u16x2": 4, "s16x2": 4,
    "b64": 8, "u64": 8, "s64": 8, "f64": 8, "f32x2": 8,
    "b128": 16,
}  # fmt: skip
"""Bytes of a scalar type in memory (PTX ISA 9.0, 5.2.1). A predicate has none."""


@dataclass(frozen=True, slots=True)
class Register:
    """A declared register; names from an inner scope carry a ``#`` suffix, so one name is one register of a
    function."""

    name: str


@dataclass(frozen=True, slots=True)
class Special:
    """A special register such as ``%tid.x``, or the built-in constant ``WARP_SZ``."""

    name: str


@dataclass(frozen=True, slots=True)
class Integer:
    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """``0f3F800000`` (4 bytes) or ``0d...`` and decimal literals (8 bytes), as bits."""

    bits: int
    size: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, function or label, with an offset in bytes."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """``[base+offset]``."""

    base: Register | Symbol | Integer
    offset: int


@dataclass(frozen=True, slots=True)
class Vector:
    """``{a, b}``, and the parenthesised lists of a call."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """``d|p``: a second result."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """``!p``: a predicate read complemented."""

    register: Register


@dataclass(frozen=True, slots=True)
class Sink:
    """``_``: a result that nobody wants."""


Operand = Register | Special | Integer | Float | Symbol | Address | Vector | Pair | Not | Sink


@dataclass(frozen=True, slots=True)
class Guard:
    """``@p`` or ``@!p``."""

    register: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One PTX statement. ``file`` and ``line`` come from the last ``.loc``; ``ptx_line`` counts from 1 in the
    module's text."""

    opcode: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    file: str | None
    line: int | None
    ptx_line: int
    text: str

    @property
    def place(self) -> str:
        """Where it stands, for messages: the source line when there is one, otherwise the line of the PTX text."""
        return f"{self.file}:{self.line}" if self.file is not None else f"PTX line {self.ptx_line}"


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable. ``initial`` holds element values, an element being a number or a symbol's address."""

    space: str
    name: str
    type: str
    size: int
    align: int
    external: bool = False
    initial: tuple[int | Symbol, ...] = ()


@dataclass(slots=True)
class Function:
    """An ``.entry`` or ``.func``. ``labels`` maps a label to the index of the instruction after it."""

    name: str
    entry: bool
    returns: tuple[Variable, ...] = ()
    parameters: tuple[Variable, ...] = ()
    defined: bool = False
    attributes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Module:
    """A parsed PTX module."""

    target: str = ""
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
