# ruff: noqa: F722 (one annotation is wrong on purpose)
"""Where a kernel's source is found: wherever Python defined it; and what is said when it cannot be."""

from __future__ import annotations

import importlib
import linecache
import os
import subprocess
import sys

import pytest

from kdsl import Ptr, f32, i32, kernel
from kdsl.frontend import KernelRequest, check_kernel, check_syntax, kernel_parameters, mangle
from kdsl.source import CompileError, find_function

from .harness import module_of, tree
from .sources import define

first, second = (lambda x: x + 1), (lambda x: x * 2)


def messages(function, *types) -> list[str]:
    with pytest.raises(CompileError) as caught:
        module_of(function, *types)
    return [d.message for d in caught.value.diagnostics]


def test_nested_and_strangely_indented_functions():
    def outer(scale):
        if True:

            def k(x: Ptr[f32]):  # fmt: skip
                """doc
                string"""
                x[0] = scale

            return k  # fmt: skip

    assert tree(outer(2.0)) == "    x[0] = 2.0"
    assert tree(outer(3)) == "    x[0] = 3.0"


def test_lambdas_on_one_line_are_told_apart():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = second(x[0])
        x[1] = first(x[1])

    assert "return x * 2.0" in tree(k).split("function")[1]
    assert "return x + 1.0" in tree(k).split("function")[2]


def test_registered_text_is_source():
    k = define("def k(x: Ptr[f32]):\n    x[0] = 1.5\n", "k", Ptr=Ptr, f32=f32)
    assert tree(k) == "    x[0] = 1.5"


def test_without_source_the_error_says_how_to_register_it():
    namespace = {"Ptr": Ptr, "f32": f32}
    exec(compile("def k(x: Ptr[f32]):\n    x[0] = 1.5\n", "<nowhere>", "exec"), namespace)
    with pytest.raises(CompileError, match="the source of `k` is not available") as caught:
        check_kernel(KernelRequest(namespace["k"]))
    assert "linecache.cache[name]" in str(caught.value)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of one kernel, imported from a file that the test may change."""
    path = tmp_path / "kernel_file.py"
    path.write_text("from kdsl import Ptr, f32\n\ndef k(x: Ptr[f32]):\n    x[0] = x[1] + 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("kernel_file", None)
    importlib.invalidate_caches()
    yield importlib.import_module("kernel_file"), path
    sys.modules.pop("kernel_file", None)


@pytest.mark.parametrize(
    "changed",
    [
        "from kdsl import Ptr, f32\n\ndef k(x: Ptr[f32]):\n    x[0] = x[1] - 1.0\n",
        "from kdsl import Ptr, f32\n\n\ndef k(x: Ptr[f32]):\n    x[0] = x[1] + 1.0\n",
        "from kdsl import Ptr, f32\n\ndef k(x: Ptr[f32]:\n    x[0] = x[1] + 1.0\n",
        "",
    ],
)
def test_a_file_changed_since_the_import_is_an_error(module, changed):
    imported, path = module
    path.write_text(changed)
    linecache.checkcache(str(path))
    assert messages(imported.k)[0] in (
        "the source of `k` has changed since it was imported",
        "the source of `k` is not available",
    )


def test_what_python_still_remembers_of_a_changed_file_is_used(module):
    imported, path = module
    assert "x[1] + 1.0" in tree(imported.k)
    path.write_text("something else")
    assert "x[1] + 1.0" in tree(imported.k)


def test_a_kernel_typed_into_python(tmp_path):
    script = (
        "from kdsl import *\nfrom kdsl.frontend import *\n"
        "def k(x: Ptr[f32]):\n    x[0] = 1\n\n"
        "try:\n    print(check_kernel(KernelRequest(k)).kernels[0].name)\n"
        "except CompileError as e:\n    print(e)\n\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(
        [sys.executable, "-i"], input=script, capture_output=True, text=True, env=environment, check=True
    )
    # Python keeps what is typed since 3.13.
    assert ran.stdout.strip() == "k" or "the source of `k` is not available" in ran.stdout


def test_columns_count_characters():
    k = define("def k(x: Ptr[f32]):\n    é = 1.0; x[0] = é + ünknown\n", "k", Ptr=Ptr, f32=f32)
    with pytest.raises(CompileError) as caught:
        module_of(k)
    (found,) = caught.value.diagnostics
    assert (found.span.line, found.span.column, found.span.end_column) == (2, 25, 32)
    assert str(found.render()).splitlines()[-1] == " " * 5 + " | " + " " * 24 + "^" * 7


class Holder:
    def method(self, x: Ptr[f32]):
        pass

    @staticmethod
    def plain(x: Ptr[f32]):
        x[0] = 1


async def coroutine(x: i32):
    pass


def generator(x: i32):
    yield x


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (Holder.method, "a kernel cannot be a method: `self` is an object of the host"),
        (lambda x: x, "a kernel is written with def, not lambda"),
        (coroutine, "`coroutine` is an async function"),
        (print, "a kernel is a function written with def, and this is a builtin_function_or_method"),
        (Holder, "a kernel is a function written with def, and this is a class"),
        (Holder().method, "a kernel is a function written with def, and this is a method"),
    ],
)
def test_what_is_no_kernel(function, expected):
    assert any(m.startswith(expected) for m in messages(function))


def test_static_methods_may_be_kernels():
    assert tree(Holder.plain) == "    x[0] = 1.0"


@pytest.mark.parametrize(
    ("name", "mangled"),
    [("k", "k"), ("é", "_ue9_"), ("_", "__u"), ("WARP_SZ", "WARP_SZ_u"), ("K2", "K2"), ("a.b", "a_u2e_b")],
)
def test_names_that_ptx_cannot_hold_are_mangled(name, mangled):
    assert mangle(name) == mangled


def test_kernels_of_strange_names():
    k = define("def é(_: Ptr[f32], WARP_SZ: i32):\n    _[0] = WARP_SZ\n", "é", Ptr=Ptr, f32=f32, i32=i32)
    (function,) = module_of(k).kernels
    assert (function.name, function.source_name) == ("_ue9_", "é")


def test_parameters_and_what_is_wrong_with_their_annotations():
    def good(a: Ptr[f32], b: "i32", c):
        pass

    def bad(a: list, b: "nothing", c: "Ptr[", d: i32 = 3):
        pass

    assert [(n, str(t)) for n, t in kernel_parameters(good)] == [("a", "Ptr[f32]"), ("b", "i32"), ("c", "None")]
    with pytest.raises(CompileError) as caught:
        kernel_parameters(bad)
    assert [d.message.partition(",")[0] for d in caught.value.diagnostics] == [
        "`a` is annotated `list`",
        "`b` is annotated `nothing`",
        "`c` is annotated `Ptr[`",
    ]


def test_syntax_and_names_of_an_unannotated_kernel():
    def k(x, n):
        for i in range(n):
            x[i] = undefined(i)
        with x:
            pass
        y = [1, [i for i in x]]
        x[1] = y @ ...
        print(f"{n}")
        return x is n

    with pytest.raises(CompileError) as caught:
        check_syntax(k)
    assert [d.message for d in caught.value.diagnostics] == [
        "`undefined` is not defined",
        "`with` cannot run in a kernel",
        "a kernel has no `@`",
        "a kernel returns nothing",
    ]

    def fine(x, n):
        x[n] = max(n, 1)

    check_syntax(fine)


def test_find_function_gives_the_node():
    file, node = find_function(Holder.plain)
    assert file.lines[node.lineno - 1].strip() == "def plain(x: Ptr[f32]):"
    assert file.def_line(node).column == 9


DEEP = {
    "parentheses": f"x[0] = {'(' * 90}1{')' * 90}",
    "unary": f"x[0] = {'-' * 300}x[1]",
    "sum": f"x[0] = {' + '.join(['x[1]'] * 1500)}",
    "calls": f"x[0] = {'abs(' * 90}x[1]{')' * 90}",
    "elif": "if x[0] > 0:\n        x[0] = 1\n"
    + "".join(f"    elif x[0] > {i}:\n        x[1] = 1\n" for i in range(500)),
    "comparison": f"if {' < '.join(['x[1]'] * 500)}:\n        x[0] = 1",
    "and": f"if {' and '.join(['x[1] > 0'] * 500)}:\n        x[0] = 1",
    "if": "".join("    " * i + "if x[0] > 0:\n    " for i in range(1, 90))[4:] + "    " * 90 + "x[1] = 1",
}


@pytest.mark.parametrize("shape", DEEP)
def test_deep_nesting_compiles_or_is_an_error_with_a_place(shape):
    try:
        k = define(f"def k(x: Ptr[f32]):\n    {DEEP[shape]}\n", "k", Ptr=Ptr, f32=f32)
    except (RecursionError, SyntaxError, MemoryError):
        pytest.fail("Python itself refuses it: make it less deep")
    try:
        module_of(k)
    except CompileError as error:
        assert error.diagnostics[0].span.line >= 1
        assert error.diagnostics[0].hint


def test_python_warns_of_a_file_once(recwarn):
    with pytest.warns(SyntaxWarning):
        k = define("def k(x: Ptr[f32]):\n    x[0] = 1 if 'a' is 'b' else 2\n", "k", Ptr=Ptr, f32=f32)
    with pytest.raises(CompileError, match="`is` compares Python objects"):
        module_of(k)
    assert not recwarn


def test_lines_are_counted_as_python_counts_them():
    source = "# a form feed: \x0c and a line separator: \u2028\r\ndef k(x: Ptr[f32]):\r\n    x[0] = 1.0; x[1] = y\r\n"
    k = define(source, "k", Ptr=Ptr, f32=f32)
    with pytest.raises(CompileError) as caught:
        module_of(k)
    (found,) = caught.value.diagnostics
    assert (found.span.line, found.span.column) == (3, 24)
