"""The C header of a build: each kernel's parameter struct as the GPU reads it, and a function that launches it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

from kdsl.ahead.built import BuiltKernel
from kdsl.ahead.c_names import Names
from kdsl.contracts.expressions import show
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.fixed_array import FixedArrayType
from kdsl.lang.layout import buffer_size, parameter_layout
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, PointerType, ScalarType, Type, VectorType
from kdsl.version import __version__

SCALARS = {
    "bool": "bool", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "u8": "uint8_t",
    "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "f32": "float", "f64": "double",
}  # fmt: skip
BITS = {"f16": "uint16_t", "bf16": "uint16_t", "f8e4m3": "uint8_t", "f8e5m2": "uint8_t"}
"""What C without CUDA's headers has for types that it lacks: their bits."""

PREAMBLE = """\
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef KDSL_ALIGN
#ifdef __cplusplus
#define KDSL_ALIGN(n) alignas(n)
#define KDSL_ASSERT(condition, text) static_assert(condition, text)
#else
#define KDSL_ALIGN(n) _Alignas(n)
#define KDSL_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#endif
"""


def header(guard: str, file: str, kernels: Sequence[BuiltKernel]) -> str:
    """The header's text, for C11 and C++11. ``guard`` is a name; ``file`` says where the kernels are written."""
    name = re.sub(r"\W", "_", guard).upper() + "_H"
    names = Names(name)
    prefixes = [names.of_kernel(kernel.name) for kernel in kernels]
    types = _Types(names)
    bodies = [_kernel(kernel, prefix, types) for kernel, prefix in zip(kernels, prefixes, strict=True)]
    types.finish()
    parts = [
        f"/* The kernels of {in_comment(file)}, built by kdsl {__version__}: do not edit.",
        "   Pointers are addresses in device memory. Include cuda.h first to have the launching functions too. */",
        f"#ifndef {name}\n#define {name}\n",
        PREAMBLE,
        *types.declared.values(),
        *bodies,
        f"#endif /* {name} */",
    ]
    return "\n".join(parts) + "\n"


def in_comment(text: str) -> str:
    """A text that ends no comment and seems to begin none."""
    return text.replace("*/", "* /").replace("/*", "/ *")


class _Types:
    """The C types of what kernels use; the declarations of those that C does not have."""

    def __init__(self, names: Names) -> None:
        self.declared: dict[str, str] = {}
        self.names = names
        self._names: dict[StructType, str] = {}
        self._pointed: list[StructType] = []

    def named(self, type: Type) -> str:
        """The C type of a value in memory."""
        match type:
            case ScalarType(name):
                return SCALARS.get(name) or BITS[name]
            case PointerType(element):
                return f"{self.pointed(element)} *"
            case VectorType():
                return self._vector(type)
            case StructType():
                return self._struct(type)
        raise TypeError(f"{type} has no C type")

    def pointed(self, type: Type) -> str:
        """The C type of what a pointer points to. A struct may be declared later: it may hold this pointer."""
        if isinstance(type, StructType) and not isinstance(type, FixedArrayType):
            self._pointed.append(type)
            return f"struct {self._name(type)}"
        return self.named(type)

    def finish(self) -> None:
        """Declare what pointers alone have named."""
        while self._pointed:
            self._struct(self._pointed.pop())

    def _vector(self, type: VectorType) -> str:
        name = f"kdsl_{type.name}"
        if name not in self.declared:
            first, *others = list("xyzw")[: type.lanes]
            element = self.named(type.element)
            self.declared[name] = _once(
                name,
                f"typedef struct {name} {{\n    KDSL_ALIGN({type.align}) {element} {first};\n"
                f"    {element} {', '.join(others)};\n}} {name};\n"
                f'KDSL_ASSERT(sizeof({name}) == {type.size}, "{name}");\n',
            )
        return name

    def _name(self, type: StructType) -> str:
        if type not in self._names:
            base = re.sub(r"\W+", "_", type.name).strip("_") or "record"
            # Two classes may have one name.
            self._names[type] = self.names.of_struct(f"kdsl_{base}" if isinstance(type, ComplexType) else base)
        return self._names[type]

    def _struct(self, type: StructType) -> str:
        name = self._name(type)
        if name in self.declared:
            return name
        members = self.names.of_members([field.name for field in type.fields])
        pairs = list(zip(members, type.fields, strict=True))
        fields = [f"    {self.field(member, field.type)}" for member, field in pairs]
        fields[0] = f"    KDSL_ALIGN({type.align}) {fields[0].strip()}"
        checks = [
            f'KDSL_ASSERT(offsetof({name}, {member}) == {field.offset}, "{name}.{member}");' for member, field in pairs
        ]
        checks.append(f'KDSL_ASSERT(sizeof({name}) == {type.size}, "{name}");')
        text = "\n".join([f"typedef struct {name} {{", *fields, f"}} {name};", *checks]) + "\n"
        self.declared[name] = _once(name, text)
        return name

    def field(self, member: str, type: Type) -> str:
        """A member's declaration."""
        extents = ""
        while isinstance(type, FixedArrayType):
            extents += "".join(f"[{extent}]" for extent in type.shape)
            type = type.element
        named = self.named(type)
        bits = f" /* the bits of {type.name} */" if isinstance(type, ScalarType) and type.name in BITS else ""
        return f"{named}{'' if named.endswith('*') else ' '}{member}{extents};{bits}"


def _once(name: str, text: str) -> str:
    """A declaration that the headers of several builds may have. At another struct of this name the compiler stops, and
    says which.
    """
    guard = f"KDSL_STRUCT_{name}"
    same = f"{guard}_{sha256(text.encode()).hexdigest()[:16]}"
    return "\n".join([
        f"#ifndef {same}",
        f"#ifdef {guard}",
        f'#error "another header of kdsl has another struct {name}: rename one of the two classes, and build it again"',
        "#endif",
        f"#define {guard}",
        f"#define {same}",
        f"{text}#endif /* {same} */",
        "",
    ])  # fmt: skip


def _kernel(kernel: BuiltKernel, prefix: str, types: _Types) -> str:
    slots = kernel.call.slots
    layout = parameter_layout([(slot.name, slot.type) for slot in slots])
    struct, upper = f"{prefix}_params", prefix.upper()
    lines, checks, pointers = [], [], []
    for member, field in zip(types.names.of_members([field.name for field in layout]), layout, strict=True):
        slot = slots[field.index]
        if field.name == slot.name and isinstance(slot.type, PointerType | ArrayType):
            element = slot.type.element
            const = "" if kernel.writes(field.index) or isinstance(element, PointerType) else "const "
            lines.append(f"    {const}{types.pointed(element)} *{member};")
        else:
            lines.append(f"    {types.field(member, field.type)}")
        checks.append(f'KDSL_ASSERT(offsetof({struct}, {member}) == {field.offset}, "{struct}.{member}");')
        pointers.append(f"(void *)&params->{member}")
    requires = [f"   requires {show(relation)}" for relation in kernel.contract.relations]
    if kernel.contract.fixed_block is not None:
        requires.append(f"   is launched with blocks of {kernel.contract.fixed_block}")
    text = ["\n".join([f"/* {in_comment(kernel.signature)}", *requires]) + " */"]
    text += [f'#define {upper}_ENTRY "{kernel.entry}"', f"#define {upper}_PARAMS_SIZE {buffer_size(layout)}"]
    if layout:
        text += [f"typedef struct {struct} {{", *lines, f"}} {struct};", *checks]
    return "\n".join([*text, "", _launcher(kernel, prefix, struct if layout else "", pointers)])


def _launcher(kernel: BuiltKernel, prefix: str, struct: str, pointers: Sequence[str]) -> str:
    """A C function that launches with the parameters of a struct; with clusters through cuLaunchKernelEx."""
    takes = f", const {struct} *params" if struct else ""
    values = f"    void *values[] = {{{', '.join(pointers)}}};" if struct else "    void **values = NULL;"
    extents = "unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z"
    head = [
        "#ifdef CUDA_VERSION",
        f"static inline CUresult {prefix}_launch(CUfunction function, {extents},",
        f"    unsigned shared_bytes, CUstream stream{takes}) {{",
        values,
    ]
    passed = "grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream"
    if kernel.cluster is None:
        cooperative = kernel.cooperative
        call = (
            f"cuLaunchCooperativeKernel(function, {passed}, values)"
            if cooperative
            else (f"cuLaunchKernel(function, {passed}, values, NULL)")
        )
        return "\n".join([*head, f"    return {call};", "}", "#endif", ""])
    x, y, z = kernel.cluster
    attributes = 2 if kernel.cooperative else 1
    body = [
        "    CUlaunchConfig config;",
        f"    CUlaunchAttribute attributes[{attributes}];",
        "    memset(&config, 0, sizeof config);",
        "    memset(attributes, 0, sizeof attributes);",
        "    attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;",
        f"    attributes[0].value.clusterDim.x = {x};",
        f"    attributes[0].value.clusterDim.y = {y};",
        f"    attributes[0].value.clusterDim.z = {z};",
    ]
    if kernel.cooperative:
        body += [
            "    attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;",
            "    attributes[1].value.cooperative = 1;",
        ]
    body += [
        "    config.gridDimX = grid_x; config.gridDimY = grid_y; config.gridDimZ = grid_z;",
        "    config.blockDimX = block_x; config.blockDimY = block_y; config.blockDimZ = block_z;",
        "    config.sharedMemBytes = shared_bytes; config.hStream = stream;",
        f"    config.attrs = attributes; config.numAttrs = {attributes};",
        "    return cuLaunchKernelEx(&config, function, values, NULL);",
    ]
    return "\n".join([*head, *body, "}", "#endif", ""])
