"""``asm(template, **operands)``: the template is checked as PTX, and each operand against its instructions."""

from __future__ import annotations

import ast

from kdsl.frontend.access import choice
from kdsl.frontend.arguments import plain_arguments
from kdsl.frontend.casts import cast_type
from kdsl.frontend.frame import Frame
from kdsl.frontend.intrinsics import constant_of
from kdsl.frontend.ptx_instructions import MEMORY
from kdsl.frontend.ptx_operands import mismatches
from kdsl.frontend.ptx_template import Instruction, Template, TemplateError, Token, parse
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Tuple, Value, describe
from kdsl.ir import nodes as ir
from kdsl.lang.types import VOID, ArrayType, PointerType, ScalarType, TupleType, Type
from kdsl.source import Span

OPTIONS = ("out", "volatile", "memory")


def asm(frame: Frame, node: ast.Call) -> Value:
    """``asm(template, out=, volatile=, memory=, **operands)``."""
    if not plain_arguments(frame, node):
        return POISON
    if len(node.args) != 1:
        return frame.error(
            node, f"asm() takes one template, and this gives {len(node.args)}", "operands have names: a=x"
        )
    given = {k.arg: k.value for k in node.keywords if k.arg is not None}
    type = _result_type(frame, given)
    operands = {name: _operand(frame, place) for name, place in given.items() if name not in OPTIONS}
    template = _template(frame, node.args[0])
    if type is None:
        return POISON
    if frame.quiet:
        # The type is known even where the operands are not yet.
        return Runtime(ir.InlinePtx((), (), (), type, True, True, False, frame.span(node)))
    exprs = {name: expr for name, expr in operands.items() if expr is not None}
    if template is None or len(exprs) < len(operands) or not _agree(frame, node, template, exprs, type):
        return POISON
    touches = any(_touches_memory(i) for i in template.instructions)
    volatile = choice(frame, given, "volatile", {True: True, False: False}, type == VOID, "asm")
    memory = choice(frame, given, "memory", {True: True, False: False}, touches, "asm")
    if volatile is None or memory is None:
        return POISON
    numbers = {name: i for i, name in enumerate((*_result_names(type), *exprs))}
    text = tuple(numbers[p.text] if isinstance(p, Token) else p for p in _pieces(template))
    early = len(template.instructions) > 1
    values = tuple(exprs.values())
    return Runtime(ir.InlinePtx(text, values, tuple(exprs), type, volatile, memory, early, frame.span(node)))


def _result_type(frame: Frame, given: dict[str, ast.expr]) -> Type | None:
    """What ``out`` says; None (reported) if it says no scalar types."""
    if "out" not in given:
        return VOID
    value = frame.value(given["out"])
    if isinstance(value, Poison):
        return None
    if isinstance(value, Static) and value.object is None:
        return VOID
    parts = value.elements if isinstance(value, Tuple) else (value,)
    types = [cast_type(part.object) if isinstance(part, Static) else None for part in parts]
    scalars = tuple(t for t in types if t is not None)
    if not types or len(scalars) < len(types):
        frame.error(given["out"], "`out` of asm() takes a scalar type, or a tuple of them", "such as out=u32")
        return None
    return TupleType(scalars) if isinstance(value, Tuple) else scalars[0]


def _result_names(type: Type) -> tuple[str, ...]:
    match type:
        case TupleType(elements):
            return tuple(f"d{i}" for i in range(len(elements)))
        case ScalarType():
            return ("d",)
        case _:
            return ()


def _operand(frame: Frame, node: ast.expr) -> ir.Expr | None:
    """A scalar or pointer; a contiguous array is the pointer to its first element. None (reported) for all else."""
    expr = frame.runtime(frame.value(node), node)
    if expr is None or isinstance(expr.type, ScalarType | PointerType):
        return expr
    if isinstance(expr.type, ArrayType) and not expr.type.strided:
        return ir.Bitcast(expr, PointerType(expr.type.element, expr.type.space), frame.span(node))
    hint = "pass each element" if isinstance(expr.type, TupleType) else None
    frame.error(node, f"an operand of asm() is a scalar or a pointer, and this is {describe(expr.type)}", hint)
    return None


def _template(frame: Frame, node: ast.expr) -> Template | None:
    if isinstance(node, ast.JoinedStr):
        frame.error(node, "the template of asm() is no f-string", "operands have names: {a}, and a=x")
        return None
    value = frame.value(node)
    if isinstance(value, Poison):
        return None
    text = constant_of(value)
    if not isinstance(text, str):
        frame.error(node, "the template of asm() is a constant string", 'such as asm("mov.u32 {d}, %smid;", out=u32)')
        return None
    try:
        return parse(text)
    except TemplateError as error:
        _report(frame, node, error)
        return None


def _agree(frame: Frame, node: ast.Call, template: Template, exprs: dict[str, ir.Expr], type: Type) -> bool:
    """Whether template and operands fit each other; all that does not is reported."""
    place = node.args[0]
    results = _result_names(type)
    keywords = {k.arg: k for k in node.keywords}
    for name in results:
        if name in exprs:
            frame.error(keywords[name], f"`{name}` names a result of asm() here", "give the operand another name")
            return False
    used = {p.text: p for p in template.placeholders}
    unknown = [p for name, p in used.items() if name not in results and name not in exprs]
    for p in unknown:
        _report(frame, place, TemplateError(p, f"asm() has no operand `{p.text}`", _missing(p.text, type)))
    unused = [name for name in exprs if name not in used]
    for name in unused:
        frame.error(keywords[name], f"the template has no {{{name}}}", "leave the operand out")
    unset = [name for name in results if name not in used]
    for name in unset:
        frame.error(
            place, f"the template has no {{{name}}}, which `out` asks for", "{d} is the result, of several {d0}"
        )
    if unknown or unused or unset:
        return False
    elements = type.elements if isinstance(type, TupleType) else (type,)
    types = {**dict(zip(results, elements, strict=False)), **{name: expr.type for name, expr in exprs.items()}}
    wrong = list(mismatches(template, types, lambda name: name in results))
    for error in wrong:
        _report(frame, place, error)
    return not wrong


def _missing(name: str, type: Type) -> str:
    if name[:1] == "d" and name[1:].isdigit():
        return "out=(u32, u32) gives {d0} and {d1}, out=u32 gives {d}"
    if name == "d":
        return "out=u32 gives {d}" if type == VOID else "of several results they are {d0}, {d1}"
    return f"write {name}=..."


def _touches_memory(instruction: Instruction) -> bool:
    """Whether an instruction must keep its place among accesses. Constants do not change, nor what ``.nc`` reads."""
    opcode, *modifiers = instruction.words
    fixed = opcode == "ld" and bool({"nc", "const", "param"}.intersection(modifiers))
    collective = opcode in ("bar", "barrier") or "sync" in modifiers
    return (opcode in MEMORY and not fixed) or (collective and opcode not in ("shfl", "vote", "match", "redux", "mma"))


def _pieces(template: Template) -> list[str | Token]:
    """The text a line for each statement, with adjacent text joined."""
    found: list[str | Token] = []
    for i, line in enumerate(template.lines):
        for part in ["\n\t", *line] if i else line:
            if isinstance(part, str) and found and isinstance(found[-1], str):
                found[-1] += part
            else:
                found.append(part)
    return found


def _report(frame: Frame, node: ast.expr, error: TemplateError) -> None:
    frame.error(_span(frame, node, error.place) or node, error.message, error.hint)


def _span(frame: Frame, node: ast.expr, place: Token) -> Span | None:
    """Where a part of the template stands, if it is written here as it is: one literal without escapes."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or node.end_lineno is None:
        return None
    lines = frame.file.lines[node.lineno - 1 : node.end_lineno]
    written = "".join(lines)
    end = len(written) - len(lines[-1]) + (node.end_col_offset or 0)
    start = written.find(node.value, node.col_offset, end)
    if start < 0 or not written.isascii() or place.start >= place.end:
        return None
    before = written[: start + place.start]
    number, column = node.lineno + before.count("\n"), len(before) - (before.rfind("\n") + 1) + 1
    return Span(frame.file.name, number, column, number, column + place.end - place.start)
