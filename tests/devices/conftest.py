"""Two devices for one test: two emulators, and two GPUs where there are two."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kdsl
from kdsl.runtime.driver import CudaDriver

Pair = tuple[kdsl.Device, kdsl.Device]


@pytest.fixture(params=["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def pair(request: pytest.FixtureRequest, on_the_emulator: None) -> Iterator[Pair]:
    """Two devices of one kind, the first of them current."""
    if request.param == "cuda" and CudaDriver.count() < 2:
        pytest.skip("needs two GPUs")
    kdsl.set_device(f"{request.param}:0")
    yield kdsl.Device(f"{request.param}:0"), kdsl.Device(f"{request.param}:1")
    kdsl.set_device("emulator")
