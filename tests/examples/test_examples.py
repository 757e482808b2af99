"""Every example does what it prints: on the emulator at small sizes, on a GPU at its own."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from kdsl.files import load_file

FOLDER = Path(__file__).resolve().parents[2] / "examples"
# Sizes that no block size divides, so that guards and edges are part of it.
SMALL: dict[str, list[str]] = {
    "01_hello_constant": [],
    "02_vadd": ["--n", "1000"],
    "03_saxpy": ["--n", "3001", "--blocks", "3"],
    "04_reduction": ["--n", "5003", "--blocks", "5"],
    "05_matmul_tiled": ["--m", "37", "--n", "18", "--k", "21"],
    "06_transpose": ["--height", "70", "--width", "45"],
    "07_histogram": ["--n", "5003", "--blocks", "3"],
    "08_mandelbrot": ["--width", "75", "--limit", "40"],
    "09_black_scholes": ["--n", "1001", "--blocks", "2"],
    "10_stencil3d": ["--n", "21"],
    "11_scan": ["--n", "3001"],
    "12_radix_sort": ["--n", "3001"],
    "13_hash_map": ["--n", "1001"],
    "14_nbody": ["--n", "201"],
    "15_game_of_life": ["--height", "37", "--width", "45", "--steps", "9"],
    "16_spmv_csr": ["--rows", "75", "--columns", "91", "--longest", "70"],
    "17_convolution2d": ["--height", "37", "--width", "45"],
    "18_monte_carlo_pi": ["--pairs", "3001", "--blocks", "3"],
    "19_warp_aggregated_atomics": ["--n", "5003", "--blocks", "3"],
    "20_softmax": ["--rows", "37", "--columns", "75"],
    "21_particles": ["--n", "301", "--steps", "20"],
    "22_life_in_one_launch": ["--height", "37", "--width", "45", "--steps", "9", "--blocks", "5"],
    "23_cluster_ring": ["--n", "1201"],
    "24_layer_norm": ["--rows", "37", "--vectors", "41"],
    "25_fft": ["--rows", "3"],
    "26_contracts": ["--n", "5004"],
    "27_graphs": ["--height", "37", "--width", "45", "--pairs", "13"],
    "28_torch_op": ["--elements", "1001"],
}


NEEDS = {"28_torch_op": "torch"}
"""What an example needs beside kdsl."""


def load(name: str) -> ModuleType:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    return load_file(FOLDER / f"{name}.py")


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples that write files write them into the current folder."""
    monkeypatch.chdir(tmp_path)


def test_every_example_is_tested() -> None:
    files = {path.stem for path in FOLDER.glob("[0-9]*.py")}
    # Those that start processes are run as programs: see test_scaling_out.
    assert set(SMALL) == files - {"29_dask", "30_torch_distributed"}


@pytest.mark.parametrize("name", SMALL)
def test_example_verifies(name: str, device: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = SMALL[name] if device == "emulator" else []
    assert load(name).main(arguments) == 0
    assert "verified" in capsys.readouterr().out


def off_by_a_thousandth(result: Any) -> Any:
    """The same result with its last element wrong, by one where it is an integer."""
    if isinstance(result, tuple):
        return off_by_a_thousandth(result[0]), *result[1:]
    if isinstance(result, float):
        return result * 1.001
    wrong = np.array(result)
    wrong.flat[-1] += 1 if wrong.dtype.kind in "iu" else np.asarray(1e-3, wrong.dtype)
    return wrong


@pytest.mark.parametrize("name", SMALL)
def test_example_notices_a_wrong_element(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = load(name)
    reference = example.reference
    monkeypatch.setattr(example, "reference", lambda *arguments: off_by_a_thousandth(reference(*arguments)))
    assert example.main(SMALL[name]) == 1
    assert "verified" not in capsys.readouterr().out


def test_mandelbrot_writes_a_png(tmp_path: Path) -> None:
    assert load("08_mandelbrot").main(["--width", "48", "--limit", "30", str(tmp_path / "set.png")]) == 0
    data = (tmp_path / "set.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        length = int.from_bytes(data[at : at + 4])
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert zlib.crc32(name + body) == int.from_bytes(data[at + 8 + length : at + 12 + length])
        chunks[name] = body
        at += 12 + length
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", chunks[b"IHDR"]) == (48, 32, 8, 0, 0, 0, 0)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(32, 49)
    assert not rows[:, 0].any()
    assert rows[16, 1 + 32] == 0  # the origin is inside of the set, so black
    assert rows[0, 1] > 0  # the corner is outside
