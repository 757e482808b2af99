"""Copies between devices, and kernels that use another one's memory."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl import Device, Ptr, f32, grid, i32, kernel

from .conftest import Pair


@kernel
def add(a: Ptr[f32], b: Ptr[f32], n: i32) -> None:
    i = grid(1)
    if i < n:
        a[i] += b[i]


@kernel
def slow_fill(a: Ptr[i32], value: i32, n: i32) -> None:
    i = grid(1)
    if i < n:
        total = 0
        for k in range(2000):
            total = (total * 1664525 + k) & 7
        a[i] = value + (total & 0)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0,), (2, 0, 3), (1000,)])
def test_copies_between_devices(pair: Pair, shape: tuple[int, ...]) -> None:
    first, second = pair
    host = np.arange(np.prod(shape, dtype=int), dtype=np.int64).reshape(shape)
    here = kdsl.to_device(host, first)
    there = here.to(second)
    assert there.device == second and there.address != here.address or not host.size
    assert np.array_equal(there.to_host(), host) and there.dtype == host.dtype
    assert here.to(first) is here and there.to(second) is there
    back = kdsl.zeros(shape, np.int64, device=first)
    back.copy_from(there)
    assert np.array_equal(back.to_host(), host)
    again = kdsl.to_device(there, first)
    assert again.device == first and np.array_equal(again.to_host(), host)


def test_views_are_copied_between_devices(pair: Pair) -> None:
    first, second = pair
    host = np.arange(24, dtype=np.int32).reshape(4, 6)
    here = kdsl.to_device(host, first)
    assert np.array_equal(here.T.to(second).to_host(), host.T)
    assert np.array_equal(here[1:3, ::2].to(second).to_host(), host[1:3, ::2])
    there = kdsl.zeros((4, 6), i32, device=second)
    there[:, ::3] = here[:, 1:3]
    expected = np.zeros((4, 6), np.int32)
    expected[:, ::3] = host[:, 1:3]
    assert np.array_equal(there.to_host(), expected)
    there[...] = here[0]
    assert np.array_equal(there.to_host(), np.broadcast_to(host[0], (4, 6)))


def test_a_wrong_shape_or_dtype_is_refused(pair: Pair) -> None:
    first, second = pair
    here, there = kdsl.zeros(3, i32, device=first), kdsl.zeros(4, i32, device=second)
    with pytest.raises(ValueError, match=r"the source has int32\[4\]"):
        here.copy_from(there)
    with pytest.raises(ValueError, match="float32"):
        here.copy_from(kdsl.zeros(3, f32, device=second))


def test_copies_are_ordered_with_the_work_of_both_devices(pair: Pair) -> None:
    """A copy comes after the kernel that writes its source, before what overwrites it, and before its own readers."""
    first, second = pair
    n = 1 << 16 if first.name == "cuda" else 64
    blocks = n // 64
    here, there, sums = (kdsl.zeros(n, i32, device=d) for d in (first, second, second))
    for round_ in range(1, 6):
        slow_fill[blocks, 64](here, round_, n)
        there.copy_from(here)
        slow_fill[blocks, 64](here, -1, n)
        accumulate[blocks, 64](sums, there, n)
    assert (sums.to_host() == 1 + 2 + 3 + 4 + 5).all()
    assert (here.to_host() == -1).all()


@kernel
def accumulate(total: Ptr[i32], x: Ptr[i32], n: i32) -> None:
    i = grid(1)
    if i < n:
        total[i] += x[i]


def test_the_source_may_be_freed_at_once(pair: Pair) -> None:
    first, second = pair
    n = 1 << 16 if first.name == "cuda" else 64
    copies = []
    for value in range(20):
        source = kdsl.zeros(n, i32, device=first)
        slow_fill[n // 64, 64](source, value, n)
        copies.append(source.to(second))
        del source
    for value, copy in enumerate(copies):
        assert (copy.to_host() == value).all()


def test_kernels_use_a_peer_s_memory_if_they_are_told_to(pair: Pair) -> None:
    first, second = pair
    if not first.can_access_peer(second):
        pytest.skip("these GPUs have no path to each other")
    # Access is for good, so this test has devices of its own where it can.
    if first.name == "emulator":
        first, second = Device("emulator:10"), Device("emulator:11")
        a, b = (kdsl.to_device(np.full(8, v, np.float32), d) for v, d in ((1, first), (2, second)))
        with pytest.raises(ValueError, match=rf"a DeviceArray on {second}; this launch is on {first}"):
            add[1, 8](a, b, 8)
    a, b = (kdsl.to_device(np.full(8, v, np.float32), d) for v, d in ((1, first), (2, second)))
    first.enable_peer_access(second)
    first.enable_peer_access(second)
    for _ in range(3):
        add[1, 8](a, b, 8)
        add[1, 8](b, b, 8)
    assert a.to_host().tolist() == [1 + 2 + 4 + 8] * 8
    assert b.to_host().tolist() == [16.0] * 8
    if first.name == "emulator":
        with pytest.raises(ValueError, match=rf"a DeviceArray on {first}; this launch is on {second}"):
            add[1, 8](b, a, 8)
    with pytest.raises(ValueError, match="a prepared launch takes arrays of one device"):
        add.prepare(1, 8, a, b, 8)


def test_launches_on_peers_memory_are_ordered_with_its_own_device(pair: Pair) -> None:
    first, second = pair
    if not first.can_access_peer(second):
        pytest.skip("these GPUs have no path to each other")
    if first.name == "emulator":
        first, second = Device("emulator:12"), Device("emulator:13")
    first.enable_peer_access(second)
    n = 1 << 16 if first.name == "cuda" else 64
    total = kdsl.zeros(n, i32, device=first)
    for value in range(1, 6):
        there = kdsl.zeros(n, i32, device=second)
        slow_fill[n // 64, 64](there, value, n)
        accumulate[n // 64, 64](total, there, n)
        slow_fill[n // 64, 64](there, -1, n)
        del there
    assert (total.to_host() == 15).all()


def test_a_stream_waits_for_events_and_streams_of_another_device(pair: Pair) -> None:
    first, second = pair
    n = 1 << 16 if first.name == "cuda" else 64
    here, pinned = kdsl.Stream(blocking=False), kdsl.pinned_empty(n, np.int32)
    with second:
        there = kdsl.Stream(blocking=False)
    source, copy = kdsl.zeros(n, i32, device=second), kdsl.zeros(n, i32, device=first)
    for round_ in range(1, 9):
        slow_fill[n // 64, 64, there](source, round_, n)
        source.to_host(pinned, stream=there)
        # By an event, or by the stream: what `here` reads next was written by `there`, and is not yet overwritten.
        event = there.record()
        here.wait(event if round_ % 2 else there)
        copy.copy_from(pinned, stream=here)
        after = here.record()
        there.wait(after)
        after.synchronize()
        assert event.done
        assert (copy.to_host() == round_).all()


def test_a_named_stream_is_the_current_device_s(pair: Pair) -> None:
    first, second = pair
    stream = kdsl.Stream()
    with second:
        kdsl.legacy_stream.wait(stream)
        stream.wait(kdsl.legacy_stream)
        stream.wait(kdsl.per_thread_stream)


def test_captures_on_two_devices_do_not_wait_for_each_other(pair: Pair) -> None:
    first, second = pair
    stream = kdsl.Stream(blocking=False)
    with second:
        other = kdsl.Stream(blocking=False)
    x = kdsl.zeros(4, device=first)
    event = other.record()
    with stream.capture() as graph:
        add[1, 4](x, x, 4)
        for theirs in (other, event):
            with pytest.raises(kdsl.errors.StreamCaptureError, match="a captured stream waits for work outside of the"):
                stream.wait(theirs)
        for mine in (stream, stream.record()):
            with pytest.raises(kdsl.errors.StreamCaptureError, match="in a capture on another device, and a graph is"):
                other.wait(mine)
        add[1, 4](x, x, 4)
    assert len(graph) == 2
    other.synchronize()


def test_graphs_take_no_arrays_of_other_devices(pair: Pair) -> None:
    first, second = pair
    if not first.can_access_peer(second):
        pytest.skip("these GPUs have no path to each other")
    if first.name == "emulator":
        first, second = Device("emulator:14"), Device("emulator:15")
    first.enable_peer_access(second)
    a, b = (kdsl.to_device(np.full(8, v, np.float32), d) for v, d in ((1, first), (2, second)))
    refused = (
        rf"argument `b` takes .*, got a DeviceArray on {second}; a graph uses arrays of its own .*b.to\('{first}'\)"
    )
    with first:
        stream = kdsl.Stream()
    with stream.capture() as graph:
        with pytest.raises(kdsl.ArgumentError, match=refused):
            add[1, 8](a, b, 8)
        add[1, 8](a, a, 8)
    with pytest.raises(kdsl.ArgumentError, match=refused):
        graph.instantiate().nodes[0].update(b=b)


@pytest.mark.gpu
def test_a_gpu_s_stream_does_not_wait_for_an_emulator_s() -> None:
    with Device("cuda"):
        stream = kdsl.Stream()
    with Device("emulator"):
        other = kdsl.Stream()
    for theirs in (other, other.record()):
        with pytest.raises(ValueError, match=r"cannot wait for .* which is no device of its kind; wait on the host: "):
            stream.wait(theirs)


def test_what_cannot_be_peers(pair: Pair) -> None:
    first, _ = pair
    assert first.can_access_peer(first)
    first.enable_peer_access(first)
    with pytest.raises(TypeError, match="a kdsl.Device is needed"):
        first.enable_peer_access("cuda:1")  # type: ignore[arg-type]


@pytest.mark.gpu
def test_a_gpu_and_an_emulator_share_nothing() -> None:
    gpu, emulator = Device("cuda"), Device("emulator")
    assert not gpu.can_access_peer(emulator)
    with pytest.raises(ValueError, match="share no memory"):
        gpu.enable_peer_access(emulator)
    host = np.arange(5, dtype=np.float32)
    assert kdsl.to_device(host, gpu).to(emulator).to(gpu).to_host().tolist() == host.tolist()


def test_a_capture_and_a_callback_copy_nothing_from_another_device(pair: Pair) -> None:
    first, second = pair
    here, there = kdsl.zeros(4, device=first), kdsl.zeros(4, device=second)
    stream = kdsl.Stream()
    for copy in (lambda: here.to(second), lambda: here.copy_from(there)):
        with stream.capture(), pytest.raises(kdsl.errors.StreamCaptureError, match=" inside of a capture: "):
            copy()
    with stream.capture() as graph, pytest.raises(kdsl.errors.StreamCaptureError, match="a copy between devices"):
        there.copy_from(here)
    assert not graph.nodes
    for use in (lambda: there.fill(1), lambda: there.copy_from(here), second.synchronize):
        stream.add_callback(use)
        with pytest.raises(kdsl.DeviceError, match="a callback of a stream must not use the device"):
            stream.synchronize()


def test_messages_tell_the_devices_of_streams_events_and_graphs_apart(pair: Pair) -> None:
    first, second = pair
    stream = kdsl.Stream()
    with second:
        other, event, theirs = kdsl.Stream(), kdsl.Event(), kdsl.Graph()
    assert f"on {first})" in repr(stream) and f"on {second})" in repr(other) and f"on {second}>" in repr(theirs)
    with pytest.raises(ValueError, match=rf"on {second}\) belongs to another device than Stream.* on {first}\), where"):
        stream.record(event)
    with pytest.raises(ValueError, match=rf"on {first}\) and Event.* on {second}\) are of two devices, whose clocks"):
        stream.record().elapsed_ms(event)
    with pytest.raises(ValueError, match=rf"on {second}\) belongs to another device than what .* on {first}; make a"):
        add[1, 4, other](*(kdsl.zeros(4, device=first) for _ in range(2)), 4)
    x = kdsl.zeros(4, device=first)
    with pytest.raises(ValueError, match=f"prepared for {first}, and this graph is on {second}: prepare it with"):
        theirs.add_kernel(add.prepare(1, 4, x, x, 4))
    with stream.capture() as graph:
        add[1, 4](x, x, 4)
    with pytest.raises(ValueError, match=f"the other graph is on {second}, and this one on {first}; instantiate the"):
        graph.instantiate().update(theirs)
