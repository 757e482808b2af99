"""The Python loader of a build: a module that needs cuda-python and NumPy alone, with a typed launcher a kernel."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Collection, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from kdsl.ahead.built import BuiltKernel, is_array, place_of
from kdsl.contracts.contract import Extents
from kdsl.contracts.evaluate import python_source
from kdsl.contracts.expressions import Argument, Configured, Node, OfArray, show
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.fixed_array import FixedArrayType
from kdsl.lang.struct_type import StructField, StructType
from kdsl.lang.types import ML_DTYPES, ArrayType, PointerType, ScalarType, TupleType, Type, VectorType
from kdsl.runtime.calls import Slot
from kdsl.runtime.formats import FORMATS
from kdsl.runtime.standalone import (
    configuration,
    contract,
    driver_module,
    host_arrays,
    kernel,
    passing,
    streams,
    values,
)
from kdsl.version import __version__

PARTS = (values, driver_module, contract, host_arrays, passing, streams, configuration, kernel)


def _builtins_of(module: ModuleType) -> Iterator[str]:
    """What a module calls of Python's own: a kernel of such a name would take its place."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Name) and hasattr(builtins, node.id):
            yield node.id


OWN_NAMES = (
    frozenset(name for part in PARTS for name in vars(part))
    | frozenset(name for part in PARTS for name in _builtins_of(part))
    | {"module", "empty", "to_device", "synchronize", "variable", "Path", "Protocol"}
)
"""What a loader's own code is called, and calls."""


def loader(file: str, image: str, kernels: Sequence[BuiltKernel]) -> str:
    """The loader's text; ``image`` is the name of the fatbin, which lies beside it."""
    names = ", ".join(kernel.name for kernel in kernels)
    imports, body = _standalone()
    shown = file.replace("\\", "\\\\").replace('"', '\\"')
    head = [
        f'"""The kernels of {shown}: {names}. Built by kdsl {__version__}: do not edit.',
        "",
        "A kernel is launched as kernel[grid, block](...), with NumPy arrays, which are copied, or with arrays in",
        "device memory: those of `to_device` and `empty`, and all that have `__cuda_array_interface__`.",
        '"""',
        "",
        "from __future__ import annotations",
    ]
    tail_imports = ["from pathlib import Path", "from typing import Protocol"]
    tail = [
        "",
        "",
        "# What was built.",
        "",
        f"module = Module((Path(__file__).parent / {image!r}).read_bytes())",
        "empty, to_device, synchronize, variable = module.empty, module.to_device, module.synchronize, module.variable",
        "",
    ]
    return "\n".join([*head, "", *imports, *tail_imports, "", "", *body, *tail]) + "\n".join(_kernels(kernels))


def _standalone() -> tuple[list[str], list[str]]:
    """The loader's own code: the imports of its modules, each once, and what they define."""
    imports: dict[str, set[str]] = {}
    body = []
    for module in PARTS:
        source = inspect.getsource(module)
        nodes = ast.parse(source).body
        found = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in found:
            origin = node.module if isinstance(node, ast.ImportFrom) else ""
            if origin and (origin == "__future__" or origin.startswith("kdsl.")):
                continue
            names = {f"{a.name} as {a.asname}" if a.asname else a.name for a in node.names}
            imports.setdefault(origin or "", set()).update(names)
        body.append("\n".join(source.split("\n")[found[-1].end_lineno :]).strip() + "\n\n")
    plain = [f"import {name}" for name in sorted(imports.pop("", set()))]
    return [*plain, *(f"from {origin} import {', '.join(sorted(names))}" for origin, names in imports.items())], body


def _kernels(kernels: Sequence[BuiltKernel]) -> Iterator[str]:
    """The kernels, and their calls' classes, whose names are no one else's."""
    taken = {*OWN_NAMES, *(built.name for built in kernels)}
    for built in kernels:
        call = fresh(f"{built.name.title().replace('_', '')}Launch", taken)
        taken.add(call)
        yield _kernel(built, call)


def fresh(name: str, taken: Collection[str]) -> str:
    """The name, with as many underscores after it as it takes to be none of those."""
    while name in taken:
        name += "_"
    return name


def _kernel(kernel: BuiltKernel, call: str) -> str:
    defaults = {name: text for name, value in kernel.defaults.items() if (text := _constant(value))}
    doc = f"{kernel.signature}\n\n{kernel.doc}" if kernel.doc else kernel.signature
    parameters = [_parameter(kernel, index, slot) for index, slot in enumerate(kernel.call.slots)]
    names = "".join(f"{name!r}, " for name in kernel.call.names)
    given = ", ".join(f"{name!r}: {text}" for name, text in defaults.items())
    tuples = {place: count for i, type in enumerate(kernel.call.types) for place, count in _tuples((i,), type)}
    return "\n".join(
        [
            "",
            f"class {call}(Protocol):",
            f"    {doc!r}",
            "",
            f"    def __call__({', '.join(_takes(kernel, defaults))}) -> None: ...",
            "",
            "",
            f"{kernel.name}: Kernel[{call}] = Kernel(",
            f"    module, {kernel.entry!r}, ({names}),",
            *(["    ["] + [f"        {parameter}," for parameter in parameters] + ["    ],"]),
            f"    most_threads={kernel.most_threads}, multiple={kernel.multiple}, cluster={kernel.cluster}, "
            f"cooperative={kernel.cooperative},",
            *([f"    defaults={{{given}}},"] if defaults else []),
            *([f"    tuples={tuples},"] if tuples else []),
            *_contract(kernel),
            ")",
            "",
        ]
    )


def _takes(kernel: BuiltKernel, defaults: Collection[str]) -> list[str]:
    """The parameters of its call; after one with a default, one without can only be given by name."""
    parts = [fresh("self", kernel.call.names)]
    by_name = False
    for i, (name, type) in enumerate(zip(kernel.call.names, kernel.call.types, strict=True)):
        if name not in defaults and not by_name and any(n in defaults for n in kernel.call.names[:i]):
            by_name = True
            parts.append("*")
        parts.append(f"{name}: {_python(type)}{' = ...' if name in defaults else ''}")
    return parts


def _constant(value: Any) -> str:
    """The text of a default value; "" for what a loader cannot say: it has to be given."""
    value = value.item() if isinstance(value, np.generic) else value
    match value:
        case float():
            return f"float({str(value)!r})"
        case bool() | int():
            return repr(value)
        case tuple():
            parts = [_constant(part) for part in value]
            return f"({''.join(f'{part}, ' for part in parts)})" if all(parts) else ""
    return ""


def _tuples(place: tuple[int, ...], type: Type) -> Iterator[tuple[tuple[int, ...], int]]:
    """The places of the tuples in a parameter, outer ones first, and how many elements they have."""
    if isinstance(type, TupleType):
        yield place, len(type.elements)
        for i, element in enumerate(type.elements):
            yield from _tuples((*place, i), element)


def _contract(kernel: BuiltKernel) -> list[str]:
    """The text of a `contract.Contract`."""
    contract = kernel.contract
    if contract.is_empty:
        return []
    types = dict(zip(kernel.call.names, kernel.call.types, strict=True))

    def name(node: Node) -> str:
        match node:
            case Argument(name):
                return f"v.argument({name!r}, {_python(types[name])})"
            case OfArray(name, attribute, axis):
                array = types[name]
                if attribute == "ndim" and isinstance(array, ArrayType):
                    return str(array.ndim)  # whose elements may be vectors, which have an axis in the argument
                element = getattr(array, "element", None)
                lanes = element.lanes if isinstance(element, VectorType) else 1
                return f"v.array({name!r}, {attribute!r}, {axis}, {lanes})"
            case Configured(what, axis):
                return f"v.configured({what!r}, {axis!r})"
        raise AssertionError(node)

    def extents(found: Extents | None) -> str:
        parts = [] if found is None else [python_source(node, name) for node in found]
        return f"lambda v: ({', '.join(parts)})" if parts else "None"

    lines = [f"        ({show(r)!r}, lambda v: {python_source(r, name)})," for r in contract.relations]
    shared = "None" if contract.shared is None else f"lambda v: {python_source(contract.shared, name)}"
    return [
        "    contract=Contract((",
        *lines,
        f"    ), {extents(contract.block)}, {extents(contract.grid)}, {shared}, {contract.fixed_block}),",
    ]


def _python(type: Type) -> str:
    """What a launch takes, to a type checker."""
    if isinstance(type, ScalarType):
        return "bool" if type.name == "bool" else "float" if type.is_float else "int"
    if is_array(type):
        return "DeviceArray | np.ndarray[Any, Any] | Any"
    return "Any"


def _parameter(kernel: BuiltKernel, index: int, slot: Slot) -> str:
    """The text of a `passing.Parameter`."""
    place, type = place_of(kernel.call, slot), slot.type
    match type:
        case ScalarType(name) if name in FORMATS:
            return f"Scalar({slot.name!r}, {_format(type)!r}, {place})"
        case VectorType(ScalarType() as element, lanes) if element.name in FORMATS:
            return f"Vector({slot.name!r}, {_format(element)!r}, {lanes}, False, {place})"
        case ComplexType():
            return f"Vector({slot.name!r}, {_format(type.component)!r}, 2, True, {place})"
        case StructType():
            return f"Record({slot.name!r}, {_element(type)}, {place})"
        case PointerType() | ArrayType():
            return _array(kernel, index, slot, type, place)
    raise TypeError(f"{kernel.name}: no loader passes a {type}, which is what `{slot.name}` takes")


def _format(type: ScalarType) -> str:
    return "e2" if type.name == "bf16" else FORMATS[type.name]


def _array(kernel: BuiltKernel, index: int, slot: Slot, type: PointerType | ArrayType, place: tuple[int, ...]) -> str:
    element: Any = type.element
    lanes = 1
    if isinstance(element, VectorType):
        align, lanes, element = element.align, element.lanes, element.element
    elif isinstance(element, PointerType | ScalarType | StructType):
        align = element.align
    else:
        raise TypeError(f"{kernel.name}: no loader passes a {type}, which is what `{slot.name}` takes")
    text = f"Array({slot.name!r}, {_element(element)}, {kernel.writes(index)}, {place}, {align}, {lanes}"
    if isinstance(type, ArrayType):
        wide = type.index is not None and type.index.bits == 64
        text += f", {type.ndim}, {type.strided}, {'q' if wide else 'i'!r}"
    return f"{text})"


def _element(type: Any) -> str:
    """The text of a `values.Element`."""
    if isinstance(type, ScalarType) and type.name in ML_DTYPES:
        return f"Small({ML_DTYPES[type.name]!r}, {type.size})"
    if isinstance(type, StructType) and not isinstance(type, ComplexType):
        parts = "".join(f"{_part(field)}, " for field in type.fields)
        return f"Fields(({parts}), {type.size})"
    return f"np.dtype({type.numpy.str!r})"


def _part(field: StructField) -> str:
    """The text of a `values.Part`."""
    held: Any = field.type
    shape: tuple[int, ...] = ()
    if isinstance(held, FixedArrayType):
        shape, held = held.shape, held.element
    if isinstance(held, VectorType):
        shape, held = (*shape, held.lanes), held.element
    return f"Part({field.name!r}, {_element(held)}, {shape}, {field.offset})"
