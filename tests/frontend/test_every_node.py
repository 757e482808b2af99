"""Every kind of node in the running Python's syntax tree is in the kernel language, or refused by name with a way out.

A node that a later Python adds fails here until it is in one of the tables.
"""

from __future__ import annotations

import ast
import builtins
import sys
from typing import Any

import pytest

import kdsl
from kdsl import CompileError

from .sources import define

HEADER = "@kernel\ndef k(out: Ptr[f32], a: Array[f32, 2], p: Ptr[bool], n: i32, f: f32):\n"

SUPPORTED: dict[str, str] = {
    # Statements.
    "FunctionDef": "def g(x): return x\nout[0] = g(f)",
    "Return": "if n > 1: return\nout[0] = f",
    "Assign": "x = f\nout[0] = x",
    "AugAssign": "out[0] += f",
    "AnnAssign": "x: f32 = f\nout[0] = x",
    "For": "for i in range(n): out[i] = f",
    "While": "i = 0\nwhile i < n:\n  out[i] = f\n  i += 1",
    "If": "if n > 1: out[0] = f",
    "Match": "match n:\n  case 1: out[0] = f",
    "Assert": "assert n > 0, 'text'",
    "Expr": "print(n)",
    "Pass": "pass",
    "Break": "for i in range(n): break",
    "Continue": "for i in range(n): continue",
    # Expressions.
    "BoolOp": "p[0] = n > 1 and f > 2",
    "NamedExpr": "if (x := n) > 1: out[0] = x",
    "BinOp": "out[0] = f + 1",
    "UnaryOp": "out[0] = -f",
    "Lambda": "g = lambda x: x + f\nout[0] = g(1.0)",
    "IfExp": "out[0] = f if n > 1 else 0.0",
    "Compare": "p[0] = 1 < n < 3",
    "Call": "out[0] = abs(f)",
    "JoinedStr": "print(f'{n}')",
    "FormattedValue": "print(f'{f:.3f}')",
    "Constant": "out[0] = 1.5",
    "Attribute": "out[0] = a.shape[0]",
    "Subscript": "out[0] = a[0, n]",
    "Name": "out[0] = f",
    "Tuple": "x, y = 1, f\nout[0] = x + y",
    "Slice": "row = a[1:3, 0]\nout[0] = row[0]",
    "List": "x = [1.0, f]\nout[0] = x[n]",
    "ListComp": "x = [i * f for i in range(3)]\nout[0] = x[n]",
    "GeneratorExp": "out[0] = sum(i * f for i in range(3))",
    "comprehension": "x = [i * f for i in range(3) if i != 1]\nout[0] = x[n]",
    # Operators.
    "And": "p[0] = n > 1 and n < 3",
    "Or": "p[0] = n > 1 or n < 3",
    "Add": "out[0] = f + n",
    "Sub": "out[0] = f - n",
    "Mult": "out[0] = f * n",
    "Div": "out[0] = f / n",
    "Mod": "out[0] = n % 3",
    "Pow": "out[0] = f ** 2",
    "LShift": "out[0] = n << 3",
    "RShift": "out[0] = n >> 3",
    "BitOr": "out[0] = n | 3",
    "BitXor": "out[0] = n ^ 3",
    "BitAnd": "out[0] = n & 3",
    "FloorDiv": "out[0] = n // 3",
    "Invert": "out[0] = ~n",
    "Not": "p[0] = not n",
    "UAdd": "out[0] = +f",
    "USub": "out[0] = -f",
    "Eq": "p[0] = n == 3",
    "NotEq": "p[0] = n != 3",
    "Lt": "p[0] = n < 3",
    "LtE": "p[0] = n <= 3",
    "Gt": "p[0] = n > 3",
    "GtE": "p[0] = n >= 3",
    "In": "p[0] = n in (1, 2)",
    "NotIn": "p[0] = n not in (1, 2)",
    # Patterns.
    "MatchValue": "match n:\n  case 1: out[0] = f",
    "MatchSequence": "match (n, f):\n  case (1, x): out[0] = x",
    "MatchAs": "match n:\n  case 1 | 2 as x: out[0] = x",
    "MatchOr": "match n:\n  case 1 | 2: out[0] = f",
    "MatchSingleton": "match n > 1:\n  case True: out[0] = f",
    "MatchClass": "match n:\n  case i32(): out[0] = f",
    # Their parts.
    "arguments": "def g(x, y=2): return x + y\nout[0] = g(f)",
    "arg": "def g(x): return x\nout[0] = g(f)",
    "keyword": "def g(x): return x\nout[0] = g(x=f)",
    "match_case": "match n:\n  case _: out[0] = f",
    "Load": "out[0] = f",
    "Store": "x = f\nout[0] = x",
}
"""A kernel's body for each kind that the language has; it must compile."""

REFUSED: dict[str, tuple[str, str, str]] = {
    "AsyncFunctionDef": (
        "async def g(): pass", "an async function cannot be defined in a kernel", "write a plain def"),
    "ClassDef": (
        "class C: pass", "a class cannot be defined in a kernel", "define it outside of the kernel, with @struct"),
    "Delete": ("del n", "`del` cannot be used in a kernel", "variables end with the function; leave it out"),
    "Del": ("del out[0]", "`del` cannot be used in a kernel", "variables end with the function; leave it out"),
    "TypeAlias": ("type T = int", "a type cannot be defined in a kernel", "define it at the top of the file"),
    "With": ("with n: pass", "`with` cannot run in a kernel", "do it on the host, around the launch"),
    "withitem": ("with n as m: pass", "`with` cannot run in a kernel", "do it on the host, around the launch"),
    "Raise": ("raise ValueError", "a kernel cannot raise", "use assert, or store an error code in an array"),
    "Try": ("try: pass\nfinally: pass", "a kernel cannot catch exceptions: there are none on the device",
            "test with if, or assert"),
    "TryStar": ("try: pass\nexcept* ValueError: pass", "a kernel cannot catch exceptions: there are none on the device",
                "test with if, or assert"),
    "ExceptHandler": ("try: pass\nexcept ValueError: pass",
                      "a kernel cannot catch exceptions: there are none on the device", "test with if, or assert"),
    "Import": ("import os", "a kernel cannot import", "import at the top of the file"),
    "ImportFrom": ("from os import sep", "a kernel cannot import", "import at the top of the file"),
    "alias": ("import os as system", "a kernel cannot import", "import at the top of the file"),
    "Global": ("global TOTAL\nTOTAL = 1", "`global` cannot be used in a kernel: it cannot change the host's variables",
               "store it in an array"),
    "Nonlocal": ("m = n\ndef g():\n  nonlocal m\n  m = 2\n  return m\nout[0] = g()", "`nonlocal` cannot be used in a kernel",
                 "return the value to the caller"),
    "Dict": ("x = {1: 2}", "a kernel has no dicts", "use arrays, or a chain of if and elif"),
    "Set": ("x = {1}", "a kernel has no sets", "compare with each value: x == 1 or x == 2"),
    "SetComp": ("x = {i for i in range(3)}", "a comprehension makes a set, and a kernel has none", "write a for loop"),
    "DictComp": ("x = {i: i for i in range(3)}", "a comprehension makes a dict, and a kernel has none", "write a for loop"),
    "Yield": ("yield n", "a kernel cannot yield", "store the value in an array"),
    "YieldFrom": ("yield from (n,)", "a kernel cannot yield", "store the values in an array"),
    "MatMult": ("out[0] = a @ a", "a kernel has no `@`", "write the loops over rows, columns and the inner dimension"),
    "Is": ("out[0] = n is n", "`is` compares Python objects, and a kernel has only values", "write =="),
    "IsNot": ("out[0] = n is not n", "`is not` compares Python objects, and a kernel has only values", "write !="),
    "Starred": ("x = (*out, 1)", "a kernel has no * unpacking", "name each value"),
    "MatchStar": ("match (n, n):\n  case (1, *rest): pass", "a pattern has no `*`: a tuple has a fixed length",
                  "write `_` for each element"),
    "MatchMapping": ("match n:\n  case {1: x}: pass", "a kernel has no dicts to match", "match a tuple of the values"),
}  # fmt: skip
"""A kernel's body for each kind that it has not, with the message and what to write instead."""

ONLY_IN_ASYNC = {
    "AsyncFor": "async for i in n: pass",
    "AsyncWith": "async with n: pass",
    "Await": "await n",
}
"""Python takes these in an ``async def`` alone, which is refused as a kernel and in one."""

NOT_IN_A_FUNCTION = {
    "Module": "a file", "Interactive": "a prompt", "Expression": "an argument of eval", "FunctionType": "a comment's type",
    "TypeIgnore": "a comment's", "TypeVar": "of def f[T]", "ParamSpec": "of def f[**P]", "TypeVarTuple": "of def f[*T]",
    # Deprecated, made by no parser.
    "AugLoad": "", "AugStore": "", "Param": "", "Suite": "", "ExtSlice": "", "Index": "", "Num": "", "Str": "", "Bytes": "",
    "NameConstant": "", "Ellipsis": "",
}  # fmt: skip
"""Nodes that stand around functions, or that are no longer made."""

TEMPLATES = {"TemplateStr", "Interpolation"}
"""Of Python 3.14: see `test_template_strings`."""


def kinds() -> list[str]:
    """Each node class that a parser of the running Python can make."""
    found = [v for v in vars(ast).values() if isinstance(v, type) and issubclass(v, ast.AST)]
    return sorted({v.__name__ for v in found if not v.__subclasses__() or v.__name__ in ("Constant",)})


def kernel_of(body: str) -> kdsl.Kernel[Any]:
    text = HEADER + "".join(f"    {line}\n" for line in body.splitlines())
    return define(text, "k", **{name: getattr(kdsl, name) for name in ("kernel", "Ptr", "Array", "f32", "i32")})


def test_every_kind_of_node_is_in_one_table() -> None:
    tables = (SUPPORTED, REFUSED, ONLY_IN_ASYNC, NOT_IN_A_FUNCTION, TEMPLATES)
    assert [k for k in kinds() if sum(k in table for table in tables) != 1] == []


def parses(body: str) -> bool:
    try:
        ast.parse("def k():\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize("kind", SUPPORTED)
def test_supported(kind: str) -> None:
    body = SUPPORTED[kind]
    assert any(
        type(node).__name__ == kind
        for node in ast.walk(ast.parse(HEADER + f"    {body.replace(chr(10), chr(10) + '    ')}"))
    )
    kernel_of(body).check()


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_by_name(kind: str) -> None:
    body, message, hint = REFUSED[kind]
    if not parses(body):
        assert kind == "TypeAlias"
        assert sys.version_info < (3, 12)
        return
    with pytest.raises(CompileError) as caught:
        kernel_of(body).check()
    assert (message, hint) in [(d.message, d.hint) for d in caught.value.diagnostics]


@pytest.mark.parametrize("kind", ONLY_IN_ASYNC)
def test_only_in_async(kind: str) -> None:
    text = f"@kernel\nasync def k(n: i32):\n    {ONLY_IN_ASYNC[kind]}\n"
    with pytest.raises((CompileError, TypeError), match="async"):
        define(text, "k", kernel=kdsl.kernel, i32=kdsl.i32).check()
    assert [d.message for d in errors("async def g():\n  " + ONLY_IN_ASYNC[kind])] == [
        "an async function cannot be defined in a kernel"
    ]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="template strings come with Python 3.14")
def test_template_strings() -> None:
    (found,) = errors('x = t"{n}"')
    assert (found.message, found.hint) == ("a kernel has no template strings", "print() takes f-strings")


def errors(body: str) -> Any:
    with pytest.raises(CompileError) as caught:
        kernel_of(body).check()
    return caught.value.diagnostics


NO_ADVICE = {
    "copyright",
    "credits",
    "license",
    "help",
    "divmod",
    "isinstance",
    "len",
    "max",
    "min",
    "pow",
    "__build_class__",
}
"""What is no function of a program, or is refused here for its argument, not its name."""


def functions() -> list[str]:
    found = [name for name, value in vars(builtins).items() if callable(value)]
    return sorted(
        n for n in found if not (isinstance(vars(builtins)[n], type) and issubclass(vars(builtins)[n], BaseException))
    )


@pytest.mark.parametrize("name", functions())
def test_every_builtin_works_or_says_what_to_write_instead(name: str) -> None:
    try:
        kernel_of(f"out[0] = {name}(n)").check()
    except CompileError as error:
        assert name in NO_ADVICE or all(d.hint for d in error.diagnostics), error
