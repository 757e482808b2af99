"""DLPack both ways on the emulator, whose memory is the host's: NumPy is the other library, and capsules made by hand."""

from __future__ import annotations

import ctypes
import gc
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, f32, grid, i32, kernel
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError

NAMES = "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bf16 f8e4m3 f8e5m2 complex64 complex128".split()
# dlpack.h, DLDataTypeCode: int, uint, float, bfloat, complex, bool, float8_e4m3fn, float8_e5m2.
CODES = {
    "bool": (6, 8), "bf16": (4, 16), "f8e4m3": (10, 8), "f8e5m2": (12, 8), "complex64": (5, 64), "complex128": (5, 128),
    **{f"i{n}": (0, n) for n in (8, 16, 32, 64)}, **{f"u{n}": (1, n) for n in (8, 16, 32, 64)},
    **{f"f{n}": (2, n) for n in (16, 32, 64)},
}  # fmt: skip


@kernel
def double(x: Array[f32, 1], y: Array[f32, 1]) -> None:
    i = grid(1)
    if i < x.shape[0]:
        y[i] = x[i] * 2


@kernel
def add_one(x: Ptr[i32], n: i32) -> None:
    i = grid(1)
    if i < n:
        x[i] += 1


class Tensor(ctypes.Structure):
    """DLTensor of dlpack.h, written down once more."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor),
    ]  # fmt: skip


class Unversioned(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


def pointer(capsule: Any, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    found: int = get(capsule, name)
    return found


def described(array: Any) -> Versioned:
    """The tensor of an array's versioned capsule, which is kept."""
    capsule = array.__dlpack__(max_version=(1, 0))
    found = Versioned.from_address(pointer(capsule, b"dltensor_versioned"))
    found.capsule = capsule
    return found


class Producer:
    """An array of a library that only has DLPack, with what it says laid down by hand."""

    def __init__(self, array: np.ndarray[Any, Any], **fields: Any) -> None:
        self.array = array
        self.asked: list[dict[str, Any]] = []
        shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        strides = (ctypes.c_int64 * max(array.ndim, 1))(*(stride // array.itemsize for stride in array.strides))
        self.held = (shape, strides)
        code = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}[array.dtype.kind]
        tensor = Tensor(array.ctypes.data, 1, 0, array.ndim, code, 8 * array.itemsize, 1, shape, strides, 0)
        for name in ("data", "device_type", "device_id", "code", "bits", "lanes", "strides", "byte_offset"):
            if name in fields:
                setattr(tensor, name, fields[name])
        self.tensor = tensor
        self.fields = fields
        version = fields.get("version", (1, 0))
        flags = fields.get("flags", 0)
        self.managed: Any = Versioned(*version, 0, 0, flags, tensor) if version else Unversioned(tensor, 0, 0)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.device_type, self.tensor.device_id

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        if "fails" in self.fields:
            raise self.fields["fails"]
        if not self.fields.get("version", True) and "max_version" in keywords:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self.name = b"dltensor_versioned" if isinstance(self.managed, Versioned) else b"dltensor"
        return make(ctypes.addressof(self.managed), self.name, None)


def lives(address: int) -> bool:
    """Whether the emulator has the allocation that an address is in."""
    emulator: Any = kdsl.current_device().backend
    return address >> 40 in emulator.memory.allocations


def typed(name: str) -> Any:
    return bool if name == "bool" else getattr(kdsl, name)


@pytest.mark.parametrize("name", NAMES)
def test_every_type_is_described_as_the_header_says(name: str) -> None:
    array = kdsl.zeros((2, 3), typed(name))
    found = described(array)
    tensor = found.tensor
    assert (found.major, found.flags) == (1, 0)
    assert (tensor.code, tensor.bits, tensor.lanes) == (*CODES[name], 1)
    assert (tensor.device_type, tensor.device_id) == (1, 0) == array.__dlpack_device__()
    assert tensor.shape[: tensor.ndim] == [2, 3]
    assert not tensor.strides or tensor.strides[: tensor.ndim] == [3, 1]
    assert tensor.byte_offset == 0


@pytest.mark.parametrize("name", NAMES)
def test_what_we_export_we_import(name: str) -> None:
    array = kdsl.zeros((2, 3), typed(name))
    back = kdsl.from_dlpack(array)
    assert (back.dtype, back.shape) == (array.dtype, (2, 3))
    array.fill(1)
    assert (back.to_host() == np.ones((2, 3), array.dtype)).all()


def test_numpy_shares_the_memory_both_ways() -> None:
    array = kdsl.to_device(np.arange(6, dtype=np.int32).reshape(2, 3))
    host = np.from_dlpack(array)
    add_one[1, 32](array, 6)
    assert host.tolist() == [[1, 2, 3], [4, 5, 6]]
    host[0, 0] = 10
    assert array.to_host()[0, 0] == 10
    mine = np.zeros(4, np.int32)
    shared = kdsl.from_dlpack(mine)
    add_one[1, 32](shared, 4)
    assert mine.tolist() == [1, 1, 1, 1]
    copied = kdsl.from_dlpack(mine, copy=True)
    add_one[1, 32](copied, 4)
    assert mine.tolist() == [1, 1, 1, 1]
    assert copied.to_host().tolist() == [2, 2, 2, 2]


def test_the_unversioned_form() -> None:
    array = kdsl.zeros(3, f32)
    for maximum in (None, (0, 8)):
        capsule = array.__dlpack__(max_version=maximum)
        found = Unversioned.from_address(pointer(capsule, b"dltensor")).tensor
        assert (found.code, found.bits, found.shape[0], found.device_type) == (2, 32, 3, 1)
    values = np.arange(4, dtype=np.float32)
    out = np.zeros(4, np.float32)
    double[1, 32](Producer(values, version=None), out)
    assert out.tolist() == [0, 2, 4, 6]


def test_arrays_without_elements_and_without_dimensions() -> None:
    empty = kdsl.zeros((0, 3), f32)
    found = described(empty).tensor
    assert found.data is None
    assert found.shape[:2] == [0, 3]
    assert np.from_dlpack(empty).shape == (0, 3)
    assert kdsl.from_dlpack(np.zeros((2, 0), np.float32)).shape == (2, 0)
    assert kdsl.from_dlpack(np.array(7, np.int32)).to_host() == 7
    assert np.from_dlpack(kdsl.zeros((), np.int16)).shape == ()


def test_copies_and_other_devices() -> None:
    array = kdsl.zeros(3, i32)
    copied = np.from_dlpack(array, copy=True)
    copied[0] = 5
    assert array.to_host()[0] == 0
    assert np.from_dlpack(array, device="cpu", copy=False).shape == (3,)
    with pytest.raises(BufferError, match="this array is on emulator; it is exported there, or copied to the host"):
        array.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="stream must be None, got 5"):
        array.__dlpack__(stream=5)


def test_views_with_strides_are_shared() -> None:
    array = kdsl.to_device(np.arange(12, dtype=np.int32).reshape(3, 4))
    assert np.from_dlpack(array[::-1, 1::2]).tolist() == [[9, 11], [5, 7], [1, 3]]
    assert np.from_dlpack(array.T).tolist() == array.to_host().T.tolist()
    theirs = np.arange(12, dtype=np.int32).reshape(3, 4)
    ours = kdsl.from_dlpack(theirs[::-1, ::2])
    assert ours.to_host().tolist() == [[8, 10], [4, 6], [0, 2]]
    ours.fill(-1)
    assert theirs.tolist() == [[-1, 1, -1, 3], [-1, 5, -1, 7], [-1, 9, -1, 11]]


def test_freed_memory_is_not_lent_and_what_was_lent_stays() -> None:
    array = kdsl.zeros(4, i32)
    host = np.from_dlpack(array)
    array.free()
    host[:] = 1
    with pytest.raises(ValueError, match="was freed"):
        array.__dlpack__()


def test_structs_have_no_dlpack() -> None:
    array = kdsl.zeros(3, np.dtype([("x", "f4"), ("y", "i4")]))
    with pytest.raises(BufferError, match=r"DLPack has no structs such as .*; share its bytes, a\.view\(np\.uint8\)"):
        array.__dlpack__()


def test_a_capsule_keeps_the_memory_until_it_goes() -> None:
    array = kdsl.zeros(100, f32)
    address = array.address
    host = np.from_dlpack(array)
    unconsumed = array.__dlpack__()
    versioned = array.__dlpack__(max_version=(1, 0))
    del array
    gc.collect()
    host[:] = 3
    del host
    gc.collect()
    assert lives(address)
    del unconsumed
    gc.collect()
    assert lives(address)
    del versioned
    gc.collect()
    assert not lives(address)


def test_a_consumer_may_let_go_in_another_thread() -> None:
    arrays = [kdsl.zeros(10, f32) for _ in range(20)]
    addresses = [array.address for array in arrays]
    held = [np.from_dlpack(array) for array in arrays]
    del arrays
    gc.collect()
    assert all(map(lives, addresses))
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert not any(map(lives, addresses))


def test_shared_memory_lives_as_long_as_the_array_and_its_views() -> None:
    theirs = np.zeros(16, np.int32)
    weak = weakref.ref(theirs)
    shared = kdsl.from_dlpack(theirs)
    address = shared.address
    part = shared.reshape(4, 4)
    del theirs, shared
    gc.collect()
    assert weak() is not None
    add_one[1, 32](part, 16)
    assert part.to_host().sum() == 16
    del part
    gc.collect()
    assert weak() is None
    assert not lives(address)


def test_exit_with_arrays_on_both_sides() -> None:
    code = """
import numpy as np, kdsl, sys
kdsl.set_device("emulator")
ours = kdsl.zeros(10, kdsl.f32)
theirs = np.from_dlpack(ours)
capsule = ours.__dlpack__()
shared = kdsl.from_dlpack(np.zeros(10, np.float32))
sys.kept = [theirs, shared, capsule]
np.kept = kdsl.from_dlpack(np.zeros(10, np.float32))
print("ends")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")


READ_ONLY = np.arange(4, dtype=np.float32)
READ_ONLY.flags.writeable = False
MISALIGNED = np.zeros(17, np.uint8)[1:].view(np.float32)

UNSHARED: list[tuple[Callable[[], Any], str]] = [
    (lambda: READ_ONLY, "is read-only, which a DeviceArray is not; pass copy=True, or pass it to kernels itself"),
    (lambda: MISALIGNED, "which is no multiple of 4; pass a copy of it"),
    (lambda: Producer(np.zeros(4, np.float32), lanes=2), "has the dtype float32x2, which kernels do not have"),
    (lambda: Producer(np.zeros(4, np.float32), code=3), "has the dtype handle32, which kernels do not have"),
    (lambda: Producer(np.zeros(4, np.int32), code=17, bits=4), "DLPack dtype 17 of bits 4, which kernels do not have"),
    (lambda: Producer(np.zeros(4, np.float32), device_type=2), "is in a GPU's memory, which the emulator does not reach"),
    (lambda: Producer(np.zeros(4, np.float32), device_type=8), "is in memory of another kind of device (DLPack's 8)"),
    (lambda: Producer(np.zeros(4, np.float32), version=(2, 0)), "gives DLPack 2.0, and kdsl reads 1.x; pass a copy"),
    (lambda: Producer(np.zeros(4, np.float32), fails=BufferError("no way")), "gives no DLPack capsule: no way"),
    (lambda: Producer(np.zeros(4, np.float32), fails=RuntimeError("no way")), "gives no DLPack capsule: no way"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "text"), UNSHARED, ids=[text[:40] for _, text in UNSHARED])
def test_arrays_that_cannot_be_shared(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(BufferError) as caught:
        kdsl.from_dlpack(make())
    assert str(caught.value).startswith("from_dlpack: ")
    assert text in str(caught.value)


def test_objects_without_dlpack_are_refused() -> None:
    with pytest.raises(TypeError, match="from_dlpack takes an array with __dlpack__, got list; kdsl.to_device copies"):
        kdsl.from_dlpack([1, 2])
    with pytest.raises(BufferError, match="gives no DLPack capsule, but 5"):
        kdsl.from_dlpack(type("Odd", (Producer,), {"__dlpack__": lambda self, **_: 5})(np.zeros(1)))
    copied = kdsl.from_dlpack(READ_ONLY, copy=True)
    assert copied.to_host().tolist() == [0, 1, 2, 3]


def test_objects_with_dlpack_alone_are_arguments() -> None:
    values, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    producer = Producer(values)
    double[1, 32](producer, Producer(out))
    assert out.tolist() == [0, 2, 4, 6]
    # Memory of the host has no streams.
    assert producer.asked == [{"max_version": (1, 0)}]


def test_offsets_and_strides_of_arguments() -> None:
    @kernel
    def copy(x, y) -> None:  # type: ignore[no-untyped-def]
        i = grid(1)
        if i < x.shape[0]:
            y[i] = x[i]

    values, out = np.arange(8, dtype=np.float32), np.zeros(4, np.float32)
    copy[1, 32](Producer(values[::-2], byte_offset=0), out)
    assert out.tolist() == [7, 5, 3, 1]
    copy[1, 32](Producer(values[:4], byte_offset=4), out)
    assert out.tolist() == [1, 2, 3, 4]
    copy[1, 32](Producer(values[:4], strides=None), out)
    assert out.tolist() == [0, 1, 2, 3]
    copy[1, 32](values[:4], Producer(out[::-1]))
    assert out.tolist() == [3, 2, 1, 0]


def test_arguments_that_do_not_fit() -> None:
    out = np.zeros(4, np.float32)
    with pytest.raises(
        ArgumentValueError, match=r"a read-only tests.*Producer, which the kernel may write; pass a copy"
    ):
        double[1, 32](out, Producer(out, flags=1))
    double[1, 32](Producer(out, flags=1), out)
    with pytest.raises(ArgumentTypeError, match=r"got tests.*Producer of float64; pass a converted copy"):
        double[1, 32](Producer(np.zeros(4)), out)
    with pytest.raises(ArgumentTypeError, match="got a CUDA array .*the emulator takes NumPy arrays"):
        double[1, 32](Producer(out, device_type=2), out)
    with pytest.raises(ArgumentTypeError, match="it gives no DLPack capsule: not now"):
        double[1, 32](Producer(out, fails=ValueError("not now")), out)
    with pytest.raises(ArgumentValueError, match="at the misaligned address"):
        double[1, 32](Producer(MISALIGNED), out)


def test_bf16_of_another_library() -> None:
    @kernel
    def widen(x: Ptr[kdsl.bf16], y: Ptr[f32], n: i32) -> None:
        i = grid(1)
        if i < n:
            y[i] = f32(x[i])

    values = np.array([1, -2, 0.5], ml_dtypes.bfloat16)
    out = np.zeros(3, np.float32)
    widen[1, 32](Producer(values.view(np.uint16), code=4), out, 3)
    assert out.tolist() == [1, -2, 0.5]


def test_layout_against_the_header() -> None:
    """The offsets that `dlpack` reads by, against ctypes' own of the structures in dlpack.h."""
    from kdsl.runtime.dlpack import HEADER, TENSOR

    assert TENSOR.size == ctypes.sizeof(Tensor)
    assert HEADER.size == Versioned.tensor.offset
    packed = bytes(Tensor(1, 2, 3, 4, 5, 6, 7, None, None, 8))
    assert TENSOR.unpack(packed) == (1, 2, 3, 4, 5, 6, 7, 0, 0, 8)
    assert struct.unpack_from("<Q", packed, Tensor.byte_offset.offset) == (8,)


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    yield
    gc.collect()
