"""Pickling of kernels: by name, as functions are; one that another process cannot import goes with its source.

What goes by value is the function, as cloudpickle makes it, so that it takes along the names that it uses, and the text
of the files that it and its device functions are written in, since a kernel is compiled from its text.
"""

from __future__ import annotations

import ast
import io
import linecache
import pickle
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from kdsl.locks import Lock
from kdsl.source import CompileError, find_function

MAIN = ("__main__", "__mp_main__")
THERE = (str(Path(ast.__file__).parent), str(Path(__file__).parent))
Reduced = str | tuple[Any, ...]
Files = tuple[tuple[str, str], ...]
"""Names and texts of source files."""


def is_importable(thing: Any, module: str | None, name: str) -> bool:
    """Whether another process finds ``thing`` by its name: not in the program that runs as ``__main__``, in a module
    that this one made in another way than by importing it, or where cloudpickle was told to go by value.
    """
    return bool(module) and module not in MAIN and has_name(thing, module, name) and _is_found(str(module))


def _is_found(module: str) -> bool:
    """Whether Python's import finds the module anew."""
    parent, _, _ = module.rpartition(".")
    if parent and not _is_found(parent):
        return False
    cloudpickle = sys.modules.get("cloudpickle")
    if cloudpickle is not None and module in cloudpickle.list_registry_pickle_by_value():
        return False
    path = getattr(sys.modules.get(parent), "__path__", None) if parent else None
    # Not importlib.util.find_spec, which takes what is in sys.modules for found.
    return any(finder.find_spec(module, path) is not None for finder in sys.meta_path)


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
    with _by_value(cloudpickle, {f.__module__ for f in functions}):
        data = _dumped(cloudpickle, sent)
    return restored, (type(kernel), data, options, _files(functions))


def _dumped(cloudpickle: Any, sent: Any) -> bytes:
    """The objects as cloudpickle has them, but for the language's own, which go by name: there is one of each."""
    names = {
        id(value): (module.__name__, name)
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("kdsl.")
        for name, value in list(vars(module).items())
        if type(value).__module__.startswith("kdsl.")
    }

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
        def persistent_id(self, thing: Any) -> tuple[str, str] | None:
            return names.get(id(thing))

    file = io.BytesIO()
    Pickler(file).dump(sent)
    return file.getvalue()


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, place: tuple[str, str]) -> Any:
        module, name = place
        return getattr(import_module(module), name)


@contextmanager
def _by_value(cloudpickle: Any, modules: Iterable[str | None]) -> Iterator[None]:
    """Let cloudpickle take along what these modules define, though they can be imported here."""
    with _REGISTERING:
        known = cloudpickle.list_registry_pickle_by_value()
        mine = [sys.modules[m] for m in modules if m in sys.modules and m not in MAIN and m not in known]
        for module in mine:
            cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            for module in mine:
                cloudpickle.unregister_pickle_by_value(module)


_REGISTERING = Lock()


# Why remembered? A task that is sent a hundred times is compiled once, and the pickled bytes tell its captures too.
@lru_cache(maxsize=256)
def restored(kind: type, data: bytes, options: Any, files: Files) -> Any:
    """The kernel that was pickled by value."""
    places = {name: _placed(name, text) for name, text in files}
    sent = _Unpickler(io.BytesIO(data)).load()
    for function, file, names in sent:
        # cloudpickle forgets where a function stood.
        function.__code__ = _in_file(function.__code__, places.get(file, file))
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
    """The texts that the functions are compiled from; Python's own and ours are there, too."""
    found = {f.__code__.co_filename: f.__globals__ for f in functions}
    texts = ((name, "".join(linecache.getlines(name, names))) for name, names in found.items())
    return tuple((name, text) for name, text in texts if text and not name.startswith(THERE))
