"""The devices of a process: CUDA GPUs where the driver finds some, otherwise the emulator."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING

from kdsl.backend import Backend
from kdsl.locks import Lock

if TYPE_CHECKING:  # start-up cost
    from threading import Event

    from kdsl.timeline import Timeline


class DeviceChoiceError(Exception):
    """No device can be had as it was asked for; the message says why, and what can be asked for."""


class InvalidChoice(DeviceChoiceError, ValueError):
    """A device's name or setting is none that there is."""


class DeviceMissing(DeviceChoiceError, RuntimeError):
    """The device needs a driver or a GPU that is not here."""


class Devices:
    """The devices of this process, and which of them is current. Nothing is started before it is first needed."""

    def __init__(self, *, synchronous: bool = False) -> None:
        self._lock = Lock()
        self.synchronous = synchronous
        """Whether GPUs wait for every launch."""
        self._started: dict[str, Backend] = {}
        self._current: Backend | None = None
        self.timeline: Timeline | None = None
        self.trace_calls = False
        self._has_begun = False

    def trace(self, *, calls: bool) -> Timeline:
        """Record every compilation; with ``calls`` also what devices started from now on are asked to do."""
        from kdsl.timeline import Timeline  # start-up cost

        self.timeline = self.timeline or Timeline()
        self.trace_calls = calls
        return self.timeline

    @cached_property
    def has_several_gpus(self) -> bool:
        """Whether an array of another library may live on another GPU than the current one."""
        from kdsl.runtime.driver import CudaDriver  # start-up cost

        return CudaDriver.count() > 1

    @property
    def selected(self) -> Backend | None:
        """The current device if one has been started or chosen."""
        return self._current

    def current(self, preference: str | None, step_limit: int | None = None) -> Backend:
        """The current device. The first call chooses: ``preference``, else a GPU, else the emulator, said on stderr.

        ``step_limit`` is for an emulator that is started now; None is its own.
        """
        with self._lock:
            if self._current is None:
                self._current = self._start(preference, step_limit) if preference else self._find(step_limit)
            return self._current

    def start_beside(self, preference: str | None) -> Event | None:
        """Begin with starting the GPU that the first call of `current` would start; returns at once: an event, that the
        driver is initialized, or None where there is nothing to begin with.
        """
        kind, _, number = (preference or "cuda").partition(":")
        if self._has_begun or self._started or kind != "cuda" or not (number or "0").isdecimal():
            return None
        from kdsl.runtime.driver_start import begin  # start-up cost: importing kdsl makes no CUDA call

        self._has_begun = True
        return begin(int(number or 0))

    def select(self, name: str, step_limit: int | None = None) -> Backend:
        """Make ``cuda``, ``cuda:N``, ``emulator`` or ``emulator:N`` current."""
        with self._lock:
            self._current = self._start(name, step_limit)
            return self._current

    def named(self, name: str, step_limit: int | None = None) -> Backend:
        """The device of that name, which does not become current."""
        with self._lock:
            return self._start(name, step_limit)

    def like(self, device: Backend, step_limit: int | None = None) -> list[Backend]:
        """All devices of its kind, by number: the GPUs that the driver finds, or the emulators of this process."""
        with self._lock:
            if device.name == "cuda":
                from kdsl.runtime.driver import CudaDriver  # start-up cost

                return [self._start(f"cuda:{ordinal}", step_limit) for ordinal in range(CudaDriver.count())]
            return sorted((d for d in self._started.values() if d.name == device.name), key=lambda d: d.ordinal)

    def _find(self, step_limit: int | None) -> Backend:
        from kdsl.runtime.driver import CudaDriver  # start-up cost: importing kdsl makes no CUDA call

        found, reason = CudaDriver.available()
        if found:
            return self._start("cuda", step_limit)
        print(f"kdsl: no GPU ({reason}); kernels run on the PTX emulator", file=sys.stderr)
        return self._start("emulator", step_limit)

    def _start(self, name: str, step_limit: int | None) -> Backend:
        kind, colon, number = name.partition(":") if isinstance(name, str) else ("", "", "")
        if kind not in ("cuda", "emulator") or (colon and not (number.isascii() and number.isdecimal())):
            raise InvalidChoice(f"no device is called {name!r}; choose 'cuda', 'cuda:N', 'emulator' or 'emulator:N'")
        ordinal = int(number or 0)
        key = f"{kind}:{ordinal}"
        if key not in self._started:
            calls = self.timeline if self.trace_calls else None
            made = _cuda(ordinal, calls, self.synchronous) if kind == "cuda" else _emulator(ordinal, step_limit, calls)
            self._started[key] = made
        return self._started[key]


def _cuda(ordinal: int, timeline: Timeline | None, synchronous: bool = False) -> Backend:
    from kdsl.runtime.driver import CudaDriver  # start-up cost

    found, reason = CudaDriver.available()
    if not found:
        raise DeviceMissing(f"no CUDA device can be used: {reason}; choose 'emulator' to run without one")
    if ordinal >= CudaDriver.count():
        raise InvalidChoice(f"there is no 'cuda:{ordinal}' here; the driver finds {CudaDriver.count()} GPUs")
    return CudaDriver(ordinal, record=timeline.record if timeline else None, synchronous=synchronous)


def _emulator(ordinal: int, step_limit: int | None, timeline: Timeline | None) -> Backend:
    from kdsl.emulator import MOST_EMULATORS, STEP_LIMIT, Emulator  # start-up cost

    if ordinal >= MOST_EMULATORS:
        raise InvalidChoice(f"there is no 'emulator:{ordinal}'; emulators are numbered from 0 to {MOST_EMULATORS - 1}")
    emulator: Backend = Emulator(ordinal=ordinal, step_limit=STEP_LIMIT if step_limit is None else step_limit)
    if timeline:
        from kdsl.tracing import trace  # start-up cost

        trace(emulator, timeline)
    return emulator
