"""What an executable graph holds: the driver's handle, what each node launches now, and what that keeps alive."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kdsl.backend import Launch
from kdsl.captures import Pinned, RecordedNode, words
from kdsl.locks import Lock
from kdsl.runtime.graph_nodes import GraphNode, let_go

if TYPE_CHECKING:
    from kdsl.runtime.graph import Graph


class GraphInstance:
    """What an executable graph and its nodes share. It knows of neither, so that nothing waits for the collector."""

    def __init__(self, graph: Graph) -> None:
        self._handle: Any = None
        # The driver lets no two threads use an executable at once (CUDA driver API, graph object thread safety).
        self.lock = Lock()
        self.device = graph._device
        self.graph = graph
        self.current = list(graph.nodes)
        self.kept: dict[int, Any] = {}
        self.others: list[Any] = []
        # One list for good: what launches the graph reads it.
        self.kernels: list[tuple[str, Launch]] = []
        self._describe()
        self._handle = self.device.instantiate(graph._handle)

    def _describe(self) -> None:
        """Say what a fault may be of, each once."""
        launched = [(node.kernel, node.recorded.launch) for node in self.current]
        self.kernels[:] = dict.fromkeys((name, launch) for name, launch in launched if name and launch)

    def prepare(self, stream: int) -> Callable[[], None]:
        return self.device.prepare_executable(self._handle, stream, self.kernels)

    def change(self, index: int, launch: Launch, parameters: bytes, kept: Any) -> None:
        """Let a kernel's node launch something else."""
        node, old = self.graph.nodes[index], self.current[index].recorded
        pinned = Pinned(self.device, words(parameters))
        self.device.set_kernel_node(self._handle, node.recorded, old.function, launch, parameters)
        recorded = RecordedNode(old.handle, old.kind, old.depends, old.function, launch, parameters)
        self.current[index] = GraphNode(recorded, self.current[index].launcher, node.depends)
        # What was kept for the arguments before goes only now.
        before, self.kept[index] = self.kept.get(index, ()), (pinned, kept)
        let_go(self.graph.backend, before)
        if launch is not old.launch:
            self._describe()

    def update(self, graph: Graph) -> None:
        self.device.update_executable(self._handle, graph._handle)
        self.current = list(graph.nodes)
        before = [kept for pair in self.kept.values() for kept in pair]
        self.others, self.kept = [graph], {}
        let_go(self.graph.backend, before)
        self._describe()

    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "_handle", None) is not None and not is_exiting():
            let_go(self.graph.backend, [kept for pair in self.kept.values() for kept in pair])
            self.device.destroy_executable(self._handle)
