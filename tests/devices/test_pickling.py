"""Kernels, arrays and what cannot be pickled: to processes that import them, and to those that cannot."""

from __future__ import annotations

import copy
import importlib.util
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Device, LaunchConfig, Ptr, atomic, grid, i32, kernel, shared, struct, sync_threads, thread_idx

ROOT = Path(__file__).resolve().parents[2]
METHODS = [m for m in ("spawn", "forkserver") if m in multiprocessing.get_all_start_methods()]
needs_cloudpickle = pytest.mark.skipif(
    not importlib.util.find_spec("cloudpickle"), reason="cloudpickle is not installed"
)
BY_VALUE: dict[str, Any] = {}


@struct
class Pair:
    one: i32
    two: i32


@kernel
def fill(out: Ptr[i32], value: i32) -> None:
    out[grid(1)] = value


@kdsl.cuda_module
class kernels:
    @kernel
    def second(out: Ptr[i32]) -> None:
        out[0] = 2


def launched(fill: Any, value: int) -> list[int]:
    """What a worker makes of a kernel that it is sent."""
    kdsl.set_device("emulator")
    out = np.zeros(3, np.int32)
    fill[1, 3](out, value)
    return out.tolist()


def doubled(array: kdsl.DeviceArray) -> kdsl.DeviceArray:
    kdsl.set_device("emulator:1")
    assert array.device == Device("emulator:0")
    return kdsl.to_device(array.to_host() * 2)


@pytest.mark.parametrize("method", METHODS)
def test_workers_get_kernels_and_arrays(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[__name__.count(".")])  # where they import this file
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, context, initializer=kdsl.set_device, initargs=("emulator",)) as pool:
        assert pool.submit(launched, fill, 7).result(60) == [7] * 3
        assert pool.submit(launched, copy.copy(fill), 8).result(60) == [8] * 3
        array = kdsl.to_device(np.arange(4, dtype=np.float32).reshape(2, 2).T)
        there = pool.submit(doubled, array).result(60)
        assert there.to_host().tolist() == [[0, 4], [2, 6]] and there.device == kdsl.current_device()


def test_what_is_importable_goes_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[__name__.count(".")])
    for thing in (fill, kernels, kernels.second):
        assert pickle.loads(pickle.dumps(thing)) is thing
        assert len(pickle.dumps(thing)) < 100
        assert copy.deepcopy(thing) is thing
    assert pickle.loads(pickle.dumps(fill[2, 3])).config == LaunchConfig(2, 3)


@kernel
def add(out: Ptr[i32], value: i32, times: i32 = 2) -> None:
    out[0] = out[0] + value * times


@kernel
def untyped(out, value):  # type: ignore[no-untyped-def]
    out[0] = value


def test_a_configured_kernel_is_pickled_after_launches_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[__name__.count(".")])
    x = kdsl.zeros(1, np.int32)
    for config in ((1, 1), (1, 1, None), LaunchConfig(1, 1)):
        for _ in range(2):
            for made in (pickle.loads(pickle.dumps(fill[config])), copy.deepcopy(fill[config])):
                fill[config](x, 1)
                made(x, value=3)
                assert x.to_host()[0] == 3
            pickle.loads(pickle.dumps(add[config]))(x, 4)
            assert x.to_host()[0] == 11
            add[config](x, 1, times=1)
            assert x.to_host()[0] == 12
            pickle.loads(pickle.dumps(untyped[config]))(x, 5)
            untyped[config](value=6, out=x)
            assert x.to_host()[0] == 6


@needs_cloudpickle
def test_what_cloudpickle_is_told_to_send_by_value_goes_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import cloudpickle

    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[__name__.count(".")])
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    try:
        assert len(pickle.dumps(fill)) > 1000
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    assert __name__ not in cloudpickle.list_registry_pickle_by_value()


@needs_cloudpickle
def test_a_local_kernel_goes_by_value() -> None:
    factor = 3

    def scaled(x):
        return x * factor + BY_VALUE_OFFSET

    @kernel
    def local(out: Ptr[i32], p: Pair) -> None:
        total: i32 = p.one + p.two
        out[0] = scaled(total)

    there = pickle.loads(pickle.dumps(local))
    assert there is not local and there.options == local.options
    # Where it is unpickled, cloudpickle makes a class anew, and here that is the struct itself.
    there = pickle.loads(pickle.dumps(local))
    assert pickle.loads(pickle.dumps(local)) is there, "the same pickle gives the same kernel"
    for k in (local, there):
        out = np.zeros(1, np.int32)
        k[1, 1](out, Pair(4, 5))
        assert out[0] == 32
    factor = 4
    again = pickle.loads(pickle.dumps(local))
    again[1, 1](out, Pair(4, 5))
    assert out[0] == 41 and again is not there


BY_VALUE_OFFSET = 5


def test_the_language_s_own_objects_are_one_each() -> None:
    for thing in (kdsl.thread_idx.x, kdsl.grid, kdsl.sync_threads, kdsl.atomic.add, kdsl.shared.array, kdsl.fma):
        assert pickle.loads(pickle.dumps(thing)) is thing, thing


@needs_cloudpickle
def test_what_a_sent_kernel_names_of_the_language(device: str) -> None:
    @kernel
    def local(out: Ptr[i32], n: i32) -> None:
        mine = shared.array(32, i32)
        t = thread_idx.x
        mine[t] = t
        sync_threads()
        if t < n:
            atomic.add(out, t, mine[31 - t] + kdsl.warp_size)

    out = kdsl.zeros(32, i32)
    pickle.loads(pickle.dumps(local))[1, 32](out, 30)
    assert out.to_host().tolist() == [63 - t if t < 30 else 0 for t in range(32)]


@needs_cloudpickle
def test_a_variable_that_goes_along_is_one_variable() -> None:
    counter = kdsl.device.array(1, i32, init=[10])
    table = kdsl.constant.empty(2, i32)

    @kernel
    def up() -> None:
        counter[0] += table[1]

    @kernel
    def show(out: Ptr[i32]) -> None:
        out[0] = counter[0]

    table.fill(5)
    assert pickle.loads(pickle.dumps(counter)) is counter
    up_there, show_there = pickle.loads(pickle.dumps(up)), pickle.loads(pickle.dumps(show))
    up_there[1, 1]()
    out = np.zeros(1, np.int32)
    show_there[1, 1](out)
    assert out[0] == 15


def test_without_cloudpickle_a_local_kernel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)

    @kernel
    def local(out: Ptr[i32]) -> None:
        out[0] = 1

    with pytest.raises(pickle.PicklingError, match="not at the top of a module .*pip install cloudpickle"):
        pickle.dumps(local)


def test_arrays_go_as_what_they_hold(device: str) -> None:
    import ml_dtypes

    for host in (
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.ones((2, 0), np.float64),
        np.ones(2, ml_dtypes.bfloat16),
    ):
        array = kdsl.to_device(host)
        there = pickle.loads(pickle.dumps(array))
        assert there.device == kdsl.current_device() and there.dtype == array.dtype
        assert np.array_equal(there.to_host(), host)
        assert there.address != array.address or not host.size
        twin = copy.deepcopy(array)
        array.fill(0)
        assert np.array_equal(twin.to_host(), host)
    pairs = kdsl.zeros(2, Pair)
    assert pickle.loads(pickle.dumps(pairs)).layout.type == pairs.layout.type
    with Device("emulator:1"):
        assert pickle.loads(pickle.dumps(kdsl.to_device([1, 2], device))).device == Device("emulator:1")


def test_what_belongs_to_a_process_is_refused_by_name() -> None:
    x = kdsl.zeros(1, i32)
    for thing, said in (
        (kdsl.Stream(), "make a stream where it is used"),
        (kdsl.Event(), "make an event where it is used"),
        (kernels.load(), "pickle the class of @cuda_module"),
        (kernels.load().second, "pickle the class of @cuda_module"),
        (kernels.load().second[1, 1], "load the module and configure the kernel where it is launched"),
        (kernels.second.compile(), "pickle the kernel, and compile it there"),
        (fill.prepare(1, 1, x, 1), "pickle the kernel, and prepare it"),
        (kdsl.current_device().backend, "pickle its kdsl.Device"),
        (kdsl.load_module(fill.compile().ptx.encode()), r"load_module\(\) them there"),
        (LaunchConfig(1, 1, stream=kdsl.Stream()), "make a stream where it is used"),
    ):
        with pytest.raises(TypeError, match=said):
            pickle.dumps(thing)
    assert pickle.loads(pickle.dumps(kdsl.legacy_stream)) is kdsl.legacy_stream


@pytest.mark.gpu
def test_a_gpu_is_not_pickled() -> None:
    backend = Device("cuda").backend
    with pytest.raises(TypeError, match="pickle its kdsl.Device"):
        pickle.dumps(backend)


MAIN = """
from __future__ import annotations
import multiprocessing, pickle, sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import kdsl
from kdsl import Ptr, f32, i32, kernel, struct

OFFSET = 4

@struct
class Place:
    data: Ptr[i32]
    n: i32

    def first(self) -> i32:
        found: i32 = self.data[0]
        return found

def plus(x: i32) -> i32:
    result: i32 = x + OFFSET
    return result

@kernel(fmad=False)
def k(out: Ptr[i32], n: i32) -> None:
    first: i32 = plus(n)
    out[0] = first

@kernel
def of_struct(out: Ptr[i32], p: Place) -> None:
    out[0] = p.first() + plus(p.n)

@kdsl.cuda_module
class module:
    @kernel
    def three(out: Ptr[i32]) -> None:
        out[0] = 3

def work(k, n):
    kdsl.set_device("emulator")
    out = np.zeros(1, np.int32)
    k[1, 1](out, n)
    return int(out[0])

def work_module(m):
    kdsl.set_device("emulator")
    out = np.zeros(1, np.int32)
    m.load().three[1, 1](out)
    return int(out[0])
"""
IN_A_POOL = """
if __name__ == "__main__":
    if "without" in sys.argv:
        sys.modules["cloudpickle"] = None
    with ProcessPoolExecutor(1, multiprocessing.get_context(sys.argv[1])) as pool:
        print(pool.submit(work, k, 5).result(60), pool.submit(work_module, module).result(60))
"""
TO_A_FILE = """
kdsl.set_device("emulator")
place = kdsl.to_device(np.full(1, 100, np.int32))
with open(sys.argv[1], "wb") as file:
    pickle.dump((k, of_struct, module), file)
"""
FROM_A_FILE = """
import pickle, sys
import numpy as np
import kdsl
kdsl.set_device("emulator")
with open(sys.argv[1], "rb") as file:
    k, of_struct, module = pickle.load(file)
out = np.zeros(1, np.int32)
k[1, 1](out, 5)
print(out[0], k.options.fmad)
Place = dict(of_struct.parameters)["p"].python
of_struct[1, 1](out, Place(kdsl.to_device(np.full(1, 100, np.int32)), 7))
print(out[0])
module.load().three[1, 1](out)
print(out[0])
try:
    k[1, 1](out.astype(np.float32), 5)
except TypeError as error:
    print(error)
"""


def run(path: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(path), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cloudpickle", [pytest.param("with", marks=needs_cloudpickle), "without"])
def test_kernels_of_the_main_program(method: str, cloudpickle: str, tmp_path: Path) -> None:
    path = tmp_path / "main_program.py"
    path.write_text(MAIN + IN_A_POOL)
    assert run(path, method, cloudpickle) == "9 3\n"


@needs_cloudpickle
def test_a_kernel_whose_file_is_not_there(tmp_path: Path) -> None:
    """As in a worker on another machine: the source comes with the kernel."""
    path, data = tmp_path / "main_program.py", tmp_path / "kernels.pickle"
    path.write_text(MAIN + TO_A_FILE)
    run(path, str(data))
    path.unlink()
    other = tmp_path / "other.py"
    other.write_text(FROM_A_FILE)
    told = run(other, str(data)).splitlines()
    assert told[:3] == ["9 False", "111", "3"]
    assert told[3].startswith("k: argument `out` takes Ptr[i32]")
