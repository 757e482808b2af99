"""What the host may write into device memory: arrays of the same dtype, and numbers that the dtype holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.lang.complex_type import ComplexType
from kdsl.lang.struct_dtype import difference
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ML_DTYPES, Kind, ScalarType
from kdsl.runtime.foreign_array import NotOnDeviceError
from kdsl.runtime.torch_tensors import loaded_torch, torch_array

HostArray = np.ndarray[Any, Any]


def is_masked(array: Any) -> bool:
    """Whether it is a NumPy masked array. Plain arrays are not asked: NumPy imports np.ma when it is first named, which
    takes 50 ms.
    """
    return type(array) is not np.ndarray and isinstance(array, np.ndarray) and isinstance(array, np.ma.MaskedArray)


def as_numpy(value: Any) -> HostArray:
    """What NumPy makes of a value; of a PyTorch tensor on the CPU also where NumPy by itself lacks the dtype."""
    torch = loaded_torch(value)
    if torch is None or value.device.type != "cpu" or value.requires_grad:
        # PyTorch's own errors say what to write.
        return np.asarray(value)
    try:
        found = torch_array(torch, value)
    except NotOnDeviceError as error:
        raise TypeError(f"the tensor {error}") from None
    return np.asarray(value) if found.type is None else found.on_host()


def host_array(value: Any, type_: ScalarType | StructType) -> HostArray:
    """A value as an array of ``type_``, of this machine's byte order: an array as it is, numbers and lists of them
    converted.

    ValueError for an array of another dtype, TypeError for numbers that would lose their fraction or their imaginary
    part, OverflowError for those out of range.
    """
    if is_masked(value):
        raise TypeError("a masked array has no device counterpart: write array.filled(value) or array.data")
    if isinstance(value, memoryview) or (hasattr(value, "dtype") and not isinstance(value, np.generic)):
        value = as_numpy(value)  # an array of another library is one of its dtype, and no list of numbers
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.newbyteorder("=") == type_.numpy:
            return np.asarray(value).astype(type_.numpy, copy=False)
        if value.ndim or isinstance(type_, StructType) != (value.dtype.kind in "Vc" and not _is_ml(value.dtype)):
            raise ValueError(
                f"the source has the dtype {value.dtype}, this array {type_.numpy}{_advice(type_, value.dtype)}"
            )
    if isinstance(type_, StructType) and not isinstance(type_, ComplexType):
        return np.asarray(np.array(value, type_.numpy))
    return _converted(value, type_)


def _advice(type_: ScalarType | StructType, dtype: np.dtype[Any]) -> str:
    if isinstance(type_, StructType) and not isinstance(type_, ComplexType):
        return f": {difference(type_, dtype)}"
    return f": convert it, a.astype({type_.numpy.name!r})"


def _converted(value: Any, type_: ScalarType | StructType) -> HostArray:
    """Numbers as elements of ``type_``, none of them another number than before but for rounding."""
    array = np.asarray(value)
    if array.dtype.kind == "O" and all(isinstance(number, int) for number in array.flat):
        array = _of_long_ints(array, type_)
    kind = "f" if _is_ml(array.dtype) else array.dtype.kind
    if kind not in "biufc":
        raise TypeError(f"an array of {type_} holds numbers, got {value!r}")
    if kind == "c" and not isinstance(type_, ComplexType):
        raise TypeError(f"an array of {type_} holds no complex numbers, got {value!r}")
    if isinstance(type_, ScalarType) and (type_.is_int or type_.kind is Kind.BOOL):
        return _of_integers(array, kind, type_, value)
    with np.errstate(over="ignore"):
        out = array.astype(type_.numpy)
    wide = out.astype(np.complex128 if isinstance(type_, ComplexType) else np.float64)
    if not np.array_equal(np.isfinite(wide), np.isfinite(array.astype(wide.dtype))):
        raise OverflowError(f"{value!r} is out of the range of {type_}")
    return out


def _of_integers(array: HostArray, kind: str, type_: ScalarType, value: Any) -> HostArray:
    if kind == "f":
        raise TypeError(f"an array of {type_} holds no fractions, got {value!r}: convert it to integers first")
    low, high = (type_.minimum, type_.maximum) if type_.is_int else (0, 1)
    if array.size and not (low <= int(array.min()) and int(array.max()) <= high):
        raise OverflowError(f"{value!r} is out of the range of {type_}, {low} to {high}")
    return array.astype(type_.numpy)


def _of_long_ints(array: HostArray, type_: ScalarType | StructType) -> HostArray:
    """Python's ints of more than 64 bits, which only floats hold."""
    if isinstance(type_, ScalarType) and (type_.is_int or type_.kind is Kind.BOOL):
        raise OverflowError(f"{array.tolist()!r} is out of the range of {type_}")
    return array.astype(np.float64)


def _is_ml(dtype: np.dtype[Any]) -> bool:
    return dtype.name in ML_DTYPES.values()
