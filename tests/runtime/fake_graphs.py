"""The part of the fake driver that captures streams and launches graphs. Strict: it asserts that every handle is one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ACTIVE = 1


@dataclass(eq=False)
class Node:
    kind: int  # CUgraphNodeType
    depends: list[int]
    run: Callable[[], None]
    function: int = 0
    grid: tuple[int, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Capture:
    number: int
    origin: int
    tails: dict[int, list[int]]
    nodes: dict[int, Node] = field(default_factory=dict)


def parameters_at(extra: int) -> bytes:
    """Read the parameters as the driver does: through the list at ``extra``."""
    words = (ctypes.c_uint64 * 5).from_address(extra) if extra else (1, 0, 2, 0, 0)
    assert (words[0], words[2], words[4]) == (1, 2, 0)
    size = ctypes.c_size_t.from_address(words[3]).value if extra else 0
    return ctypes.string_at(words[1], size) if size else b""


class Refusal(Exception):
    """The code that a call gives in place of values."""


class FakeGraphs:
    """``captures`` are what is going on; ``graphs`` and ``executables`` what there is."""

    real: Any
    handles: Any
    kernels: dict[str, Callable[[bytes], None]]
    memory: dict[int, Any]

    def __init__(self) -> None:
        self.captures: list[Capture] = []
        self.graphs: dict[int, dict[int, Node]] = {}
        self.executables: dict[int, dict[int, Node]] = {}
        self.captured_events: dict[int, tuple[Capture, list[int]]] = {}

    def is_stream(self, stream: Any) -> int:
        raise NotImplementedError

    def capture_at(self, stream: Any) -> Capture | None:
        return next((capture for capture in self.captures if int(stream) in capture.tails), None)

    def record(self, stream: Any, node: Node) -> bool:
        """Put a node into the stream's capture; False if it is in none."""
        capture = self.capture_at(stream)
        if capture is None:
            return False
        node.depends = capture.tails[int(stream)]
        handle = next(self.handles)
        capture.nodes[handle] = node
        capture.tails[int(stream)] = [handle]
        return True

    def run_kernel(self, function: int, parameters: bytes) -> None:
        list(self.kernels.values())[function - 200](parameters)

    def kernel_node(self, function: Any, parameters: bytes, grid: tuple[int, ...]) -> Node:
        number = int(function)
        return Node(0, [], lambda: self.run_kernel(number, parameters), number, grid)

    # The driver's functions.

    def _cuStreamBeginCapture(self, stream: Any, mode: Any) -> None:
        handle = self.is_stream(stream)
        assert handle not in (0, 1) and self.capture_at(stream) is None
        assert mode.name == "CU_STREAM_CAPTURE_MODE_RELAXED"
        self.captures.append(Capture(next(self.handles), handle, {handle: []}))

    def _cuStreamGetCaptureInfo(self, stream: Any) -> Any:
        self.is_stream(stream)
        capture = self.capture_at(stream)
        status = self.real.CUstreamCaptureStatus
        if capture is None:
            return (status(0), self.real.cuuint64_t(0), self.real.CUgraph(0), [], [], 0)
        nodes = [self.real.CUgraphNode(node) for node in capture.tails[int(stream)]]
        return (status(ACTIVE), self.real.cuuint64_t(capture.number), self.real.CUgraph(0), nodes, [], len(nodes))

    def _cuStreamEndCapture(self, stream: Any) -> Any:
        capture = self.capture_at(stream)
        if capture is None:
            raise Refusal(401)
        assert capture.origin == int(stream)
        self.captures.remove(capture)
        inner = {handle for node in capture.nodes.values() for handle in node.depends}
        if not set(capture.nodes) - inner <= set(capture.tails[capture.origin]):
            raise Refusal(904)
        graph = next(self.handles)
        self.graphs[graph] = capture.nodes
        return (self.real.CUgraph(graph),)

    def _cuGraphCreate(self, flags: int) -> Any:
        assert flags == 0
        graph = next(self.handles)
        self.graphs[graph] = {}
        return (self.real.CUgraph(graph),)

    def _cuGraphDestroy(self, graph: Any) -> None:
        assert isinstance(graph, self.real.CUgraph)
        del self.graphs[int(graph)]

    def _cuGraphGetNodes(self, graph: Any, count: int) -> Any:
        nodes = list(self.graphs[int(graph)])
        assert count in (0, len(nodes))
        return ([self.real.CUgraphNode(node) for node in nodes[:count]], len(nodes))

    def node(self, handle: Any) -> Node:
        assert isinstance(handle, self.real.CUgraphNode)
        return next(nodes[int(handle)] for nodes in self.graphs.values() if int(handle) in nodes)

    def _cuGraphNodeGetType(self, node: Any) -> Any:
        return (self.real.CUgraphNodeType(self.node(node).kind),)

    def _cuGraphNodeGetDependencies(self, node: Any, count: int) -> Any:
        depends = self.node(node).depends
        assert count in (0, len(depends))
        return ([self.real.CUgraphNode(handle) for handle in depends[:count]], [], len(depends))

    def _cuGraphAddKernelNode(self, graph: Any, depends: list[Any], count: int, parameters: Any) -> Any:
        assert count == len(depends)
        node = self.node_of(parameters)
        node.depends = [int(handle) for handle in depends]
        assert all(handle in self.graphs[int(graph)] for handle in node.depends)
        handle = next(self.handles)
        self.graphs[int(graph)][handle] = node
        return (self.real.CUgraphNode(handle),)

    def node_of(self, parameters: Any) -> Node:
        assert isinstance(parameters, self.real.CUDA_KERNEL_NODE_PARAMS) and parameters.kernelParams == 0
        grid = (parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ)
        block = (parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ)
        packed = parameters_at(parameters.extra)
        return self.kernel_node(parameters.func, packed, (*grid, *block, parameters.sharedMemBytes))

    def _cuGraphKernelNodeSetAttribute(self, node: Any, attribute: Any, value: Any) -> None:
        assert isinstance(attribute, self.real.CUkernelNodeAttrID)
        assert isinstance(value, self.real.CUkernelNodeAttrValue)
        self.node(node).attributes[attribute.name] = value

    def _cuGraphInstantiate(self, graph: Any, flags: int) -> Any:
        assert flags == 0
        executable = next(self.handles)
        self.executables[executable] = dict(self.graphs[int(graph)])
        return (self.real.CUgraphExec(executable),)

    def _cuGraphExecDestroy(self, executable: Any) -> None:
        del self.executables[int(executable)]

    def _cuGraphExecKernelNodeSetParams(self, executable: Any, node: Any, parameters: Any) -> None:
        nodes = self.executables[int(executable)]
        changed = self.node_of(parameters)
        changed.depends = self.node(node).depends
        nodes[int(node)] = changed

    def _cuGraphExecUpdate(self, executable: Any, graph: Any) -> Any:
        nodes, others = self.executables[int(executable)], self.graphs[int(graph)]
        assert len(nodes) == len(others)
        self.executables[int(executable)] = dict(zip(nodes, others.values(), strict=True))
        return (self.real.CUgraphExecUpdateResultInfo(),)

    def _cuGraphLaunch(self, executable: Any, stream: Any) -> None:
        assert isinstance(executable, self.real.CUgraphExec) and isinstance(stream, self.real.CUstream)
        self.is_stream(stream)
        for node in self.executables[int(executable)].values():
            node.run()

    def _cuMemGetAddressRange(self, address: int) -> Any:
        for base, block in self.memory.items():
            if base <= address < base + len(block):
                return (self.real.CUdeviceptr(base), len(block))
        raise Refusal(500)
