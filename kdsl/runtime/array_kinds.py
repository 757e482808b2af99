"""Which arrays the fast way knows, by their class, and what it asks of DeviceArrays, of CuPy's and of JAX's."""

from __future__ import annotations

import sys
from math import prod
from typing import Any

import numpy as np

from kdsl.runtime.foreign_memory import SharingBackend
from kdsl.runtime.foreign_packer import ArrayParameter, ForeignPacker, Kind
from kdsl.runtime.interface_packer import interface_kind
from kdsl.runtime.jax_arrays import is_jax
from kdsl.runtime.layout import INT32_ELEMENTS
from kdsl.runtime.lent_arrays import LentArrays
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.packer import layout_tests
from kdsl.runtime.tensor_packer import tensor_kind
from kdsl.runtime.torch_tensors import loaded_torch


def kind_of(value: Any, backend: SharingBackend) -> Kind | None:
    """How the fast way reads arrays of the class that ``value`` has; None where it does not."""
    class_ = type(value)
    if class_ is DeviceArray:
        return own_kind
    if isinstance(value, np.ndarray):
        return None
    torch = loaded_torch(value)
    if torch is not None:
        # What a subclass overrides is the checked way's matter.
        return tensor_kind(torch, backend) if class_ in (torch.Tensor, torch.nn.Parameter) else None
    if is_jax(value):
        return jax_kind(backend.lent)
    cupy = sys.modules.get("cupy")
    if cupy is not None and class_ is getattr(cupy, "ndarray", None):
        return cupy_kind(cupy, backend)
    return interface_kind(value, backend)


def own_kind(packer: ForeignPacker, parameter: ArrayParameter) -> bool:
    """DeviceArrays beside others."""
    name = parameter.name
    packer.tests.append(layout_tests(packer, name, parameter.element, wide=not parameter.is_narrow, strided=False))
    packer.add_array(parameter, f"{name}.address", f"{name}.shape")
    return True


def cupy_kind(cupy: Any, backend: SharingBackend) -> Kind:
    """CuPy's arrays, whose work is in the current stream that CuPy has on this GPU."""
    # Its flags are an object that is made for each question, at ten times the price.
    contiguous = "_c_contiguous" if hasattr(cupy.ndarray, "_c_contiguous") else "flags.c_contiguous"

    def add(packer: ForeignPacker, parameter: ArrayParameter) -> bool:
        p, name, element = packer.prefix, parameter.name, parameter.element
        dtype, memory = f"numpy_{element.name}", f"{p}{name}_memory"
        packer.scope |= {
            dtype: element.numpy, "ordinal": backend.ordinal, "current_cupy": cupy.cuda.get_current_stream
        }  # fmt: skip
        packer.setup.append(f"{memory} = {name}.data")
        tests = [f"{name}.dtype == {p}{dtype}", f"{name}.{contiguous}", f"{memory}.device_id == {p}ordinal"]
        if parameter.is_narrow:
            tests.append(f"{name}.size <= {INT32_ELEMENTS}")
        packer.add_array(parameter, f"{memory}.ptr if {' and '.join(tests)} else None", f"{name}.shape")
        packer.add_stream(f"{p}current_cupy({p}ordinal).ptr")
        return True

    return add


def jax_kind(lent: LentArrays) -> Kind:
    """JAX's arrays that were read before, in the same stream."""

    def add(packer: ForeignPacker, parameter: ArrayParameter) -> bool:
        if parameter.written:
            return False
        p, name, element = packer.prefix, parameter.name, parameter.element
        type_, key, entry = f"{element.name}_type", f"{p}{name}_key", f"{p}{name}_lent"
        packer.scope |= {
            type_: element, "ready": lent.ready, "exported": lent.found, "give_back": lent.give_back, "product": prod
        }  # fmt: skip
        packer.setup.append(f"{key}, {entry} = {p}ready({name}, {p}named)")
        packer.tests.append(f"{entry}[1] is {p}{type_}")
        if parameter.is_narrow:
            packer.tests.append(f"{p}product({entry}[3]) <= {INT32_ELEMENTS}")
        packer.add_array(parameter, f"{entry}[2]", f"{entry}[3]")
        packer.add_stream(f"{p}named")
        # Another thread may have ended the export before the launch was made, which is what has to be waited for.
        packer.after += [f"if {p}exported.get({key}) is not {entry}:", f"    {p}give_back({entry})"]
        return True

    return add
