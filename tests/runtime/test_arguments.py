"""What a launch refuses: each message names kernel, parameter, what it takes, what it got and the fix; nothing is
done.
"""

from __future__ import annotations

import re
from collections import UserList
from decimal import Decimal
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kdsl.lang.types import BF16, F32, F64, I8, I32, I64, U64, ArrayType, PointerType, boolean
from kdsl.runtime.array_making import zeros
from kdsl.runtime.errors import ArgumentError, ArgumentTypeError, ArgumentValueError, ExtentError
from kdsl.runtime.launch import LaunchConfig, Launcher

PTR = PointerType(F32)
STRIDED = "that is not contiguous; pass np.ascontiguousarray(a)"
TAKES_PTR = "k: argument `a` takes Ptr[f32] (a contiguous array of float32), got "
READ_ONLY = np.zeros(4, np.float32)
READ_ONLY.flags.writeable = False
MISALIGNED = np.zeros(17, np.uint8)[1:].view(np.float32)


class Frame:
    """Looks like a data frame."""

    def to_numpy(self) -> None: ...


class CudaArray:
    __cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3}


class CudaArrayWith:
    def __init__(self, **fields: Any) -> None:
        self.__cuda_array_interface__ = {**CudaArray.__cuda_array_interface__, **fields}


class BrokenCudaArray:
    __cuda_array_interface__ = {"shape": (4,), "version": 3}


ARRAYS: list[tuple[Any, type[Exception], str]] = [
    (np.zeros(4), ArgumentTypeError, "a NumPy array of float64; pass a.astype(np.float32)"),
    (np.zeros(4, np.int32), ArgumentTypeError, "a NumPy array of int32; pass a.astype(np.float32)"),
    (np.zeros(4, ">f4"), ArgumentTypeError, "(>f4, not this machine's byte order); pass a.astype(np.float32)"),
    (np.zeros(4, "U3"), ArgumentTypeError, "a NumPy array of <U3; kernels have no text: pass an array of numbers"),
    (np.zeros(4, "S3"), ArgumentTypeError, "a NumPy array of |S3; kernels have no text: pass an array of numbers"),
    (np.zeros(4, object), ArgumentTypeError, "a NumPy array of object; kernels have no objects: pass an array of"),
    (np.zeros(4, "M8[s]"), ArgumentTypeError, "a NumPy array of datetime64[s]; kernels have no dates: pass a.view(np.int64)"),
    (np.zeros(4, "m8[ms]"), ArgumentTypeError, "kernels have no dates: pass a.view(np.int64), its ticks, for a parameter of"),
    (np.zeros(4, [("x", "f4")]), ArgumentTypeError, "a NumPy array of [('x', '<f4')]; pass a.astype(np.float32)"),
    (np.zeros((4, 4), np.float32)[:, 1], ArgumentValueError, STRIDED),
    (np.zeros((4, 4), np.float32).T, ArgumentValueError, STRIDED),
    (np.zeros(4, np.float32)[::-1], ArgumentValueError, STRIDED),
    (np.zeros(3, [("x", "f4"), ("y", "u1")])["x"], ArgumentValueError, "a misaligned NumPy array of float32"),
    (MISALIGNED, ArgumentValueError, "float32 (at an address that is no multiple of 4); pass a.copy()"),
    (READ_ONLY, ArgumentValueError, "read-only NumPy array of float32, which the kernel may write; pass a.copy()"),
    (np.broadcast_to(np.float32(1), (4,)), ArgumentValueError, "a read-only NumPy array of float32"),
    (np.array(1, np.float32), ArgumentTypeError, "a NumPy array of float32 with no dimensions; pass a.reshape(1)"),
    (np.ma.masked_array([1.0], [True]), ArgumentTypeError, "a masked array; pass a.data"),
    (BrokenCudaArray(), ArgumentTypeError, "it has a __cuda_array_interface__ without `data`, `shape` and `typestr`"),
    (None, ArgumentTypeError, "None; pass an array, such as np.zeros(n, np.float32) or kdsl.empty(n, f32)"),
    ([1.0, 2.0], ArgumentTypeError, "list; pass np.array(..., np.float32), and keep it: the kernel may write it"),
    ((1.0, 2.0), ArgumentTypeError, "tuple; pass np.array(..., np.float32)"),
    (1.5, ArgumentTypeError, "float 1.5; pass an array of one element, np.array([...], np.float32)"),
    (np.float32(2), ArgumentTypeError, "numpy.float32 2.0; pass an array of one element"),
    ("text", ArgumentTypeError, "str 'text'; pass a NumPy array, a kdsl.DeviceArray or a CUDA array of float32"),
    (b"1234", ArgumentTypeError, "bytes b'1234'; pass a NumPy array"),
    (bytearray(16), ArgumentTypeError, "bytearray; pass a NumPy array"),
    (UserList([1.0]), ArgumentTypeError, "collections.UserList; pass a NumPy array"),
    (Frame(), ArgumentTypeError, "pass a.to_numpy(dtype=np.float32)"),
    (CudaArray(), ArgumentTypeError, "copy it to the host first"),
]  # fmt: skip


INTERFACES: list[tuple[dict[str, Any], str]] = [
    ({"data": None}, "`data` is no (address, read-only): None"),
    ({"data": (4096,)}, "`data` is no (address, read-only): (4096,)"),
    ({"data": (-4, False)}, "`data` is no (address, read-only): (-4, False)"),
    ({"data": (2**64, False)}, "`data` is no"),
    ({"data": (1.5, False)}, "`data` is no"),
    ({"shape": None}, "`shape` is no tuple of ints: None"),
    ({"shape": (1.5,)}, "`shape` is no tuple of ints: (1.5,)"),
    ({"shape": (-1,)}, "with the shape (-1,)"),
    ({"strides": 4}, "`strides` is no tuple of ints: 4"),
    ({"strides": (4, 4)}, "with 1 extents, byte_strides=(4, 4)"),
    ({"strides": ()}, "with 1 extents, byte_strides=()"),
    ({"stream": "legacy"}, "`stream` is no handle of one: 'legacy'"),
    ({"stream": 7}, "`stream` is no handle of one: 7"),
    ({"stream": -1}, "`stream` is no handle of one: -1"),
    ({"typestr": None}, "`typestr` is no text: None"),
    ({"typestr": "any"}, "the emulator takes NumPy arrays"),
    ({"typestr": "|V0", "strides": (2,)}, "the emulator takes NumPy arrays"),
]


@pytest.mark.parametrize(("fields", "text"), INTERFACES, ids=[str(fields) for fields, _ in INTERFACES])
def test_interfaces_with_wrong_fields(backend: Any, fields: dict[str, Any], text: str) -> None:
    run = Launcher("k", (("a", PTR),), backend, None).bind(LaunchConfig(1, 32))
    with pytest.raises(ArgumentTypeError, match=re.escape(TAKES_PTR) + ".*" + re.escape(text)):
        run(CudaArrayWith(**fields))


@pytest.mark.parametrize(("value", "error", "text"), ARRAYS, ids=[text[:30] for _, _, text in ARRAYS])
def test_refused_arrays(backend: Any, value: Any, error: type[Exception], text: str) -> None:
    run = Launcher("k", (("a", PTR), ("b", PTR)), backend, None).bind(LaunchConfig(1, 32))
    with pytest.raises(error) as caught:
        run(value, np.zeros(4, np.float32))
    message = str(caught.value)
    assert message.startswith(TAKES_PTR) and text in message
    assert isinstance(caught.value, ArgumentError) and isinstance(caught.value, (TypeError, ValueError))
    assert backend.calls == []


def test_the_fix_names_the_parameter(backend: Any) -> None:
    run = Launcher("k", (("a", PTR), ("b", PTR)), backend, None).bind(LaunchConfig(1, 32))
    with pytest.raises(ArgumentTypeError, match=r"argument `b` .* float64; pass b\.astype\(np\.float32\)"):
        run(np.zeros(4, np.float32), np.zeros(4))
    with pytest.raises(ArgumentValueError, match=r"argument `b` .* pass np\.ascontiguousarray\(b\)"):
        run(np.zeros(4, np.float32), np.zeros(4, np.float32)[::2])


def test_the_last_argument_is_checked_before_the_first_is_copied(backend: Any) -> None:
    run = Launcher("k", (("a", PTR), ("b", PTR)), backend, None).bind(LaunchConfig(1, 32))
    with pytest.raises(ArgumentTypeError, match="argument `b`"):
        run(np.zeros(4, np.float32), np.zeros(4))
    assert backend.calls == []


class NoNumber:
    def __float__(self) -> Any:
        return "3"


SCALARS: list[tuple[Any, Any, type[Exception], str]] = [
    (I32, 1.0, ArgumentTypeError, "takes an int (i32), got float 1.0; pass int(...) to drop the fraction"),
    (I32, np.float32(1), ArgumentTypeError, "takes an int (i32), got numpy.float32 1.0; pass int(...)"),
    (I32, "1", ArgumentTypeError, "takes an int (i32), got str '1'"),
    (I32, None, ArgumentTypeError, "takes an int (i32), got None"),
    (I32, np.zeros(3, np.int32), ArgumentTypeError, "takes an int (i32), got numpy.ndarray"),
    (I32, 2**31, ArgumentValueError, "takes i32, -2147483648 to 2147483647, got 2147483648"),
    (F64, Decimal("1e400"), ArgumentValueError, "takes f64, got Decimal('1E+400'), which is too large for it; pass math"),
    (F32, Decimal("1e400"), ArgumentValueError, "takes f32, got Decimal('1E+400'), which is too large for it; declare"),
    (F64, np.longdouble("-1e400"), ArgumentValueError, "which is too large for it; pass math.inf"),
    (BF16, np.longdouble("1e400"), ArgumentValueError, "too large for it; declare the parameter as f32, or pass math.inf"),
    (F64, NoNumber(), ArgumentTypeError, "takes a real number (f64), got tests.NoNumber"),
    (I8, np.int64(200), ArgumentValueError, "takes i8, -128 to 127, got 200, which does not fit; declare the"),
    (U64, -1, ArgumentValueError, "takes u64, 0 to 18446744073709551615, got -1"),
    (I64, 2**63, ArgumentValueError, "declare the parameter as u64"),
    (I64, 2**64, ArgumentValueError, "no integer type holds it"),
    (F32, "1", ArgumentTypeError, "takes a real number (f32), got str '1'"),
    (F32, 1j, ArgumentTypeError, "takes a real number (f32), got complex 1j; pass value.real"),
    (F32, np.complex64(1), ArgumentTypeError, "takes a real number (f32), got numpy.complex64"),
    (F32, None, ArgumentTypeError, "takes a real number (f32), got None"),
    (F32, float, ArgumentTypeError, "takes a real number (f32), got type"),
    (F32, np.array("1"), ArgumentTypeError, "takes a real number (f32), got numpy.str_ 1"),
    (F32, np.datetime64("2020"), ArgumentTypeError, "takes a real number (f32), got numpy.datetime64 2020"),
    (F32, np.timedelta64(3, "s"), ArgumentTypeError, "takes a real number (f32), got numpy.timedelta64"),
    (F32, np.zeros(1, "i4,f4")[0], ArgumentTypeError, "takes a real number (f32), got numpy.void"),
    (F32, np.ma.masked, ArgumentTypeError, "takes a number (f32), got a masked array; pass its data: x.data[()]"),
    (I32, np.ma.array(1, mask=True), ArgumentTypeError, "takes a number (i32), got a masked array"),
    (F32, np.zeros(1), ArgumentTypeError, "takes one number (f32), got numpy.ndarray; pass one element: value[0]"),
    (F32, 1e39, ArgumentValueError, "takes f32, got 1e+39, which is too large for it; declare the parameter as f64"),
    (BF16, 1e39, ArgumentValueError, "takes bf16, got 1e+39, which is too large for it; declare the parameter as f32"),
    (boolean, 1, ArgumentTypeError, "takes a bool, got int 1; pass bool(...) or a comparison"),
]  # fmt: skip


@pytest.mark.parametrize(("type", "value", "error", "text"), SCALARS)
def test_refused_scalars(backend: Any, type: Any, value: Any, error: type[Exception], text: str) -> None:
    run = Launcher("k", (("a", PTR), ("n", type)), backend, None).bind(LaunchConfig(1, 32))
    with pytest.raises(error, match="^k: argument `n` (?=takes).*" + re.escape(text)):
        run(np.zeros(4, np.float32), value)
    assert backend.calls == []


def test_ints_that_python_does_not_write_out(backend: Any) -> None:
    for type_, error, text in (
        (I32, ArgumentValueError, "takes i32, -2147483648 to 2147483647, got <int of 16610 bits>, which does not fit"),
        (F64, ArgumentValueError, "takes f64, got <int of 16610 bits>, which is too large for it; pass math.inf"),
        (boolean, ArgumentTypeError, "takes a bool, got int <int of 16610 bits>"),
    ):
        run = Launcher("k", (("n", type_),), backend, None).bind(LaunchConfig(1, 32))
        with pytest.raises(error, match=re.escape(text)):
            run(10**5000)


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((1,), {}, "k(x: i32, y: i32) takes 2 arguments, got 1: `y` is missing"),
        ((), {}, "k(x: i32, y: i32) takes 2 arguments, got 0: `x`, `y` are missing"),
        ((1, 2, 3), {}, "k(x: i32, y: i32) takes 2 arguments, got 3: drop 1"),
        ((1,), {"z": 2}, "k(x, y) has no parameter 'z'"),
        ((1,), {"x": 2}, "k() got multiple values for argument 'x'"),
        ((1, 2), {"y": 2}, "k() got multiple values for argument 'y'"),
    ],
)
def test_wrong_counts(backend: Any, args: Any, kwargs: Any, text: str) -> None:
    run = Launcher("k", (("x", I32), ("y", I32)), backend, None).bind(LaunchConfig(1, 32))
    with pytest.raises(TypeError, match="^" + re.escape(text) + "$"):
        run(*args, **kwargs)


@pytest.mark.parametrize(
    ("type", "shape", "text"),
    [
        (
            ArrayType(F32, 2),
            (4,),
            "2 dimensions), got an array with 1 dimension, shape (4,); reshape it to 2 dimensions",
        ),
        (ArrayType(F32, 1), (2, 2), "1 dimension), got an array with 2 dimensions, shape (2, 2); pass a.reshape(-1)"),
    ],
)
def test_wrong_rank(backend: Any, type: Any, shape: Any, text: str) -> None:
    run = Launcher("k", (("a", type),), backend, None).bind(LaunchConfig(1, 32))
    for value in (np.zeros(shape, np.float32), zeros(shape, backend=backend)):
        with pytest.raises(ArgumentValueError, match=re.escape(text)):
            run(value)


def test_device_arrays_that_do_not_fit(backend: Any, make_backend: Any) -> None:
    run = Launcher("k", (("a", PTR),), backend, None).bind(LaunchConfig(1, 32))
    with pytest.raises(
        ArgumentTypeError, match=re.escape(TAKES_PTR + "a DeviceArray of float64; pass kdsl.to_device(")
    ):
        run(zeros(4, np.float64, backend=backend))
    with pytest.raises(
        ArgumentValueError, match=re.escape(TAKES_PTR + "a DeviceArray on cuda:0; this launch is on emulator:0")
    ):
        run(zeros(4, backend=make_backend("cuda")))


def test_bf16_arrays(backend: Any) -> None:
    run = Launcher("k", (("a", PointerType(BF16)),), backend, None).bind(LaunchConfig(1, 32))
    run(np.zeros(4, ml_dtypes.bfloat16))
    with pytest.raises(ArgumentTypeError, match=r"pass a.view\(ml_dtypes.bfloat16\), which has the same bytes"):
        run(np.zeros(4, np.uint16))


def test_extents_too_large_are_their_own_error(backend: Any) -> None:
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (2**31 + 1,), (0,))
    with pytest.raises(ExtentError):
        Launcher("k", (("a", ArrayType(I8, 1, strided=True)),), backend, None).bind(LaunchConfig(1, 32))(huge)


def test_a_read_only_array_is_fine_for_reading(backend: Any) -> None:
    Launcher("k", (("a", PTR),), backend, None, written=()).bind(LaunchConfig(1, 32))(READ_ONLY)
    assert backend.calls == ["alloc", "write", "launch", "free"]
