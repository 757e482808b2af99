"""The launchers of a stub: for each kernel a class whose brackets give a call with the kernel's own parameters."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Sequence
from typing import Any

from kdsl.compiler import Kernel
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ML_DTYPES, ArrayType, PointerType, ScalarType, TupleType, Type, VectorType

Named = Callable[[type], str | None]
"""How the file of a stub calls a class; None if it has no name for it."""


def launcher(kernel: Kernel[Any], name: str, named: Named, is_loaded: bool = False) -> list[str]:
    """A kernel's classes: ``_NAME_launch`` is its call, ``_NAME`` the kernel, ``_NAME_loaded`` a loaded one."""
    defaults = kernel.defaults
    parameters = [
        f"{parameter}: {argument(type, named)}{' = ...' if parameter in defaults else ''}"
        for parameter, type in kernel.parameters
    ]
    takes = "".join(f", {one}" for one in _ordered(parameters))
    base = "_k.LoadedKernel" if is_loaded else "_kdsl.Kernel[...]"
    call, kind = f"_{name}_launch", f"_{name}_loaded" if is_loaded else f"_{name}"
    lines = [] if is_loaded else [f"class {call}(_t.Protocol):", f"    def __call__(self{takes}) -> None: ...", ""]
    return [
        *lines,
        f"class {kind}({base}):",
        f"    def __getitem__(self, configuration: _k.Configuration) -> {call}: ...",
        "    @_t.overload",
        f"    def prepare(self, grid: _k.Extents, block: _k.Extents, /{takes}) -> _kdsl.PreparedLaunch: ...",
        "    @_t.overload",
        f"    def prepare(self, config: _kdsl.LaunchConfig, /{takes}) -> _kdsl.PreparedLaunch: ...",
        *([] if is_loaded else _without_brackets(call, takes)),
        "",
    ]


def _without_brackets(call: str, takes: str) -> list[str]:
    """What a kernel has whose contract says grid and block."""
    return [
        "    @_cached",
        f"    def launch(self) -> {call}: ...",
        f"    def launch_on(self, stream: _t.Any, /{takes}) -> None: ...",
        f"    def launch_config(self{takes}) -> _kdsl.LaunchConfig: ...",
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
            return "_t.Sequence[_k.Real] | _np.ndarray[_t.Any, _t.Any]"
        case PointerType(element) | ArrayType(element=element):
            return f"_k.ArrayOf[{_numpy(element)}]"
        case ComplexType():
            return "_k.Complex"
        case StructType(python=python):
            name = named(python) if python is not None else None
            return f"{name} | _np.void | _np.ndarray[_t.Any, _t.Any]" if name else "_t.Any"
        case TupleType(elements, python):
            name = named(python) if python is not None else None
            return name or f"tuple[{', '.join(argument(element, named) for element in elements)}]"
        case ConstexprType():
            return _constant(type, named)
        case GenericType(template):
            return "_k.ArrayOf[_t.Any]" if "[" in str(template) else "_t.Any"
    return "_t.Any"


def _number(type: ScalarType) -> str:
    if type.name == "bool":
        return "_k.Boolean"
    return "_k.Real" if type.is_float else "_k.Integer"


def _numpy(element: Type) -> str:
    """NumPy's name of an array's elements; Any where it has none."""
    match element:
        case ScalarType(name) if name not in ML_DTYPES:
            return "_np.bool_" if name == "bool" else f"_np.{element.numpy.name}"
        case VectorType():
            return _numpy(element.element)
        case ComplexType():
            return f"_np.{element.name}"
        case PointerType():
            return "_np.uint64"
    return "_t.Any"


def _constant(type: ConstexprType, named: Named) -> str:
    if isinstance(type.form, tuple):
        parts = ["..." if part is ... else _constant(part, named) for part in type.form]
        text = f"tuple[{', '.join(parts)}]"
    elif type.form is str:
        text = "str"
    elif type.form is not None:
        text = (named(type.form) if inspect.isclass(type.form) else None) or "_t.Any"
    elif type.is_function:
        text = "_t.Callable[..., _t.Any]"
    else:
        assert type.element is not None
        text = _number(type.element)
    return f"{text} | None" if type.optional else text


def safe(name: str) -> str:
    """A kernel's name, those in classes as ``class.name``, as part of a class's name."""
    made = name.replace(".", "_")
    return f"{made}_" if keyword.iskeyword(made) else made
