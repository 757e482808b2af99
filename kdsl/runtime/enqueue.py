"""How a launch whose arguments are packed goes to a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from kdsl.backend import Backend, Launch
from kdsl.runtime.hooks import HOOKS
from kdsl.runtime.parameters import ParameterBuffer

Enqueue = Callable[[ParameterBuffer], None]


@runtime_checkable
class PreparingBackend(Protocol):
    """A backend that can bind a launch ahead of time, which makes each launch cheaper."""

    def prepare(self, function: Any, launch: Launch) -> Enqueue:
        """A function that enqueues ``function`` as ``launch`` says, with the parameters it is given."""
        ...


def enqueuing(backend: Backend, function: Any, launch: Launch) -> Enqueue:
    """A function that enqueues a packed buffer for ``function``, as ``launch`` says."""
    if isinstance(backend, PreparingBackend):
        return backend.prepare(function, launch)

    def enqueue(buffer: ParameterBuffer) -> None:
        HOOKS.check()
        backend.launch(function, launch, buffer)

    return enqueue


def nothing(_: ParameterBuffer) -> None:
    """Enqueue an empty launch."""
