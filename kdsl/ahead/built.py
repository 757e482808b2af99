"""What a build knows of each kernel: its entry, arguments and parameters, for whoever writes a loader or a header."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from kdsl.compiler import Kernel
from kdsl.contracts.contract import Contract
from kdsl.contracts.types import contract_for
from kdsl.ir.nodes import Function
from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.types import ArrayType, PointerType, Type
from kdsl.records import dataclass
from kdsl.runtime.calls import Call, Slot, call_of


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """A kernel of a build: ``call`` are its arguments and, as slots, what a launch passes of them."""

    name: str
    entry: str
    doc: str
    call: Call
    written: frozenset[int] | None
    """Indexes of the slots through which it may write; None for all."""
    most_threads: int | None
    multiple: int
    cluster: tuple[int, int, int] | None
    cooperative: bool
    contract: Contract
    defaults: Mapping[str, Any]

    def writes(self, index: int) -> bool:
        """Whether it may write through a slot."""
        return self.written is None or index in self.written

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(f'{n}: {t}' for n, t in zip(self.call.names, self.call.types, strict=True))})"


def built(kernel: Kernel[Any], types: Sequence[Type], tree: Function, cooperative: bool) -> BuiltKernel:
    """What is known of a compiled kernel. TypeError for a function that holds values, which kdsl alone can pass."""
    named = [(name, type) for (name, _), type in zip(kernel.parameters, types, strict=True)]
    for name, type in named:
        if isinstance(type, ConstexprType) and type.held:
            raise TypeError(
                f"{kernel.name}: parameter {name!r} is a function that holds values, which are passed by kdsl alone; "
                f"build it with one that holds none"
            )
    # A constant is in the code: no launch gives it.
    call = call_of([(name, type) for name, type in named if not isinstance(type, ConstexprType)])
    written = None
    if tree.written is not None:
        written = frozenset(i for i, local in enumerate(tree.parameters) if local.uid in tree.written)
    bounds = tree.options.launch_bounds
    return BuiltKernel(
        kernel.name, tree.name, (kernel.function.__doc__ or "").strip(), call, written, bounds[0] if bounds else None,
        tree.block_multiple, tree.options.cluster, cooperative, contract_for(kernel.options.contract, dict(named)),
        {name: value for name, (_, value) in kernel.defaults.items() if name in call.names},
    )  # fmt: skip


def place_of(call: Call, slot: Slot) -> tuple[int, ...]:
    """Where a slot is in the arguments: the argument's index, and the indexes of a tuple's elements."""
    node: ast.expr = ast.parse(slot.source, mode="eval").body
    path: list[int] = []
    while isinstance(node, ast.Subscript):
        path.append(ast.literal_eval(node.slice))
        node = node.value
    assert isinstance(node, ast.Name)
    return (call.names.index(node.id), *reversed(path))


def is_array(type: Type) -> bool:
    """Whether a slot passes memory."""
    return isinstance(type, PointerType | ArrayType)
