"""`kdsl stubs`: the stub (``.pyi``) of a module, in which a kernel's launch has the kernel's parameters.

Python's typing cannot turn ``Ptr[f32]`` into "an array of float32", so a launcher's call is spelled out here. All else
in the module is declared as its source and its values say it.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib.util
import inspect
import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import kdsl
from kdsl.ahead import stub_syntax
from kdsl.ahead.stub_syntax import counting, identifiers, instance_attributes, is_static, names_of, outermost
from kdsl.ahead.stub_types import launcher
from kdsl.compiler import Kernel
from kdsl.lang.types import Type
from kdsl.module import KernelModule

MARK = "# Made by `kdsl stubs`: do not edit."
IMPORTS = """\
import typing as _typing
from functools import cached_property as _cached_property

import numpy as _numpy

import kdsl as _kdsl
import kdsl.typing as _kdsl_typing
"""
ALIASES = {"_typing", "_cached_property", "_numpy", "_kdsl", "_kdsl_typing"}
PLAIN = (bool, int, float, complex, str, bytes)
FIELDS = ("field", "Field")
"""What makes a field of a class whose constructor depends on its arguments."""
BLOCKS: tuple[type[ast.stmt], ...] = (
    ast.If, ast.Try, ast.TryStar, ast.With, ast.For, ast.While, ast.Match, ast.AugAssign, ast.Expr,
)  # fmt: skip
ALIAS_CLASSES: tuple[Any, ...] = (
    type, typing.TypeVar, typing.ParamSpec, typing.TypeVarTuple, typing.NewType, types.GenericAlias, types.UnionType,
    *filter(None, [getattr(typing, "TypeAliasType", None)]),
)  # fmt: skip
MISSING = object()


def stub(module: ModuleType, source: str | bytes) -> str:
    """The text of a loaded module's stub. CompileError for a kernel's parameter whose annotation is no type."""
    tree = ast.parse(source)
    writer = _Stub(module, identifiers(tree))
    lines = list(writer.module_body(tree.body))
    return "\n".join([MARK, IMPORTS, *writer.launchers, *lines]) + "\n"


@dataclasses.dataclass
class _Scope:
    """A module or class whose body is written: what its names are in the end, which are declared already, and which
    definitions are still to come. ``path`` begins the names of the launchers in it.
    """

    names: Mapping[str, Any]
    path: str = "_"
    owner: type | None = None
    in_class: bool = False
    declared: set[str] = dataclasses.field(default_factory=set)
    defined: set[str] = dataclasses.field(default_factory=set)


class _Stub:
    """Writes one module's declarations."""

    def __init__(self, module: ModuleType, taken: set[str]) -> None:
        self.module = module
        self.names = vars(module)
        self.launchers: list[str] = []
        self._taken = taken | ALIASES
        self._kinds: dict[int, str] = {}

    def module_body(self, statements: Sequence[ast.stmt]) -> Iterator[str]:
        """The declarations of a module, and what it exports."""
        scope = _Scope(self.names)
        yield from self._body(statements, scope)
        exported = self.names.get("__all__")
        if isinstance(exported, list | tuple):
            for name in exported:
                if name not in scope.declared and name in self.names:
                    yield f"{name}: {self.value(self.names[name])}"
            yield f"__all__ = {list(map(str, exported))!r}"

    def _body(self, statements: Sequence[ast.stmt], scope: _Scope) -> Iterator[str]:
        found = counting(statements)
        scope.defined |= {node.name for node in found if isinstance(node, stub_syntax.DEFINITIONS)}
        for statement in found:
            yield from self._statement(statement, scope)

    def _statement(self, node: ast.stmt, scope: _Scope) -> Iterator[str]:
        match node:
            case ast.ImportFrom(module="__future__"):
                return
            case ast.Import() | ast.ImportFrom():
                yield from self._import(node, scope)
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                scope.declared.add(name)
                yield from self._definition(node, scope)
            case ast.AnnAssign(ast.Name(name)) if name not in scope.declared:
                scope.declared.add(name)
                yield self._annotated(name, node, scope)
            case ast.Assign(targets):
                for target in targets:
                    yield from self._assigned(target, node.value, scope)
            case ast.If(test) if is_static(test):
                yield f"if {ast.unparse(test)}:"
                yield from _indented(self._body(node.body, scope))
                if node.orelse:
                    yield "else:"
                    yield from _indented(self._body(node.orelse, scope))
            case _ if type(node).__name__ == "TypeAlias":  # PEP 695: Python 3.12
                scope.declared.add(node.name.id)  # type: ignore[attr-defined]
                yield ast.unparse(node)
            case _ if isinstance(node, BLOCKS):
                yield from self._conditional(node, scope)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: _Scope) -> Iterator[str]:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            scope.declared |= self._star(node)
        scope.declared.update(names_of(node))
        is_relative = isinstance(node, ast.ImportFrom) and node.level > 0
        if is_relative and not scope.in_class:
            # What a package's modules say, others import from it; a stub exports what is named `as` itself.
            for alias in node.names:
                alias.asname = alias.asname or (alias.name if alias.name != "*" else None)
        yield ast.unparse(node)

    def _star(self, node: ast.ImportFrom) -> set[str]:
        """The names that ``from module import *`` binds."""
        name = "." * node.level + (node.module or "")
        try:
            found = sys.modules.get(importlib.util.resolve_name(name, self.module.__package__ or ""))
        except ImportError:
            return set()
        names = vars(found) if found is not None else {}
        return set(names.get("__all__", [name for name in names if not name.startswith("_")]))

    def _conditional(self, node: ast.stmt, scope: _Scope) -> Iterator[str]:
        """What a statement of a body that runs has bound in the end."""
        for inner in stub_syntax.bindings(node):
            names = [inner] if isinstance(inner, str) else names_of(inner)
            if all(n in scope.names and n not in scope.declared and n not in scope.defined for n in names):
                is_import = isinstance(inner, ast.Import | ast.ImportFrom)
                if isinstance(inner, str) or (is_import and any(scope.names[n] is None for n in names)):
                    # Also of an import that has failed, and was replaced by None.
                    scope.declared.update(names)
                    yield from (self._named_value(name, scope) for name in names if name != "__all__")
                else:
                    yield from self._statement(inner, scope)

    def _named_value(self, name: str, scope: _Scope) -> str:
        value = scope.names[name]
        if isinstance(value, Kernel):
            return f"{name}: {self._kernel(name, value, scope)}"
        return f"{name}: {self.value(value)}"

    def _definition(self, node: stub_syntax.Definition, scope: _Scope) -> Iterator[str]:
        value = scope.names.get(node.name)
        value = value.__func__ if isinstance(value, staticmethod) else value
        if isinstance(value, Kernel) and isinstance(node, ast.FunctionDef):
            yield f"{node.name}: {self._kernel(node.name, value, scope)}"
        elif isinstance(value, KernelModule):
            yield f"{node.name}: {self._module(node.name, value, scope)}"
        elif isinstance(node, ast.ClassDef):
            yield from self._class(node, value, scope)
        else:
            yield from stub_syntax.function(node)

    def _fresh(self, name: str) -> str:
        """The name of a class that no one else has, and that may be followed by ``_launch`` and ``_loaded``."""
        while not self._taken.isdisjoint(made := {name, f"{name}_launch", f"{name}_loaded"}):
            name += "_"
        self._taken |= made
        return name

    def _kernel(self, name: str, kernel: Kernel[Any], scope: _Scope) -> str:
        """A kernel's class, written once."""
        if id(kernel) not in self._kinds:
            self._kinds[id(kernel)] = kind = self._fresh(f"{scope.path}{name}")
            self.launchers += launcher(kernel, kind, self.named)
        return self._kinds[id(kernel)]

    def _module(self, name: str, module: KernelModule, scope: _Scope) -> str:
        """A `cuda_module` class: its kernels, and those of the loaded module."""
        kind = self._fresh(f"{scope.path}{name}")
        kinds = {kernel.name: self._fresh(f"{kind}_{kernel.name}") for kernel in module.kernels}
        for kernel in module.kernels:
            self.launchers += launcher(kernel, kinds[kernel.name], self.named)
            self.launchers += launcher(kernel, kinds[kernel.name], self.named, is_loaded=True)
        self.launchers += [
            f"class {kind}_loaded(_kdsl_typing.LoadedKernels):",
            *(f"    {kernel}: {one}_loaded" for kernel, one in kinds.items()),
            "",
            f"class {kind}(_kdsl.KernelModule):",
            *(f"    {kernel}: {one}" for kernel, one in kinds.items()),
            f"    def load(self, signatures: _typing.Mapping[str, _typing.Any] = ...) -> {kind}_loaded: ...",
            f"    def from_module(self, module: _kdsl.LoadedModule) -> {kind}_loaded: ...",
            "",
        ]
        return kind

    def named(self, wanted: type) -> str | None:
        """What the file calls a class."""
        found = next((name for name, value in self.names.items() if value is wanted), None)
        if found is not None or wanted.__module__ != self.module.__name__:
            return found
        first, *rest = wanted.__qualname__.split(".")
        inner: Any = self.names.get(first)
        for name in rest:
            inner = getattr(inner, name, None)
        return wanted.__qualname__ if inner is wanted else None

    def _class(self, node: ast.ClassDef, value: Any, scope: _Scope) -> Iterator[str]:
        head = ast.ClassDef(node.name, node.bases, node.keywords, [ast.Expr(stub_syntax.ELLIPSIS)], node.decorator_list)
        if sys.version_info >= (3, 12):
            head.type_params = node.type_params
        yield ast.unparse(ast.fix_missing_locations(head)).rsplit("\n", 1)[0]
        owner = value if inspect.isclass(value) else None
        inner = _Scope(vars(owner) if owner is not None else {}, f"{scope.path}{node.name}_", owner, in_class=True)
        attributes = instance_attributes(node)  # before the methods lose their bodies
        members = [*self._body(node.body, inner)]
        members += [line for one in attributes for line in self._attribute(one, inner)]
        yield from _indented(members or ["..."])

    def _attribute(self, attribute: stub_syntax.Attribute, scope: _Scope) -> Iterator[str]:
        """What methods assign to ``self`` and nothing in the class declares."""
        name, owner = attribute.name, scope.owner
        bases = owner.__mro__[1:] if owner is not None else ()
        if name in scope.declared or any(name in vars(base) for base in bases):
            return
        annotation = attribute.annotation or "_typing.Any"
        has_fields = owner is not None and (dataclasses.is_dataclass(owner) or issubclass(owner, enum.Enum))
        if not has_fields:
            yield f"{name}: {annotation}"
            return
        # There an annotated name would be a field, or a member.
        yield from ("@property", f"def {name}(self) -> {annotation}: ...")
        yield from (f"@{name}.setter", f"def {name}(self, value: {annotation}) -> None: ...")

    def _annotated(self, name: str, node: ast.AnnAssign, scope: _Scope) -> str:
        annotation, said = node.annotation, node.value
        what = outermost(annotation)
        if said is None or what == "TypeAlias":
            return ast.unparse(node)
        if what in ("Final", "ClassVar") and not isinstance(annotation, ast.Subscript):
            value = scope.names.get(name)
            if type(value) in (bool, int, str, bytes):
                return f"{name}: {ast.unparse(annotation)} = {value!r}"
            return f"{name}: {ast.unparse(annotation)}[{self.value(value)}]"
        if not scope.in_class:
            return f"{name}: {ast.unparse(annotation)}"
        if isinstance(said, ast.Call) and outermost(said.func) in FIELDS:
            return ast.unparse(node)
        return f"{name}: {ast.unparse(annotation)} = ..."

    def _assigned(self, target: ast.expr, value: ast.expr, scope: _Scope) -> Iterator[str]:
        for node in ast.walk(target):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Store) or node.id == "__all__":
                continue
            if node.id in scope.declared or node.id in scope.defined:
                continue
            scope.declared.add(node.id)
            bound = scope.names.get(node.id, MISSING)
            is_empty = (isinstance(value, ast.List) and not value.elts) or (
                isinstance(value, ast.Dict) and not value.keys
            )
            # An enum's members are their values; what a class holds otherwise says its own type.
            if isinstance(target, ast.Name) and (_is_type(bound, value) or (scope.in_class and not is_empty)):
                yield f"{node.id} = {ast.unparse(value)}"
            elif bound is MISSING:
                yield f"{node.id}: _typing.Any"
            else:
                yield self._named_value(node.id, scope)

    def value(self, value: Any) -> str:
        """The type of a value that a module holds, as a stub writes it."""
        kind = type(value)
        if isinstance(value, Kernel):
            return "_kdsl.Kernel[...]"
        if value is None:
            return "None"
        if kind in PLAIN:
            return str(kind.__name__)
        if kind in (list, set, frozenset, dict):
            return f"{kind.__name__}[{'_typing.Any, _typing.Any' if kind is dict else '_typing.Any'}]"
        if kind is tuple:
            return f"tuple[{', '.join(map(self.value, value)) or '()'}]"
        if kind.__module__ == "numpy":
            return (
                "_numpy.ndarray[_typing.Any, _typing.Any]" if kind.__name__ == "ndarray" else f"_numpy.{kind.__name__}"
            )
        if getattr(kdsl, kind.__name__, None) is kind:
            return f"_kdsl.{kind.__name__}"
        # A module of a class that nothing names may name what that derives from.
        return next((name for base in kind.__mro__[:-1] if (name := self.named(base))), "_typing.Any")


def _is_type(value: Any, said: ast.expr) -> bool:
    """Whether an assignment makes an alias or a TypeVar, which a type checker has to see as it is written."""
    if isinstance(value, ALIAS_CLASSES) or typing.get_origin(value) is not None:
        return True
    return isinstance(value, Type) and isinstance(said, ast.Name | ast.Attribute | ast.Subscript)


def _indented(lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    found = list(lines)
    yield from (f"    {line}" for line in (found or ["pass"]))


def is_ours(path: Path) -> bool:
    """Whether a stub was made here, so that it may be made again."""
    return path.read_text(encoding="utf-8", errors="replace").startswith(MARK)
