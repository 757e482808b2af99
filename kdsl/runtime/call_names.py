"""What a call says by name: an error for a name that no parameter has, with what was probably meant.

Python's own error is worse, and comes only on the fast way: it knows neither the parameters nor where a stream goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kdsl.records import dataclass
from kdsl.runtime.errors import ArgumentTypeError

CONFIGURATION = frozenset({
    "grid", "block", "grid_dim", "block_dim", "griddim", "blockdim", "blocks", "threads", "blocks_per_grid",
    "threads_per_block", "shared", "shared_bytes", "shared_mem", "sharedmem", "smem", "cluster", "cooperative",
})  # fmt: skip
"""What CUDA's launchers call the parts of a configuration, in lower case."""


@dataclass(frozen=True)
class Way:
    """A way to launch: where a stream goes in it, and where the rest of the configuration."""

    stream: str
    configuration: str


BRACKETS = Way(
    "a stream goes into the brackets, {0}[grid, block, stream]",
    "the configuration goes into the brackets, {0}[grid, block, stream, shared_bytes] or {0}[LaunchConfig(...)]",
)
BY_CONTRACT = Way(
    "write {0}.launch_on(stream, ...)",
    "the kernel's contract says the configuration, and {0}[grid, block](...) takes another one",
)
PREPARED = Way(
    "a stream goes before the arguments, {0}.prepare(LaunchConfig(grid, block, stream=stream), ...)",
    "the configuration goes before the arguments, {0}.prepare(grid, block, ...) or {0}.prepare(LaunchConfig(...), ...)",
)
CHANGED = Way(
    "another stream is another configuration: with_config(LaunchConfig(grid, block, stream=stream))",
    "another configuration is with_config(grid, block) or with_config(LaunchConfig(...))",
)
OF_NODE = Way(
    "a node runs in the stream of its graph's launch, run.launch(stream)",
    "another configuration goes before the arguments, node.update((grid, block), ...)",
)


NOT_GIVEN: Any = object()
"""Stands for a stream that `launch_on` was not given."""


def check_names(kernel: str, names: Sequence[str], given: Iterable[str], way: Way = BRACKETS) -> None:
    """ArgumentTypeError for an argument by a name that no parameter has."""
    for name in given:
        if name not in names:
            raise ArgumentTypeError(
                f"{kernel}({', '.join(names)}) has no parameter {name!r}{_fix(kernel, names, name, way)}"
            )


def _fix(kernel: str, names: Sequence[str], name: str, way: Way) -> str:
    from difflib import get_close_matches  # start-up cost: for mistakes alone

    if name == "stream":
        return f"; {way.stream.format(kernel)}"
    folded = {known.lower(): known for known in names}
    close = get_close_matches(name.lower(), folded, 1)
    if close:
        return f"; did you mean `{folded[close[0]]}`?"
    return f"; {way.configuration.format(kernel)}" if name.lower() in CONFIGURATION else ""
