"""The Python loader of a build: a module that needs cuda-python and NumPy alone, with a typed launcher a kernel."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from kdsl.ahead.built import BuiltKernel, is_array, place_of
from kdsl.contracts.contract import Extents
from kdsl.contracts.evaluate import python_source
from kdsl.contracts.expressions import Argument, Configured, Node, OfArray, show
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ML_DTYPES, ArrayType, PointerType, ScalarType, Type, VectorType
from kdsl.runtime.calls import Slot
from kdsl.runtime.formats import FORMATS
from kdsl.runtime.standalone import contract, driver_module, kernel, passing
from kdsl.version import __version__

PARTS = (driver_module, contract, passing, kernel)
OWN_NAMES = frozenset(name for part in PARTS for name in vars(part)) | {
    "module",
    "empty",
    "to_device",
    "synchronize",
    "variable",
    "Path",
    "Protocol",
}
"""What a loader's own code is called."""


def loader(file: str, image: str, kernels: Sequence[BuiltKernel]) -> str:
    """The loader's text; ``image`` is the name of the fatbin, which lies beside it."""
    names = ", ".join(kernel.name for kernel in kernels)
    imports, body = _standalone()
    head = [
        f'"""The kernels of {file}: {names}. Built by kdsl {__version__}: do not edit.',
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
    return "\n".join([*head, "", *imports, *tail_imports, "", "", *body, *tail]) + "\n".join(map(_kernel, kernels))


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


def _kernel(kernel: BuiltKernel) -> str:
    call = f"{kernel.name.title().replace('_', '')}Launch"
    takes = "".join(
        f", {name}: {_python(type)}" for name, type in zip(kernel.call.names, kernel.call.types, strict=True)
    )
    doc = f"{kernel.signature}\n\n{kernel.doc}" if kernel.doc else kernel.signature
    parameters = [_parameter(kernel, index, slot) for index, slot in enumerate(kernel.call.slots)]
    names = "".join(f"{name!r}, " for name in kernel.call.names)
    return "\n".join(
        [
            "",
            f"class {call}(Protocol):",
            f"    {doc!r}",
            "",
            f"    def __call__(self{takes}) -> None: ...",
            "",
            "",
            f"{kernel.name}: Kernel[{call}] = Kernel(",
            f"    module, {kernel.entry!r}, ({names}),",
            *(["    ["] + [f"        {parameter}," for parameter in parameters] + ["    ],"]),
            f"    most_threads={kernel.most_threads}, multiple={kernel.multiple}, cluster={kernel.cluster}, "
            f"cooperative={kernel.cooperative},",
            *_contract(kernel),
            ")",
            "",
        ]
    )


def _contract(kernel: BuiltKernel) -> list[str]:
    """The text of a `contract.Contract`."""
    contract = kernel.contract
    if contract.is_empty:
        return []
    types = dict(zip(kernel.call.names, kernel.call.types, strict=True))

    def name(node: Node) -> str:
        match node:
            case Argument(name):
                return f"v.argument({name!r})"
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
        case ScalarType(name):
            return f"Scalar({slot.name!r}, {'e2' if name == 'bf16' else FORMATS[name]!r}, {place})"
        case VectorType():
            return f"Record({slot.name!r}, {_dtype(type.element)}, {type.lanes}, {place})"
        case StructType():
            return f"Record({slot.name!r}, {_dtype(type)}, 1, {place})"
        case PointerType() | ArrayType():
            return _array(kernel, index, slot, type, place)
    raise TypeError(f"{kernel.name}: no loader passes a {type}, which is what `{slot.name}` takes")


def _array(kernel: BuiltKernel, index: int, slot: Slot, type: PointerType | ArrayType, place: tuple[int, ...]) -> str:
    match type.element:
        case VectorType(element, lanes):
            dtype, align = _dtype(element), type.element.align
        case PointerType() | ScalarType() | StructType() as element:
            dtype, align, lanes = _dtype(element), element.align, 1
        case _:
            raise TypeError(f"{kernel.name}: no loader passes a {type}, which is what `{slot.name}` takes")
    text = f"Array({slot.name!r}, {dtype}, {kernel.writes(index)}, {place}, {align}, {lanes}"
    if isinstance(type, ArrayType):
        wide = type.index is not None and type.index.bits == 64
        text += f", {type.ndim}, {type.strided}, {'q' if wide else 'i'!r}"
    return f"{text})"


def _dtype(type: Any) -> str:
    """The text of a NumPy dtype, or of the name and size of one that NumPy lacks."""
    if isinstance(type, ScalarType) and type.name in ML_DTYPES:
        return f"({ML_DTYPES[type.name]!r}, {type.size})"
    return f"np.dtype({_spelled(type.numpy)})"


def _spelled(dtype: np.dtype[Any]) -> str:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"({_spelled(base)}, {shape})"
    if dtype.names is None:
        return repr(dtype.str)
    assert dtype.fields is not None
    formats = ", ".join(_spelled(dtype.fields[name][0]) for name in dtype.names)
    offsets = [dtype.fields[name][1] for name in dtype.names]
    return (
        f"{{'names': {list(dtype.names)}, 'formats': [{formats}], 'offsets': {offsets}, 'itemsize': {dtype.itemsize}, "
        f"'aligned': {dtype.isalignedstruct}}}"
    )
