"""Programs that tests run in processes of their own, with a cache of their own."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
VADD = """
import numpy as np
from kdsl import kernel, Ptr, f32, i32, block_idx, block_dim, thread_idx

@kernel
def vadd(a: Ptr[f32], b: Ptr[f32], c: Ptr[f32], n: i32):
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < n:
        c[i] = a[i] + b[i]

a = np.arange(1000, dtype=np.float32)
c = np.zeros_like(a)
vadd[4, 256](a, a, c, 1000)
assert (c == 2 * a).all()
"""


@dataclass(frozen=True)
class Outcome:
    """What a program printed, and how often the cache had, and had not, what was asked for: since it was made."""

    said: str
    hits: int
    misses: int


class Program:
    """A file and its cache."""

    def __init__(self, folder: Path, text: str, name: str = "program.py") -> None:
        self.file = folder / name
        self.cache = folder / "cache"
        self.write(text)

    def write(self, text: str) -> None:
        """Give the file another text."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start it, on the emulator."""
        return subprocess.Popen(
            [sys.executable, *arguments, str(self.file)],
            env=self.environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def environment(self, **more: str) -> dict[str, str]:
        paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        own = {"KDSL_CACHE_DIR": str(self.cache), "KDSL_DEVICE": "emulator", "PYTHONPATH": paths}
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {**inherited, **own, **more}

    def count(self, what: str) -> int:
        file = self.cache / "counts" / what
        return file.stat().st_size if file.exists() else 0

    def outcome(self, process: subprocess.Popen[str]) -> Outcome:
        """Wait for a program that must succeed."""
        said, complained = process.communicate(timeout=240)
        assert process.returncode == 0, complained
        return Outcome(said.strip(), self.count("hits"), self.count("misses"))


def run(program: Program, *arguments: str, **environment: str) -> Outcome:
    """Run a program, and say what came of it."""
    return program.outcome(program.start(*arguments, **environment))


class Sessions:
    """Programs that run one after the other in this process, each in a namespace of its own, as in new processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runs = 0

    def run(self, text: str, name: str = "program.py", run_name: str = "program") -> tuple[Any, int, int]:
        """What a program calls ``result``, and how many hits and misses there have been."""
        self._runs += 1
        file = self.folder / str(self._runs) / name
        file.parent.mkdir()
        file.write_text(text)
        result = runpy.run_path(str(file), run_name=run_name)["result"]
        return result, self.count("hits"), self.count("misses")

    def count(self, what: str) -> int:
        file = self.folder / "cache" / "counts" / what
        return file.stat().st_size if file.exists() else 0
