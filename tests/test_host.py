"""Arrays, streams and events on the current device."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl import Ptr, f32, grid, i32, kernel


@kernel
def double(x: Ptr[f32], n: i32) -> None:
    i = grid(1)
    if i < n:
        x[i] = x[i] * 2.0


def test_a_launch_between_two_events_of_a_stream(device: str) -> None:
    host = np.arange(100, dtype=np.float32)
    x = kdsl.to_device(host)
    stream = kdsl.Stream()
    start = stream.record()
    double[1, 128, stream](x, 100)
    end = stream.record()
    end.synchronize()
    assert end.done
    assert start.elapsed_ms(end) >= 0
    assert isinstance(end, kdsl.Event)
    np.testing.assert_array_equal(x.to_host(), host * 2)


def test_one_stream_waits_for_another(device: str) -> None:
    x = kdsl.zeros((4, 8))
    x.fill(1.5)
    first, second = kdsl.Stream(), kdsl.Stream()
    double[1, 32, first](x, 32)
    second.wait(first.record())
    double[1, 32, second](x, 32)
    second.synchronize()
    assert second.done
    np.testing.assert_array_equal(x.to_host(), np.full((4, 8), 6, np.float32))


def test_what_an_event_cannot_time(device: str) -> None:
    untimed = kdsl.Event(timing=False)
    untimed.record()
    with pytest.raises(ValueError, match="the start event was made with timing=False"):
        untimed.elapsed_ms(kdsl.Stream().record())
    with pytest.raises(ValueError, match="the end event was never recorded"):
        kdsl.Stream().record().elapsed_ms(kdsl.Event())
    with pytest.raises(TypeError, match="an Event is needed"):
        kdsl.Stream().record().elapsed_ms(kdsl.Stream())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="an Event is needed"):
        kdsl.Stream().wait(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="recorded in a kdsl.Stream"):
        kdsl.Event().record(0)  # type: ignore[arg-type]


def test_arrays_are_made_on_the_current_device(device: str) -> None:
    for array in (kdsl.empty(3), kdsl.zeros(3, np.int32), kdsl.to_device([1, 2, 3])):
        assert array.device == kdsl.current_device()
        assert array.backend.name == device
    assert kdsl.empty(3).dtype == np.float32
    kdsl.synchronize()
