"""The source text of a launcher's argument packer: generated once per signature, the counterpart of nvcc's host stub.

It takes the fast way for arrays of this device and scalars of plain classes, and leaves every other argument and every
error to ``checked``. On the fast way it makes no object but the numbers that it packs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from kdsl.lang.layout import buffer_size, parameter_layout
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import I32, U64, ArrayType, Kind, PointerType, ScalarType, Type, VectorType
from kdsl.records import dataclass
from kdsl.runtime.calls import Call
from kdsl.runtime.contracts import FastTests, configured_name
from kdsl.runtime.formats import struct_format
from kdsl.runtime.packer_names import Place
from kdsl.runtime.scalars import EXACT_INTS

F32_MAX = float.fromhex("0x1.fffffep+127")


@dataclass(slots=True)
class Packer:
    """What one signature needs on the fast way, in order: statements, tests and packed expressions.

    ``prefix`` begins every name but the parameters'.
    """

    prefix: str
    setup: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    packed: list[str] = field(default_factory=list)


def name_prefix(names: Sequence[str]) -> str:
    """Underscores, as many as it takes to begin no parameter's name."""
    prefix = "_"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def variable_names(parameters: Sequence[tuple[str, Type]], call: Call | None = None) -> list[str]:
    """What the packer calls each parameter's value: an argument by its name, a part of one by a name of its own."""
    if call is None:
        return [name for name, _ in parameters]
    p = name_prefix(call.names)
    return [s.source if s.source in call.names else f"{p}part{index}" for index, s in enumerate(call.slots)]


def struct_name(parameter: str) -> str:
    """The packer's name, after the prefix, for what makes the bytes of a struct or vector parameter."""
    return f"{parameter}_bytes"


def layout_name(parameter: str, element: ScalarType | StructType, wide: bool = False, form: str = "") -> str:
    """The packer's name, after the prefix, for the layout of this device's arrays of ``element``."""
    more = f"{'_wide' if wide else ''}{'_' if form else ''}{form}"
    # Two struct classes may have one name; and a parameter may have that of a type.
    return f"{f'{parameter}_struct' if isinstance(element, StructType) else element.name}_layout{more}"


def packer_source(
    kernel: str,
    parameters: Sequence[tuple[str, Type]],
    conditions: Sequence[tuple[Place, str]] = (),
    call: Call | None = None,
    guards: Sequence[str] = (),
    contract: FastTests | None = None,
) -> str:
    """A function ``make(enqueue, checked, acquire, release, pack)`` that gives the packer of one launch configuration,
    as a method of what pickles it. It takes in addition what the contract's tests name of the configuration.

    Its globals, after the prefix: the layouts that it names, ``failures``, ``observed``, ``missing``, ``float32``,
    ``wide_classes``, ``int_classes``, ``real_classes``, ``bf16_bits`` and ``array_class``. Of each condition, given as
    (where the name is found, name), they hold ``namespace0``, ``value0``, ...: the name must be bound to the value for
    the fast way to be taken.
    ``call`` says what the function takes, if that is something else than the parameters; ``guards`` are tests of it.
    """
    names = [name for name, _ in parameters] if call is None else call.names
    contract = contract or FastTests()
    packer = Packer(name_prefix(names))
    packer.tests += guards
    packer.tests += condition_tests(packer.prefix, conditions)
    _pack_all(packer, parameters, call)
    packer.setup += contract.setup
    packer.tests += contract.tests
    packer.packed = [contract.numbers.get(value, value) for value in packer.packed]
    return "\n".join([
        f"# {kernel}({', '.join(f'{name}: {type_}' for name, type_ in parameters)})",
        f"# buffer: {buffer_size(parameter_layout(parameters))} bytes, struct {struct_format(parameters)!r}",
        *_make_launch(packer, names, [configured_name(node) for node in contract.configured]),
        "",
    ])  # fmt: skip


def _pack_all(packer: Packer, parameters: Sequence[tuple[str, Type]], call: Call | None) -> None:
    p, variables = packer.prefix, variable_names(parameters, call)
    # What is missing in another library's array is found out by an exception, at a dozen times the price of this.
    first = [name for name, (_, type_) in zip(variables, parameters, strict=True) if is_array(type_)][:1]
    packer.tests += [f"{name}.__class__ is {p}array_class" for name in first]
    for index, (variable, (_, type_)) in enumerate(zip(variables, parameters, strict=True)):
        if call is not None and variable not in call.names:
            packer.setup.append(f"{variable} = {call.slots[index].source}")
        pack_parameter(packer, variable, type_)


def _make_launch(packer: Packer, names: Sequence[str], configured: Sequence[str]) -> list[str]:
    """The lines of ``make``; ``configured`` is what it takes of the configuration."""
    p = packer.prefix
    also = "".join(f", {p}{name}" for name in configured)
    takes = "".join(f"{name}={p}missing, " for name in names)
    gives = "".join(f"{name}, " for name in names)
    return [
        f"def make({p}enqueue, {p}checked, {p}acquire, {p}release, {p}pack{also}):",
        f"    def launch({p}configured, {takes}*{p}more, **{p}unknown):",
        "        try:",
        *(f"            {statement}" for statement in packer.setup),
        f"            if {' and '.join([*packer.tests, f'not ({p}more or {p}unknown)'])}:",
        f"                {p}buffer = {p}acquire()",
        f"                {p}pack({', '.join([f'{p}buffer', '0', *packer.packed])})",
        "            else:",
        f"                {p}buffer = None",
        f"        except {p}failures:",
        f"            {p}buffer = None",
        f"        if {p}buffer is not None:",
        "            try:",
        f"                {p}enqueue({p}buffer)",
        f"            except {p}observed:",
        "                pass",
        "            else:",
        f"                return {p}release({p}buffer)",
        f"        return {p}checked(({gives}*{p}more,), {p}unknown)",
        "    return launch",
    ]


def is_array(type_: Type) -> bool:
    """Whether a parameter takes arrays."""
    return isinstance(type_, PointerType | ArrayType)


def _found(place: Place, namespace: str, name: str) -> str:
    """What a name is bound to."""
    if place is Place.GLOBALS:
        return name
    return f"{namespace}[{name!r}]" if place is Place.KEY else f"{namespace}.get({name!r})"


def condition_tests(p: str, conditions: Sequence[tuple[Place, str]]) -> list[str]:
    """Whether each name that the kernel depends on is still bound to its value."""
    return [
        f"{_found(place, f'{p}namespace{index}', name)} is {p}value{index}"
        for index, (place, name) in enumerate(conditions)
    ]


def pack_parameter(packer: Packer, name: str, type_: Type) -> None:
    """Add what a parameter needs."""
    match type_:
        case PointerType():
            element = type_.element if isinstance(type_.element, ScalarType | StructType) else U64
            if isinstance(type_.element, VectorType):
                vector, element = type_.element, type_.element.element
                packer.tests.append(f"{name}.address % {vector.align} == {name}.size % {vector.lanes} == 0")
            packer.tests.append(layout_tests(packer, name, element, wide=True, strided=False))
            packer.packed.append(f"{name}.address")
        case ArrayType():
            _array(packer, name, type_)
        case StructType() | VectorType():
            packer.packed.append(f"{packer.prefix}{struct_name(name)}({name})")
        case ScalarType(kind=Kind.BOOL):
            packer.tests.append(f"({name} is True or {name} is False)")
            packer.packed.append(name)
        case ScalarType(name="f32"):
            # struct rounds to infinity where it should refuse.
            p = packer.prefix
            packer.tests.append(
                f"({p}type({name}) is {p}float32 or "
                f"{p}type({name}) in {p}wide_classes and -{F32_MAX!r} <= {name} <= {F32_MAX!r} or "
                f"{p}type({name}) in {p}int_classes and -{EXACT_INTS} <= {name} <= {EXACT_INTS})"
            )
            packer.packed.append(name)
        case ScalarType(kind=Kind.FLOAT):
            packer.tests.append(f"{packer.prefix}type({name}) in {packer.prefix}real_classes")
            packer.packed.append(f"{packer.prefix}bf16_bits({name})" if type_.name == "bf16" else name)
        case ScalarType():
            # struct itself refuses what has no __index__ and what does not fit.
            packer.packed.append(name)


def layout_tests(packer: Packer, name: str, element: ScalarType | StructType, wide: bool, strided: bool) -> str:
    """A test for the layouts that are taken."""
    names = [
        layout_name(name, element, is_wide, form)
        for is_wide in ((False, True) if wide else (False,))
        for form in (("", "strided") if strided else ("",))
    ]
    tests = [f"{name}.layout is {packer.prefix}{layout}" for layout in names]
    return f"({' or '.join(tests)})" if len(tests) > 1 else tests[0]


def _array(packer: Packer, name: str, type_: ArrayType) -> None:
    extents = [f"{packer.prefix}{name}_{axis}" for axis in range(type_.ndim)]
    element: ScalarType | VectorType | StructType = type_.element
    # Fails, and so takes the checked way, for another rank.
    if isinstance(element, VectorType):
        last = f"{packer.prefix}{name}_lanes"
        packer.setup.append(f"{', '.join([*extents, last])} = {name}.shape")
        packer.tests.append(f"{last} == {element.lanes} and {name}.address % {element.align} == 0")
        element = element.element
    else:
        packer.setup.append(f"{', '.join(extents)}, = {name}.shape")
    packer.tests.append(layout_tests(packer, name, element, (type_.index or I32).bits == 64, type_.strided))
    packer.packed += [f"{name}.address", *extents]
    if type_.strided:
        packer.packed.append(f"*{name}.element_strides")
