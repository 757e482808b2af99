"""The examples that work in several processes: here with the emulator in each, on a machine with GPUs with those."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATHS = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
SMALL = {
    "29_dask": ["--n", "100003", "--parts", "7", "--blocks", "3"],
    "30_torch_distributed": ["--n", "37", "--steps", "6"],
}
ALONE = {"29_dask": ["--workers", "1"], "30_torch_distributed": ["--processes", "1"]}
NEEDS = {"29_dask": "distributed", "30_torch_distributed": "torch.distributed"}


def run(name: str, device: str, arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    if name == "30_torch_distributed" and device == "cuda":
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("this PyTorch has no CUDA")
    return subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments],
        env={**os.environ, "PYTHONPATH": PATHS, "KDSL_DEVICE": device, **environment},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_example_verifies(name: str, device: str) -> None:
    done = run(name, device, SMALL[name] if device == "emulator" else [])
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("verified") == 1 and "WRONG" not in done.stdout


@pytest.mark.parametrize("name", SMALL)
def test_example_notices_a_wrong_element(name: str, tmp_path: Path) -> None:
    """The same file with a reference that is off in one element."""
    text = (ROOT / "examples" / f"{name}.py").read_text()
    wrong = {
        "29_dask": ("    return counts\n\n\ndef main", "    counts[7] += 1\n    return counts\n\n\ndef main"),
        "30_torch_distributed": ("    return x\n\n\ndef work", "    x[-1] *= 1.001\n    return x\n\n\ndef work"),
    }[name]
    assert text.count(wrong[0]) == 1
    pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    path = tmp_path / f"{name}.py"
    path.write_text(text.replace(*wrong))
    done = subprocess.run(
        [sys.executable, str(path), *SMALL[name], *ALONE[name]],
        env={**os.environ, "PYTHONPATH": PATHS, "KDSL_DEVICE": "emulator"},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "verified" not in done.stdout and "WRONG" in done.stdout


@pytest.mark.parametrize("name", SMALL)
def test_example_says_what_it_needs(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{NEEDS[name].partition('.')[0]}.py").write_text("raise ImportError('not here')\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py")],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{PATHS}", "KDSL_DEVICE": "emulator"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "is not installed: pip install" in done.stdout


def test_processes_that_torchrun_starts() -> None:
    done = run(
        "30_torch_distributed", "emulator", SMALL["30_torch_distributed"],
        RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="0",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "1 processes on cpu: verified" in done.stdout
