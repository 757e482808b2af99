"""Where libdevice is looked for, and what of it a module gets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from llvmlite import binding

import kdsl.libdevice
from kdsl.codegen import libdevice, nvptx
from kdsl.target import Target

SM90 = Target.parse("sm_90")
CALLER = """
target triple = "nvptx64-nvidia-cuda"
declare float @{name}(float)
define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %x = load float, ptr addrspace(1) %p
  %y = call float @{name}(float %x)
  store float %y, ptr addrspace(1) %p
  ret void
}}
"""


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kdsl.libdevice, "_package", lambda name: [])
    kdsl.libdevice._find.cache_clear()
    yield
    kdsl.libdevice._find.cache_clear()


def linked(name: str, target: Target = SM90, **options: bool) -> str:
    nvptx.emit(nvptx.optimize(CALLER.format(name="llvm.fabs.f32"), target), target)  # LLVM's targets are there now
    module = binding.parse_assembly(CALLER.format(name=name))
    libdevice.link(module, target, **options)
    module.verify()
    return str(module)


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH"])
def test_toolkit_is_found_by_its_variable(variable: str, nothing_installed: None, tmp_path: Path) -> None:
    file = tmp_path / "nvvm" / "libdevice" / libdevice.FILE
    file.parent.mkdir(parents=True)
    file.touch()
    assert libdevice.find({variable: str(tmp_path)}) == file


def test_toolkit_is_found_by_its_compiler(nothing_installed: None, tmp_path: Path) -> None:
    file = tmp_path / "nvvm" / "libdevice" / libdevice.FILE
    compiler = tmp_path / "bin" / "nvcc"
    for path in (file, compiler):
        path.parent.mkdir(parents=True)
        path.touch(mode=0o755)
    assert libdevice.find({"PATH": str(tmp_path / "bin")}) == file


def test_installed_package_comes_before_a_toolkit(tmp_path: Path) -> None:
    file = tmp_path / "nvvm" / "libdevice" / libdevice.FILE
    file.parent.mkdir(parents=True)
    file.touch()
    assert libdevice.find({"CUDA_HOME": str(tmp_path)}) != file


def test_module_gets_only_what_it_calls_and_no_questions() -> None:
    text = linked("__nv_expf")
    assert "define internal float @__nv_expf" in text
    assert "__nv_sinf" not in text
    assert "__nvvm_reflect" not in text
    assert text.count("\ndefine ") == 2


def test_module_without_calls_stays_as_it_is() -> None:
    assert "define internal" not in linked("llvm.fabs.f32")


def test_subnormals_are_flushed_only_when_asked() -> None:
    def ptx(**options: bool) -> str:
        module = binding.parse_assembly(linked("__nv_expf", **options))
        return nvptx.emit(nvptx.optimize(str(module), SM90), SM90)

    assert "fma.rn.ftz.f32" in ptx(flush_subnormals=True)
    assert "fma.rn.f32" in ptx()
    assert "fma.rn.ftz.f32" not in ptx()


def test_missing_library_names_the_functions_and_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libdevice, "find", lambda: None)
    with pytest.raises(FileNotFoundError, match=r"__nv_sinf.*pip install nvidia-nvvm"):
        linked("__nv_sinf")


@pytest.mark.parametrize("kept", [0, 100, 1000, 200_000])
def test_damaged_library_is_named_with_the_remedy(kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = libdevice.find()
    assert whole is not None
    damaged = tmp_path / libdevice.FILE
    damaged.write_bytes(whole.read_bytes()[:kept])
    monkeypatch.setattr(libdevice, "find", lambda: damaged)
    with pytest.raises(OSError, match=rf"^{re.escape(str(damaged))} is not a libdevice .*: replace it \(pip install"):
        linked("__nv_sinf")


def test_library_that_lacks_a_function_is_named() -> None:
    with pytest.raises(OSError, match=r"libdevice\.10\.bc has no __nv_abacusf: replace it"):
        linked("__nv_abacusf")
