"""LLVM's process-wide options, its silent traps, and the PTX version."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from llvmlite import binding

from kdsl.codegen import nvptx
from kdsl.codegen.lower import DATA_LAYOUT, lower
from kdsl.codegen.nvptx import NvptxMissing, emit, llvm_version, nvptx_problem, optimize
from kdsl.ir import nodes as ir
from kdsl.lang.intrinsic import Intrinsic, Nvvm
from kdsl.lang.types import F32, I32, ArrayType, Space
from kdsl.source import CompileError, InternalError
from kdsl.target import KNOWN, Target

from . import trees as t
from .compile import ptx_of
from .test_loops import grid_stride
from .test_vadd import vadd

SM_90 = Target.parse("sm_90")


def call_of(name: str, **more: int) -> ir.Function:
    """A kernel that stores what an LLVM intrinsic gives."""

    def stub() -> None: ...

    kernel = t.Kernel("k")
    out = kernel.pointer("out", I32)
    kernel.add(t.store(out, t.const(0), t.intrinsic(Intrinsic(stub, Nvvm(name, ()), "mov", **more))))
    return kernel.function()


def test_a_misspelt_intrinsic_is_our_error_and_not_a_call_in_the_ptx() -> None:
    with pytest.raises(InternalError, match=r"call it: llvm\.nvvm\.read\.ptx\.sreg\.lanid$"):
        ptx_of(call_of("llvm.nvvm.read.ptx.sreg.lanid"))


def test_an_intrinsic_that_the_architecture_lacks_is_refused_before_llvm_sees_it() -> None:
    kernel = call_of("llvm.nvvm.read.ptx.sreg.laneid", min_sm=80)
    with pytest.raises(CompileError, match="needs sm_80"):
        ptx_of(kernel, arch="sm_75")
    assert "%laneid" in ptx_of(kernel, arch="sm_80")


def test_options_are_put_back() -> None:
    ptx_of(vadd())
    binding.initialize_all_targets()
    machine = binding.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_90")
    assert str(machine.target_data) == "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"


def test_the_module_and_the_target_agree_on_the_data_layout() -> None:
    assert str(nvptx._machine("sm_90", 78).target_data) == DATA_LAYOUT


def test_options_are_put_back_after_an_error() -> None:
    with pytest.raises(InternalError, match="LLVM refuses the module"):
        optimize("this is not LLVM", SM_90)
    test_options_are_put_back()


def test_stages_are_text_that_reads_back() -> None:
    llvm = lower(ir.Module((vadd(),)), SM_90)
    optimized = optimize(llvm, SM_90)
    assert "alloca" in llvm
    assert "alloca" not in str(optimized)
    assert binding.parse_assembly(str(optimized)).get_function("vadd").name == "vadd"
    assert emit(optimized, SM_90) == emit(optimized, SM_90)


def test_emitting_leaves_the_optimized_module_as_it_is() -> None:
    optimized = optimize(lower(ir.Module((grid_stride(),)), SM_90), SM_90)
    before = str(optimized)
    ptx = emit(optimized, SM_90)
    assert str(optimized) == before
    assert emit(optimized, SM_90) == ptx


def test_llvmlite_has_the_target() -> None:
    assert nvptx_problem() is None
    assert int(llvm_version().split(".")[0]) >= 20


def test_without_the_target_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise RuntimeError("No available targets are compatible")

    nvptx._target.cache_clear()
    monkeypatch.setattr(binding.Target, "from_triple", missing)
    try:
        assert "llvmlite" in (nvptx_problem() or "")
        with pytest.raises(NvptxMissing, match="pip install"):
            nvptx._target()
    finally:
        nvptx._target.cache_clear()


def test_known_architectures() -> None:
    assert KNOWN[0] == "sm_75"
    assert Target.parse("sm_90a") == Target("sm_90a", 90, "a", 80)
    assert Target.parse("sm_121").sm == 121
    with pytest.raises(ValueError, match=r"unknown architecture 'sm_999'; known: sm_75, sm_80"):
        Target.parse("sm_999")


def test_shared_memory_past_48_kb_is_refused_at_the_array_that_passes_it() -> None:
    def array(uid: int, elements: int, line: int) -> ir.SharedArray:
        return ir.SharedArray(uid, f"s{uid}", ArrayType(F32, 1, Space.SHARED, (elements,), I32), t.at(line))

    def kernel(second: int) -> ir.Function:
        made = t.Kernel("k")
        index = t.const(0)
        value = t.load(array(2, second, 3), index)
        made.add(t.store(array(1, 8192, 2), index, t.const(0.0, F32)), t.store(made.pointer("x", F32), index, value))
        return made.function()

    assert ".entry k" in ptx_of(kernel(4096))
    with pytest.raises(CompileError, match=r"49168 bytes") as caught:
        ptx_of(kernel(4100))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span.line == 3
    assert diagnostic.hint == "use smaller shapes, or shared.dynamic(dtype), which may be as large as the device allows"


def test_threads_compile_at_the_same_time() -> None:
    made = [(kernel, arch) for arch in ("sm_75", "sm_90", "sm_120") for kernel in (vadd(), grid_stride())]
    alone = [ptx_of(kernel, arch=arch) for kernel, arch in made]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: ptx_of(job[0], arch=job[1]), made * 8))
    assert together == alone * 8
