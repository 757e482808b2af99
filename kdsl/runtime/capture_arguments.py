"""The arguments of a launch that is captured into a graph: nothing is copied for it, and it keeps what it uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kdsl.backend import Backend, device_name
from kdsl.captures import Capture
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError
from kdsl.runtime.graph_backend import graphs_of
from kdsl.runtime.launch_parameters import ArrayArgument, Parameter


def capture_of(backend: Backend, stream: int) -> Capture | None:
    """The capture that a launch in this stream is recorded by; 0 is the current stream."""
    graphs = graphs_of(backend)
    return None if graphs is None or not graphs.captures else graphs.capture_of(stream)


def check_of_graph(parameter: Parameter, argument: ArrayArgument, backend: Backend) -> None:
    """ArgumentError for an array that the launches of a graph on this device do not take."""
    if argument.host is not None:
        raise parameter.error(
            ArgumentTypeError,
            "a NumPy array",
            f"a graph copies nothing to or from it: make kdsl.to_device({parameter.name}) before the capture, pass "
            "that, and read it with .to_host() after the graph was launched",
        )
    if argument.peer is not None:
        here = device_name(backend)
        raise parameter.error(
            ArgumentValueError,
            f"a DeviceArray on {device_name(argument.peer)}",
            f"a graph uses arrays of its own device; pass a copy made before, {parameter.name}.to({here!r})",
        )


def keep_for(
    capture: Capture, pairs: Sequence[tuple[Parameter, ArrayArgument]], found: Sequence[Any], backend: Backend
) -> None:
    """Let the graph keep what a launch uses; ArgumentError for what a captured launch does not take."""
    for parameter, argument in pairs:
        check_of_graph(parameter, argument, backend)
    capture.kept.extend(found)
