"""`Device`: names, equality, and which one is current in which thread and task."""

from __future__ import annotations

import asyncio
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Device, Ptr, f32, kernel, thread_idx

from .conftest import Pair


def test_names(device: str) -> None:
    first = Device(device)
    assert first == Device(f"{device}:0") == kdsl.current_device()
    assert (first.name, first.ordinal, str(first)) == (device, 0, f"{device}:0")
    assert repr(first) == f"Device('{device}:0')"
    assert first.target.startswith("sm_") and first.description and first.limits.threads == 1024
    first.synchronize()
    used = first.memory_info().used
    array = kdsl.zeros(1 << 16, device=first)
    assert first.memory_info().used - used >= array.nbytes and first.memory_info() == kdsl.memory_info(first)


@pytest.mark.gpu
def test_a_gpu_s_number() -> None:
    assert Device(0) == Device("cuda") == Device(np.int64(0)) == Device(Device(0))


def test_equality_and_hash() -> None:
    first, second = Device("emulator"), Device("emulator:1")
    assert first != second and first != "emulator:0"
    assert len({first, Device("emulator:0"), second}) == 2


@pytest.mark.parametrize(
    "name", ["gpu", "cuda:x", "cuda:", "emulator:", "emulator:-1", "emulator:²", "emulator:٣", "", True, None, 1.0]
)
def test_what_is_no_device(name: Any) -> None:
    with pytest.raises(ValueError, match="no device is called"):
        Device(name)


def test_there_are_many_emulators_but_not_any_number() -> None:
    assert Device("emulator:31").ordinal == 31
    with pytest.raises(ValueError, match="numbered from 0 to 31"):
        Device("emulator:32")


def test_devices_are_those_of_the_current_kind(device: str) -> None:
    one = Device(f"{device}:0")
    found = kdsl.devices()
    assert found[0] == one and [d.ordinal for d in found] == sorted(d.ordinal for d in found)
    assert {d.name for d in found} == {device}
    if device == "emulator":
        assert Device("emulator:2") in kdsl.devices()


def test_a_pickled_device_is_opened_by_name() -> None:
    device = Device("emulator:1")
    assert pickle.loads(pickle.dumps(device)) == device
    assert b"emulator:1" in pickle.dumps(device)


def test_a_block_s_device_is_current_in_it() -> None:
    first, second = Device("emulator:0"), Device("emulator:1")
    with second as entered:
        assert entered is second and kdsl.current_device() == second
        assert kdsl.zeros(1).device == second
        with first, second, first:
            assert kdsl.current_device() == first
        assert kdsl.current_device() == second
    assert kdsl.current_device() == first


def test_a_block_ends_with_an_exception() -> None:
    with pytest.raises(KeyError), Device("emulator:1"):
        raise KeyError
    assert kdsl.current_device() == Device("emulator:0")


def test_the_default_cannot_be_set_inside_of_a_block() -> None:
    with Device("emulator:1"), pytest.raises(RuntimeError, match=r"inside of `with Device\('emulator:1'\):`"):
        kdsl.set_device("emulator:0")
    kdsl.set_device(Device("emulator:1"))
    assert kdsl.current_device() == Device("emulator:1")


def test_a_block_is_one_thread_s_alone() -> None:
    seen = []
    with Device("emulator:1"):
        threads = [threading.Thread(target=lambda: seen.append(kdsl.current_device())) for _ in range(2)]
        for thread in threads:
            thread.start()
            thread.join()
    assert seen == [Device("emulator:0")] * 2


def test_a_block_is_one_task_s_alone() -> None:
    async def work(number: int) -> bool:
        with Device(f"emulator:{number}"):
            for _ in range(3):
                await asyncio.sleep(0)
                if kdsl.current_device() != Device(f"emulator:{number}"):
                    return False
        return kdsl.current_device() == Device("emulator:0")

    async def all_of_them() -> list[bool]:
        return await asyncio.gather(*map(work, range(4)))

    assert asyncio.run(all_of_them()) == [True] * 4


@kernel
def ones(x: Ptr[f32]) -> None:
    x[thread_idx.x] = 1.0


def test_what_is_made_on_a_device_says_so(pair: Pair) -> None:
    first, second = pair
    stream = kdsl.Stream(device=second)
    array = kdsl.zeros(32, device=second)
    prepared = ones.prepare(1, 32, array)
    graph = kdsl.Graph(device=second)
    graph.add_kernel(prepared)
    with second:
        module = kdsl.load_module(ones.compile().ptx.encode())
    made = [stream, stream.record(), kdsl.Event(device=second), array, prepared, graph, graph.instantiate(), module]
    assert [thing.device for thing in made] == [second] * len(made)
    assert kdsl.Stream().device == kdsl.Event().device == kdsl.Graph().device == first
    assert kdsl.current_stream().device == first

    ones[1, 32, stream](array)
    stream.synchronize()
    assert (array.to_host() == 1).all()
