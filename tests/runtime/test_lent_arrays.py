"""JAX's arrays on a GPU, with a stand-in for JAX on a driver in host memory: what is kept of one that a launch has read,
when that is used, and when it is given back.
"""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
import types
from functools import partial
from typing import Any

import pytest

from kdsl.lang.types import F32, I32, ArrayType, PointerType
from kdsl.runtime.array_making import zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.dlpack import TENSOR
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError
from kdsl.runtime.foreign_streams import MOST_KEPT
from kdsl.runtime.lent_arrays import MOST_LENT
from kdsl.runtime.stream import Stream

from . import fast_ways
from .fast_ways import Slow

P = PointerType
SIDE = 0x7F0000001000
# JAX's arrays are only read.
launcher = partial(fast_ways.launcher, written=())
FLOAT, INT = (2, 32), (0, 32)

_make = ctypes.pythonapi.PyCapsule_New
_make.restype, _make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class Memory:
    """A buffer of JAX's."""


class Exported(ctypes.Structure):
    """What a capsule holds; alive as long as the capsule's destructor has not run."""

    _fields_ = (("bytes", ctypes.c_char * 128),)


LIVE: dict[int, tuple[Exported, Any]] = {}


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def destroy(capsule: int) -> None:
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    LIVE.pop(get(capsule, b"dltensor"))


class Array:
    """A `jax.Array` on GPU ``number``. ``asked`` are the streams that it was exported for."""

    def __init__(self, address: int = 4096, shape: tuple[int, ...] = (4,), code: Any = FLOAT, number: int = 0) -> None:
        self.address, self.shape, self.code, self.number = address, shape, code, number
        self.strides: tuple[int, ...] | None = None
        self.asked: list[int | None] = []
        self.memory = Memory()
        self.deleted = False

    def devices(self) -> set[int]:
        return {self.number}

    def is_deleted(self) -> bool:
        return self.deleted

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.number

    def __dlpack__(self, *, stream: int | None = None, max_version: Any = None) -> Any:
        assert not self.deleted
        self.asked.append(stream)
        extents = (ctypes.c_int64 * len(self.shape))(*self.shape)
        strides = None if self.strides is None else (ctypes.c_int64 * len(self.shape))(*self.strides)
        exported = Exported()
        where = ctypes.addressof(exported)
        tensor = TENSOR.pack(
            self.address, 2, self.number, len(self.shape), *self.code, 1, ctypes.addressof(extents),
            0 if strides is None else ctypes.addressof(strides), 0,
        )  # fmt: skip
        ctypes.memmove(where, tensor, len(tensor))
        LIVE[where] = (exported, (self.memory, extents, strides))
        return _make(where, b"dltensor", ctypes.cast(destroy, ctypes.c_void_p).value)


Array.__module__ = "jaxlib._jax"


def exports(memory: Memory) -> int:
    """How many exports of a buffer there are."""
    gc.collect()
    return sum(kept[0] is memory for _, kept in LIVE.values())


@pytest.fixture(autouse=True)
def jax(monkeypatch: pytest.MonkeyPatch) -> Any:
    found: Any = types.ModuleType("jax")
    found.Array = Array
    found.core = types.SimpleNamespace(Tracer=type("Tracer", (), {}))
    monkeypatch.setitem(sys.modules, "jax", found)
    return found


def test_an_array_is_exported_once(gpu: CudaDriver, fake_driver: Any, only_fast: Any) -> None:
    seen: list[bytes] = []
    fake_driver.kernels["vadd"] = seen.append
    run = launcher(gpu, ("a", P(F32)), ("b", ArrayType(F32, 2)), ("c", P(F32)), written={2})
    a, b, ours = Array(4096), Array(8192, (2, 3)), zeros(4, backend=gpu)
    run(a, b, ours)
    only_fast()
    fake_driver.called()
    run(a, b, ours)
    assert fake_driver.called() == ["cuLaunchKernel"]
    assert a.asked == b.asked == [1]
    assert seen == [struct.pack("<QQiiQ", 4096, 8192, 2, 3, ours.address)] * 2
    # Another kernel knows it too.
    launcher(gpu, ("a", P(F32)))(b)
    with pytest.raises(Slow):
        run(a, Array(8192, (2, 3)), ours)


def test_what_goes_the_checked_way(gpu: CudaDriver, only_fast: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    known, whole, wide = Array(), Array(shape=(2, 3)), Array(shape=(1 << 16, 1 << 15))
    ints = Array(code=INT)
    for array in (known, whole, wide):
        run(array)
    launcher(gpu, ("a", P(I32)))(ints)
    writes = launcher(gpu, ("a", P(F32)), written={0})
    rows = launcher(gpu, ("a", ArrayType(F32, 2)))
    only_fast()
    rows(whole)
    for launch, array in ((run, ints), (rows, known), (rows, wide), (writes, known), (run, Array())):
        with pytest.raises(Slow):
            launch(array)
    run(wide)


def test_errors_are_those_of_the_checked_way(gpu: CudaDriver) -> None:
    run = launcher(gpu, ("a", P(F32)))
    array = Array()
    run(array)
    array.deleted = True
    with pytest.raises(ArgumentTypeError, match="was deleted or donated; pass a live array"):
        run(array)
    with pytest.raises(ArgumentValueError, match="on cuda:1; this launch is on cuda:0"):
        run(Array(number=1))
    with pytest.raises(ArgumentValueError, match="a read-only .*JAX's arrays never change"):
        launcher(gpu, ("a", P(F32)), written={0})(Array())


def test_another_stream_is_made_ready_anew(gpu: CudaDriver, fake_driver: Any, only_fast: Any) -> None:
    array = Array()
    run = launcher(gpu, ("a", P(F32)))
    named = launcher(gpu, ("a", P(F32)), config=LaunchConfig(1, 32, stream=SIDE))
    run(array)
    named(array)
    assert array.asked == [1, SIDE]
    only_fast()
    run(array)
    assert fake_driver.launched[-1][-1] == 0
    named(array)
    assert fake_driver.launched[-1][-1] == SIDE


def test_what_is_not_contiguous_is_not_kept(gpu: CudaDriver) -> None:
    array = Array(shape=(2, 3))
    array.strides = (1, 2)
    launcher(gpu, ("a", ArrayType(F32, 2, strided=True)))(array)
    assert not gpu.lent.found


def test_exports_end_with_their_array_once_the_launch_has_ended(gpu: CudaDriver, fake_driver: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    array = Array()
    memory = array.memory
    run(array)
    run(array)
    assert exports(memory) == 1
    fake_driver.codes["cuEventQuery"] = [600]  # it runs yet
    del array
    assert exports(memory) == 1
    gpu.foreign.let_go()
    assert exports(memory) == 0
    assert not gpu.lent.found


def test_a_new_array_with_the_id_of_a_dead_one(gpu: CudaDriver, only_fast: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    old, new = Array(), Array(8192)
    run(old)
    entry = gpu.lent.found.pop((id(old), 0))
    gpu.lent.found[id(new), 0] = entry
    only_fast()
    with pytest.raises(Slow):
        run(new)
    key = id(old), 0
    gpu.lent.found[key] = (lambda: new, *entry[1:])
    del old
    gc.collect()
    assert key in gpu.lent.found


def test_a_synchronisation_ends_all_exports(gpu: CudaDriver, fake_driver: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    array = Array()
    run(array)
    gpu.synchronize()
    assert exports(array.memory) == 0
    run(array)
    assert array.asked == [1, 1]


def test_an_export_that_ends_during_a_launch_is_held_until_that_has_ended(
    gpu: CudaDriver, fake_driver: Any, only_fast: Any
) -> None:
    """By a synchronisation in another thread, say."""
    run = launcher(gpu, ("a", P(F32)))
    array = Array()
    run(array)
    only_fast()
    held = []

    def ends(parameters: bytes) -> None:
        gpu.lent.end()
        gpu.foreign.let_go()
        held.append(exports(array.memory))

    fake_driver.kernels["vadd"] = ends
    fake_driver.codes["cuEventQuery"] = [0, 600]  # the last is of the event behind the launch
    run(array)
    assert held == [1]
    assert exports(array.memory) == 1
    gpu.foreign.let_go()
    assert exports(array.memory) == 0


def test_exports_are_bounded(gpu: CudaDriver) -> None:
    run = launcher(gpu, ("a", P(F32)))
    arrays = [Array() for _ in range(MOST_LENT + MOST_KEPT)]
    for array in arrays:
        run(array)
    assert len(gpu.lent.found) == MOST_LENT
    assert exports(arrays[0].memory) == 0
    assert exports(arrays[-1].memory) == 1


def test_an_export_that_is_one_too_many_is_held_until_its_launch_has_ended(gpu: CudaDriver, fake_driver: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    arrays = [Array() for _ in range(MOST_LENT + 1)]
    fake_driver.codes["cuEventQuery"] = [600]  # it runs yet
    for array in arrays:
        run(array)
    assert exports(arrays[0].memory) == 1
    gpu.foreign.let_go()
    assert exports(arrays[0].memory) == 0


def test_a_stream_of_ours_comes_first(gpu: CudaDriver, fake_driver: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    array = Array()
    run(array)
    stream = Stream(gpu)
    with stream:
        run(array)
    assert fake_driver.launched[-1][-1] == stream.handle
