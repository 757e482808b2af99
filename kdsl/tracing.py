"""A device that records what it is asked to do: what ``--trace`` makes of the emulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kdsl.backend import Backend
from kdsl.timeline import Timeline

DETAILS: dict[str, Callable[..., str]] = {
    "alloc": lambda size, *_: f"{size} bytes",
    "free": lambda address, *_: "",
    "write": lambda address, source, *_: f"{source.nbytes} bytes",
    "read": lambda address, destination, *_: f"{destination.nbytes} bytes",
    "copy": lambda destination, source, size, *_: f"{size} bytes",
    "copy_strided": lambda to, to_strides, of, of_strides, shape, itemsize: f"{shape} elements of {itemsize} bytes",
    "fill": lambda address, value, size, *_: f"{size} bytes",
    "load": lambda image, *_: f"{len(image)} bytes",
    "function": lambda module, name, *_: name,
    "variable": lambda module, name, *_: name,
    "launch": lambda function, launch, *_: f"{launch.grid} blocks of {launch.block} threads",
    "synchronize": lambda *_: "",
}
"""By the name of a call, what the timeline says of its arguments."""


def trace(backend: Backend, timeline: Timeline) -> None:
    """Record name and time of the backend's calls from now on. A GPU's driver records its own, in more detail."""
    # Why not an object around the backend? It would have none of the abilities that only some backends have.
    for name, detail in DETAILS.items():
        setattr(backend, name, _timed(timeline, name, getattr(backend, name), detail))


def _timed(timeline: Timeline, name: str, call: Callable[..., Any], detail: Callable[..., str]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        with timeline.step(name, detail(*arguments)):
            return call(*arguments)

    return timed
