"""Each measurement in a process of its own: a crash, or a GPU context that died, costs one row and not the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Outcome:
    """What a child printed last, as JSON; or why there is nothing."""

    value: Any = None
    error: str | None = None


def run(module: str, arguments: list[str], timeout: float = 120.0) -> Outcome:
    """Run ``python -m module arguments``, whose last line is JSON. What else it prints on stdout is dropped."""
    command = [sys.executable, "-m", module, *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return Outcome(error=f"no result after {timeout:.0f} s")
    if done.returncode != 0:
        return Outcome(error=last_line(done.stderr) or f"exit status {done.returncode}")
    return Outcome(json.loads(last_line(done.stdout)))


def installed_environment(bytecode: str, **more: str) -> dict[str, str]:
    """The environment of a child that finds its modules compiled in the folder ``bytecode``, as an installed package's
    are, whatever this process was told about .pyc files.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return environment | {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONPATH": os.pathsep.join(paths)} | more


def last_line(text: str) -> str:
    """The last line with something on it: of a traceback, the exception."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
