"""Where emitted PTX is run: on the emulator, and on a GPU where there is one."""

from __future__ import annotations

import pytest

from kdsl.backend import Backend
from kdsl.emulator import Emulator
from kdsl.runtime.driver import CudaDriver


@pytest.fixture(params=["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def backend(request: pytest.FixtureRequest) -> Backend:
    return Emulator() if request.param == "emulator" else CudaDriver()
