"""Graphs of the emulator: work of a captured stream is checked and recorded, and a graph runs it in that order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any
from weakref import WeakValueDictionary

from kdsl.backend import Launch
from kdsl.captures import (
    AGAIN,
    CAPTURED_ELSEWHERE,
    COPYING,
    ENDED,
    NOT_JOINED,
    NOT_OUTSIDE,
    OUTSIDE,
    TWICE,
    Capture,
    Pinned,
    Pins,
    RecordedNode,
    StreamCaptureError,
    words,
)
from kdsl.emulator.streams import EmulatedStreams
from kdsl.locks import Lock
from kdsl.records import dataclass
from kdsl.stream_state import ANY_STREAM


@dataclass(slots=True, eq=False)
class Graph:
    """Nodes in the order in which they run."""

    nodes: list[RecordedNode] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Recording:
    """A graph that is being captured, and by stream the nodes that the next one there depends on."""

    capture: Capture
    graph: Graph
    tails: dict[int, tuple[Any, ...]]


@dataclass(slots=True, eq=False)
class Executable:
    """What its nodes run, by the handles of the graph's nodes."""

    nodes: dict[Any, RecordedNode]


class EmulatedGraphs(EmulatedStreams):
    """Graphs, and streams that are captured into them."""

    def __init__(self) -> None:
        super().__init__()
        self.launchers: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self.pins = Pins()
        self._node_handles = itertools.count(1)
        self._recordings: tuple[Recording, ...] = ()
        """Replaced and never changed: of a list, who looks through it misses one where another thread removes one."""
        self._recording_changes = Lock()

    # What the device itself does.

    def check_kernel(self, function: Any, launch: Launch) -> None:
        """DeviceError for what cannot be launched."""
        raise NotImplementedError

    def run_kernel(self, function: Any, launch: Launch, parameters: bytes) -> None:
        raise NotImplementedError

    def base_of(self, address: int) -> int | None:
        """Where the allocation that an address lies in begins."""
        raise NotImplementedError

    def check(self, doing: str, instead: str) -> None:
        """Refuse what a GPU would refuse in a callback or in a capture."""
        self.check_callback()
        self.captures.check(doing, instead)

    # Captures.

    def begin_capture(self, stream: int, blocking: bool) -> Capture:
        self._check_stream(stream)
        if self._recording(stream) is not None:
            raise StreamCaptureError(TWICE)
        try:
            capture = self.captures.begin(stream, blocking)
            with self._recording_changes:
                self._recordings = (*self._recordings, Recording(capture, Graph(), {stream: ()}))
        except BaseException:
            # Ctrl-C: nobody would end it.
            begun = self.captures.find(stream)
            if begun is not None:
                self._finish(begun)
            raise
        return capture

    def _finish(self, capture: Capture) -> Recording | None:
        recording = next((found for found in self._recordings if found.capture is capture), None)
        if recording is not None:
            with self._recording_changes:
                self._recordings = tuple(found for found in self._recordings if found is not recording)
        self.captures.end(capture)
        return recording

    def end_capture(self, capture: Capture) -> Graph:
        recording = self._finish(capture)
        if recording is None:
            raise StreamCaptureError("the end of the capture was interrupted, and nothing was captured")
        nodes = recording.graph.nodes
        inner = {handle for node in nodes for handle in node.depends}
        ends = {node.handle for node in nodes} - inner
        if not ends <= set(recording.tails[capture.stream]):
            raise StreamCaptureError(NOT_JOINED)
        return recording.graph

    def capture_of(self, stream: int) -> Capture | None:
        recording = self._recording(stream or self._current())
        return None if recording is None else recording.capture

    def _current(self) -> int:
        current = self.stream_state.current
        return 0 if current is None else int(current._handle)

    def _recording(self, stream: int) -> Recording | None:
        return next((found for found in self._recordings if stream in found.tails), None)

    def _record(self, recording: Recording, stream: int, node: RecordedNode) -> None:
        recording.graph.nodes.append(node)
        recording.tails[stream] = (node.handle,)

    def record_launch(self, function: Any, launch: Launch, parameters: bytes) -> bool:
        """Record a launch if its stream is being captured; False if it is to be run now."""
        stream = launch.stream or self._current()
        recording = self._recording(stream)
        if recording is None:
            self.captures.check_default("a launch", stream)
            return False
        self.check_kernel(function, launch)
        depends = recording.tails[stream]
        node = RecordedNode(next(self._node_handles), "kernel", depends, function, launch, parameters)
        recording.capture.kept.append(Pinned(self, words(parameters)))
        self._record(recording, stream, node)
        return True

    def record_call(self, kind: str, call: Callable[[], object], addresses: Sequence[int]) -> bool:
        """Record a copy or fill if the current stream is being captured; False if it is to be done now."""
        return self.record_in(self._current(), kind, call, addresses)

    def record_in(
        self, stream: int, kind: str, call: Callable[[], object], addresses: Sequence[int], owner: Any = None
    ) -> bool:
        """Record a copy or fill if a stream is being captured; False if it is to be done now. ``owner`` is kept."""
        recording = self._recording(stream)
        if recording is None:
            self.captures.check_default(f"a {kind}", stream, COPYING)
            return False
        recording.capture.kept += [Pinned(self, addresses), owner]
        self._record(recording, stream, RecordedNode(next(self._node_handles), kind, recording.tails[stream], call))
        return True

    def call_host(self, stream: int, function: Callable[[], object]) -> None:
        recording = self._recording(stream or self._current())
        if recording is None:
            super().call_host(stream, function)
            return
        self.check_callback()
        node = RecordedNode(next(self._node_handles), "host", recording.tails[stream], function)
        self._record(recording, stream, node)

    # Events in captures.

    def record_event(self, event: int, stream: int) -> None:
        recording = self._recording(stream or self._current())
        if recording is None:
            super().record_event(event, stream)
            self.captures.events.pop(event, None)
        else:
            self.captures.events[event] = (recording, recording.tails[stream or self._current()])

    def wait_event(self, event: int, stream: int) -> None:
        self._check_stream(stream)
        captured = self.captures.events.get(event)
        recording = self._recording(stream)
        if captured is None:
            if recording is not None:
                raise StreamCaptureError(OUTSIDE)
            return
        self._join(stream, *captured)

    def _join(self, stream: int, recording: Recording, tails: tuple[Any, ...]) -> None:
        """Let a stream, which is then captured too, come after these nodes."""
        if recording not in self._recordings:
            raise StreamCaptureError(ENDED)
        self.captures.check_default("a wait", stream)
        mine = self._recording(stream)
        if mine is not None and mine is not recording:
            raise StreamCaptureError(f"a stream of another capture: {NOT_OUTSIDE}")
        recording.tails[stream] = tuple(dict.fromkeys((*recording.tails.get(stream, ()), *tails)))

    def order(self, first: int, then: int) -> None:
        super().order(first, then)
        before, after = self._recording(first), self._recording(then)
        if before is not None:
            self._join(then, before, before.tails[first])
        elif after is not None:
            raise StreamCaptureError(OUTSIDE)

    def check_outside(self, stream: int, is_captured_there: bool) -> None:
        """Refuse a wait for another device, where nothing is ever in flight, if either side is captured."""
        self._check_stream(stream)
        if is_captured_there:
            raise StreamCaptureError(CAPTURED_ELSEWHERE)
        if self.capture_of(stream) is not None:
            raise StreamCaptureError(OUTSIDE)

    # Graphs.

    def create_graph(self) -> Graph:
        return Graph()

    def destroy_graph(self, graph: Graph) -> None:
        graph.nodes.clear()

    def graph_nodes(self, graph: Graph) -> Sequence[RecordedNode]:
        return list(graph.nodes)

    def add_kernel_node(
        self, graph: Graph, function: Any, launch: Launch, parameters: bytes, depends: Sequence[Any]
    ) -> None:
        self.check_kernel(function, launch)
        handle = next(self._node_handles)
        graph.nodes.append(RecordedNode(handle, "kernel", tuple(depends), function, launch, parameters))

    def instantiate(self, graph: Graph) -> Executable:
        self.check_callback()
        return Executable({node.handle: node for node in graph.nodes})

    def destroy_executable(self, executable: Executable) -> None:
        executable.nodes.clear()

    def update_executable(self, executable: Executable, graph: Graph) -> None:
        executable.nodes = dict(zip(executable.nodes, graph.nodes, strict=True))

    def set_kernel_node(
        self, executable: Executable, node: RecordedNode, function: Any, launch: Launch, parameters: bytes
    ) -> None:
        self.check_kernel(function, launch)
        executable.nodes[node.handle] = RecordedNode(node.handle, "kernel", node.depends, function, launch, parameters)

    def prepare_executable(
        self, executable: Executable, stream: int, kernels: Sequence[tuple[str, Launch]]
    ) -> Callable[[], None]:
        return lambda: self._launch_executable(executable, stream)

    def _launch_executable(self, executable: Executable, stream: int) -> None:
        self._check_stream(stream)
        stream = stream or self._current()
        if self._recording(stream) is not None:
            raise StreamCaptureError(AGAIN)
        self.captures.check_default("a launch", stream)
        for node in list(executable.nodes.values()):
            if node.kind == "host":
                self.stream_state.call(ANY_STREAM, node.function)
            elif node.launch is None:
                node.function()
            else:
                self.run_kernel(node.function, node.launch, node.parameters)

    # Memory that graphs use.

    def pin(self, address: int) -> int | None:
        base = self.base_of(address)
        if base is not None:
            self.pins.add(base)
        return base

    def unpin(self, allocation: int) -> None:
        self.pins.remove(allocation)
