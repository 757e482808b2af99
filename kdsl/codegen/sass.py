"""NVIDIA's own tools: ptxas makes machine code of PTX and reports what it takes, nvdisasm writes it as text.

They come with a CUDA toolkit, or from PyPI (nvidia-cuda-nvcc, nvidia-cuda-nvdisasm). Nothing else needs them.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kdsl.ptx_lines import with_python_places
from kdsl.records import dataclass
from kdsl.target import Target

INSTALL: dict[str, str] = {
    "ptxas": "pip install nvidia-cuda-nvcc, or put a CUDA toolkit's bin directory on PATH",
    "nvdisasm": "pip install nvidia-cuda-nvdisasm, or put a CUDA toolkit's bin directory on PATH",
}


_CONSTANT = re.compile(
    r"^(?:\.\w+ )*\.const (?:\.align (?P<align>\d+) )?\.[a-z]+(?P<bits>\d+) [\w$]+(?:\[(?P<count>\d+)\])?", re.MULTILINE
)


class ToolMissing(FileNotFoundError):
    """One of NVIDIA's command line tools is wanted and not there; the message says what to install."""


class AssemblyError(RuntimeError):
    """ptxas refused the PTX, or nvdisasm the cubin; the message is the tool's own."""


@dataclass(frozen=True, slots=True)
class Resources:
    """ptxas's report on one kernel. Memory is in bytes; ``shared`` is static, ``stack`` is a thread's local memory,
    ``constant`` that with the parameters in it; ``constants`` are the module's own.
    """

    kernel: str
    registers: int
    barriers: int
    shared: int
    stack: int
    spill_stores: int
    spill_loads: int
    constant: int
    constants: int = 0


@dataclass(frozen=True, slots=True)
class Assembled:
    """Machine code for one architecture, and what each kernel in it takes."""

    cubin: bytes
    resources: tuple[Resources, ...]


def find_tool(name: str, environment: Mapping[str, str] | None = None) -> Path | None:
    """The program ``name``: on PATH, in a CUDA toolkit, or in NVIDIA's wheels; None if it is nowhere."""
    # Why the process's own environment here? PATH is where a command line tool is looked for, whoever runs it; only
    # tests want another.
    places = _directories(os.environ if environment is None else environment)
    candidates = (shutil.which(name, path=str(directory)) for directory in places)
    return next((Path(found) for found in candidates if found), None)


def assemble(ptx: str, target: Target, *, relocatable: bool = False) -> Assembled:
    """Machine code by ptxas, with Python's lines in it. Raises ToolMissing, or AssemblyError. ``relocatable``: to be
    linked.

    The error has ptxas's words, and before each the Python line that the PTX line was made from.
    """
    with tempfile.TemporaryDirectory(prefix="kdsl-") as directory:
        Path(directory, "kernel.ptx").write_text(ptx, encoding="ascii")
        arguments = [f"-arch={target.name}", "-lineinfo", "-v", "kernel.ptx", "-o", "kernel.cubin"]
        arguments += ["-c"] if relocatable else []
        try:
            report = _run("ptxas", arguments, directory)
        except AssemblyError as error:
            raise AssemblyError(with_python_places(str(error), ptx)) from None
        constants = constant_bytes(ptx)
        resources = tuple(replace(kernel, constants=constants) for kernel in parse_report(report))
        return Assembled(Path(directory, "kernel.cubin").read_bytes(), resources)


def disassemble(cubin: bytes) -> str:
    """The machine code as text, with the file and line that each instruction comes from."""
    with tempfile.TemporaryDirectory(prefix="kdsl-") as directory:
        Path(directory, "kernel.cubin").write_bytes(cubin)
        return _run("nvdisasm", ["-g", "-c", "kernel.cubin"], directory)


def parse_report(report: str) -> tuple[Resources, ...]:
    """What ``ptxas -v`` printed, kernel by kernel."""
    parts = re.split(r"Compiling entry function '([^']+)'", report)[1:]
    return tuple(_resources(name, text) for name, text in zip(parts[::2], parts[1::2], strict=True))


def constant_bytes(ptx: str) -> int:
    """The size of a module's constants, which ptxas does not report."""
    end = 0
    for found in _CONSTANT.finditer(ptx):
        size = int(found["bits"]) // 8
        align = int(found["align"] or size)
        end = -(-end // align) * align + size * int(found["count"] or 1)
    return end


def _resources(kernel: str, text: str) -> Resources:
    def number(pattern: str) -> int:
        return sum(int(found) for found in re.findall(pattern, text))

    return Resources(
        kernel,
        registers=number(r"Used (\d+) registers"),
        barriers=number(r"used (\d+) barriers"),
        shared=number(r"(\d+)(?:\+\d+)? bytes smem"),
        stack=number(r"(\d+) bytes stack frame"),
        spill_stores=number(r"(\d+) bytes spill stores"),
        spill_loads=number(r"(\d+) bytes spill loads"),
        constant=number(r"(\d+) bytes cmem\[\d+\]"),
    )


def _run(name: str, arguments: list[str], directory: str) -> str:
    """Run a tool on files of ``directory``; what it printed, on both streams."""
    tool = find_tool(name)
    if tool is None:
        raise ToolMissing(f"{name} was not found: {INSTALL[name]}")
    command = [str(tool.absolute()), *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr or done.stdout).strip()
        raise AssemblyError(f"{name} failed with status {done.returncode}:\n{words}")
    return done.stdout + done.stderr


def _directories(environment: Mapping[str, str]) -> Iterator[Path]:
    yield from (Path(entry) for entry in environment.get("PATH", "").split(os.pathsep) if entry)
    yield from (Path(environment[name], "bin") for name in ("CUDA_HOME", "CUDA_PATH") if environment.get(name))
    yield Path("/usr/local/cuda/bin")
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        yield from sorted(Path(root).glob("*/bin"), reverse=True)
