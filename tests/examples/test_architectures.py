"""ptxas accepts every example for every architecture that both it and kdsl know."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import kdsl
from kdsl.codegen.sass import find_tool
from kdsl.files import kernels_of
from kdsl.target import KNOWN, Target
from tests.examples.test_examples import SMALL, load

FIRST = {"23_cluster_ring": "sm_90"}
"""The first architecture of an example that older ones cannot run."""


def known_to_ptxas(ptxas: Path) -> set[str]:
    """What ``--gpu-name`` takes."""
    text = subprocess.run([ptxas, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"'(sm_\d+[a-z]?)'", text))


@pytest.mark.parametrize("name", SMALL)
def test_ptxas_accepts_the_example(name: str, tmp_path: Path) -> None:
    ptxas = find_tool("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed: pip install 'kdsl[tools]'")
    architectures = [a for a in KNOWN if a in known_to_ptxas(ptxas)]
    assert {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"} <= set(architectures)
    kernels = list(kernels_of(load(name)).values())
    assert kernels
    path = tmp_path / "example.ptx"
    first = Target.parse(FIRST.get(name, "sm_75"))
    assert first.name in (load(name).__doc__ or "") or name not in FIRST
    for architecture in architectures:
        if Target.parse(architecture).sm < first.sm:
            with pytest.raises(kdsl.CompileError, match=f"{first} or newer; this is {architecture}"):
                kdsl.compile(kernels, target=architecture)
            continue
        ptx = kdsl.compile(kernels, target=architecture).ptx
        assert ".extern" not in ptx, architecture
        assert "debug" not in ptx, architecture
        path.write_text(ptx)
        command = [ptxas, f"-arch={architecture}", "--warn-on-spills", "-o", tmp_path / "out.cubin", path]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stdout + done.stderr) == (0, ""), architecture
