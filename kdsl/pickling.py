"""Pickling of kernels: by name, as functions are; one that another process cannot import goes with its source.

What goes by value is the function, as cloudpickle makes it, so that it takes along the names that it uses, and the text
of the files that it and its device functions are written in, since a kernel is compiled from its text.
"""

from __future__ import annotations

import ast
import linecache
import pickle
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from kdsl.source import CompileError, find_function

MAIN = ("__main__", "__mp_main__")
Reduced = str | tuple[Any, ...]
Files = tuple[tuple[str, str], ...]
"""Names and texts of source files."""


def is_importable(thing: Any, module: str | None, name: str) -> bool:
    """Whether another process finds ``thing`` by its name; it does not import the program that runs as ``__main__``."""
    return module not in MAIN and has_name(thing, module, name)


def has_name(thing: Any, module: str | None, name: str) -> bool:
    """Whether ``name`` in a module, dots and all, is bound to ``thing``."""
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is thing


def reduced(kernel: Any, function: FunctionType, options: Any) -> Reduced:
    """How a kernel is pickled. PicklingError says what to do where it cannot be."""
    name = function.__qualname__
    if is_importable(kernel, function.__module__, name):
        return name
    try:
        import cloudpickle  # absent from many installations, and needed by few programs
    except ImportError:
        if has_name(kernel, function.__module__, name):
            return name  # multiprocessing runs the main program in its processes too
        raise pickle.PicklingError(
            f"kernel {name}: pickle finds kernels by name, and this one is not at the top of a module (or its name is "
            "bound to something else); define it there, or pip install cloudpickle, with which it goes by value"
        ) from None
    functions = list(_sent_along(function))
    sent = [(f, f.__code__.co_filename, _annotation_names(f)) for f in functions]
    return restored, (type(kernel), cloudpickle.dumps(sent), options, _files(functions))


# Why remembered? A task that is sent a hundred times is compiled once, and the pickled bytes tell its captures too.
@lru_cache(maxsize=256)
def restored(kind: type, data: bytes, options: Any, files: Files) -> Any:
    """The kernel that was pickled by value."""
    places = {name: _placed(name, text) for name, text in files}
    sent = pickle.loads(data)
    for function, file, names in sent:
        # cloudpickle forgets where a function stood.
        function.__code__ = _in_file(function.__code__, places[file])
        for name, value in names.items():
            function.__globals__.setdefault(name, value)
    return kind(sent[0][0], options)


def _placed(name: str, text: str) -> str:
    """What to call the file of that text here, where there may be none of its name, or another one."""
    here = "".join(linecache.getlines(name))
    if here == text:
        return name
    if here:
        name = f"<{name} as it was pickled, {hash(text):x}>"
    # None: linecache keeps it though there is no such file.
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name


def _in_file(code: CodeType, name: str) -> CodeType:
    inner = (_in_file(c, name) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=name, co_consts=tuple(inner))


def _sent_along(function: FunctionType) -> Iterator[FunctionType]:
    """The function and those that go by value with it: what it calls, and methods of what it names."""
    seen: set[int] = set()
    pending: list[Any] = [function]
    while pending:
        found = pending.pop()
        if id(found) in seen or isinstance(found, ModuleType):
            continue
        seen.add(id(found))
        if isinstance(found, type):
            if not is_importable(found, found.__module__, found.__qualname__):
                pending += vars(found).values()
        elif isinstance(found, staticmethod | classmethod):
            pending.append(found.__func__)
        elif isinstance(found, FunctionType) and not is_importable(found, found.__module__, found.__qualname__):
            yield found
            pending += _used(found)


def _used(function: FunctionType) -> Iterator[Any]:
    """The objects that a function names: globals, what it captured, defaults and annotations."""
    names = set(_names(function.__code__))
    yield from (value for name, value in function.__globals__.items() if name in names)
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from _annotation_names(function).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not bound yet
            continue


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _annotation_names(function: FunctionType) -> dict[str, Any]:
    """The globals that its annotations name, those of its variables too: Python's own bytecode does not name them."""
    try:
        _, node = find_function(function)
    except CompileError:  # told when it is compiled
        return {}
    annotations: list[ast.expr] = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.arg | ast.AnnAssign) and inner.annotation is not None:
            annotations.append(inner.annotation)
    pending = list(annotations)
    names: set[str] = set()
    while pending:
        for inner in ast.walk(pending.pop()):
            if isinstance(inner, ast.Name):
                names.add(inner.id)
            elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                pending += _parsed(inner.value)
    return {name: function.__globals__[name] for name in names if name in function.__globals__}


def _parsed(text: str) -> list[ast.expr]:
    try:
        return [ast.parse(text, mode="eval").body]
    except SyntaxError:  # told when it is compiled
        return []


def _files(functions: Sequence[FunctionType]) -> Files:
    """The texts that the functions are compiled from."""
    found = {f.__code__.co_filename: linecache.getlines(f.__code__.co_filename, f.__globals__) for f in functions}
    return tuple((name, "".join(lines)) for name, lines in found.items())
