"""What a device that can record graphs adds to `kdsl.backend.Backend`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol, runtime_checkable
from weakref import WeakValueDictionary

from kdsl.backend import Backend, Launch
from kdsl.captures import Capture, Captures, RecordedNode


@runtime_checkable
class GraphBackend(Protocol):
    """Graphs. A graph and an executable are opaque handles of the device's own."""

    captures: Captures
    launchers: WeakValueDictionary[int, Any]
    """The launcher of each function, by the function's id: what checks and packs the arguments of a node."""

    def begin_capture(self, stream: int, blocking: bool) -> Capture:
        """Record what is put into a stream from now on, instead of running it."""
        ...

    def end_capture(self, capture: Capture) -> Any:
        """The graph of what was recorded; StreamCaptureError says why there is none."""
        ...

    def capture_of(self, stream: int) -> Capture | None:
        """The capture that records what is put into a stream; 0 is the current stream."""
        ...

    def write_unused(self, address: int, source: memoryview) -> None:
        """Write to memory that no work has used yet: at once, also inside of a capture."""
        ...

    def create_graph(self) -> Any: ...
    def destroy_graph(self, graph: Any) -> None: ...
    def graph_nodes(self, graph: Any) -> Sequence[RecordedNode]:
        """All nodes, each after those that it depends on."""
        ...

    def add_kernel_node(
        self, graph: Any, function: Any, launch: Launch, parameters: bytes, depends: Sequence[Any]
    ) -> None: ...
    def instantiate(self, graph: Any) -> Any:
        """Something to launch; the graph must live as long."""
        ...

    def destroy_executable(self, executable: Any) -> None: ...
    def update_executable(self, executable: Any, graph: Any) -> None:
        """Take over the nodes' parameters from a graph of the same shape."""
        ...

    def set_kernel_node(
        self, executable: Any, node: RecordedNode, function: Any, launch: Launch, parameters: bytes
    ) -> None:
        """Change what a node of the executable, known by its graph's node, launches from the next launch on."""
        ...

    def prepare_executable(
        self, executable: Any, stream: int, kernels: Sequence[tuple[str, Launch]]
    ) -> Callable[[], None]:
        """A function that enqueues all nodes in a stream; ``kernels``, which may change, are what a fault may be of."""
        ...

    def pin(self, address: int) -> int | None:
        """Keep the allocation that an address lies in, if it is this device's, until `unpin` is given the result."""
        ...

    def unpin(self, allocation: int) -> None: ...


def graphs_of(backend: Any) -> GraphBackend | None:
    """The backend, if it records graphs. Asked once: the Protocol has so many members that each look takes 30 us."""
    return _graphs_of(backend)


@cache
def _graphs_of(backend: Any) -> GraphBackend | None:
    return backend if isinstance(backend, GraphBackend) else None


def check_uncaptured(backend: Any, doing: str, instead: str) -> None:
    """StreamCaptureError for what uses the default stream, or waits, where a capture on the device forbids it."""
    graphs = graphs_of(backend)
    if graphs is not None:
        graphs.captures.check(doing, instead)


def introduce(backend: Backend, function: Any, launcher: Any) -> None:
    """Tell a device which launcher a function has."""
    if isinstance(backend, GraphBackend):
        backend.launchers[id(function)] = launcher
