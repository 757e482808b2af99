"""What Python is no part of the kernel language, and what to write instead."""

from __future__ import annotations

import ast

from kdsl.frontend.frame import Frame
from kdsl.frontend.values import Poison

Refusal = tuple[str, str | None]

EXPRESSIONS: dict[type[ast.expr], Refusal] = {
    ast.SetComp: ("a comprehension makes a set, and a kernel has none", "write a for loop"),
    ast.DictComp: ("a comprehension makes a dict, and a kernel has none", "write a for loop"),
    ast.GeneratorExp: (
        "a generator expression is only for sum, min, max, any and all",
        "a list has elements: [... for ... in ...]",
    ),
    ast.Dict: ("a kernel has no dicts", "use arrays, or a chain of if and elif"),
    ast.Set: ("a kernel has no sets", "compare with each value: x == 1 or x == 2"),
    ast.Await: ("await cannot run in a kernel", "call the function without it"),
    ast.Yield: ("a kernel cannot yield", "store the value in an array"),
    ast.YieldFrom: ("a kernel cannot yield", "store the values in an array"),
    ast.JoinedStr: ("an f-string is only for print() and assert", "write it there: print(f\"{x}\")"),
    ast.Starred: ("a kernel has no * unpacking", "name each value"),
    ast.Slice: ("a kernel has no slices", "loop over the indices"),
}  # fmt: skip
STATEMENTS: dict[type[ast.stmt], Refusal] = {
    ast.ClassDef: ("a class cannot be defined in a kernel", "define it outside of the kernel, with @struct"),
    ast.Try: ("a kernel cannot catch exceptions: there are none on the device", "test with if, or assert"),
    ast.Raise: ("a kernel cannot raise", "use assert, or store an error code in an array"),
    ast.With: ("`with` cannot run in a kernel", "do it on the host, around the launch"),
    ast.AsyncWith: ("`async with` cannot run in a kernel", "do it on the host, around the launch"),
    ast.AsyncFor: ("`async for` cannot run in a kernel", "write a plain for"),
    ast.AsyncFunctionDef: ("an async function cannot be defined in a kernel", "write a plain def"),
    ast.Import: ("a kernel cannot import", "import at the top of the file"),
    ast.ImportFrom: ("a kernel cannot import", "import at the top of the file"),
    ast.Global: ("`global` cannot be used in a kernel: it cannot change the host's variables", "store it in an array"),
    ast.Nonlocal: ("`nonlocal` cannot be used in a kernel", "return the value to the caller"),
    ast.Delete: ("`del` cannot be used in a kernel", "variables end with the function; leave it out"),
}  # fmt: skip
PATTERNS: dict[type[ast.pattern], Refusal] = {
    ast.MatchStar: ("a pattern has no `*`: a tuple has a fixed length", "write `_` for each element"),
    ast.MatchMapping: ("a kernel has no dicts to match", "match a tuple of the values"),
}
CONSTANTS: dict[type, Refusal] = {
    bytes: ("a kernel has no bytes", "pass them to the kernel as an array of u8"),
    type(...): ("`...` is no value in a kernel", "an empty body is pass"),
}
ATTRIBUTE_TARGET: Refusal = ("a kernel cannot set attributes", "store to an element: a[i] = value")
RETURNED_VALUE: Refusal = ("a kernel returns nothing", "store the value in an array")
MATRIX_PRODUCT: Refusal = ("a kernel has no `@`", "write the loops over rows, columns and the inner dimension")
if hasattr(ast, "TryStar"):
    STATEMENTS[ast.TryStar] = STATEMENTS[ast.Try]
if hasattr(ast, "TemplateStr"):
    EXPRESSIONS[ast.TemplateStr] = ("a kernel has no template strings", "print() takes f-strings")
if hasattr(ast, "TypeAlias"):
    STATEMENTS[ast.TypeAlias] = ("a type cannot be defined in a kernel", "define it at the top of the file")

# Terms of one sum, or elifs of one if: the stages below walk the tree by recursion.
LONGEST_CHAIN = 200

COMPARISONS: dict[type[ast.cmpop], Refusal] = {
    ast.Is: ("`is` compares Python objects, and a kernel has only values", "write =="),
    ast.IsNot: ("`is not` compares Python objects, and a kernel has only values", "write !="),
}


def refuse_chain(frame: Frame, node: ast.expr) -> Poison:
    """Report an expression of too many operators."""
    hint = "name parts of it in variables, or write a loop"
    return frame.error(frame.file.first_line(node), f"an expression of more than {LONGEST_CHAIN} operators", hint)


def refuse_pattern(frame: Frame, pattern: ast.pattern) -> Poison:
    """Report a pattern that is outside of the language."""
    return frame.error(frame.file.span(pattern), *PATTERNS[type(pattern)])


def refuse(frame: Frame, node: ast.expr | ast.stmt) -> Poison:
    """Report an expression or statement that is outside of the language."""
    table: dict[type, Refusal] = {**EXPRESSIONS, **STATEMENTS}
    message, hint = table.get(type(node), (f"{type(node).__name__} is no part of the kernel language", None))
    if isinstance(node, ast.stmt) and (node.end_lineno or node.lineno) > node.lineno:
        # A caret under the first line says enough.
        return frame.error(frame.file.first_line(node), message, hint)
    return frame.error(node, message, hint)
