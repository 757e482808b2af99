"""The fast way for PyTorch's tensors: the source text of a packer that takes them beside DeviceArrays.

It is made when a launch first meets a tensor on the GPU, and leaves whatever is not plain to the checked way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kdsl.lang.complex_type import ComplexType
from kdsl.lang.types import I32, ArrayType, PointerType, ScalarType, Type
from kdsl.runtime.foreign_memory import SharingBackend
from kdsl.runtime.packer import Packer, layout_tests, pack_parameter
from kdsl.runtime.torch_tensors import dtypes

TakesTensors = Callable[[tuple[Any, ...]], bool]
"""Launches with the arguments of a call, or says that it did not."""


def takes_tensors(parameters: Sequence[tuple[str, Type]]) -> bool:
    """Whether a kernel's parameters are all of the kinds that the fast way knows: scalars and contiguous arrays."""
    return all(
        isinstance(type_, ScalarType)
        or (
            isinstance(type_, PointerType | ArrayType)
            and isinstance(type_.element, ScalarType | ComplexType)
            and not (isinstance(type_, ArrayType) and type_.strided)
        )
        for _, type_ in parameters
    )


def tensor_packer_source(
    p: str, parameters: Sequence[tuple[str, Type]], tests: Sequence[str], written: Sequence[bool]
) -> str:
    """A function ``make(enqueue, elsewhere, named, acquire, release, pack)``; ``p`` begins every name but the
    parameters'.

    Its globals, after the prefix, are those of the launcher's packer and `tensor_scope`. ``named`` is the stream that
    the user named, or 0; ``elsewhere`` gives what enqueues in another one.
    """
    packer = Packer(p, tests=list(tests))
    bumps: list[str] = []
    for (name, type_), is_written in zip(parameters, written, strict=True):
        if isinstance(type_, ScalarType):
            pack_parameter(packer, name, type_)
            continue
        assert isinstance(type_, PointerType | ArrayType)
        _tensor(packer, name, type_)
        if is_written:
            bumps += [f"        if {name}.__class__ in {p}tensors and not {name}.is_inference():",
                      f"            {p}written(({name},))"]  # fmt: skip
    lines = [
        f"def make({p}enqueue, {p}elsewhere, {p}named, {p}acquire, {p}release, {p}pack):",
        f"    def launch({p}given):",
        "        try:",
        f"            {''.join(f'{name}, ' for name, _ in parameters)} = {p}given",
        *(f"            {statement}" for statement in packer.setup),
        f"            if not ({' and '.join(packer.tests) or True}):",
        "                return False",
        f"            {p}stream = {p}raw({p}ordinal)",
        f"            if {p}stream == {p}named:",
        f"                {p}run = {p}enqueue",
        f"            elif {p}named:",
        "                return False",
        "            else:",
        f"                {p}run = {p}elsewhere[{p}stream]",
        f"            {p}buffer = {p}acquire()",
        f"            {p}pack({', '.join([f'{p}buffer', '0', *packer.packed])})",
        f"        except {p}failures:",
        "            return False",
        f"        {p}run({p}buffer)",
        *bumps,
        f"        {p}release({p}buffer)",
        "        return True",
        "    return launch",
    ]
    return "\n".join(lines) + "\n"


def _tensor(packer: Packer, name: str, type_: PointerType | ArrayType) -> None:
    """An array parameter, which takes a DeviceArray or a tensor."""
    p, at = packer.prefix, f"{packer.prefix}{name}_at"
    element = type_.element
    assert isinstance(element, ScalarType | ComplexType)
    is_narrow = isinstance(type_, ArrayType) and (type_.index or I32).bits == 32
    tests = [
        f"{name}.__class__ in {p}tensors",
        f"{name}.dtype is {p}{element.name}_dtype",
        f"{name}.get_device() == {p}ordinal",
        f"{name}.is_contiguous()",
        f"not ({name}.is_nested or {name}.is_neg() or ({name}.requires_grad and {p}records()))",
    ]
    if isinstance(element, ComplexType):
        tests.append(f"not {name}.is_conj()")
    if is_narrow:
        tests.append(f"{name}.numel() < {2**31 - 1}")
    layouts = layout_tests(packer, name, element, wide=not is_narrow, strided=False)
    packer.setup.append(f"{at} = {name}.address if {layouts} else {name}.data_ptr() if {' and '.join(tests)} else None")
    packer.tests.append(f"{at} is not None and {at} % {element.align} == 0")
    packer.packed.append(at)
    if isinstance(type_, ArrayType):
        extents = [f"{p}{name}_{axis}" for axis in range(type_.ndim)]
        packer.setup.append(f"{', '.join(extents)}, = {name}.shape")
        packer.packed += extents


def tensor_scope(torch: Any, backend: SharingBackend) -> dict[str, Any] | None:
    """What the source text names of PyTorch; None for a version that lacks it."""
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    written = getattr(torch._C, "_increment_version", None)
    if raw is None or written is None:
        return None
    return {
        "tensors": frozenset({torch.Tensor, torch.nn.Parameter}),
        "ordinal": backend.ordinal,
        "raw": raw,
        "written": written,
        "records": torch.is_grad_enabled,
        **{f"{type_.name}_dtype": dtype for dtype, type_ in dtypes(torch).items()},
    }
