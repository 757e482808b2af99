"""NVIDIA's library of mathematical functions: where it is, and the few functions of it that a module calls.

The library is 400 KB of LLVM bitcode for every architecture at once. What a module gets is a slice: the functions that
it calls, what they call in turn, and the library's questions about the target answered.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from llvmlite import binding

from kdsl.target import Target

FILE = "libdevice.10.bc"
INSTALL = "pip install nvidia-nvvm, or set CUDA_HOME to a CUDA toolkit"
_REPAIR = "replace it (pip install --force-reinstall nvidia-nvvm), or remove it so that another is found"


def find(environment: Mapping[str, str] | None = None) -> Path | None:
    """The library's file: in NVIDIA's wheels, in a CUDA toolkit, or beside Triton; None if there is none."""
    # Why the process's own environment here? Like any tool's, the library's place is a fact of the machine; the checks
    # for single expressions would each have to be handed it from compilation.py, and only tests want another.
    variables = os.environ if environment is None else environment
    homes = tuple(variables[name] for name in ("CUDA_HOME", "CUDA_PATH") if variables.get(name))
    return _find(homes, variables.get("PATH", ""))


def link(module: binding.ModuleRef, target: Target, *, flush_subnormals: bool = False) -> None:
    """Link into ``module`` the libdevice functions that it declares, as internal ones. Without any it costs nothing.

    ``flush_subnormals`` picks the ``.ftz`` forms of f32 instructions. FileNotFoundError if there is no library, another
    OSError if its file is not one or lacks a function.
    """
    names = frozenset(f.name for f in module.functions if f.is_declaration and f.name.startswith("__nv_"))
    if not names:
        return
    path = find()
    if path is None:
        raise FileNotFoundError(f"{FILE} is needed for {', '.join(sorted(names))}: {INSTALL}")
    part = binding.parse_bitcode(_slice(path, names, target.sm, flush_subnormals))
    part.triple, part.data_layout = module.triple, module.data_layout
    module.link_in(part)
    for name in names:
        function = module.get_function(name)
        if function.is_declaration:
            raise OSError(f"{path} has no {name}: {_REPAIR}")
        function.linkage = "internal"


@lru_cache(maxsize=8)
def _find(homes: tuple[str, ...], path: str) -> Path | None:
    return next((place for place in _places(homes, path) if place.is_file()), None)


def _places(homes: tuple[str, ...], path: str) -> Iterator[Path]:
    # The wheel first, because it is what pip installed beside us: output then does not depend on the machine.
    for root in _package("nvidia"):
        yield from sorted(root.glob(f"*/nvvm/libdevice/{FILE}"), reverse=True)
    toolkits = [Path(home) for home in homes]
    if nvcc := shutil.which("nvcc", path=path):
        toolkits.append(Path(nvcc).resolve().parents[1])
    yield from (toolkit / "nvvm" / "libdevice" / FILE for toolkit in [*toolkits, Path("/usr/local/cuda")])
    yield from (root / "backends" / "nvidia" / "lib" / FILE for root in _package("triton"))


def _package(name: str) -> list[Path]:
    """The directories of a package, which is not imported."""
    spec = importlib.util.find_spec(name)
    return [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []


@lru_cache(maxsize=256)
def _slice(path: Path, names: frozenset[str], sm: int, flush_subnormals: bool) -> bytes:
    """Bitcode of the functions ``names`` and what they call, with ``__nvvm_reflect`` answered for one architecture."""
    library = _parse(path)
    for function in library.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
    # Before reflection is answered, so that it is answered in what is left only.
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    machine = binding.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu=f"sm_{sm}")
    passes.run(library, binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(0)))
    text = _answer(str(library), {"__CUDA_ARCH": sm * 10, "__CUDA_FTZ": int(flush_subnormals), "__CUDA_PREC_SQRT": 1})
    return bytes(binding.parse_assembly(text).as_bitcode())


def _parse(path: Path) -> binding.ModuleRef:
    try:
        return binding.parse_bitcode(path.read_bytes())
    except RuntimeError as error:
        raise OSError(f"{path} is not a libdevice that LLVM can read: {_REPAIR}\n{error}") from None


def _answer(text: str, answers: Mapping[str, int]) -> str:
    """Replace the calls of ``__nvvm_reflect`` by constants.

    Why not LLVM's own pass? It takes ``__CUDA_PREC_SQRT`` from a process-wide option only, and 0 without it would turn
    the square roots inside hypot, norm3d and others into approximate ones.
    """
    strings = dict(re.findall(r'^(@[\w.]+) = .*c"(__CUDA_\w+)\\00"', text, re.MULTILINE))
    return re.sub(
        r"(%[\w.]+) = (?:tail )?call i32 @__nvvm_reflect\(ptr (@[\w.]+)\).*",
        lambda call: f"{call[1]} = add i32 0, {answers[strings[call[2]]]}",
        text,
    )
