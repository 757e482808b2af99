"""A kernel runs on the device that its arrays live on, whatever is current."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import kdsl
import kdsl.compiler
import kdsl.specialization
from kdsl import Device, Ptr, f32, grid, i32, kernel, struct
from kdsl.runtime.peers import reaches

from .conftest import Pair


@kernel
def add(a: Ptr[f32], b: Ptr[f32], n: i32) -> None:
    i = grid(1)
    if i < n:
        a[i] += b[i]


@struct
class Place:
    data: Ptr[i32]


def arrays(device: Device, count: int = 2) -> list[kdsl.DeviceArray]:
    return [kdsl.to_device(np.full(8, k + 1, np.float32), device) for k in range(count)]


def test_arrays_are_made_where_one_says(pair: Pair) -> None:
    first, second = pair
    host = np.arange(5, dtype=np.int32)
    for device in pair:
        for made in (
            kdsl.to_device(host, device),
            kdsl.empty(5, i32, device=device),
            kdsl.zeros(5, i32, device=device),
        ):
            assert made.device == device
            assert str(device) in repr(made)
    assert kdsl.zeros(5).device == first
    assert kdsl.to_device(host, str(second)).to_host().tolist() == host.tolist()


def test_launches_follow_their_arrays(pair: Pair) -> None:
    a, b = zip(*(arrays(device) for device in pair), strict=True)
    for _ in range(4):  # the first launch compiles, the others take a remembered way
        for here in (0, 1):
            add[1, 8](a[here], b[here], 8)
    for here in (0, 1):
        assert a[here].to_host().tolist() == [9.0] * 8
        assert a[here].device == pair[here]


def test_a_block_s_device_does_not_change_where_arrays_live(pair: Pair) -> None:
    a, b = arrays(pair[0])
    for current in (*pair, *pair):
        with current:
            add[1, 8](a, b, 8)
    assert a.to_host().tolist() == [9.0] * 8


def test_the_second_device_s_launches_are_remembered(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = [arrays(device) for device in pair]
    for a, b in mine:
        add[2, 4](a, b, 8)
    monkeypatch.setattr(kdsl.compiler.Kernel, "_specialize", None)
    for _ in range(3):
        for a, b in mine:
            add[2, 4](a, b, n=8)
    assert [a.to_host()[0] for a, _ in mine] == [9.0, 9.0]


def test_one_compilation_is_enough_for_two_devices_of_one_kind(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[Any] = []
    run = kdsl.specialization.compile_cached
    monkeypatch.setattr(kdsl.specialization, "compile_cached", lambda *a: runs.append(a) or run(*a))

    @kernel
    def double(x: Ptr[f32]) -> None:
        x[grid(1)] *= 2.0

    for device in pair:
        (a,) = arrays(device, 1)
        double[1, 8](a)
        assert a.to_host().tolist() == [2.0] * 8
    assert len(runs) == len({device.target for device in pair})


def test_unannotated_kernels_follow_too(pair: Pair) -> None:
    @kernel
    def scale(x, factor):
        x[grid(1)] *= factor

    mine = [arrays(device, 1)[0] for device in pair]
    for factor in (2.0, 3.0, 0.5):
        for x in mine:
            scale[1, 8](x, np.float32(factor))
    assert [x.to_host()[0] for x in mine] == [3.0, 3.0]


def test_numpy_arrays_go_to_the_current_device(pair: Pair) -> None:
    @kernel
    def where(out: Ptr[i32]) -> None:
        out[0] += 1

    launched = []
    for current in (*pair, *pair):
        launch = current.backend.launch if current.name == "emulator" else None
        out = np.zeros(1, np.int32)
        with current:
            if launch is not None:
                current.backend.launch = lambda *a, d=current, l=launch: (launched.append(d), l(*a))[1]
            where[1, 1](out)
            if launch is not None:
                del current.backend.launch
        assert out[0] == 1
    assert launched == ([*pair, *pair] if pair[0].name == "emulator" else [])


def test_kernels_without_arrays_run_on_the_current_device(pair: Pair) -> None:
    counter = kdsl.device.array(1, i32)

    @kernel
    def count(by: i32) -> None:
        counter[0] += by

    for by in (1, 2):
        count[1, 1](by)
        with pair[1]:
            count[1, 1](10 * by)
    assert counter.to_host()[0] == 3
    with pair[1]:
        assert counter.to_host()[0] == 30


def test_arrays_in_structs_tuples_and_functions_say_it_too(pair: Pair) -> None:
    @kernel
    def of_struct(p: Place) -> None:
        p.data[0] = 1

    @kernel
    def of_tuple(p) -> None:
        p[0][0] = 2

    @kernel
    def of_function(f, n: i32) -> None:
        f(n)

    def writing(array: Any) -> Any:
        def write(n):
            array[0] = n

        return write

    for device in (*pair, *pair):
        x = kdsl.zeros(1, i32, device=device)
        of_struct[1, 1](Place(x))
        assert x.to_host()[0] == 1
        of_tuple[1, 1]((x, 5))
        assert x.to_host()[0] == 2
        of_function[1, 1](writing(x), 3)
        assert x.to_host()[0] == 3


def test_prepared_launches_are_made_where_the_arrays_live(pair: Pair) -> None:
    a, b = arrays(pair[1])
    prepared = add.prepare(1, 8, a, b, 8)
    prepared()
    prepared()
    assert a.to_host().tolist() == [5.0] * 8


def test_arrays_of_two_devices_are_refused(pair: Pair) -> None:
    first, second = pair
    if reaches(first.backend, second.backend):
        pytest.skip("another test has given this GPU access to the other one, which is for good")
    (a, b), (c, d) = arrays(first), arrays(second)
    for _ in range(2):
        with pytest.raises(ValueError) as caught:
            add[1, 8](a, d, 8)
        assert str(caught.value) == (
            f"add: argument `b` takes Ptr[f32] (a contiguous array of float32), got a DeviceArray on {second}; this launch "
            f"is on {first}, with its other arguments: pass b.to('{first}'), a copy there"
        )
        with pytest.raises(ValueError, match=rf"got a DeviceArray on {first}; this launch is on {second}"):
            add[1, 8](c, b, 8)
        add[1, 8](a, b, 8)
        add[1, 8](a, d.to(first), 8)
    assert a.to_host().tolist() == [9.0] * 8
    assert c.to_host().tolist() == [1.0] * 8
    with pytest.raises(ValueError, match=rf"takes memory of {first}, got a DeviceArray on {second}"):
        _struct_and_array(a, Place(kdsl.zeros(1, i32, device=second)))


def _struct_and_array(a: kdsl.DeviceArray, p: Any) -> None:
    @kernel
    def both(a: Ptr[f32], p: Place) -> None:
        p.data[0] = i32(a[0])

    both[1, 1](a, p)


def test_an_address_of_another_emulator_is_a_fault() -> None:
    @kernel
    def peek(out: Ptr[i32], p: Place) -> None:
        out[0] = p.data[0]

    other = kdsl.zeros(1, i32, device="emulator:1")
    with pytest.raises(kdsl.MemoryFault, match="no allocation has this address"):
        peek[1, 1](kdsl.zeros(1, i32), Place(other.address))


def test_loaded_modules_stay_on_their_device() -> None:
    @kdsl.cuda_module
    class kernels:
        @kernel
        def one(x: Ptr[i32]) -> None:
            x[0] = 1

    loaded = kernels.load()
    with pytest.raises(ValueError, match="this launch is on emulator:0"):
        loaded.one[1, 1](kdsl.zeros(1, i32, device="emulator:1"))
    with Device("emulator:1"):
        x = np.zeros(1, np.int32)
        loaded.one[1, 1](x)
        assert x[0] == 1


def test_partial_functions_hold_arrays(pair: Pair) -> None:
    @kernel
    def apply(f, n: i32) -> None:
        f(n)

    def put(array, n):
        array[0] = n

    x = kdsl.zeros(1, i32, device=pair[1])
    apply[1, 1](partial(put, x), 7)
    assert x.to_host()[0] == 7


def test_a_default_stream_is_left_on_the_device_where_it_was_entered(pair: Pair) -> None:
    first, second = pair
    a, b = arrays(second)
    with kdsl.legacy_stream:
        kdsl.set_device(second)
        with kdsl.per_thread_stream, kdsl.legacy_stream:
            kdsl.set_device(first)
            assert kdsl.current_stream() is kdsl.legacy_stream
        add[1, 8](a, b, 8)
    for device in pair:
        state = device.backend.stream_state  # type: ignore[attr-defined]
        assert state.current is None and state.uses == 0
    assert a.to_host().tolist() == [3] * 8
