"""Where each kernel parameter lies in the parameter buffer: natural alignment, in order, as in CUDA C."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kdsl.lang.struct_type import StructType
from kdsl.lang.types import I32, U64, ArrayType, PointerType, ScalarType, Type, VectorType
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class ParameterField:
    """One PTX parameter. ``name`` is the kernel's parameter, with ``.extent0``, ``.stride1``, ... for an array's parts.

    ``index`` counts the kernel's parameters, ``type`` is what lies at ``offset`` (an address is a u64).
    """

    name: str
    index: int
    type: ScalarType | StructType | VectorType
    offset: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.type.size

    @property
    def ptx(self) -> str:
        """The parameter's type in PTX, such as ``.u64``; a struct's or vector's as ``.align 16 .b8[32]``."""
        if isinstance(self.type, StructType | VectorType):
            return f".align {self.type.align} .b8[{self.type.size}]"
        if self.type.is_float:
            return f".b{self.type.bits}" if self.type.bits == 16 else f".f{self.type.bits}"
        return f".u{self.type.bits}"


def parameter_parts(name: str, type_: Type) -> tuple[tuple[str, ScalarType | StructType | VectorType], ...]:
    """The PTX parameters that one kernel parameter becomes, in order; TypeError for a type that no launch can pass."""
    match type_:
        case ScalarType() | StructType() | VectorType():
            return ((name, type_),)
        case PointerType():
            return ((name, U64),)
        case ArrayType(shape=None):
            index, axes = type_.index or I32, range(type_.ndim)
            strides = axes if type_.strided else ()
            extents = tuple((f"{name}.extent{axis}", index) for axis in axes)
            return ((name, U64), *extents, *((f"{name}.stride{axis}", index) for axis in strides))
        case _:
            raise TypeError(f"a kernel parameter cannot have the type {type_}")


def parameter_layout(parameters: Iterable[tuple[str, Type]]) -> tuple[ParameterField, ...]:
    """The PTX parameters of a kernel with these (name, type) parameters, each with its offset in bytes."""
    out: list[ParameterField] = []
    offset = 0
    for index, (name, type_) in enumerate(parameters):
        for part, whole in parameter_parts(name, type_):
            offset = -(-offset // whole.align) * whole.align
            out.append(ParameterField(part, index, whole, offset))
            offset += whole.size
    return tuple(out)


def buffer_size(layout: Sequence[ParameterField]) -> int:
    """Bytes of the parameter buffer: up to the end of the last parameter, without padding behind it."""
    return layout[-1].offset + layout[-1].size if layout else 0
