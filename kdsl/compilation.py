"""One run of the pipeline, with every stage kept: source, typed tree, LLVM IR, PTX, cubin, SASS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, NoReturn

from kdsl.captured import Captured
from kdsl.compiled import CompiledKernel
from kdsl.contracts.architecture import check_architecture
from kdsl.garbage import no_collection
from kdsl.ir.request import KernelRequest
from kdsl.lang.layout import ParameterField, parameter_layout
from kdsl.lang.variables import Variable
from kdsl.records import dataclass
from kdsl.source import find_function
from kdsl.target import Target
from kdsl.timeline import Timeline

if TYPE_CHECKING:
    from kdsl.codegen.nvptx import OptimizedModule
    from kdsl.codegen.sass import Assembled, Resources
    from kdsl.ir import nodes as ir
    from kdsl.lang.extern import Source
    from kdsl.runtime.linking import Input, Linked


@dataclass(frozen=True)
class Recalled:
    """What the cache knows of a compilation that was made before: everything that a launch needs.

    ``key`` names it in the cache; ``link`` is as of `Compilation`.
    """

    key: str
    ptx: str
    compiled: tuple[CompiledKernel, ...]
    captured: tuple[Captured, ...]
    variables: tuple[tuple[str, Variable], ...]
    link: tuple[Source, ...] | None = None


class Compilation:
    """The stages of one or more kernels that share a PTX module. A stage is computed when it is first read: also one
    that a recalled compilation lacks.

    ``kernels`` names the entries; ``timeline`` holds the time of each stage. ``cubin``, ``sass`` and ``resources``
    need ptxas (and nvdisasm): the error says what to install.
    """

    def __init__(
        self,
        tree: ir.Module | Callable[[], ir.Module],
        target: Target,
        captured: tuple[Captured, ...],
        functions: tuple[FunctionType, ...],
        timeline: Timeline | None = None,
        recalled: Recalled | None = None,
        fixed: tuple[Captured, ...] = (),
    ) -> None:
        self._tree = tree
        self.target = target
        self.captured = captured
        """What a launch looks at again, because it may change."""
        self.fixed = fixed
        """What else it was compiled with."""
        self.functions = functions
        self.timeline = timeline or Timeline()
        self.key: str | None = None
        """Its name in the cache, if it is there."""
        if recalled is not None:
            self.key = recalled.key
            known = {"ptx": recalled.ptx, "compiled": recalled.compiled, "variables": recalled.variables}
            vars(self).update(known, link=recalled.link)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is of this process; pickle the kernel, and compile it there; or its ptx or cubin")

    def __repr__(self) -> str:
        return f"<Compilation of {', '.join(self.kernels)} for {self.target.name}>"

    @cached_property
    def source(self) -> str:
        """The kernels' Python text, decorators included."""
        found = [find_function(function) for function in self.functions]
        return "\n".join(file.whole(node) for file, node in found)

    @cached_property
    def tree(self) -> ir.Module:
        """The typed tree."""
        return self._tree() if callable(self._tree) else self._tree

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(kernel.name for kernel in self.compiled)

    @cached_property
    def compiled(self) -> tuple[CompiledKernel, ...]:
        """What a launch has to know of each kernel."""
        return tuple(_compiled(kernel, kernel.name in self.cooperative) for kernel in self.tree.kernels)

    @cached_property
    def variables(self) -> tuple[tuple[str, Variable], ...]:
        """The variables that the host reads and writes too, by their names in PTX."""
        return self.tree.variables

    @cached_property
    def externs(self) -> tuple[ir.Extern, ...]:
        """The functions of other compilers that the PTX calls: it is linked with what defines them."""
        return self.tree.externs

    @cached_property
    def link(self) -> tuple[Source, ...] | None:
        """What the PTX is linked with: what the kernels and `externs` name. None if it calls no function of others."""
        if not self.externs:
            return None
        of_kernels = [source for kernel in self.tree.kernels for source in kernel.options.link]
        return (*of_kernels, *(source for extern in self.externs for source in extern.link))

    @cached_property
    def linked(self) -> Linked:
        """The PTX and what it is linked with, as a cubin. LinkError says what is missing."""
        from kdsl.runtime.linking import link  # start-up cost: most kernels are not linked

        inputs = self.link_inputs()
        with self.timeline.step("link"):
            return link(inputs, self.target.name)

    @property
    def linked_ptx(self) -> str | None:
        """PTX that is loaded without a linker: what the PTX is linked with is in it, if that is PTX, too; else None."""
        from kdsl.runtime.images import Kind  # start-up cost, as above
        from kdsl.runtime.linking import link_text

        if self.link is None:
            return self.ptx
        inputs = self.link_inputs()
        if any(given.kind is not Kind.PTX for given in inputs):
            return None
        return link_text(inputs, self.target.name).image.decode()

    def link_inputs(self) -> list[Input]:
        """The PTX, and what it is linked with."""
        from kdsl.runtime.images import Kind  # start-up cost, as above
        from kdsl.runtime.linking import Input, read

        # Several functions may be of one image, and name it in several ways.
        others = {given.data: given for given in map(read, dict.fromkeys(self.link or ()))}
        return [Input(f"{', '.join(self.kernels)} (PTX of kdsl)", Kind.PTX, self.ptx.encode()), *others.values()]

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
        from kdsl.ir.show import contract_lines

        optimized = self._optimized
        with self.timeline.step("emit"):
            ptx = emit(optimized, self.target)
        # For who launches it without kdsl: what the code relies on.
        for kernel in self.tree.kernels:
            entry, said = f".visible .entry {kernel.name}(", contract_lines(kernel.options.contract)
            # Other characters than ASCII's are refused in comments too.
            lines = [line.encode("ascii", "backslashreplace").decode() for line in said]
            ptx = ptx.replace(entry, "".join(f"// {line}\n" for line in lines) + entry)
        return ptx

    @cached_property
    def _assembled(self) -> Assembled:
        from kdsl.codegen.sass import assemble  # start-up cost, as above

        ptx = self.ptx
        with self.timeline.step("assemble"):
            return assemble(ptx, self.target, relocatable=self.link is not None)

    @cached_property
    def cooperative(self) -> frozenset[str]:
        """The kernels that call `grid_sync`, themselves or in what they call: all their blocks must run together."""
        if "%envreg" not in self.ptx:  # most kernels: nothing to look for
            return frozenset()
        from kdsl.codegen.reachable import calls_of  # start-up cost, as above

        return frozenset(k.name for k in self.tree.kernels if calls_of(k, self.tree, "grid_sync"))

    @property
    def cubin(self) -> bytes:
        """The machine code that ptxas makes of the PTX, or the linker where the PTX calls functions of others."""
        return self._assembled.cubin if self.link is None else self.linked.image

    @property
    def resources(self) -> tuple[Resources, ...]:
        """ptxas's report: registers, shared and local memory, spills, for each kernel."""
        return self._assembled.resources

    def resources_of(self, kernel: str) -> Resources:
        """ptxas's report on one of the kernels."""
        return next(report for report in self.resources if report.kernel == kernel)

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


def _compiled(kernel: ir.Function, cooperative: bool) -> CompiledKernel:
    bounds, written = kernel.options.launch_bounds, None
    if kernel.written is not None:
        written = tuple(index for index, local in enumerate(kernel.parameters) if local.uid in kernel.written)
    most_threads = bounds[0] if bounds else None
    return CompiledKernel(
        kernel.name, written, most_threads, kernel.options.cluster, cooperative, kernel.block_multiple
    )


def run_pipeline(requests: Sequence[KernelRequest], target: Target, timeline: Timeline | None = None) -> Compilation:
    """Check kernels and emit their PTX; CompileError holds every mistake in any of them."""
    from kdsl.frontend import check_kernels  # start-up cost: who only imports kdsl compiles nothing

    for request in requests:
        check_architecture(request.function, request.options.min_arch, target)
    timeline = timeline or Timeline()
    with no_collection():
        with timeline.step("parse and check"):
            checked = check_kernels(list(requests))
        functions = tuple(request.function for request in requests)
        compilation = Compilation(checked.module, target, checked.captured, functions, timeline, fixed=checked.fixed)
        _ = compilation.ptx
    return compilation


def recall(
    requests: Sequence[KernelRequest], target: Target, recalled: Recalled, timeline: Timeline | None = None
) -> Compilation:
    """The compilation of these kernels that the cache has; what it lacks is computed when it is read."""
    functions = tuple(request.function for request in requests)
    timeline = timeline or Timeline()

    def tree() -> ir.Module:
        from kdsl.frontend import check_kernels  # start-up cost, as above

        with timeline.step("parse and check"):
            return check_kernels(list(requests)).module

    return Compilation(tree, target, recalled.captured, functions, timeline, recalled)
