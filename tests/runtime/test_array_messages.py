"""What a DeviceArray says of what arrays of other libraries do, and what makers of arrays say of dtypes and shapes:
exact messages, each with the fix.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kdsl
from kdsl import Ptr, f32, f32x4

COMPUTE = "write a kernel, a.to_host() for NumPy, or cupy.asarray(a) or torch.from_dlpack(a), which copy nothing"
OPERATORS: list[tuple[str, Callable[[Any], object]]] = [
    ("a + b", lambda a: a + 1), ("a + b", lambda a: 1 + a), ("a + b", lambda a: operator.iadd(a, 1)),
    ("a + b", lambda a: a + a), ("a - b", lambda a: 1 - a), ("a * b", lambda a: 2.0 * a), ("a / b", lambda a: a / 2),
    ("a // b", lambda a: a // 2), ("a % b", lambda a: 2 % a), ("a ** b", lambda a: a**2), ("a ** b", lambda a: 2**a),
    ("a @ b", lambda a: a @ a), ("a & b", lambda a: a & a), ("a | b", lambda a: 1 | a), ("a ^ b", lambda a: a ^ 1),
    ("a << b", lambda a: a << 1), ("a >> b", lambda a: 1 >> a), ("-a", lambda a: -a), ("+a", lambda a: +a),
    ("~a", lambda a: ~a), ("abs(a)", abs), ("round(a)", round), ("divmod(a, b)", lambda a: divmod(a, 2)),
    ("a < b", lambda a: a < a), ("a <= b", lambda a: a <= 1), ("a > b", lambda a: a > 1), ("a < b", lambda a: 1 > a),
    ("a >= b", lambda a: a >= a), ("x in a", lambda a: 3 in a),
]  # fmt: skip
HOST = np.zeros(4, np.float32)
BY_NUMPY: list[tuple[str, Callable[[Any], object]]] = [
    ("np.add", lambda a: np.add(a, 1)), ("np.add", lambda a: HOST + a), ("np.add", lambda a: a + HOST),
    ("np.add", lambda a: operator.iadd(HOST.copy(), a)), ("np.multiply", lambda a: np.float32(2) * a),
 ("np.matmul", lambda a: HOST @ a), ("np.sqrt", np.sqrt),
    ("np.add.reduce", np.add.reduce), ("np.sum", np.sum), ("np.mean", np.mean), ("np.dot", lambda a: np.dot(a, a)),
    ("np.concatenate", lambda a: np.concatenate([a, a])), ("np.where", lambda a: np.where(a, 1, 0)),
    ("np.array_equal", lambda a: np.array_equal(a, HOST)), ("np.allclose", lambda a: np.allclose(HOST, a)),
    ("np.copyto", lambda a: np.copyto(HOST, a)), ("np.save", lambda a: np.save("unwritten.npy", a)),
]  # fmt: skip
UNASKED = "a DeviceArray is not copied to the host unasked: write a.to_host(), or a.item() for one number"


@pytest.fixture(autouse=True)
def on_emulator() -> Iterator[None]:
    with kdsl.Device("emulator"):
        yield


def said(call: Callable[[], object], error: type[Exception]) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(("shown", "call"), OPERATORS)
def test_operators(shown: str, call: Callable[[Any], object]) -> None:
    a = kdsl.zeros(4)
    assert said(lambda: call(a), TypeError) == f"DeviceArrays have no operators: for `{shown}` {COMPUTE}"


@pytest.mark.parametrize(("shown", "call"), BY_NUMPY)
def test_numpy_does_not_compute(shown: str, call: Callable[[Any], object]) -> None:
    a = kdsl.zeros(4)
    text = said(lambda: call(a), TypeError)
    # `a + host` asks the array itself first.
    assert text in (f"{shown} does not compute on DeviceArrays: {COMPUTE}",
                    f"DeviceArrays have no operators: for `a + b` {COMPUTE}")  # fmt: skip


def test_what_numpy_may_ask() -> None:
    a: Any = kdsl.zeros((2, 3))
    assert (np.shape(a), np.ndim(a), np.size(a), np.iscomplexobj(a), np.isrealobj(a)) == ((2, 3), 2, 6, False, True)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (np.asarray, TypeError, UNASKED),
        (lambda a: operator.setitem(HOST.copy(), slice(None), a), TypeError, UNASKED),
        (np.zeros_like, TypeError, "np.zeros_like makes no DeviceArrays: write kdsl.zeros_like(a)"),
        (float, TypeError, "a DeviceArray is no number: for float(a) write a[i].item(), which waits for the device"),
        (lambda a: float(a[0]), TypeError,
         "a DeviceArray is no number: for float(a) write a.item(), which waits for the device"),
        (lambda a: math.sqrt(a[:1]), TypeError,
         "a DeviceArray is no number: for float(a) write a.item(), which waits for the device"),
        (lambda a: int(a[0]), TypeError,
         "a DeviceArray is no number: for int(a) write a.item(), which waits for the device"),
        (complex, TypeError,
         "a DeviceArray is no number: for complex(a) write a[i].item(), which waits for the device"),
        (bool, TypeError, "a DeviceArray has no truth value: write a is not None, a.size > 0, or test a.to_host()"),
        (lambda a: HOST != a, TypeError, "DeviceArrays are not compared: write np.array_equal(a.to_host(), b.to_host()), "
         "or a is b for the object"),
        (lambda a: a == a, TypeError, "DeviceArrays are not compared: write np.array_equal(a.to_host(), b.to_host()), "
         "or a is b for the object"),
        (lambda a: len(a[0]), TypeError,
         "a DeviceArray without dimensions has no len(): a.item() is its one element"),
        (list, TypeError, "a DeviceArray does not iterate over its elements, each a copy: iterate over a.to_host()"),
        (reversed, TypeError,
         "a DeviceArray does not iterate over its elements, each a copy: iterate over a.to_host()"),
        (lambda a: a[[1, 2]], IndexError, "a DeviceArray is indexed by ints, slices, ... and None, not by arrays, lists "
         "or masks: write a kernel that gathers, or index .to_host()"),
        (lambda a: a[HOST > 0], IndexError, "a DeviceArray is indexed by ints, slices, ... and None, not by arrays, "
         "lists or masks: write a kernel that gathers, or index .to_host()"),
        (lambda a: a["b":], TypeError, "a DeviceArray is sliced by ints and None, got slice('b', None, None)"),
        (lambda a: a[1.0:2], TypeError, "a DeviceArray is sliced by ints and None, got slice(1.0, 2, None)"),
        (lambda a: f"{a:.2f}", TypeError,
         "a DeviceArray has no format '.2f': format a[i].item(), or a.to_host() as a whole"),
        (lambda a: operator.delitem(a, 0), TypeError,
         "elements of a DeviceArray are not deleted: a[i:j] is a view of some of them"),
        (lambda a: delattr(a, "shape"), AttributeError,
         "'shape' of a DeviceArray cannot be deleted; a.free() gives its memory back"),
        (lambda a: a.mean(), AttributeError, "a DeviceArray has no 'mean': write a kernel, or a.to_host().mean(...)"),
        (lambda a: a.astype(float), AttributeError, "a DeviceArray has no 'astype': convert on the host, "
         "kdsl.to_device(a.to_host().astype(...)), or in a kernel"),
        (lambda a: a.copy_to_device(HOST), AttributeError,
         "a DeviceArray has no 'copy_to_device': write a.copy_from(host)"),
        (lambda a: a.data_ptr(), AttributeError,
         "a DeviceArray has no 'data_ptr': its address on the device is a.address"),
        (lambda a: a.__array_interface__, AttributeError,
         "a DeviceArray has no '__array_interface__': it is not in the host's memory; write a.to_host()"),
        (lambda a: a.__cuda_array_interface__, AttributeError, "a DeviceArray has no '__cuda_array_interface__': it is "
         "on the emulator, where no CUDA library can read it; write a.to_host()"),
        (lambda a: a.nothing, AttributeError, "a DeviceArray has no 'nothing'"),
        (lambda a: a.copy_to(None), TypeError, "copy_to takes an array to copy to, got None: a.to_host() makes one"),
        (lambda a: a.to_host(a), TypeError, "out must be a NumPy array, got kdsl.DeviceArray; a.copy_to(b) and "
         "b.copy_from(a) copy between device arrays"),
        (lambda a: a.to_host(kdsl.Stream()), TypeError,
         "out must be a NumPy array, got kdsl.Stream; a stream goes by name, to_host(stream=s)"),
        (lambda a: a.to_host(np.zeros(4)), ValueError,
         "out has float64[4], this array float32[4]; without out, to_host() makes one that fits"),
        (lambda a: a.copy_from([1.0] * 4), ValueError, "the source has float64[4], this array float32[4]; convert it, "
         "np.asarray(source).astype('float32')"),
        (lambda a: a.copy_from(HOST[:3]), ValueError, "the source has float32[3], this array float32[4]; "
         "a[...] = source broadcasts, and copies into a part"),
        (lambda a: a.fill([1, 2]), ValueError,
         "one value fills an array, got values of shape (2,): write a[...] = values"),
    ],
)  # fmt: skip
def test_the_rest(call: Callable[[Any], object], error: type[Exception], text: str) -> None:
    a = kdsl.zeros(4)
    assert said(lambda: call(a), error) == text


def test_an_unknown_attribute_lets_python_say_what_it_is_like() -> None:
    a: Any = kdsl.zeros(4)
    with pytest.raises(AttributeError) as caught:
        _ = a.reshap
    assert caught.value.name == "reshap" and caught.value.obj is a


class Named:
    """A dtype of a library that NumPy does not know, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"lib.{self.name}"


class Tensorflow(Named):
    as_numpy_dtype = np.float16


GENERAL = "; write a type such as kdsl.f32, one of NumPy's such as np.float32, or a @struct class"


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        (Named("float32"), "lib.float32 is no type of elements that kernels have; write kdsl.f32"),
        (Named("bool"), "lib.bool is no type of elements that kernels have; write bool"),
        ("f32", "'f32' is no type of elements that kernels have; write kdsl.f32"),
        ("floaty", "'floaty' is no type of elements that kernels have" + GENERAL),
        (4, "4 is no type of elements that kernels have; a shape of several extents is a tuple, such as (3, 4)"),
        (str, "<class 'str'> is no type of elements that kernels have" + GENERAL),
        (None, "the elements of an array are scalars or structs, got None" + GENERAL),
        (HOST, "a ndarray is no type of elements that kernels have; write its dtype, a.dtype"),
        (ml_dtypes.int4, f"{ml_dtypes.int4!r} is no type of elements that kernels have" + GENERAL),
        (f32x4, "the elements of an array are scalars or structs, got f32x4; an array of vectors has a last extent of "
         "4, and the dtype f32"),
        (Ptr[f32], "the elements of an array are scalars or structs, got Ptr[f32]; write the type of its elements, f32"),
    ],
)  # fmt: skip
def test_what_is_no_dtype(dtype: Any, text: str) -> None:
    for make in (kdsl.zeros, kdsl.empty, kdsl.pinned_empty, kdsl.managed_empty):
        assert said(lambda make=make: make(3, dtype), TypeError) == text  # type: ignore[misc]
    assert said(lambda: kdsl.zeros(4).view(dtype), TypeError) == text


def test_dtypes_of_other_libraries() -> None:
    torch = pytest.importorskip("torch")
    for name in ("bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"):
        assert kdsl.zeros(3, getattr(torch, name)).dtype == np.dtype(name)
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        assert kdsl.zeros(3, getattr(torch, name)).dtype == np.dtype(getattr(ml_dtypes, name))
    assert kdsl.zeros(3, Tensorflow("anything")).dtype == np.float16
    unlike = "torch.complex32 is no type of elements that kernels have" + GENERAL
    assert said(lambda: kdsl.zeros(3, torch.complex32), TypeError) == unlike
    # In an annotation it is told what to write.
    with pytest.raises(TypeError, match=r"^torch.float32 is not a type of the kernel language; write f32$"):
        _ = Ptr[torch.float32]


@pytest.mark.parametrize(
    ("shape", "error", "text"),
    [
        (True, TypeError, "a shape is an int or a tuple of ints, got True"),
        ("3", TypeError, "a shape is an int or a tuple of ints, got '3'"),
        (2.5, TypeError, "a shape is an int or a tuple of ints, got 2.5; int(n) is one, and n // 2 divides to one"),
        (HOST, TypeError, f"a shape is an int or a tuple of ints, got {HOST!r}; write a.shape for an array as large as "
         "another one, kdsl.to_device(a) for a copy of it"),
        ((2, -1), ValueError, "negative extent in the shape (2, -1): every extent is at least 0"),
    ],
)  # fmt: skip
def test_what_is_no_shape(shape: Any, error: type[Exception], text: str) -> None:
    assert said(lambda: kdsl.zeros(shape), error) == text
