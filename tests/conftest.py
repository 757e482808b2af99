"""What all tests share: the emulator unless a test asks for a GPU, and GPU tests skipped, visibly, where there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kdsl
from kdsl.runtime.driver import CudaDriver


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    found, reason = CudaDriver.available()
    for item in items:
        if item.get_closest_marker("gpu") and not found:
            item.add_marker(pytest.mark.skip(reason=f"needs a GPU: {reason}"))


@pytest.fixture(autouse=True)
def on_the_emulator() -> None:
    """A test that does not say otherwise runs on the emulator, on a machine with a GPU too."""
    kdsl.set_device("emulator")


@pytest.fixture(params=["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, on_the_emulator: None) -> Iterator[str]:
    """The same test on the emulator and, where there is one, on a GPU."""
    kdsl.set_device(request.param)
    yield request.param
    kdsl.set_device("emulator")
