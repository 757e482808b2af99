"""`kdsl stubs`: the stub (``.pyi``) of a module, in which a kernel's launch has the kernel's parameters.

Python's typing cannot turn ``Ptr[f32]`` into "an array of float32", so a launcher's call is spelled out here. All else
in the module is declared as its source and its values say it.
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from kdsl.ahead.stub_types import launcher, safe
from kdsl.compiler import Kernel
from kdsl.module import KernelModule

MARK = "# Made by `kdsl stubs`: do not edit."
IMPORTS = """\
import typing as _t
from functools import cached_property as _cached

import numpy as _np

import kdsl as _kdsl
import kdsl.typing as _k
"""
ELLIPSIS = ast.Constant(...)
PLAIN = (bool, int, float, complex, str, bytes)


def stub(module: ModuleType, source: str) -> str:
    """The text of a loaded module's stub. CompileError for a kernel's parameter whose annotation is no type."""
    writer = _Stub(module)
    lines = list(writer.body(ast.parse(source).body))
    return "\n".join([MARK, IMPORTS, *writer.launchers, *lines]) + "\n"


class _Stub:
    """Writes one module's declarations."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.names = vars(module)
        self.declared: set[str] = set()
        self.launchers: list[str] = []

    def body(self, statements: Sequence[ast.stmt]) -> Iterator[str]:
        """The declarations of module-level statements."""
        for statement in statements:
            yield from self._statement(statement)

    def _statement(self, node: ast.stmt) -> Iterator[str]:
        match node:
            case ast.ImportFrom(module="__future__"):
                return
            case ast.Import(names) | ast.ImportFrom(names=names):
                self.declared.update((alias.asname or alias.name).partition(".")[0] for alias in names)
                yield ast.unparse(node)
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                self.declared.add(name)
                yield from self._definition(node, self.names.get(name))
            case ast.AnnAssign(ast.Name(name)):
                self.declared.add(name)
                yield f"{name}: {ast.unparse(node.annotation)}"
            case ast.Assign(targets):
                for target in targets:
                    yield from self._assigned(target, node.value)
            case ast.If(test) if _is_static(test):
                yield f"if {ast.unparse(test)}:"
                yield from _indented(self.body(node.body))
                if node.orelse:
                    yield "else:"
                    yield from _indented(self.body(node.orelse))
            case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While() | ast.AugAssign():
                yield from self._conditional(node)

    def _conditional(self, node: ast.stmt) -> Iterator[str]:
        """What a statement of a module that runs has bound in the end."""
        for inner in _bindings(node):
            names = [inner] if isinstance(inner, str) else _names_of(inner)
            if all(name in self.names and name not in self.declared for name in names):
                is_import = isinstance(inner, ast.Import | ast.ImportFrom)
                if isinstance(inner, str) or (is_import and any(self.names[name] is None for name in names)):
                    # Also of an import that has failed, and was replaced by None.
                    self.declared.update(names)
                    yield from (f"{name}: {self.value(self.names[name])}" for name in names)
                else:
                    yield from self._statement(inner)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, value: Any) -> Iterator[str]:
        if isinstance(value, Kernel) and isinstance(node, ast.FunctionDef):
            yield self._kernel(node.name, value)
        elif isinstance(value, KernelModule):
            yield self._module(node.name, value)
        elif isinstance(node, ast.ClassDef):
            yield from self._class(node, value)
        else:
            yield from _function(node)

    def _kernel(self, name: str, kernel: Kernel[Any], owner: str = "") -> str:
        kind = safe(f"{owner}{name}")
        self.launchers += launcher(kernel, kind, self.named)
        return f"{name}: _{kind}"

    def _module(self, name: str, module: KernelModule) -> str:
        """A `cuda_module` class: its kernels, and those of the loaded module."""
        for kernel in module.kernels:
            full = f"{name}_{kernel.name}"
            self.launchers += [
                *launcher(kernel, full, self.named),
                *launcher(kernel, full, self.named, is_loaded=True),
            ]
        names = [kernel.name for kernel in module.kernels]
        self.launchers += [
            f"class _{name}_loaded(_k.LoadedKernels):",
            *(f"    {kernel}: _{name}_{kernel}_loaded" for kernel in names),
            "",
            f"class _{name}(_kdsl.KernelModule):",
            *(f"    {kernel}: _{name}_{kernel}" for kernel in names),
            f"    def load(self, signatures: _t.Mapping[str, _t.Any] = ...) -> _{name}_loaded: ...",
            f"    def from_module(self, module: _kdsl.LoadedModule) -> _{name}_loaded: ...",
            "",
        ]
        return f"{name}: _{name}"

    def named(self, wanted: type) -> str | None:
        """What the file calls a class."""
        return next((name for name, value in self.names.items() if value is wanted), None)

    def _class(self, node: ast.ClassDef, value: Any) -> Iterator[str]:
        head = ast.ClassDef(node.name, node.bases, node.keywords, [ast.Expr(ELLIPSIS)], node.decorator_list)
        if sys.version_info >= (3, 12):
            head.type_params = node.type_params
        yield ast.unparse(ast.fix_missing_locations(head)).rsplit("\n", 1)[0]
        members = [line for member in node.body for line in self._member(member, value)]
        yield from _indented(members or ["..."])

    def _member(self, node: ast.stmt, owner: Any) -> Iterator[str]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found = vars(owner).get(node.name) if inspect.isclass(owner) else None
                found = found.__func__ if isinstance(found, staticmethod) else found
                if isinstance(found, Kernel):
                    yield self._kernel(node.name, found, f"{owner.__name__}_")
                else:
                    yield from _function(node)
            case ast.ClassDef(name):
                yield from self._class(node, getattr(owner, name, None))
            case ast.AnnAssign(ast.Name(name)):
                yield f"{name}: {ast.unparse(node.annotation)}{' = ...' if node.value is not None else ''}"
            case ast.Assign():
                # An enum's members are their values; what a class holds otherwise says its own type.
                yield ast.unparse(node)

    def _assigned(self, target: ast.expr, value: ast.expr) -> Iterator[str]:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id not in self.declared:
                self.declared.add(node.id)
                bound = self.names.get(node.id)
                if isinstance(target, ast.Name) and _is_type(bound):
                    yield f"{node.id} = {ast.unparse(value)}"
                else:
                    yield f"{node.id}: {self.value(bound)}"

    def value(self, value: Any) -> str:
        """The type of a value that a module holds, as a stub writes it."""
        kind = type(value)
        if isinstance(value, Kernel):
            return "_kdsl.Kernel[...]"
        if value is None:
            return "None"
        if kind in PLAIN:
            return kind.__name__
        if kind in (list, set, frozenset, dict):
            return f"{kind.__name__}[{'_t.Any, _t.Any' if kind is dict else '_t.Any'}]"
        if kind is tuple:
            return f"tuple[{', '.join(map(self.value, value)) or '()'}]"
        if kind.__module__ == "numpy":
            return "_np.ndarray[_t.Any, _t.Any]" if kind.__name__ == "ndarray" else f"_np.{kind.__name__}"
        return self.named(kind) or "_t.Any"


def _bindings(node: ast.AST) -> Iterator[ast.stmt | str]:
    """Definitions, imports and names that are bound in a statement, but not in the functions and classes in it."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                yield child
            case ast.AnnAssign():
                yield child
            case ast.Name(name, ast.Store()):
                yield name
            case ast.expr() if not isinstance(child, ast.Tuple | ast.List | ast.Starred):
                pass
            case _:
                yield from _bindings(child)


def _names_of(node: ast.stmt) -> list[str]:
    match node:
        case ast.Import(names) | ast.ImportFrom(names=names):
            return [(alias.asname or alias.name).partition(".")[0] for alias in names]
        case ast.AnnAssign(ast.Name(name)):
            return [name]
    return [node.name] if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else []


def _is_type(value: Any) -> bool:
    """Whether an assignment makes an alias or a TypeVar, which a type checker has to see as it is written."""
    aliases = (type, typing.TypeVar, typing.ParamSpec, types.GenericAlias, types.UnionType)
    return isinstance(value, aliases) or typing.get_origin(value) is not None


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """A function's declaration: its signature without the values of its defaults, and no body."""
    arguments = node.args
    arguments.defaults = [ELLIPSIS for _ in arguments.defaults]
    arguments.kw_defaults = [None if default is None else ELLIPSIS for default in arguments.kw_defaults]
    node.body = [ast.Expr(ELLIPSIS)]
    yield from ast.unparse(ast.fix_missing_locations(node)).splitlines()


def _is_static(test: ast.expr) -> bool:
    """Whether a type checker decides a condition: on TYPE_CHECKING, the platform or Python's version."""
    text = ast.unparse(test)
    return text in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "not TYPE_CHECKING") or text.startswith(
        ("sys.platform", "sys.version_info")
    )


def _indented(lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    found = list(lines)
    yield from (f"    {line}" for line in (found or ["pass"]))


def is_ours(path: Path) -> bool:
    """Whether a stub was made here, so that it may be made again."""
    return path.read_text(encoding="utf-8", errors="replace").startswith(MARK)
