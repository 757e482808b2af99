"""What a signature says of a kernel that another compiler made, and whether the module's kernel has such parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from kdsl.compiler import Kernel
from kdsl.contracts.contract import NOTHING, Contract
from kdsl.ir.options import Options
from kdsl.lang.layout import parameter_layout
from kdsl.lang.types import Type, as_type
from kdsl.runtime.entries import Place

Signature = Kernel[Any] | FunctionType | Mapping[str, Any] | Sequence[Any]
"""A `@kernel` or a plain function whose annotations count, types by name, or a list of types."""


def parameters_of(kernel: str, signature: Signature | None) -> list[tuple[str, Type]]:
    """Name and type of each parameter; TypeError for what is no signature."""
    if signature is None:
        return []
    if isinstance(signature, Kernel | FunctionType):
        return _annotated(signature)
    if isinstance(signature, str | bytes) or not isinstance(signature, Mapping | Sequence):
        raise TypeError(
            f"{kernel}: a signature is a function with annotations, a dict by parameter or a list of types, "
            f"got {signature!r}"
        )
    named = signature if isinstance(signature, Mapping) else {f"p{i}": said for i, said in enumerate(signature)}
    parameters = []
    for name, said in named.items():
        try:
            parameters.append((name, as_type(said)))
        except TypeError as error:
            raise TypeError(f"{kernel}: parameter {name!r}: {error}") from None
    _check_passed(kernel, parameters)
    return parameters


def _annotated(function: Kernel[Any] | FunctionType) -> list[tuple[str, Type]]:
    """The parameters of a kernel or of a function that stands for one; TypeError where annotations do not say all."""
    kernel = function if isinstance(function, Kernel) else Kernel(function, Options())
    if not kernel.is_annotated:
        raise TypeError(
            f"{kernel.name}: a kernel of a loaded module needs an annotation on every parameter, and no Constexpr"
        )
    parameters = [(name, type) for name, type in kernel.parameters if type is not None]
    _check_passed(kernel.name, parameters)
    return parameters


def contract_of(signature: Signature | None) -> Contract:
    """What a launch is checked against; ContractError if it does not fit the annotations."""
    if not isinstance(signature, Kernel):
        return NOTHING
    from kdsl.contracts.decorate import check_contract  # start-up cost: most kernels have none

    check_contract(signature.function, signature.options.contract, dict(signature.parameters))
    return signature.options.contract


def _check_passed(kernel: str, parameters: Sequence[tuple[str, Type]]) -> None:
    """TypeError for types that no launch can pass."""
    try:
        parameter_layout(parameters)
    except TypeError as error:
        raise TypeError(f"{kernel}: {error}") from None


def check_places(
    name: str, parameters: Sequence[tuple[str, Type]], there: Sequence[Place] | None, *, is_unknown: bool
) -> None:
    """TypeError for parameters that are not as many, as large, and where the module has them, as far as it tells;
    ``is_unknown``: nothing was said of them.
    """
    if there is None or (is_unknown and not there):
        return
    if is_unknown:
        raise TypeError(
            f"{name} has {_shown(there)}; say their types, as in signature=[Ptr[f32], i32], or with a function: "
            f"def {name.partition('<')[0].rpartition('::')[2]}(x: Ptr[f32], n: i32): ..."
        )
    said = tuple((field.offset, field.size) for field in parameter_layout(parameters))
    if said == there:
        return
    listed = ", ".join(f"{n}: {t}" for n, t in parameters)
    raise TypeError(
        f"{name}({listed}) has {_shown(said)}, and the module's has {_shown(there)}: the signature is another "
        f"kernel's. A Ptr or an i64 has 8 bytes, an Array its address and 4 for each extent"
    )


def _shown(places: Sequence[Place]) -> str:
    """Parameters by their sizes; by their offsets too, where these are not what the sizes say."""
    if not places:
        return "no parameters"
    end, packed = 0, True
    for offset, size in places:
        packed &= offset == -(-end // min(size, 8)) * min(size, 8)
        end = offset + size
    sizes = ", ".join(str(size) if packed else f"{size} (at {offset})" for offset, size in places)
    return f"{len(places)} parameter{'s' if len(places) > 1 else ''} of {sizes} bytes"
