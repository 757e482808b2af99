"""Machine code that the driver makes of PTX, to be kept."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from kdsl.cache import AssemblingBackend
from kdsl.runtime.driver_assemble import release
from tests.runtime.fake_driver import CudaDriver, FakeDriver

PTX = b".version 7.8\n.target sm_90\n"


class Linking(FakeDriver):
    """With the driver's linker, which upper-cases."""

    def _cuLinkCreate(self, count: int, options: list[Any], values: list[Any]) -> Any:
        assert (count, options, values) == (0, [], [])
        self.linked = b""
        return (self.real.CUlinkState(7),)

    def _cuLinkAddData(self, state: Any, kind: Any, data: bytes, size: int, name: bytes, count: int, *more: Any) -> Any:
        assert (int(state), kind.name, size, count, more) == (7, "CU_JIT_INPUT_PTX", len(data), 0, ([], []))
        assert data.endswith(b"\n\0") and data.count(b"\0") == 1
        self.linked = data.rstrip(b"\0").upper()

    def _cuLinkComplete(self, state: Any) -> Any:
        self.buffer = ctypes.create_string_buffer(self.linked, len(self.linked))
        return (ctypes.addressof(self.buffer), len(self.linked))

    def _cuLinkDestroy(self, state: Any) -> Any:
        # What the state owned is gone.
        if hasattr(self, "buffer"):
            ctypes.memset(self.buffer, 0, len(self.buffer))


@pytest.fixture
def fake() -> Linking:
    return Linking(pytest.importorskip("cuda.bindings.driver"))


def test_machine_code_outlives_the_linker(fake: Linking) -> None:
    driver = CudaDriver(api=fake)
    assert isinstance(driver, AssemblingBackend)
    assert driver.assemble(PTX) == PTX.upper()
    links = [name for name in fake.called() if name.startswith("cuLink")]
    assert links == ["cuLinkCreate", "cuLinkAddData", "cuLinkComplete", "cuLinkDestroy"]


@pytest.mark.parametrize("name", ["cuLinkCreate", "cuLinkAddData", "cuLinkComplete"])
def test_none_where_the_driver_refuses(name: str, fake: Linking) -> None:
    driver = CudaDriver(api=fake)
    fake.codes[name] = [218]  # CUDA_ERROR_INVALID_PTX
    assert driver.assemble(PTX) is None
    assert ("cuLinkDestroy" in fake.called()) is (name != "cuLinkCreate")


def test_machine_names_gpu_and_driver(fake: Linking) -> None:
    assert CudaDriver(api=fake).machine.startswith("sm_90-13000-")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:04:02 UTC 2025\n", "580.65.06"),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release\nGCC version: 15.3.0",
            "580.159.04",
        ),
        ("something else\n", "unknown"),
    ],
)
def test_release_of_the_driver(text: str, found: str, tmp_path: Path) -> None:
    file = tmp_path / "version"
    file.write_text(text)
    assert release(str(file)) == found
    assert release(str(tmp_path / "none")) == "unknown"
