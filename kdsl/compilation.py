"""One run of the pipeline, with every stage kept: source, typed tree, LLVM IR, PTX, cubin, SASS."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING

from kdsl.garbage import no_collection
from kdsl.lang.layout import ParameterField, parameter_layout
from kdsl.source import find_function
from kdsl.target import Target
from kdsl.timeline import Timeline

if TYPE_CHECKING:
    from kdsl.codegen.nvptx import OptimizedModule
    from kdsl.codegen.sass import Assembled, Resources
    from kdsl.frontend import Captured, KernelRequest
    from kdsl.ir import nodes as ir


@dataclass(repr=False)
class Compilation:
    """The stages of one or more kernels that share a PTX module. A stage is computed when it is first read.

    ``kernels`` names the entries; ``timeline`` holds the time of each stage. ``cubin``, ``sass`` and ``resources``
    need ptxas (and nvdisasm): the error says what to install.
    """

    tree: ir.Module
    target: Target
    captured: tuple[Captured, ...]
    functions: tuple[FunctionType, ...]
    timeline: Timeline = field(default_factory=Timeline)

    def __repr__(self) -> str:
        return f"<Compilation of {', '.join(self.kernels)} for {self.target.name}>"

    @cached_property
    def source(self) -> str:
        """The kernels' Python text, decorators included."""
        found = [find_function(function) for function in self.functions]
        return "\n".join(file.whole(node) for file, node in found)

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(kernel.name for kernel in self.tree.kernels)

    @cached_property
    def llvm(self) -> str:
        """LLVM IR as lowered, before any optimization."""
        # Start-up cost: llvmlite is wanted by whoever compiles, not by whoever imports kdsl.
        from kdsl.codegen.lower import lower

        with self.timeline.step("lower"):
            return lower(self.tree, self.target)

    @cached_property
    def _optimized(self) -> OptimizedModule:
        from kdsl.codegen.nvptx import optimize  # start-up cost, as above

        llvm = self.llvm
        with self.timeline.step("optimize"):
            return optimize(llvm, self.target)

    @cached_property
    def llvm_optimized(self) -> str:
        """LLVM IR as PTX is emitted from it."""
        return str(self._optimized)

    @cached_property
    def ptx(self) -> str:
        """PTX text: what the driver and the emulator load."""
        from kdsl.codegen.nvptx import emit  # start-up cost, as above

        optimized = self._optimized
        with self.timeline.step("emit"):
            return emit(optimized, self.target)

    @cached_property
    def _assembled(self) -> Assembled:
        from kdsl.codegen.sass import assemble  # start-up cost, as above

        ptx = self.ptx
        with self.timeline.step("assemble"):
            return assemble(ptx, self.target)

    @cached_property
    def cooperative(self) -> frozenset[str]:
        """The kernels that call `grid_sync`, themselves or in what they call: all their blocks must run together."""
        if "%envreg" not in self.ptx:  # most kernels: nothing to look for
            return frozenset()
        from kdsl.codegen.reachable import calls_of  # start-up cost, as above

        return frozenset(k.name for k in self.tree.kernels if calls_of(k, self.tree, "grid_sync"))

    @property
    def cubin(self) -> bytes:
        """The machine code that ptxas makes of the PTX."""
        return self._assembled.cubin

    @property
    def resources(self) -> tuple[Resources, ...]:
        """ptxas's report: registers, shared and local memory, spills, for each kernel."""
        return self._assembled.resources

    @cached_property
    def sass(self) -> str:
        """The machine code as text, with Python's file and line."""
        from kdsl.codegen.sass import disassemble  # start-up cost, as above

        cubin = self.cubin
        with self.timeline.step("disassemble"):
            return disassemble(cubin)

    @cached_property
    def params(self) -> dict[str, tuple[ParameterField, ...]]:
        """For each kernel, the fields of its parameter buffer: name, PTX type, offset and size in bytes."""
        return {
            kernel.name: parameter_layout([(p.name, p.type) for p in kernel.parameters]) for kernel in self.tree.kernels
        }


def run_pipeline(requests: list[KernelRequest], target: Target, timeline: Timeline | None = None) -> Compilation:
    """Check kernels and emit their PTX; CompileError holds every mistake in any of them."""
    from kdsl.frontend import check_kernels  # start-up cost: who only imports kdsl compiles nothing

    timeline = timeline or Timeline()
    with no_collection():
        with timeline.step("parse and check"):
            checked = check_kernels(requests)
        functions = tuple(request.function for request in requests)
        compilation = Compilation(checked.module, target, checked.captured, functions, timeline)
        _ = compilation.ptx
    return compilation
