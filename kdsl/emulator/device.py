"""The emulator as a device: memory, modules and launches, behind `kdsl.backend.Backend`."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TextIO

import numpy as np

from kdsl.backend import DeviceError, Launch
from kdsl.captures import ALLOCATING, COPYING, WAITING
from kdsl.emulator.code import Code
from kdsl.emulator.grid import GridLaunch
from kdsl.emulator.host_memory import EmulatedHostMemory
from kdsl.emulator.limits import check_launch, check_regions, check_shared, limits_of
from kdsl.emulator.memory import WINDOW_BITS, Allocation, GlobalMemory
from kdsl.emulator.program import Program, load
from kdsl.locks import Lock
from kdsl.records import dataclass

UNWRITTEN = 0xFF
"""Every byte of fresh memory."""
STEP_LIMIT = 1 << 24
"""Instructions that one batch of blocks may run, each counted once for each 16384 lanes (or fewer) that run it
together: 10 to 20 seconds of a small kernel."""


@dataclass(frozen=True, slots=True)
class EmulatedFunction:
    """An entry of a loaded module."""

    program: Program
    code: Code

    @property
    def name(self) -> str:
        return self.code.name


class Emulator(EmulatedHostMemory):
    """Runs PTX text on the host. Launches finish before they return, and raise what went wrong in them.

    ``target`` is the architecture that kernels are compiled for; ``stdout`` is where kernels print (None: wherever
    ``sys.stdout`` is when they do). ``ordinal`` tells the emulators of a process apart, whose memories have different
    addresses. ``memory_limit``: bytes of its memory, by default as many as this machine has.
    """

    name = "emulator"
    description = "emulator of PTX in NumPy"
    state = "ready"
    fault: DeviceError | None = None
    """None: a fault ends its own launch only."""

    def __init__(
        self,
        target: str = "sm_90",
        step_limit: int = STEP_LIMIT,
        stdout: TextIO | None = None,
        ordinal: int = 0,
        memory_limit: int | None = None,
    ) -> None:
        super().__init__()
        self.ordinal = ordinal
        self.target = target
        self.step_limit = step_limit
        self.stdout = stdout
        self.memory = GlobalMemory(ordinal, memory_limit)
        self.launches = 0
        # One launch or copy at a time: as on a GPU, each sees the whole of what another thread's did, and an atomic is
        # one though it takes several calls of NumPy.
        self._busy = Lock()
        self._reached: tuple[Emulator, ...] = ()
        self._runs_in: int | None = None
        # As on a GPU, memory that is freed while a kernel runs is given back after it.
        self._unfreed: deque[int] = deque()

    @property
    def target(self) -> str:
        """The architecture that kernels are compiled for here; settable, since PTX runs here whatever its target is."""
        return self._target

    @target.setter
    def target(self, target: str) -> None:
        self._target = target
        self.limits = limits_of(target)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is of this process; pickle its kdsl.Device, which is opened by name")

    def start(self) -> None:
        """Nothing: the emulator is ready once it is made."""

    # Memory.

    def alloc(self, size: int) -> int:
        self.check("allocating memory", ALLOCATING)
        made = self.memory.allocate(size, "the allocation")
        # A GPU's fresh memory holds anything; NaNs and -1 show a kernel that reads what nobody has written.
        made.buffer.fill(UNWRITTEN)
        return made.address

    def free(self, address: int) -> None:
        if not self.pins.hold(address, lambda: self._give_back(address)):
            self._give_back(address)

    def _give_back(self, address: int) -> None:
        if self._runs_in in (None, threading.get_ident()):
            self.memory.free(address)
        else:
            self._unfreed.append(address)
            if self._runs_in is None:  # the kernel has ended meanwhile
                self._free_late()

    def _free_late(self) -> None:
        """Give back what was freed while a kernel ran."""
        while True:
            try:
                address = self._unfreed.popleft()
            except IndexError:  # another thread may take the last one
                return
            self.memory.free(address)

    def write(self, address: int, source: memoryview) -> None:
        self.check("a copy to the device", COPYING)
        self.write_unused(address, source)

    def write_unused(self, address: int, source: memoryview) -> None:
        with self._busy:
            self.memory.span(address, source.nbytes, "copy to the device")[:] = flat(source)

    def read(self, address: int, destination: memoryview) -> None:
        self.check("a copy to the host", WAITING)
        self.stream_state.raise_failures()
        with self._busy:
            flat(destination)[:] = self.memory.span(address, destination.nbytes, "copy to the host")

    def copy(self, destination: int, source: int, size: int) -> None:
        to, from_ = (self.memory.span(address, size, "copy") for address in (destination, source))

        def copy() -> None:
            to[:] = from_

        self._enqueue("copy", copy, (destination, source))

    def _enqueue(self, kind: str, call: Callable[[], None], addresses: Sequence[int]) -> None:
        """Do something with memory, or record it in a graph."""
        self.check_callback()

        def alone() -> None:
            with self._busy:
                call()

        if not self.captures or not self.record_call(kind, alone, addresses):
            alone()

    def copy_strided(
        self,
        destination: int,
        destination_strides: tuple[int, ...],
        source: int,
        source_strides: tuple[int, ...],
        shape: tuple[int, ...],
        itemsize: int,
    ) -> None:
        written = self.memory.strided(destination, destination_strides, shape, itemsize)
        read = self.memory.strided(source, source_strides, shape, itemsize)

        def copy() -> None:
            written[...] = read

        self._enqueue("copy", copy, (destination, source))

    def fill(self, address: int, value: int, size: int, width: int = 1) -> None:
        pattern = np.frombuffer(value.to_bytes(width, "little"), np.uint8)
        to = self.memory.span(address, size, "fill").reshape(-1, width)

        def fill() -> None:
            to[:] = pattern

        self._enqueue("fill", fill, (address,))

    # Memory that libraries on the host share with kernels.

    def host_memory(self, address: int, size: int) -> np.ndarray[tuple[int, ...], np.dtype[Any]]:
        return self.memory.span(address, size, "share")

    def adopt(self, memory: np.ndarray[tuple[int, ...], np.dtype[Any]]) -> int:
        return self.memory.adopt(memory, "the shared array").address

    # Other emulators.

    def can_reach(self, other: Emulator) -> bool:
        return True

    def reach(self, other: Emulator) -> None:
        if not self.reaches(other):
            self.memory.reach(other.memory)
            self._reached = (*self._reached, other)

    def reaches(self, other: Emulator) -> bool:
        return other in self._reached

    def copy_from_peer(self, destination: int, other: Emulator, source: int, size: int) -> None:
        for device in (self, other):
            device.check("a copy between devices", COPYING)

        def copy() -> None:
            self.memory.span(destination, size, "copy")[:] = other.memory.span(source, size, "copy")

        self._do_alone(copy, other)

    def wait_for_peer(self, stream: int, other: Emulator, other_stream: int) -> None:
        self.check_outside(stream, other.capture_of(other_stream) is not None)

    def wait_for_peer_event(self, stream: int, other: Emulator, event: int) -> None:
        self.check_outside(stream, event in other.captures.events)

    def _do_alone(self, call: Callable[[], None], *others: Emulator) -> None:
        """While no other launch or copy begins here, and on devices whose memory this one uses."""
        # In one order, so that no two wait for each other.
        held = sorted({self, *self._reached, *others}, key=lambda emulator: emulator.ordinal)
        _holding([emulator._busy for emulator in held], call)

    # Modules.

    def load(self, image: bytes) -> Program:
        binary = {b"\x7fELF": "a cubin", b"\x50\xed\x55\xba": "a fatbin"}.get(bytes(image[:4]))
        if binary:
            raise DeviceError(f"the emulator runs PTX text, and this is {binary}; load PTX, or use a GPU")
        return load(bytes(image).rstrip(b"\0").decode("utf-8", "replace"), self.memory)

    def function(self, module: Program, name: str) -> EmulatedFunction:
        code = module.codes.get(name)
        if code is None or not code.entry:
            raise KeyError(f"the module has no kernel {name!r}; it has {', '.join(self.kernels(module)) or 'none'}")
        return EmulatedFunction(module, code)

    def kernels(self, module: Program) -> tuple[str, ...]:
        return tuple(sorted(code.name for code in module.codes.values() if code.entry))

    def parameters(self, function: EmulatedFunction) -> tuple[tuple[int, int], ...]:
        places, offset = [], 0
        for parameter in function.code.parameters:
            offset = -(-offset // parameter.align) * parameter.align
            places.append((offset, parameter.size))
            offset += parameter.size
        return tuple(places)

    def unload(self, module: Program) -> None:
        for allocation in module.allocations:
            self.memory.free(allocation.address)

    def variable(self, module: Program, name: str) -> tuple[int, int]:
        for allocation in module.allocations:
            if allocation.name == name:
                return allocation.address, allocation.size
        there_are = ", ".join(self.variables(module)) or "none"
        raise KeyError(f"the module has no variable {name!r}; it has {there_are}")

    def variables(self, module: Program) -> tuple[str, ...]:
        return tuple(sorted(allocation.name for allocation in module.allocations))

    # Work.

    def launch(self, function: EmulatedFunction, launch: Launch, parameters: bytearray | bytes) -> None:
        self.check_callback()
        if self.captures and self.record_launch(function, launch, bytes(parameters)):
            return
        self.run_kernel(function, launch, bytes(parameters))

    def check_kernel(self, function: EmulatedFunction, launch: Launch) -> None:
        check_launch(function.code, launch, self.limits)

    def base_of(self, address: int) -> int | None:
        found = dict.get(self.memory.allocations, address >> WINDOW_BITS)
        return None if found is None else found.address

    def run_kernel(self, function: EmulatedFunction, launch: Launch, parameters: bytes) -> None:
        check_launch(function.code, launch, self.limits)
        self._do_alone(lambda: self._run(function, launch, parameters))

    def _run(self, function: EmulatedFunction, launch: Launch, parameters: bytes) -> None:
        self.launches += 1
        grid = GridLaunch(
            self.memory, function.program, function.code, launch, parameters, self.step_limit, self.launches,
            self.print,
        )  # fmt: skip
        self._runs_in = threading.get_ident()
        try:
            check_shared(grid, self.target, self.limits)
            check_regions(grid)
            grid.run()
        except DeviceError as error:
            checks = function.program.checks
            failure = checks.failure(function.name) if checks is not None else None
            raise failure or error from None
        finally:
            self._runs_in = None
            grid.close()
            self._free_late()

    def print(self, text: str) -> None:
        (self.stdout or sys.stdout).write(text)

    def synchronize(self) -> None:
        """Nothing is ever in flight here."""
        self.check("waiting for the device", WAITING)
        self.stream_state.raise_failures()


def _holding(locks: Sequence[Lock], call: Callable[[], None]) -> None:
    # Why not an ExitStack? Ctrl-C where its `__exit__` begins would leave them held.
    if not locks:
        call()
        return
    with locks[0]:
        _holding(locks[1:], call)


def flat(view: memoryview) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """The bytes of a contiguous buffer."""
    return np.frombuffer(view.cast("B"), np.uint8) if view.nbytes else np.zeros(0, np.uint8)


__all__ = ["Allocation", "EmulatedFunction", "Emulator"]
