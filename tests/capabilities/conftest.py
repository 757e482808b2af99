"""``--record-capabilities FILE``: the test run itself writes down which rows passed, and on what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kdsl
from kdsl.runtime.driver import CudaDriver

OPTION = "--record-capabilities"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, metavar="FILE", help="write which rows of tests/capabilities passed, and on what device")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption(OPTION, default=None)
    # With xdist the workers' reports come to the process that started them, which alone writes.
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(path)))


class Recorder:
    """Collects the reports of rows' tests, and writes them when the session ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ran: dict[str, dict[str, bool]] = {}
        self.devices: dict[str, dict[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties: dict[str, Any] = dict(report.user_properties)
        if "capability" in properties and (report.when == "call" or report.failed):
            device = properties["device"]
            self.devices[device["name"]] = {k: v for k, v in device.items() if k != "name"}
            results = self.ran.setdefault(device["name"], {})
            results[properties["capability"]] = results.get(properties["capability"], True) and report.passed

    def pytest_sessionfinish(self) -> None:
        from .capability import rows
        from .record import merged, read, write

        write(merged(read(self.path), rows(), self.ran, self.devices), self.path)


def about(device: kdsl.Device) -> dict[str, str]:
    """What the record says of a device."""
    if device.name != "cuda":
        return {"name": "emulator", "kdsl": kdsl.__version__}
    return {
        "name": device.description,
        "kdsl": kdsl.__version__,
        "driver": CudaDriver.version(),
        "architecture": device.target,
    }


@pytest.fixture
def recorded(device: str, record_property: Any) -> Any:
    """Says which row a test is about, for the record."""

    def record(row: Any) -> None:
        record_property("capability", row.id)
        record_property("device", about(kdsl.current_device()))

    return record
