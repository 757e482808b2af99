"""Graphs on the current device. What captures one is `kdsl.Stream.capture`."""

from __future__ import annotations

from kdsl.current import current_backend
from kdsl.runtime import graph


class Graph(graph.Graph):
    """An empty graph on the current device, for `add_kernel`; ``with stream.capture() as graph:`` gives a full one."""

    def __init__(self) -> None:
        super().__init__(current_backend())
