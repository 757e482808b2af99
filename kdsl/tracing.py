"""A device that records what it is asked to do: what ``--trace`` puts around the emulator."""

from __future__ import annotations

from typing import Any

from kdsl.backend import Backend, DeviceError, Launch
from kdsl.timeline import Timeline


class TracedBackend:
    """Passes every call on to ``backend`` and records its name and time. A GPU's driver records its own calls, in
    more detail.
    """

    def __init__(self, backend: Backend, timeline: Timeline) -> None:
        self._backend = backend
        self._timeline = timeline
        self.name = backend.name
        self.description = backend.description
        self.target = backend.target
        self.limits = backend.limits

    @property
    def state(self) -> str:
        return self._backend.state

    @property
    def fault(self) -> DeviceError | None:
        return self._backend.fault

    def start(self) -> None:
        self._backend.start()

    def alloc(self, size: int) -> int:
        with self._timeline.step("alloc", f"{size} bytes"):
            return self._backend.alloc(size)

    def free(self, address: int) -> None:
        with self._timeline.step("free"):
            self._backend.free(address)

    def write(self, address: int, source: memoryview) -> None:
        with self._timeline.step("write", f"{source.nbytes} bytes"):
            self._backend.write(address, source)

    def read(self, address: int, destination: memoryview) -> None:
        with self._timeline.step("read", f"{destination.nbytes} bytes"):
            self._backend.read(address, destination)

    def copy(self, destination: int, source: int, size: int) -> None:
        with self._timeline.step("copy", f"{size} bytes"):
            self._backend.copy(destination, source, size)

    def fill(self, address: int, value: int, size: int) -> None:
        with self._timeline.step("fill", f"{size} bytes"):
            self._backend.fill(address, value, size)

    def load(self, image: bytes) -> Any:
        with self._timeline.step("load", f"{len(image)} bytes"):
            return self._backend.load(image)

    def function(self, module: Any, name: str) -> Any:
        with self._timeline.step("function", name):
            return self._backend.function(module, name)

    def variable(self, module: Any, name: str) -> tuple[int, int]:
        with self._timeline.step("variable", name):
            return self._backend.variable(module, name)

    def variables(self, module: Any) -> tuple[str, ...]:
        return self._backend.variables(module)

    def launch(self, function: Any, launch: Launch, parameters: bytearray | bytes) -> None:
        with self._timeline.step("launch", f"{launch.grid} blocks of {launch.block} threads"):
            self._backend.launch(function, launch, parameters)

    def synchronize(self) -> None:
        with self._timeline.step("synchronize"):
            self._backend.synchronize()
