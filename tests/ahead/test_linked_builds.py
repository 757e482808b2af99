"""Builds of kernels that call other compilers' functions: linked for each architecture, or refused."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from kdsl.ahead.build import build
from kdsl.cli import main
from kdsl.codegen.sass import find_tool
from kdsl.files import kernels_of, load_file
from kdsl.runtime import linking
from kdsl.runtime.images import architectures, check_loads, parts
from tests.ahead.emulated_driver import EmulatedDriver
from tests.ahead.test_build import NEEDS_TOOLS, loaded

pytestmark = [
    NEEDS_TOOLS,
    pytest.mark.skipif(linking.available() is None, reason="nvJitLink is not installed"),
]
FUNCTION = """
.version 7.8
.target sm_75
.address_size 64
.visible .func (.param .b32 r) one_more(.param .b32 a)
{ .reg .f32 %f; ld.param.f32 %f, [a]; add.rn.f32 %f, %f, 0f3F800000; st.param.f32 [r], %f; ret; }
"""
KERNELS = """
from pathlib import Path
from kdsl import Ptr, extern, f32, i32, kernel, thread_idx

@extern(link=Path({file!r}))
def one_more(a: f32) -> f32: ...

@kernel
def more(x: Ptr[f32], n: i32) -> None:
    i = thread_idx.x
    if i < n:
        x[i] = one_more(x[i])

@kernel
def plain(x: Ptr[f32]) -> None:
    x[0] = 2.0
"""


@pytest.fixture
def function(tmp_path: Path) -> Path:
    (tmp_path / "function.ptx").write_text(FUNCTION)
    return tmp_path / "function.ptx"


def of(file: Path, folder: Path) -> Path:
    """A file of kernels that are linked with another."""
    (folder / "kernels.py").write_text(KERNELS.format(file=str(file)))
    return folder / "kernels.py"


def command(file: Path, arch: str) -> Any:
    out = file.parent / "out"
    return CliRunner().invoke(main, ["build", str(file), "-o", str(out), "--arch", arch, "--name", "built"])


def test_ptx_is_linked_into_every_file(function: Path, tmp_path: Path) -> None:
    made = build(
        [*kernels_of(load_file(of(function, tmp_path))).values()], tmp_path, targets=["sm_80", "sm_90"], name="built"
    )
    assert len(made.files) == 7
    for target in ("sm_80", "sm_90"):
        ptx, cubin = (tmp_path / f"built.{target}.ptx").read_text(), (tmp_path / f"built.{target}.cubin").read_bytes()
        assert ".extern" not in ptx and f".target {target}\n" in ptx
        check_loads(cubin)
        assert architectures(cubin) == (target,)
        subprocess.run(
            [str(find_tool("ptxas")), f"-arch={target}", tmp_path / f"built.{target}.ptx", "-o", tmp_path / "x"],
            check=True,
        )
    images = [(part.kind, part.architecture) for part in parts((tmp_path / "built.fatbin").read_bytes())]
    assert sorted(images) == [("PTX", "sm_90"), ("cubin", "sm_80"), ("cubin", "sm_90")]
    loader: Any = loaded(tmp_path / "built.py")
    loader.module._driver = EmulatedDriver()
    loader.module.image = (tmp_path / "built.sm_90.ptx").read_bytes()
    x = np.arange(4, dtype=np.float32)
    loader.more[1, 32](x, 3)
    assert x.tolist() == [1, 2, 3, 3]


def test_there_is_no_ptx_of_what_is_linked_with_machine_code(function: Path, tmp_path: Path) -> None:
    ptxas = str(find_tool("ptxas"))
    subprocess.run([ptxas, "-c", "-arch=sm_90", function, "-o", tmp_path / "function.cubin"], check=True)
    file = of(tmp_path / "function.cubin", tmp_path)
    done = command(file, "sm_90")
    assert done.exit_code == 0, done.output
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == {"built.sm_90.cubin", "built.fatbin", "built.py", "built.h"}
    check_loads((out / "built.sm_90.cubin").read_bytes())
    images = [(part.kind, part.architecture) for part in parts((out / "built.fatbin").read_bytes())]
    assert images == [("cubin", "sm_90")]
    before = {path: path.read_bytes() for path in out.iterdir()}
    other = command(file, "sm_80,sm_90")
    assert other.exit_code == 1
    assert other.output.startswith("error: for sm_80: linking ") and "function.cubin" in other.output
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_what_is_not_linked_is_refused(function: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = of(function, tmp_path)
    function.write_text(FUNCTION.replace("one_more", "two_more"))
    said = "error: for sm_90: `one_more` is defined in none of more, plain (PTX of kdsl), "
    assert command(file, "sm_90").output.startswith(said)
    function.write_text("no image")
    assert "function.ptx: it is no PTX, cubin" in command(file, "sm_90").output
    function.unlink()
    assert "function.ptx" in command(file, "sm_90").output
    function.write_text(FUNCTION)
    monkeypatch.setattr(linking, "_bindings", lambda: None)
    missing = command(file, "sm_90")
    assert missing.exit_code == 1 and "pip install 'kdsl[link]'" in missing.output
    assert not (tmp_path / "out").exists()
    shown = CliRunner().invoke(main, ["show", f"{file}::more", "--stage", "sass"])
    assert shown.exit_code == 1 and shown.output.startswith("error: linking needs nvJitLink")
    alone = CliRunner().invoke(main, ["build", f"{file}::plain", "-o", str(tmp_path / "out")])
    assert alone.exit_code == 0, alone.output
