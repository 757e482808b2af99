"""What a user's launch or compilation may raise: shown at their line, without a screen of our frames."""

from __future__ import annotations

from kdsl.backend import DeviceError
from kdsl.runtime.errors import ArgumentError, LaunchConfigError


def users_mistakes() -> tuple[type[Exception], ...]:
    """For an ``except``, which asks only when something was raised."""
    from kdsl.source import CompileError  # start-up cost: what a first launch imports before the driver is begun with

    return CompileError, ArgumentError, LaunchConfigError, DeviceError
