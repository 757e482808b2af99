"""What streams, events, graphs and devices say of themselves cannot be assigned: the driver would not follow."""

from __future__ import annotations

from typing import Any

import pytest

import kdsl
from kdsl import Ptr, f32, kernel


@kernel
def nothing(x: Ptr[f32]) -> None:
    pass


def objects() -> list[tuple[Any, str]]:
    kdsl.set_device("emulator")
    stream = kdsl.Stream()
    x = kdsl.zeros(4)
    with stream.capture() as graph:
        nothing[1, 1](x)
    return [
        (stream, "handle priority blocking backend done"),
        (kdsl.legacy_stream, "handle priority blocking backend done"),
        (kdsl.Stream.from_handle(0), "handle priority blocking backend done"),
        (stream.record(), "handle timing blocking_sync recorded stream backend done"),
        (graph, "backend nodes"),
        (graph.nodes[0], "kind kernel grid block arguments depends"),
        (graph.instantiate(), "graph backend nodes"),
        (graph.instantiate().nodes[0], "node kind kernel grid block arguments"),
        (kdsl.Device("emulator"), "backend name ordinal description target limits state fault"),
    ]


def test_they_are_read_only() -> None:
    for subject, names in objects():
        for name in names.split():
            before = getattr(subject, name)
            with pytest.raises(AttributeError):
                setattr(subject, name, before)
            assert getattr(subject, name) == before, (subject, name)
