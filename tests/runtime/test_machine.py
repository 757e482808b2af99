"""What machine code depends on."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdsl.cache.machine_code import MachineBackend
from kdsl.runtime.machine import driver_release
from tests.runtime.fake_driver import CudaDriver, FakeDriver


def test_the_gpu_and_its_driver() -> None:
    driver = CudaDriver(api=FakeDriver(pytest.importorskip("cuda.bindings.driver")))
    assert isinstance(driver, MachineBackend)
    assert (driver.machine.architecture, driver.machine.cuda) == ("sm_90", (13, 0))
    assert driver.machine.name.startswith("sm_90-13-0-")
    assert "." not in driver.machine.name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 07:04:02 UTC 2025\n", "580.65.06"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release\nGCC: 15.3.0", "580.159.04"),
        ("something else\n", "unknown"),
    ],
)
def test_release_of_the_driver(text: str, found: str, tmp_path: Path) -> None:
    file = tmp_path / "version"
    file.write_text(text)
    assert driver_release(str(file)) == found
    assert driver_release(str(tmp_path / "none")) == "unknown"
