"""The registers of inline PTX's matrix instructions: how many, of which type (PTX ISA 9.0, 9.7.14)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kdsl.frontend.ptx_instructions import TYPE
from kdsl.frontend.ptx_template import Instruction, Operand, TemplateError
from kdsl.lang.types import Type
from kdsl.records import dataclass

LANES = 32
_NAMED_BITS = {"bf16": 16, "tf32": 32}


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a lane holds of a matrix: so many registers of a PTX type."""

    count: int
    type: str


def matrix_mismatches(instruction: Instruction, types: Mapping[str, Type]) -> Iterator[TemplateError]:
    """Every operand of `mma`, `ldmatrix` or `stmatrix` that has other registers than the instruction takes."""
    from kdsl.frontend.ptx_operands import misfit  # it stands above

    found = fragments(instruction.words)
    if isinstance(found, str):
        yield TemplateError(
            instruction.opcode,
            found,
            "such as mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32, or ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        )
        return
    for index, fragment in found.items():
        if index >= len(instruction.operands):
            yield TemplateError(instruction.opcode, f"`{instruction.opcode.text}` takes more operands")
            return
        operand = instruction.operands[index]
        count = _registers(operand)
        if count != fragment.count:
            what = f"{fragment.count} register{'s' if fragment.count > 1 else ''}"
            names = ", ".join("{" + "dabc"[index] + str(i) + "}" for i in range(fragment.count))
            yield TemplateError(
                operand.tokens[0],
                f"operand {index + 1} of `{instruction.opcode.text}` is {what} of each lane, and this has {count}",
                f"write {{{{{names}}}}}",
            )
            continue
        for token in operand.tokens:
            if token.kind == "placeholder" and (wrong := misfit(types[token.text], fragment.type, wider=False)):
                message = f"`{token.text}` is {types[token.text]}, and `{instruction.opcode.text}` takes {wrong} here"
                yield TemplateError(token, message)


def _registers(operand: Operand) -> int:
    return sum(token.kind in ("placeholder", "word", "number") for token in operand.tokens)


def fragments(words: list[str]) -> dict[int, Fragment] | str:
    """The fragments by the operand's index; a text if the instruction does not say its shape or types."""
    match words[0]:
        case "mma":
            return _mma(words)
        case "ldmatrix" | "stmatrix":
            return _matrices(words)
    return {}


def _mma(words: list[str]) -> dict[int, Fragment] | str:
    shape = next((s for w in words if (s := re.fullmatch(r"m(\d+)n(\d+)k(\d+)", w))), None)
    named = [w for w in words[1:] if TYPE.fullmatch(w) and not w.startswith("ue")]
    if shape is None or len(named) != 4:
        return f"`{'.'.join(words)}` has no shape and four types"
    m, n, k = map(int, shape.groups())
    result, a, b, c = named
    if (m, n, k) == (8, 8, 4) and a == "f16":  # four multiplications by a quarter of the warp each
        return {0: _quarter(result), 1: Fragment(2, "b32"), 2: Fragment(2, "b32"), 3: _quarter(c)}
    sparse = 2 if any(w.partition("::")[0] == "sp" for w in words) else 1
    packed = any("mxf4" in w for w in words)
    return {
        0: _fragment(m * n, result, packed),
        1: _fragment(m * k // sparse, a, packed),
        2: _fragment(n * k, b, packed),
        3: _fragment(m * n, c, packed),
    }


def _quarter(type: str) -> Fragment:
    return Fragment(4, "b32") if type == "f16" else Fragment(8, type)


def _fragment(elements: int, type: str, packed: bool) -> Fragment:
    """The registers of a lane; floats of 4 and 6 bits stand in bytes unless they are packed."""
    bits = (4 if packed else 8) if type.startswith("e") else _bits(type)
    register = max(bits, 32)
    kept = type if type in ("f32", "f64", "s32") else "b32"
    return Fragment(max(1, elements * bits // (LANES * register)), kept)


def _bits(type: str) -> int:
    found = re.search(r"\d+", type)
    return _NAMED_BITS.get(type) or int(found[0] if found else 32)


def _matrices(words: list[str]) -> dict[int, Fragment] | str:
    number = next((int(w[1]) for w in words if w in ("x1", "x2", "x4")), None)
    shape = next((w for w in words if re.fullmatch(r"m\d+n\d+", w)), None)
    if number is None or shape is None:
        return f"`{'.'.join(words)}` has no shape and number of matrices"
    return {0 if words[0] == "ldmatrix" else 1: Fragment(number * (2 if shape == "m16n16" else 1), "b32")}
