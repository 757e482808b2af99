"""The `kdsl` command: what it prints, where, and with which exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kdsl.cli import main
from kdsl.codegen.sass import find_tool
from kdsl.device_choice import Devices
from kdsl.version import __version__

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
VADD = str(EXAMPLES / "02_vadd.py")

HEADER = "from kdsl import Ptr, block_dim, block_idx, f32, i32, kernel, thread_idx\n"
GOOD = HEADER + (
    "@kernel\ndef good(a: Ptr[f32], n: i32) -> None:\n    i = thread_idx.x\n    if i < n:\n        a[i] = 1.0\n"
)
BAD = GOOD + ("@kernel\ndef bad(a: Ptr[f32], n: i32) -> None:\n    a[0] = missing\n    a[n] = a[n] @ a[n]\n")
BARE = HEADER + "@kernel\ndef bare(a, n):\n    a[thread_idx.x] = n\n"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def written(folder: Path, text: str, name: str = "kernels.py") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_version() -> None:
    assert call("--version").output == f"kdsl {__version__}\n"


def test_the_package_runs_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "kdsl", "--version"], capture_output=True, text=True, timeout=120)
    assert done.stdout == f"kdsl {__version__}\n"


def test_demo_verifies() -> None:
    result = call("demo", "--device", "emulator")
    assert result.exit_code == 0, result.output
    for part in ("def vadd", ".entry vadd", "ran on: emulator", "parse and check", "emit", "verified"):
        assert part in result.output
    assert "1000000 elements" in result.output


def test_demo_trace_shows_every_device_call() -> None:
    # A process of its own: only devices that are started after this are traced.
    done = subprocess.run(
        [sys.executable, "-m", "kdsl", "demo", "--device", "emulator", "--trace"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    output = done.stdout[done.stdout.index("stage times") :]
    for step in ("parse and check", "lower", "optimize", "emit", "load", "alloc", "write", "launch", "read", "free"):
        assert step in output


def test_show_ptx_of_vadd() -> None:
    ptx = call("show", f"{VADD}::vadd", "--stage", "ptx", "--arch", "sm_90").output
    entry = ptx[ptx.index(".entry vadd(") :]
    assert [line.split()[1] for line in entry.splitlines() if line.strip().startswith(".param")] == [".u64"] * 3 + [
        ".u32"
    ]
    assert "mad.lo.s32" in ptx
    assert ptx.count("setp.") == 1
    assert "mul.wide.s32" in ptx
    assert ptx.count("ld.global") == 2
    assert ptx.count("st.global") == 1
    for word in (".local", ".extern", "debug"):
        assert word not in ptx


def test_show_params_of_vadd() -> None:
    lines = call("show", f"{VADD}::vadd", "--stage", "params").output.splitlines()
    assert lines[0] == "vadd: 28 bytes"
    assert [line.split() for line in lines[2:]] == [
        ["0", "8", ".u64", "a"],
        ["8", "8", ".u64", "b"],
        ["16", "8", ".u64", "c"],
        ["24", "4", ".u32", "n"],
    ]


def test_show_tree_and_llvm() -> None:
    assert "vadd" in call("show", VADD, "--stage", "tree").output
    assert 'define ptx_kernel void @"vadd"' in call("show", VADD, "--stage", "llvm").output
    assert "define ptx_kernel void @vadd" in call("show", VADD, "--stage", "llvm-opt").output


def test_show_all_and_sass() -> None:
    output = call("show", VADD, "--stage", "all").output
    for stage in ("tree", "llvm", "llvm-opt", "ptx", "params", "sass"):
        assert f"==== {stage}\n" in output
    assert "registers" in output
    assert "LDG" in output


def test_show_all_says_what_a_missing_tool_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdsl.codegen.sass.find_tool", lambda name: None)
    result = call("show", VADD, "--stage", "all")
    assert result.exit_code == 0
    assert ".entry vadd" in result.output
    assert "==== sass\nptxas was not found: pip install" in result.output
    assert call("show", VADD, "--stage", "sass").exit_code == 1


def test_show_passes_over_kernels_without_annotations(tmp_path: Path) -> None:
    result = call("show", written(tmp_path, BARE + GOOD[len(HEADER) :]))
    assert result.exit_code == 0
    assert "bare: passed over" in result.stderr
    assert ".entry good(" in result.stdout
    assert ".entry bare" not in result.stdout
    named = call("show", written(tmp_path, BARE) + "::bare")
    assert named.exit_code == 1
    assert "bare: `a` has no annotation" in named.stderr
    assert "say it: --signature a='Ptr[f32]'" in named.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "nowhere.py"), "nowhere.py: No such file"),
        (("show", f"{VADD}::nothing"), "no kernel is called 'nothing'; there are: vadd"),
        (("show", VADD, "--arch", "sm_999"), "sm_999"),
        (("show", VADD, "--arch", "banana"), "banana"),
        (("show", VADD, "--stage", "nothing"), "nothing"),
        (("run", "nowhere.py"), "nowhere.py: no such file"),
        (("demo", "--device", "abacus"), "no device is called 'abacus'"),
    ],
)
def test_bad_arguments(arguments: tuple[str, ...], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code != 0
    assert message in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        (
            "KDSL_DEVICE=abacus",
            "KDSL_DEVICE=abacus: no device is called 'abacus'; choose 'cuda', 'cuda:N', 'emulator' or 'emulator:N'",
        ),
        ("KDSL_STEP_LIMIT=1e9", "KDSL_STEP_LIMIT=1e9: the emulator's step limit is a whole number of at least 1"),
        ("KDSL_STEP_LIMIT=0", "KDSL_STEP_LIMIT=0: the emulator's step limit is a whole number of at least 1"),
    ],
)
def test_bad_settings_are_said_without_a_traceback(
    variable: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kdsl.current.DEVICES", Devices())
    monkeypatch.setenv(*variable.split("="))
    path = written(tmp_path, "import kdsl\n\nkdsl.zeros(1, kdsl.f32)\n")
    result = call("run", path)
    assert (result.exit_code, result.stderr) == (1, f"{path}:3: error: {message}\n")
    result = call("demo")
    assert (result.exit_code, result.stderr) == (1, f"error: {message}\n")


def test_file_without_kernels(tmp_path: Path) -> None:
    for command in ("show", "check"):
        result = call(command, written(tmp_path, "x = 1\n"))
        assert result.exit_code == 1
        assert "there is no @kernel function in it" in result.stderr


def test_file_that_does_not_parse(tmp_path: Path) -> None:
    path = written(tmp_path, "def f(:\n    pass\n")
    for command in ("show", "check", "run"):
        result = call(command, path)
        assert result.exit_code == 1
        assert f"{path}:1:7: error:" in result.stderr
        assert "Traceback" not in result.output


def test_error_of_a_launch_while_the_file_is_imported_is_shown_without_a_traceback(tmp_path: Path) -> None:
    path = written(tmp_path, BAD + "import numpy as np\nbad[1, 1](np.zeros(1, np.float32), 0)\n")
    result = call("check", path)
    assert result.exit_code == 1
    assert "error: `missing` is not defined" in result.stderr
    assert 'put what launches kernels below if __name__ == "__main__":' in result.stderr
    assert "Traceback" not in result.stderr


def test_file_that_fails_to_import(tmp_path: Path) -> None:
    result = call("check", written(tmp_path, "import nothing_of_that_name\n"))
    assert result.exit_code == 1
    assert "ModuleNotFoundError" in result.stderr
    assert "load_file" not in result.stderr


def test_check_reports_every_error_and_launches_nothing(tmp_path: Path) -> None:
    result = call("check", written(tmp_path, BAD))
    assert result.exit_code == 1
    assert "kernels.py:9:12: error:" in result.stderr
    assert "kernels.py:10:12: error:" in result.stderr
    assert result.stderr.count("error:") == 2
    assert "good: ok" in result.stdout


def test_check_says_what_it_cannot_check(tmp_path: Path) -> None:
    result = call("check", written(tmp_path, BARE))
    assert result.exit_code == 0
    assert "syntax and names only" in result.stdout


OPEN = (
    HEADER
    + """
from collections.abc import Callable
from typing import TypeVar

from kdsl import Constexpr, f64

T = TypeVar("T", f32, f64)


def double(x: f32) -> f32:
    return x * 2.0


@kernel
def gen(x: Ptr[T], y: Ptr[T]) -> None:
    y[0] = x[0]


@kernel
def narrowed(x: Ptr[T], y: Ptr[f32]) -> None:
    y[0] = x[0]


@kernel
def applied(x: Ptr[f32], f: Callable[[f32], f32], n: Constexpr[int]) -> None:
    for i in range(n):
        x[i] = f(x[i])
"""
)


def test_check_types_what_is_generic(tmp_path: Path) -> None:
    path = written(tmp_path, OPEN)
    result = call("check", path)
    assert result.exit_code == 1
    assert "::gen: ok (with 2 signatures)" in result.stdout
    assert "this is f64, but `y` takes f32" in result.stderr and result.stderr.count("error:") == 1
    assert (
        "::applied: ok (syntax and names only: `f` is Callable, known when the kernel is compiled, `n` is int, known "
        "when the kernel is compiled; say it: --signature f=function --signature n=16)"
    ) in result.stdout
    said = call("check", "--signature", "f=double", "--signature", "n=3", path + "::applied")
    assert said.stdout.endswith("::applied: ok\n") and said.exit_code == 0
    assert call("check", "--signature", "T=f32", path).exit_code == 0


def test_show_takes_signatures(tmp_path: Path) -> None:
    path = written(tmp_path, OPEN)
    assert "gen: `T` may be f32 or f64; say it: --signature T=f32" in call("show", path + "::gen").stderr
    assert "ld.global.b64" in call("show", path + "::gen", "--signature", "T=f64").stdout
    assert "ld.global.b32" in call("show", path + "::gen", "--signature", "T=f32").stdout
    ptx = call("show", path + "::applied", "--signature", "f=double", "--signature", "n=2").stdout
    assert ptx.count("st.global") == 2
    bare = call("show", written(tmp_path, BARE) + "::bare", "--signature", "a=Ptr[f32]", "--signature", "n=f32")
    assert ".entry bare(" in bare.stdout


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("n=nothing", "--signature n=nothing: neither the file nor kdsl has the name 'nothing'"),
        ("n=open('x')", "write a literal, or a name of the file, instead of open('x')"),
        ("n", "--signature takes NAME=VALUE, such as T=f64 or n=16, got 'n'"),
        ("n=1 +", "'1 +' is no value of Python"),
        ("q=1", "no kernel has a parameter or TypeVar 'q'"),
        ("f=3", "applied: parameter `f` takes a function, got int 3"),
        ("T=i8", "gen: T is i8 in the signature, and it may be f32 or f64"),
        ("n=double.no", "double has no 'no'"),
        ("n=double[0]", "only types such as Ptr[f32] have brackets here, and this is double[0]"),
    ],
)
def test_signatures_that_say_nothing(tmp_path: Path, signature: str, message: str) -> None:
    path = written(tmp_path, OPEN)
    rest = ("--signature", "n=1") if signature.startswith("f") else ()
    for command in ("show", "check"):
        result = call(command, path, "--signature", signature, *rest)
        assert result.exit_code == 1
        assert message in result.stderr
        assert "Traceback" not in result.stderr


def test_run_passes_arguments_on(tmp_path: Path) -> None:
    path = written(tmp_path, "import sys\nprint(__name__, sys.argv[1:])\n")
    result = call("run", path, "--flag", "x")
    assert result.output == "__main__ ['--flag', 'x']\n"


def test_run_shows_kernel_errors_without_a_traceback(tmp_path: Path) -> None:
    text = "import numpy as np\n" + BAD + "bad[1, 1](np.zeros(4, np.float32), 1)\n"
    result = call("run", "--device", "emulator", written(tmp_path, text))
    assert result.exit_code == 1
    assert "kernels.py:10:12: error:" in result.stderr
    assert "Traceback" not in result.stderr


def test_run_names_the_line_of_a_fault(tmp_path: Path) -> None:
    text = "import numpy as np\n" + GOOD + "good[1, 32](np.zeros(4, np.float32), 32)\n"
    result = call("run", "--device", "emulator", written(tmp_path, text))
    assert result.exit_code == 1
    assert "kernels.py:7" in result.stderr
    assert "Traceback" not in result.stderr


def test_run_shows_a_programs_own_exception(tmp_path: Path) -> None:
    result = call("run", written(tmp_path, "def f():\n    return 1 / 0\nf()\n"))
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.stderr
    assert "runpy" not in result.stderr


def test_intrinsics_lists_functions_with_their_instructions() -> None:
    found = call("intrinsics", "reduce_add")
    assert found.exit_code == 0
    assert found.output.splitlines() == [
        "reduce_add_sync(mask: u32, value: I) -> I",
        "    The sum of value over the lanes of mask, which wraps. One instruction from sm_80, shuffles",
        "    before.",
        "    PTX: redux.sync.add",
        "    from sm_75",
    ]
    everything = call("intrinsics").output
    for name in ("thread_idx.x -> i32", "atomic.cas(", "math.sin(x: F) -> F", "fast.sin(x: f32) -> f32", "lop3("):
        assert f"\n{name}" in f"\n{everything}"


def test_intrinsics_without_a_match_is_an_error() -> None:
    nothing = call("intrinsics", "sync_threds")
    assert nothing.exit_code == 1
    assert "no function of the kernel language has 'sync_threds'" in nothing.output


def test_doctor() -> None:
    result = call("doctor")
    assert result.exit_code == 0
    for what in (
        "Python",
        "numpy",
        "llvmlite",
        "LLVM's NVPTX target",
        "libdevice",
        "ptxas",
        "nvdisasm",
        "NVIDIA driver",
    ):
        assert what in result.output


def test_check_takes_any_file_name_and_finds_kernels_in_classes(tmp_path: Path) -> None:
    text = (
        HEADER
        + "class A:\n    class B:\n        @staticmethod\n        @kernel\n        def k(n: i32) -> None:\n            pass\n"
    )
    file = written(tmp_path, text, name="kernels")
    result = call("check", file)
    assert (result.exit_code, result.output) == (0, f"{file}::A.B.k: ok\n")


def test_show_of_a_kernel_with_unusable_parameters_is_an_error(tmp_path: Path) -> None:
    result = call("show", written(tmp_path, HEADER + "@kernel\ndef k(n: i32, *rest) -> None:\n    pass\n"))
    assert result.exit_code == 1
    assert "`k` takes *args or **kwargs" in result.output


def readme_commands() -> list[str]:
    lines = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8").splitlines()
    return [line.partition("#")[0].strip() for line in lines if line.startswith("kdsl ")]


def test_the_readme_shows_commands() -> None:
    shown = {command.split()[1] for command in readme_commands()}
    assert shown == {"show", "run", "check", "intrinsics", "doctor", "build", "stubs", "cache"}


@pytest.mark.parametrize("command", readme_commands())
def test_command_of_the_readme(command: str, tmp_path: Path) -> None:
    if command.startswith("kdsl build") and (find_tool("ptxas") is None or find_tool("fatbinary") is None):
        pytest.skip("needs ptxas and fatbinary")
    command = command.replace("-o out", f"-o {tmp_path}")
    script = f'kdsl() {{ "{sys.executable}" -m kdsl "$@"; }}\n{command}'
    done = subprocess.run(["bash", "-c", script], cwd=EXAMPLES.parent, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert ("timeline" in done.stderr) is ("--trace" in command)


def test_intrinsics_know_cudas_names() -> None:
    assert call("intrinsics", "atomicAdd").stdout.startswith(
        "CUDA's atomicAdd: atomic.add(x, i, value)\natomic.add(array:"
    )
    assert "shfl.sync.down.b32" in call("intrinsics", "__shfl_down_sync").stdout
    assert call("intrinsics", "make_float4").stdout == "CUDA's make_float4: f32x4(x, y, z, w)\n"
    assert call("intrinsics", "no_such_name").exit_code == 1


@pytest.mark.parametrize(
    ("name", "said", "line"),
    [
        ("KDSL_DEVICE", "emulator:1", "ok       KDSL_DEVICE"),
        ("KDSL_DEVICE", "gpu", "missing  KDSL_DEVICE"),
        ("KDSL_STEP_LIMIT", "many", "missing  KDSL_STEP_LIMIT"),
    ],
)
def test_doctor_looks_at_what_the_environment_says(
    name: str, said: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, said)
    [found] = [each for each in call("doctor").output.splitlines() if name in each]
    assert found.strip().startswith(line)
    assert said in found


LONG = "a" * 300


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", LONG), f"{LONG}: no such file"),
        (("run", "."), ".: a folder, and no file"),
        (("run", "kernels.py::good"), "kernels.py::good: a program is run as a whole: kdsl run kernels.py"),
        (("stubs", LONG), f"error: there is no file or module '{LONG}' in Python"),
        (("stubs", "plain.py"), "plain.py: there is no kernel in it, and a stub would say nothing"),
        (("build", LONG, "-o", "out"), f"{LONG}: File name too long"),
    ],
)
def test_a_file_that_is_none_is_told_in_a_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, GOOD)
    written(tmp_path, "x = 1\n", "plain.py")
    result = call(*arguments)
    assert (result.output.strip(), result.exit_code) == (message, 1)
    assert not (tmp_path / "plain.pyi").exists()


def test_stubs_pass_over_a_module_without_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, GOOD)
    written(tmp_path, "x = 1\n", "plain.py")
    written(tmp_path, "from kernels import good\n", "other.py")
    result = call("stubs", "plain.py", "kernels.py", "other.py")
    assert result.exit_code == 0
    assert {path.name for path in tmp_path.glob("*.pyi")} == {"kernels.pyi", "other.pyi"}
