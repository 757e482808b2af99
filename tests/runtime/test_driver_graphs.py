"""Graphs of the driver: what is asked of it, what it may not be asked, and what its errors become."""

from __future__ import annotations

import gc
import struct
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from kdsl.errors import CaptureInvalidatedError, StreamCaptureError
from kdsl.lang.types import F32, I32, PointerType
from kdsl.runtime.array_making import zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.event import Event
from kdsl.runtime.graph import Graph
from kdsl.runtime.launch import Launcher
from kdsl.runtime.prepared import prepare
from kdsl.runtime.stream import Stream

from .fake_driver import FakeDriver, function

PARAMETERS = (("a", PointerType(F32)), ("n", I32))


@pytest.fixture
def launcher(gpu: CudaDriver) -> Launcher:
    return Launcher("vadd", PARAMETERS, gpu, function(gpu))


@pytest.fixture
def ran(fake_driver: Any, gpu: CudaDriver) -> list[tuple[int, int]]:
    """What the kernel was run with."""
    seen: list[tuple[int, int]] = []
    fake_driver.kernels["vadd"] = lambda parameters: seen.append(struct.unpack("<Qi", parameters))
    return seen


def test_launches_are_captured_and_nodes_updated(
    gpu: CudaDriver, launcher: Launcher, fake_driver: Any, ran: Any
) -> None:
    a, b = zeros(4, backend=gpu), zeros(4, backend=gpu)
    stream = Stream(gpu)
    run = launcher.bind(LaunchConfig(1, 32))
    named = launcher.bind(LaunchConfig(2, 64, stream=stream, shared=64))
    extended = launcher.bind(LaunchConfig(3, 32, programmatic_dependent_launch=True))
    with stream.capture() as graph:
        run(a, 4)
        named(a, 5)
        extended(a, 6)
    assert not ran
    assert [(n.kernel, n.grid, n.arguments["n"]) for n in graph.nodes] == [
        ("vadd", (1, 1, 1), 4),
        ("vadd", (2, 1, 1), 5),
        ("vadd", (3, 1, 1), 6),
    ]
    assert [len(node.depends) for node in graph.nodes] == [0, 1, 1]
    executable = graph.instantiate()
    executable.launch()
    assert ran == [(a.address, 4), (a.address, 5), (a.address, 6)]
    ran.clear()
    executable.nodes[1].update((7, 32), a=b, n=50)
    (nodes,) = fake_driver.executables.values()
    assert [node.grid for node in nodes.values()][1] == (7, 1, 1, 32, 1, 1, 64)
    executable.launch(stream)
    assert ran == [(a.address, 4), (b.address, 50), (a.address, 6)]
    run(a, 9)
    assert ran[-1] == (a.address, 9)  # launches are no longer looked at
    assert gpu._calls.launch is gpu._calls.native


def test_everything_is_given_back(gpu: CudaDriver, launcher: Launcher, fake_driver: Any) -> None:
    a = zeros(4, backend=gpu)
    stream = Stream(gpu)
    with stream.capture() as graph:
        launcher.bind(LaunchConfig(1, 32))(a, 4)
        stream.add_callback(print)
    executable = graph.instantiate()
    address = a.address
    del a
    assert address in fake_driver.memory and gpu._callbacks
    executable.launch()
    del graph, executable
    assert address not in fake_driver.memory
    assert not fake_driver.graphs and not fake_driver.executables and not gpu._callbacks and not gpu._noted
    with pytest.raises(ZeroDivisionError), stream.capture():
        _ = 1 // 0
    assert not fake_driver.graphs and not fake_driver.captures and not gpu._noted and not gpu._capture_ids


@pytest.mark.parametrize("use", ["launch", "update", "replace"])
def test_threads_use_an_executable_one_after_the_other(
    gpu: CudaDriver, launcher: Launcher, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    """The driver does not see to that, and the call that launches a graph lets other threads run."""
    a, stream = zeros(4, backend=gpu), Stream(gpu)
    with stream.capture() as graph:
        launcher.bind(LaunchConfig(1, 32))(a, 4)
    run = graph.instantiate()
    run.launch()
    uses = {"launch": run.launch, "update": lambda: run.nodes[0].update(n=5), "replace": lambda: run.update(graph)}
    order: list[str] = []
    launch = FakeDriver._cuGraphLaunch
    thread = threading.Thread(target=lambda: (uses[use](), order.append("other")))

    def launch_beside(*arguments: Any) -> None:
        if not order:
            order.append("begins")
            thread.start()
            thread.join(0.3)
            order.append("ends")
        launch(*arguments)

    monkeypatch.setattr(FakeDriver, "_cuGraphLaunch", launch_beside)
    run.launch()
    thread.join(10)
    assert order == ["begins", "ends", "other"]


def test_an_argument_that_another_thread_changes_stays_changed(gpu: CudaDriver, launcher: Launcher) -> None:
    a, b, stream = zeros(4, backend=gpu), zeros(4, backend=gpu), Stream(gpu)
    with stream.capture() as graph:
        launcher.bind(LaunchConfig(1, 32))(a, 4)
    node = graph.instantiate().nodes[0]
    thread = threading.Thread(target=lambda: node.update(n=5))

    class Index:
        """An int that is asked for while another thread changes another argument."""

        def __index__(self) -> int:
            if not thread.ident:
                thread.start()
                thread.join(0.3)
            return 1

    node.update((Index(), 32), a=b)
    thread.join(10)
    assert node.arguments["n"] == 5 and node.arguments["a"] == b.address


def test_frees_wait_for_the_end_of_a_capture(gpu: CudaDriver, launcher: Launcher, fake_driver: Any) -> None:
    a, b = zeros(4, backend=gpu), zeros(4, backend=gpu)
    with Stream(gpu).capture():
        fake_driver.called()
        del b
        launcher.bind(LaunchConfig(1, 32))(a, 4)
        assert "cuMemFreeAsync" not in fake_driver.called()
    assert "cuMemFreeAsync" in fake_driver.called()


def test_nothing_that_would_end_the_capture_is_asked_of_the_driver(gpu: CudaDriver, fake_driver: Any) -> None:
    a = zeros(4, backend=gpu)
    stream = Stream(gpu)
    uses = (
        lambda: zeros(4, backend=gpu),
        a.to_host,
        lambda: a.copy_from(np.ones(4, np.float32)),
        gpu.synchronize,
        stream.synchronize,
        lambda: stream.done,
    )
    with stream.capture():
        for use in uses:
            fake_driver.called()
            with pytest.raises(StreamCaptureError, match="inside of a capture"):
                use()
            assert fake_driver.called("cuStreamGetCaptureInfo") == []


def test_events_of_a_capture_are_not_waited_for(gpu: CudaDriver, fake_driver: Any) -> None:
    stream, other, event = Stream(gpu), Stream(gpu), Event(gpu)
    outside = other.record()
    with stream.capture():
        event.record(stream)
        fake_driver.called()
        for use in (event.synchronize, event.query, lambda: event.elapsed_ms(outside)):
            with pytest.raises(StreamCaptureError, match="the event was recorded in a capture"):
                use()
        for wait in (lambda: stream.wait(outside), lambda: stream.wait(other)):
            with pytest.raises(StreamCaptureError, match="waits for work outside of the capture"):
                wait()
        with pytest.raises(StreamCaptureError, match="a wait in the default stream inside of a capture"):
            gpu.wait_event(event.handle, 0)
        assert "cuStreamWaitEvent" not in fake_driver.called()
        outside.synchronize()
    event.record(stream)
    assert event.done


def test_other_threads_wait_without_ending_a_capture(gpu: CudaDriver, fake_driver: Any) -> None:
    a = zeros(4, backend=gpu)
    with Stream(gpu, blocking=False).capture():
        fake_driver.called()
        thread = threading.Thread(target=a.to_host)
        thread.start()
        thread.join()
        called = fake_driver.called()
        assert "cuCtxSynchronize" not in called
        assert called.index("cuEventRecord") < called.index("cuEventSynchronize") < called.index("cuMemcpyDtoH")


class Foreign:
    """An array of another CUDA library, in a stream of its own."""

    def __init__(self, address: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (4,), "typestr": "<f4", "data": (address, False), "version": 3, "strides": None,
            "stream": 0x7000000,
        }  # fmt: skip


def test_arrays_of_other_libraries_are_kept_and_not_waited_for(
    gpu: CudaDriver, launcher: Launcher, fake_driver: Any, ran: Any
) -> None:
    run = launcher.bind(LaunchConfig(1, 32))
    array = Foreign(4096)
    alive = weakref.ref(array)
    stream = Stream(gpu)
    prepared = prepare(launcher, LaunchConfig(1, 32, stream=stream), {"a": Foreign(8192), "n": 2})
    with stream.capture() as graph:
        fake_driver.called()
        run(array, 1)
        prepared()
        assert not {"cuStreamWaitEvent", "cuEventRecord"} & set(fake_driver.called())
    del array
    gc.collect()
    assert alive() is not None and len(graph) == 2
    graph.instantiate().launch()
    assert ran == [(4096, 1), (8192, 2)]
    with stream:
        fake_driver.called()
        run(Foreign(4096), 3)
        # In the current stream, after the array's own.
        waited, launched = (
            next(call for call in fake_driver.calls if call[0] == name)
            for name in ("cuStreamWaitEvent", "cuLaunchKernel")
        )
        assert int(waited[1]) == stream.handle == int(launched[9])
    del graph
    gc.collect()
    assert alive() is None


def test_other_streams_are_ordered_with_fills_of_before_a_capture(
    gpu: CudaDriver, launcher: Launcher, fake_driver: Any, ran: Any
) -> None:
    a = zeros(4, backend=gpu)
    other = Stream(gpu, blocking=False)
    with Stream(gpu).capture() as graph:
        fake_driver.codes["cuEventQuery"] = [600]
        fake_driver.called()
        launcher.bind(LaunchConfig(1, 32, stream=other))(a, 1)
        called = fake_driver.called("cuStreamIsCapturing", "cuStreamGetCaptureInfo", "cuEventCreate")
        assert called == ["cuEventQuery", "cuStreamWaitEvent", "cuLaunchKernel", "cuEventRecord"]
    assert len(graph) == 0 and [n for _, n in ran] == [1]


def test_copies_fills_and_events_are_captured(gpu: CudaDriver, launcher: Launcher, ran: Any) -> None:
    a, b = zeros(4, backend=gpu), zeros(4, backend=gpu)
    stream, other = Stream(gpu), Stream(gpu, blocking=False)
    with stream.capture() as graph:
        b.copy_from(a)
        a.fill(0)
        other.wait(stream.record(Event(gpu)))
        launcher.bind(LaunchConfig(1, 32, stream=other))(a, 1)
        stream.wait(other)
        launcher.bind(LaunchConfig(1, 32))(a, 2)
    assert [node.kind for node in graph.nodes] == ["copy", "fill", "kernel", "kernel"]
    copy, fill, forked, joined = graph.nodes
    assert forked.depends == (fill,) and set(joined.depends) == {fill, forked} and fill.depends == (copy,)
    graph.instantiate().launch()
    assert [n for _, n in ran] == [1, 2]


def test_unordered_streams_are_ordered_with_fills(gpu: CudaDriver, launcher: Launcher, fake_driver: Any) -> None:
    a = zeros(4, backend=gpu)
    with Stream(gpu).capture() as graph:
        launcher.bind(LaunchConfig(1, 32))(a, 1)
    executable = graph.instantiate()
    stream = Stream(gpu, blocking=False)
    a.fill(3)
    fake_driver.codes["cuEventQuery"] = [600]
    fake_driver.called()
    executable.launch(stream)
    assert fake_driver.called("cuEventCreate", "cuStreamIsCapturing", "cuGetProcAddress") == [
        "cuEventRecord",
        "cuEventQuery",
        "cuStreamWaitEvent",
        "cuGraphLaunch",
        "cuEventRecord",
    ]
    with stream:
        executable.launch()
    launched = next(call for call in fake_driver.calls if call[0] == "cuGraphLaunch")
    assert int(launched[2]) == stream.handle


def test_a_capture_that_was_ended_by_another_library(gpu: CudaDriver, launcher: Launcher, fake_driver: Any) -> None:
    a = zeros(4, backend=gpu)
    stream = Stream(gpu)
    fake_driver.codes["cuStreamEndCapture"] = [901]
    with (
        pytest.raises(StreamCaptureError, match=r"ended by a call that cannot be recorded.*STREAM_CAPTURE_INVALIDATED"),
        stream.capture(),
    ):
        launcher.bind(LaunchConfig(1, 32))(a, 4)
    assert not gpu.captures and not gpu._noted and gpu._calls.launch is gpu._calls.native
    fake_driver.captures.clear()
    fake_driver.codes["cuStreamBeginCapture"] = [901]
    with pytest.raises(CaptureInvalidatedError), stream.capture():
        pass
    assert not gpu.captures and stream is not gpu.stream_state.current


def test_a_fork_that_is_not_joined(gpu: CudaDriver, launcher: Launcher) -> None:
    a = zeros(4, backend=gpu)
    stream, other = Stream(gpu), Stream(gpu)
    with pytest.raises(StreamCaptureError, match="forked to another stream that was not joined"), stream.capture():
        other.wait(stream)
        launcher.bind(LaunchConfig(1, 32, stream=other))(a, 4)
    assert not gpu.captures


def test_graphs_are_built(gpu: CudaDriver, launcher: Launcher, fake_driver: Any, ran: Any) -> None:
    a = zeros(4, backend=gpu)
    graph = Graph(gpu)
    first = graph.add_kernel(prepare(launcher, LaunchConfig(1, 32), {"a": a, "n": 1}))
    second = graph.add_kernel(prepare(launcher, LaunchConfig(2, 32, cluster=2), {"a": a, "n": 2}), [first])
    assert second.depends == (first,)
    (nodes,) = fake_driver.graphs.values()
    value = list(nodes.values())[1].attributes["CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION"]
    assert (value.clusterDim.x, value.clusterDim.y, value.clusterDim.z) == (2, 1, 1)
    graph.instantiate().launch()
    assert [n for _, n in ran] == [1, 2]


def test_an_update_that_the_driver_refuses(gpu: CudaDriver, launcher: Launcher, fake_driver: Any, ran: Any) -> None:
    a = zeros(4, backend=gpu)

    def captured(n: int) -> Graph:
        with Stream(gpu).capture() as graph:
            launcher.bind(LaunchConfig(1, 32))(a, n)
        return graph

    executable = captured(1).instantiate()
    executable.update(captured(2))
    executable.launch()
    assert ran == [(a.address, 2)]
    fake_driver.codes["cuGraphExecUpdate"] = [910]
    with pytest.raises(StreamCaptureError, match="the driver cannot take over the other graph's nodes; instantiate it"):
        executable.update(captured(3))
    fake_driver.codes["cuGraphExecKernelNodeSetParams"] = [1]
    with pytest.raises(Exception, match="cuGraphExecKernelNodeSetParams failed"):
        executable.nodes[0].update(n=7)
    executable.launch()
    assert ran == [(a.address, 2)] * 2 and executable.nodes[0].arguments["n"] == 2


def test_a_fault_names_the_graphs_kernels(gpu: CudaDriver, launcher: Launcher, fake_driver: Any) -> None:
    a = zeros(4, backend=gpu)
    with Stream(gpu).capture() as graph:
        launcher.bind(LaunchConfig(1, 32))(a, 1)
        launcher.bind(LaunchConfig(2, 32))(a, 1)
    executable = graph.instantiate()
    gpu.synchronize()
    executable.launch()
    executable.launch()
    fake_driver.fault = 700
    with pytest.raises(Exception, match=r"`vadd` \(grid \(1, 1, 1\).*, `vadd` \(grid \(2, 1, 1\)"):
        gpu.synchronize()
    del graph, executable
    gc.collect()  # nothing is destroyed where the context is lost


def test_synchronous_launches_do_not_wait_for_what_is_captured(fake_driver: Any) -> None:
    fake_driver.kernels = {"vadd": lambda parameters: None}
    gpu = CudaDriver(api=fake_driver, synchronous=True)
    launcher = Launcher("vadd", PARAMETERS, gpu, function(gpu))
    a = zeros(4, backend=gpu)
    run = launcher.bind(LaunchConfig(1, 32))
    with Stream(gpu).capture() as graph:
        run(a, 1)
    assert len(graph) == 1
    with Stream(gpu) as stream:
        run(a, 1)
        graph.instantiate().launch()
    waited = [int(call[1]) for call in fake_driver.calls if call[0] == "cuStreamSynchronize"]
    assert waited == [stream.handle, stream.handle]


def test_what_a_graph_keeps_is_held_until_its_launches_have_ended(
    gpu: CudaDriver, launcher: Launcher, fake_driver: Any
) -> None:
    class Kept:
        def called(self) -> None:
            """A callback of the graph's."""

    stream, kept, argument = Stream(gpu), Kept(), Kept()
    callback, passed = weakref.ref(kept), weakref.ref(argument)
    a = zeros(4, backend=gpu)
    with stream.capture() as graph:
        launcher.bind(LaunchConfig(1, 32))(a, 4)
        stream.add_callback(kept.called)
    executable = graph.instantiate()
    executable._instance.kept[0] = (None, argument)
    del kept, argument
    executable.launch()
    fake_driver.codes["cuEventQuery"] = [600] * 4
    executable.nodes[0].update(n=5)
    assert passed() is not None
    del graph, executable
    assert callback() is not None and passed() is not None and gpu._callbacks
    fake_driver.codes["cuEventQuery"] = []
    gpu.synchronize()
    assert callback() is None and passed() is None and not gpu._callbacks


def test_what_is_dropped_in_a_callback_or_a_capture_is_let_go_later(gpu: CudaDriver, fake_driver: Any) -> None:
    stream, owners = Stream(gpu), [Graph(gpu), Graph(gpu)]
    held = [weakref.ref(owner) for owner in owners]
    stream.add_callback(lambda: gpu.release(owners.pop()))
    stream.synchronize()
    assert held[1]() is None
    with stream.capture():
        fake_driver.called()
        gpu.release(owners.pop())
        assert fake_driver.called() == [] and held[0]() is not None
    gpu.synchronize()
    assert held[0]() is None
