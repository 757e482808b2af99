"""f16 and bf16 arithmetic (PTX ISA 9.7.4): rounded once, as if each result were exact first. Pairs are in packed.py."""

from __future__ import annotations

from collections.abc import Callable

from kdsl.emulator.instructions import approximate, floating
from kdsl.emulator.instructions.formats import narrow, real
from kdsl.emulator.operation import BLOCK, Opcode, Operation, Run, in_blocks

HALVES = frozenset(("f16", "bf16"))


def _arithmetic(name: str, type_name: str, form: floating.Form) -> Run:
    """By way of one f32 operation where rounding its result again is harmless, which takes 2 * 11 + 2 bits or fewer."""
    general = in_blocks(floating.general(name, type_name, form), BLOCK // 2)
    if name == "fma" or form != floating.Form("rn", False, False, False):
        return general
    ufunc, values = floating.NEAREST[name], real(type_name)
    # Are small products of bf16 exact too? They have 16 bits, and f32 has all of them down to 2**-134, half of the
    # smallest bf16; what is smaller gives zero.
    return in_blocks(lambda a, b: narrow(ufunc(values(a), values(b)), type_name))


def _element(opcode: Opcode) -> Operation | None:
    name, type_name, words = opcode[0], opcode[-1], opcode[1:-1]
    if type_name not in HALVES or words[-1:] == ("f32",):
        return None
    match name:
        case "add" | "sub" | "mul" | "fma":
            form = floating.form_of(words, None if name == "fma" else "rn")
            if form is None or form.mode != "rn" or (form.relu and (name != "fma" or form.sat)):
                return None
            if type_name == "bf16" and (form.ftz or form.sat):
                return None
            count = 3 if name == "fma" else 2
            return Operation(_arithmetic(name, type_name, form), (type_name,) * count, (type_name,))
        case "neg" | "abs":
            if words not in ((), ("ftz",)) or (words and type_name == "bf16"):
                return None
            return Operation(floating.sign_operation(name, type_name, bool(words)), (type_name,), (type_name,))
        case "min" | "max":
            return floating.min_max(opcode)
        case "ex2" | "tanh":
            return approximate.DECODE[name](opcode)
    return None


DECODE: dict[str, Callable[[Opcode], Operation | None]] = dict.fromkeys(
    ("add", "sub", "mul", "fma", "neg", "abs", "min", "max", "ex2", "tanh"), _element
)
