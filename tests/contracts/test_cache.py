"""The disk cache tells kernels apart by their contracts, captured numbers in these included."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import numpy as np, kdsl
from kdsl import Ptr, i32, kernel
kdsl.set_device("emulator")
TILE = int(sys.argv[1])

@kernel(requires="n % TILE == 0", block=TILE)
def rest(out: Ptr[i32], n: i32) -> None:
    out[0] = 10 * (n % 4) + kdsl.block_dim.x

out = np.zeros(1, np.int32)
rest[1, TILE](out, int(sys.argv[2]))
print(out[0])
"""


def test_captured_numbers_of_a_contract_are_part_of_the_key(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "KDSL_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}

    def run(tile: int, n: int) -> int:
        command = [sys.executable, str(program), str(tile), str(n)]
        return int(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)

    # With TILE = 4 the kernel is compiled to know that n % 4 is 0.
    assert [run(4, 8), run(2, 6), run(4, 8), run(2, 6)] == [4, 22, 4, 22]
    assert any((tmp_path / "cache").rglob("*"))
