"""What is said of an array that does not fit its parameter: how to make one that does."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.lang.complex_type import ComplexType
from kdsl.lang.struct_dtype import described, difference, dtype_name
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ML_DTYPES, ArrayType, ScalarType
from kdsl.runtime.errors import ArgumentError, ArgumentTypeError, ArgumentValueError
from kdsl.runtime.host_values import is_masked
from kdsl.runtime.launch_parameters import Parameter


def check_dtype(parameter: Parameter, type_: ScalarType | StructType | None, got: str, fix: str = "") -> None:
    element = parameter.element
    if type_ == element or (
        isinstance(type_, StructType) and isinstance(element, StructType) and type_.numpy == element.numpy
    ):
        return
    name, made = parameter.name, f"{fix}({_spelled(element)})" if fix else "a converted copy"
    if got.startswith("a DeviceArray") and type_ is not None and _same_bytes(element, type_.numpy):
        conversion = f"pass {name}.view({element}), which has the same bytes"
    elif got.startswith("a DeviceArray") and type_ is not None:
        host = _converted(element, type_.numpy, f"{name}.to_host()")
        conversion = parameter.passing(f"kdsl.to_device({host})" if host is not None else f"an array of {element}")
    elif got.startswith(("torch.Tensor", "torch.Parameter")):
        conversion = parameter.passing(f"{name}.to(torch.{element.numpy})")
    else:
        conversion = parameter.passing(made)
    raise parameter.error(ArgumentTypeError, got, conversion)


def host_problem(parameter: Parameter, array: np.ndarray[Any, Any]) -> ArgumentError:
    """What is wrong with a NumPy array that does not fit."""
    dtype = array.dtype
    name = parameter.name
    got = f"NumPy array of {dtype}"
    if isinstance(parameter.element, StructType) and not isinstance(parameter.element, ComplexType) and dtype.isnative:
        got = f"NumPy array of {described(dtype)}"
    if is_masked(array):
        filled = "" if parameter.written else f"{name}.filled(value) or "
        return parameter.error(ArgumentTypeError, "a masked array", f"pass {filled}{name}.data")
    if not dtype.isnative:
        conversion = parameter.passing(f"{name}.astype({_spelled(parameter.element)})")
        return parameter.error(ArgumentTypeError, f"a {got} ({dtype.str}, not this machine's byte order)", conversion)
    if dtype != parameter.element.numpy:
        return parameter.error(ArgumentTypeError, f"a {got}", _conversion(parameter, dtype))
    if array.ndim == 0:
        return parameter.error(ArgumentTypeError, f"a {got} with no dimensions", f"pass {name}.reshape(1)")
    if parameter.written and not array.flags.writeable:
        return parameter.error(
            ArgumentValueError, f"a read-only {got}, which the kernel may write", f"pass {name}.copy() and use the copy"
        )
    where = f"at an address that is no multiple of {dtype.alignment}"
    return parameter.error(ArgumentValueError, f"a misaligned {got} ({where})", parameter.passing(f"{name}.copy()"))


def not_contiguous(parameter: Parameter, shape: tuple[int, ...], copy: str) -> ArgumentError:
    advice = parameter.passing(copy)
    if isinstance(parameter.type, ArrayType) and not parameter.type.strided and parameter.vector is None:
        # A kernel without annotations comes here only where its types are those of an earlier launch.
        advice += (
            ", or leave out the annotation of the parameter, which then takes strided arrays (prepare or capture the "
            "launch with one)"
        )
    return parameter.error(ArgumentValueError, f"an array of shape {shape} that is not contiguous", advice)


def array_fix(parameter: Parameter, value: Any) -> str:
    dtype = _spelled(parameter.element)
    if value is None:
        return f"pass an array, such as np.zeros(n, {dtype}) or kdsl.empty(n, {parameter.element})"
    if isinstance(value, (list, tuple, range)):
        return parameter.passing(f"np.array(..., {dtype})")
    if hasattr(value, "to_numpy"):
        return parameter.passing(f"{parameter.name}.to_numpy(dtype={dtype})")
    if isinstance(value, (int, float, complex, np.generic)):
        return parameter.passing(f"an array of one element, np.array([...], {dtype})")
    return f"pass a NumPy array, a kdsl.DeviceArray or a CUDA array of {dtype_name(parameter.element)}"


def _conversion(parameter: Parameter, dtype: np.dtype[Any]) -> str:
    """The advice for an array of another dtype."""
    element, name = parameter.element, parameter.name
    if dtype.kind in "OSUT":
        return f"kernels have no {'objects' if dtype.kind == 'O' else 'text'}: pass an array of numbers"
    if dtype.kind in "mM":
        return f"kernels have no dates: pass {name}.view(np.int64), its ticks, for a parameter of i64"
    if _same_bytes(element, dtype):
        return f"pass {_converted(element, dtype, name)}, which has the same bytes"
    made = _converted(element, dtype, name)
    if not isinstance(element, StructType) or isinstance(element, ComplexType):
        return parameter.passing(str(made))
    if made is not None:
        return f"{difference(element, dtype)}: {parameter.passing(made)}"
    first = (element.numpy.names or ("",))[0]
    fields = f"make it np.zeros(shape, {_spelled(element)}) before, and set its fields, {name}[{first!r}] = ..."
    return f"{difference(element, dtype)}: {fields}"


def _converted(element: ScalarType | StructType, dtype: np.dtype[Any], name: str) -> str | None:
    """The expression that makes an array of another dtype one of ``element``; None if no conversion does."""
    spelled = _spelled(element)
    if _same_bytes(element, dtype):
        return f"{name}.view({spelled})"  # the same memory, into which the kernel writes
    if not isinstance(element, StructType) or isinstance(element, ComplexType):
        return f"{name}.astype({spelled})"
    wanted = element.numpy.names or ()
    if dtype.names is None or set(dtype.names) != set(wanted):
        return None
    # Why the fields by name? astype() goes by their order.
    return f"{name}{'' if dtype.names == wanted else [list(wanted)]}.astype({spelled})"


def _same_bytes(element: ScalarType | StructType, dtype: np.dtype[Any]) -> bool:
    """Whether a dtype of bits is what an array of ``element`` is kept as: ints of its size."""
    if dtype.kind not in "iu" or dtype.itemsize != element.size or not isinstance(element, ScalarType):
        return False
    return element.is_int or element.numpy.name in ML_DTYPES.values()


def _spelled(type_: ScalarType | StructType) -> str:
    """A type's dtype as a user writes it."""
    if isinstance(type_, StructType) and not isinstance(type_, ComplexType):
        return dtype_name(type_)
    dtype = type_.numpy
    if dtype.name in ML_DTYPES.values():
        return f"ml_dtypes.{dtype.name}"
    return "np.bool_" if dtype.name == "bool" else f"np.{dtype.name}"
