"""Launches without brackets, ``k.launch(a, b, n)``: grid, block and shared memory follow from the arguments, as the
kernel's contract says.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from kdsl.contracts.contract import Contract, Extents, is_constant
from kdsl.contracts.evaluate import NoValue, evaluate, python_source
from kdsl.contracts.explain import named, said
from kdsl.contracts.expressions import Argument, Node, Number, OfArray, Value, show
from kdsl.lang.types import ArrayType, Kind, PointerType, ScalarType, Type, VectorType
from kdsl.runtime.call_names import BY_CONTRACT, NOT_GIVEN, check_names
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.contracts import FAST_FUNCTIONS
from kdsl.runtime.dynamo import generated, leave_alone, untraced
from kdsl.runtime.errors import LaunchConfigTypeError, LaunchContractError
from kdsl.runtime.interface import NotOnDeviceError, foreign_array
from kdsl.runtime.launcher_code import FAILURES, MISSING
from kdsl.runtime.layout import contiguous_strides
from kdsl.runtime.markers import unmarked
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.mistakes import users_mistakes
from kdsl.runtime.packer import name_prefix
from kdsl.runtime.scalars import INT_CLASSES

Run = Callable[..., None]
MOST_DERIVED = 1024
"""Configurations that are remembered."""
MOST_STREAMS = 64
"""Streams in which a kernel keeps launches without brackets ready for."""


class _NoFacts(Exception):
    """An argument is not of the kind that its parameter takes."""


class DerivedLaunches:
    """Makes the function ``k.launch`` of a kernel in one stream. ``names`` are what a call gives, ``types`` what is
    known of their types, ``configured`` gives the kernel with a configuration.
    """

    def __init__(
        self,
        kernel: str,
        contract: Contract,
        names: Sequence[str],
        types: Mapping[str, Type | None],
        defaults: Mapping[str, Any],
        configured: Callable[[LaunchConfig], Run],
        stream: Any = None,
    ) -> None:
        self.kernel = kernel
        self.contract = contract
        self.names = tuple(names)
        self.types = types
        self.defaults = defaults
        self.configured = configured
        self.stream = stream
        self._known: dict[Any, Run] = {}
        self._keys: dict[LaunchConfig, Any] = {}
        nodes = [*(contract.grid or ()), *(contract.block or ()), contract.shared or Number(0)]
        self._varying = [node for node in nodes if not is_constant(node)]

    @cached_property
    def function(self) -> Run:
        """``launch(a, b, ...)``: a dictionary is asked for the configuration, then the packer of that launches."""
        if self.contract.grid is None or self.contract.block is None:
            return self._refuse
        scope: dict[str, Any] = {
            "known": self._known,
            "slowly": self._launch,
            "check_names": self._check_names,
            "failures": FAILURES,
            "DeviceArray": DeviceArray,
        }
        p = name_prefix(self.names)
        for name, value in {**FAST_FUNCTIONS, **scope}.items():
            scope[p + name] = value
        for name in self.names:
            scope[f"{p}default_{name}"] = self.defaults.get(name, MISSING)
        exec(compile(self.source(p), generated(f"launch of {self.kernel}"), "exec"), scope)
        made: Run = scope["launch"]
        made.__name__, made.__qualname__ = "launch", f"{self.kernel}.launch"
        leave_alone()
        return untraced(made)

    def source(self, p: str) -> str:
        """Its source text; ``p`` begins all names but the parameters'."""
        setup: dict[str, None] = {}
        tests: dict[str, None] = {}
        passed = {name: name for name in self.names}

        def leaf(node: Node) -> str:
            match node:
                case Argument(name):
                    type_ = self.types.get(name)
                    if isinstance(type_, ScalarType) and not _is_int(type_):
                        return name
                    value = f"{p}{name}_value"
                    if _is_int(type_):
                        passed[name] = value
                    setup[f"{value} = {name} if {p}type({name}) is {p}int else {p}index({name})"] = None
                    return value
                case OfArray(name):
                    tests[f"{p}type({name}) is {p}DeviceArray"] = None
                    return _of_device_array(p, node, self.types.get(name))
            raise AssertionError(node)

        keys = [python_source(node, leaf, p) for node in self._varying]
        key = keys[0] if len(keys) == 1 else f"({''.join(f'{k}, ' for k in keys)})"
        takes = "".join(f"{name}={p}default_{name}, " for name in self.names)
        gives = "".join(f"{name}, " for name in self.names)
        lines = [
            f"def launch({takes}*{p}more, **{p}unknown):",
            f"    if {p}unknown:",
            f"        {p}check_names({p}unknown)",
            "    try:",
            *(f"        {statement}" for statement in setup),
            f"        {p}run = {p}known[{key}]" + (f" if {' and '.join(tests)} else None" if tests else ""),
            f"    except {p}failures:",
            f"        {p}run = None",
            f"    if {p}run is None:",
            f"        return {p}slowly(({gives}*{p}more,))",
            # Not what was given: an object's __index__ may give another number each time.
            f"    return {p}run({''.join(f'{value}, ' for value in passed.values())}*{p}more)",
        ]
        return "\n".join(lines) + "\n"

    def remember(self, config: LaunchConfig, run: Run) -> None:
        """Launch with ``run`` where the arguments give this configuration."""
        if not self._keys:
            return
        with suppress(TypeError):  # another library's stream that has no hash
            key = self._keys.get(config, MISSING)
            # Why not `in`, and then look? Another thread may clear it in between.
            if key is not MISSING:
                self._known[key] = run

    def config(self, given: Sequence[Any]) -> LaunchConfig:
        """What the arguments give; LaunchContractError where they give nothing that can be launched."""
        return self._derived(given)[0]

    def _check_names(self, unknown: Mapping[str, Any]) -> None:
        check_names(self.kernel, self.names, unknown, BY_CONTRACT)

    def _launch(self, given: tuple[Any, ...]) -> None:
        try:
            given = self._settled(given)
            config, key = self._derived(given)
            run = self.configured(config)
            if len(self._keys) >= MOST_DERIVED:
                self._keys.clear()
                self._known.clear()
            with suppress(TypeError):  # another library's stream that has no hash
                self._keys[config] = key
            self._known[key] = run
            self._passed(run, given)
        except users_mistakes() as error:
            raise error.with_traceback(None) from error.__cause__

    def _settled(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with an int for what gives one by its `__index__`, and perhaps another each time."""

        def settled(name: str, value: Any) -> Any:
            if not _is_int(self.types.get(name)) or type(value) in INT_CLASSES:
                return value
            with suppress(TypeError):  # of what is no int, which a launch says
                return operator.index(value)
            return value

        return (*map(settled, self.names, given), *given[len(self.names) :])

    def _passed(self, run: Run, given: tuple[Any, ...]) -> None:
        by_name = {n: v for n, v in zip(self.names, given, strict=False) if v is not MISSING}
        if len(given) == len(self.names) == len(by_name) or len(given) > len(self.names):
            run(*given)
        else:
            run(**by_name)

    def _derived(self, given: Sequence[Any]) -> tuple[LaunchConfig, Any]:
        """The configuration, and the key that the fast way finds it by."""
        contract = self.contract
        if contract.grid is None or contract.block is None:
            self._refuse()
        by_name = dict(zip(self.names, given, strict=False))

        def value(node: Node) -> Value:
            assert isinstance(node, Argument | OfArray)
            argument = by_name.get(node.name, MISSING)
            if isinstance(node, Argument):
                return _scalar(self.types.get(node.name), argument)
            return _of_array(node, self.types.get(node.name), argument)

        try:
            grid, block = self._extents("grid", contract.grid, value), self._extents("block", contract.block, value)
            shared = 0 if contract.shared is None else self._number("shared", contract.shared, value)
            key = tuple(evaluate(node, value) for node in self._varying)
        except _NoFacts:
            # What is wrong with the arguments, a launch of nothing says.
            block = contract.fixed_block or (1, 1, 1)
            self._passed(self.configured(LaunchConfig(1, block, empty=True)), tuple(given))
            raise LaunchContractError(f"{self.kernel}.launch: no configuration follows from these arguments") from None
        config = LaunchConfig(grid, block, shared, self.stream, empty=0 in grid)
        return config, key[0] if len(key) == 1 else key

    def _extents(self, what: str, nodes: Extents | None, value: Callable[[Node], Value]) -> tuple[int, int, int]:
        assert nodes is not None
        x, y, z = (self._number(what, node, value) for node in nodes)
        return x, y, z

    def _number(self, what: str, node: Node, value: Callable[[Node], Value]) -> int:
        least = 1 if what == "block" else 0
        text = f"{self.kernel} launches with {what} = {show(node)}"
        try:
            number = int(evaluate(node, value))
        except NoValue as error:
            raise LaunchContractError(f"{text}, which has no value, but {error}: {named(node, value)}") from None
        if number < least:
            raise LaunchContractError(
                f"{text} = {said(number)}: {named(node, value)}; pass arguments with which it is at least {least}"
            )
        return number

    def _refuse(self, /, *_: Any, **__: Any) -> None:
        contract = self.contract
        lacking = [name for name, said in (("grid", contract.grid), ("block", contract.block)) if said is None]
        launch, stream = ("launch", "") if self.stream is None else ("launch_on", ", stream")
        raise LaunchConfigTypeError(
            f"{self.kernel}.{launch} needs a contract that says {' and '.join(lacking)}, as in "
            f'@kernel(block=256, grid="ceil(n / 256)"); write that, or {self.kernel}[grid, block{stream}](...)'
        )


NO_STREAM = (type(None), None)


class DerivedByStream:
    """A kernel's `DerivedLaunches` in each stream, bounded: when there are many, only those without a stream stay."""

    def __init__(self, kernel: str, make: Callable[[Any], DerivedLaunches]) -> None:
        self._kernel = kernel
        self._make = make
        self._made: dict[Any, DerivedLaunches] = {}

    def of(self, stream: Any) -> DerivedLaunches:
        """What derives configurations in a stream; None is no stream. LaunchConfigTypeError for what is none."""
        # Why its class? 1 == 1.0 == True to a dict, and only one of them is a stream's handle.
        key = (type(stream), stream)
        try:
            return self._made[key]
        except (KeyError, TypeError):
            pass  # the first time, or another library's stream that has no hash
        self._check(stream)
        made = self._make(stream)
        if len(self._made) >= MOST_STREAMS:
            self._made = {NO_STREAM: self._made[NO_STREAM]} if NO_STREAM in self._made else {}
        with suppress(TypeError):
            self._made[key] = made
        return made

    def _check(self, stream: Any) -> None:
        from kdsl.runtime.stream import is_stream, no_stream  # start-up cost: most launches name none

        if is_stream(stream):
            return
        what = f"{self._kernel}.launch_on takes a stream before the arguments, {self._kernel}.launch_on(stream, ...)"
        if stream is NOT_GIVEN:
            raise LaunchConfigTypeError(f"{what}; without one write {self._kernel}.launch(...)")
        raise LaunchConfigTypeError(f"{what}, got {no_stream(stream)}")

    def remember(self, config: LaunchConfig, run: Run) -> None:
        """Launch with ``run`` where the arguments give this configuration."""
        # A list: other threads may add to it.
        for derived in list(self._made.values()):
            derived.remember(config, run)


def _is_int(type_: Type | None) -> bool:
    return isinstance(type_, ScalarType) and not (type_.is_float or type_.kind is Kind.BOOL)


def _lanes(type_: Type | None) -> int:
    """Components of an element."""
    if isinstance(type_, PointerType | ArrayType) and isinstance(type_.element, VectorType):
        return type_.element.lanes
    return 1


def _of_device_array(p: str, node: OfArray, type_: Type | None) -> str:
    """Source of what is known of a DeviceArray."""
    name, lanes = node.name, _lanes(type_)
    size = f"{p}prod({name}.shape)"
    match node.attribute:
        case "size":
            return size if lanes == 1 else f"({size} // {lanes})"
        case "ndim":
            return str(type_.ndim) if isinstance(type_, ArrayType) else f"{p}len({name}.shape)"
        case "shape" | "strides":
            return f"{name}.{node.attribute}[{node.axis}]"
        case "nbytes":
            return f"{name}.nbytes"
        case _:
            return f"{name}.address"


def _scalar(type_: Type | None, value: Any) -> Value:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    try:
        if isinstance(type_, ScalarType) and type_.is_float:
            return float(value)
        number = operator.index(value)
    except (TypeError, ValueError):
        raise _NoFacts from None
    if isinstance(type_, ScalarType) and not type_.minimum <= number <= type_.maximum:
        raise _NoFacts
    return number


def _of_array(node: OfArray, type_: Type | None, value: Any) -> int:
    shape, itemsize, strides, address = _array_facts(value)
    lanes = _lanes(type_)
    match node.attribute:
        case "size":
            return math.prod(shape) // lanes
        case "nbytes":
            return math.prod(shape) * itemsize
        case "ndim":
            return len(shape) - (1 if lanes > 1 and isinstance(type_, ArrayType) else 0)
        case "ptr":
            return address
    along = shape if node.attribute == "shape" else strides
    if node.axis >= len(along):
        raise _NoFacts
    return along[node.axis]


def _array_facts(value: Any) -> tuple[tuple[int, ...], int, tuple[int, ...], int]:
    """Shape, bytes of an element, strides in bytes and address."""
    value = unmarked(value)
    if isinstance(value, DeviceArray):
        return value.shape, value.itemsize, value.strides, value.address
    if isinstance(value, np.ndarray):
        return value.shape, value.itemsize, value.strides, value.__array_interface__["data"][0]
    try:
        view = foreign_array(value)
    except NotOnDeviceError:
        raise _NoFacts from None
    if view is None or view.type is None:
        raise _NoFacts
    steps = contiguous_strides(view.shape) if view.strides is None else view.strides
    size = view.type.size
    return view.shape, size, tuple(step * size for step in steps), view.address
