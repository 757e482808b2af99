"""PyTorch's tensors as arguments of a launch, read through their own attributes.

Nothing here imports PyTorch: who passes a tensor has done so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

from kdsl.lang.complex_type import ComplexType
from kdsl.lang.types import COMPLEX64, COMPLEX128, SCALARS, ScalarType
from kdsl.runtime.foreign_array import ForeignArray, NotOnDeviceError

# PyTorch's names of the scalar types.
TYPES: dict[str, ScalarType | ComplexType] = {
    "bool": SCALARS["bool"], "int8": SCALARS["i8"], "int16": SCALARS["i16"], "int32": SCALARS["i32"],
    "int64": SCALARS["i64"], "uint8": SCALARS["u8"], "uint16": SCALARS["u16"], "uint32": SCALARS["u32"],
    "uint64": SCALARS["u64"], "float16": SCALARS["f16"], "bfloat16": SCALARS["bf16"], "float32": SCALARS["f32"],
    "float64": SCALARS["f64"], "float8_e4m3fn": SCALARS["f8e4m3"], "float8_e5m2": SCALARS["f8e5m2"],
    "complex64": COMPLEX64, "complex128": COMPLEX128,
}  # fmt: skip

CUSTOM_OP = "wrap the launch in a torch.library.custom_op, as docs/interop.md shows"


def loaded_torch(value: Any) -> Any:
    """PyTorch's module if ``value`` is one of its tensors, else None."""
    torch = sys.modules.get("torch")
    # While PyTorch is being imported it has no Tensor yet.
    kind = getattr(torch, "Tensor", None)
    return torch if kind is not None and isinstance(value, kind) else None


def torch_array(torch: Any, tensor: Any) -> ForeignArray:
    """The tensor's memory; NotOnDeviceError for what has none, or has it in another form than its elements say."""
    # Why not __cuda_array_interface__? PyTorch builds it in Python on each access, refuses bfloat16 in some versions,
    # and tells no stream.
    is_host = not tensor.is_cuda
    if is_host and tensor.device.type != "cpu":
        raise NotOnDeviceError(_elsewhere(tensor.device.type))
    if tensor.layout is not torch.strided or tensor.is_nested:
        fix = "pass t.values()" if tensor.is_nested else "pass t.to_dense()"
        raise NotOnDeviceError(f"is a {'nested' if tensor.is_nested else 'sparse'} tensor; {fix}")
    # Without gradients (in a custom op, an autograd.Function, under no_grad) nothing is lost.
    if tensor.requires_grad and torch.is_grad_enabled():
        raise NotOnDeviceError(
            f"requires grad, which would be lost; pass t.detach(), launch under torch.no_grad(), or {CUSTOM_OP}"
        )
    if tensor.is_conj() or tensor.is_neg():
        raise NotOnDeviceError("is a lazy conjugate or negative; pass t.resolve_conj().resolve_neg()")
    dtype = tensor.dtype
    device = None if is_host else tensor.get_device()
    return ForeignArray(
        _address(tensor), tuple(tensor.shape), dtypes(torch).get(dtype), str(dtype)[6:],
        None if tensor.is_contiguous() else tensor.stride(),
        stream=None if device is None else current_stream(torch, device),
        device=device, is_host=is_host, tensor=tensor,
    )  # fmt: skip


@cache
def dtypes(torch: Any) -> dict[Any, ScalarType | ComplexType]:
    """Our types by PyTorch's dtypes."""
    return {getattr(torch, name): type_ for name, type_ in TYPES.items() if hasattr(torch, name)}


def _elsewhere(device: str) -> str:
    if device == "meta":
        return "is a tensor on the meta device, which has no elements; pass one on a GPU or the CPU"
    return f"is a tensor on the device {device}; pass t.cuda() or t.cpu()"


def _address(tensor: Any) -> int:
    if tensor.__class__.__name__ not in ("FakeTensor", "FunctionalTensor"):  # where asking for an address is a warning
        try:
            address: int = tensor.data_ptr()
        except RuntimeError:  # of wrappers: vmap and grad, DTensor, FunctionalTensor
            pass
        else:
            if address or not tensor.numel():
                return address
    raise NotOnDeviceError(
        f"stands for a tensor and has no memory, as in torch.compile, torch.func and torch.export; {CUSTOM_OP}"
    )


def current_stream(torch: Any, device: int) -> int:
    """The stream that PyTorch puts work of this thread on now."""
    # Triton and Inductor read it so, without an object for each stream: 0.1 us in place of 0.7.
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return int(raw(device) if raw is not None else torch.cuda.current_stream(device).cuda_stream)


def note_written(tensors: Iterable[Any]) -> None:
    """Tell autograd that a kernel wrote into tensors: a backward pass that needs what was there refuses to run."""
    for tensor in tensors:
        if not tensor.is_inference():
            sys.modules["torch"].autograd.graph.increment_version(tensor)


def note_used(tensors: Iterable[Any], stream: int) -> None:
    """Tell PyTorch's allocator that work in a stream other than its own uses tensors, which may be dropped before."""
    for tensor in tensors:
        torch = sys.modules["torch"]
        tensor.record_stream(torch.cuda.ExternalStream(stream, device=tensor.device))
