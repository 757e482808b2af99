"""A GPU's machine code of cached PTX: made beside the program by ptxas, where that is installed, for the next start.

Why not by the driver, which makes it anyway? It keeps it to itself; what its linker gives away is made as code to be
linked, with up to twice the registers. ptxas of the driver's own CUDA version makes what the driver does, so that a
warm start runs the code of a cold one. Without it the driver is given the PTX each time, and may remember it itself.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol, runtime_checkable

from kdsl.cache.compilations import CompilationCache
from kdsl.runtime.machine import Machine

IDLE = 1.0
"""Seconds after which a thread without work ends."""


@runtime_checkable
class MachineBackend(Protocol):
    """A device that loads machine code."""

    machine: Machine


Assemble = Callable[[str, Machine], bytes | None]


class Assembler:
    """Makes machine code in a thread of its own, one after the other: a program neither waits for it nor ends later."""

    def __init__(self, assemble: Assemble, idle: float = IDLE) -> None:
        self._assemble = assemble
        self._idle = idle
        self._work: SimpleQueue[tuple[CompilationCache, str, str, Machine]] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self, cache: CompilationCache, key: str, ptx: str, machine: Machine) -> None:
        """Make machine code of an entry's PTX and keep it, some time soon."""
        self._work.put((cache, key, ptx, machine))
        with self._lock:
            if self._thread is None or not self._thread.is_alive():  # also in the child of a fork
                self._thread = threading.Thread(target=self._run, name="kdsl: ptxas", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Until all is done."""
        while True:
            with self._lock:
                thread = self._thread
            if thread is None or not thread.is_alive():
                return
            thread.join()

    def _run(self) -> None:
        while True:
            try:
                cache, key, ptx, machine = self._work.get(timeout=self._idle)
            except Empty:
                with self._lock:
                    if self._work.empty():
                        self._thread = None
                        return
                continue
            try:
                code = self._assemble(ptx, machine)
            except OSError:  # no place for temporary files: the next start asks again
                continue
            if code is not None:
                cache.keep_machine_code(key, machine.name, code)


def assemble(ptx: str, machine: Machine) -> bytes | None:
    """What ptxas makes of it, optimised as by the driver; None where there is no ptxas of the driver's version."""
    # Start-up cost: nobody waits for these here.
    import subprocess
    import tempfile

    from kdsl.codegen.sass import find_tool

    ptxas = find_tool("ptxas")
    if ptxas is None or version_of(ptxas, subprocess) != machine.cuda:
        return None
    with tempfile.TemporaryDirectory(prefix="kdsl-") as folder:
        source, made = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="ascii")
        command = [str(ptxas), f"-arch={architecture(ptx, machine)}", str(source), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, cwd=folder)
        # What ptxas refuses, the driver is asked about.
        return made.read_bytes() if done.returncode == 0 else None


def architecture(ptx: str, machine: Machine) -> str:
    """The GPU's own; that of the PTX where this is for features that one architecture alone has."""
    found = re.search(r"^\.target\s+(sm_\d+a)\b", ptx, re.MULTILINE)
    return found[1] if found else machine.architecture


def version_of(ptxas: Path, subprocess: Any) -> tuple[int, int] | None:
    """The CUDA version of a ptxas; None if it does not tell."""
    try:
        said = subprocess.run([ptxas, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    except OSError:
        return None
    found = re.search(r"release (\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else None
