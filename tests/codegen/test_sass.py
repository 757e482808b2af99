"""NVIDIA's tools: found, missing, refusing, and what they report."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdsl.codegen.sass import AssemblyError, Resources, ToolMissing, assemble, disassemble, find_tool, parse_report
from kdsl.target import Target

from .compile import ptx_of
from .test_vadd import vadd

SM_90 = Target.parse("sm_90")

# Printed by ptxas 12.4 for sm_80, and by 13.0 for sm_90.
REPORT_12 = """ptxas info    : 0 bytes gmem, 256 bytes cmem[3]
ptxas info    : Compiling entry function '_Z1kPfi' for 'sm_80'
ptxas info    : Function properties for _Z1kPfi
    160 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 32 registers, 256+16 bytes smem, 364 bytes cmem[0], 8 bytes cmem[2]
"""
REPORT_13 = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
ptxas info    : Compile time = 5.390 ms
ptxas info    : Compiling entry function 'b' for 'sm_90'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 1 barriers, 1088 bytes smem
"""


def test_a_report_is_read_kernel_by_kernel() -> None:
    assert parse_report(REPORT_12) == (Resources("_Z1kPfi", 32, 0, 256, 160, 8, 12, 372),)
    assert parse_report(REPORT_13) == (Resources("a", 12, 0, 0, 0, 0, 0, 0), Resources("b", 8, 1, 1088, 0, 0, 0, 0))


def test_sass_names_python_lines() -> None:
    assembled = assemble(ptx_of(vadd()), SM_90)
    assert assembled.cubin.startswith(b"\x7fELF")
    sass = disassemble(assembled.cubin)
    assert '"kernels.py", line 5' in sass
    assert "LDG.E" in sass


def test_ptxas_errors_are_exceptions_with_its_words() -> None:
    with pytest.raises(AssemblyError, match=r"ptxas kernel\.ptx, line \d+; error +: Unknown modifier '.foo'"):
        assemble(ptx_of(vadd()).replace("mad.lo", "mad.foo"), SM_90)


def test_an_architecture_that_ptxas_lacks() -> None:
    with pytest.raises(AssemblyError, match="sm_101"):
        assemble(ptx_of(vadd(), arch="sm_101"), Target.parse("sm_101"))


def test_tools_are_looked_for_on_path_first_then_in_the_toolkit(tmp_path: Path) -> None:
    for place in ("path", "toolkit/bin"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "nvdisasm").touch(mode=0o755)
    path, toolkit = str(tmp_path / "path"), str(tmp_path / "toolkit")
    assert find_tool("nvdisasm", {"PATH": path, "CUDA_HOME": toolkit}) == tmp_path / "path" / "nvdisasm"
    assert find_tool("nvdisasm", {"PATH": "", "CUDA_HOME": toolkit}) == tmp_path / "toolkit" / "bin" / "nvdisasm"


def test_a_missing_tool_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdsl.codegen.sass.find_tool", lambda name: None)
    with pytest.raises(ToolMissing, match="pip install nvidia-cuda-nvcc"):
        assemble(ptx_of(vadd()), SM_90)
