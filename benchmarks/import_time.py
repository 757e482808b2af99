"""What `import kdsl` costs a process that has imported NumPy."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from statistics import median

from benchmarks.isolated import ROOT
from benchmarks.report import Row

REPETITIONS = 11
SCRIPT = """
import time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import {module}
print(middle - start, time.perf_counter() - middle)
"""


def rows() -> list[Row]:
    numpy_ms, kdsl_ms = import_ms("kdsl")
    out = [Row("import kdsl, beyond import numpy", kdsl_ms, "ms", "import numpy", numpy_ms, budget=60)]
    if importlib.util.find_spec("numba"):
        out.append(Row("import kdsl, beyond import numpy", kdsl_ms, "ms", "import numba", import_ms("numba")[1]))
    return out


def import_ms(module: str) -> tuple[float, float]:
    """Medians over fresh processes: NumPy, then the module after it."""
    times = []
    for _ in range(REPETITIONS + 1):
        command = [sys.executable, "-c", SCRIPT.format(module=module)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        times.append([float(word) * 1e3 for word in done.stdout.split()])
    # The first process fills the page cache and may write .pyc files.
    numpy_ms, module_ms = (median(column) for column in zip(*times[1:], strict=True))
    return numpy_ms, module_ms
