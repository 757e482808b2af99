"""What the commands share: loading a file's kernels, signatures and architectures, and failing with a plain message."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from kdsl.compiler import Kernel
from kdsl.files import FileError, kernels_of, load_file
from kdsl.signatures import Open
from kdsl.target import Target


class Failure(click.ClickException):
    """A message on stderr, plain: diagnostics are full of brackets and must not be wrapped or marked up."""

    def show(self, file: object = None) -> None:
        click.echo(self.message, err=True)


SIGNATURE = click.option(
    "--signature",
    "signature",
    multiple=True,
    metavar="NAME=VALUE",
    help="What a parameter or TypeVar is, such as T=f64, n=16, x=Ptr[f32] or f=function; may be repeated.",
)


def fits(kernel: Kernel[Any], signature: Mapping[str, Any]) -> None:
    """Failure for defaults and signatures that do not fit the parameters."""
    try:
        kernel.signatures(signature)
    except (TypeError, ValueError) as error:
        raise Failure(f"error: {error}") from None


def said_by_signature(lacking: list[Open]) -> str:
    """What the command line has to say of a kernel."""
    whys = ", ".join(one.why for one in lacking)
    return f"{whys}; say it: {' '.join(f'--signature {one.name}={shlex.quote(one.example)}' for one in lacking)}"


def signatures_of(
    kernels: dict[str, Kernel[Any]], texts: tuple[str, ...], names: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """For each kernel what the command line says of it; Failure for what is said of none."""
    from kdsl.explorer.signature_text import SignatureError, parsed  # start-up cost: only for those who say one

    if not texts:
        return {name: {} for name in kernels}
    try:
        said = parsed(texts, names)
    except SignatureError as error:
        raise Failure(f"error: {error}") from None
    taken = {name: {n for n, _ in k.parameters} | {o.name for o in k.open_names()} for name, k in kernels.items()}
    for name in said:
        if not any(name in own for own in taken.values()):
            raise Failure(f"error: no kernel has a parameter or TypeVar {name!r}: {', '.join(kernels)}")
    return {kernel: {n: v for n, v in said.items() if n in taken[kernel]} for kernel in kernels}


def load_kernels(where: str) -> tuple[dict[str, Kernel[Any]], Mapping[str, Any]]:
    """The kernels that FILE or FILE::KERNEL names, and the file's names; Failure says why there are none."""
    file, colons, wanted = where.partition("::")
    if colons and not wanted:
        raise Failure(f"error: {where} names no kernel: write {file}::KERNEL, or {file} for all")
    try:
        module = load_file(Path(file))
    except FileError as error:
        raise Failure(str(error)) from None
    kernels = kernels_of(module)
    if not kernels:
        raise Failure(f"{file}: there is no @kernel function in it")
    if wanted and wanted not in kernels:
        raise Failure(f"{file}: no kernel is called {wanted!r}; there are: {', '.join(kernels)}")
    return ({wanted: kernels[wanted]} if wanted else kernels), vars(module)


def parsed_target(arch: str) -> Target:
    try:
        return Target.parse(arch)
    except ValueError as error:
        raise Failure(f"error: {error}") from None
