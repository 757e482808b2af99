"""Python files of a user's: importing one without running its main, and the kernels that it holds."""

from __future__ import annotations

import importlib.util
import linecache
import sys
import traceback
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from kdsl.compiler import Kernel
from kdsl.contracts.places import ContractError
from kdsl.module import KernelModule
from kdsl.source import CompileError


class FileError(Exception):
    """A file cannot be read, parsed or imported; the message says where and why."""


def load_file(path: Path) -> ModuleType:
    """Import ``path`` as a module that is not ``__main__``, its folder first on the path as when Python runs it. A file
    of a package, whose folder has an ``__init__.py``, is imported in that, so that it may import what is beside it.
    """
    try:
        text = path.read_bytes()
        code = compile(text, str(path), "exec")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:
        raise FileError(syntax_message(path, error)) from None
    package, root = _package_of(path)
    name = f"kdsl_file_{path.stem.replace('.', '_')}"
    name = package if path.name == "__init__.py" else f"{package}.{name}" if package else name
    # The loader is named, because Python finds one only for names that end with .py.
    spec = importlib.util.spec_from_loader(name, SourceFileLoader(name, str(path)))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # A package's folder comes last: what is in it is not named without the package.
    folder = str(path.resolve().parent)
    added = [str(root), folder] if package else [folder]
    sys.path[:0] = added
    try:
        exec(code, module.__dict__)
    except SystemExit as error:
        raise FileError(f"{path}: exited with {error.code!r} while it was imported") from None
    except ContractError as error:
        raise FileError(str(error)) from None
    except CompileError as error:
        advice = 'put what launches kernels below if __name__ == "__main__":'
        raise FileError(f"{error}\n{path}: this came from a launch while the file was imported; {advice}") from None
    # Whatever a user's file raises is the user's to read: their traceback, without our frames.
    except Exception as error:
        raise FileError(f"{path}: importing it failed\n{user_traceback(error, path)}") from None
    finally:
        for entry in added:
            sys.path.remove(entry)
    return module


def _package_of(path: Path) -> tuple[str, Path]:
    """The package that a file is in, "" if in none, and the folder in which that is found."""
    root, names = path.resolve().parent, []
    while (root / "__init__.py").is_file() and root.name.isidentifier():
        names.append(root.name)
        root = root.parent
    return ".".join(reversed(names)), root


def syntax_message(path: Path, error: SyntaxError | ValueError) -> str:
    """Python's own message for a file that does not parse, in the form of our errors."""
    if not isinstance(error, SyntaxError) or error.lineno is None:
        return f"{path}: error: {error}"
    line = linecache.getline(str(path), error.lineno).rstrip("\n")
    out = f"{path}:{error.lineno}:{error.offset or 1}: error: {error.msg}"
    return f"{out}\n{error.lineno:5} | {line}" if line else out


def user_traceback(error: BaseException, path: Path) -> str:
    """The traceback from the first frame in the user's file on, and the error itself."""
    frames = traceback.extract_tb(error.__traceback__)
    start = next((i for i, frame in enumerate(frames) if Path(frame.filename) == path), 0)
    lines = traceback.format_list(frames[start:]) + traceback.format_exception_only(error)
    return "".join(["Traceback (most recent call last):\n", *lines]).rstrip()


def has_kernels(module: ModuleType) -> bool:
    """Whether there is a kernel in it, one that it imports or makes of another module's function included."""
    return bool(kernels_of(module)) or any(isinstance(value, Kernel | KernelModule) for value in vars(module).values())


def kernels_of(module: ModuleType) -> dict[str, Kernel[Any]]:
    """Every kernel that the file defines itself, by name, those in classes as ``class.name``; in source order."""
    found = _kernels_in(vars(module), module.__name__, "")
    return dict(sorted(found.items(), key=lambda item: item[1].function.__code__.co_firstlineno))


def _kernels_in(names: Mapping[str, Any], module: str, prefix: str) -> dict[str, Kernel[Any]]:
    found: dict[str, Kernel[Any]] = {}
    for name, value in names.items():
        value = value.__func__ if isinstance(value, staticmethod) else value
        if isinstance(value, Kernel) and value.function.__module__ == module:
            found[prefix + name] = value
        elif isinstance(value, KernelModule):
            found.update({f"{prefix}{name}.{kernel.name}": kernel for kernel in value.kernels})
        elif isinstance(value, type) and value.__qualname__ == prefix + name and value.__module__ == module:
            found.update(_kernels_in(vars(value), module, f"{prefix}{name}."))
    return found
