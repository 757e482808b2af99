"""Where NVIDIA's library of mathematical functions is. What becomes of it is in `kdsl.codegen.libdevice`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

FILE = "libdevice.10.bc"


def find(environment: Mapping[str, str] | None = None) -> Path | None:
    """The library's file: in NVIDIA's wheels, in a CUDA toolkit, or beside Triton; None if there is none."""
    # Why the process's own environment here? Like any tool's, the library's place is a fact of the machine; the checks
    # for single expressions would each have to be handed it from compilation.py, and only tests want another.
    variables = os.environ if environment is None else environment
    homes = tuple(variables[name] for name in ("CUDA_HOME", "CUDA_PATH") if variables.get(name))
    return _find(homes, variables.get("PATH", ""))


@lru_cache(maxsize=8)
def _find(homes: tuple[str, ...], path: str) -> Path | None:
    return next((place for place in _places(homes, path) if place.is_file()), None)


def _places(homes: tuple[str, ...], path: str) -> Iterator[Path]:
    # The wheel first, because it is what pip installed beside us: output then does not depend on the machine.
    for root in _package("nvidia"):
        yield from sorted(root.glob(f"*/nvvm/libdevice/{FILE}"), reverse=True)
    import shutil  # start-up cost: most find it in the wheel

    toolkits = [Path(home) for home in homes]
    if nvcc := shutil.which("nvcc", path=path):
        toolkits.append(Path(nvcc).resolve().parents[1])
    yield from (toolkit / "nvvm" / "libdevice" / FILE for toolkit in [*toolkits, Path("/usr/local/cuda")])
    yield from (root / "backends" / "nvidia" / "lib" / FILE for root in _package("triton"))


def _package(name: str) -> list[Path]:
    """The directories of a package, which is not imported."""
    spec = importlib.util.find_spec(name)
    return [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
