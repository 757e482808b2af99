"""The table of intrinsics: what each stub promises is what LLVM, ptxas and the emulator have."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from llvmlite import binding

from kdsl.codegen import libdevice
from kdsl.codegen.lower import lower
from kdsl.codegen.nvptx import emit, optimize
from kdsl.codegen.sass import find_tool
from kdsl.emulator import Emulator
from kdsl.ir import nodes as ir
from kdsl.lang.intrinsic import Libdevice
from kdsl.lang.types import F32
from kdsl.source import CompileError
from kdsl.target import Target

from .calls import Call, calls, intrinsics, kernel

CALLS = calls()

# What libdevice has too, but the language does otherwise: by operators, casts and bitcasts, or an LLVM intrinsic.
OTHERWISE = set(
    """
    __nv_abs __nv_llabs __nv_min __nv_max __nv_umin __nv_umax __nv_llmin __nv_llmax __nv_ullmin __nv_ullmax
    __nv_fabs __nv_floor __nv_ceil __nv_trunc __nv_rint __nv_nearbyint __nv_fma __nv_sqrt __nv_copysign
    __nv_fabsf __nv_floorf __nv_ceilf __nv_truncf __nv_rintf __nv_nearbyintf __nv_fmaf __nv_sqrtf __nv_copysignf
    __nv_fmax __nv_fmin __nv_fmaxf __nv_fminf __nv_nan __nv_nanf
    __nv_isnand __nv_isnanf __nv_isinfd __nv_isinff __nv_isfinited __nv_finitef __nv_signbitd __nv_signbitf
    __nv_clz __nv_clzll __nv_popc __nv_popcll __nv_brev __nv_brevll __nv_sad __nv_usad
    __nv_mulhi __nv_umulhi __nv_mul64hi __nv_umul64hi
    __nv_float_as_int __nv_float_as_uint __nv_int_as_float __nv_uint_as_float
    __nv_double_as_longlong __nv_longlong_as_double __nv_float2half_rn __nv_half2float
    """.split()
)


def ptx_of(functions: list[ir.Function], target: Target) -> str:
    return emit(optimize(lower(ir.Module(tuple(functions)), target), target), target)


def available(call: Call, target: Target) -> bool:
    return target.sm >= call.intrinsic.min_sm and (target.sm >= 90 or ("scope", "cluster") not in call.constants)


@pytest.mark.parametrize("intrinsic", intrinsics(), ids=lambda i: i.name)
def test_every_stub_says_what_it_does(intrinsic) -> None:
    assert (intrinsic.__doc__ or "").rstrip().endswith(".")
    with pytest.raises(TypeError, match="inside a @kernel"):
        intrinsic()


@pytest.fixture(scope="module")
def entries() -> dict[str, str]:
    """The PTX of a kernel for each call, and of what it calls, by name, for sm_90; compiled together for speed."""
    ptx = ptx_of([kernel(call, f"k{i}") for i, call in enumerate(CALLS)], Target.parse("sm_90"))
    assert ".extern" not in ptx
    functions = {m[1]: m[0] for m in re.finditer(r"^\.func .*?(\w+)\($.*?^}", ptx, re.MULTILINE | re.DOTALL)}
    entries = {m[1]: m[0] for m in re.finditer(r"\.entry (\w+)\(.*?^}", ptx, re.MULTILINE | re.DOTALL)}
    assert list(entries) == [f"k{i}" for i in range(len(CALLS))]
    return {name: text + "".join(functions[f] for f in functions if f in text) for name, text in entries.items()}


@pytest.mark.parametrize("call", CALLS, ids=lambda c: c.id)
def test_mnemonic_is_in_the_ptx(call: Call, entries: dict[str, str]) -> None:
    body = entries[f"k{CALLS.index(call)}"]
    assert any(mnemonic in body for mnemonic in call.intrinsic.ptx.split(", "))


@pytest.mark.parametrize("fastmath", [False, True], ids=["exact", "fastmath"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_ptxas_takes_every_call(arch: str, fastmath: bool, tmp_path: Path) -> None:
    ptxas = find_tool("ptxas")
    assert ptxas, "the test extra installs ptxas"
    target = Target.parse(arch)
    options = ir.Options(fastmath=fastmath)
    functions = [kernel(call, f"k{i}", options) for i, call in enumerate(CALLS) if available(call, target)]
    source = tmp_path / "all.ptx"
    source.write_text(ptx_of(functions, target))
    command = [str(ptxas), f"-arch={arch}", "-O1", "-o", str(tmp_path / "all.cubin"), str(source)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_emulator_knows_every_instruction(arch: str) -> None:
    target = Target.parse(arch)
    functions = [kernel(call, f"k{i}") for i, call in enumerate(CALLS) if available(call, target)]
    module = Emulator().load(ptx_of(functions, target).encode())
    assert all(Emulator().function(module, f.name) for f in functions)


@pytest.mark.parametrize("call", [c for c in CALLS if not available(c, Target.parse("sm_75"))], ids=lambda c: c.id)
def test_older_architecture_is_refused(call: Call) -> None:
    with pytest.raises(CompileError, match="needs sm_"):
        ptx_of([kernel(call)], Target.parse("sm_75"))


def test_every_libdevice_function_has_a_name_in_the_language() -> None:
    path = libdevice.find()
    assert path
    named = set(OTHERWISE)
    for intrinsic in intrinsics():
        if isinstance(intrinsic.lowering, Libdevice):
            name, fast = intrinsic.lowering.name, intrinsic.lowering.fast or {}
            named |= {name} if isinstance(name, str) else set(name.values())
            named |= set(fast.values())
    library = binding.parse_bitcode(path.read_bytes())
    assert named == {f.name for f in library.functions if f.name.startswith("__nv_")}


def test_square_roots_inside_libdevice_are_correctly_rounded() -> None:
    roots = [c for c in CALLS if c.intrinsic.name in ("hypot", "norm3d", "norm4d", "norm", "sqrt") and c.bound == F32]
    assert len(roots) == 5
    ptx = ptx_of([kernel(call, f"k{i}") for i, call in enumerate(roots)], Target.parse("sm_90"))
    assert not re.search(r"sqrt\.approx", ptx)
    assert len(re.findall(r"sqrt\.rn\.f32", ptx)) >= 5


def test_fastmath_takes_the_approximations() -> None:
    (sine,) = [c for c in CALLS if c.id == "trigonometry-sin-f32"]
    assert "sin.approx" in ptx_of([kernel(sine, options=ir.Options(fastmath=True))], Target.parse("sm_90"))
    assert "sin.approx" not in ptx_of([kernel(sine)], Target.parse("sm_90"))


def test_without_libdevice_the_call_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libdevice, "find", lambda: None)
    (sine,) = [c for c in CALLS if c.id == "trigonometry-sin-f32"]
    with pytest.raises(CompileError, match=r"sin\(\) needs NVIDIA's libdevice[\s\S]*pip install"):
        ptx_of([kernel(sine)], Target.parse("sm_90"))


@pytest.mark.parametrize("name", ["ex2", "rcp", "sqrt", "rsqrt"])
def test_single_approximations_flush_under_fastmath_only(name: str) -> None:
    (call,) = [c for c in CALLS if c.id == f"fast-{name}"]
    target = Target.parse("sm_90")
    assert f"{name}.approx.f32" in ptx_of([kernel(call)], target)
    assert f"{name}.approx.ftz.f32" in ptx_of([kernel(call, options=ir.Options(fastmath=True))], target)
