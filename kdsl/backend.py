"""What a place that runs kernels must offer: the CUDA driver and the emulator are the two implementations.

Memory is addressed by plain integers (device addresses), kernels take one packed parameter buffer, laid out as in
CUDA C. Nothing here knows of Python kernels, types or arrays.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Protocol, Self

from kdsl.records import dataclass

Dim3 = tuple[int, int, int]


HEAP_TYPE = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: a class that is written in Python."""


class DeviceError(RuntimeError):
    """A kernel failed while it ran (or could not be run); the message names kernel, place and cause.

    ``file``, ``line``, ``block`` and ``thread`` are None where the device cannot tell. ``code`` is the driver's number
    of an error of its own, a ``CUresult``; ``launches`` are those that a fault may be of: kernel and configuration.
    """

    code: int | None = None
    launches: tuple[tuple[str, Launch], ...] = ()

    def __new__(cls, *arguments: Any, **_: Any) -> Self:
        # Why? RuntimeError.__new__ makes no object of a class that is an OSError too, and some picklers call it.
        base: type = cls
        while base.__flags__ & HEAP_TYPE and base.__base__ is not None:
            base = base.__base__
        made: Self = base.__new__(cls, *arguments)
        return made

    def __init__(
        self,
        message: str,
        *,
        kernel: str | None = None,
        file: str | None = None,
        line: int | None = None,
        block: Dim3 | None = None,
        thread: Dim3 | None = None,
    ) -> None:
        super().__init__(message)
        self.kernel = kernel
        self.file = file
        self.line = line
        self.block = block
        self.thread = thread


class DeviceAssertionError(DeviceError, AssertionError):
    """An ``assert`` in a kernel failed."""


class CheckError(DeviceError):
    """A debug build's check failed: a division by zero, or a cast of a value that does not fit."""


class MemoryFault(DeviceError):
    """An access outside of every allocation, misaligned, to freed or read-only memory, or a read of what was never
    written. In a debug build also an index outside of its array.
    """


class IllegalAddressError(MemoryFault):
    """An access of memory that no allocation holds."""


class MisalignedAddressError(MemoryFault):
    """An access whose address is no multiple of its size."""


class HardwareStackError(DeviceError):
    """A kernel's stack overflowed, or was overwritten."""


class LaunchFailedError(DeviceError):
    """A kernel ended in a trap; on a GPU also by a fault that the driver does not tell more of."""


class SynchronizationError(DeviceError):
    """A divergent barrier, a deadlock, or a warp operation whose mask names a lane that will not come."""


class LaunchTimeout(DeviceError):
    """The emulator's step limit, or the watchdog of a GPU with a display, ended a launch that did not end by itself."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch's configuration, already checked and complete. ``shared_bytes`` is the dynamic shared memory of a
    block.
    """

    grid: Dim3
    block: Dim3
    shared_bytes: int = 0
    stream: int = 0
    cluster: Dim3 | None = None
    cooperative: bool = False
    programmatic_dependent_launch: bool = False
    """It may begin before the work ahead of it in its stream has ended."""


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """What a launch may ask of a device. ``threads`` is the largest block."""

    threads: int = 1024
    block: Dim3 = (1024, 1024, 64)
    grid: Dim3 = (2**31 - 1, 65535, 65535)
    shared_bytes: int = 48 * 1024
    extra: dict[str, int] = field(default_factory=dict)


class Backend(Protocol):
    """A device. Addresses are integers; a module and a function are opaque handles of the backend's own."""

    name: str
    """``cuda`` or ``emulator``."""

    ordinal: int
    """Its number among the devices of its kind."""

    description: str
    """The device in words, such as a GPU's name."""

    target: str
    """The architecture that kernels are compiled for here, such as ``sm_90``."""

    limits: DeviceLimits

    @property
    def state(self) -> str:
        """``not started``, ``ready``, ``lost`` since a `fault`, or ``forked``: not to be used in this process."""
        ...

    @property
    def fault(self) -> DeviceError | None:
        """What ended the use of the device in this process, if something did."""
        ...

    def start(self) -> None:
        """Begin with what the first call that needs the device would wait for, beside the caller; returns at once."""
        ...

    def alloc(self, size: int) -> int:
        """The address of ``size`` fresh bytes, aligned to at least 256; MemoryError if there is no room."""
        ...

    def free(self, address: int) -> None:
        """Give back what `alloc` returned; safe while work that uses it is in flight."""
        ...

    def write(self, address: int, source: memoryview) -> None:
        """Copy host bytes to the device; returns when ``source`` may be changed again."""
        ...

    def read(self, address: int, destination: memoryview) -> None:
        """Copy device bytes to the host, after all work enqueued before; returns when they are there."""
        ...

    def copy(self, destination: int, source: int, size: int) -> None:
        """Copy ``size`` bytes within the device."""
        ...

    def copy_strided(
        self,
        destination: int,
        destination_strides: tuple[int, ...],
        source: int,
        source_strides: tuple[int, ...],
        shape: tuple[int, ...],
        itemsize: int,
    ) -> None:
        """Copy an array of elements of ``itemsize`` bytes within the device; strides are in bytes, and a source's may
        be 0. Nothing of the source may be overwritten.
        """
        ...

    def fill(self, address: int, value: int, size: int, width: int = 1) -> None:
        """Set ``size`` bytes to ``value``, repeated: an unsigned int of ``width`` bytes, 1, 2 or 4, which divides the
        address and the size.
        """
        ...

    def load(self, image: bytes) -> Any:
        """Load PTX text (or, where the backend is a GPU, a cubin or fatbin) as a module; DeviceError says why not."""
        ...

    def function(self, module: Any, name: str) -> Any:
        """The entry ``name`` of a loaded module; KeyError lists the entries there are."""
        ...

    def kernels(self, module: Any) -> tuple[str, ...]:
        """The names of a loaded module's entries, sorted."""
        ...

    def parameters(self, function: Any) -> tuple[tuple[int, int], ...] | None:
        """Offset and size in bytes of each parameter of an entry; None where the device cannot tell."""
        ...

    def unload(self, module: Any) -> None:
        """Give back what a loaded module takes, after all work; its entries and variables are gone then."""
        ...

    def variable(self, module: Any, name: str) -> tuple[int, int]:
        """Address and size in bytes of a loaded module's variable in global or constant memory; KeyError lists those
        there are.
        """
        ...

    def variables(self, module: Any) -> tuple[str, ...]:
        """The names of the module's variables, sorted; empty where the image does not tell them."""
        ...

    def launch(self, function: Any, launch: Launch, parameters: bytearray | bytes) -> None:
        """Enqueue one launch; ``parameters`` holds the kernel's arguments at their CUDA C offsets and is read before
        the return.
        """
        ...

    def synchronize(self) -> None:
        """Wait for all work, and raise what went wrong in it."""
        ...


def device_name(backend: Backend) -> str:
    """``cuda:1``: what a user calls the device."""
    return f"{backend.name}:{backend.ordinal}"


def gibibytes(size: int) -> str:
    """A size as a person reads it."""
    return f"{size} bytes ({size / 2**30:.2f} GiB)" if size >= 2**20 else f"{size} bytes"
