"""What `kdsl build` and `kdsl stubs` are asked wrongly is told, and leaves files as they were."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import kdsl
from kdsl import Constexpr, Ptr, f32
from kdsl.ahead.build import build
from kdsl.ahead.writing import write_files
from kdsl.cli import main
from tests.ahead.test_build import NEEDS_TOOLS

KERNELS = """
from kdsl import Ptr, f32, kernel

@kernel
def first(x: Ptr[f32]) -> None:
    x[0] = 1.0
"""


@kdsl.kernel
def first(x: Ptr[f32], n: Constexpr[int] = 1) -> None:
    x[0] = n


@kdsl.kernel
def second(x: Ptr[f32]) -> None:
    x[0] = 2.0


@kdsl.cuda_module
class both:
    @kdsl.kernel
    def one(x: Ptr[f32]) -> None:
        x[0] = 1.0

    @kdsl.kernel
    def two(x: Ptr[f32]) -> None:
        x[0] = 2.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "some.py").write_text(KERNELS)
    return tmp_path / "some.py"


def kdsl_command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


@pytest.mark.parametrize(
    ("more", "error", "text"),
    [
        ({"signatures": {"frist": {"n": 2}}}, TypeError, r"signatures names 'frist', which is no kernel \(did you mean 'first'\?\); there are: first, second"),
        ({"signatures": {"xyz": {}}}, TypeError, "signatures names 'xyz', which is no kernel; there are: first, second"),
        ({"signatures": {"first": {"m": 2}}}, TypeError, "m"),
        ({"signatures": [{"n": 2}]}, TypeError, r"signatures takes a dict, such as \{'first': \{'n': 16\}\}, got \[\{'n': 2\}\]"),
        ({"targets": ["sm_90", "sm_80", "sm_90"]}, ValueError, "targets names sm_90 twice; name each architecture once"),
        ({"targets": ["sm_90", ""]}, ValueError, "unknown architecture ''; known: sm_75"),
        ({"targets": []}, ValueError, "at least one architecture"),
        ({"name": ""}, ValueError, "name = '' is no name that Python imports"),
        ({"kernels": []}, ValueError, "at least one kernel"),
        ({"kernels": [first, len]}, TypeError, "takes kernels, got <built-in function len>; decorate it with @kernel first"),
        ({"kernels": 3}, TypeError, "takes kernels, got 3"),
    ],
)  # fmt: skip
def test_what_a_build_does_not_take(more: dict[str, Any], error: type[Exception], text: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"kernels": [first, second], "targets": ["sm_90"], **more}
    with pytest.raises(error, match=text):
        build(directory=tmp_path / "out", **asked)
    assert not (tmp_path / "out").exists()


@NEEDS_TOOLS
def test_a_module_of_kernels_is_built(tmp_path: Path) -> None:
    build(both, tmp_path, targets=["sm_90"], name="both")
    text = (tmp_path / "both.h").read_text()
    assert "ONE_ENTRY" in text and "TWO_ENTRY" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--arch", "sm_90,sm_90"], "error: targets names sm_90 twice"),
        (["--arch", "sm_90,"], "error: unknown architecture ''"),
        (["--arch", ""], "error: unknown architecture ''"),
        (["--arch", "sm_91"], "error: unknown architecture 'sm_91'; known: sm_75"),
        (["--name", ""], "error: name = '' is no name that Python imports"),
        (["--signature", "n=3"], "error: no kernel has a parameter or TypeVar 'n': first"),
    ],
)
def test_options_of_the_command(file: Path, arguments: list[str], text: str) -> None:
    done = kdsl_command("build", file, "-o", file.parent / "out", *arguments)
    assert done.exit_code == 1 and done.output.startswith(text)
    assert not (file.parent / "out").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no @kernel function in it"),
        ("x = 1\n", "there is no @kernel function in it"),
        ("raise ValueError('in the file')\n", "ValueError: in the file"),
        ("raise SystemExit(0)\n", "exited with 0 while it was imported"),
        ("def f(:\n", "error: invalid syntax"),
    ],
)
def test_files_without_kernels(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(text)
    done = kdsl_command("build", tmp_path / "odd.py", "-o", tmp_path / "out")
    assert done.exit_code == 1 and said in done.output and "kdsl/" not in done.output
    assert not (tmp_path / "out").exists()


def test_a_kernel_that_is_not_named(file: Path) -> None:
    done = kdsl_command("build", f"{file}::", "-o", file.parent / "out")
    assert (
        done.exit_code == 1
        and done.output == f"error: {file}:: names no kernel: write {file}::KERNEL, or {file} for all\n"
    )
    other = kdsl_command("build", f"{file}::frist", "-o", file.parent / "out")
    assert other.exit_code == 1 and "no kernel is called 'frist'; there are: first" in other.output


@NEEDS_TOOLS
def test_an_output_that_is_no_folder(file: Path) -> None:
    taken = file.parent / "taken"
    taken.write_text("")
    assert "is a file" in kdsl_command("build", file, "-o", taken).output
    inside = kdsl_command("build", file, "-o", taken / "out")
    assert inside.exit_code == 1 and inside.output.startswith("error: [Errno 20] Not a directory")
    with pytest.raises(FileExistsError, match="taken"):
        build(first, taken, targets=["sm_90"])


def test_stubs_that_are_printed_are_not_written(file: Path) -> None:
    for more in (["-o", str(file.parent)], ["--force"]):
        done = kdsl_command("stubs", file, "--print", *more)
        assert done.exit_code == 2 and "--print writes no file, and takes neither -o nor --force" in done.output
    assert list(file.parent.glob("*.pyi")) == []


OLD, NEW = {"a": b"1", "c": b"3"}, {"a": b"one", "b": b"two", "c": b"three"}


@pytest.mark.parametrize("with_links", [True, False])
@pytest.mark.parametrize("failing", ["a", "b", "c"])
def test_what_cannot_be_replaced_leaves_all_as_they_were(
    with_links: bool, failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, OLD)
    replace = Path.replace

    def refusing(path: Path, target: Path) -> Path:
        if target == tmp_path / failing:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(target))
        return replace(path, target)

    def no_links(*_: Any, **__: Any) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refusing)
        if not with_links:
            patch.setattr(os, "link", no_links)
        with pytest.raises(PermissionError, match=f"{failing}'"):
            write_files(tmp_path, NEW)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == OLD
    write_files(tmp_path, NEW)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == NEW
