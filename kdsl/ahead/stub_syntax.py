"""What a stub takes from a module's syntax alone: which definitions count, how functions are declared, what methods
assign to ``self``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
ELLIPSIS = ast.Constant(...)
ACCESSORS = ("setter", "getter", "deleter")


def identifiers(tree: ast.AST) -> set[str]:
    """Every name in a module."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(name) | ast.arg(name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                found.add(name)
            case ast.alias(name, asname):
                found.update((asname or name).split("."))
    return found


def counting(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements without definitions that a later one of the same name replaces, and without what implements
    overloads, which a stub does not say.
    """
    by_name: dict[str, list[Definition]] = {}
    for node in body:
        if isinstance(node, DEFINITIONS):
            by_name.setdefault(node.name, []).append(node)
    kept = {id(node) for name, found in by_name.items() if name != "_" for node in _kept(found)}
    return [node for node in body if not isinstance(node, DEFINITIONS) or id(node) in kept]


def _kept(found: Sequence[Definition]) -> list[Definition]:
    """Of the definitions of one name the last, with what it is made of: a property, or overloads."""
    place = len(found) - 1
    while place and _is_accessor(found[place]):
        place -= 1
    first = place
    while first and _is_overload(found[first - 1]):
        first -= 1
    if first < place and not _is_overload(found[place]):
        return [*found[first:place], *found[place + 1 :]]
    return list(found[first:])


def _is_accessor(node: Definition) -> bool:
    return any(
        isinstance(one, ast.Attribute) and one.attr in ACCESSORS and ast.unparse(one.value) == node.name
        for one in node.decorator_list
    )


def _is_overload(node: Definition) -> bool:
    return any(ast.unparse(one).rpartition(".")[2] == "overload" for one in node.decorator_list)


def bindings(node: ast.AST) -> Iterator[ast.stmt | str]:
    """Definitions, imports and names that are bound in a statement, but not in the functions and classes in it."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                yield child
            case ast.AnnAssign():
                yield child
            case ast.Name(name, ast.Store()) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.NamedExpr(ast.Name(name)):
                yield name
                yield from bindings(child.value)
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                pass
            case _:
                yield from bindings(child)


def names_of(node: ast.stmt) -> list[str]:
    """What a definition, import or annotated name binds."""
    match node:
        case ast.Import(names) | ast.ImportFrom(names=names):
            return [(alias.asname or alias.name).partition(".")[0] for alias in names]
        case ast.AnnAssign(ast.Name(name)):
            return [name]
    return [node.name] if isinstance(node, DEFINITIONS) else []


def function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """A function's declaration: its signature without the values of its defaults, and no body."""
    if isinstance(node, ast.AsyncFunctionDef) and _yields(node):
        # Without a body it would be a coroutine that gives an iterator.
        node.__class__ = ast.FunctionDef  # type: ignore[assignment]
    arguments = node.args
    arguments.defaults = [ELLIPSIS for _ in arguments.defaults]
    arguments.kw_defaults = [None if default is None else ELLIPSIS for default in arguments.kw_defaults]
    node.body = [ast.Expr(ELLIPSIS)]
    yield from ast.unparse(ast.fix_missing_locations(node)).splitlines()


def _yields(node: ast.AST) -> bool:
    """Whether a function is a generator; those in it do not count."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    return any(
        isinstance(child, ast.Yield) or (not isinstance(child, inner) and _yields(child))
        for child in ast.iter_child_nodes(node)
    )


def is_static(test: ast.expr) -> bool:
    """Whether a type checker decides a condition: on TYPE_CHECKING, the platform or Python's version."""
    text = ast.unparse(test)
    return text in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "not TYPE_CHECKING") or text.startswith(
        ("sys.platform", "sys.version_info")
    )


def outermost(annotation: ast.expr) -> str:
    """The last name of what an annotation is, or what it subscripts."""
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    return annotation.attr if isinstance(annotation, ast.Attribute) else getattr(annotation, "id", "")


class Attribute(NamedTuple):
    """What a method assigns to ``self``: with an annotation, or of a value whose type can be told."""

    name: str
    annotation: str | None


def instance_attributes(node: ast.ClassDef) -> list[Attribute]:
    """What the methods of a class assign to their first parameter, each once."""
    found: dict[str, Attribute] = {}
    for method in node.body:
        if not isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) or not method.args.args:
            continue
        if {ast.unparse(one) for one in method.decorator_list} & {"staticmethod", "classmethod"}:
            continue
        for attribute in _assigned_in(method):
            known = found.get(attribute.name)
            if known is None or (known.annotation is None and attribute.annotation is not None):
                found[attribute.name] = attribute
    return list(found.values())


def _assigned_in(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Attribute]:
    owner = method.args.args[0].arg
    types = {
        one.arg: ast.unparse(one.annotation) for one in method.args.args + method.args.kwonlyargs if one.annotation
    }
    for node in ast.walk(method):
        match node:
            case ast.AnnAssign(ast.Attribute(ast.Name(name), attribute), annotation) if name == owner:
                is_bare = isinstance(annotation, ast.Name) and annotation.id == "Final"
                yield Attribute(attribute, None if is_bare else ast.unparse(annotation))
            case ast.Assign([ast.Attribute(ast.Name(name), attribute)], value) if name == owner:
                yield Attribute(attribute, _told(value, types))
            case ast.Attribute(ast.Name(name), attribute, ast.Store()) if name == owner:
                yield Attribute(attribute, None)


def _told(value: ast.expr, types: dict[str, str]) -> str | None:
    match value:
        case ast.Name(name):
            return types.get(name)
        case ast.Constant(bool() | int() | float() | complex() | str() | bytes() as constant):
            return type(constant).__name__
    return None
