"""Programs as Python source: one kernel each, many in one file, grouped in one class for one PTX module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import program as p

INDENT = "    "
HEADER = '''"""Generated programs."""
import math

from kdsl import Ptr, bf16, bitcast, cuda_module, f16, f32, f64, grid, i8, i16, i32, i64, kernel, u8, u16, u32, u64

'''


def expression(e: p.Expr) -> str:
    """Fully parenthesised, but for the shapes whose parentheses Python does not need."""
    match e:
        case p.Name():
            return e.name
        case p.Literal():
            return f"({e.value!r})" if str(e.value).startswith("-") else repr(e.value)
        case p.Unary():
            return f"({e.op} {expression(e.operand)})" if e.op == "not" else f"({e.op}{expression(e.operand)})"
        case p.Binary():
            return f"({expression(e.left)} {e.op} {expression(e.right)})"
        case p.Compare():
            first, *rest = map(expression, e.operands)
            return "(" + first + "".join(f" {op} {right}" for op, right in zip(e.ops, rest, strict=True)) + ")"
        case p.Logical():
            return "(" + f" {e.op} ".join(map(expression, e.operands)) + ")"
        case p.Conditional():
            return f"({expression(e.then)} if {expression(e.test)} else {expression(e.orelse)})"
        case p.Cast():
            return f"{e.type}({expression(e.operand)})"
        case p.Bitcast():
            return f"bitcast({expression(e.operand)}, {e.type})"
        case p.Builtin():
            name = f"math.{e.name}" if e.name in ("floor", "ceil", "sqrt") else e.name
            return f"{name}({', '.join(map(expression, e.arguments))})"
        case p.Call():
            return f"{e.function}({', '.join(map(expression, e.arguments))})"
        case p.Walrus():
            return f"({e.name} := {expression(e.value)})"


def block(statements: Iterable[p.Stmt], depth: int, kernel: bool) -> list[str]:
    lines = [line for statement in statements for line in render_statement(statement, depth, kernel)]
    return lines or [INDENT * depth + "pass"]


def render_statement(s: p.Stmt, depth: int, kernel: bool) -> list[str]:
    pad = INDENT * depth
    match s:
        case p.Assign(annotation=None):
            return [pad + "".join(f"{t} = " for t in s.targets) + expression(s.value)]
        case p.Assign():
            return [f"{pad}{s.targets[0]}: {s.annotation} = {expression(s.value)}"]
        case p.Augmented():
            return [f"{pad}{s.target} {s.op}= {expression(s.value)}"]
        case p.TupleAssign():
            return [f"{pad}{', '.join(s.targets)} = {', '.join(map(expression, s.values))}"]
        case p.DivmodAssign():
            return [f"{pad}{s.targets[0]}, {s.targets[1]} = divmod({expression(s.left)}, {expression(s.right)})"]
        case p.If():
            head, tail = f"{pad}if {expression(s.test)}:", "else"
        case p.While():
            head, tail = f"{pad}while {expression(s.test)}:", "else"
        case p.For():
            head, tail = f"{pad}for {s.target} in range({', '.join(map(expression, s.arguments))}):", "else"
        case p.Break():
            return [pad + "break"]
        case p.Continue():
            return [pad + "continue"]
        case p.Return() if kernel:
            return [f"{pad}out[lane] = {expression(s.value)}", f"{pad}return"]
        case p.Return():
            return [f"{pad}return {expression(s.value)}"]
    lines = [head, *block(s.body, depth + 1, kernel)]
    return lines + ([f"{pad}{tail}:", *block(s.orelse, depth + 1, kernel)] if s.orelse else [])


def function(f: p.Function, prefix: str) -> list[str]:
    parameters = ", ".join(name if kind is None else f"{name}: {kind}" for name, kind in f.parameters)
    return [f"def {prefix}{f.name}({parameters}):", *block(f.body, 1, kernel=False), "", ""]


def kernel(program: p.Program, name: str, depth: int = 0) -> list[str]:
    pad = INDENT * depth
    pointers = "".join(f"in_{n}: Ptr[{t}], " for n, t in program.inputs)
    lines = [pad + "@kernel(fmad=False)"]
    lines.append(f"{pad}def {name}({pointers}out: Ptr[{program.output}], n: i32):")
    lines += [f"{pad}{INDENT}lane = grid(1)", f"{pad}{INDENT}if lane < n:"]
    inner = pad + INDENT * 2
    lines += [f"{inner}{n} = in_{n}[lane]" for n, _ in program.inputs]
    lines += block(program.body, depth + 2, kernel=True) if program.body else []
    return [*lines, f"{inner}out[lane] = {expression(program.result)}", ""]


def module(programs: Sequence[p.Program]) -> str:
    """Source of a file with class ``programs`` holding kernels p0, p1, ...; device functions come before it."""
    lines = [line for i, program in enumerate(programs) for f in program.functions for line in named(f, i)]
    lines += ["@cuda_module", "class programs:"]
    for i, program in enumerate(programs):
        lines += kernel(prefixed(program, i), f"p{i}", depth=1)
    return HEADER + "\n".join(lines).rstrip() + "\n"


def named(f: p.Function, index: int) -> list[str]:
    renamed = rename_calls(f.body, f"d{index}_")
    return function(p.Function(f.name, f.parameters, renamed), f"d{index}_")


def prefixed(program: p.Program, index: int) -> p.Program:
    """The program with its device functions' names made unique in the file."""
    prefix = f"d{index}_"
    body = rename_calls(program.body, prefix)
    return p.Program(program.inputs, body, rename_calls(program.result, prefix), program.output, program.functions)


def rename_calls(node, prefix: str):  # type: ignore[no-untyped-def]  # one walk over every node class and tuple
    if isinstance(node, tuple):
        return tuple(rename_calls(part, prefix) for part in node)
    if not hasattr(node, "__dataclass_fields__"):
        return node
    fields = {name: rename_calls(getattr(node, name), prefix) for name in node.__dataclass_fields__}
    if isinstance(node, p.Call):
        fields["function"] = prefix + node.function
    return type(node)(**fields)
