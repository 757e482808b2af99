"""Whether the operands of inline PTX have the types that its instructions take (PTX ISA 9.0, 9.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kdsl.frontend.ptx_instructions import TYPE, Form, form_of, writes_first
from kdsl.frontend.ptx_matrices import matrix_mismatches
from kdsl.frontend.ptx_template import Instruction, Operand, Template, TemplateError, Token
from kdsl.lang.types import Kind, PointerType, ScalarType, Space, Type

Types = Mapping[str, Type]
REGISTER_SPACES = {
    Space.GLOBAL: "global",
    Space.SHARED: "shared",
    Space.CONSTANT: "const",
    Space.LOCAL: "local",
    Space.CLUSTER: "shared::cluster",
}


def mismatches(template: Template, types: Types, is_result: Callable[[str], bool]) -> Iterator[TemplateError]:
    """Every operand that its instruction does not take; ``types`` are those of the placeholders."""
    for instruction in template.instructions:
        yield from _guard(instruction, types)
        yield from _written(instruction, is_result)
        yield from matrix_mismatches(instruction, types)
        form = form_of(instruction.words)
        if isinstance(form, str):
            yield TemplateError(instruction.opcode, form, f"such as {instruction.words[0]}.u32")
        elif form is not None:
            yield from _operands(instruction, form, types, is_result)
    yield from _unset(template, is_result)


def destinations(instruction: Instruction) -> list[Token]:
    """The placeholders that an instruction writes: its first operand, ``d|p`` and vectors in parts."""
    first = instruction.operands[0] if instruction.operands else None
    if first is None or first.is_address or not writes_first(instruction.words):
        return []
    return [token for token in first.tokens if token.kind == "placeholder"]


def _written(instruction: Instruction, is_result: Callable[[str], bool]) -> Iterator[TemplateError]:
    for place in destinations(instruction):
        if not is_result(place.text):
            hint = "write {d}, and give its type: out=u32"
            message = f"`{instruction.opcode.text}` writes `{place.text}`, which is an operand to read"
            yield TemplateError(place, message, hint)


def _unset(template: Template, is_result: Callable[[str], bool]) -> Iterator[TemplateError]:
    """Results that no instruction writes."""
    if any(instruction.words[0] == "tcgen05" for instruction in template.instructions):
        return  # some of its forms have a second result
    written = {token.text for instruction in template.instructions for token in destinations(instruction)}
    reported = set(written)
    for place in template.placeholders:
        if is_result(place.text) and place.text not in reported:
            reported.add(place.text)
            yield TemplateError(place, f"no instruction writes `{place.text}`", "it is the first operand of one")


def _guard(instruction: Instruction, types: Types) -> Iterator[TemplateError]:
    place = instruction.guard.placeholder if instruction.guard is not None else None
    if place is not None and (wrong := misfit(types[place.text], "pred", wider=False)):
        yield TemplateError(
            place, f"`{place.text}` is {types[place.text]}, and a guard is {wrong}", "write {p}: p=x != 0"
        )


def _operands(
    instruction: Instruction, form: Form, types: Types, is_result: Callable[[str], bool]
) -> Iterator[TemplateError]:
    name, count = instruction.opcode.text, len(instruction.operands)
    if not form.least <= count <= len(form.letters):
        takes = f"{form.least}" if form.least == len(form.letters) else f"{form.least} to {len(form.letters)}"
        yield TemplateError(instruction.opcode, f"`{name}` takes {takes} operands, and this has {count}")
        return
    for operand, letter in zip(instruction.operands, form.letters, strict=False):
        if letter == "@":
            yield from _address(instruction, operand, types)
            continue
        place = operand.placeholder
        if place is None or letter == ".":
            continue
        wrong = misfit(types[place.text], *wanted(letter, form.types))
        if wrong:
            yield TemplateError(
                place,
                f"`{place.text}` is {types[place.text]}, and `{name}` takes {wrong} here",
                advice(place, types[place.text], wrong, is_result=is_result(place.text)),
            )


def wanted(letter: str, types: tuple[str, ...]) -> tuple[str, bool]:
    """The PTX type of an operand, and whether a wider register will do."""
    match letter:
        case "P":
            return "pred", False
        case "I":
            return "b32", False
        case "W":
            return f"{types[0][0]}{2 * int(types[0][1:])}", False
        case "S" | "s":
            return types[-1], letter == "s"
        case _:
            return types[0], letter == "t"


def misfit(type: Type, ptx: str, wider: bool) -> str | None:
    """What PTX takes, if not an operand of such a type; None if it does."""
    is_bool = isinstance(type, ScalarType) and type.kind is Kind.BOOL
    if ptx == "pred":
        return None if is_bool else "a bool"
    kind, bits = properties(ptx)
    what = {"int": f"an int of {bits} bits", "bits": f"{bits} bits"}.get(kind, kind)
    if is_bool:
        return what
    has = register_bits(type)
    is_float = isinstance(type, ScalarType) and (type.is_float or type.is_float8)
    if kind not in ("int", "bits"):
        return None if str(type) == kind else what
    fits = has >= bits if wider and not is_float else has == max(bits, 16)
    return None if fits and (kind == "bits" or not is_float) else what


def properties(ptx: str) -> tuple[str, int]:
    """Whether a PTX type is one of bits, of ints or a float's name; and its size."""
    found = TYPE.fullmatch(ptx)
    assert found is not None
    if ptx in ("f16", "bf16", "f32", "f64"):
        return ptx, int(ptx.lstrip("bf"))
    if found[1] in ("u", "s") and not found[3]:
        return "int", int(found[2])
    if ptx.startswith(("e", "ue")):
        return "bits", 16
    size = {"bf16x2": 32, "tf32": 32}.get(ptx) or int(found[2]) * int((found[3] or "x1")[1:])
    return "bits", size


def register_bits(type: Type) -> int:
    """The size of the register that holds a value."""
    if isinstance(type, PointerType):
        return 64 if type.space in (Space.GENERIC, Space.GLOBAL) else 32
    assert isinstance(type, ScalarType)
    return max(16, type.bits)


def advice(place: Token, type: Type, wrong: str, *, is_result: bool) -> str | None:
    """What to write instead of an operand of the wrong type."""
    name = {
        "an int of 16 bits": "u16", "16 bits": "u16", "an int of 32 bits": "u32", "32 bits": "u32",
        "an int of 64 bits": "u64", "64 bits": "u64", "a bool": "bool",
    }.get(wrong, wrong)  # fmt: skip
    if name not in ("u16", "u32", "u64", "bool", "f16", "bf16", "f32", "f64"):
        return None
    if is_result:
        return f"out={name}"
    same_size = isinstance(type, ScalarType) and name != "bool" and register_bits(type) == int(name.lstrip("ubf"))
    bits = f", or bitcast({place.text}, {name}) to keep the bits" if same_size and type.bits != 8 else ""  # type: ignore[union-attr]
    if isinstance(type, PointerType):
        return None
    return f"cast it: {place.text}={name}(...){bits}" if name != "bool" else f"{place.text}=... != 0"


def _address(instruction: Instruction, operand: Operand, types: Types) -> Iterator[TemplateError]:
    """An address is in brackets, of 64 bits or in the space that the instruction names."""
    name = instruction.opcode.text
    if not operand.is_address:
        yield TemplateError(operand.tokens[0], f"`{name}` takes an address here", "write it in brackets: [{p}]")
        return
    place = operand.base
    if place is None:
        return
    type = types[place.text]
    named = [w.partition("::")[0] for w in instruction.words[1:]]
    space = next((w for w in named if w in (*REGISTER_SPACES.values(), "param")), None)
    if isinstance(type, PointerType) and type.space in REGISTER_SPACES:
        own = REGISTER_SPACES[type.space]
        # What is in a block's own shared memory is in its cluster's too.
        in_cluster = "shared::cluster" in instruction.words and own != "shared"
        if own != ("shared::cluster" if in_cluster else space or "global"):
            hint = f"write {instruction.words[0]}.{own}"
            yield TemplateError(place, f"`{place.text}` is an address in {own} memory, and `{name}` is not of it", hint)
        return
    narrow = space is not None and space != "global" and register_bits(type) == 32
    if misfit(type, "u64", wider=False) and not (narrow and not misfit(type, "u32", wider=False)):
        yield TemplateError(place, f"`{place.text}` is {type}, and an address is a Ptr or an int of 64 bits")
