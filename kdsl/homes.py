"""Where a launch runs: on the device where its arrays live."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kdsl.backend import Backend
from kdsl.current import DEVICES, current_backend
from kdsl.runtime.foreign_memory import sharing_of
from kdsl.runtime.placement import foreign_home_of, home_of


def home(arguments: Collection[Any]) -> Backend:
    """Where a launch with these arguments runs: where its arrays live, and on the current device without any."""
    found = home_of(arguments)
    if found is not None:
        return found
    current = current_backend()
    sharing = sharing_of(current)
    if sharing is not None and DEVICES.has_several_gpus:
        ordinal = foreign_home_of(arguments, sharing)
        if ordinal is not None and ordinal != sharing.ordinal:
            return DEVICES.named(f"cuda:{ordinal}")
    return current
