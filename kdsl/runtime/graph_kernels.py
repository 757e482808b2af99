"""The arguments of a graph's kernel nodes: read from their packed parameters, and replaced by name, checked as a
launch's are.
"""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kdsl.backend import Launch
from kdsl.captures import RecordedNode
from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, PointerType, ScalarType, TupleType, Type, VectorType
from kdsl.runtime.arguments import array_argument, scalar_argument
from kdsl.runtime.bound_launch import packed
from kdsl.runtime.call_names import OF_NODE, check_names
from kdsl.runtime.callables import function_type
from kdsl.runtime.calls import check_tuple
from kdsl.runtime.capture_arguments import check_of_graph
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.errors import ArgumentTypeError, LaunchConfigTypeError, LaunchConfigValueError
from kdsl.runtime.host_arrays import HostArrays
from kdsl.runtime.inference import infer_type
from kdsl.runtime.launch_parameters import ArrayArgument, Parameter

if TYPE_CHECKING:
    from kdsl.runtime.launcher import Launcher


def named_values(launcher: Launcher, parameters: bytes) -> dict[str, Any]:
    """What is packed for each parameter; of an array, its address and extents as a tuple."""
    values = launcher.format.unpack_from(parameters)
    return {
        parameter.name: values[start] if count == 1 else values[start : start + count]
        for parameter, (start, count) in zip(launcher.parameters, _places(launcher), strict=True)
    }


def repacked(
    launcher: Launcher, node: RecordedNode, configuration: Any, arguments: Mapping[str, Any]
) -> tuple[Launch, bytes, Any]:
    """The launch and the packed parameters of a node with some of them replaced, and what to keep alive for it.
    ArgumentError and LaunchConfigError as for a launch.
    """
    assert node.launch is not None
    launch = node.launch if configuration is None else _configured(launcher, node.launch, configuration)
    values = list(launcher.format.unpack_from(node.parameters))
    places = _places(launcher)
    check_names(launcher.kernel, launcher.names, arguments, OF_NODE)
    known = _of_earlier(launcher, values, places)
    for index, value in _parts(launcher, arguments):
        parameter = launcher.parameters[index]
        start, count = places[index]
        found = _checked(launcher, parameter, value)
        known[parameter.name] = parameter, found, value
        values[start : start + count] = packed([parameter], [found], HostArrays(launcher.backend, []))
    launcher.checks.check_change(launch, known, arguments, anew=configuration is not None)
    buffer = bytearray(node.parameters)
    launcher.format.pack_into(buffer, 0, *values)
    return launch, bytes(buffer), dict(arguments)


def _of_earlier(
    launcher: Launcher, values: Sequence[Any], places: Sequence[tuple[int, int]]
) -> dict[str, tuple[Parameter, Any, Any]]:
    """What is known of each argument from what is packed for it, as a launch contract asks: nothing of the array behind
    a Ptr, which has no size there.
    """
    known: dict[str, tuple[Parameter, Any, Any]] = {}
    for parameter, (start, _) in zip(launcher.parameters, places, strict=True):
        found, type_ = values[start], parameter.type
        if isinstance(type_, ArrayType):
            shape = tuple(values[start + 1 : start + 1 + type_.ndim])
            strides = tuple(values[start + 1 + type_.ndim : start + 1 + 2 * type_.ndim]) if type_.strided else None
            found = ArrayArgument(found, shape, strides)
        elif isinstance(type_, PointerType):
            found = None
        elif isinstance(type_, ScalarType) and type_.name == "bf16":
            (found,) = struct.unpack("<f", struct.pack("<I", found << 16))
        known[parameter.name] = parameter, found, found
    return known


def _places(launcher: Launcher) -> list[tuple[int, int]]:
    """For each parameter the first of the values packed for it, and how many they are."""
    out, start = [], 0
    for parameter in launcher.parameters:
        type_, count = parameter.type, 1
        if isinstance(type_, ArrayType):
            count = 1 + type_.ndim * (2 if type_.strided else 1)
        out.append((start, count))
        start += count
    return out


def _configured(launcher: Launcher, old: Launch, configuration: Any) -> Launch:
    if not isinstance(configuration, tuple | LaunchConfig):
        raise LaunchConfigTypeError(
            f"a node takes a configuration, node.update((grid, block)), and arguments by name, node.update(n=5); "
            f"got {configuration!r}"
        )
    config = LaunchConfig.of(configuration)
    if config.empty:
        raise LaunchConfigValueError("a node of a graph launches at least one block")
    if config.stream is not None:
        raise LaunchConfigValueError("a node has no stream of its own: node.update((grid, block))")
    shared = config.shared or old.shared_bytes
    cluster = config.cluster if config.cluster is not None else old.cluster
    cooperative = config.cooperative or old.cooperative
    programmatic = config.programmatic_dependent_launch or old.programmatic_dependent_launch
    launch = launcher.checked_config(
        dataclasses.replace(
            config,
            shared=shared,
            cluster=cluster,
            cooperative=cooperative,
            programmatic_dependent_launch=programmatic,
        )
    )
    for name in ("cluster", "cooperative", "programmatic_dependent_launch"):
        if getattr(launch, name) != getattr(old, name):
            raise LaunchConfigValueError(
                f"{name} of a node cannot change; capture the launch anew, and instantiate that graph"
            )
    return launch


def _parts(launcher: Launcher, arguments: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
    """The parameters that arguments give, by index, with their values."""
    if launcher.call is None:
        names = launcher.names
        yield from ((names.index(name), value) for name, value in arguments.items())
        return
    types = dict(zip(launcher.call.names, launcher.call.types, strict=True))
    for name, value in arguments.items():
        _check_same(launcher.kernel, name, types[name], value)
    for index, slot in enumerate(launcher.call.slots):
        # A slot's source is an expression of one argument, such as `pair[0]`.
        root = re.match(r"\w+", slot.source)
        assert root is not None
        if root[0] in arguments:
            yield index, eval(slot.source, {}, {root[0]: arguments[root[0]]})


def _check_same(kernel: str, name: str, type_: Type, value: Any) -> None:
    """ArgumentTypeError for what the kernel would have to be compiled anew for."""
    match type_:
        case TupleType(elements):
            check_tuple(kernel, name, type_, value)
            for index, (element, part) in enumerate(zip(elements, value, strict=True)):
                _check_same(kernel, f"{name}[{index}]", element, part)
        case ConstexprType(is_function=True):
            if not callable(value) or function_type(kernel, name, value, infer_type).key != type_.key:
                raise ArgumentTypeError(f"{kernel}: argument `{name}` is another function than was compiled")
        case ConstexprType():
            raise ArgumentTypeError(
                f"{kernel}: argument `{name}` is a constant that the kernel was compiled with; capture the launch anew"
            )


def _checked(launcher: Launcher, parameter: Parameter, value: Any) -> Any:
    if isinstance(parameter.type, ScalarType | StructType | VectorType):
        return scalar_argument(parameter, value, launcher.backend)
    found = array_argument(parameter, value, launcher.backend)
    check_of_graph(parameter, found, launcher.backend)
    return found
