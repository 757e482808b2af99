"""`kdsl build` and `kdsl stubs`: what is made ahead of a program's start."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kdsl.backend import DeviceError
from kdsl.cli.loading import SIGNATURE, Failure, fits, load_kernels, parsed_target, said_by_signature, signatures_of
from kdsl.codegen.sass import AssemblyError
from kdsl.compiler import Kernel
from kdsl.files import FileError, has_kernels, load_file
from kdsl.source import CompileError


@click.command()
@SIGNATURE
@click.argument("where", metavar="FILE[::KERNEL]")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="FOLDER")
@click.option("--arch", default="sm_90", show_default=True, metavar="sm_NN,...", help="Architectures, with commas.")
@click.option("--name", help="What the files are called; FILE's name with _kernels if left out.")
def build(where: str, output: Path, arch: str, name: str | None, signature: tuple[str, ...]) -> None:
    """Compile the kernels of FILE ahead of time, for programs without kdsl.

    Writes PTX and a cubin for each architecture, one fatbin of them all, a typed Python loader (NAME.py) that needs
    cuda-python and NumPy alone, and a C header (NAME.h).
    """
    from kdsl.ahead.build import build as build_kernels  # start-up cost: the other commands write no loaders
    from kdsl.ahead.build import default_name

    targets = [parsed_target(one.strip()) for one in arch.split(",")]
    kernels, names = load_kernels(where)
    said = signatures_of(kernels, signature, names)
    _complete(kernels, said)
    file = Path(where.partition("::")[0])
    chosen = default_name(file) if name is None else name
    if (output / f"{chosen}.py").resolve() == file.resolve():
        raise Failure(f"error: {output / chosen}.py is the file of the kernels itself; choose another --name or -o")
    try:
        built = build_kernels(
            list(kernels.values()), output, targets=targets, name=chosen, source=file.name,
            signatures={kernel.name: said[name] for name, kernel in kernels.items()},
        )  # fmt: skip
    except CompileError as error:
        raise Failure(str(error)) from None
    except (OSError, AssemblyError, DeviceError, ValueError, TypeError) as error:
        raise Failure(f"error: {error}") from None
    for path in built.files:
        click.echo(f"{path} ({path.stat().st_size} bytes)")


@click.command()
@click.argument("modules", metavar="MODULE...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where to; beside the modules if left out.",
)
@click.option("--print", "printed", is_flag=True, help="Print the stub, and write nothing.")
@click.option("--force", is_flag=True, help="Replace stubs that were not made here, too.")
def stubs(modules: tuple[str, ...], output: Path | None, printed: bool, force: bool) -> None:
    """Write the stub of each MODULE (a file, or a name such as package.kernels): type checkers then know what a
    kernel's launch takes. A module without kernels gets none; exits with 1 where none has one.
    """
    from kdsl.ahead.stubs import is_ours, stub  # start-up cost: the other commands write no stubs
    from kdsl.ahead.writing import write_files

    if printed and (output is not None or force):
        raise click.UsageError("--print writes no file, and takes neither -o nor --force")
    made: dict[Path, str] = {}
    any_kernels = False
    for module in modules:
        file = _file_of(module)
        try:
            loaded = load_file(file)
            if not has_kernels(loaded):
                click.echo(f"{module}: there is no kernel in it, and a stub would say nothing", err=True)
                continue
            any_kernels = True
            text = stub(loaded, file.read_bytes())
        except (FileError, CompileError) as error:
            raise Failure(str(error)) from None
        path = (output or file.parent) / f"{file.stem}.pyi"
        if printed:
            click.echo(text, nl=False)
        elif path.resolve() in map(Path.resolve, made):
            raise Failure(f"error: {module}: {path} is the stub of another module, too; write each with its own -o")
        elif path.exists() and not force and not _is_replaceable(path, is_ours):
            raise Failure(f"error: {path} was not made by kdsl stubs; --force replaces it")
        else:
            made[path] = text
    try:
        for folder in dict.fromkeys(path.parent for path in made):
            write_files(folder, {path.name: text.encode() for path, text in made.items() if path.parent == folder})
    except OSError as error:
        raise Failure(f"error: {error.filename}: {error.strerror}") from None
    for path in made:
        click.echo(path)
    if not any_kernels:
        sys.exit(1)


def _is_replaceable(path: Path, is_ours: Callable[[Path], bool]) -> bool:
    try:
        return is_ours(path)
    except OSError as error:
        raise Failure(f"error: {path}: {error.strerror}") from None


def _file_of(module: str) -> Path:
    """The file of a module that is named by its path or as in an import."""
    if module.endswith(".py") or os.path.isfile(module):  # noqa: PTH113 (Path.is_file raises for a long name)
        return Path(module)
    sys.path.insert(0, "")
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError) as error:
        raise Failure(f"error: {module}: {error}") from None
    # What the packages around it raise is theirs.
    except Exception as error:
        raise Failure(f"error: {module}: importing its package failed: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove("")
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise Failure(f"error: there is no file or module {module!r} in Python")
    return Path(spec.origin)


def _complete(kernels: dict[str, Kernel[Any]], said: dict[str, dict[str, Any]]) -> None:
    """Failure if the types of a kernel are not known."""
    for name, kernel in kernels.items():
        fits(kernel, said[name])
        lacking = kernel.open_names(said[name])
        if lacking:
            raise Failure(f"{name}: {said_by_signature(lacking)}; or build one kernel alone: FILE::KERNEL")
