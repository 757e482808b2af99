"""What a DeviceArray does not do as arrays of the host do, because it would have to wait for the device or to compute:
operators, comparisons, conversions to numbers, NumPy's functions. Each says what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

COMPUTE = "write a kernel, a.to_host() for NumPy, or cupy.asarray(a) or torch.from_dlpack(a), which copy nothing"

# NumPy's functions that look at no element.
OF_THE_SHAPE = frozenset({np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj})

ON_THE_HOST = "write a kernel, or a.to_host().{0}(...)"
READ, WRITE, ADDRESS, WAIT = (
    "write a.to_host()", "write a.copy_from(host)", "its address on the device is a.address",
    "kdsl.synchronize() or stream.synchronize() waits",
)  # fmt: skip
ABSENT: dict[str, str] = {
    "astype": "convert on the host, kdsl.to_device(a.to_host().astype(...)), or in a kernel",
    "flatten": "write a.copy().ravel()",
    "tolist": "write a.to_host().tolist()",
    "swapaxes": "write a.transpose(...)",
    "permute": "write a.transpose(...)",
    "cuda": "it is on a device already; a.to(device) copies it to another one",
    "__cuda_array_interface__": "it is on the emulator, where no CUDA library can read it; write a.to_host()",
    "__array_interface__": "it is not in the host's memory; write a.to_host()",
    **dict.fromkeys(("get", "copy_to_host", "numpy", "cpu"), READ),
    **dict.fromkeys(("copy_to_device", "from_host", "set", "copy_"), WRITE),
    **dict.fromkeys(("ptr", "data", "data_ptr", "ctypes"), ADDRESS),
    **dict.fromkeys(("stream", "synchronize"), WAIT),
    **dict.fromkeys(
        (
            "sum", "prod", "mean", "std", "var", "min", "max", "argmin", "argmax", "any", "all", "dot", "cumsum",
            "sort", "argsort", "clip", "round", "repeat", "take", "nonzero", "trace", "diagonal", "conj",
        ),
        ON_THE_HOST,
    ),
}  # fmt: skip
"""What arrays of NumPy, PyTorch, CuPy and Numba have, and what to write instead."""


def _operator(shown: str) -> Callable[..., NoReturn]:
    def refuse(self: object, *_: object) -> NoReturn:
        raise TypeError(f"DeviceArrays have no operators: for `{shown}` {COMPUTE}")

    return refuse


def _one(array: Any) -> str:
    """How one number is read."""
    return "a.item()" if array.size == 1 else "a[i].item()"


def _number(shown: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *_: object) -> NoReturn:
        raise TypeError(f"a DeviceArray is no number: for {shown} write {_one(self)}, which waits for the device")

    return refuse


class UnlikeNumpy:
    """The methods and attributes that a DeviceArray refuses."""

    __slots__ = ()

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "a DeviceArray is not copied to the host unasked: write a.to_host(), or a.item() for one number"
        )

    def __bool__(self) -> NoReturn:
        raise TypeError("a DeviceArray has no truth value: write a is not None, a.size > 0, or test a.to_host()")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError(
            "DeviceArrays are not compared: write np.array_equal(a.to_host(), b.to_host()), or a is b for the object"
        )

    __ne__ = __eq__
    __hash__ = object.__hash__

    # To a type checker there are none of these, which it reports; after a NoReturn it would check nothing.
    if not TYPE_CHECKING:
        __add__ = __radd__ = _operator("a + b")
        __sub__ = __rsub__ = _operator("a - b")
        __mul__ = __rmul__ = _operator("a * b")
        __matmul__ = __rmatmul__ = _operator("a @ b")
        __truediv__ = __rtruediv__ = _operator("a / b")
        __floordiv__ = __rfloordiv__ = _operator("a // b")
        __mod__ = __rmod__ = _operator("a % b")
        __divmod__ = __rdivmod__ = _operator("divmod(a, b)")
        __pow__ = __rpow__ = _operator("a ** b")
        __lshift__ = __rlshift__ = _operator("a << b")
        __rshift__ = __rrshift__ = _operator("a >> b")
        __and__ = __rand__ = _operator("a & b")
        __or__ = __ror__ = _operator("a | b")
        __xor__ = __rxor__ = _operator("a ^ b")
        __lt__ = _operator("a < b")
        __le__ = _operator("a <= b")
        __gt__ = _operator("a > b")
        __ge__ = _operator("a >= b")
        __neg__ = _operator("-a")
        __pos__ = _operator("+a")
        __invert__ = _operator("~a")
        __abs__ = _operator("abs(a)")
        __round__ = _operator("round(a)")
        __contains__ = _operator("x in a")

        # Why no __index__? What has one counts as an int to those who ask before they call it.
        __float__ = _number("float(a)")
        __int__ = _number("int(a)")
        __complex__ = _number("complex(a)")

        def __array_ufunc__(self, ufunc, method, *_, **__) -> NoReturn:
            if ufunc in (np.equal, np.not_equal):
                self.__eq__(None)
            name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
            raise TypeError(f"np.{name} does not compute on DeviceArrays: {COMPUTE}")

        def __array_function__(self, function, types, arguments, keywords):
            if function in OF_THE_SHAPE:
                return function.__wrapped__(*arguments, **keywords)
            if function in (np.empty_like, np.zeros_like):
                raise TypeError(f"np.{function.__name__} makes no DeviceArrays: write kdsl.{function.__name__}(a)")
            # Some of NumPy's functions would take an error for an answer: np.array_equal says False.
            raise TypeError(f"np.{function.__name__} does not compute on DeviceArrays: {COMPUTE}")

        def __delitem__(self, key) -> NoReturn:
            raise TypeError("elements of a DeviceArray are not deleted: a[i:j] is a view of some of them")

        def __format__(self, spec) -> str:
            if spec:
                raise TypeError(f"a DeviceArray has no format {spec!r}: format {_one(self)}, or a.to_host() as a whole")
            return str(self)

        def __getattr__(self, name):
            hint = ABSENT.get(name)
            if hint is None:
                # With name and obj Python's traceback says what it is like.
                raise AttributeError(f"a DeviceArray has no {name!r}", name=name, obj=self)
            raise AttributeError(f"a DeviceArray has no {name!r}: {hint.format(name)}")
