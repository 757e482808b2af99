"""The `kdsl` command. Commands with much to them are in files of their own: cache, ahead (build and stubs)."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from kdsl.backend import DeviceError
from kdsl.cache.process import CACHE
from kdsl.cli import ahead
from kdsl.cli.cache import cache
from kdsl.cli.loading import SIGNATURE, Failure, fits, load_kernels, parsed_target, said_by_signature, signatures_of
from kdsl.codegen.sass import AssemblyError
from kdsl.compiler import Kernel
from kdsl.current import set_device, start_trace
from kdsl.device_choice import DeviceChoiceError
from kdsl.explorer import text
from kdsl.files import syntax_message, user_traceback
from kdsl.source import CompileError
from kdsl.version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="kdsl %(version)s")
def main() -> None:
    """Kernels in Python, with every stage in view."""


@main.command()
@click.option("--trace", is_flag=True, help="Print every device call in the timeline too.")
@click.option("--device", help="cuda, cuda:N or emulator.")
def demo(trace: bool, device: str | None) -> None:
    """Add a million floats, show the kernel, its PTX and the time of each stage, and check the result."""
    from kdsl.demo import run  # start-up cost: the other commands do not need the example

    CACHE.turn_off()
    timeline = start_trace(calls=trace)
    _choose(device)
    try:
        verified = run(timeline)
    except DeviceChoiceError as error:
        raise Failure(f"error: {error}") from None
    sys.exit(0 if verified else 1)


@main.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--trace", is_flag=True, help="Print the host's timeline on stderr, with every device call.")
@click.option("--device", help="cuda, cuda:N or emulator.")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(file: Path, arguments: tuple[str, ...], trace: bool, device: str | None) -> None:
    """Run FILE as a program, with ARGUMENTS; errors in its kernels are shown without a traceback."""
    if not os.path.isfile(file):  # noqa: PTH113 (Path.is_file raises for a name that is too long)
        raise Failure(f"{file}: {_no_file(str(file))}")
    timeline = start_trace(calls=True) if trace else None
    _choose(device)
    sys.argv = [str(file), *arguments]
    sys.path.insert(0, str(file.resolve().parent))
    try:
        runpy.run_path(str(file), run_name="__main__")
    except (CompileError, DeviceError) as error:
        raise Failure(_described(error, file)) from None
    except DeviceChoiceError as error:
        raise Failure(f"{_place(error, file)}error: {error}") from None
    except SyntaxError as error:
        raise Failure(syntax_message(file, error)) from None
    # A program's own exception is its author's to read, without the frames of this command.
    except Exception as error:
        raise Failure(user_traceback(error, file)) from None
    finally:
        if timeline is not None:
            click.echo("timeline\n" + timeline.render(), err=True)


@main.command()
@SIGNATURE
@click.argument("where", metavar="FILE[::KERNEL]")
@click.option("--stage", type=click.Choice([*text.STAGES, "all"]), default="ptx", show_default=True)
@click.option("--arch", default="sm_90", show_default=True, metavar="sm_NN")
def show(where: str, stage: str, arch: str, signature: tuple[str, ...]) -> None:
    """Print a stage of the kernels in FILE, or of one; in colours if this is a terminal."""
    target = parsed_target(arch)
    colour = _colour() if sys.stdout.isatty() else None
    kernels, names = load_kernels(where)
    signatures = signatures_of(kernels, signature, names)
    for name, kernel in kernels.items():
        try:
            fits(kernel, signatures[name])
            lacking = kernel.open_names(signatures[name])
            if lacking:
                if "::" in where:
                    raise Failure(f"{name}: {said_by_signature(lacking)}")
                click.echo(f"{name}: passed over, {said_by_signature(lacking)}", err=True)
                continue
            compilation = kernel.compile(target=target, signature=signatures[name])
            click.echo(text.render(compilation, stage, colour))
        except CompileError as error:
            raise Failure(str(error)) from None
        except BrokenPipeError:
            raise  # a reader such as `head` has seen enough: click ends quietly
        except (OSError, AssemblyError, DeviceError) as error:
            raise Failure(f"error: {error}") from None


@main.command()
@SIGNATURE
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
def check(files: tuple[Path, ...], signature: tuple[str, ...]) -> None:
    """Check every kernel of every FILE and report all errors; nothing is launched. Exits with 1 if there is one.

    A kernel with TypeVars is checked with each of their constraints.
    """
    failed = False
    for file in files:
        try:
            kernels, names = load_kernels(str(file))
            signatures = signatures_of(kernels, signature, names)
        except Failure as error:
            error.show()
            failed = True
            continue
        path = str(file).partition("::")[0]
        for name, kernel in kernels.items():
            failed |= not _passes(f"{path}::{name}", kernel, signatures[name])
    sys.exit(1 if failed else 0)


@main.command()
@click.argument("pattern", default="")
def intrinsics(pattern: str) -> None:
    """List the functions that a kernel can call, or those with PATTERN in their name or PTX instruction.

    With *, ? or [ in it, PATTERN describes the whole name, as in a shell. Exits with 1 if there is none.
    """
    from kdsl.explorer.intrinsics import matching, rendered  # start-up cost: it imports every stub
    from kdsl.frontend.cuda_names import of_cuda

    found = matching(pattern)
    if not found and (instead := of_cuda(pattern)) is not None:
        click.echo(f"CUDA's {pattern}: {instead}")
        found = matching(instead.partition("(")[0])
        if not found:
            return
    if not found:
        raise Failure(f"no function of the kernel language has {pattern!r} in its name or PTX instruction")
    click.echo("\n\n".join(rendered(entry) for entry in found))


@main.command()
def doctor() -> None:
    """Say what was found on this machine, and what to install for what was not."""
    from kdsl.doctor import report  # start-up cost: it imports everything to look at it

    click.echo(report())


main.add_command(ahead.build)
main.add_command(ahead.stubs)
main.add_command(cache)


def _passes(name: str, kernel: Kernel[Any], signature: Mapping[str, Any]) -> bool:
    try:
        fits(kernel, signature)
        count = kernel.check(signature)
    except CompileError as error:
        click.echo(str(error), err=True)
        return False
    except Failure as error:
        error.show()
        return False
    note = f" (with {count} signatures)" if count > 1 else ""
    if not count:
        note = f" (syntax and names only: {said_by_signature(kernel.open_names(signature))})"
    click.echo(f"{name}: ok{note}")
    return True


def _no_file(name: str) -> str:
    file = name.partition("::")[0]
    if file != name and os.path.isfile(file):  # noqa: PTH113 (the same)
        return f"a program is run as a whole: kdsl run {file}"
    return "a folder, and no file" if os.path.isdir(name) else "no such file"  # noqa: PTH112 (the same)


def _colour() -> Callable[[str, str], str]:
    from kdsl.explorer.colour import coloured  # start-up cost: not for output that goes to a file

    return coloured


def _choose(device: str | None) -> None:
    if device is None:
        return
    try:
        set_device(device)
    except DeviceChoiceError as error:
        raise Failure(f"error: {error}") from None


def _described(error: CompileError | DeviceError, file: Path) -> str:
    """A kernel's error, below the line of the user's file that launched it."""
    if isinstance(error, CompileError):
        return str(error)
    place = _place(error, file)
    launched = f"{place}in the launch here:\n" if place else ""
    return f"{launched}error: {error}"


def _place(error: Exception, file: Path) -> str:
    """``file.py:7: `` for the last line of the user's file that the error passed through; empty if there is none."""
    import traceback  # start-up cost: only on failure

    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == file and f.lineno]
    return f"{file}:{lines[-1]}: " if lines else ""
