"""What a launcher checks of its kernel's contract: when it is configured, and in every launch before anything is
enqueued.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any

from kdsl.backend import Launch
from kdsl.contracts.contract import NOTHING, Contract
from kdsl.contracts.evaluate import FUNCTIONS, NoValue, evaluate, python_source
from kdsl.contracts.explain import explain
from kdsl.contracts.expressions import Argument, Configured, Node, Number, OfArray, Value, leaves, show
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, Kind, PointerType, ScalarType, Type, VectorType
from kdsl.records import dataclass
from kdsl.runtime.errors import LaunchConfigValueError, LaunchContractError
from kdsl.runtime.host_arrays import LARGEST_VECTOR
from kdsl.runtime.launch_parameters import ArrayArgument, Parameter

STAGED_ALIGNMENT = 256
"""What copies of host arrays keep of the arrays' alignment where a contract asks for it."""
FAST_FUNCTIONS: Mapping[str, Any] = {**FUNCTIONS, "prod": math.prod, "index": operator.index, "int": int, "len": len,
                                     "type": type, "float": float}  # fmt: skip
"""What the packer's tests call, by their names after the prefix."""


@dataclass(slots=True)
class FastTests:
    """What the packer does for a contract: statements, tests after those of the arguments, and which parts of the
    configuration these name. ``numbers``: of a scalar, the int that was tested, which is what is packed.
    """

    setup: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    configured: list[Configured] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)


def configured_value(launch: Launch, node: Configured) -> int:
    """A part of a launch's configuration."""
    if node.what == "shared":
        return launch.shared_bytes
    extents = launch.grid if node.what == "grid" else launch.block
    return math.prod(extents) if node.axis == "size" else extents["xyz".index(node.axis)]


def configured_name(node: Configured) -> str:
    """The packer's name for it, after the prefix."""
    return f"{node.what}_{node.axis}" if node.axis else node.what


class LaunchChecks:
    """A contract, for one kernel's parameters of concrete types; constants are in it already."""

    def __init__(self, kernel: str, contract: Contract = NOTHING) -> None:
        self.kernel = kernel
        self.contract = contract
        self._at_launch: list[Node] = []
        self._at_bind: list[Node] = []
        for relation in contract.relations:
            of_launch = all(isinstance(leaf, Number | Configured) for leaf in leaves(relation))
            (self._at_bind if of_launch else self._at_launch).append(relation)
        every = [leaf for relation in self._at_launch for leaf in leaves(relation)]
        self.staged_alignment = STAGED_ALIGNMENT if any(_is_pointer(leaf) for leaf in every) else LARGEST_VECTOR
        """What the copies of host arrays keep of their alignment."""

    def check_block(self, launch: Launch) -> None:
        """LaunchConfigError for another block than the kernel is compiled for."""
        block = self.contract.fixed_block
        if block is not None and launch.block != block:
            said = block[0] if block[1:] == (1, 1) else block
            raise LaunchConfigValueError(
                f"block = {launch.block}, and {self.kernel} is compiled for blocks of {block}; launch it with block = "
                f"{said}, or leave block={said} out of @kernel"
            )

    def check_configuration(self, launch: Launch) -> None:
        """What the configuration alone says; LaunchContractError if the kernel is not for it."""
        self._check(self._at_bind, lambda node: configured_value(launch, _configured(node)))

    def check(
        self, launch: Launch, parameters: Sequence[Parameter], found: Sequence[Any], given: Sequence[Any]
    ) -> None:
        """Whether the arguments of a launch fit it; LaunchContractError says what to change. ``found`` is what fits
        each parameter, ``given`` what was given for it.
        """
        if not self._at_launch:
            return
        by_name = {p.name: (p, f, g) for p, f, g in zip(parameters, found, given, strict=True)}
        self._check(self._at_launch, self._values(launch, by_name))

    def check_change(
        self, launch: Launch, known: Mapping[str, tuple[Parameter, Any, Any]], changed: Collection[str], *, anew: bool
    ) -> None:
        """As `check`, where only some arguments are others than in an earlier launch, and with ``anew`` the
        configuration. ``known`` has for each parameter what fits it and what was given; of an array None, where nothing
        is known of it but that it fitted.
        """
        value = self._values(launch, known)
        for relation in self._at_launch:
            named = [leaf for leaf in leaves(relation) if isinstance(leaf, Argument | OfArray)]
            configured = any(isinstance(leaf, Configured) for leaf in leaves(relation))
            if not (anew and configured) and not any(leaf.name in changed for leaf in named):
                continue
            lacking = sorted({leaf.name for leaf in named if known[leaf.name][1] is None})
            if lacking:
                raise LaunchContractError(
                    f"{self.kernel} requires {show(relation)}, and of an earlier launch nothing is known of "
                    f"{' and '.join(f'`{name}`' for name in lacking)}; give {' and '.join(lacking)} too"
                )
            self._check([relation], value)

    def _values(self, launch: Launch, known: Mapping[str, tuple[Parameter, Any, Any]]) -> Callable[[Node], Value]:
        """What a contract's names are in a launch."""

        def value(node: Node) -> Value:
            match node:
                case Configured():
                    return configured_value(launch, node)
                case Argument(name):
                    return _scalar(*known[name])
                case OfArray(name):
                    parameter, argument, _ = known[name]
                    return self._of_array(node, parameter, argument)
            raise AssertionError(node)

        return value

    def _check(self, relations: Sequence[Node], value: Callable[[Node], Value]) -> None:
        for relation in relations:
            try:
                holds = evaluate(relation, value)
            except NoValue:
                holds = False
            if not holds:
                raise LaunchContractError(explain(self.kernel, relation, value))

    def _of_array(self, node: OfArray, parameter: Parameter, array: ArrayArgument) -> int:
        lanes = parameter.vector.lanes if parameter.vector is not None else 1
        # The array of an Array parameter of vectors has lost the axis of their components.
        size = math.prod(array.shape) // (lanes if isinstance(parameter.type, PointerType) else 1)
        match node.attribute:
            case "size":
                return size
            case "nbytes":
                return size * _item_size(parameter.type)
            case "ndim":
                return len(array.shape)
            case "ptr":
                # As it is packed: what has no elements on the host has no memory on the device.
                return 0 if array.host is not None and not size else array.address
        if not 0 <= node.axis < len(array.shape):
            count = f"{len(array.shape)} dimension{'s' if len(array.shape) != 1 else ''}"
            raise LaunchContractError(
                f"{self.kernel} requires a `{node.name}` with an axis {node.axis}, got an array with {count}; "
                f"reshape it to {node.axis + 1} dimensions or more"
            )
        if node.attribute == "shape":
            return array.shape[node.axis]
        return array.element_strides[node.axis] * _item_size(parameter.type)

    def fast(self, prefix: str, variables: Mapping[str, Type]) -> FastTests:
        """How the packer checks it. ``variables`` are the types of what it knows by name."""
        fast = FastTests()
        seen: set[str] = set()

        def source(node: Node) -> str:
            match node:
                case Configured():
                    if node not in fast.configured:
                        fast.configured.append(node)
                    return f"{prefix}{configured_name(node)}"
                case Argument(name):
                    return _fast_scalar(fast, prefix, name, variables[name], seen)
                case OfArray():
                    return _fast_array(prefix, node, variables[node.name])
            raise AssertionError(node)

        # Scalars first: their tests are what makes the relations right.
        relations = [python_source(relation, source, prefix) for relation in self._at_launch]
        fast.tests += relations
        return fast


def _is_pointer(node: Node) -> bool:
    return isinstance(node, OfArray) and node.attribute == "ptr"


def _configured(node: Node) -> Configured:
    assert isinstance(node, Configured)
    return node


def _item_size(type: Type) -> int:
    """Bytes of an element."""
    assert isinstance(type, PointerType | ArrayType)
    element = type.element
    return element.size if isinstance(element, ScalarType | StructType | VectorType) else 8


def _scalar(parameter: Parameter, found: Any, given: Any) -> Value:
    """The number that was given for a scalar parameter."""
    type = parameter.type
    assert isinstance(type, ScalarType)
    if type.is_float:
        return float(given)
    return bool(found) if type.kind is Kind.BOOL else int(found)


def _fast_scalar(fast: FastTests, prefix: str, name: str, type: Type, seen: set[str]) -> str:
    """A scalar as a plain number: NumPy's would wrap, or compare by a rounding of its own."""
    assert isinstance(type, ScalarType)
    if type.kind is Kind.BOOL:
        return name
    if type.is_float:
        if name not in seen:
            seen.add(name)
            fast.tests.append(f"{prefix}type({name}) is {prefix}float")
        return name
    # Packed too: an object's __index__ may give another number each time.
    value = fast.numbers[name] = f"{prefix}{name}_value"
    if name not in seen:
        seen.add(name)
        fast.setup.append(f"{value} = {name} if {prefix}type({name}) is {prefix}int else {prefix}index({name})")
    return value


def _fast_array(prefix: str, node: OfArray, type: Type) -> str:
    """What is known of an array, which has passed the tests of its layout."""
    name = node.name
    assert isinstance(type, PointerType | ArrayType)
    vector = type.element if isinstance(type.element, VectorType) else None
    extents = [f"{prefix}{name}_{axis}" for axis in range(type.ndim)] if isinstance(type, ArrayType) else []
    match node.attribute:
        case "ptr":
            return f"{name}.address"
        case "ndim":
            return str(len(extents)) if extents else f"{prefix}len({name}.shape)"
        case "shape":
            return extents[node.axis] if extents else f"{name}.shape[{node.axis}]"
        case "strides":
            return f"{name}.strides[{node.axis}]"
    size = f"({' * '.join(extents)})" if extents else f"{prefix}prod({name}.shape)"
    if vector is not None and not extents:
        size = f"({size} // {vector.lanes})"
    return size if node.attribute == "size" else f"({size} * {_item_size(type)})"
