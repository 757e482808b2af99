"""Mistakes in calls of the host beside launches and arrays: streams, events, graphs, devices, images, options. Each is
told at once, with the fix, and never in words about our own parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Array, Event, Graph, LaunchConfig, Ptr, Stream, f32, i32, kernel, struct

FROM_HANDLE = "from_handle takes a stream of another library, or its handle, got "
STREAM = "stream takes a kdsl.Stream, a stream of another library, a handle or None, got "
MANAGED = "an array is needed that kdsl.managed_empty made, or a part of one; got "
IMAGE = "an image is a path, or bytes, or PTX text, got "
DEPENDS = "depends takes nodes of this graph, a list of what add_kernel gives, got "


@kernel
def put(x: Ptr[i32], n: i32) -> None:
    x[0] = n


@kernel
def typed(b: Array[f32, 1]) -> None:
    b[0] = 1.0


@kernel
def untyped(b):
    b[0] = 1.0


@struct
class Pair:
    a: i32
    b: i32


class Given:
    """What the calls take, on the emulator."""

    def __init__(self) -> None:
        self.a: Any = kdsl.zeros(4, i32)
        self.b: Any = kdsl.zeros(8)
        self.stream: Any = Stream()
        self.prepared: Any = put.prepare(1, 1, self.a, 1)
        self.graph: Any = Graph()
        self.node = self.graph.add_kernel(self.prepared)
        self.typed, self.untyped = typed.prepare(1, 1, self.b), untyped.prepare(1, 1, self.b)
        for launch in (self.typed, self.untyped):
            self.graph.add_kernel(launch)
        self.run: Any = self.graph.instantiate()
        self.device: Any = kdsl.Device("emulator")
        self.managed: Any = kdsl.managed_empty(8)


STRIDED = (
    "takes Array[f32, 1] (an array of float32 with 1 dimension), got an array of shape (4,) that is not contiguous; "
    "pass b.copy(), and keep it: the kernel may write it, or leave out the annotation of the parameter, which then takes "
    "strided arrays (prepare or capture the launch with one)"
)
Case = tuple[Callable[[Given], object], type[Exception], str]
STREAMS: list[Case] = [
    (lambda g: Stream.from_handle(12345), TypeError, FROM_HANDLE + "12345, which is no handle: 0, 1, 2 or an address"),
    (lambda g: Stream.from_handle(-1), TypeError, FROM_HANDLE + "-1, which is no handle: 0, 1, 2 or an address"),
    (lambda g: Stream.from_handle("x"), TypeError, FROM_HANDLE + "'x'; make one, kdsl.Stream()"),
    (lambda g: Stream.from_handle(True), TypeError, FROM_HANDLE + "True; make one, kdsl.Stream()"),
    (lambda g: Stream.from_handle(None), TypeError,
     FROM_HANDLE + "None; the default stream is kdsl.legacy_stream"),
    (lambda g: Stream.from_handle(Stream), TypeError,
     FROM_HANDLE + "<class 'kdsl.streams.Stream'>; make one, kdsl.Stream()"),
    (lambda g: Stream.from_handle(0x7F00_0000_1000), ValueError, "139637976731648 is a CUDA stream; the emulator runs "
     "kernels only in its own streams, kdsl.Stream()"),
    (lambda g: Stream("high"), TypeError, "a stream's priority is an int, such as -1, got 'high'"),
    (lambda g: Stream(blocking="no"), TypeError, "blocking takes True or False, got 'no'"),
    (lambda g: Event("x"), TypeError, "timing takes True or False, got 'x'"),
    (lambda g: Event(blocking_sync=1), TypeError, "blocking_sync takes True or False, got 1"),
    (lambda g: Event().elapsed_ms(Event()), ValueError,
     "the start event was never recorded; start = stream.record() makes and records one"),
    (lambda g: g.a.to_host(stream=5), TypeError, STREAM + "5, which is no handle: 0, 1, 2 or an address; the fourth value "
     "in k[grid, block, stream, shared_bytes] is the dynamic shared memory"),
    (lambda g: g.run.launch("x"), TypeError, STREAM + "'x'; make one, kdsl.Stream()"),
]  # fmt: skip
GRAPHS: list[Case] = [
    (lambda g: g.graph.add_kernel(put), TypeError, "add_kernel takes kernel.prepare(grid, block, ...), got <kernel put>"),
    (lambda g: g.graph.add_kernel(g.prepared, depends=3), TypeError, DEPENDS + "3"),
    (lambda g: g.graph.add_kernel(g.prepared, depends=[3]), TypeError, DEPENDS + "[3]"),
    (lambda g: g.graph.add_kernel(g.prepared, depends=put), TypeError, DEPENDS + "<kernel put>"),
    (lambda g: Graph().add_kernel(g.prepared, depends=g.node), ValueError,
     "depends takes nodes of this graph, and <kernel node put[(1, 1, 1), (1, 1, 1)]> is of another one"),
    (lambda g: g.run.nodes[0].update(5), TypeError, "a node takes a configuration, node.update((grid, block)), and "
     "arguments by name, node.update(n=5); got 5"),
    (lambda g: g.run.nodes[1].update(b=g.b[::2]), ValueError, "typed: argument `b` " + STRIDED),
    (lambda g: g.run.nodes[2].update(b=g.b[::2]), ValueError, "untyped: argument `b` " + STRIDED),
    (lambda g: g.untyped.with_arguments(b=g.b[::2]), ValueError, "untyped: argument `b` " + STRIDED),
]  # fmt: skip
OTHERS: list[Case] = [
    (lambda g: g.device.can_access_peer(None), TypeError, "a kdsl.Device is needed, got None"),
    (lambda g: g.device.can_access_peer("emulator:1"), TypeError,
     "a kdsl.Device is needed, got 'emulator:1'; write kdsl.Device('emulator:1')"),
    (lambda g: g.device.enable_peer_access(1), TypeError, "a kdsl.Device is needed, got 1; write kdsl.Device(1)"),
    (lambda g: kdsl.mem_prefetch(None), TypeError, MANAGED + "None"),  # type: ignore[arg-type]
    (lambda g: kdsl.mem_prefetch(g.a), TypeError, MANAGED + "kdsl.DeviceArray"),
    (lambda g: kdsl.mem_advise(np.zeros(3), "read_mostly"), TypeError, MANAGED + "numpy.ndarray"),
    (lambda g: kdsl.mem_prefetch(g.managed, "gpu"), ValueError,  # type: ignore[arg-type]
     "managed memory is moved to 'device' or 'host', got 'gpu'"),
    (lambda g: kdsl.load_module(""), TypeError, IMAGE + "''"),
    (lambda g: kdsl.load_module(None), TypeError, IMAGE + "None"),  # type: ignore[arg-type]
    (lambda g: kdsl.load_module(put), TypeError,  # type: ignore[arg-type]
     IMAGE + "<kernel put>; pass kdsl.compile(k).ptx"),
    (lambda g: kdsl.load_module(kdsl.compile(put, target="sm_90")), TypeError,  # type: ignore[arg-type]
     IMAGE + "<Compilation of put for sm_90>; pass its .ptx"),
    (lambda g: kdsl.load_module("no PTX\n"), kdsl.DeviceError,
     "<PTX text>: it is neither PTX (there is no .version in it) nor a cubin or fatbin"),
    (lambda g: kdsl.link([b"x"], options="-lto"), TypeError,
     "link() takes a list of options, such as ['-lto'], got '-lto'"),
    (lambda g: kernel(require="n > 0"), TypeError, "@kernel has no option 'require' (did you mean 'requires'?); it takes "
     "fmad, fastmath, asserts, restrict, debug, launch_bounds, cluster, max_registers, requires, block, grid, shared, "
     "min_arch, link"),
    (lambda g: LaunchConfig(1, 32, cluster=0), ValueError, "cluster.x = 0 must be at least 1"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), STREAMS + GRAPHS + OTHERS)
def test_messages(call: Callable[[Given], object], error: type[Exception], text: str) -> None:
    with kdsl.Device("emulator"):
        given = Given()
        with pytest.raises(error) as caught:
            call(given)
    assert str(caught.value) == text
    # No exception of our own parts stands behind it.
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
