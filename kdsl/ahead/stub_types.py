"""The launchers of a stub: for each kernel a class whose brackets give a call with the kernel's own parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kdsl.compiler import Kernel
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ML_DTYPES, ArrayType, PointerType, ScalarType, TupleType, Type, VectorType

Named = Callable[[type], str | None]
"""How the file of a stub calls a class; None if it has no name for it."""


def launcher(kernel: Kernel[Any], name: str, named: Named, is_loaded: bool = False) -> list[str]:
    """A kernel's classes: ``NAME_launch`` is its call, ``NAME`` the kernel, ``NAME_loaded`` a loaded one."""
    defaults = kernel.defaults
    parameters = [
        f"{parameter}: {argument(type, named)}{' = ...' if parameter in defaults else ''}"
        for parameter, type in kernel.parameters
    ]
    takes = "".join(f", {one}" for one in _ordered(parameters))
    # Only a kernel's own parameters have names that a call may use.
    own = {parameter: _apart(parameter, kernel) for parameter in ("self", "grid", "block", "config", "stream")}
    base = "_kdsl_typing.LoadedKernel" if is_loaded else "_kdsl.Kernel[...]"
    call, kind = f"{name}_launch", f"{name}_loaded" if is_loaded else name
    lines = [f"class {call}(_typing.Protocol):", f"    def __call__({own['self']}{takes}) -> None: ...", ""]
    extents = f"{own['grid']}: _kdsl_typing.Extents, {own['block']}: _kdsl_typing.Extents"
    return [
        *([] if is_loaded else lines),
        f"class {kind}({base}):",
        f"    def __getitem__(self, configuration: _kdsl_typing.Configuration) -> {call}: ...",
        "    @_typing.overload",
        f"    def prepare({own['self']}, {extents}, /{takes}) -> _kdsl.PreparedLaunch: ...",
        "    @_typing.overload",
        f"    def prepare({own['self']}, {own['config']}: _kdsl.LaunchConfig, /{takes}) -> _kdsl.PreparedLaunch: ...",
        *([] if is_loaded else _without_brackets(call, takes, own)),
        "",
    ]


def _apart(name: str, kernel: Kernel[Any]) -> str:
    """A name that none of a kernel's parameters has."""
    while any(parameter == name for parameter, _ in kernel.parameters):
        name = f"_{name}"
    return name


def _without_brackets(call: str, takes: str, own: Mapping[str, str]) -> list[str]:
    """What a kernel has whose contract says grid and block."""
    return [
        "    @_cached_property",
        f"    def launch(self) -> {call}: ...",
        f"    def launch_on({own['self']}, {own['stream']}: _typing.Any, /{takes}) -> None: ...",
        f"    def launch_config({own['self']}{takes}) -> _kdsl.LaunchConfig: ...",
    ]


def _ordered(parameters: Sequence[str]) -> list[str]:
    """After a parameter with a default, one without can only be given by name."""
    first = next((i for i, one in enumerate(parameters) if one.endswith("= ...")), len(parameters))
    if all(one.endswith("= ...") for one in parameters[first:]):
        return list(parameters)
    return [*parameters[:first], "*", *parameters[first:]]


def argument(type: Type | None, named: Named) -> str:
    """What a launch takes for a parameter of a type, as a stub writes it."""
    match type:
        case ScalarType():
            return _number(type)
        case VectorType():
            return "_typing.Sequence[_kdsl_typing.Real] | _numpy.ndarray[_typing.Any, _typing.Any]"
        case PointerType(element) | ArrayType(element=element):
            return f"_kdsl_typing.ArrayOf[{_numpy(element)}]"
        case ComplexType():
            return "_kdsl_typing.Complex"
        case StructType(python=python):
            name = named(python) if python is not None else None
            return f"{name} | _numpy.void | _numpy.ndarray[_typing.Any, _typing.Any]" if name else "_typing.Any"
        case TupleType(elements, python):
            name = named(python) if python is not None else None
            return name or f"tuple[{', '.join(argument(element, named) for element in elements)}]"
        case ConstexprType():
            return _constant(type, named)
        case GenericType(template):
            return "_kdsl_typing.ArrayOf[_typing.Any]" if "[" in str(template) else "_typing.Any"
    return "_typing.Any"


def _number(type: ScalarType) -> str:
    if type.name == "bool":
        return "_kdsl_typing.Boolean"
    return "_kdsl_typing.Real" if type.is_float else "_kdsl_typing.Integer"


def _numpy(element: Type) -> str:
    """NumPy's name of an array's elements; Any where it has none."""
    match element:
        case ScalarType(name) if name not in ML_DTYPES:
            return "_numpy.bool_" if name == "bool" else f"_numpy.{element.numpy.name}"
        case VectorType():
            return _numpy(element.element)
        case ComplexType():
            return f"_numpy.{element.name}"
        case PointerType():
            return "_numpy.uint64"
    return "_typing.Any"


def _constant(type: ConstexprType, named: Named) -> str:
    if isinstance(type.form, tuple):
        parts = ["..." if part is ... else _constant(part, named) for part in type.form]
        text = f"tuple[{', '.join(parts)}]"
    elif type.form is str:
        text = "str"
    elif type.form is not None:
        text = (named(type.form) if inspect.isclass(type.form) else None) or "_typing.Any"
    elif type.is_function:
        text = "_typing.Callable[..., _typing.Any]"
    else:
        assert type.element is not None
        text = _number(type.element)
    return f"{text} | None" if type.optional else text
