"""NVIDIA's library of mathematical functions: the few functions of it that a module calls.

The library is 400 KB of LLVM bitcode for every architecture at once. What a module gets is a slice: the functions that
it calls, what they call in turn, and the library's questions about the target answered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from llvmlite import binding

from kdsl.libdevice import FILE as FILE
from kdsl.libdevice import find as find
from kdsl.target import Target

INSTALL = "pip install nvidia-nvvm, or set CUDA_HOME to a CUDA toolkit"
_REPAIR = "replace it (pip install --force-reinstall nvidia-nvvm), or remove it so that another is found"


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
