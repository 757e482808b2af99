"""The emulator as a device: memory, modules and launches, behind `kdsl.backend.Backend`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TextIO

import numpy as np

from kdsl.backend import DeviceError, DeviceLimits, Launch
from kdsl.emulator.code import Code
from kdsl.emulator.grid import GridLaunch
from kdsl.emulator.memory import Allocation, GlobalMemory
from kdsl.emulator.program import Program, load

SHARED_BYTES = {"75": 64, "80": 163, "86": 99, "87": 163, "89": 99, "90": 227, "100": 227, "103": 227, "110": 227}
"""Kilobytes of shared memory that a block can have, by architecture; 99 where it is not said (CUDA C++ Programming
Guide, technical specifications per compute capability)."""

STATIC_SHARED_BYTES = 48 * 1024

STEP_LIMIT = 1 << 24
"""Instructions that one batch of blocks may run, each counted once for each 4096 lanes (or fewer) that run it
together."""


@dataclass(frozen=True, slots=True)
class EmulatedFunction:
    """An entry of a loaded module."""

    program: Program
    code: Code

    @property
    def name(self) -> str:
        return self.code.name


class Emulator:
    """Runs PTX text on the host. Launches finish before they return, and raise what went wrong in them.

    ``target`` is the architecture that kernels are compiled for; ``stdout`` is where kernels print (None: wherever
    ``sys.stdout`` is when they do).
    """

    name = "emulator"
    description = "emulator of PTX in NumPy"

    def __init__(self, target: str = "sm_90", step_limit: int = STEP_LIMIT, stdout: TextIO | None = None) -> None:
        self.target = target
        self.step_limit = step_limit
        self.stdout = stdout
        self.memory = GlobalMemory()
        self.launches = 0

    @property
    def target(self) -> str:
        """The architecture that kernels are compiled for here; settable, since PTX runs here whatever its target is."""
        return self._target

    @target.setter
    def target(self, target: str) -> None:
        self._target = target
        kilobytes = SHARED_BYTES.get(target.removeprefix("sm_").rstrip("af"), 99)
        self.limits = DeviceLimits(shared_bytes=kilobytes * 1024)

    # Memory.

    def alloc(self, size: int) -> int:
        return self.memory.allocate(size, "the allocation").address

    def free(self, address: int) -> None:
        self.memory.free(address)

    def write(self, address: int, source: memoryview) -> None:
        self.memory.span(address, source.nbytes, "copy to the device")[:] = flat(source)

    def read(self, address: int, destination: memoryview) -> None:
        flat(destination)[:] = self.memory.span(address, destination.nbytes, "copy to the host")

    def copy(self, destination: int, source: int, size: int) -> None:
        self.memory.span(destination, size, "copy")[:] = self.memory.span(source, size, "copy")

    def fill(self, address: int, value: int, size: int) -> None:
        self.memory.span(address, size, "fill")[:] = value & 0xFF

    # Modules.

    def load(self, image: bytes) -> Program:
        if image[:4] == b"\x7fELF":
            raise DeviceError("the emulator runs PTX text, and this is a cubin")
        return load(bytes(image).rstrip(b"\0").decode("utf-8"), self.memory)

    def function(self, module: Program, name: str) -> EmulatedFunction:
        code = module.codes.get(name)
        if code is None or not code.entry:
            entries = sorted(c.name for c in module.codes.values() if c.entry)
            raise KeyError(f"the module has no kernel {name}; it has {', '.join(entries) or 'none'}")
        return EmulatedFunction(module, code)

    # Work.

    def launch(self, function: EmulatedFunction, launch: Launch, parameters: bytearray | bytes) -> None:
        self.check(function.code, launch)
        self.launches += 1
        grid = GridLaunch(
            self.memory, function.program, function.code, launch, bytes(parameters), self.step_limit, self.launches,
            self.print,
        )  # fmt: skip
        self.check_shared(grid)
        try:
            grid.run()
        finally:
            grid.close()

    def check_shared(self, grid: GridLaunch) -> None:
        name, dynamic = grid.code.name, grid.configuration.shared_bytes
        static = grid.shared_size - dynamic if grid.has_dynamic else grid.shared_size
        if static > STATIC_SHARED_BYTES:
            raise DeviceError(
                f"kernel {name} has {static} bytes of static shared memory, at most {STATIC_SHARED_BYTES} fit",
                kernel=name,
            )
        if static + dynamic > self.limits.shared_bytes:
            most = self.limits.shared_bytes
            raise DeviceError(
                f"kernel {name} has {static + dynamic} bytes of shared memory, {self.target} has {most}",
                kernel=name,
            )

    def print(self, text: str) -> None:
        (self.stdout or sys.stdout).write(text)

    def synchronize(self) -> None:
        """Nothing is ever in flight here."""

    def check(self, code: Code, launch: Launch) -> None:
        """DeviceError when the launch asks for more than a device has."""
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        for what, extents, most in (
            ("grid", launch.grid, self.limits.grid),
            ("block", launch.block, self.limits.block),
        ):
            if any(not 1 <= extent <= limit for extent, limit in zip(extents, most, strict=True)):
                raise DeviceError(
                    f"{what} {extents} of kernel {code.name} is outside of (1, 1, 1) to {most}", kernel=code.name
                )
        limit = min([self.limits.threads, *code.attributes.get("maxntid", ())[3:]])
        if threads > limit:
            raise DeviceError(
                f"block {launch.block} of kernel {code.name} has {threads} threads, at most {limit} fit",
                kernel=code.name,
            )
        if launch.cluster not in (None, (1, 1, 1)):
            raise DeviceError(
                f"cluster {launch.cluster} of kernel {code.name}: the emulator has no clusters", kernel=code.name
            )


def flat(view: memoryview) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """The bytes of a contiguous buffer."""
    return np.frombuffer(view.cast("B"), np.uint8) if view.nbytes else np.zeros(0, np.uint8)


__all__ = ["Allocation", "EmulatedFunction", "Emulator"]
