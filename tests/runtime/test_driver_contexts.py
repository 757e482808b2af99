"""Two GPUs in one process: every call in its own device's context, and the thread's context left as it was found."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kdsl.backend import DeviceError, Launch
from kdsl.errors import StreamCaptureError
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.event import Event
from kdsl.runtime.graph import GraphExecutable
from kdsl.runtime.native_call import native_call
from kdsl.runtime.parameters import ParameterBuffer
from kdsl.runtime.stream import Stream

from .fake_driver import FakeDriver

LAUNCH = Launch((1, 1, 1), (32, 1, 1))
OTHERS = 1077
"""The context of another library."""


class TwoGpus(FakeDriver):
    """Functions belong to the context in which they were looked up; a launch in another one is refused."""

    def __init__(self, real: Any, **attributes: int) -> None:
        super().__init__(real, **attributes)
        self.devices = 2
        self.kernels = {"k": lambda parameters: self.ran.append(self.context)}
        self.ran: list[int] = []
        self.reachable = True
        self.wrong: list[str] = []
        self.owners: dict[int, int] = {}
        self.contexts: dict[int, int] = {}
        self.strict = True

    @property
    def context(self) -> int:
        return getattr(self.current, "context", 0)

    def _cuDevicePrimaryCtxRetain(self, device: Any) -> Any:
        return (self.real.CUcontext(77 + int(device)),)

    def _cuKernelGetFunction(self, kernel: Any) -> Any:
        return (self.real.CUfunction(int(kernel) + 100 + 10000 * (self.context - 77)),)

    def _launch_by_address(self, address: int, function: int, parameters: int | None, extra: int | None) -> int:
        if self.context != 77 + function // 10000:
            self.wrong.append("launch")
            return 201 if not self.context else 400
        return super()._launch_by_address(address, function % 10000, parameters, extra)

    def _cuMemPoolCreate(self, properties: Any) -> Any:
        return (self.real.CUmemoryPool(55 + 1000 * properties.location.id),)

    def _cuMemAllocFromPoolAsync(self, size: int, pool: Any, stream: int) -> Any:
        assert self.context == 77 + (int(pool) - 55) // 1000
        return self._allocate(size)

    def _cuDeviceCanAccessPeer(self, device: Any, peer: Any) -> Any:
        return (int(self.reachable),)

    def _cuCtxEnablePeerAccess(self, context: Any, flags: int) -> None:
        assert (self.context, int(context), flags) == (77, 78, 0)

    def _cuMemPoolSetAccess(self, pool: Any, accesses: Any, count: int) -> None:
        (access,) = accesses
        assert (int(pool), access.location.id, access.flags.name, count) == (
            1055, 0, "CU_MEM_ACCESS_FLAGS_PROT_READWRITE", 1
        )  # fmt: skip

    def bytes_at(self, address: int, size: int) -> Any:
        """Memory is used in the context of its own device, as a GPU demands."""
        owner = next(
            (
                c
                for base, c in self.owners.items()
                if base in self.memory and base <= address < base + len(self.memory[base])
            ),
            None,
        )
        if owner is not None and self.strict:
            assert self.context == owner, f"0x{address:x} is used in the context {self.context}"
        return super().bytes_at(address, size)

    def _allocate(self, size: int) -> Any:
        found = super()._allocate(size)
        self.owners[int(found[0])] = self.context
        return found

    # Streams and events belong to the context in which they are made; the default streams are the current context's.

    def _cuStreamCreateWithPriority(self, flags: int, priority: int) -> Any:
        found = super()._cuStreamCreateWithPriority(flags, priority)
        self.contexts[int(found[0])] = self.context
        return found

    def _cuEventCreate(self, flags: int) -> Any:
        found = super()._cuEventCreate(flags)
        self.contexts[int(found[0])] = self.context
        return found

    def _cuEventRecord(self, event: Any, stream: Any) -> None:
        assert self.contexts[int(event)] == self.contexts.get(int(stream), self.context), "CUDA_ERROR_INVALID_HANDLE"
        super()._cuEventRecord(event, stream)

    def _cuGraphInstantiate(self, graph: Any, flags: int) -> Any:
        found = super()._cuGraphInstantiate(graph, flags)
        self.contexts[int(found[0])] = self.context
        return found

    def _cuGraphLaunch(self, executable: Any, stream: Any) -> None:
        # The driver may well launch it in another context's default stream, where nothing waits for it.
        assert self.contexts[int(executable)] == self.contexts.get(int(stream), self.context), "in another's stream"
        super()._cuGraphLaunch(executable, stream)

    def _cuEventElapsedTime(self, start: Any, end: Any) -> Any:
        assert self.contexts[int(start)] == self.contexts[int(end)], "CUDA_ERROR_INVALID_HANDLE"
        return super()._cuEventElapsedTime(start, end)

    def _cuMemcpyPeerAsync(self, destination: int, here: Any, source: int, there: Any, size: int, stream: Any) -> None:
        assert (int(here), int(there), int(stream), self.context) == (77, 78, 1, 77)
        self.strict = False
        self._cuMemcpyDtoDAsync(destination, source, size, 0)
        self.strict = True


@pytest.fixture
def two() -> TwoGpus:
    real = pytest.importorskip("cuda.bindings.driver", reason="cuda-python is not installed")
    return TwoGpus(real)


def launcher(driver: CudaDriver) -> Any:
    """What a kernel's launcher calls."""
    function = driver.function(driver.load(b".version 8.0\n.target sm_90\n"), "k")
    enqueue, buffer = driver.prepare(function, LAUNCH), ParameterBuffer(b"")
    return lambda: enqueue(buffer)


def test_each_device_launches_in_its_own_context(two: TwoGpus) -> None:
    first, second = CudaDriver(0, api=two), CudaDriver(1, api=two)
    one, other = launcher(first), launcher(second)
    two.ran.clear()
    for _ in range(3):
        one()
        other()
    assert two.ran == [77, 78] * 3
    assert not two.wrong, "a launch was tried in the wrong context first"


def test_every_call_is_made_in_its_own_context(two: TwoGpus) -> None:
    first, second = CudaDriver(0, api=two), CudaDriver(1, api=two)
    two.current.context = OTHERS
    for _ in range(2):
        for driver in (first, second):
            address = driver.alloc(16)
            driver.write(address, memoryview(b"0123456789abcdef"))
            found = bytearray(16)
            driver.read(address, memoryview(found))
            assert bytes(found) == b"0123456789abcdef"
            driver.fill(address, 1, 16)
            driver.copy(address, address, 8)
            driver.read(address, memoryview(found))
            assert bytes(found) == b"\x01" * 16
            launcher(driver)()
            driver.free(address)
            assert two.context == OTHERS


def test_one_device_alone_does_not_look_at_contexts(two: TwoGpus) -> None:
    one = launcher(CudaDriver(0, api=two))
    one()
    two.calls.clear()
    one()
    assert [name for name, *_ in two.calls] == ["cuLaunchKernel"]


def test_a_thread_without_a_context_gets_one(two: TwoGpus) -> None:
    one = launcher(CudaDriver(0, api=two))
    thread = threading.Thread(target=one)
    thread.start()
    thread.join()
    assert two.ran == [77]


def test_another_library_s_context_is_left_current(two: TwoGpus) -> None:
    driver = CudaDriver(0, api=two)
    one = launcher(driver)
    address = driver.alloc(16)
    two.current.context = OTHERS
    for _ in range(3):
        one()
        assert two.context == OTHERS
    driver.write(address, memoryview(b"0123456789abcdef"))
    found = bytearray(16)
    driver.read(address, memoryview(found))
    driver.fill(address, 0, 16)
    driver.copy(address, address, 16)
    driver.synchronize()
    stream = driver.create_stream(0, True)
    driver.synchronize_stream(stream)
    driver.destroy_stream(stream)
    driver.free(address)
    assert bytes(found) == b"0123456789abcdef"
    assert two.context == OTHERS
    assert two.ran == [77] * 3 and two.wrong == ["launch"], "only the first launch is tried in a wrong context"


def test_arrays_of_one_device_are_freed_while_another_works(two: TwoGpus) -> None:
    first, second = CudaDriver(0, api=two), CudaDriver(1, api=two)
    address = second.alloc(16)
    first.synchronize()
    assert two.context in (77, 78)
    two.current.context = 77
    second.free(address)
    assert two.context == 77


def test_peer_copies(two: TwoGpus) -> None:
    first, second = CudaDriver(0, api=two), CudaDriver(1, api=two)
    here, there = first.alloc(16), second.alloc(16)
    second.write(there, memoryview(b"0123456789abcdef"))
    two.called()
    first.copy_from_peer(here, second, there, 16)
    assert two.called() == [
        "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuEventDestroy",
        "cuMemcpyPeerAsync",
        "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuEventDestroy",
    ]  # fmt: skip
    two.strict = False
    assert bytes(two.bytes_at(here, 16)) == b"0123456789abcdef"
    first.copy_from_peer(here, second, there, 0)
    assert two.called() == []


def test_peer_access(two: TwoGpus) -> None:
    first, second = CudaDriver(0, api=two), CudaDriver(1, api=two)
    assert first.can_reach(second) and not first.reaches(second)
    first.reach(second)
    first.reach(second)
    assert first.reaches(second) and not second.reaches(first)
    assert two.called().count("cuMemPoolSetAccess") == 1


def test_peer_access_that_is_there_already(two: TwoGpus) -> None:
    first, second = CudaDriver(0, api=two), CudaDriver(1, api=two)
    two.codes["cuCtxEnablePeerAccess"] = [704]
    first.reach(second)
    assert first.reaches(second)


def test_gpus_without_a_path(two: TwoGpus) -> None:
    first, second = CudaDriver(0, api=two), CudaDriver(1, api=two)
    two.reachable = False
    with pytest.raises(DeviceError, match=r"cuda:0 cannot use the memory of cuda:1: .*\.to\(device\)"):
        first.reach(second)
    assert not first.reaches(second)


def test_streams_wait_for_events_and_streams_of_another_gpu(two: TwoGpus) -> None:
    first, second = CudaDriver(0, api=two), CudaDriver(1, api=two)
    here, there = Stream(first), Stream(second)
    two.current.context = OTHERS
    event = there.record()
    two.called()
    here.wait(event)
    (waited,) = (call for call in two.calls if call[0] == "cuStreamWaitEvent")
    assert [int(value) for value in waited[1:]] == [here.handle, event.handle, 0]
    two.called()
    here.wait(there)
    there.wait(here)
    assert two.called() == ["cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuEventDestroy"] * 2
    for record in (lambda: here.record(event), lambda: event.record(here)):
        with pytest.raises(
            ValueError, match=r"on cuda:1\) belongs to another device than Stream\(.* on cuda:0\), where"
        ):
            record()
    with pytest.raises(ValueError, match=r"on cuda:0\) and Event\(.* on cuda:1\) are of two devices, whose clocks"):
        here.record().elapsed_ms(event)
    assert two.context == OTHERS


def test_captures_wait_for_nothing_of_another_gpu(two: TwoGpus) -> None:
    first, second = CudaDriver(0, api=two), CudaDriver(1, api=two)
    here, there = Stream(first), Stream(second)
    event = there.record()
    with here.capture() as graph:
        two.called()
        for other in (event, there):
            with pytest.raises(StreamCaptureError, match="a captured stream waits for work outside of the capture"):
                here.wait(other)
        event = Event(first)
        here.record(event)
        for other in (event, here):
            with pytest.raises(
                StreamCaptureError, match="in a capture on another device, and a graph is of one device"
            ):
                there.wait(other)
        assert "cuStreamWaitEvent" not in two.called()
    assert len(graph) == 0 and not two.captures


def graph_of(driver: CudaDriver) -> GraphExecutable:
    """A graph of one kernel."""
    stream, run = Stream(driver), launcher(driver)
    with stream.capture() as graph:
        run()
    assert len(graph) == 1
    return graph.instantiate()


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("how", ["native", "ctypes"])
def test_graphs_are_launched_in_their_own_device_s_streams(
    two: TwoGpus, devices: int, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "ctypes":
        monkeypatch.setattr("kdsl.runtime.driver_entry.native_call", lambda address, name: None)
    runs = [graph_of(CudaDriver(ordinal, api=two)) for ordinal in range(devices)]
    streams = [(None, Stream(run.backend), Stream(run.backend, blocking=False)) for run in runs]
    two.current.context = OTHERS
    two.ran.clear()
    for _ in range(2):
        for run, places in zip(runs, streams, strict=True):
            for stream in places:
                run.launch(stream)
                assert two.context == OTHERS
            with places[1]:
                run.launch()
    assert not two.raised and len(two.ran) == 8 * devices


def test_a_graph_s_launch_asks_nothing_else_of_the_driver(two: TwoGpus) -> None:
    driver = CudaDriver(0, api=two)
    run, stream = graph_of(driver), Stream(driver)
    for _ in range(2):
        two.calls.clear()
        run.launch(stream)
    assert [name for name, *_ in two.calls] == ["cuGraphLaunch"]
    assert type(driver._launch_graph) is type(len) or native_call(1, "f") is None
