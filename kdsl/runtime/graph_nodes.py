"""The nodes of a graph, and the graph's picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from kdsl.backend import Backend, Dim3
from kdsl.captures import Pinned, RecordedNode
from kdsl.runtime.foreign_memory import sharing_of
from kdsl.runtime.graph_kernels import named_values

if TYPE_CHECKING:
    from kdsl.runtime.launcher import Launcher


def let_go(backend: Backend, kept: Iterable[Any]) -> None:
    """Drop what graphs have kept once their launches have ended: callbacks, memory of other libraries."""
    sharing = sharing_of(backend)
    # Memory of kdsl's own is given back in the order of the device's work in any case.
    owners = [owner for owner in kept if owner is not None and not isinstance(owner, Pinned)]
    if sharing is not None and owners:
        sharing.release(owners)


class GraphNode:
    """One node of a graph: ``kind`` is ``kernel``, ``copy``, ``fill``, ``host`` (a callback) or the driver's word;
    ``depends`` are the nodes that it waits for.
    """

    def __init__(self, recorded: RecordedNode, launcher: Launcher | None, depends: Sequence[GraphNode]) -> None:
        self.recorded = recorded
        self.launcher = launcher
        self._depends = tuple(depends)

    @property
    def kind(self) -> str:
        return self.recorded.kind

    @property
    def depends(self) -> tuple[GraphNode, ...]:
        return self._depends

    @property
    def kernel(self) -> str | None:
        """The kernel's name; None for other nodes, and for kernels that another library launched."""
        if self.launcher is not None:
            return self.launcher.kernel
        return getattr(self.recorded.function, "name", None) if self.kind == "kernel" else None

    @property
    def grid(self) -> Dim3 | None:
        return self.recorded.launch.grid if self.recorded.launch else None

    @property
    def block(self) -> Dim3 | None:
        return self.recorded.launch.block if self.recorded.launch else None

    @property
    def arguments(self) -> dict[str, Any]:
        """What is packed for each parameter of the kernel: an address for an array, followed by its extents."""
        return {} if self.launcher is None else named_values(self.launcher, self.recorded.parameters)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is of this process; capture its graph where it is launched")

    if not TYPE_CHECKING:

        @property
        def update(self) -> NoReturn:
            raise AttributeError(
                "a node of a graph does not change: run = graph.instantiate(), and run.nodes[i].update(...)"
            )

    def __repr__(self) -> str:
        what = f" {self.kernel}[{self.grid}, {self.block}]" if self.kernel else ""
        return f"<{self.kind} node{what}>"


def dot(nodes: Sequence[GraphNode]) -> str:
    """The nodes as DOT, named by their places."""
    lines = ["digraph {"]
    for index, node in enumerate(nodes):
        label = f"{index}: {node.kind}"
        if node.kernel is not None:
            values = ", ".join(f"{name}={value}" for name, value in node.arguments.items())
            label = f"{index}: {node.kernel}[{node.grid}, {node.block}]({values})"
        label = label.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  n{index} [label="{label}"];')
        lines += [f"  n{nodes.index(before)} -> n{index};" for before in node.depends]
    return "\n".join([*lines, "}", ""])
