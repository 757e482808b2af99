"""Programs as Python source: one kernel each, many in one file, grouped in one class for one PTX module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from . import program as p

INDENT = "    "
HEADER = '''"""Generated programs."""
import math

from kdsl import *
from kdsl import bitcast

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
        case p.View():
            return f"(bitcast({e.array}, Ptr[{e.type}]) + {expression(e.offset)})[{expression(e.index)}]"
        case p.Tuple():
            return f"({', '.join(map(expression, e.items))},)"
        case p.Item():
            return f"{e.name}[{e.index}]"
        case p.Vector():
            return f"{e.type}({', '.join(map(expression, e.parts))})"
        case p.Components():
            return f"{expression(e.vector)}.{e.names}"
        case p.Index():
            return f"{e.array}[{', '.join(map(expression, e.indices))}]"
        case p.Place():
            return e.text
        case p.Intrinsic():
            return f"{e.name}({', '.join(map(expression, e.arguments))})"


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
            head, tail = f"{pad}for {s.target} in {iterated(s)}:", "else"
        case p.ForEach():
            items = f"({', '.join(map(expression, s.items))},)"
            return [f"{pad}for {s.target} in {items}:", *block(s.body, depth + 1, kernel)]
        case p.Match():
            cases = [line for case in s.cases for line in render_case(case, depth + 1, kernel)]
            return [f"{pad}match {expression(s.subject)}:", *cases]
        case p.Define():
            return [pad + line for line in nested(s.function)]
        case p.StoreView():
            return [f"{pad}{expression(s.view)} {s.op or ''}= {expression(s.value)}"]
        case p.Unpack():
            return [f"{pad}{', '.join(s.targets)} = {expression(s.value)}"]
        case p.SetComponent():
            return [f"{pad}{s.vector}.{s.name} {s.op or ''}= {expression(s.value)}"]
        case p.Unrolled():
            raise AssertionError(s)
        case p.Break():
            return [pad + "break"]
        case p.Continue():
            return [pad + "continue"]
        case p.Return() if kernel:
            return [f"{pad}out[lane] = {expression(s.value)}", f"{pad}return"]
        case p.Return():
            return [f"{pad}return {expression(s.value)}"]
        case p.Declare() | p.Store() | p.Atomic() | p.Collective():
            return [pad + line for line in memory_statement(s)]
    lines = [head, *block(s.body, depth + 1, kernel)]
    return lines + ([f"{pad}{tail}:", *block(s.orelse, depth + 1, kernel)] if s.orelse else [])


def iterated(s: p.For) -> str:
    arguments = ", ".join(map(expression, s.arguments)) + (f", unroll={s.unroll}" if s.unroll else "")
    return f"reversed(range({arguments}))" if s.way == "reversed" else f"{s.way}({arguments})"


def render_case(case: p.Case, depth: int, kernel: bool) -> list[str]:
    pattern = " | ".join(repr(literal.value) for literal in case.patterns) or case.capture or "_"
    guard = f" if {expression(case.guard)}" if case.guard is not None else ""
    return [f"{INDENT * depth}case {pattern}{guard}:", *block(case.body, depth + 1, kernel)]


def nested(f: p.Function) -> list[str]:
    names = ", ".join(name if kind is None else f"{name}: {kind}" for name, kind in f.parameters)
    match f.body:
        case (p.Return(value),) if all(kind is None for _, kind in f.parameters):
            return [f"{f.name} = lambda {names}: {expression(value)}"]
    return [f"def {f.name}({names}):", *block(f.body, 1, kernel=False)]


def memory_statement(s: p.Declare | p.Store | p.Atomic | p.Collective) -> list[str]:
    match s:
        case p.Declare():
            shape = str(s.shape[0]) if len(s.shape) == 1 else str(s.shape)
            return [f"{s.name} = {s.space}.array({shape}, {s.type})"]
        case p.Store():
            return [f"{s.array}[{', '.join(map(expression, s.indices))}] {s.op or ''}= {expression(s.value)}"]
        case p.Atomic(name="cas_add"):
            return compare_and_swap(s)
        case p.Atomic():
            call = f"atomic.{s.name}({', '.join([s.array, subscript(s.indices), *map(expression, s.arguments)])})"
            return [call if s.target is None else f"{s.target} = {call}"]
        case p.Collective():
            call = f"{s.name}({', '.join(map(expression, s.arguments))})"
            return [f"{', '.join(s.targets)} = {call}" if s.targets else call]


def subscript(indices: Sequence[p.Expr]) -> str:
    return expression(indices[0]) if len(indices) == 1 else f"({', '.join(map(expression, indices))})"


def compare_and_swap(s: p.Atomic) -> list[str]:
    """An addition that is tried until no other thread came between."""
    index, (value,) = subscript(s.indices), s.arguments
    seen, before = f"{s.array}_seen", f"{s.array}_before"
    return [
        f"{seen} = atomic.load({s.array}, {index})",
        "while True:",
        f"{INDENT}{before} = {seen}",
        f"{INDENT}{seen} = atomic.cas({s.array}, {index}, {before}, {before} + {expression(value)})",
        f"{INDENT}if {seen} == {before}:",
        f"{INDENT * 2}break",
    ]


def function(f: p.Function, prefix: str) -> list[str]:
    parameters = ", ".join(name if kind is None else f"{name}: {kind}" for name, kind in f.parameters)
    result = f" -> {f.result}" if f.result else ""
    return [f"def {prefix}{f.name}({parameters}){result}:", *block(f.body, 1, kernel=False), "", ""]


def kernel(program: p.Program, name: str, depth: int = 0, options: str = "fmad=False") -> list[str]:
    pad = INDENT * depth
    inputs = [f"in_{n}: Ptr[{t}]" for n, t in program.inputs]
    buffers = [f"{b.name}: Ptr[{b.type}]" for b in program.buffers]
    uniforms = [f"{n}: {t}" for n, t in program.uniforms]
    parameters = ", ".join([*inputs, *buffers, *uniforms, f"out: Ptr[{program.output}]", "n: i32"])
    lines = [f"{pad}@kernel({options})", f"{pad}def {name}({parameters}) -> None:"]
    if program.grid is None:
        lines += [f"{pad}{INDENT}lane = grid(1)", f"{pad}{INDENT}if lane < n:"]
        depth += 1
    else:
        lines += [f"{pad}{INDENT}{line}" for line in PLACE]
    inner = INDENT * (depth + 1)
    lines += [f"{inner}{n} = in_{n}[lane]" for n, _ in program.inputs]
    lines += block(program.body, depth + 1, kernel=True) if program.body else []
    return [*lines, f"{inner}out[lane] = {expression(program.result)}", ""]


PLACE = ("tid = thread_idx.y * block_dim.x + thread_idx.x", "lane = block_idx.x * block_dim.x * block_dim.y + tid")


def module(programs: Sequence[p.Program], options: str = "fmad=False") -> str:
    """Source of a file with class ``programs`` holding kernels p0, p1, ...; device functions come before it."""
    lines = [line for i, program in enumerate(programs) for f in program.functions for line in named(f, i)]
    lines += ["@cuda_module", "class programs:"]
    for i, program in enumerate(programs):
        lines += kernel(prefixed(program, i), f"p{i}", 1, options)
    return HEADER + "\n".join(lines).rstrip() + "\n"


def named(f: p.Function, index: int) -> list[str]:
    renamed = rename_calls(f.body, f"d{index}_")
    return function(replace(f, body=renamed), f"d{index}_")


def prefixed(program: p.Program, index: int) -> p.Program:
    """The program with its device functions' names made unique in the file."""
    prefix = f"d{index}_"
    body = rename_calls(program.body, prefix)
    return replace(program, body=body, result=rename_calls(program.result, prefix))


def rename_calls(node, prefix: str):  # type: ignore[no-untyped-def]  # one walk over every node class and tuple
    if isinstance(node, tuple):
        return tuple(rename_calls(part, prefix) for part in node)
    if not hasattr(node, "__dataclass_fields__"):
        return node
    fields = {name: rename_calls(getattr(node, name), prefix) for name in node.__dataclass_fields__}
    if isinstance(node, p.Call) and not node.function.startswith("n"):
        fields["function"] = prefix + node.function
    return type(node)(**fields)
