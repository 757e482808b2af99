"""What the fast way asks of PyTorch's tensors."""

from __future__ import annotations

from typing import Any

from kdsl.lang.complex_type import ComplexType
from kdsl.runtime.foreign_memory import SharingBackend
from kdsl.runtime.foreign_packer import ArrayParameter, ForeignPacker, Kind
from kdsl.runtime.layout import INT32_ELEMENTS
from kdsl.runtime.torch_tensors import dtypes


def tensor_kind(torch: Any, backend: SharingBackend) -> Kind | None:
    """The kind of plain tensors in the GPU's memory; None for a PyTorch without what it needs."""
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    written = getattr(torch._C, "_increment_version", None)
    if raw is None or written is None:
        return None
    names = {f"{type_.name}_dtype": dtype for dtype, type_ in dtypes(torch).items()}
    scope = {"ordinal": backend.ordinal, "raw": raw, "written": written, "records": torch.is_grad_enabled, **names}

    def add(packer: ForeignPacker, parameter: ArrayParameter) -> bool:
        packer.scope |= scope
        _add(packer, parameter)
        return True

    return add


def _add(packer: ForeignPacker, parameter: ArrayParameter) -> None:
    p, name, element = packer.prefix, parameter.name, parameter.element
    tests = [
        f"{name}.dtype is {p}{element.name}_dtype",
        f"{name}.get_device() == {p}ordinal",
        f"{name}.is_contiguous()",
        f"not ({name}.is_nested or {name}.is_neg() or ({name}.requires_grad and {p}records()))",
    ]
    if isinstance(element, ComplexType):
        tests.append(f"not {name}.is_conj()")
    if parameter.is_narrow:
        tests.append(f"{name}.numel() <= {INT32_ELEMENTS}")
    packer.add_array(parameter, f"{name}.data_ptr() if {' and '.join(tests)} else None", f"{name}.shape")
    packer.add_stream(f"{p}raw({p}ordinal)")
    if parameter.written:
        packer.after += [f"if not {name}.is_inference():", f"    {p}written(({name},))"]
