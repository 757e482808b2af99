"""Graphs of the CUDA driver: `kdsl.runtime.graph_backend.GraphBackend`, as a part of the driver."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakValueDictionary

from kdsl.backend import Launch
from kdsl.captures import (
    AGAIN,
    ALLOCATING,
    CAPTURED_EVENT,
    COPYING,
    DEFAULT_STREAM,
    NOT_JOINED,
    NOT_OUTSIDE,
    WAITING,
    Capture,
    Pinned,
    Pins,
    RecordedNode,
    StreamCaptureError,
    words,
)
from kdsl.runtime.driver_calls import Calls, error_text
from kdsl.runtime.driver_entry import pointer_function
from kdsl.runtime.driver_memory import FILLS, DriverMemory
from kdsl.runtime.driver_streams import LEGACY
from kdsl.runtime.parameters import ParameterBuffer
from kdsl.runtime.strided import strided_copies
from kdsl.runtime.watched_launches import Describe

THREAD_LOCAL = "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL"
RELAXED = "CU_STREAM_CAPTURE_MODE_RELAXED"
ACTIVE = 1
"""CU_STREAM_CAPTURE_STATUS_ACTIVE."""
KINDS = {0: "kernel", 1: "copy", 2: "fill", 3: "host", 4: "graph", 5: "empty", 10: "allocation", 11: "free"}
"""CUgraphNodeType; others are called by the driver's own name."""
UNJOINED = 904
"""CUDA_ERROR_STREAM_CAPTURE_UNJOINED."""
UPDATE_FAILURE = 910
"""CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE."""

Noted = tuple[Any, Launch, bytes]


class DriverGraphs(DriverMemory):
    """Graphs and their executables, with handles as plain integers."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls)
        self.launchers: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._capture_ids: dict[int, Capture] = {}
        # By graph, and then by node: what kdsl launched.
        self._noted: dict[int, dict[int, Noted]] = {}
        self._captured_events: set[int] = set()
        self._pins = Pins()

    # What a capture forbids. The driver would end the capture at such a call, and say little.

    def alloc(self, size: int) -> int:
        self.captures.check("allocating memory", ALLOCATING)
        return super().alloc(size)

    def free(self, address: int) -> None:
        free = super().free
        if not self._pins.hold(address, lambda: free(address)):
            free(address)

    def write(self, address: int, source: memoryview) -> None:
        self.captures.check("a copy to the device", COPYING)
        super().write(address, source)

    def read(self, address: int, destination: memoryview) -> None:
        self.captures.check("a copy to the host", WAITING)
        super().read(address, destination)

    def copy(self, destination: int, source: int, size: int) -> None:
        if not self._in_current("copy", "cuMemcpyDtoDAsync", (destination, source), size):
            super().copy(destination, source, size)

    def copy_strided(
        self,
        destination: int,
        destination_strides: tuple[int, ...],
        source: int,
        source_strides: tuple[int, ...],
        shape: tuple[int, ...],
        itemsize: int,
    ) -> None:
        if self.capture_of(0) is None:
            self.captures.check("a copy in the default stream", COPYING)
            super().copy_strided(destination, destination_strides, source, source_strides, shape, itemsize)
        else:
            parts = strided_copies(shape, destination_strides, source_strides, itemsize, destination, source)
            with self.loading():
                self._copy_parts(parts)

    def fill(self, address: int, value: int, size: int, width: int = 1) -> None:
        if not self._in_current("fill", FILLS[width], (address,), value, size // width):
            super().fill(address, value, size, width)

    def _in_current(self, kind: str, name: str, addresses: tuple[int, ...], *more: int) -> bool:
        """Copy or fill in the current stream, if there is one."""
        stream = self._current_stream()
        if stream in LEGACY:
            self.captures.check(f"a {kind} in the default stream", COPYING)
            return False
        if not more[-1]:
            return True
        capture = self.capture_of(stream)
        if capture is not None:
            capture.kept.append(Pinned(self, addresses))
        with self.unordered(stream):
            self._calls.call(name, *addresses, *more, self._stream(stream))
        return True

    def synchronize(self) -> None:
        self.captures.check("waiting for the device", WAITING)
        if not self.captures:
            super().synchronize()
            return
        # Waiting for the context would end the capture of another thread: for what kdsl has put into streams, then.
        self.foreign.join()
        event = self.create_event(timing=False)
        try:
            # The default stream comes after all streams that are ordered with it.
            self.record_event(event, 1)
            self.synchronize_event(event)
        finally:
            self.destroy_event(event)
        self.stream_state.raise_failures()

    def synchronize_stream(self, stream: int) -> None:
        self._check_not_captured(stream)
        super().synchronize_stream(stream)

    def stream_done(self, stream: int) -> bool:
        self._check_not_captured(stream)
        return super().stream_done(stream)

    def _check_not_captured(self, stream: int) -> None:
        if self.captures and (stream in LEGACY or self.capture_of(stream) is not None):
            self.captures.check("waiting for a stream", WAITING)

    # Events in captures. The driver would end the capture at some of these calls.

    def record_event(self, event: int, stream: int) -> None:
        super().record_event(event, stream)
        if self.captures and self.capture_of(stream) is not None:
            self._captured_events.add(event)
        else:
            self._captured_events.discard(event)

    def wait_event(self, event: int, stream: int) -> None:
        if self.captures:
            if event not in self._captured_events:
                if self.capture_of(stream) is not None:
                    raise StreamCaptureError(f"a captured stream waits for work outside of the capture: {NOT_OUTSIDE}")
            elif stream in LEGACY:
                self.captures.check("a wait in the default stream", DEFAULT_STREAM)
        super().wait_event(event, stream)

    def destroy_event(self, event: int) -> None:
        self._captured_events.discard(event)
        super().destroy_event(event)

    def synchronize_event(self, event: int) -> None:
        self._check_event(event)
        super().synchronize_event(event)

    def event_done(self, event: int) -> bool:
        self._check_event(event)
        return super().event_done(event)

    def elapsed_ms(self, start: int, end: int) -> float:
        self._check_event(start)
        self._check_event(end)
        return super().elapsed_ms(start, end)

    def _check_event(self, event: int) -> None:
        if event in self._captured_events:
            raise StreamCaptureError(CAPTURED_EVENT)

    @contextlib.contextmanager
    def loading(self) -> Iterator[None]:
        """Around what loads a module: the driver counts it among what might disturb a capture, which it does not."""
        if not self.captures:
            yield
            return
        modes = self._calls.api.CUstreamCaptureMode
        before = self._calls.call("cuThreadExchangeStreamCaptureMode", getattr(modes, RELAXED))
        try:
            yield
        finally:
            self._calls.bare("cuThreadExchangeStreamCaptureMode", before)

    # Captures.

    def begin_capture(self, stream: int, blocking: bool) -> Capture:
        mode = getattr(self._calls.api.CUstreamCaptureMode, THREAD_LOCAL)
        self._calls.call("cuStreamBeginCapture", self._stream(stream), mode)
        capture = self.captures.begin(stream, blocking)
        found = self._capture_info(stream)
        if found is not None:
            self._capture_ids[found[0]] = capture
            self._noted[found[0]] = {}
        return capture

    def _capture_info(self, stream: int) -> tuple[int, Any] | None:
        """The capture's id, and the nodes that the next one will depend on; None if the stream is not captured."""
        api = self._calls.api
        # Its first form fails where there are edges of programmatic launches; from CUDA 13 on there is one form.
        name = "cuStreamGetCaptureInfo_v3" if hasattr(api, "cuStreamGetCaptureInfo_v3") else "cuStreamGetCaptureInfo"
        code, values = self._calls.attempt(name, self._stream(stream))
        if code or int(values[0]) != ACTIVE:
            return None
        return int(values[1]), values[3]

    def capture_of(self, stream: int) -> Capture | None:
        if not self.captures:
            return None
        stream = stream or self._current_stream()
        if stream in LEGACY:
            return None
        self._calls.enter()
        found = self._capture_info(stream)
        return None if found is None else self._capture_ids.get(found[0])

    def _note_captured(self, stream: int, describe: Describe) -> None:
        found = self._capture_info(stream)
        if found is None or found[0] not in self._noted:
            return
        function, launch, parameters = describe()
        self._noted[found[0]][int(found[1][-1])] = (function, launch, parameters)
        self._capture_ids[found[0]].kept.append(Pinned(self, words(parameters)))

    def end_capture(self, capture: Capture) -> Any:
        self._calls.enter()
        found = self._capture_info(capture.stream)
        code, graph = self._calls.attempt("cuStreamEndCapture", self._stream(capture.stream))
        self.captures.end(capture)
        number = next(key for key, known in self._capture_ids.items() if known is capture)
        del self._capture_ids[number]
        noted = self._noted.pop(number)
        self._calls.enter()  # what was freed meanwhile is given back
        if code or found is None or not int(graph):
            raise StreamCaptureError(_why_not(code, error_text(self._calls.api, code)))
        self._noted[int(graph)] = noted
        return int(graph)

    # Graphs.

    def create_graph(self) -> Any:
        graph = int(self._calls.call("cuGraphCreate", 0))
        self._noted[graph] = {}
        return graph

    def destroy_graph(self, graph: Any) -> None:
        self._noted.pop(graph, None)
        self._release("cuGraphDestroy", self._calls.api.CUgraph(graph))

    def graph_nodes(self, graph: Any) -> Sequence[RecordedNode]:
        handle = self._calls.api.CUgraph(graph)
        _, count = self._calls.call("cuGraphGetNodes", handle, 0)
        nodes, _ = self._calls.bare("cuGraphGetNodes", handle, int(count)) if int(count) else ((), 0)
        return _in_order([self._recorded(graph, node) for node in nodes])

    def _recorded(self, graph: int, node: Any) -> RecordedNode:
        kind = self._calls.bare("cuGraphNodeGetType", node)
        name = KINDS.get(int(kind)) or kind.name.removeprefix("CU_GRAPH_NODE_TYPE_").lower()
        depends = tuple(int(before) for before in self._depends(node))
        noted = self._noted[graph].get(int(node))
        return RecordedNode(int(node), name, depends, *(noted or ()))

    def _depends(self, node: Any) -> Sequence[Any]:
        api = self._calls.api
        name = "cuGraphNodeGetDependencies"
        name = f"{name}_v2" if hasattr(api, f"{name}_v2") else name
        *_, count = self._calls.bare(name, node, 0)
        return self._calls.bare(name, node, int(count))[0] if int(count) else ()

    def add_kernel_node(
        self, graph: Any, function: Any, launch: Launch, parameters: bytes, depends: Sequence[Any]
    ) -> None:
        api = self._calls.api
        nodes = [api.CUgraphNode(node) for node in depends]
        buffer = ParameterBuffer(parameters)
        parameters_ = self._kernel_parameters(function, launch, buffer)
        node = self._calls.call("cuGraphAddKernelNode", api.CUgraph(graph), nodes, len(nodes), parameters_)
        self._noted[graph][int(node)] = (function, launch, parameters)
        for name, value in _attributes(api, launch):
            self._calls.bare("cuGraphKernelNodeSetAttribute", node, getattr(api.CUkernelNodeAttrID, name), value)

    def _kernel_parameters(self, function: Any, launch: Launch, buffer: ParameterBuffer) -> Any:
        found = self._calls.api.CUDA_KERNEL_NODE_PARAMS()
        found.func = function.handle
        found.gridDimX, found.gridDimY, found.gridDimZ = launch.grid
        found.blockDimX, found.blockDimY, found.blockDimZ = launch.block
        found.sharedMemBytes = launch.shared_bytes
        found.extra = buffer.extra
        return found

    # Executables.

    def instantiate(self, graph: Any) -> Any:
        return int(self._calls.call("cuGraphInstantiate", self._calls.api.CUgraph(graph), 0))

    def destroy_executable(self, executable: Any) -> None:
        self._release("cuGraphExecDestroy", self._calls.api.CUgraphExec(executable))

    def update_executable(self, executable: Any, graph: Any) -> None:
        api = self._calls.api
        self._calls.enter()
        code, found = self._calls.attempt("cuGraphExecUpdate", api.CUgraphExec(executable), api.CUgraph(graph))
        if code == UPDATE_FAILURE:
            why = "" if found is None else f" ({found.result.name})"
            raise StreamCaptureError(f"the driver cannot take over the other graph's nodes{why}; instantiate it")
        if code:
            raise self._calls.error(code, "cuGraphExecUpdate")

    def set_kernel_node(
        self, executable: Any, node: RecordedNode, function: Any, launch: Launch, parameters: bytes
    ) -> None:
        api = self._calls.api
        buffer = ParameterBuffer(parameters)
        values = self._kernel_parameters(function, launch, buffer)
        handles = api.CUgraphExec(executable), api.CUgraphNode(node.handle)
        self._calls.call("cuGraphExecKernelNodeSetParams", *handles, values)

    def prepare_executable(
        self, executable: Any, stream: int, kernels: Sequence[tuple[str, Launch]]
    ) -> Callable[[], None]:
        calls, native, is_ordered = self._calls, self._launch_graph, self.is_ordered(stream)

        def launch() -> None:
            # Nobody looks at launches: no capture, no current stream, no fork.
            if not is_ordered or calls.launch is not calls.native or native(executable, stream):
                self._launch_executable(executable, stream)
            if kernels and calls.latest is not kernels[-1]:
                for launched in kernels:
                    calls.note(launched)
            if calls.synchronous:
                count = len(calls.recent)
                calls.call("cuStreamSynchronize", self._stream(stream or self._current_stream()))
                calls.seen_well(count)

        return launch

    @functools.cached_property
    def _launch_graph(self) -> Callable[..., int]:
        return pointer_function(self._calls.api, "cuGraphLaunch", 2)

    def _launch_executable(self, executable: int, stream: int) -> None:
        """The launch in full: also where this thread has no context yet, or an error is to be raised."""
        stream = stream or self._current_stream()
        if stream in LEGACY:
            self.captures.check("a launch in the default stream", DEFAULT_STREAM)
        if self.capture_of(stream) is not None:
            raise StreamCaptureError(f"a graph inside of a capture: {AGAIN}")
        self._calls.enter()
        with self.unordered(stream):
            code = self._launch_graph(executable, stream)
        if code:
            raise self._calls.error(code, "cuGraphLaunch")

    # Memory that graphs use.

    def pin(self, address: int) -> int | None:
        self._calls.enter()
        code, found = self._calls.attempt("cuMemGetAddressRange", address)
        if code:
            return None  # no memory of the device's: whoever owns it keeps it
        base = int(found[0])
        self._pins.add(base)
        return base

    def unpin(self, allocation: int) -> None:
        self._pins.remove(allocation)


def _why_not(code: int, text: str) -> str:
    if code == UNJOINED:
        return NOT_JOINED
    return f"the capture was ended by a call that cannot be recorded, and nothing was captured ({text})"


def _in_order(nodes: Sequence[RecordedNode]) -> list[RecordedNode]:
    """The nodes, each after those that it depends on, otherwise as they are."""
    left, out = list(nodes), []
    done: set[Any] = set()
    while left:
        ready = next(node for node in left if done.issuperset(node.depends))
        left.remove(ready)
        out.append(ready)
        done.add(ready.handle)
    return out


def _attributes(api: Any, launch: Launch) -> list[tuple[str, Any]]:
    """What a kernel's node has beside its parameters."""
    out = []
    if launch.cluster:
        value = api.CUkernelNodeAttrValue()
        value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = launch.cluster
        out.append(("CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION", value))
    if launch.cooperative:
        value = api.CUkernelNodeAttrValue()
        value.cooperative = 1
        out.append(("CU_LAUNCH_ATTRIBUTE_COOPERATIVE", value))
    return out
