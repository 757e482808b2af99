"""The C header of a build: names of every kind, for C and C++ compilers, with CUDA's own header where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import kdsl
from kdsl.ahead.build import build
from kdsl.ahead.header import header
from kdsl.codegen.sass import find_tool
from kdsl.files import kernels_of, load_file
from kdsl.lang.types import ArrayType

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(
    find_tool("ptxas") is None or find_tool("fatbinary") is None, reason="needs ptxas and fatbinary"
)
SIGNATURES: dict[str, Any] = {"strided": {"x": ArrayType(kdsl.f32, 1, strided=True)}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("headers")
    for file, name in (("odd_kernels.py", "odd"), ("named_kernels.py", "names")):
        found = list(kernels_of(load_file(HERE / file)).values())
        build(found, out, targets=["sm_90"], name=name, signatures=SIGNATURES if name == "odd" else {})
    return out


def cuda_includes() -> list[str]:
    """Where cuda.h is."""
    nvcc = find_tool("nvcc") or find_tool("ptxas")
    assert nvcc is not None
    folders = [nvcc.resolve().parent.parent / "include", Path("/usr/local/cuda/include")]
    return [f"-isystem{folder}" for folder in folders if (folder / "cuda.h").exists()]


@pytest.mark.parametrize("command", ["gcc -std=c11", "gcc", "g++ -std=c++11", "g++ -std=c++20"])
@pytest.mark.parametrize("with_cuda", [False, True])
@pytest.mark.parametrize("name", ["odd", "names"])
def test_no_compiler_warns(folder: Path, tmp_path: Path, command: str, with_cuda: bool, name: str) -> None:
    compiler, *options = command.split()
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    includes = cuda_includes() if with_cuda else []
    if with_cuda and not includes:
        pytest.skip("needs cuda.h")
    source = tmp_path / ("main.c" if compiler == "gcc" else "main.cpp")
    source.write_text(
        f'{"#include <cuda.h>" if with_cuda else ""}\n#include "{name}.h"\nint main(void) {{ return 0; }}\n'
    )
    warned = [compiler, *options, "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{folder}", *includes]
    done = subprocess.run([*warned, "-c", str(source), "-o", "/dev/null"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_headers_of_several_builds_go_together(folder: Path, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    built = kernels_of(load_file(HERE / "odd_kernels.py"))["vectors"]
    build(built, tmp_path, targets=["sm_90"], name="again")
    text = re.sub("vectors_|VECTORS_", lambda found: f"other_{found[0]}", (tmp_path / "again.h").read_text())
    (tmp_path / "again.h").write_text(text)
    (tmp_path / "main.c").write_text('#include "odd.h"\n#include "again.h"\nint main(void) { return 0; }\n')
    command = [
        "gcc",
        "-Wall",
        "-Werror",
        f"-I{folder}",
        f"-I{tmp_path}",
        "-c",
        str(tmp_path / "main.c"),
        "-o",
        "/dev/null",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


SHARED = """
from kdsl import FixedArray, Ptr, f32, f32x4, i32, kernel, struct

@struct
class Point:
    lanes: f32x4
    {first}: {type}
    y: f32

@struct
class Chain:
    next: Ptr[Point]
    points: FixedArray[Point, 2]

@kernel
def {name}(chain: Chain, points: Ptr[Point]) -> None:
    points[0] = chain.points[1]
"""
BOTH = """
#include "one.h"
#include "two.h"
#include "one.h"
int main(void) {
    Point point = {{0, 0, 0, 0}, 3.0f, 4.0f};
    one_params a; two_params b;
    a.points = b.points = &point;
    a.chain.points[1] = *b.points;
    b.chain = a.chain;
    return b.chain.points[1].y == 4.0f ? 0 : 1;
}
"""


def compiled_with_both(tmp_path: Path, compiler: str, **second: str) -> subprocess.CompletedProcess[str]:
    """What a compiler says of a program that includes the headers of two builds, each of which has the structs."""
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    for name, more in (("one", {}), ("two", second)):
        file = tmp_path / f"{name}_source.py"
        file.write_text(SHARED.format(**{"name": name, "first": "x", "type": "f32", **more}))
        build([*kernels_of(load_file(file)).values()], tmp_path, targets=["sm_90"], name=name)
    source = tmp_path / ("main.c" if compiler == "gcc" else "main.cpp")
    source.write_text(BOTH)
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{tmp_path}", str(source)]
    return subprocess.run([*command, "-o", str(tmp_path / "main")], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_headers_that_share_structs_go_together(tmp_path: Path, compiler: str) -> None:
    done = compiled_with_both(tmp_path, compiler)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([str(tmp_path / "main")], check=False).returncode == 0


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
@pytest.mark.parametrize("change", [{"first": "z"}, {"type": "i32"}], ids=str)
def test_two_structs_of_one_name_are_told(tmp_path: Path, compiler: str, change: dict[str, str]) -> None:
    done = compiled_with_both(tmp_path, compiler, **change)
    assert done.returncode != 0
    assert "another header of kdsl has another struct Point: rename one of the two classes" in done.stderr


def members(text: str, struct: str) -> list[str]:
    body = re.search(rf"typedef struct {struct} \{{(.*?)\}}", text, re.DOTALL)
    assert body is not None, struct
    return re.findall(r"(\w+)(?:\[\d+\])*;", body[1])


def test_members_are_called_as_the_parameters_where_c_lets_them(folder: Path) -> None:
    text = (folder / "odd.h").read_text()
    assert members(text, "words_params") == [
        "x", "_x", "xor_", "bitand_", "char8_t_", "NULL_", "linux_", "default_", "default__", "int32_t_", "é", "_Bool_",
        "a", "a_extent0", "a_extent0_",
    ]  # fmt: skip
    assert members(text, "nested_params") == ["out", "p_0", "p_1_0", "p_1_1", "p_0_"]


def test_kernels_whose_names_differ_in_case_have_macros_of_their_own(folder: Path) -> None:
    text = (folder / "names.h").read_text()
    assert '#define ALONE_ENTRY "alone"\n' in text and '#define ALONE__ENTRY "Alone"\n' in text
    assert "#define STRASSE_ENTRY" in text and '#define STRASSE__ENTRY "strasse"\n' in text
    defined = re.findall(r"#define (\w+)", text)
    assert {name for name in defined if defined.count(name) > 1} == {"KDSL_ALIGN", "KDSL_ASSERT"}
    assert members(text, "Alone__params") == ["NAMES_H_", "alone_params", "ALONE_ENTRY_", "out"]
    assert members(text, "both_params_") == ["x"] and members(text, "size_t_") == ["int32_t_"]


def test_file_names_end_no_comment() -> None:
    assert header("x", "a*/b/*c.py", []).count("/*") == header("x", "a.py", []).count("/*")
    assert header("x", "a*/b/*c.py", []).count("*/") == header("x", "a.py", []).count("*/")
