"""What a launch may raise before anything is enqueued, and what says that there is no usable driver.

Faults of a running kernel are `kdsl.backend.DeviceError` and its kin.
"""

from __future__ import annotations


def written(value: object) -> str:
    """How a message shows a value. Python does not write out ints of thousands of digits."""
    try:
        return repr(value)
    except ValueError:
        bits = f" of {value.bit_length()} bits" if isinstance(value, int) else ""
        return f"<{type(value).__name__}{bits}>"


class ArgumentError(Exception):
    """An argument of a launch does not fit its parameter; nothing was copied and nothing was enqueued."""


class ArgumentTypeError(ArgumentError, TypeError):
    """The argument is of the wrong kind: not an array, another dtype, a float for an int."""


class ArgumentValueError(ArgumentError, ValueError):
    """The argument is of the right kind, but its value, layout or place does not fit."""


class ExtentError(ArgumentValueError):
    """An array's offsets do not fit the 32-bit extents of this variant of the kernel; the 64-bit variant takes it."""


class LaunchConfigError(Exception):
    """A grid, block, or another part of a launch's configuration is not possible."""


class LaunchConfigTypeError(LaunchConfigError, TypeError):
    """A part of the configuration is of the wrong kind, such as a float as grid."""


class LaunchConfigValueError(LaunchConfigError, ValueError):
    """A part of the configuration is out of range."""


class LaunchContractError(ArgumentError, LaunchConfigError, ValueError):
    """The arguments and the configuration of a launch break what the kernel requires of them; nothing was copied and
    nothing was enqueued.
    """


class DriverUnavailableError(RuntimeError):
    """There is no CUDA device to use here; the message says why and what to install."""


class ForkedProcessError(RuntimeError):
    """CUDA was used before a fork, and again in the child, which CUDA does not support."""
