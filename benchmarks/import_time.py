"""What importing kdsl costs a process that has imported NumPy."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from statistics import median

from benchmarks.isolated import ROOT, installed_environment, last_line
from benchmarks.report import Row

REPETITIONS = 11
# CPU time, so that a busy machine measures what an idle one does: an import waits for nothing but a warm page cache.
SCRIPT = """
import time
start = time.process_time()
import numpy
middle = time.process_time()
{statement}
print(middle - start, time.process_time() - middle)
"""


# `import kdsl` alone loads next to nothing: the names are loaded when they are first used. So the line that a kernel's
# file begins with is judged as well.
NAMES = "from kdsl import kernel, Ptr, f32, i32, block_idx, block_dim, thread_idx"


def rows() -> list[Row]:
    numpy_ms, kdsl_ms = import_ms("import kdsl")
    numpy_again_ms, names_ms = import_ms(NAMES)
    out = [
        Row("import kdsl, beyond import numpy", kdsl_ms, "ms", "import numpy", numpy_ms, budget=60),
        Row("from kdsl import kernel, Ptr, f32, ...", names_ms, "ms", "import numpy", numpy_again_ms, budget=60),
    ]
    if importlib.util.find_spec("numba"):
        numba_ms = import_ms("from numba import cuda")[1]
        out.append(Row("from kdsl import kernel, Ptr, f32, ...", names_ms, "ms", "from numba import cuda", numba_ms))
    return out


def import_ms(statement: str) -> tuple[float, float]:
    """Medians over fresh processes: NumPy, then the statement after it."""
    times = []
    command = [sys.executable, "-c", SCRIPT.format(statement=statement)]
    with tempfile.TemporaryDirectory() as bytecode:
        for _ in range(REPETITIONS + 1):
            environment = installed_environment(bytecode)
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(last_line(done.stderr))
            times.append([float(word) * 1e3 for word in done.stdout.split()])
    # The first process fills the page cache and writes the bytecode.
    numpy_ms, statement_ms = (median(column) for column in zip(*times[1:], strict=True))
    return numpy_ms, statement_ms
