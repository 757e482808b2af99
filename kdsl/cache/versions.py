"""Which compiler this is: kdsl's own sources, LLVM, NumPy, Python. Nothing is imported to find out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kdsl.cache.digests import digest, digest_of
from kdsl.version import __version__


def compiler_version() -> list[Any]:
    """What differs between compilers that may make different PTX of the same kernel."""
    python = [sys.implementation.cache_tag, *sys.version_info[:2]]
    return [
        __version__,
        own_files(Path(__file__).parents[1]),
        python,
        np.__version__,
        _llvm(),
        package_files("ml_dtypes", ""),
    ]


def own_files(folder: Path) -> Any:
    """What tells the files of kdsl from those of another one of the same version."""
    record = folder.parent / f"kdsl-{__version__}.dist-info" / "RECORD"
    try:
        # Installed: it has a digest of each file, and is written anew with each installation.
        return [digest(record.read_bytes()), record.stat().st_mtime_ns]
    except OSError:
        return digest_of(sorted(_sources(str(folder), "")))


def _sources(folder: str, name: str) -> Iterator[list[Any]]:
    """Name, size and time of each source file: a kdsl that is being worked on has no versions."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                about = entry.stat()
                yield [f"{name}/{entry.name}", about.st_size, about.st_mtime_ns]
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _sources(entry.path, f"{name}/{entry.name}")


def _llvm() -> Any:
    """llvmlite's package and the library in it."""
    return [package_files("llvmlite", ""), package_files("llvmlite", "binding")]


def package_files(name: str, folder: str) -> Any:
    """The versions in a folder of an installed package, and its native libraries by name, size and time."""
    place = package(name)
    if place is None:
        return None
    found = []
    with os.scandir(Path(place, folder)) as entries:
        for entry in entries:
            if entry.name in ("_version.py", "__init__.py"):
                found.append([entry.name, digest(Path(entry.path).read_bytes()), 0])
            elif entry.name.endswith((".so", ".dll", ".dylib", ".pyd")):
                about = entry.stat()
                found.append([entry.name, about.st_size, about.st_mtime_ns])
    return sorted(found)


def package(name: str) -> str | None:
    """The folder of a package, which is not imported; None if there is none."""
    return next(iter(package_folders(name)), None)


def package_folders(name: str) -> list[str]:
    """All folders of a package: one of a namespace has many."""
    for finder in sys.meta_path:
        spec = finder.find_spec(name, None)
        if spec is not None:
            return list(spec.submodule_search_locations or ())
    return []


def linker_version(environment: Mapping[str, str]) -> list[Any]:
    """Every nvJitLink that there is, by name, size and time: loading the one that would link takes half a second."""
    found = set()
    for folder in _library_folders(environment):
        for path in folder.glob("*nvJitLink*"):
            about = path.stat()
            found.add((str(path), about.st_size, about.st_mtime_ns))
    return sorted(found)


def _library_folders(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where cuda-python looks for libraries (cuda.pathfinder's search order): wheels, Conda, the system, toolkits."""
    is_windows = os.name == "nt"
    # There libraries lie beside programs; elsewhere looking through those takes long.
    patterns = ("bin", "bin/*") if is_windows else ("lib", "lib64", "lib/*-linux-gnu", "targets/*/lib")
    for place in package_folders("nvidia"):
        for pattern in patterns:
            yield from Path(place).glob(f"*/{pattern}")
    yield from map(
        Path, filter(None, environment.get("PATH" if is_windows else "LD_LIBRARY_PATH", "").split(os.pathsep))
    )
    toolkits = [environment.get(name, "") for name in ("CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH")]
    for toolkit in filter(None, [*toolkits, "/usr/local/cuda", "/usr"]):
        for pattern in patterns:
            yield from Path(toolkit).glob(pattern)
