"""LLVM's NVPTX target by llvmlite: optimize IR, and emit PTX text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from llvmlite import binding

from kdsl.codegen import libdevice
from kdsl.codegen.externs import MARK
from kdsl.codegen.lower import PTX_VERSION_FLAG, TRIPLE
from kdsl.codegen.ptx_text import settle
from kdsl.locks import Lock
from kdsl.records import dataclass
from kdsl.source import InternalError
from kdsl.target import Target

# Our choice, and LLVM's default to put back. Measured on kernels against nvcc -O3: with more partial unrolling and
# without LSR loops are as nvcc writes them, with more folding the coefficients of two polynomials are selected and not
# branched for (erf, say), and short pointers save address arithmetic in shared memory.
# An option that was given once counts as given: 150 is what LLVM takes where a target has no view of its own.
_UNROLL = ("-unroll-partial-threshold=300", "-unroll-partial-threshold=150")  # read by the optimizer
_SELECTS = ("-two-entry-phi-node-folding-threshold=16", "-two-entry-phi-node-folding-threshold=4")  # the optimizer
_NO_LSR = ("-disable-lsr=true", "-disable-lsr=false")  # read by the code generator
_SHORT_POINTERS = ("-nvptx-short-ptr=true", "-nvptx-short-ptr=false")  # read when a target machine is made
_LOCK = Lock()
"""LLVM's options belong to the process, and others in it (Numba, say) want theirs as they were."""

_EXTERNAL = re.compile(r"^\.extern \.func\s+(?:\([^)]*\)\s*)?([\w$.]+)", re.MULTILINE)
_LINKED = re.compile(rf'^declare [^@\n]*@"([^"]+)"\(.*{MARK}', re.MULTILINE)
_SYSTEM_CALLS = frozenset({"vprintf", "__assertfail"})


class NvptxMissing(ImportError):
    """This llvmlite was built without the NVPTX target."""


@dataclass(frozen=True, slots=True)
class OptimizedModule:
    """A module after LLVM's pipeline; `str` renders its IR. ``ptx_version`` is what it needs."""

    module: binding.ModuleRef
    ptx_version: int
    externs: frozenset[str] = frozenset()
    """Functions that a linker will bring."""

    def __str__(self) -> str:
        return str(self.module)


def optimize(llvm: str, target: Target) -> OptimizedModule:
    """Parse, link what libdevice offers, and run LLVM's -O3 pipeline."""
    version = _ptx_version(llvm, target)
    machine = _machine(target.name, version)
    with _options(_UNROLL, _SELECTS):
        module = _parse(llvm)
        libdevice.link(module, target, flush_subnormals='!"nvvm-reflect-ftz", i32 1' in llvm)
        builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=3))
        builder.getModulePassManager().run(module, builder)
    return OptimizedModule(module, version, frozenset(_LINKED.findall(llvm)))


def emit(optimized: OptimizedModule, target: Target) -> str:
    """PTX text, in which every multiplication and addition is as it will run: fused already, or marked ``.rn``."""
    machine = _machine(target.name, optimized.ptx_version)
    with _options(_NO_LSR):
        # A copy, because the code generator rewrites the module that it is given.
        ptx = machine.emit_assembly(optimized.module.clone())
    strays = set(_EXTERNAL.findall(ptx)) - _SYSTEM_CALLS - optimized.externs
    if strays:
        raise InternalError(f"LLVM knows no such intrinsic, and the PTX would call it: {', '.join(sorted(strays))}")
    return settle(ptx)


def _parse(llvm: str) -> binding.ModuleRef:
    """The text as a module; what LLVM says against it is a mistake of ours."""
    try:
        module = binding.parse_assembly(llvm)
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"LLVM refuses the module: {error}") from error
    return module


def _ptx_version(llvm: str, target: Target) -> int:
    found = re.search(rf'!"{PTX_VERSION_FLAG}", i32 (\d+)', llvm)
    return int(found[1]) if found else target.ptx_version


@contextmanager
def _options(*pairs: tuple[str, str]) -> Iterator[None]:
    """Some of LLVM's process-wide options as we want them, and back."""
    with _LOCK:
        try:
            for ours, _ in pairs:
                binding.set_option("", ours)
            yield
        finally:
            for _, default in pairs:
                binding.set_option("", default)


@lru_cache(maxsize=64)
def _machine(name: str, ptx_version: int) -> binding.TargetMachine:
    """LLVM's code generator for one architecture and PTX version, made once."""
    target = _target()
    with _options(_SHORT_POINTERS):
        return target.create_target_machine(cpu=name, features=f"+ptx{ptx_version}", opt=3)


@lru_cache(maxsize=1)
def _target() -> binding.Target:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        return binding.Target.from_triple(TRIPLE)
    except RuntimeError as error:
        raise NvptxMissing(
            "this llvmlite has no NVPTX target, so it cannot make PTX; install the wheel: pip install 'llvmlite>=0.50'"
        ) from error


def nvptx_problem() -> str | None:
    """Why this llvmlite cannot make PTX, and what to do; None if it can."""
    try:
        _target()
    except NvptxMissing as error:
        return str(error)
    return None


def llvm_version() -> str:
    """The version of LLVM inside of llvmlite."""
    return ".".join(map(str, binding.llvm_version_info))
