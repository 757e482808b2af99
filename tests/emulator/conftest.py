"""The devices that the engine's tests run on: the emulator and, where there is one, a GPU."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from kdsl.runtime.driver import CudaDriver
from tests.emulator.engine import Machine, Run

# A slow or busy machine is no mistake of a test.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(params=["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def run(request: pytest.FixtureRequest) -> Run:
    """Launches a kernel and gives back its arrays. What it computes has to be the same on both devices."""

    def launch(*arguments: Any, **options: Any) -> Any:
        return Machine(device=CudaDriver() if request.param == "cuda" else None).run(*arguments, **options)

    return launch
