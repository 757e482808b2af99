"""Graphs of the CUDA driver: `kdsl.runtime.graph_backend.GraphBackend`, as a part of the driver."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from kdsl.backend import Launch
from kdsl.captures import AGAIN, RecordedNode, StreamCaptureError
from kdsl.runtime.driver_calls import Calls
from kdsl.runtime.driver_captures import DriverCaptures
from kdsl.runtime.driver_entry import Native, graph_launch_function
from kdsl.runtime.driver_streams import DEFAULT_STREAMS
from kdsl.runtime.parameters import ParameterBuffer

KINDS = {0: "kernel", 1: "copy", 2: "fill", 3: "host", 4: "graph", 5: "empty", 10: "allocation", 11: "free"}
"""CUgraphNodeType; others are called by the driver's own name."""
UPDATE_FAILURE = 910
"""CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE."""
IN_FULL = -1
"""No code of the driver's: the launch is to be made in full."""


class DriverGraphs(DriverCaptures):
    """Graphs and their executables, with handles as plain integers."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls)
        self.launchers: WeakValueDictionary[int, Any] = WeakValueDictionary()

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
        calls, quick = self._calls, self._quick_launch(executable, stream)

        def launch() -> None:
            # Nobody looks at launches: no capture, no current stream, no fork.
            if calls.launch is not calls.native or quick():
                self.launch_executable(executable, stream)
            if kernels and calls.latest is not kernels[-1]:
                for launched in kernels:
                    calls.note(launched)

        return self._waited_for(launch, stream) if calls.synchronous else launch

    @functools.cached_property
    def _launch_graph(self) -> Native:
        return graph_launch_function(self._calls.api)

    def _quick_launch(self, executable: int, stream: int) -> Callable[[], int]:
        """The driver's call alone, of which nothing has been done where the code that it gives is not 0."""
        call = functools.partial(self._launch_graph, executable, stream, 0)
        if not self.is_ordered(stream):
            return lambda: IN_FULL
        if stream not in DEFAULT_STREAMS:
            return call
        # A default stream is that of whichever context is current, which may be another GPU's.
        current, own = self._calls.api.cuCtxGetCurrent, int(self._calls.context)
        return lambda: call() if int(current()[1]) == own else IN_FULL

    def launch_executable(self, executable: int, stream: int) -> None:
        """The launch in full: also where this thread has no context yet, or an error is to be raised."""
        stream = stream or self._current_stream()
        self.captures.check_default("a launch", stream)
        if self.capture_of(stream) is not None:
            raise StreamCaptureError(AGAIN)
        self._calls.enter()
        with self.unordered(stream):
            code = self._launch_graph(executable, stream, 0)
        if code:
            raise self._calls.error(code, "cuGraphLaunch")

    def _waited_for(self, launch: Callable[[], None], stream: int) -> Callable[[], None]:
        """A launch that ends before it returns."""
        calls = self._calls

        def launch_and_wait() -> None:
            launch()
            count = len(calls.recent)
            calls.call("cuStreamSynchronize", self._stream(stream or self._current_stream()))
            calls.seen_well(count)

        return launch_and_wait


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
