"""Graphs: captured, launched, updated, inspected; what a capture refuses."""

from __future__ import annotations

import gc
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    ArgumentError,
    Array,
    Constexpr,
    DeviceError,
    LaunchConfig,
    LaunchConfigError,
    Ptr,
    f32,
    grid,
    i32,
    kernel,
    shared,
    struct,
    sync_threads,
    thread_idx,
)
from kdsl.errors import StreamCaptureError


@kernel
def add(x: Ptr[i32], value: i32, n: i32) -> None:
    i = grid(1)
    if i < n:
        x[i] += value


@kernel
def scale(x: Array[i32, 1], factor: i32) -> None:
    i = grid(1)
    if i < x.shape[0]:
        x[i] *= factor


@kernel
def fold(x: Ptr[f32], pair: tuple[i32, f32], count: Constexpr[int], flag) -> None:  # type: ignore[no-untyped-def]
    i = grid(1)
    if i < count:
        x[i] = pair[0] * pair[1] + flag


@kernel
def rotate(x: Ptr[i32]) -> None:
    kept = shared.dynamic(i32)
    kept[thread_idx.x] = x[thread_idx.x]
    sync_threads()
    x[thread_idx.x] = kept[(thread_idx.x + 1) % 64]


@struct
class Range:
    data: Ptr[i32]
    n: i32


@kernel
def fill_range(range: Range, value: i32) -> None:
    i = grid(1)
    if i < range.n:
        range.data[i] = value


def ones(count: int = 64) -> kdsl.DeviceArray:
    return kdsl.to_device(np.ones(count, np.int32))


@pytest.fixture(params=[True, False], ids=["blocking", "non-blocking"])
def stream(request: pytest.FixtureRequest, device: str) -> kdsl.Stream:
    return kdsl.Stream(blocking=request.param)


def test_a_capture_runs_nothing_and_a_launch_all_of_it(stream: kdsl.Stream) -> None:
    x = ones()
    with stream.capture() as graph:
        add[1, 64](x, 2, 64)
        scale[1, 64, stream](x, 5)
        add[LaunchConfig(2, 32)](x, 1, 64)
    np.testing.assert_array_equal(x.to_host(), np.ones(64))
    run = graph.instantiate()
    expected = np.ones(64, np.int32)
    for place in (None, stream, kdsl.Stream(), kdsl.Stream(blocking=False)):
        run.launch(place)
        run.replay(place)
        expected = ((expected + 2) * 5 + 1 + 2) * 5 + 1
        np.testing.assert_array_equal(x.to_host(), expected)


def test_nodes_tell_what_they_launch(stream: kdsl.Stream) -> None:
    x = ones()
    with stream.capture() as graph:
        assert graph.nodes == ()
        add[1, 64](x, 2, 64)
        scale[2, (16, 2)](x, 5)
    first, second = graph.nodes
    assert (len(graph), first.kind, first.kernel, first.grid, first.block) == (
        2,
        "kernel",
        "add",
        (1, 1, 1),
        (64, 1, 1),
    )
    assert first.arguments == {"x": x.address, "value": 2, "n": 64} and first.depends == ()
    assert second.arguments == {"x": (x.address, 64), "factor": 5} and second.depends == (first,)
    assert (second.grid, second.block) == ((2, 1, 1), (16, 2, 1))
    assert repr(second) == "<kernel node scale[(2, 1, 1), (16, 2, 1)]>"


def test_arguments_and_configurations_are_updated(stream: kdsl.Stream) -> None:
    x, other = ones(), ones()
    with stream.capture() as graph:
        add[1, 64](x, 2, 64)
        scale[1, 64](x, 3)
    run = graph.instantiate()
    run.nodes[0].update(value=10)
    run.nodes[1].update(x=other)
    run.launch()
    np.testing.assert_array_equal(x.to_host(), np.full(64, 11))
    np.testing.assert_array_equal(other.to_host(), np.full(64, 3))
    assert run.nodes[0].arguments == {"x": x.address, "value": 10, "n": 64}
    assert graph.nodes[0].arguments["value"] == 2  # the graph itself stays
    run.nodes[0].update((2, 16), n=20, value=1)
    assert (run.nodes[0].grid, run.nodes[0].block) == ((2, 1, 1), (16, 1, 1))
    run.launch()
    np.testing.assert_array_equal(x.to_host(), np.where(np.arange(64) < 20, 12, 11))
    smaller = kdsl.to_device(np.full(8, 5, np.int32))
    run.nodes[1].update(LaunchConfig(1, 8), x=smaller, factor=-1)
    run.launch()
    np.testing.assert_array_equal(smaller.to_host(), np.full(8, -5))
    again = graph.instantiate()
    again.launch()
    np.testing.assert_array_equal(x.to_host()[40:], np.full(24, 39))


def test_updates_are_checked_as_launches_are(stream: kdsl.Stream) -> None:
    x = ones()
    with stream.capture() as graph:
        add[1, 64](x, 2, 64)
    node = graph.instantiate().nodes[0]
    for wrong, text in (
        ({"value": 2.5}, "argument `value` takes an int .i32., got float 2.5"),
        ({"value": 2**31}, "argument `value`"),
        ({"x": kdsl.zeros(3)}, r"argument `x` takes Ptr\[i32\] .* got a DeviceArray of float32"),
        ({"x": np.zeros(3, np.int32)}, "make kdsl.to_device.x. before the capture, pass that"),
        ({"y": 1}, r"add\(x, value, n\) has no parameter 'y'"),
    ):
        with pytest.raises(ArgumentError, match=text):
            node.update(**wrong)  # type: ignore[arg-type]
    for configuration, text in (
        ((0, 64), "must be at least 1"),
        ((1, 2048), "at most 1024"),
        ((1, 64, kdsl.Stream()), "a node has no stream of its own"),
        (LaunchConfig.for_num_elems(0), "launches at least one block"),
        (LaunchConfig(2, 64, cooperative=True), "cooperative of a node cannot change"),
    ):
        with pytest.raises(LaunchConfigError, match=text):
            node.update(configuration)
    assert node.arguments == {"x": x.address, "value": 2, "n": 64}


def test_nodes_of_kernels_that_are_specialised_on_their_arguments(stream: kdsl.Stream) -> None:
    x = kdsl.zeros(64)
    with stream.capture() as graph:
        fold[1, 64](x, (2, 1.5), 64, 1)
    run = graph.instantiate()
    run.launch()
    np.testing.assert_array_equal(x.to_host(), np.full(64, 4, np.float32))
    run.nodes[0].update(pair=(10, 0.5), flag=-1)
    run.launch()
    np.testing.assert_array_equal(x.to_host(), np.full(64, 4, np.float32))
    run.nodes[0].update(pair=(10, 2.5))
    run.launch()
    np.testing.assert_array_equal(x.to_host(), np.full(64, 24, np.float32))
    with pytest.raises(ArgumentError, match="argument `count` is a constant that the kernel was compiled with"):
        run.nodes[0].update(count=3)
    with pytest.raises(ArgumentError, match="argument `pair` takes"):
        run.nodes[0].update(pair=(1, 2, 3))


def test_dynamic_shared_memory_stays_with_a_new_configuration(stream: kdsl.Stream) -> None:
    x = kdsl.to_device(np.arange(64, dtype=np.int32))
    with stream.capture() as graph:
        rotate[1, 64, None, 256](x)
    run = graph.instantiate()
    run.nodes[0].update((1, 64))
    run.launch()
    np.testing.assert_array_equal(x.to_host(), np.roll(np.arange(64), -1))


def test_a_graph_is_updated_from_another_one(stream: kdsl.Stream) -> None:
    x, y = ones(), ones()

    def captured(array: kdsl.DeviceArray, value: int, extra: bool = False) -> kdsl.Graph:
        with stream.capture() as graph:
            add[1, 64](array, value, 64)
            scale[1, 64](array, value)
            if extra:
                add[1, 64](array, value, 64)
        return graph

    run = captured(x, 2).instantiate()
    run.update(captured(y, 7))
    run.launch()
    np.testing.assert_array_equal(x.to_host(), np.ones(64))
    np.testing.assert_array_equal(y.to_host(), np.full(64, 56))
    run.nodes[1].update(factor=2)
    run.launch()
    np.testing.assert_array_equal(y.to_host(), np.full(64, 126))
    with pytest.raises(
        StreamCaptureError, match="the other graph has 3 nodes, this one 2; instantiate the other graph"
    ):
        run.update(captured(y, 7, extra=True))
    with pytest.raises(TypeError, match="update takes a Graph"):
        run.update(run)  # type: ignore[arg-type]


def test_copies_and_fills_are_captured(stream: kdsl.Stream) -> None:
    x, y = ones(), ones()
    with stream.capture() as graph:
        y.copy_from(x)
        add[1, 64](y, 1, 64)
        x.fill(0)
    assert [node.kind for node in graph.nodes] == ["copy", "kernel", "fill"]
    np.testing.assert_array_equal(x.to_host(), np.ones(64))
    run = graph.instantiate()
    run.launch()
    np.testing.assert_array_equal(x.to_host(), np.zeros(64))
    np.testing.assert_array_equal(y.to_host(), np.full(64, 2))
    run.launch()
    np.testing.assert_array_equal(y.to_host(), np.full(64, 1))
    with pytest.raises(TypeError, match="a copy node of a graph has no arguments to change"):
        run.nodes[0].update(x=1)


def test_streams_fork_and_join_inside_of_a_capture(stream: kdsl.Stream) -> None:
    x, y = ones(), ones()
    other = kdsl.Stream(blocking=stream.blocking)
    with stream.capture() as graph:
        add[1, 64](x, 1, 64)
        other.wait(stream.record(kdsl.Event(timing=False)))
        add[1, 64, other](y, 5, 64)
        scale[1, 64](x, 2)
        stream.wait(other)
        add[1, 64](x, 3, 64)
    first, forked, middle, last = graph.nodes
    assert forked.depends == middle.depends == (first,)
    assert set(last.depends) == {forked, middle}
    np.testing.assert_array_equal(y.to_host(), np.ones(64))
    graph.instantiate().launch()
    np.testing.assert_array_equal(x.to_host(), np.full(64, 7))
    np.testing.assert_array_equal(y.to_host(), np.full(64, 6))
    add[1, 64, other](y, 1, 64)  # it is no longer captured
    np.testing.assert_array_equal(y.to_host(), np.full(64, 7))


def test_a_fork_must_be_joined(stream: kdsl.Stream) -> None:
    x = ones()
    other = kdsl.Stream(blocking=stream.blocking)
    with pytest.raises(StreamCaptureError, match="forked to another stream that was not joined"), stream.capture():
        add[1, 64](x, 1, 64)
        other.wait(stream)
        add[1, 64, other](x, 1, 64)
    for usable in (stream, other):
        add[1, 64, usable](x, 1, 64)
        usable.synchronize()
    np.testing.assert_array_equal(x.to_host(), np.full(64, 3))


def test_callbacks_are_called_at_each_launch(stream: kdsl.Stream) -> None:
    x = ones()
    seen: list[int] = []
    with stream.capture() as graph:
        add[1, 64](x, 1, 64)
        stream.add_callback(lambda: seen.append(len(seen)))
        add[1, 64](x, 1, 64)
    assert not seen and [node.kind for node in graph.nodes] == ["kernel", "host", "kernel"]
    run = graph.instantiate()
    del graph
    gc.collect()
    for _ in range(3):
        run.launch(stream)
    stream.synchronize()
    assert seen == [0, 1, 2]

    def failing() -> None:
        raise KeyError("mine")

    with stream.capture() as graph:
        stream.add_callback(failing)
    graph.instantiate().launch(stream)
    with pytest.raises(KeyError, match="mine"):
        stream.synchronize()


def test_a_graph_keeps_what_it_uses(stream: kdsl.Stream) -> None:
    out = kdsl.zeros(64, np.int32)
    x = kdsl.zeros(64, np.int32)
    with stream.capture() as graph:
        fill_range[1, 64](Range(x, 64), 3)
        add[1, 64](x, 1, 64)
        out.copy_from(x)
    address = x.address
    del x
    gc.collect()
    taken = [kdsl.zeros(64, np.int32) for _ in range(50)]
    assert address not in [array.address for array in taken]
    run = graph.instantiate()
    del graph
    gc.collect()
    taken += [kdsl.zeros(64, np.int32) for _ in range(50)]
    run.launch()
    np.testing.assert_array_equal(out.to_host(), np.full(64, 4))
    assert not any(array.to_host().any() for array in taken)


def test_memory_is_given_back_with_the_last_graph(device: str) -> None:
    gc.collect()
    gc.disable()
    try:
        stream = kdsl.Stream()
        x, y = ones(), ones()
        backend: Any = kdsl.current_device().backend
        with stream.capture() as graph:
            add[1, 64](x, 1, 64)
            add[1, 64](y, 1, 64)
        run = graph.instantiate()
        pins = backend._pins if device == "cuda" else backend.pins
        addresses = {x.address, y.address}
        assert set(pins._counts) == addresses
        del x, y
        assert set(pins._freed) == addresses
        run.nodes[0].update(value=2)
        run.launch()
        kdsl.synchronize()
        del graph
        assert set(pins._freed) == addresses
        del run
        assert not pins._counts and not pins._freed
    finally:
        gc.enable()


class Outside:
    """Records events in a stream of the current device that is not captured."""

    def record(self) -> kdsl.Event:
        return kdsl.Stream().record()


OUTSIDE = Outside()


def refuse_numpy(x: kdsl.DeviceArray, stream: kdsl.Stream) -> None:
    add[1, 64](np.ones(64, np.int32), 1, 64)


def refuse_legacy(x: kdsl.DeviceArray, stream: kdsl.Stream) -> None:
    add[1, 64, kdsl.legacy_stream](x, 1, 64)


REFUSED: list[tuple[Callable[[kdsl.DeviceArray, kdsl.Stream], object], type[Exception], str]] = [
    (lambda x, s: kdsl.zeros(3), StreamCaptureError, "allocating memory inside of a capture: make arrays before it"),
    (lambda x, s: kdsl.to_device([1]), StreamCaptureError, "allocating memory inside of a capture"),
    (
        lambda x, s: x.to_host(),
        StreamCaptureError,
        "a copy to the host inside of a capture: what is captured has not run",
    ),
    (lambda x, s: x.copy_from(np.ones(64, np.int32)), StreamCaptureError, "a copy to the device inside of a capture"),
    (lambda x, s: kdsl.synchronize(), StreamCaptureError, "waiting for the device inside of a capture"),
    (lambda x, s: s.synchronize(), StreamCaptureError, "waiting for a stream inside of a capture"),
    (lambda x, s: s.done, StreamCaptureError, "waiting for a stream inside of a capture"),
    (lambda x, s: kdsl.legacy_stream.synchronize(), StreamCaptureError, "waiting for a stream inside of a capture"),
    (
        refuse_numpy,
        ArgumentError,
        "argument `x` takes .* got a NumPy array; a graph copies nothing to or from it: make",
    ),
    (refuse_legacy, StreamCaptureError, "a launch in the default stream inside of a capture: leave the stream out"),
    (lambda x, s: s.record().synchronize(), StreamCaptureError, "the event was recorded in a capture"),
    (lambda x, s: s.record().done, StreamCaptureError, "the event was recorded in a capture"),
    (
        lambda x, s: s.wait(kdsl.Stream()),
        StreamCaptureError,
        "waits for work outside of the capture: what a capture waits",
    ),
    (lambda x, s: s.wait(OUTSIDE.record()), StreamCaptureError, "waits for work outside of the capture"),
]


@pytest.mark.parametrize("refused", range(len(REFUSED)))
def test_what_a_capture_refuses(stream: kdsl.Stream, refused: int) -> None:
    call, kind, text = REFUSED[refused]
    x = ones()
    with pytest.raises(kind, match=text), stream.capture() as graph:
        add[1, 64](x, 1, 64)
        call(x, stream)
    assert len(graph) == 0
    with pytest.raises(StreamCaptureError, match="the graph is empty, or its capture has not ended or failed"):
        graph.instantiate()
    # The stream is as it was, and the capture goes on if the error is caught inside.
    with stream.capture() as graph:
        with pytest.raises(kind, match=text):
            call(x, stream)
        add[1, 64](x, 1, 64)
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert kdsl.current_stream() is kdsl.legacy_stream
    np.testing.assert_array_equal(x.to_host(), np.full(64, 2))


def test_an_error_inside_ends_the_capture(stream: kdsl.Stream) -> None:
    x = ones()
    with pytest.raises(ZeroDivisionError), stream.capture() as graph:
        add[1, 64](x, 1, 64)
        _ = 1 // 0
    assert len(graph) == 0
    add[1, 64, stream](x, 1, 64)
    stream.synchronize()
    np.testing.assert_array_equal(x.to_host(), np.full(64, 2))


def test_default_streams_are_not_captured(device: str) -> None:
    with (
        pytest.raises(StreamCaptureError, match="the default stream cannot be captured; make a stream"),
        kdsl.legacy_stream.capture(),
    ):
        pass
    capture = kdsl.Stream().capture()
    with capture:
        pass
    with pytest.raises(RuntimeError, match="a capture is entered once"), capture:
        pass


def test_arrays_that_are_dropped_inside_of_a_capture(stream: kdsl.Stream) -> None:
    x = ones()
    temporary = [kdsl.zeros(100), kdsl.zeros(100)]
    with stream.capture() as graph:
        add[1, 64](x.reshape(8, 8), 1, 64)
        temporary.clear()
        gc.collect()
        add[1, 64](x, 1, 64)
    graph.instantiate().launch()
    np.testing.assert_array_equal(x.to_host(), np.full(64, 3))


def test_a_kernel_is_compiled_and_loaded_inside_of_a_capture(stream: kdsl.Stream) -> None:
    @kernel
    def fresh(x: Ptr[i32], value: i32) -> None:
        x[thread_idx.x] -= value

    x = ones()
    with stream.capture() as graph:
        fresh[1, 64](x, 5)
    graph.instantiate().launch()
    np.testing.assert_array_equal(x.to_host(), np.full(64, -4))


def test_other_threads_work_while_a_stream_is_captured(device: str) -> None:
    x, y = ones(), ones()
    results: list[object] = []

    def work() -> None:
        try:
            z = kdsl.to_device(np.ones(64, np.int32))
            add[1, 64](z, 1, 64)
            results.append(z.to_host().tolist())
            add[1, 64, kdsl.Stream(blocking=False)](y, 1, 64)
        except DeviceError as error:
            results.append(error)

    for blocking in (False, True):
        stream = kdsl.Stream(blocking=blocking)
        with stream.capture() as graph:
            add[1, 64](x, 1, 64)
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            add[1, 64](x, 1, 64)
        assert len(graph) == 2
    free, refused = results
    assert free == [2] * 64
    assert isinstance(refused, StreamCaptureError)
    assert "while another thread captures a stream that is ordered with the default stream" in str(refused)


def test_a_graph_is_built_from_prepared_launches(device: str) -> None:
    x, y = ones(), ones()
    graph = kdsl.Graph()
    assert graph.nodes == ()
    with pytest.raises(StreamCaptureError, match="the graph is empty"):
        graph.instantiate()
    first = graph.add_kernel(add.prepare(1, 64, x, 1, 64))
    second = graph.add_kernel(add.prepare(1, 64, y, 2, 64))
    last = graph.add_kernel(scale.prepare(1, 64, x, 10), depends=[first, second])
    with pytest.raises(AttributeError, match=r"run = graph.instantiate\(\), and run.launch\(\)"):
        graph.launch()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"run.nodes\[i\].update"):
        first.update(n=3)  # type: ignore[attr-defined]
    assert graph.nodes == (first, second, last) and last.depends == (first, second) and second.depends == ()
    run = graph.instantiate()
    run.launch()
    np.testing.assert_array_equal(x.to_host(), np.full(64, 20))
    np.testing.assert_array_equal(y.to_host(), np.full(64, 3))
    run.nodes[2].update(x=y, factor=3)
    run.launch()
    np.testing.assert_array_equal(y.to_host(), np.full(64, 15))
    with pytest.raises(TypeError, match="add_kernel takes kernel.prepare"):
        graph.add_kernel(add[1, 64])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="depends takes nodes of this graph"):
        kdsl.Graph().add_kernel(add.prepare(1, 64, x, 1, 64), depends=[first])
    assert graph.add_kernel(add.prepare(1, 64, x, 1, 64), depends=last).depends == (last,)
    with pytest.raises(LaunchConfigError, match="a launch of no blocks is no node"):
        graph.add_kernel(add.prepare(LaunchConfig.for_num_elems(0), x, 1, 64))
    prepared, before = add.prepare(1, 64, x, 1, 64), len(graph)
    x.free()
    with pytest.raises(ValueError, match="was freed by free()"):
        graph.add_kernel(prepared)
    assert len(graph) == before


def test_dot_shows_nodes_and_edges(device: str, tmp_path: Path) -> None:
    x = ones()
    with kdsl.Stream().capture() as graph:
        add[1, 64](x, 2, 64)
        x.fill(0)
    graph.debug_dot(tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text() == (
        "digraph {\n"
        f'  n0 [label="0: add[(1, 1, 1), (64, 1, 1)](x={x.address}, value=2, n=64)"];\n'
        '  n1 [label="1: fill"];\n'
        "  n0 -> n1;\n"
        "}\n"
    )


def test_a_graph_is_launched_in_no_capture(stream: kdsl.Stream) -> None:
    x = ones()
    with stream.capture() as graph:
        add[1, 64](x, 2, 64)
    run = graph.instantiate()
    with pytest.raises(StreamCaptureError, match="a graph inside of a capture"), stream.capture():
        run.launch()
    run.launch(stream)
    np.testing.assert_array_equal(x.to_host(), np.full(64, 3))


def test_a_failing_launch_is_named(stream: kdsl.Stream) -> None:
    if kdsl.current_device().name != "emulator":
        pytest.skip("a fault ends the process's context on a GPU")
    x = ones()
    with stream.capture() as graph:
        add[1, 64](x, 2, 64)
    run = graph.instantiate()
    run.nodes[0].update((1, 128), n=100)
    with pytest.raises(kdsl.MemoryFault, match="add"):
        run.launch()


def test_graphs_are_of_their_process(device: str) -> None:
    x = ones()
    with kdsl.Stream().capture() as graph:
        add[1, 64](x, 2, 64)
    assert type(graph) is kdsl.Graph
    for value in (graph, graph.instantiate()):
        with pytest.raises(TypeError, match="is of this process; capture it where it is launched"):
            pickle.dumps(value)
    for value in (graph.nodes[0], graph.instantiate().nodes[0]):
        with pytest.raises(TypeError, match=r"<kernel node add\[.* is of this process; capture its graph where it is"):
            pickle.dumps(value)
    with pytest.raises(TypeError, match=rf"Event\(0x[0-9a-f]+ on {device}:0\) is of this process; make an event"):
        pickle.dumps(kdsl.Event())


def test_streams_that_are_no_part_of_a_capture_work_as_always(stream: kdsl.Stream) -> None:
    x, y = ones(), ones()
    others = kdsl.Stream(blocking=False), kdsl.Stream()
    with stream.capture() as graph:
        add[1, 64](x, 1, 64)
        for other in others:
            add[1, 64, other](y, 1, 64)
            event = other.record()
            event.synchronize()
            assert other.done and event.done
            other.synchronize()
        add[1, 64](x, 1, 64)
    np.testing.assert_array_equal(y.to_host(), np.full(64, 3))
    np.testing.assert_array_equal(x.to_host(), np.ones(64))
    graph.instantiate().launch()
    np.testing.assert_array_equal(x.to_host(), np.full(64, 3))


def test_a_graph_that_is_called_says_how_it_is_launched(stream: kdsl.Stream) -> None:
    x = kdsl.zeros(4, i32)
    with stream.capture() as graph:
        add[1, 32](x, 1, 4)
    run = graph.instantiate()
    for call in (lambda: run(), lambda: run(3), lambda: run(n=3)):
        with pytest.raises(TypeError, match=r"run\.launch\(stream\); run\.nodes\[0\]\.update"):
            call()
    with pytest.raises(TypeError, match=r"run = graph\.instantiate\(\), and run\.launch\(stream\)"):
        graph()
