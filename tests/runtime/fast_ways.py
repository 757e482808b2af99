"""What the tests of the fast ways for other libraries' arrays share: a launch, and the checked way as an error."""

from __future__ import annotations

from typing import Any

from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.launch import Launcher

from .fake_driver import function


class Slow(Exception):
    """The checked way was taken."""


def launcher(gpu: CudaDriver, *parameters: tuple[str, Any], config: Any = None, written: Any = None) -> Any:
    found = Launcher("vadd", parameters, gpu, function(gpu), written=written)
    return found.bind(config or LaunchConfig(1, 32))
