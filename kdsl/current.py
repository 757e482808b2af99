"""The current device of this process: where kernels run and arrays are made. Settings of the environment are read
here.
"""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING, Any

from kdsl.backend import Backend
from kdsl.device_choice import DeviceChoiceError, Devices, InvalidChoice
from kdsl.records import dataclass
from kdsl.runtime.device import Device, device_of, entered_device

if TYPE_CHECKING:  # start-up cost
    from threading import Event

    from kdsl.timeline import Timeline

DEVICES = Devices(synchronous=os.environ.get("KDSL_SYNC", "") not in ("", "0"))


def current_device() -> Device:
    """The device that kernels run on where their arguments do not say another: that of the `with` block around, else
    what `set_device` or KDSL_DEVICE says, else a GPU, else the emulator. The first call starts it.

    ValueError or RuntimeError, as from `set_device`, if KDSL_DEVICE or KDSL_STEP_LIMIT is wrong.
    """
    return device_of(current_backend())


def current_backend() -> Backend:
    """The driver or emulator that is current."""
    entered = entered_device()
    if entered is not None:
        return entered
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


def start_beside() -> Event | None:
    """Begin with starting a GPU, if a launch would come to that, and return at once: what launches need is imported
    meanwhile. Whoever begins gets an event: that the driver is initialized.
    """
    return DEVICES.start_beside(os.environ.get("KDSL_DEVICE")) if entered_device() is None else None


def set_device(device: str | int | Device) -> None:
    """Run kernels of this process from now on on ``"cuda"``, ``"cuda:N"`` (or the number N), ``"emulator"``,
    ``"emulator:N"``, or a Device.

    Arrays stay on the device where they were made. ValueError for another name, RuntimeError if there is no such
    device, and inside of a ``with`` block of a Device, which says what is current there.
    """
    entered = entered_device()
    if entered is not None:
        raise RuntimeError(f"set_device() inside of `with {device_of(entered)!r}:`, which says what is current there")
    if isinstance(device, Device):
        device = str(device)
    DEVICES.select(_name(device), _step_limit())


def backend_of(device: str | int | Device) -> Backend:
    """The driver or emulator of a device."""
    return device.backend if isinstance(device, Device) else DEVICES.named(_name(device), _step_limit())


def chosen(device: str | int | Device | None) -> Backend:
    """The driver or emulator of a device; of the current one, if it is None."""
    return current_backend() if device is None else backend_of(device)


def devices() -> list[Device]:
    """The devices of the current one's kind, by number: all GPUs that the driver finds; or the emulators that this
    process has used so far, which are as many as it names.
    """
    return [device_of(backend) for backend in DEVICES.like(current_backend(), _step_limit())]


def _name(device: Any) -> str:
    """The name of a device that may be given by a GPU's number."""
    is_number = hasattr(type(device), "__index__") and not isinstance(device, bool)
    return f"cuda:{operator.index(device)}" if is_number else device


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


@dataclass(frozen=True, slots=True)
class IsCurrent:
    """What a launch depends on that no argument says where to make: that ``value`` is the current device."""

    value: Backend
    name: str = "device"

    @property
    def namespace(self) -> IsCurrent:
        """Itself: see `get`."""
        return self

    def get(self, name: str) -> Backend | None:
        """The driver or emulator that is current; None before the first one is."""
        return entered_device() or DEVICES.selected
