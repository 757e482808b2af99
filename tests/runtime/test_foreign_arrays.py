"""Arrays of other CUDA libraries on a driver in host memory: what is read of their protocols, what is refused, in which
order work is put, and what is held until it has ended.
"""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kdsl.lang.struct_dtype import struct_of_dtype
from kdsl.lang.types import BF16, F32, I32, SCALARS, ArrayType, PointerType
from kdsl.runtime.array_making import zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.dlpack import HEADER, TENSOR
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError
from kdsl.runtime.foreign_streams import MOST_KEPT
from kdsl.runtime.launch import Launcher
from kdsl.runtime.shared_arrays import from_dlpack
from kdsl.runtime.stream import Stream

from .fake_driver import function

P = PointerType
FOREIGN = 0x7F0000001000
HEAD = struct.Struct("<Q 2i i 2BH")


class Lent:
    """An array of a library with `__cuda_array_interface__`."""

    def __init__(self, dtype: str = "", **fields: Any) -> None:
        said = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3, **fields}
        self.__cuda_array_interface__ = {name: value for name, value in said.items() if value != "absent"}
        if dtype:
            self.dtype = dtype


class Dlpack:
    """An array of a library with DLPack alone, in the memory of GPU ``number``."""

    def __init__(self, address: int, number: int = 0, shape: tuple[int, ...] = (4,)) -> None:
        self.asked: list[int | None] = []
        self.number = number
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        tensor = TENSOR.pack(address, 2, number, len(shape), 2, 32, 1, ctypes.addressof(self.shape), 0, 0)
        self.managed = ctypes.create_string_buffer(HEADER.pack(1, 0, 0, 0, 0) + tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.number

    def __dlpack__(self, *, stream: int | None = None, max_version: Any = None) -> Any:
        self.asked.append(stream)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.managed), b"dltensor_versioned", None)


def launcher(gpu: CudaDriver, *parameters: tuple[str, Any], written: Any = None) -> Callable[..., None]:
    return Launcher("vadd", parameters, gpu, function(gpu), written=written).bind(LaunchConfig(1, 32))


def strided(element: Any, ndim: int = 1) -> ArrayType:
    return ArrayType(element, ndim, strided=True)


@pytest.mark.parametrize("version", [0, 1, 2, 3, "absent"])
def test_every_version_of_the_interface(gpu: CudaDriver, fake_driver: Any, version: Any) -> None:
    seen: list[bytes] = []
    fake_driver.kernels["vadd"] = seen.append
    launcher(gpu, ("a", P(F32)))(Lent(version=version, strides=None, mask=None))
    assert seen == [struct.pack("<Q", 4096)]


def test_shapes_and_strides(gpu: CudaDriver, fake_driver: Any) -> None:
    seen: list[bytes] = []
    fake_driver.kernels["vadd"] = seen.append
    run = launcher(gpu, ("a", strided(F32, 2)))
    run(Lent(shape=(3, 4), strides=(16, 4)))
    run(Lent(shape=(3, 4), strides=(4, 12)))
    run(Lent(shape=(3, 4), strides=(-16, 8)))
    run(Lent(shape=(0, 4), data=(0, False)))
    run(Lent(shape=(0, 4), data=(None, False)))
    assert seen == [
        struct.pack("<Qiiii", *numbers)
        for numbers in ((4096, 3, 4, 4, 1), (4096, 3, 4, 1, 3), (4096, 3, 4, -4, 2), (0, 0, 4, 4, 1), (0, 0, 4, 4, 1))
    ]
    with pytest.raises(ArgumentValueError, match="not contiguous"):
        run(Lent(shape=(3, 4), strides=(18, 4)))


OTHERS: list[tuple[Any, Any]] = [
    (SCALARS["bool"], Lent(typestr="|b1")),
    (SCALARS["u8"], Lent(typestr="|u1")),
    (SCALARS["i64"], Lent(typestr="<i8")),
    (BF16, Lent(typestr="<V2", dtype="bfloat16")),
    (BF16, Lent(typestr="|V2", dtype="bfloat16", descr=[("", "<V2")])),
    (SCALARS["f8e4m3"], Lent(typestr="<V1", dtype="float8_e4m3fn")),
    (SCALARS["f8e5m2"], Lent(typestr="<f1", dtype="float8_e5m2")),
    (struct_of_dtype(np.dtype([("x", "f4"), ("y", "i4")])), Lent(typestr="|V8", descr=[("x", "<f4"), ("y", "<i4")])),
    (struct_of_dtype(np.dtype([("x", "f4"), ("y", "i1")], align=True)),
     Lent(typestr="|V8", descr=[("x", "<f4"), ("y", "|i1"), ("", "|V3")])),
]  # fmt: skip


@pytest.mark.parametrize(("element", "array"), OTHERS, ids=[str(element) for element, _ in OTHERS])
def test_types(gpu: CudaDriver, element: Any, array: Lent) -> None:
    launcher(gpu, ("a", P(element)))(array)


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (Lent(mask=Lent()), "it is masked; pass its data"),
        (Lent(typestr=">f4"), "Lent of float32 of the other byte order; pass a converted copy"),
        (Lent(typestr="<M8[s]"), "Lent of datetime64[s]; pass a converted copy"),
        (Lent(typestr="|O"), "Lent of object; pass a converted copy"),
        (Lent(typestr="<U4"), "Lent of <U4; pass a converted copy"),
        (Lent(typestr="<V2"), "Lent of <V2; pass a converted copy"),
        (
            Lent(typestr="|V8", descr=[("x", "<f4"), ("y", "<i4")]),
            "Lent of {x: float32, y: int32}; pass a converted copy",
        ),
        (Lent(typestr="|V8", descr=[("x", "what")]), "Lent of |V8; pass a converted copy"),
        (Lent(typestr="|V8", descr=[("x", "|O")]), "Lent of {x: object}; pass a converted copy"),
        (Lent(data=(4096, True)), "a read-only .*Lent, which the kernel may write; pass a copy and use the copy"),
        (Lent(data=(4097, False)), "Lent at the misaligned address 0x1001; pass a copy, and keep it"),
    ],
)
def test_refused(gpu: CudaDriver, fake_driver: Any, array: Lent, text: str) -> None:
    run = launcher(gpu, ("a", P(F32)))
    fake_driver.called()
    pattern = text if ".*" in text else ".*" + text.replace("{", r"\{").replace("[", r"\[").replace("|", r"\|")
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=pattern):
        run(array)
    assert fake_driver.called("cuGetProcAddress", "cuPointerGetAttribute") == []


def test_read_only_arrays_are_read(gpu: CudaDriver) -> None:
    launcher(gpu, ("a", P(F32)), written=())(Lent(data=(4096, True)))


def test_arrays_of_another_gpu(gpu: CudaDriver, fake_driver: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    fake_driver.pointers[4096] = {"DEVICE_ORDINAL": 1, "MEMORY_TYPE": 2}
    with pytest.raises(
        ArgumentValueError, match=r"Lent on cuda:1; this launch is on cuda:0: pass a copy that is there"
    ):
        run(Lent())
    fake_driver.pointers[4096] = {"DEVICE_ORDINAL": 1, "MEMORY_TYPE": 2, "IS_MANAGED": 1}
    run(Lent())
    fake_driver.pointers[4096] = {"DEVICE_ORDINAL": 1, "MEMORY_TYPE": 1}
    run(Lent())
    with pytest.raises(ArgumentValueError, match=r"Dlpack on cuda:1; this launch is on cuda:0"):
        run(Dlpack(4096, number=1))
    # Nothing is asked of the pointer of an array without elements.
    fake_driver.codes["cuPointerGetAttribute"] = [1, 1]
    run(Lent(shape=(0,)))
    with pytest.raises(
        ArgumentValueError, match=r"its address 0x1000 is in no memory that CUDA knows; pass a live array"
    ):
        run(Lent())


def cupy_array(stream: int, number: int = 0) -> Any:
    """What looks like an array of CuPy, from a version whose interface names no stream."""

    class ndarray(Lent):  # noqa: N801
        device = types.SimpleNamespace(id=number)

    ndarray.__module__ = "cupy"
    sys.modules["cupy"].ndarray = ndarray  # type: ignore[attr-defined]
    found = ndarray()
    current = types.SimpleNamespace(ptr=stream)
    sys.modules["cupy"].cuda = types.SimpleNamespace(get_current_stream=lambda number: current)  # type: ignore[attr-defined]
    return found


def test_the_current_streams_of_libraries(gpu: CudaDriver, fake_driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", types.ModuleType("cupy"))
    run = launcher(gpu, ("a", P(F32)))
    run(cupy_array(FOREIGN))
    assert fake_driver.launched[-1][-1] == FOREIGN
    assert "cuPointerGetAttribute" not in fake_driver.called()
    with pytest.raises(ArgumentValueError, match="on cuda:2; this launch is on cuda:0"):
        run(cupy_array(FOREIGN, number=2))

    class array(Lent):  # noqa: N801
        device = "cuda:0"

    array.__module__ = "warp.types"
    warp = types.ModuleType("warp")
    warp.get_stream = lambda device: types.SimpleNamespace(cuda_stream=FOREIGN + 1)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "warp", warp)
    run(array())
    assert fake_driver.launched[-1][-1] == FOREIGN + 1


def test_streams_are_ordered_and_the_host_waits_for_none(gpu: CudaDriver, fake_driver: Any) -> None:
    own = Stream(gpu)
    run = Launcher("vadd", (("a", P(F32)), ("b", P(F32))), gpu, function(gpu)).bind(LaunchConfig(1, 32, stream=own))
    fake_driver.called()
    run(Lent(stream=FOREIGN), Lent(stream=2))
    names = fake_driver.called()
    assert names.count("cuEventRecord") == names.count("cuStreamWaitEvent") + 1 == 3  # one for what is held
    assert not [name for name in names if "Synchronize" in name]
    assert fake_driver.launched[-1][-1] == own.handle


def test_dlpack_is_asked_for_the_launch_s_stream(gpu: CudaDriver, fake_driver: Any) -> None:
    seen: list[bytes] = []
    fake_driver.kernels["vadd"] = seen.append
    array = Dlpack(4096)
    launcher(gpu, ("a", P(F32)))(array)
    own = Stream(gpu)
    Launcher("vadd", (("a", P(F32)),), gpu, function(gpu)).bind(LaunchConfig(1, 32, stream=own))(array)
    Launcher("vadd", (("a", P(F32)),), gpu, function(gpu)).bind(LaunchConfig(1, 32, stream=FOREIGN))(array)
    assert array.asked == [1, own.handle, FOREIGN]
    assert seen == [struct.pack("<Q", 4096)] * 3


def test_arrays_are_held_until_the_launch_has_ended(gpu: CudaDriver, fake_driver: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    array = Dlpack(4096)
    gone = weakref.ref(array)
    fake_driver.codes["cuEventQuery"] = [600]
    run(array)
    del array
    gc.collect()
    assert gone() is not None
    gpu.foreign.let_go()
    gc.collect()
    assert gone() is None
    fake_driver.called()
    fake_driver.codes["cuEventQuery"] = [600] * 10000
    held = [Dlpack(4096 * i) for i in range(1, MOST_KEPT + 4)]
    for one in held:
        run(one)
    names = fake_driver.called()
    assert names.count("cuEventSynchronize") == 3
    assert "cuCtxSynchronize" not in names


def test_an_array_on_its_own_stream_is_not_held(gpu: CudaDriver, fake_driver: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    run(Lent(stream=FOREIGN))
    fake_driver.called()
    run(Lent(stream=FOREIGN))
    # One event, for the memory of ours that is freed on the default stream.
    assert fake_driver.called("cuStreamIsCapturing", "cuPointerGetAttribute") == ["cuLaunchKernel", "cuEventRecord"]


def test_what_we_give_is_ready_on_the_stream_that_is_named(gpu: CudaDriver, fake_driver: Any) -> None:
    array = zeros(4, backend=gpu)
    run = Launcher("vadd", (("a", P(F32)),), gpu, function(gpu)).bind(LaunchConfig(1, 32, stream=FOREIGN))
    run(array)
    fake_driver.called()
    assert array.__cuda_array_interface__["stream"] == 1
    assert fake_driver.called() == ["cuStreamWaitEvent"]
    assert array.__cuda_array_interface__["strides"] is None
    assert fake_driver.called() == []
    for stream, calls in ((None, 1), (1, 1), (-1, 0), (2, 2), (FOREIGN, 2)):
        gpu.foreign.join()
        run(array)
        fake_driver.called()
        array.__dlpack__(stream=stream)
        assert fake_driver.called().count("cuStreamWaitEvent") == calls, stream
    with pytest.raises(
        BufferError, match="stream 0 is ambiguous: pass 1 for the legacy default stream, 2 for the per-"
    ):
        array.__dlpack__(stream=0)
    with pytest.raises(TypeError, match="stream is an int or None, got 'one'"):
        array.__dlpack__(stream="one")  # type: ignore[arg-type]


def tensor_in(capsule: Any, offset: int = HEADER.size, name: bytes = b"dltensor_versioned") -> tuple[Any, ...]:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return TENSOR.unpack(ctypes.string_at(get(capsule, name) + offset, TENSOR.size))


def test_capsules_of_gpu_memory(gpu: CudaDriver, fake_driver: Any) -> None:
    array = zeros((2, 3), BF16, backend=gpu)
    assert array.__dlpack_device__() == (2, 0)
    capsule = array.__dlpack__(max_version=(1, 1))
    data, kind, number, ndim, code, bits, lanes, *_ = tensor_in(capsule)
    assert (data, kind, number, ndim, code, bits, lanes) == (array.address, 2, 0, 2, 4, 16, 1)
    assert tensor_in(array.__dlpack__(), 0, b"dltensor")[:4] == (array.address, 2, 0, 2)
    # A copy on the host, where that is asked for.
    assert tensor_in(array.__dlpack__(max_version=(1, 0), dl_device=(1, 0)))[1:3] == (1, 0)
    with pytest.raises(BufferError, match="the host reads this array's memory only as a copy"):
        array.__dlpack__(dl_device=(1, 0), copy=False)
    copied = array.__dlpack__(max_version=(1, 0), copy=True)
    assert tensor_in(copied)[0] not in (array.address, 0)
    address = array.address
    del array, copied
    gc.collect()
    gpu.synchronize()  # lent memory is given back once nobody can use it
    assert address in fake_driver.memory
    del capsule
    gc.collect()
    gpu.synchronize()
    assert address not in fake_driver.memory


def test_structs_are_described_field_by_field(gpu: CudaDriver) -> None:
    interface = zeros(3, np.dtype([("x", "f4"), ("y", "i1")], align=True), backend=gpu).__cuda_array_interface__
    assert (interface["typestr"], interface["descr"]) == ("|V8", [("x", "<f4"), ("y", "|i1"), ("", "|V3")])
    halves = zeros(3, ml_dtypes.bfloat16, backend=gpu).__cuda_array_interface__
    assert halves["typestr"] == "<V2"
    assert "descr" not in halves


def test_memory_of_others_is_given_back_behind_our_work(gpu: CudaDriver, fake_driver: Any) -> None:
    theirs = Dlpack(4096)
    gone = weakref.ref(theirs)
    shared = from_dlpack(theirs, gpu)
    assert (shared.address, shared.shape, theirs.asked) == (4096, (4,), [1])
    launcher(gpu, ("a", P(F32)))(shared)
    part = shared.reshape(2, 2)
    del theirs, shared
    gc.collect()
    assert gone() is not None
    fake_driver.codes["cuEventQuery"] = [600]
    del part
    gc.collect()
    assert gone() is not None
    gpu.foreign.let_go()
    gc.collect()
    assert gone() is None
    with pytest.raises(BufferError, match=r"is on cuda:1 and not on cuda:0; call kdsl\.set_device\(1\) before"):
        from_dlpack(Dlpack(4096, number=1), gpu)
    with pytest.raises(BufferError, match=r"is in memory of the host; kdsl\.to_device copies it to cuda"):
        from_dlpack(np.zeros(4), gpu)


def test_arrays_on_a_gpu_are_no_numbers(gpu: CudaDriver, fake_driver: Any) -> None:
    run = launcher(gpu, ("n", I32), ("x", F32))
    fake_driver.called()
    for given in ((Lent(shape=()), 1.0), (1, Dlpack(4096, shape=()))):
        with pytest.raises(ArgumentTypeError, match=r"in a GPU's memory; pass value\.item\(\), which waits for it, or"):
            run(*given)
    assert fake_driver.called() == []


def test_an_unannotated_parameter_asks_for_no_order(gpu: CudaDriver) -> None:
    from kdsl.runtime.inference import infer_type

    array = Dlpack(4096)
    assert infer_type("k", "a", array) == ArrayType(F32, 1)
    assert array.asked == [-1]
    assert infer_type("k", "a", Lent(typestr="<i4", strides=(8,))) == strided(I32)
