"""`In`, `Out` and `InOut`: what a launch copies of host arrays."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
import pytest

import kdsl
from kdsl import Array, In, InOut, Out, Ptr, f32, f32x4, i32, kernel, struct, thread_idx
from kdsl.runtime.host_arrays import HostArrays, Staged

T = TypeVar("T", f32, i32)


@kernel
def add_one(x: Ptr[f32], y: Ptr[f32], n: i32) -> None:
    i = thread_idx.x
    if i < n:
        y[i] = x[i] + 1.0


@kernel
def both(x: Ptr[f32], y: Ptr[f32], n: i32) -> None:
    i = thread_idx.x
    if i < n:
        x[i] = x[i] + 1.0
        y[i] = 7.0


@kernel
def open_types(x, y) -> None:
    i = thread_idx.x
    if i < x.shape[0]:
        y[i] = x[i] * 2


@kernel
def same_type(x: Array[T, 1], y: Array[T, 1]) -> None:
    i = thread_idx.x
    if i < x.shape[0]:
        y[i] = x[i]


@kernel
def of_a_tuple(pair) -> None:
    i = thread_idx.x
    pair[1][i] = pair[0][i]


@kernel
def vectors(x: Ptr[f32x4], y: Ptr[f32x4]) -> None:
    y[thread_idx.x] = x[thread_idx.x]


@struct
class Pair:
    a: f32
    b: i32


@kernel
def of_structs(x: Ptr[Pair], y: Ptr[Pair]) -> None:
    y[thread_idx.x].b = x[thread_idx.x].b + 1


def ones(n: int = 4) -> np.ndarray[Any, Any]:
    return np.ones(n, np.float32)


@pytest.fixture
def copies(device: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is copied between host and device, in order."""
    backend: Any = kdsl.current_device().backend
    made: list[str] = []
    for name in ("read", "write"):

        def counted(*arguments: Any, call: Any = getattr(backend, name), name: str = name) -> Any:
            made.append(name)
            return call(*arguments)

        monkeypatch.setattr(backend, name, counted)
    add_one[1, 32](ones(), ones(), 4)
    open_types[1, 32](ones(), ones())
    made.clear()
    return made


@pytest.mark.parametrize("launched", [add_one, open_types])
def test_which_copies_are_made(copies: list[str], launched: Any) -> None:
    more = (4,) if launched is add_one else ()
    for x, y, expected in (
        (ones(), ones(), ["write", "write", "read"]),
        (In(ones()), ones(), ["write", "write", "read"]),
        (In(ones()), Out(ones()), ["write", "read"]),
        (InOut(ones()), InOut(ones()), ["write", "write", "read"]),
        (ones(), In(ones()), ["write", "write"]),
    ):
        launched[1, 32](x, y, *more)
        assert copies == expected
        copies.clear()


def test_what_comes_back(device: str) -> None:
    x, y = ones(), np.zeros(4, np.float32)
    both[1, 32](In(x), Out(y), 4)
    assert x.tolist() == [1] * 4 and y.tolist() == [7] * 4
    both[1, 32](InOut(x), In(y), 4)
    assert x.tolist() == [2] * 4 and y.tolist() == [7] * 4
    both[1, 32](x, Out(y[1:3]), 2)
    assert x.tolist() == [3, 3, 2, 2] and y.tolist() == [7] * 4


def test_read_only_arrays_may_go_in_and_not_out(device: str) -> None:
    frozen, y = ones(), ones()
    frozen.flags.writeable = False
    both[1, 32](In(frozen), y, 4)
    assert y.tolist() == [7] * 4
    for marker in (Out, InOut):
        with pytest.raises(kdsl.ArgumentError, match="read-only"):
            both[1, 32](marker(frozen), y, 4)
    add_one[1, 32](InOut(frozen), y, 4)
    assert y.tolist() == [2] * 4


def test_kinds_of_kernels_and_arrays(device: str) -> None:
    x, y = ones(32), np.zeros(32, np.float32)
    for _ in range(3):
        open_types[1, 32](In(x), Out(y))
        assert y.tolist() == [2] * 32
        y[:] = 0
    same_type[1, 32](In(x.astype(np.int32)), Out(z := np.zeros(32, np.int32)))
    assert z.tolist() == [1] * 32
    of_a_tuple[1, 32]((In(x), Out(y)))
    assert y.tolist() == [1] * 32
    vectors[1, 8](In(x * 3), Out(y))
    assert y.tolist() == [3] * 32
    pairs = np.zeros(4, Pair.dtype)
    pairs["b"] = 5
    of_structs[1, 4](In(pairs), InOut(pairs.copy()))
    of_structs[1, 4](In(pairs.copy()), InOut(pairs))
    assert pairs["b"].tolist() == [6] * 4 and not pairs["a"].any()
    pinned = kdsl.pinned_empty(32)
    pinned[:] = 4
    add_one[1, 32](In(pinned), Out(y), 32)
    assert y.tolist() == [5] * 32
    add_one[1, 32](In(ones(0)), Out(np.zeros(0, np.float32)), 0)
    add_one[1, 32](x=In(x), y=Out(y), n=32)
    assert y.tolist() == [2] * 32
    device_array = kdsl.to_device(x)
    add_one[1, 32](device_array, Out(y), 32)
    assert y.tolist() == [2] * 32


def test_pytorchs_arrays_on_the_host(device: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x, y = torch.ones(4), torch.zeros(4)
    both[1, 32](In(x), Out(y), 4)
    assert x.tolist() == [1] * 4 and y.tolist() == [7] * 4


def test_overlapping_arrays_are_one_memory_and_each_comes_back_as_it_says(device: str) -> None:
    x = np.zeros(8, np.float32)
    both[1, 32](In(x[:4]), x[2:6], 4)  # both write elements 2 and 3
    assert x[:2].tolist() == [0, 0] and x[4:6].tolist() == [7, 7] and x[6:].tolist() == [0, 0]
    evens, odds = x[::2], x[1::2]
    x[:] = 1

    @kernel
    def strided(a, b) -> None:
        i = thread_idx.x
        a[i] = a[i] + 1
        b[i] = 9

    strided[1, 4](In(evens), Out(odds))
    assert x.tolist() == [1, 9] * 4
    strided[1, 4](evens, In(odds))
    assert x.tolist() == [2, 9] * 4
    grid = np.zeros((3, 5), np.float32, order="F")
    strided[1, 5](InOut(grid[1]), Out(grid[2]))
    assert grid.tolist() == [[0] * 5, [1] * 5, [9] * 5]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: In(kdsl.zeros(4)), "a DeviceArray is used where it is: pass it by itself"),
        (lambda: Out(In(ones())), "one marker is enough"),
        (lambda: InOut(kdsl.mapped_empty(4)), "a mapped one is used where it is"),
        (lambda: In(kdsl.managed_empty(4)[1:]), "a managed one is used where it is"),
        (lambda: In([1.0, 2.0]), r"such as a NumPy array; got \[1.0, 2.0\]"),
        (lambda: In(3), "such as a NumPy array"),
    ],
)
def test_what_has_no_marker(make: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        make()


def test_misuse_in_a_launch() -> None:
    x, y = ones(), ones()
    with pytest.raises(
        kdsl.ArgumentError,
        match=r"argument `x` takes Ptr\[f32\].*got Out\(float32\[4\]\), and add_one only reads it; write In\(x\)",
    ):
        add_one[1, 32](Out(x), y, 4)
    with pytest.raises(kdsl.ArgumentError, match=r"`n` takes an int .i32., got"):
        add_one[1, 32](x, y, In(x))
    with pytest.raises(kdsl.ArgumentError, match="float64; pass x.astype"):
        add_one[1, 32](In(np.ones(4)), y, 4)
    with pytest.raises(kdsl.ArgumentError, match=r"a prepared launch copies nothing: pass kdsl\.to_device"):
        add_one.prepare(1, 32, In(x), Out(y), 4)
    assert repr(In(np.zeros((2, 3), np.int16))) == "In(int16[2, 3])" and len(Out(x)) == 4


def test_a_marker_is_as_large_as_its_array() -> None:
    marker = InOut(np.zeros((2, 3), np.int16))
    assert (marker.shape, marker.ndim, marker.size, marker.dtype) == ((2, 3), 2, 6, np.int16)

    @kernel(requires="x.size >= n", block=32, grid="ceil(n / 32)")
    def contracted(x: Ptr[f32], n: i32) -> None:
        i = thread_idx.x
        if i < n:
            x[i] = x[i] + 1.0

    x = ones()
    contracted.launch(InOut(x), 4)
    assert x.tolist() == [2] * 4
    with pytest.raises(kdsl.LaunchContractError):
        contracted.launch(InOut(x), 5)


def test_a_failed_launch_changes_nothing() -> None:
    @kernel
    def failing(x: Ptr[f32]) -> None:
        x[0] = 5.0
        assert x[1] == 0.0, "no"

    x = ones()
    for marker in (In, InOut):
        with pytest.raises(kdsl.DeviceAssertionError):
            failing[1, 1](marker(x))
        assert x.tolist() == [1] * 4


@pytest.mark.parametrize("seed", range(20))
def test_any_overlap_against_one_memory_of_numpys(backend: Any, seed: int) -> None:
    """Copied in where it is read, changed on the device, and back where it is returned."""
    rng = np.random.default_rng(seed)
    memory = rng.integers(0, 100, 64).astype(np.int32)
    before = memory.copy()
    arrays = []
    for _ in range(rng.integers(1, 6)):
        start, stop, step = rng.integers(0, 50), rng.integers(51, 64), rng.integers(1, 4)
        view = memory[start:stop:step]
        arrays.append(Staged(view[::-1] if rng.random() < 0.3 else view, *(bool(b) for b in rng.integers(0, 2, 2))))
    host = HostArrays(backend, arrays)
    host.copy_in()
    addresses = [host.address(staged.array.__array_interface__["data"][0]) for staged in arrays]
    for staged, address in zip(arrays, addresses, strict=True):
        if staged.read:
            for index, value in enumerate(staged.array):
                there = backend.array(address + index * staged.array.strides[0], np.int32, 1)
                assert there[0] == value
    for staged, address in zip(arrays, addresses, strict=True):
        for index in range(len(staged.array)):
            backend.array(address + index * staged.array.strides[0], np.int32, 1)[0] = 1000 + index
    host.copy_back()
    host.release()
    returned = {
        a.ctypes.data + i * a.strides[0] for s in arrays if s.returned for a in [s.array] for i in range(len(a))
    }
    for index in range(64):
        changed = memory.ctypes.data + 4 * index in returned
        assert (memory[index] >= 1000) == changed, index
        assert changed or memory[index] == before[index]
    assert math.prod(memory.shape) == 64 and not backend.memory
