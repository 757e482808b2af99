"""Extended-precision integer arithmetic (PTX ISA 9.7.2): add, subtract and multiply-add with carry in and carry out.

The carry is a last operand or result of type ``cc``. PTX keeps one flag for sums and differences; here as there a
subtraction's flag is its borrow.
"""

from __future__ import annotations

from kdsl.emulator.instructions.integer import multiply_high
from kdsl.emulator.operation import UNSIGNED, WIDTH, Array, Opcode, Operation, Run

TYPES = frozenset(("u32", "s32", "u64", "s64"))


def _sum(width: int) -> Run:
    register = UNSIGNED[width]

    def run(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
        first = a + b
        total = first + carry.astype(register)
        return total, (first < a) | (total < first)

    return run


def _difference(width: int) -> Run:
    register = UNSIGNED[width]

    def run(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
        first = a - b
        total = first - borrow.astype(register)
        return total, (a < b) | (total > first)

    return run


def _wire(whole: Run, type_name: str, count: int, carry_in: bool, carry_out: bool) -> Operation:
    """Fit ``whole`` (carry in and out) to an instruction that has only some of the two."""
    operands = (type_name,) * count + (("cc",) if carry_in else ())
    results = (type_name,) + (("cc",) if carry_out else ())
    if carry_in and carry_out:
        return Operation(whole, operands, results)
    if carry_in:
        return Operation(lambda *values: whole(*values)[0], operands, results)
    return Operation(lambda *values: whole(*values, values[0] != values[0]), operands, results)


def _decode(opcode: Opcode) -> Operation | None:
    """``add.cc.u32``, ``addc.u32``, ``addc.cc.u32``, and the same of sub, ``mad.lo`` and ``mad.hi``."""
    name, type_name = opcode[0], opcode[-1]
    words = opcode[1:-1]
    carry_in, carry_out = name in ("addc", "subc", "madc"), "cc" in words
    if type_name not in TYPES or not (carry_in or carry_out):
        return None
    width = WIDTH[type_name]
    if name in ("add", "addc", "sub", "subc"):
        whole = _sum(width) if name.startswith("add") else _difference(width)
        return _wire(whole, type_name, 2, carry_in, carry_out) if words in ((), ("cc",)) else None
    if not words or words[0] not in ("lo", "hi") or words[1:] not in ((), ("cc",)):
        return None
    high, total = multiply_high(type_name), _sum(width)

    def multiply_add(a: Array, b: Array, c: Array, carry: Array) -> tuple[Array, Array]:
        product = a * b if words[0] == "lo" else high(a, b)
        return total(product, c, carry)  # type: ignore[no-any-return]

    return _wire(multiply_add, type_name, 3, carry_in, carry_out)


DECODE = dict.fromkeys(("add", "addc", "sub", "subc", "mad", "madc"), _decode)
