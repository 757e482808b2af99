"""The fast way for arrays of CuPy, Numba and whatever has `__cuda_array_interface__`, with stand-ins for them on a
driver in host memory: what it takes, on which stream, and that everything else goes the checked way.
"""

from __future__ import annotations

import inspect
import struct
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kdsl.lang.types import BF16, COMPLEX64, F32, I32, ArrayType, PointerType
from kdsl.runtime.array_making import zeros
from kdsl.runtime.bound_launch import BoundLaunch
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError
from kdsl.runtime.foreign_launch import MOST_WAYS
from kdsl.runtime.foreign_packer import ArrayParameter
from kdsl.runtime.hooks import launch_hooks
from kdsl.runtime.interface_packer import MOST_KNOWN, reader
from kdsl.runtime.launch import Launcher
from kdsl.runtime.launcher_code import MOST_FOREIGN
from kdsl.runtime.markers import In
from kdsl.runtime.stream import Stream

from .fake_driver import function
from .fast_ways import Slow, launcher
from .foreign_arrays import Cupy, DeviceNDArray, Lent, LentOnHost, ndarray

P = PointerType
SIDE, OTHER = 0x7F0000001000, 0x7F0000002000


Make = Callable[..., Any]
LIBRARIES = [ndarray, DeviceNDArray, Lent]


@pytest.fixture(params=["_c_contiguous", "flags"])
def cupy(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Any:
    """With what CuPy's arrays have beside their flags, and without."""
    found = Cupy()
    if request.param == "_c_contiguous":
        monkeypatch.setattr(ndarray, "_c_contiguous", property(lambda array: array.flags.c_contiguous), raising=False)
    monkeypatch.setitem(sys.modules, "cupy", found)
    return found


@pytest.mark.parametrize("make", LIBRARIES)
def test_what_is_packed(gpu: CudaDriver, fake_driver: Any, cupy: Any, only_fast: Any, make: Make) -> None:
    seen: list[bytes] = []
    fake_driver.kernels["vadd"] = seen.append
    only_fast()
    ours = zeros(4, backend=gpu)
    run = launcher(gpu, ("a", P(F32)), ("b", ArrayType(F32, 2)), ("n", I32), ("x", F32))
    run(make(4096), make(8192, (2, 3)), 7, 0.5)
    run(ours, make(8192, (2, 3)), 7, 0.5)
    run(a=make(4096, (2, 2, 2)), b=ours.reshape(2, 2), n=np.int32(7), x=0.5)
    assert seen == [
        struct.pack("<QQiiif", first, second, *shape, 7, 0.5)
        for first, second, shape in ((4096, 8192, (2, 3)), (ours.address, 8192, (2, 3)), (4096, ours.address, (2, 2)))
    ]


def test_arrays_of_several_libraries(gpu: CudaDriver, fake_driver: Any, cupy: Any, only_fast: Any) -> None:
    seen: list[bytes] = []
    fake_driver.kernels["vadd"] = seen.append
    run = launcher(gpu, ("a", P(F32)), ("b", P(F32)), ("c", P(F32)))
    only_fast()
    run(ndarray(256), DeviceNDArray(512), zeros(4, backend=gpu))
    run(Lent(1024), ndarray(2048), Lent(4096))
    assert [data[:16] for data in seen] == [struct.pack("<QQ", 256, 512), struct.pack("<QQ", 1024, 2048)]


def test_types_of_cupy(gpu: CudaDriver, fake_driver: Any, cupy: Any, only_fast: Any) -> None:
    only_fast()
    launcher(gpu, ("a", P(BF16)))(ndarray(dtype=ml_dtypes.bfloat16))
    launcher(gpu, ("a", P(COMPLEX64)))(ndarray(dtype="c8"))
    assert len(fake_driver.launched) == 2


CHANGES: dict[str, tuple[Make, Make]] = {
    "cupy: dtype": (ndarray, lambda: ndarray(dtype="f8")),
    "cupy: layout": (ndarray, lambda: ndarray(strides=(8,))),
    "cupy: GPU": (ndarray, lambda: ndarray(number=1)),
    "cupy: alignment": (ndarray, lambda: ndarray(4097)),
    "cupy: subclass": (ndarray, lambda: type("Subclass", (ndarray,), {})(strides=(8,))),
    "typestr": (Lent, lambda: Lent(typestr="<f8")),
    "byte order": (Lent, lambda: Lent(typestr=">f4")),
    "opaque type": (Lent, lambda: Lent(typestr="<V4")),
    "typestr that is none": (Lent, lambda: Lent(typestr=np.float32)),
    "strides": (Lent, lambda: Lent(strides=(8,))),
    "strides of another rank": (Lent, lambda: Lent(strides=(4, 4))),
    "alignment": (Lent, lambda: Lent(4097)),
    "read-only": (Lent, lambda: Lent(readonly=True)),
    "mask": (Lent, lambda: Lent(mask=Lent())),
    "stream that is none": (Lent, lambda: Lent(stream=0.0)),
    "no address": (Lent, lambda: Lent(address=None)),
    "address that is none": (Lent, lambda: Lent(address=4096.0)),
    "no elements": (Lent, lambda: Lent(shape=(0,))),
    "negative extent": (Lent, lambda: Lent(shape=(-4,))),
    "shape that is none": (Lent, lambda: Lent(shape=4)),
    "interface that raises": (Lent, lambda: Lent(raises=RuntimeError("deleted"))),
    "interface that is none": (Lent, lambda: Lent(raises=AttributeError())),
    "interface that is no dict": (Lent, lambda: Lent(form=types.MappingProxyType)),
    "numba: strides": (DeviceNDArray, lambda: DeviceNDArray(strides=(8,))),
    "numba: typestr": (DeviceNDArray, lambda: DeviceNDArray(typestr="<i4")),
    "host array": (Lent, lambda: np.zeros(4, np.float32)),
    "host array with an interface": (Lent, lambda: np.zeros(4, np.float32).view(LentOnHost)),
    "marked": (Lent, lambda: In(np.zeros(4, np.float32))),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_goes_the_checked_way(gpu: CudaDriver, cupy: Any, only_fast: Any, name: str) -> None:
    """In a launch that went the fast way before, of the same call."""
    make, change = CHANGES[name]
    run = launcher(gpu, ("a", P(F32)), ("b", P(F32)))
    only_fast()
    run(make(), make())
    with pytest.raises(Slow):
        run(make(), change())
    with pytest.raises(Slow):
        run(change(), make())
    run(make(), make())


@pytest.mark.parametrize("make", LIBRARIES)
def test_rank_and_width(gpu: CudaDriver, cupy: Any, only_fast: Any, make: Make) -> None:
    run = launcher(gpu, ("a", ArrayType(F32, 2)))
    only_fast()
    run(make(shape=(2, 3)))
    for shape in ((6,), (1, 2, 3), (1 << 16, 1 << 15)):
        with pytest.raises(Slow):
            run(make(shape=shape))
    launcher(gpu, ("a", P(F32)))(make(shape=(1 << 16, 1 << 15)))


def test_one_object_that_changes(gpu: CudaDriver, only_fast: Any) -> None:
    """Nothing is remembered of an object: its interface is read at each launch."""
    run = launcher(gpu, ("a", P(F32)))
    only_fast()
    array = Lent()
    run(array)
    for name, value in (("typestr", "<i4"), ("strides", (8,)), ("readonly", True), ("address", 2), ("mask", array)):
        before = getattr(array, name)
        setattr(array, name, value)
        with pytest.raises(Slow):
            run(array)
        setattr(array, name, before)
        run(array)


def test_read_only_arrays_are_read(gpu: CudaDriver, fake_driver: Any, only_fast: Any) -> None:
    only_fast()
    launcher(gpu, ("a", P(F32)), written=())(Lent(readonly=True))
    assert len(fake_driver.launched) == 1


def test_where_memory_is_is_asked_each_time(gpu: CudaDriver, fake_driver: Any, only_fast: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    array = Lent()
    run(array)
    fake_driver.pointers[4096] = {"DEVICE_ORDINAL": 1, "MEMORY_TYPE": 2}
    with pytest.raises(ArgumentValueError, match="Lent on cuda:1; this launch is on cuda:0"):
        run(array)
    fake_driver.pointers.clear()
    fake_driver.codes["cuPointerGetAttribute"] = [1, 1]
    with pytest.raises(ArgumentValueError, match="its address 0x1000 is in no memory that CUDA knows"):
        run(array)  # freed
    fake_driver.pointers[4096] = {"DEVICE_ORDINAL": 1, "IS_MANAGED": 1}
    run(array)
    only_fast()
    fake_driver.pointers.clear()
    run(array)


def test_a_thread_without_a_context_asks_the_checked_way(gpu: CudaDriver, fake_driver: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    run(Lent())
    before = len(fake_driver.launched)
    fake_driver.codes["cuPointerGetAttribute"] = [201]  # CUDA_ERROR_INVALID_CONTEXT
    thread = threading.Thread(target=run, args=(Lent(),))
    thread.start()
    thread.join()
    assert len(fake_driver.launched) == before + 1


def test_errors_are_those_of_the_checked_way(gpu: CudaDriver, cupy: Any) -> None:
    run = launcher(gpu, ("a", P(F32)), ("n", I32))
    run(ndarray(), 4)
    with pytest.raises(ArgumentValueError, match="on cuda:1; this launch is on cuda:0"):
        run(ndarray(number=1), 4)
    with pytest.raises(ArgumentTypeError, match=r"cupy\.ndarray of float64"):
        run(ndarray(dtype="f8"), 4)
    with pytest.raises(ArgumentTypeError, match="takes an int"):
        run(ndarray(), 4.5)
    with pytest.raises(ArgumentTypeError, match="`n` is missing"):
        run(ndarray())
    with pytest.raises(ArgumentTypeError, match="drop 1"):
        run(ndarray(), 4, 5)
    with pytest.raises(RuntimeError, match="deleted"):
        run(Lent(raises=RuntimeError("deleted")), 4)


def test_streams_of_cupy(gpu: CudaDriver, fake_driver: Any, cupy: Any, only_fast: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    named = launcher(gpu, ("a", P(F32)), config=LaunchConfig(1, 32, stream=SIDE))
    cupy.streams[0] = SIDE
    run(ndarray())  # the checked way makes the launch on that stream ready
    assert fake_driver.launched[-1][-1] == SIDE
    only_fast()
    for stream in (SIDE, 0, SIDE):
        cupy.streams[0] = stream
        run(ndarray())
        assert fake_driver.launched[-1][-1] == stream
    cupy.streams[1] = OTHER  # on another GPU
    run(ndarray())
    assert fake_driver.launched[-1][-1] == SIDE
    named(ndarray())
    assert fake_driver.launched[-1][-1] == SIDE
    cupy.streams[0] = 0
    with pytest.raises(Slow):
        named(ndarray())  # which has to be ordered


def test_a_named_stream_is_the_only_one(gpu: CudaDriver, cupy: Any) -> None:
    found = Launcher("vadd", (("a", P(F32)),), gpu, function(gpu))
    make: Any = found.foreign_packer((ndarray(),), gpu)
    launched: list[Any] = []
    way = make(launched.append, {OTHER: launched.append}, SIDE)
    cupy.streams[0] = OTHER
    assert not way((ndarray(),))
    cupy.streams[0] = SIDE
    assert way((ndarray(),))
    assert len(launched) == 1


def test_the_stream_of_cupy_is_that_of_the_array_s_gpu(fake_driver: Any, cupy: Any) -> None:
    """Also in the checked way: CuPy's interface tells that of the GPU that is current there."""
    fake_driver.kernels = {"vadd": lambda parameters: None}
    fake_driver.devices = 2
    second = CudaDriver(1, api=fake_driver)
    cupy.streams = {0: 0, 1: OTHER}
    run = launcher(second, ("a", P(F32)))
    for _ in range(2):
        run(ndarray(number=1))
        assert fake_driver.launched[-1][-1] == OTHER


@pytest.mark.parametrize("make", [DeviceNDArray, Lent])
def test_streams_of_interfaces(gpu: CudaDriver, fake_driver: Any, cupy: Any, only_fast: Any, make: Make) -> None:
    run = launcher(gpu, ("a", P(F32)), ("b", P(F32)))
    named = launcher(gpu, ("a", P(F32)), ("b", P(F32)), config=LaunchConfig(1, 32, stream=SIDE))
    run(make(stream=SIDE), make(stream=SIDE))
    only_fast()
    for stream, launched in ((SIDE, SIDE), (1, 0), (None, 0), (0, 0)):
        run(make(stream=stream), make(stream=stream))
        assert fake_driver.launched[-1][-1] == launched
    named(make(stream=SIDE), make())
    assert fake_driver.launched[-1][-1] == SIDE
    for pair in ((SIDE, 1), (1, SIDE), (SIDE, OTHER), (2, None)):
        with pytest.raises(Slow):
            run(*(make(stream=stream) for stream in pair))  # which have to be ordered
    with pytest.raises(Slow):
        named(make(stream=1), make())
    with pytest.raises(Slow):
        run(make(stream=SIDE), ndarray())


def test_a_stream_that_an_interface_does_not_tell(
    gpu: CudaDriver, fake_driver: Any, monkeypatch: pytest.MonkeyPatch, only_fast: Any
) -> None:
    array = type("array", (Lent,), {"device": "cuda:0", "__module__": "warp.types"})
    warp: Any = types.ModuleType("warp")
    warp.get_stream = lambda device: types.SimpleNamespace(cuda_stream=warp.current)
    warp.current = SIDE
    monkeypatch.setitem(sys.modules, "warp", warp)
    run = launcher(gpu, ("a", P(F32)))
    run(array())
    only_fast()
    for stream in (SIDE, 0):
        warp.current = stream
        run(array())
        assert fake_driver.launched[-1][-1] == stream


@pytest.mark.parametrize("make", LIBRARIES)
def test_hooks_and_current_streams_come_first(gpu: CudaDriver, fake_driver: Any, cupy: Any, make: Make) -> None:
    run = launcher(gpu, ("a", P(F32)))
    run(make())
    seen: list[Any] = []
    with launch_hooks(before=seen.append):
        run(make())
    assert len(seen) == 1
    stream = Stream(gpu)
    with stream:
        run(make())
    assert fake_driver.launched[-1][-1] == stream.handle
    with stream.capture() as graph:
        run(make())
    assert len(graph.nodes) == 1


def test_a_current_stream_comes_before_the_library_s(gpu: CudaDriver, fake_driver: Any, cupy: Any) -> None:
    cupy.streams[0] = SIDE
    run = launcher(gpu, ("a", P(F32)))
    stream = Stream(gpu)
    for make in (ndarray, lambda: Lent(stream=SIDE)):
        run(make())  # which makes that stream ready
        with stream:
            run(make())
        assert fake_driver.launched[-1][-1] == stream.handle
        with stream.capture() as graph:
            run(make())
        assert len(graph.nodes) == 1


def test_nothing_is_asked_of_the_driver_after_a_fork(gpu: CudaDriver, fake_driver: Any) -> None:
    is_own = gpu.own_memory_test()
    assert is_own(4096)
    gpu._calls.forked = True
    fake_driver.called()
    assert not is_own(4096)
    assert fake_driver.called() == []


def test_what_is_kept_is_bounded(gpu: CudaDriver, only_fast: Any) -> None:
    found = Launcher("vadd", (("a", P(F32)),), gpu, function(gpu))
    run = found.bind(LaunchConfig(1, 32))
    only_fast()
    for index in range(200):
        run(type(f"Lent{index}", (Lent,), {})())
    (bound,) = (cell.cell_contents.__self__ for cell in run.__closure__ if hasattr(cell.cell_contents, "__self__")
                and isinstance(cell.cell_contents.__self__, BoundLaunch))  # fmt: skip
    assert len(bound._foreign._ways) <= MOST_WAYS
    assert len(found._code._foreign) <= MOST_FOREIGN
    read = reader(ArrayParameter("a", P(F32), F32, True), lambda address: True, None)
    for extent in range(1, 200):
        assert read(Lent(shape=(extent,)), 0) == (4096, (extent,), 0)
    assert len(inspect.getclosurevars(read).nonlocals["known"]) <= MOST_KNOWN
