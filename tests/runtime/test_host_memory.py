"""Pinned, mapped and managed memory, and copies in streams, on the emulator and on a GPU."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kdsl
from kdsl import Ptr, block_dim, block_idx, f32, i32, kernel, thread_idx
from kdsl.runtime.element_types import element_type
from kdsl.runtime.host_memory import device_address, memory_of

KINDS = [kdsl.pinned_empty, kdsl.mapped_empty, kdsl.managed_empty]


@kernel
def increment(x: Ptr[i32], n: i32) -> None:
    i = block_idx.x * block_dim.x + thread_idx.x
    if i < n:
        x[i] = x[i] + 1


@kernel
def any_layout(x) -> None:
    i = thread_idx.x
    if i < x.shape[0]:
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] * 2


@kernel
def spinning(x: Ptr[i32], rounds: i32) -> None:
    value = x[0]
    for _ in range(rounds):
        value = value * 3 + 1
    x[0] = value


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("dtype", [np.int32, ml_dtypes.bfloat16, np.bool_, np.complex64, [("a", "f4"), ("b", "i4")]])
def test_numpy_arrays_of_every_kind(device: str, make: Any, dtype: Any) -> None:
    array = make((3, 5), dtype)
    assert type(array) is np.ndarray and array.shape == (3, 5) and array.dtype == np.dtype(dtype)
    assert array.flags.c_contiguous and array.flags.writeable and array.ctypes.data % 256 == 0
    array[...] = np.zeros((), array.dtype)
    assert memory_of(array[1:, ::2].T) is memory_of(array) and memory_of(memoryview(array.view(np.uint8))) is not None
    assert memory_of(array.copy()) is None
    again = pickle.loads(pickle.dumps(array))
    assert memory_of(again) is None and again.tobytes() == array.tobytes()
    assert make(0, dtype).shape == (0,) and make((2, 0, 3), dtype).size == 0


@pytest.mark.parametrize("make", KINDS)
def test_bad_shapes_and_dtypes(device: str, make: Any) -> None:
    for shape, error in ((-1, ValueError), (2**70, ValueError), (1.5, TypeError)):
        with pytest.raises(error):
            make(shape)
    with pytest.raises(TypeError):
        make(3, "M8[s]")


def test_pinned_arrays_are_passed_as_numpys_are(device: str) -> None:
    array = kdsl.pinned_empty(1000, np.int32)
    array[:] = np.arange(1000)
    increment[4, 256](array, 1000)
    assert array.tolist() == list(range(1, 1001))


@pytest.mark.parametrize("make", KINDS[1:])
def test_kernels_use_mapped_and_managed_arrays_in_place(device: str, make: Any) -> None:
    array = make((4, 6), np.int32)
    array[...] = np.arange(24).reshape(4, 6)
    gc.collect()  # what other tests left
    used = kdsl.memory_info().used
    increment[1, 32](array, 24)
    increment[1, 32](array[1:3], 12)
    any_layout[1, 32](array[::-1, 1::2])
    assert kdsl.memory_info().used == used
    kdsl.synchronize()
    expected = np.arange(24, dtype=np.int32).reshape(4, 6) + 1
    expected[1:3] += 1
    expected[::-1, 1::2] *= 2
    np.testing.assert_array_equal(array, expected)
    with pytest.raises(kdsl.ArgumentError, match=r"not contiguous; pass np\.ascontiguousarray\(x\)"):
        increment[1, 32](array[:, 0], 4)
    frozen = array[1]
    frozen.flags.writeable = False
    with pytest.raises(kdsl.ArgumentError, match="read-only"):
        increment[1, 32](frozen, 6)


@pytest.mark.parametrize("make", KINDS[1:])
def test_a_launch_copies_nothing_of_them(device: str, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    array = make(8, np.int32)
    array[:] = 0
    backend: Any = memory_of(array).backend  # type: ignore[union-attr]
    increment[1, 32](array, 8)

    def refuse(*_: Any) -> None:
        raise AssertionError("a copy")

    with monkeypatch.context() as patch:
        for name in ("alloc", "read", "write", "copy"):
            patch.setattr(backend, name, refuse)
        increment[1, 32](array, 8)
        with pytest.raises(AssertionError, match="a copy"):
            increment[1, 32](np.zeros(8, np.int32), 8)
    kdsl.synchronize()
    assert array.tolist() == [2] * 8


def test_they_are_the_memory_that_kernels_see(device: str) -> None:
    array = kdsl.mapped_empty(16, np.int32)
    memory = memory_of(array)
    assert memory is not None
    assert device_address(array[4:], memory) == device_address(array, memory) + 16
    array[:] = 7
    d = kdsl.DeviceArray((16,), element_type(i32), memory.backend, memory, memory.device)
    assert d.to_host().tolist() == [7] * 16
    array[3] = 1
    assert d[3].item() == 1


@pytest.mark.parametrize("make", KINDS)
def test_memory_is_given_back(make: Any) -> None:
    gc.collect()  # what other tests left
    info = kdsl.memory_info()
    view = make(1 << 20, np.uint8)[5:]
    assert kdsl.memory_info().used == info.used + (1 << 20)
    del view
    gc.collect()
    assert kdsl.memory_info().used == info.used


@pytest.mark.parametrize("make", KINDS[1:])
def test_memory_in_use_by_a_kernel_may_be_dropped(device: str, make: Any) -> None:
    for _ in range(20):
        array = make(1 << 16, np.int32)
        array[:] = 1
        spinning[1, 1](array, 2000)
        increment[256, 256](array, 1 << 16)
        del array
    kdsl.synchronize()
    kept = make(1 << 16, np.int32)
    kept[:] = 5
    kdsl.synchronize()
    assert (kept == 5).all()


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("make", [*KINDS, np.empty])
def test_copies_in_a_stream(device: str, make: Any, blocking: bool) -> None:
    n = 1 << 16
    stream = kdsl.Stream(blocking=blocking)
    source, back = make(n, np.int32), make(n, np.int32)
    source[:] = np.arange(n)
    array, other = kdsl.zeros(n, np.int32), kdsl.empty(n, np.int32)
    array.copy_from(source, stream=stream)
    increment[256, 256, stream](array, n)
    other.copy_from(array, stream=stream)
    assert other.to_host(back, stream=stream) is back
    stream.synchronize()
    np.testing.assert_array_equal(back, np.arange(1, n + 1))
    np.testing.assert_array_equal(other.to_host(stream=stream), back)
    other[5:].copy_to(back[5:], stream=stream)
    array.copy_to(other, stream=stream)
    stream.synchronize()


@pytest.mark.parametrize("blocking", [True, False])
def test_pinned_memory_outlives_its_copies(device: str, blocking: bool) -> None:
    n = 1 << 18
    stream = kdsl.Stream(blocking=blocking)
    array = kdsl.zeros(n, np.int32)
    for value in range(50):
        host = kdsl.pinned_empty(n, np.int32)
        host[:] = value
        array.copy_from(host, stream=stream)
        increment[n // 256, 256, stream](array, n)
        del host
        result = kdsl.pinned_empty(n, np.int32)
        array.to_host(result, stream=stream)
        if value % 10 == 9:
            stream.synchronize()
            assert (result == value + 1).all()
        del result
    del array, stream
    kdsl.synchronize()


def test_what_a_stream_cannot_copy(device: str) -> None:
    array, stream = kdsl.zeros((4, 4)), kdsl.Stream()
    host = kdsl.pinned_empty((4, 4))
    with pytest.raises(ValueError, match="this array is not contiguous.*pass a copy"):
        array[:, 1].copy_from(np.zeros(4, np.float32), stream=stream)
    with pytest.raises(ValueError, match="the source is not contiguous"):
        array.copy_from(host.T, stream=stream)
    with pytest.raises(ValueError, match="out is not contiguous"):
        array.to_host(host.T, stream=stream)
    with pytest.raises(ValueError, match="the source has float64"):
        array.copy_from(np.zeros((4, 4)), stream=stream)
    with pytest.raises(TypeError, match=r"stream takes a kdsl\.Stream"):
        array.copy_from(host, stream="fast")
    freed = kdsl.zeros((4, 4))
    freed.free()
    with pytest.raises(ValueError, match="was freed"):
        array.copy_from(freed, stream=stream)
    empty = kdsl.zeros((0, 3))
    empty.copy_from(np.zeros((0, 3), np.float32), stream=stream)
    assert empty.to_host(stream=stream).shape == (0, 3)


def test_managed_memory_is_moved_and_advised(device: str) -> None:
    array = kdsl.managed_empty((16, 16), f32)
    array[...] = 3
    for advice in ("read_mostly", "prefer_device", "prefer_host", "accessed_by_device", "accessed_by_host"):
        kdsl.mem_advise(array, advice)
        kdsl.mem_advise(array[2:4], f"unset_{advice}")
    kdsl.mem_prefetch(array)
    kdsl.mem_prefetch(array[3], "host", stream=kdsl.Stream())
    kdsl.synchronize()
    assert (array == 3).all()
    kdsl.mem_prefetch(kdsl.managed_empty(0))
    with pytest.raises(ValueError, match="'device' or 'host', got 'gpu'"):
        kdsl.mem_prefetch(array, "gpu")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one of read_mostly, .*got 'fast'"):
        kdsl.mem_advise(array, "fast")
    with pytest.raises(ValueError, match="contiguous part"):
        kdsl.mem_advise(array.T, "read_mostly")
    for other in (np.zeros(3), kdsl.mapped_empty(3), kdsl.zeros(3)):
        with pytest.raises(TypeError, match=r"kdsl\.managed_empty made"):
            kdsl.mem_prefetch(other)  # type: ignore[arg-type]


def test_memory_info_and_the_pool(device: str) -> None:
    kdsl.synchronize()
    before = kdsl.memory_info()
    assert 0 < before.free <= before.total and before.used <= before.reserved <= before.total
    array = kdsl.empty(1 << 22, np.uint8)
    during = kdsl.memory_info()
    assert during.used >= before.used + array.nbytes and during.reserved >= during.used
    array.free()
    kdsl.trim_memory()
    after = kdsl.memory_info()
    assert after.used <= before.used and after.reserved <= during.reserved
    kdsl.trim_memory(1 << 20)
    kdsl.set_release_threshold(1 << 30)
    for wrong, error in ((-1, ValueError), (2**64, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match="a number of bytes"):
            kdsl.trim_memory(wrong)  # type: ignore[arg-type]
        with pytest.raises(error, match="a number of bytes"):
            kdsl.set_release_threshold(wrong)  # type: ignore[arg-type]


def test_out_of_memory(device: str) -> None:
    total = kdsl.memory_info().total
    for make in (kdsl.empty, kdsl.zeros):
        with pytest.raises(
            MemoryError, match=rf"^{total * 2} bytes \([\d.]+ GiB\) asked for on .*, .* free of {total}"
        ):
            make(total * 2, np.uint8)
    kdsl.zeros(10).fill(1)  # nothing is the worse for it


@pytest.mark.parametrize("make", KINDS[:2])
def test_out_of_host_memory(device: str, make: Any) -> None:
    with pytest.raises(MemoryError, match="bytes .* asked for"):
        make(2**50, np.uint8)


def test_the_emulators_memory_is_limited() -> None:
    from kdsl.emulator import Emulator
    from kdsl.runtime.array_making import empty

    emulator: Any = Emulator(memory_limit=1 << 20)
    first = empty(1 << 19, np.uint8, backend=emulator)
    with pytest.raises(MemoryError) as caught:
        empty(1 << 20, np.uint8, backend=emulator)
    assert (
        str(caught.value)
        == "1048576 bytes (0.00 GiB) asked for on the emulator, 524288 bytes free of 1048576 bytes (0.00 GiB)"
    )
    del first
    gc.collect()
    assert empty(1 << 20, np.uint8, backend=emulator).nbytes == 1 << 20
    assert emulator.memory_info() == (1 << 20, 1 << 20, 0, 0)


def test_many_threads_make_and_drop_arrays_of_every_kind(device: str) -> None:
    kdsl.synchronize()
    used = kdsl.memory_info().used
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for round in range(30):
                host = KINDS[(seed + round) % 3](256, np.int32)
                host[:] = seed
                array = kdsl.to_device(host)
                increment[1, 256](host, 256)
                increment[1, 256](array[::1], 256)
                kdsl.synchronize()
                assert (host == seed + 1).all() and (array.to_host() == seed + 1).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    gc.collect()
    kdsl.synchronize()
    assert kdsl.memory_info().used <= used


def test_copies_and_kernels_in_place_are_captured_and_the_graph_keeps_the_memory(device: str) -> None:
    stream = kdsl.Stream(blocking=False)
    source, result, shared = (
        kdsl.pinned_empty(64, np.int32),
        kdsl.pinned_empty(64, np.int32),
        kdsl.mapped_empty(64, i32),
    )
    source[:], result[:], shared[:] = 5, 0, 0
    array, other = kdsl.zeros(64, np.int32), kdsl.zeros(64, np.int32)
    increment[1, 64](array, 64)
    kdsl.synchronize()
    with stream.capture() as graph:
        array.copy_from(source, stream=stream)
        increment[1, 64](array, 64)
        increment[1, 64](shared, 64)
        other.copy_from(array, stream=stream)
        other.to_host(result, stream=stream)
        for refused in (
            lambda: array.copy_from(np.zeros(64, np.int32), stream=stream),
            lambda: array.to_host(stream=stream),
            lambda: kdsl.pinned_empty(4),
            lambda: kdsl.managed_empty(4),
        ):
            with pytest.raises(kdsl.errors.StreamCaptureError):
                refused()
    assert [node.kind for node in graph.nodes] == ["copy", "kernel", "kernel", "copy", "copy"]
    assert (result == 0).all() and (shared == 0).all()
    run = graph.instantiate()
    kept = memory_of(shared)
    del source, array, other
    for _ in range(3):
        gc.collect()
        run.launch(stream)
    stream.synchronize()
    assert (result == 6).all() and (shared == 3).all() and kept is not None
    del shared, kept, result, graph
    gc.collect()
    run.launch(stream)
    stream.synchronize()


SCRIPT = """
import sys, numpy as np, kdsl
from kdsl import Ptr, i32, kernel, thread_idx
kdsl.set_device(sys.argv[1])

@kernel
def increment(x: Ptr[i32]) -> None:
    x[thread_idx.x] += 1

stream = kdsl.Stream()
kept = [make(32, np.int32) for make in (kdsl.pinned_empty, kdsl.mapped_empty, kdsl.managed_empty)]
for a in kept:
    a[:] = 0
d = kdsl.to_device(kept[0])
d.copy_from(kept[0], stream=stream)
increment[1, 32](kept[1])
increment[1, 32](d[::1])
cycle = [d, kept]
cycle.append(cycle)
print("ended")
"""


def test_the_interpreter_ends_with_memory_in_use(device: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script), device], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
