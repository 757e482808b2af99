"""Memory, variables and events inside of a capture: recorded rightly, done at once, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Ptr, f32, kernel, thread_idx
from kdsl.emulator.device import Emulator
from kdsl.errors import StreamCaptureError
from kdsl.runtime.array_making import zeros
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.event import Event
from kdsl.runtime.stream import Stream


@pytest.fixture(params=[True, False], ids=["blocking", "non-blocking"])
def stream(request: pytest.FixtureRequest, device: str) -> kdsl.Stream:
    return kdsl.Stream(blocking=request.param)


def test_kernels_that_name_variables_are_loaded_inside_of_a_capture(stream: kdsl.Stream) -> None:
    table = kdsl.device.array(8, f32, init=np.arange(8, dtype=np.float32))
    factors = kdsl.constant.empty(8, f32)
    factors.copy_from(np.full(8, 10, np.float32))

    @kernel
    def double() -> None:
        table[thread_idx.x] *= 2.0

    @kernel
    def add(x: Ptr[f32]) -> None:
        x[thread_idx.x] += table[thread_idx.x] + factors[thread_idx.x]

    x = kdsl.zeros(8)
    double[1, 8]()
    with stream.capture() as graph:
        # Its module, a second one, is told where the table is, and what the factors are.
        add[1, 8](x)
        double[1, 8]()
    run = graph.instantiate()
    for _ in range(2):
        run.launch()
    np.testing.assert_array_equal(x.to_host(), 20 + np.arange(8) * (2 + 4))


REFUSED: list[tuple[Callable[[kdsl.DeviceArray, Any], object], str]] = [
    (lambda x, c: x[:, 0].fill(3), "a fill of a strided array inside of a capture: it needs memory of its own"),
    (lambda x, c: x[:, 0].copy_from(np.ones(4, np.float32)), "a copy to a strided array inside of a capture: it needs"),
    (lambda x, c: x[1:].copy_from(x[:-1]), "a copy between overlapping arrays inside of a capture: it needs memory"),
    (lambda x, c: x.T.to_host(), "a copy to the host inside of a capture: what is captured has not run"),
    (lambda x, c: c.fill(5), "a copy to constant memory inside of a capture: it would run now, and not with the graph"),
]


@pytest.mark.parametrize("refused", range(len(REFUSED)))
def test_what_needs_memory_or_the_host_is_refused_by_name(stream: kdsl.Stream, refused: int) -> None:
    call, text = REFUSED[refused]
    x, constant = kdsl.zeros((4, 2)), kdsl.constant.empty(4, f32)

    @kernel
    def read(x: Ptr[f32]) -> None:
        x[thread_idx.x] += constant[thread_idx.x]

    read[1, 4](x)
    with stream.capture() as graph:
        with pytest.raises(StreamCaptureError, match=text):
            call(x, constant)
        read[1, 4](x)
    assert len(graph) == 1 and not constant.to_host().any()
    call(x, constant)
    graph.instantiate().launch()
    np.testing.assert_array_equal(
        x.to_host().ravel()[:4], [[3, 0, 3, 0], [1, 0, 1, 0], [0] * 4, [0] * 4, [5] * 4][refused]
    )


def test_an_event_of_a_capture_that_has_ended(stream: kdsl.Stream) -> None:
    other, x = kdsl.Stream(), kdsl.zeros(4)
    with stream.capture():
        x.fill(1)
        event = stream.record()
    with pytest.raises(StreamCaptureError, match="in a capture that has ended: record it again"):
        other.wait(event)
    with other.capture() as graph:
        with pytest.raises(StreamCaptureError, match="in a capture that has ended: record it again"):
            other.wait(event)
        x.fill(2)
    assert len(graph) == 1
    stream.record(event)
    other.wait(event)
    event.synchronize()


def test_a_stream_is_captured_once_at_a_time(stream: kdsl.Stream) -> None:
    x = kdsl.zeros(4)
    with stream.capture() as graph:
        x.fill(1)
        with pytest.raises(StreamCaptureError, match="is being captured already: .* make another stream for another"):
            stream.capture().__enter__()
        with kdsl.Stream(blocking=stream.blocking).capture() as inner:
            x.fill(2)
        x.fill(3)
    assert (len(graph), len(inner)) == (2, 1)
    assert kdsl.current_stream() is kdsl.legacy_stream


@pytest.mark.parametrize("blocking", [True, False])
def test_copies_in_another_stream_are_made_at_once(stream: kdsl.Stream, blocking: bool) -> None:
    x, y, square = kdsl.zeros(8), kdsl.to_device(np.arange(8, dtype=np.float32)), kdsl.zeros((2, 4))
    other = kdsl.Stream(blocking=blocking)
    square[:, 1].copy_from(y[:2])  # its kernel is loaded
    with stream.capture() as graph:
        with other:
            x.copy_from(y)
            y.fill(3)
            square[:, 0].copy_from(x[::4])
        y.fill(5)
    other.synchronize()
    np.testing.assert_array_equal(x.to_host(), np.arange(8))
    np.testing.assert_array_equal(square[:, 0].to_host(), [0, 4])
    np.testing.assert_array_equal(y.to_host(), np.full(8, 3))
    assert [node.kind for node in graph.nodes] == ["fill"]


def test_a_launch_is_recorded_while_another_capture_ends() -> None:
    device = Emulator(ordinal=21)
    first, second = device.create_stream(0, False), device.create_stream(0, False)
    captures = [device.begin_capture(stream, False) for stream in (first, second)]

    class Ending(int):
        """A handle: when it is looked for, another thread ends the first capture."""

        def __hash__(self) -> int:
            if captures[0] in device.captures:
                device.end_capture(captures[0])
            return int.__hash__(self)

    assert device.capture_of(Ending(second)) is captures[1]
    device.end_capture(captures[1])


# What is asked of the driver.


def test_strided_copies_in_another_stream(gpu: CudaDriver, fake_driver: Any) -> None:
    x, y, other = zeros((2, 4), backend=gpu), zeros((2, 4), backend=gpu), Stream(gpu, blocking=False)
    fake_driver.kernels["kdsl_copy_1_axes_4_bytes"] = lambda parameters: None
    with Stream(gpu).capture() as graph, other:
        fake_driver.called()
        x[:, 0].copy_from(y[:, 0])
        assert all(int(call[-2]) != 0 for call in fake_driver.calls if call[0] == "cuStreamWaitEvent")
    assert len(graph) == 0 and fake_driver.launched[-1][-1] == other.handle


def test_fresh_memory_is_written_in_a_stream_of_its_own(gpu: CudaDriver, fake_driver: Any) -> None:
    address = gpu.alloc(4)
    with Stream(gpu).capture() as graph:
        fake_driver.called()
        gpu.write_unused(address, memoryview(b"abcd"))
        made, copied, waited = (call for call in fake_driver.calls if call[0] not in ("cuCtxGetCurrent",))
        assert made == ("cuStreamCreateWithPriority", 1, 0)  # CU_STREAM_NON_BLOCKING
        assert copied[0] == "cuMemcpyHtoDAsync" and waited[0] == "cuStreamSynchronize"
        assert int(copied[-1]) == int(waited[1]) not in (0, 1)
    assert len(graph) == 0 and bytes(fake_driver.bytes_at(address, 4)) == b"abcd"
    assert int(copied[-1]) not in fake_driver.streams


def test_the_driver_is_not_asked_to_wait_for_a_capture_s_event(gpu: CudaDriver, fake_driver: Any) -> None:
    stream, other = Stream(gpu), Stream(gpu)
    with stream.capture():
        event = stream.record(Event(gpu))
    fake_driver.called()
    with pytest.raises(StreamCaptureError, match="in a capture that has ended"):
        other.wait(event)
    assert fake_driver.called() == []
