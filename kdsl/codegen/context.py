"""What lowering one function carries: builder, module, target, options, and what all parts ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from llvmlite import ir as llvm

from kdsl.checks import Site
from kdsl.codegen.types import I8, I32, llvm_type, pointer
from kdsl.ir.nodes import Options
from kdsl.lang.types import Space, Type
from kdsl.records import dataclass
from kdsl.source import CompileError, Span
from kdsl.target import Target

# Why this order? ptxas keeps the operand that is read first in the uniform path, and wants it to be the block size.
_REGISTER_ORDER = ("ntid", "nctaid", "ctaid", "tid")
LONGEST_NAME = 200
"""Characters of a variable's name that its value in LLVM keeps. LLVM itself keeps 1024, and then names collide."""


@dataclass(slots=True)
class ModuleContext:
    """What the functions of one LLVM module share. ``ptx_version`` rises as intrinsics need it."""

    module: llvm.Module
    target: Target
    ptx_version: int
    strings: dict[bytes, llvm.GlobalVariable] = field(default_factory=dict)
    constants: dict[bytes, llvm.GlobalVariable] = field(default_factory=dict)
    common: dict[int, llvm.GlobalVariable] = field(default_factory=dict)
    """Shared arrays that functions have in common, by uid."""
    sites: list[Site] = field(default_factory=list)
    """The checks of a debug build, by their number."""

    def declare(
        self, name: str, result: llvm.Type, parameters: Sequence[llvm.Type], *, convergent: bool = False
    ) -> llvm.Function:
        """The external function or LLVM intrinsic ``name``, declared once."""
        known = self.module.globals.get(name)
        if isinstance(known, llvm.Function):
            return known
        function = llvm.Function(self.module, llvm.FunctionType(result, parameters), name)
        if convergent:
            function.attributes.add("convergent")
        return function

    def variable(self, t: llvm.Type, name: str, space: Space, align: int) -> llvm.GlobalVariable:
        """A module-level variable of our own in ``space``, undefined until it gets an initializer."""
        variable = llvm.GlobalVariable(self.module, t, name, addrspace=space.value)
        variable.type = pointer(space)  # llvmlite would print a typed pointer, which LLVM no longer reads
        variable.linkage, variable.align = "internal", align
        variable.initializer = llvm.Constant(t, llvm.Undefined)
        return variable

    def constant(self, data: bytes, name: str) -> llvm.GlobalVariable:
        """These bytes in constant memory, one variable for each contents."""
        return self._bytes(data, self.constants, f"constant_{name}_{len(self.constants)}", Space.CONSTANT, 16)

    def dynamic_shared(self) -> llvm.GlobalVariable:
        """The start of the block's dynamic shared memory, whose size a launch says."""
        name = "kdsl_dynamic_shared"
        known = self.module.globals.get(name)
        if known is None:
            known = llvm.GlobalVariable(self.module, llvm.ArrayType(I8, 0), name, addrspace=Space.SHARED.value)
            known.type, known.linkage, known.align = pointer(Space.SHARED), "external", 16
        return known

    def string(self, text: str) -> llvm.GlobalVariable:
        """A zero-terminated string in global memory, one for each text."""
        return self._bytes(text.encode() + b"\0", self.strings, f"kdsl_string{len(self.strings)}", Space.GLOBAL, 1)

    def _bytes(
        self, data: bytes, known: dict[bytes, llvm.GlobalVariable], name: str, space: Space, align: int
    ) -> llvm.GlobalVariable:
        """The variable of these bytes; a new one if it is not known."""
        if data not in known:
            t = llvm.ArrayType(I8, len(data))
            variable = self.variable(t, name, space, align)
            variable.initializer, variable.global_constant = llvm.Constant(t, bytearray(data)), True
            known[data] = variable
        return known[data]


@dataclass(slots=True)
class Context:
    """What lowering one function carries. ``entry`` holds special registers and allocas, before all other code."""

    shared: ModuleContext
    builder: llvm.IRBuilder
    options: Options
    entry: llvm.Block
    registers: dict[str, llvm.Instruction] = field(default_factory=dict)

    @property
    def module(self) -> llvm.Module:
        return self.shared.module

    @property
    def target(self) -> Target:
        return self.shared.target

    @property
    def flags(self) -> tuple[str, ...]:
        """Fast-math flags of a float operation: ``contract`` lets LLVM form fma, ``afn`` lets it approximate."""
        return (("contract",) if self.options.fmad else ()) + (("afn",) if self.options.fastmath else ())

    def type(self, t: Type) -> llvm.Type:
        """The LLVM type of a value in registers."""
        return llvm_type(t)

    def declare(
        self, name: str, result: llvm.Type, parameters: Sequence[llvm.Type], *, convergent: bool = False
    ) -> llvm.Function:
        """The external function or LLVM intrinsic ``name``, declared once in the module."""
        return self.shared.declare(name, result, parameters, convergent=convergent)

    def call(
        self,
        name: str,
        result: llvm.Type,
        arguments: Sequence[llvm.Value],
        *,
        convergent: bool = False,
        flags: tuple[str, ...] = (),
    ) -> Any:
        """A call of the external function or LLVM intrinsic ``name``; convergent on declaration and call if asked."""
        function = self.declare(name, result, [a.type for a in arguments], convergent=convergent)
        return self.builder.call(function, list(arguments), fastmath=flags, attrs=("convergent",) if convergent else ())

    def special_register(self, name: str) -> llvm.Value:
        """The 32-bit special register ``name`` (``tid.x``, ``ntid.y``, ...), read once at the top of the function.

        The block size is a constant where the kernel's contract says it.
        """
        block = self.options.contract.fixed_block if name.startswith("ntid.") else None
        if block is not None:
            return llvm.Constant(I32, block["xyz".index(name[-1])])
        if name not in self.registers:
            function = self.declare(f"llvm.nvvm.read.ptx.sreg.{name}", I32, [])
            builder = llvm.IRBuilder(self.entry)
            builder.debug_metadata = self.builder.debug_metadata
            later = [v for k, v in self.registers.items() if _register_rank(k) > _register_rank(name)]
            first = min(later, key=self.entry.instructions.index, default=None)
            if first is not None:
                builder.position_before(first)
            elif self.registers:
                builder.position_after(max(self.registers.values(), key=self.entry.instructions.index))
            else:
                builder.position_at_start(self.entry)
            self.registers[name] = builder.call(function, [], name=name)
        return self.registers[name]

    def alloca(self, t: llvm.Type, name: str = "") -> Any:
        """Room for one value in the entry block, where mem2reg finds it."""
        instruction = llvm.IRBuilder(self.entry).alloca(t, name=name[:LONGEST_NAME])
        instruction.type = pointer(Space.GENERIC)  # llvmlite would print a typed pointer, which LLVM no longer reads
        return instruction

    def require_sm(self, sm: int, what: str, span: Span) -> None:
        """CompileError at ``span`` unless the target is at least ``sm``."""
        if self.target.sm < sm:
            message = f"{what} needs sm_{sm} or newer; this is {self.target}"
            raise CompileError.at(span, message, f'compile with target="sm_{sm}"')

    def require_ptx(self, version: int) -> None:
        """Raise the module's PTX ISA version to at least ``version`` (78 means 7.8)."""
        self.shared.ptx_version = max(self.shared.ptx_version, version)


def _register_rank(name: str) -> tuple[int, str]:
    group, _, axis = name.partition(".")
    return (_REGISTER_ORDER.index(group) if group in _REGISTER_ORDER else len(_REGISTER_ORDER), axis)
