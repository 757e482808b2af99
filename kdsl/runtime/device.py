"""`Device`: the public face of a device, and which one a `with` block has made current."""

from __future__ import annotations

from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kdsl.backend import Backend, DeviceError, DeviceLimits, device_name

if TYPE_CHECKING:  # start-up cost: whoever decorates a function asks no device anything
    from kdsl.runtime.memory_pool import MemoryInfo

_Entered = tuple[Backend, Any]  # and the block around it
# Why a context variable? It belongs to one thread, and in it to one asyncio task, which a thread's local does not.
_ENTERED: ContextVar[_Entered | None] = ContextVar("kdsl_device", default=None)


class Device:
    """A GPU, or an emulated one: ``Device("cuda:1")``, ``Device(1)``, ``Device("emulator")``, ``Device("emulator:1")``.

    ``with Device(1):`` makes it current in the block, for this thread (and asyncio task) alone. Devices are equal if
    they are the same one; a pickled one is opened again, by its name, where it is unpickled. ValueError for another
    name, RuntimeError if there is no such device.
    """

    __slots__ = ("_backend",)
    _backend: Backend

    def __init__(self, device: str | int | Device) -> None:
        # Why by its name? What starts drivers and emulators is above them, and so above this.
        self._backend = import_module("kdsl.current").backend_of(device)

    @classmethod
    def current(cls) -> Device:
        """The device that is current: see `kdsl.current_device`."""
        device: Device = import_module("kdsl.current").current_device()
        return device

    @property
    def backend(self) -> Backend:
        """The driver or emulator behind it."""
        return self._backend

    @property
    def name(self) -> str:
        """``cuda`` or ``emulator``."""
        return self.backend.name

    @property
    def ordinal(self) -> int:
        """Its number, from 0, among those of its kind in this process (CUDA_VISIBLE_DEVICES may hide GPUs)."""
        return self.backend.ordinal

    @property
    def description(self) -> str:
        """The device in words, such as a GPU's name."""
        return self.backend.description

    @property
    def target(self) -> str:
        """The architecture that kernels are compiled for here, such as ``sm_90``."""
        return self.backend.target

    @property
    def limits(self) -> DeviceLimits:
        """What a launch may ask of it."""
        return self.backend.limits

    @property
    def state(self) -> str:
        """``not started``, ``ready``, ``lost`` since a `fault`, or ``forked``: not to be used in this process."""
        return self.backend.state

    @property
    def fault(self) -> DeviceError | None:
        """What ended the use of the device in this process, if something did."""
        return self.backend.fault

    def memory_info(self) -> MemoryInfo:
        """How much memory it has, and how much of it arrays here use."""
        from kdsl.runtime.memory_pool import memory_info

        return memory_info(self.backend)

    def synchronize(self) -> None:
        """Wait for all work on it, and raise what went wrong in it, a DeviceError."""
        self.backend.synchronize()

    def can_access_peer(self, other: Device) -> bool:
        """Whether kernels here could use the other device's arrays: always, if it is this one."""
        from kdsl.runtime.peers import are_peers

        _check_device(other)
        if other.backend is self.backend:
            return True
        return are_peers(self.backend, other.backend) and bool(self._peers.can_reach(other.backend))

    def enable_peer_access(self, other: Device) -> None:
        """Let kernels that run here take the other device's arrays too, from now on; the other way round is a call of
        its own. DeviceError if there is no path between the two, ValueError for devices of two kinds.
        """
        from kdsl.runtime.peers import are_peers

        _check_device(other)
        if other.backend is self.backend:
            return
        if not are_peers(self.backend, other.backend):
            raise ValueError(f"{self} and {other} share no memory; copy arrays with .to(device)")
        self._peers.reach(other.backend)

    @property
    def _peers(self) -> Any:
        """The driver or emulator, as what knows others."""
        return self.backend

    def __enter__(self) -> Device:
        _ENTERED.set((self.backend, _ENTERED.get()))
        return self

    def __exit__(self, *_: object) -> None:
        entered = _ENTERED.get()
        _ENTERED.set(entered[1] if entered else None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.backend is self.backend

    def __hash__(self) -> int:
        return hash(self.backend)

    def __reduce__(self) -> tuple[type[Device], tuple[str]]:
        return Device, (str(self),)

    def __str__(self) -> str:
        return device_name(self.backend)

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"


def device_of(backend: Backend) -> Device:
    """The face of a driver or emulator."""
    device = object.__new__(Device)
    device._backend = backend
    return device


def entered_device() -> Backend | None:
    """The device of the innermost ``with`` block that this thread (or asyncio task) is in."""
    entered = _ENTERED.get()
    return entered[0] if entered is not None else None


def _check_device(other: Any) -> None:
    if not isinstance(other, Device):
        fix = f"; write kdsl.Device({other!r})" if isinstance(other, str | int) and not isinstance(other, bool) else ""
        raise TypeError(f"a kdsl.Device is needed, got {other!r}{fix}")
