"""The devices that differential tests run on."""

from __future__ import annotations

import pytest

from kdsl.backend import Backend


@pytest.fixture(scope="session")
def emulator() -> Backend:
    from kdsl.emulator import Emulator

    return Emulator()


@pytest.fixture(scope="session")
def gpu() -> Backend:
    from kdsl.runtime.driver import CudaDriver

    found, reason = CudaDriver.available()
    if not found:
        pytest.skip(f"no GPU: {reason}")
    return CudaDriver(0)
