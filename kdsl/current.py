"""The current device of this process: where kernels run and arrays are made. Settings of the environment are read
here.
"""

from __future__ import annotations

import operator
import os
from typing import Any

from kdsl.backend import Backend
from kdsl.devices import DeviceChoiceError, Devices, InvalidChoice
from kdsl.timeline import Timeline

DEVICES = Devices(synchronous=os.environ.get("KDSL_SYNC", "") not in ("", "0"))


def current_device() -> Backend:
    """The device that kernels run on. The first call starts it: what `set_device` or KDSL_DEVICE says, else a GPU,
    else the emulator. ValueError or RuntimeError, as from `set_device`, if KDSL_DEVICE or KDSL_STEP_LIMIT is wrong.
    """
    if DEVICES.selected is not None:
        return DEVICES.selected
    preference = os.environ.get("KDSL_DEVICE")
    limit = _step_limit()
    try:
        return DEVICES.current(preference, limit)
    except DeviceChoiceError as error:
        if not preference:
            raise
        raise type(error)(f"KDSL_DEVICE={preference}: {error}") from None


def set_device(device: str | int) -> None:
    """Run kernels from now on on ``"cuda"``, ``"cuda:N"`` (or the number N) or ``"emulator"``.

    Arrays stay on the device where they were made. ValueError for another name, RuntimeError if there is no such
    device.
    """
    is_number = hasattr(type(device), "__index__") and not isinstance(device, bool)
    DEVICES.select(f"cuda:{operator.index(device)}" if is_number else device, _step_limit())  # type: ignore[arg-type]


def _step_limit() -> int | None:
    """What KDSL_STEP_LIMIT says for the emulator; None where it is not set or empty."""
    said = os.environ.get("KDSL_STEP_LIMIT")
    if not said:
        return None
    if not said.isdecimal() or int(said) == 0:
        raise InvalidChoice(f"KDSL_STEP_LIMIT={said}: the emulator's step limit is a whole number of at least 1")
    return int(said)


def timeline() -> Timeline | None:
    """Where compilations are recorded, if `start_trace` was called."""
    return DEVICES.timeline


def start_trace(*, calls: bool) -> Timeline:
    """Record every stage of this process from now on; with ``calls`` also each call of the devices started after
    this.
    """
    return DEVICES.trace(calls=calls)


def remains(backend: Backend) -> tuple[dict[str, Any], str, Backend]:
    """Namespace, name and value of what is so while ``backend`` is the current device: for a launch's conditions."""
    return vars(DEVICES), "_current", backend
