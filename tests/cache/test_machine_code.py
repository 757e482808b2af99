"""A GPU's machine code beside the PTX: kept when it was made, loaded by the next process, dropped where it does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

import kdsl
from kdsl import Ptr, f32, kernel, thread_idx
from kdsl.backend import DeviceError
from kdsl.cache import load_cached
from kdsl.compilation import Compilation


@kernel
def doubled(a: Ptr[f32]):
    a[thread_idx.x] = a[thread_idx.x] * 2.0


class Gpu:
    """A device that assembles."""

    def __init__(self, machine: str = "sm_90-13000-580.65.06", refuses: tuple[bytes, ...] = ()) -> None:
        self.machine = machine
        self.refuses = refuses
        self.did: list[str] = []

    def assemble(self, ptx: bytes) -> bytes | None:
        self.did.append("assemble")
        return None if b"assemble" in self.refuses else b"\x7fELF for " + self.machine.encode() + ptx[:10]

    def load(self, image: bytes) -> bytes:
        kind = "code" if image.startswith(b"\x7fELF") else "ptx"
        self.did.append(kind)
        if kind.encode() in self.refuses:
            raise DeviceError("no kernel image is available")
        return image


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KDSL_CACHE_DIR", str(tmp_path))
    return tmp_path


def compiled() -> Compilation:
    return kdsl.compile(doubled, target="sm_90")


def load(gpu: Gpu) -> list[str]:
    load_cached(gpu, compiled())  # type: ignore[arg-type]
    did, gpu.did = gpu.did, []
    return did


def test_machine_code_is_made_once(folder: Path) -> None:
    gpu = Gpu()
    assert load(gpu) == ["assemble", "code"]
    assert load(gpu) == ["code"]
    assert load(Gpu()) == ["code"]


@pytest.mark.parametrize("other", ["sm_100-13000-580.65.06", "sm_90-13010-580.65.06", "sm_90-13000-590.1"])
def test_another_gpu_or_driver_has_its_own(other: str, folder: Path) -> None:
    load(Gpu())
    assert load(Gpu(other)) == ["assemble", "code"]
    assert load(Gpu()) == ["code"]


def test_machine_code_that_does_not_fit_is_replaced(folder: Path) -> None:
    load(Gpu())
    picky = Gpu(refuses=(b"code", b"assemble"))
    assert load(picky) == ["code", "assemble", "ptx"]
    assert load(Gpu()) == ["assemble", "code"]


def test_ptx_is_loaded_where_the_driver_assembles_nothing(folder: Path) -> None:
    assert load(Gpu(refuses=(b"assemble",))) == ["assemble", "ptx"]


def test_damaged_machine_code_is_made_again(folder: Path) -> None:
    load(Gpu())
    (file,) = (folder / "files").glob("*.cubin")
    data = bytearray(file.read_bytes())
    data[5] ^= 4
    file.write_bytes(data)
    assert load(Gpu()) == ["assemble", "code"]
    assert load(Gpu()) == ["code"]


def test_nothing_is_kept_where_the_cache_is_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KDSL_CACHE", "0")
    assert load(Gpu()) == ["ptx"]
    assert not list(folder.iterdir())
