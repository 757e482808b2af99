"""What a user's launch or compilation may raise: shown at their line, without a screen of our frames."""

from __future__ import annotations

from kdsl.backend import DeviceError
from kdsl.runtime.errors import ArgumentError, LaunchConfigError
from kdsl.source import CompileError

USERS_MISTAKES = (CompileError, ArgumentError, LaunchConfigError, DeviceError)
