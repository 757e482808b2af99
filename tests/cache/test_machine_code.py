"""A GPU's machine code beside the PTX: made while the program goes on, loaded by the next, dropped where it does not fit."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import kdsl
from kdsl import Ptr, f32, kernel, thread_idx
from kdsl.backend import DeviceError
from kdsl.cache.machine_code import Assembler, architecture, assemble
from kdsl.cache.process import CACHE, load_cached
from kdsl.codegen.sass import find_tool
from kdsl.runtime.machine import Machine

HERE = Machine("sm_90", (13, 0), "580.65.06")
OTHERS = [
    Machine("sm_100", (13, 0), "580.65.06"),
    Machine("sm_90", (13, 1), "580.65.06"),
    Machine("sm_90", (13, 0), "590.1"),
]


@kernel
def doubled(a: Ptr[f32]):
    a[thread_idx.x] = a[thread_idx.x] * 2.0


class Gpu:
    """A device that loads."""

    def __init__(self, machine: Machine = HERE, refuses: tuple[str, ...] = ()) -> None:
        self.machine = machine
        self.refuses = refuses
        self.did: list[str] = []

    def load(self, image: bytes) -> bytes:
        kind = "code" if image.startswith(b"\x7fELF") else "ptx"
        self.did.append(kind)
        if kind in self.refuses:
            raise DeviceError("no kernel image is available")
        return image


def made(ptx: str, machine: Machine) -> bytes | None:
    """Stands in for ptxas."""
    return b"\x7fELF" + machine.name.encode() + ptx[-100:].encode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KDSL_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(CACHE, "assembler", Assembler(made, idle=0.01))
    return tmp_path


def load(gpu: Gpu) -> list[str]:
    load_cached(gpu, kdsl.compile(doubled, target="sm_90"))  # type: ignore[arg-type]
    CACHE.assembler.wait()
    did, gpu.did = gpu.did, []
    return did


def test_machine_code_is_there_the_next_time(folder: Path) -> None:
    gpu = Gpu()
    assert load(gpu) == ["ptx"]
    assert load(gpu) == ["code"]
    assert load(Gpu()) == ["code"]


@pytest.mark.parametrize("other", OTHERS, ids=lambda machine: machine.name)
def test_another_gpu_or_driver_has_its_own(other: Machine, folder: Path) -> None:
    load(Gpu())
    assert load(Gpu(other)) == ["ptx"]
    assert load(Gpu(other)) == ["code"]
    assert load(Gpu()) == ["code"]


def test_machine_code_that_does_not_fit_is_dropped(folder: Path) -> None:
    load(Gpu())
    assert load(Gpu(refuses=("code",))) == ["code", "ptx"]
    assert not list((folder / "files").glob("*.cubin"))


def test_an_error_is_that_of_the_ptx(folder: Path) -> None:
    load(Gpu())
    with pytest.raises(DeviceError, match="no kernel image"):
        load(Gpu(refuses=("code", "ptx")))


def test_ptx_alone_where_nothing_assembles_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CACHE, "assembler", Assembler(lambda *_: None, idle=0.01))
    assert load(Gpu()) == load(Gpu()) == ["ptx"]


def test_damaged_machine_code_is_made_again(folder: Path) -> None:
    load(Gpu())
    (file,) = (folder / "files").glob("*.cubin")
    data = bytearray(file.read_bytes())
    data[5] ^= 4
    file.write_bytes(data)
    assert load(Gpu()) == ["ptx"]
    assert load(Gpu()) == ["code"]


def test_nothing_is_kept_where_the_cache_is_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KDSL_CACHE", "0")
    assert load(Gpu()) == ["ptx"]
    assert not list(folder.iterdir())


def test_a_launch_does_not_wait(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: Any) -> None:
        time.sleep(0.5)

    monkeypatch.setattr(CACHE, "assembler", Assembler(slow, idle=0.01))
    compilation = kdsl.compile(doubled, target="sm_90")
    start = time.perf_counter()
    load_cached(Gpu(), compilation)  # type: ignore[arg-type]
    assert time.perf_counter() - start < 0.4
    CACHE.assembler.wait()


def test_ptxas_of_the_drivers_version() -> None:
    if find_tool("ptxas") is None:
        pytest.skip("needs ptxas")
    ptx = kdsl.compile(doubled, target="sm_80").ptx
    codes = {cuda: assemble(ptx, Machine("sm_90", cuda, "")) for cuda in [(13, 0), (12, 8), (99, 9)]}
    assert codes[99, 9] is None
    found = [code for code in codes.values() if code is not None]
    assert all(code.startswith(b"\x7fELF") and b"doubled" in code for code in found)
    assert assemble("no ptx", HERE) is None


def test_architecture() -> None:
    assert architecture(".version 7.8\n.target sm_80\n", HERE) == "sm_90"
    assert architecture(".version 8.0\n.target sm_90a\n", HERE) == "sm_90a"
