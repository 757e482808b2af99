"""`build`: kernels compiled for several architectures, with what programs without kdsl need to launch them."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kdsl.ahead.built import BuiltKernel, built
from kdsl.ahead.fatbin import Image, fatbin
from kdsl.ahead.header import header
from kdsl.ahead.loader import OWN_NAMES, loader
from kdsl.ahead.writing import write_files
from kdsl.compilation import Compilation
from kdsl.compiler import Kernel, compile_kernels
from kdsl.module import KernelModule
from kdsl.parameters import from_signature
from kdsl.records import dataclass
from kdsl.runtime.cuda_errors import LinkError
from kdsl.signatures import check_names
from kdsl.target import Target


@dataclass(frozen=True, slots=True)
class Build:
    """The files of one build, and for each architecture its stages."""

    files: tuple[Path, ...]
    compilations: Mapping[str, Compilation]


def build(
    kernels: Kernel[Any] | KernelModule | Sequence[Kernel[Any]],
    directory: str | os.PathLike[str],
    *,
    targets: Sequence[str | Target],
    name: str = "kernels",
    signatures: Mapping[str, Any] = MappingProxyType({}),
    source: str | None = None,
) -> Build:
    """Compile kernels for every architecture of ``targets``, and write into ``directory``: ``NAME.sm_90.ptx`` and
    ``NAME.sm_90.cubin`` for each, one ``NAME.fatbin`` of them all, ``NAME.py``, which launches it and needs cuda-python
    and NumPy alone, and the C header ``NAME.h``.

    Kernels that call functions of other compilers are linked with them; where these are no PTX, there is none of the
    kernels either.

    ``signatures`` says, by kernel, what `kdsl.compile` takes as ``signature``: constants are built in. ``source`` is
    what the files say they are made of. CompileError holds every mistake; ValueError for an unknown architecture or a
    name that Python cannot import, TypeError for a kernel that there is not or what no loader can pass, ToolMissing
    without ptxas or fatbinary, LinkError, OSError. All files are written, or none.
    """
    found = _kernels(kernels)
    parsed = _targets(targets)
    _check_names(name, found)
    check_names(signatures, [kernel.name for kernel in found])
    types = [from_signature(k.name, k.parameters, k.defaults, signatures.get(k.name)) for k in found]
    compilations = {target.name: compile_kernels(found, types, target, None, are_checked=False) for target in parsed}
    newest = compilations[parsed[-1].name]
    described = [
        built(kernel, types_, tree, tree.name in newest.cooperative)
        for kernel, types_, tree in zip(found, types, newest.tree.kernels, strict=True)
    ]
    contents = _contents(name, source or Path(found[0].function.__code__.co_filename).name, described, compilations)
    return Build(write_files(Path(directory), contents), compilations)


def _kernels(kernels: Any) -> list[Kernel[Any]]:
    if isinstance(kernels, KernelModule):
        return [*kernels.kernels]
    found = [*kernels] if isinstance(kernels, Iterable) else [kernels]
    other = next((kernel for kernel in found if not isinstance(kernel, Kernel)), None)
    if other is not None:
        raise TypeError(f"build() takes kernels, got {other!r}; decorate it with @kernel first")
    return found


def _targets(targets: Sequence[str | Target]) -> list[Target]:
    """The architectures, oldest first."""
    if isinstance(targets, str | Target) or not targets:
        raise ValueError("targets takes a list of at least one architecture, such as ['sm_80', 'sm_90']")
    parsed = [target if isinstance(target, Target) else Target.parse(target) for target in targets]
    twice = next((target for target in parsed if parsed.count(target) > 1), None)
    if twice is not None:
        raise ValueError(f"targets names {twice} twice; name each architecture once")
    return sorted(parsed, key=lambda target: (target.sm, target.suffix))


def _check_names(name: str, kernels: Sequence[Kernel[Any]]) -> None:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"name = {name!r} is no name that Python imports; use letters, digits and underscores")
    if not kernels:
        raise ValueError("build() takes at least one kernel")
    names = [kernel.name for kernel in kernels]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise ValueError(f"two kernels are called {twice!r}; rename one, or build them apart")
    taken = next((n for n in names if n in OWN_NAMES), None)
    if taken is not None:
        raise ValueError(f"a kernel is called {taken!r}, which is a name of the loader's own; rename it")


def _contents(
    name: str, source: str, kernels: Sequence[BuiltKernel], compilations: Mapping[str, Compilation]
) -> dict[str, bytes]:
    """Every file's name and bytes."""
    contents: dict[str, bytes] = {}
    images = []
    for target, compilation in compilations.items():
        try:
            ptx, cubin = compilation.linked_ptx, compilation.cubin
        except LinkError as error:
            error.args = (f"for {target}: {error}",)
            raise
        if ptx is not None:
            contents[f"{name}.{target}.ptx"] = ptx.encode()
        contents[f"{name}.{target}.cubin"] = cubin
        images.append(Image(Target.parse(target), cubin, is_ptx=False))
    # PTX of an architecture without a suffix runs on all later ones.
    forward = [Target.parse(target) for target in compilations if f"{name}.{target}.ptx" in contents]
    newest = next((target for target in reversed(forward) if not target.suffix), None)
    if newest is not None:
        images.append(Image(newest, contents[f"{name}.{newest}.ptx"], is_ptx=True))
    contents[f"{name}.fatbin"] = fatbin(images)
    contents[f"{name}.py"] = loader(source, f"{name}.fatbin", kernels).encode()
    contents[f"{name}.h"] = header(name, source, kernels).encode()
    return contents


def default_name(file: Path) -> str:
    """What a build of a file is called: ``02_vadd.py`` gives ``vadd_kernels``."""
    stem = re.sub(r"\W", "_", file.stem).lstrip("0123456789_") or "kernel"
    return f"{stem}_kernels"
