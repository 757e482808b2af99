"""Graphs over any device that records them: launches that are captured once, and then made together.

with stream.capture() as graph:
    step[blocks, threads](a, b, n)
run = graph.instantiate()
run.launch()
run.nodes[0].update(n=5)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from kdsl.backend import Backend, DeviceError, Dim3, device_name
from kdsl.captures import LEGACY, Capture, Pinned, StreamCaptureError, words
from kdsl.runtime.device import Device, device_of
from kdsl.runtime.errors import LaunchConfigValueError
from kdsl.runtime.graph_backend import GraphBackend
from kdsl.runtime.graph_instance import GraphInstance
from kdsl.runtime.graph_kernels import repacked
from kdsl.runtime.graph_nodes import GraphNode, dot, let_go
from kdsl.runtime.stream import Stream, stream_handle

if TYPE_CHECKING:
    from kdsl.runtime.prepared import PreparedLaunch


MOST_READY = 64
"""Streams in which an executable graph is ready to be launched."""

G = TypeVar("G", bound="Graph", covariant=True)


class Graph:
    """Work that is made together: what a capture recorded, or what `add_kernel` put together.

    It keeps alive what its nodes use: the kernels, and the memory of arrays.
    """

    def __init__(self, backend: Backend) -> None:
        if not isinstance(backend, GraphBackend):
            raise LaunchConfigValueError(f"the {backend.name} records no graphs")
        self._backend: Backend = backend
        self._device: GraphBackend = backend
        self._handle: Any = None
        self._kept: list[Any] = []
        self._nodes: tuple[GraphNode, ...] | None = None

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is of this process; capture it where it is launched")

    @property
    def device(self) -> Device:
        """Where it is launched."""
        return device_of(self.backend)

    def _take(self, handle: Any, kept: Iterable[Any]) -> None:
        """Be the graph of a handle."""
        self._handle = handle
        self._kept.extend(kept)
        # Read now: the launchers that they have are alive.
        self._nodes = self._read()

    def _read(self) -> tuple[GraphNode, ...]:
        found: dict[Any, GraphNode] = {}
        for recorded in self._device.graph_nodes(self._handle):
            launcher = self._device.launchers.get(id(recorded.function))
            found[recorded.handle] = GraphNode(recorded, launcher, [found[handle] for handle in recorded.depends])
        return tuple(found.values())

    @property
    def backend(self) -> Backend:
        return self._backend

    @property
    def nodes(self) -> tuple[GraphNode, ...]:
        """All nodes, each after those that it depends on; of a capture, in the order in which they were captured."""
        if self._nodes is None:
            self._nodes = self._read() if self._handle is not None else ()
        return self._nodes

    def add_kernel(self, launch: PreparedLaunch, depends: GraphNode | Iterable[GraphNode] = ()) -> GraphNode:
        """Add a launch, ``kernel.prepare(grid, block, ...)``, that waits for the nodes in ``depends`` alone."""
        from kdsl.runtime.prepared import PreparedLaunch  # it needs this

        if not isinstance(launch, PreparedLaunch):
            raise TypeError(f"add_kernel takes kernel.prepare(grid, block, ...), got {launch!r}")
        launcher = launch._launcher
        if launcher.backend is not self.backend:
            raise LaunchConfigValueError(
                f"the launch is prepared for {device_name(launcher.backend)}, and this graph is on "
                f"{device_name(self.backend)}: prepare it with arrays that are there"
            )
        launch._check_live()
        nodes = self._given_nodes(depends)
        config = launcher.checked_config(launch.config)
        if launch.config.empty:
            raise LaunchConfigValueError("a launch of no blocks is no node of a graph: leave it out")
        parameters = launch._packed
        if self._handle is None:
            self._handle = self._device.create_graph()
        handles = [node.recorded.handle for node in nodes]
        before = {node.recorded.handle for node in self.nodes}
        self._device.add_kernel_node(self._handle, launcher.function, config, parameters, handles)
        self._kept += [launch, Pinned(self._device, words(parameters))]
        known = {node.recorded.handle: node for node in self.nodes}
        fresh = next(n for n in self._device.graph_nodes(self._handle) if n.handle not in before)
        added = GraphNode(fresh, launcher, [known[handle] for handle in fresh.depends])
        self._nodes = (*self.nodes, added)
        return added

    def _given_nodes(self, depends: Any) -> tuple[GraphNode, ...]:
        given = (depends,) if isinstance(depends, GraphNode) else depends
        if not isinstance(given, Iterable) or not all(isinstance(node, GraphNode) for node in given):
            raise TypeError(f"depends takes nodes of this graph, a list of what add_kernel gives, got {depends!r}")
        if any(node not in self.nodes for node in given):
            raise ValueError(f"depends takes nodes of this graph, and {depends!r} is of another one")
        return tuple(given)

    def instantiate(self) -> GraphExecutable:
        """The graph as something to launch. What is added to the graph later is not in it."""
        if self._handle is None:
            raise StreamCaptureError("the graph is empty, or its capture has not ended or failed")
        return GraphExecutable(self)

    if not TYPE_CHECKING:

        @property
        def launch(self) -> NoReturn:
            raise AttributeError("a graph is launched by what it gives: run = graph.instantiate(), and run.launch()")

        replay = launch

        def __call__(self, *_: Any, **__: Any) -> NoReturn:
            raise TypeError("a graph is launched by what it gives: run = graph.instantiate(), and run.launch(stream)")

    def debug_dot(self, path: str | Path) -> None:
        """Write the nodes and what they wait for as a DOT file, which Graphviz draws."""
        Path(path).write_text(dot(self.nodes), encoding="utf-8")

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"<graph of {len(self)} nodes on {device_name(self.backend)}>"

    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "_handle", None) is not None and not is_exiting():
            let_go(self.backend, self._kept)
            self._device.destroy_graph(self._handle)


class ExecutableNode:
    """A node of an executable graph: what it launches can be changed between launches of the graph."""

    def __init__(self, instance: GraphInstance, index: int) -> None:
        self._instance = instance
        self._index = index

    @property
    def node(self) -> GraphNode:
        """What it launches now."""
        return self._instance.current[self._index]

    @property
    def kind(self) -> str:
        return self.node.kind

    @property
    def kernel(self) -> str | None:
        return self.node.kernel

    @property
    def grid(self) -> Dim3 | None:
        return self.node.grid

    @property
    def block(self) -> Dim3 | None:
        return self.node.block

    @property
    def arguments(self) -> dict[str, Any]:
        return self.node.arguments

    def update(self, configuration: Any = None, /, **arguments: Any) -> None:
        """Change arguments, by name, and the configuration, ``(grid, block)`` or a LaunchConfig, for the launches of
        the graph from now on. They are checked as those of a launch are; what is not named stays.
        """
        # What is not named stays as it is then: another thread may change it.
        with self._instance.lock:
            node = self.node
            if node.launcher is None:
                raise TypeError(f"a {self.kind} node of a graph has no arguments to change; only kernels of kdsl have")
            self._instance.change(self._index, *repacked(node.launcher, node.recorded, configuration, arguments))

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is of this process; capture its graph where it is launched")

    def __repr__(self) -> str:
        return repr(self.node)


class GraphExecutable:
    """A graph that can be launched again and again, each time with one call. Made by ``graph.instantiate()``."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._instance = GraphInstance(graph)
        # By the stream itself, which is kept: another one may get its handle.
        self._ready: dict[Stream | None, Callable[[], None]] = {}
        self._nodes = tuple(ExecutableNode(self._instance, index) for index in range(len(graph.nodes)))

    @property
    def graph(self) -> Graph:
        """What it was made of."""
        return self._graph

    @property
    def backend(self) -> Backend:
        return self._graph.backend

    @property
    def nodes(self) -> tuple[ExecutableNode, ...]:
        """In the order of the graph's."""
        return self._nodes

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is of this process; capture it where it is launched")

    @property
    def device(self) -> Device:
        """Where it is launched."""
        return device_of(self.backend)

    def launch(self, stream: Any = None) -> None:
        """Enqueue all of it in ``stream`` (the current stream if None), as one piece of work."""
        try:
            launch = self._ready[stream]
        except (KeyError, TypeError):
            launch = None  # the first time, or another library's stream that has no hash
        with self._instance.lock:
            (launch or self._prepare(stream))()

    def _prepare(self, stream: Any) -> Callable[[], None]:
        launch = self._instance.prepare(stream_handle(stream, self.backend))
        if isinstance(stream, Stream | None):
            if len(self._ready) >= MOST_READY:
                self._ready.clear()
            self._ready[stream] = launch
        return launch

    def replay(self, stream: Any = None) -> None:
        """The same as `launch`."""
        self.launch(stream)

    if not TYPE_CHECKING:

        def __call__(self, *_: Any, **__: Any) -> NoReturn:
            raise TypeError(
                "a graph is launched by run.launch(stream); run.nodes[0].update(...) changes what a kernel of it takes"
            )

    def update(self, graph: Graph) -> None:
        """Take over all kernels, arguments and configurations from a graph that has the same nodes with the same
        dependencies, such as a second capture of the same code. StreamCaptureError says what differs.
        """
        if not isinstance(graph, Graph):
            raise TypeError(f"update takes a Graph, got {graph!r}")
        if graph.backend is not self.backend:
            raise LaunchConfigValueError(
                f"the other graph is on {device_name(graph.backend)}, and this one on {device_name(self.backend)}; "
                "instantiate the other graph"
            )
        difference = _difference(self.graph.nodes, graph.nodes)
        if difference:
            raise StreamCaptureError(f"{difference}; instantiate the other graph")
        with self._instance.lock:
            self._instance.update(graph)

    def __repr__(self) -> str:
        return f"<executable graph of {len(self.nodes)} nodes on {device_name(self.backend)}>"


def _difference(mine: Sequence[GraphNode], others: Sequence[GraphNode]) -> str | None:
    """What tells the shapes of two graphs apart."""
    if len(mine) != len(others):
        return f"the other graph has {len(others)} nodes, this one {len(mine)}"
    for index, (node, other) in enumerate(zip(mine, others, strict=True)):
        if node.kind != other.kind:
            return f"node {index} is a {other.kind} node in the other graph, and a {node.kind} node in this one"
        if [mine.index(n) for n in node.depends] != [others.index(n) for n in other.depends]:
            return f"node {index} waits for other nodes in the other graph"
    return None


class Capturing(Generic[G]):
    """``with stream.capture() as graph:`` records what is put into the stream, in place of running it."""

    def __init__(self, stream: Stream, graph: G) -> None:
        self._stream = stream
        self._graph = graph
        self._device = graph._device
        self._capture: Capture | None = None

    def __enter__(self) -> G:
        if self._capture is not None:
            raise RuntimeError("a capture is entered once; call stream.capture() again")
        if self._stream.handle in LEGACY:
            raise StreamCaptureError(
                "the default stream cannot be captured; make a stream: with kdsl.Stream().capture() as graph: ..."
            )
        self._capture = self._device.begin_capture(self._stream.handle, self._stream.blocking)
        try:
            self._stream.__enter__()
        except BaseException:
            self._abandon()
            raise
        return self._graph

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        assert self._capture is not None
        try:
            handle = self._device.end_capture(self._capture)
        except StreamCaptureError:
            if error is None:
                raise
            return  # what went wrong inside is raised
        finally:
            self._stream.__exit__()
        if error is not None:
            self._device.destroy_graph(handle)
            return
        self._graph._take(handle, self._capture.kept)

    def _abandon(self) -> None:
        """End the capture, and keep nothing of it."""
        assert self._capture is not None
        with suppress(DeviceError, RuntimeError):
            self._device.destroy_graph(self._device.end_capture(self._capture))

    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        # Ctrl-C at the very beginning of `__exit__`: a stream that stayed captured would never work again.
        capture: Capture | None = getattr(self, "_capture", None)
        if capture is not None and capture in self._device.captures and not is_exiting():
            self._abandon()
            with suppress(RuntimeError):
                self._stream.__exit__()
