"""The fast way for other libraries' arrays: the source text of a packer for arguments of certain classes.

It is made when a launch first meets these classes, with DeviceArrays among them or not, and leaves whatever is not
plain to the checked way. What is asked of an array of a class is its `Kind`, in `array_kinds`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from kdsl.lang.complex_type import ComplexType
from kdsl.lang.types import I32, ArrayType, PointerType, ScalarType, Type
from kdsl.records import dataclass
from kdsl.runtime.packer import Packer, pack_parameter

LaunchesForeign = Callable[[tuple[Any, ...]], bool]
"""Launches with the arguments of a call, or says that it did not."""


@dataclass(slots=True)
class ForeignPacker(Packer):
    """What one call needs on the fast way. ``scope`` is what the source text names, after the prefix.

    ``streams`` are expressions for the streams that the arrays' libraries have their work in, ``after`` statements
    that follow the launch.
    """

    scope: dict[str, Any] = field(default_factory=dict)
    streams: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    def add_array(self, parameter: ArrayParameter, address: str, shape: str) -> None:
        """Pack an array, of expressions for its address (None: it is not plain) and its shape. An address of 0 is of
        one without elements, or whose memory was taken away.
        """
        p, name, type_ = self.prefix, parameter.name, parameter.type
        at = f"{p}{name}_at"
        self.setup.append(f"{at} = {address}")
        self.tests.append(f"{at} and {at} % {parameter.element.align} == 0")
        self.packed.append(at)
        if isinstance(type_, ArrayType):
            extents = [f"{p}{name}_{axis}" for axis in range(type_.ndim)]
            # Fails, and so takes the checked way, for another rank.
            self.setup.append(f"{', '.join(extents)}, = {shape}")
            self.packed += extents

    def add_stream(self, expression: str) -> None:
        if expression not in self.streams:
            self.streams.append(expression)


@dataclass(frozen=True, slots=True)
class ArrayParameter:
    """A parameter that takes contiguous arrays of scalars. ``written``: the kernel may write through it."""

    name: str
    type: PointerType | ArrayType
    element: ScalarType | ComplexType
    written: bool

    @property
    def is_narrow(self) -> bool:
        """Whether the kernel counts its elements in 32 bits."""
        return isinstance(self.type, ArrayType) and (self.type.index or I32).bits == 32

    @property
    def ndim(self) -> int | None:
        """The rank that it takes; None for any."""
        return self.type.ndim if isinstance(self.type, ArrayType) else None


Kind = Callable[[ForeignPacker, ArrayParameter], bool]
"""Adds what an argument of some class needs; False where the fast way does not know it."""


def plain_parameters(parameters: Sequence[tuple[str, Type]], written: Sequence[bool]) -> list[ArrayParameter | None]:
    """For each parameter, how it takes arrays; None for a number's. Empty if one is neither a scalar nor a contiguous
    array of scalars: the fast way knows no others.
    """
    found: list[ArrayParameter | None] = []
    for (name, type_), is_written in zip(parameters, written, strict=True):
        if isinstance(type_, ScalarType):
            found.append(None)
            continue
        if not isinstance(type_, PointerType | ArrayType) or (isinstance(type_, ArrayType) and type_.strided):
            return []
        element = type_.element
        if not isinstance(element, ScalarType | ComplexType):
            return []
        found.append(ArrayParameter(name, type_, element, is_written))
    return found


def foreign_packer_source(
    p: str,
    parameters: Sequence[tuple[str, Type]],
    arrays: Sequence[ArrayParameter | None],
    kinds: Sequence[Kind | None],
    tests: Sequence[str],
) -> tuple[str, dict[str, Any]] | None:
    """A function ``make(enqueue, elsewhere, named, acquire, release, pack)``, and what it names beside what the
    launcher's packer does; ``p`` begins every name but the parameters'. None where an argument's class is not known, or
    none is another library's.

    ``named`` is the stream that the user named, or 0; ``elsewhere`` gives what enqueues in another one.
    """
    packer = ForeignPacker(p, tests=list(tests))
    for (name, type_), array, kind in zip(parameters, arrays, kinds, strict=True):
        if array is None:
            pack_parameter(packer, name, type_)
        elif kind is None or not kind(packer, array):
            return None
    if not packer.streams:
        return None
    source = _source(packer, [name for name, _ in parameters])
    return source, {p + name: value for name, value in packer.scope.items()}


def _source(packer: ForeignPacker, names: Sequence[str]) -> str:
    p = packer.prefix
    first, *others = packer.streams
    same = [f"{other} == {p}stream" for other in others]
    lines = [
        f"def make({p}enqueue, {p}elsewhere, {p}named, {p}acquire, {p}release, {p}pack):",
        f"    def launch({p}given):",
        "        try:",
        f"            {''.join(f'{name}, ' for name in names)} = {p}given",
        *(f"            {statement}" for statement in packer.setup),
        f"            if not ({' and '.join(packer.tests) or True}):",
        "                return False",
        f"            {p}stream = {first}",
        *([f"            if not ({' and '.join(same)}):", "                return False"] if same else ()),
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
        *(f"        {statement}" for statement in packer.after),
        f"        {p}release({p}buffer)",
        "        return True",
        "    return launch",
    ]
    return "\n".join(lines) + "\n"
