"""`kdsl build`: the files that it writes, the header for C and C++ compilers, the loader for programs without kdsl."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

import kdsl
from kdsl.ahead.build import Build, build, default_name
from kdsl.cli import main
from kdsl.codegen.sass import find_tool
from kdsl.files import kernels_of, load_file
from tests.ahead.emulated_driver import EmulatedDriver

HERE = Path(__file__).parent
NEEDS_TOOLS = pytest.mark.skipif(
    find_tool("ptxas") is None or find_tool("fatbinary") is None, reason="needs ptxas and fatbinary"
)
pytestmark = NEEDS_TOOLS
SIGNATURES = {"count": {"step": 3}}


@pytest.fixture(scope="module")
def to_build() -> ModuleType:
    return load_file(HERE / "kernels_to_build.py")


@pytest.fixture(scope="module")
def made(to_build: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Build, Path]:
    folder = tmp_path_factory.mktemp("built")
    kernels = list(kernels_of(to_build).values())
    return build(kernels, folder, targets=["sm_90", "sm_80"], name="everything", signatures=SIGNATURES), folder


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def loader(made: tuple[Build, Path]) -> Any:
    """The loader on a driver that is the emulator, which runs the build's PTX in place of the fatbin."""
    module = loaded(made[1] / "everything.py")
    module.module._driver = EmulatedDriver()
    module.module.image = (made[1] / "everything.sm_90.ptx").read_bytes()
    return module


def test_files(made: tuple[Build, Path]) -> None:
    build_, folder = made
    names = {"everything.fatbin", "everything.py", "everything.h"}
    names |= {f"everything.{arch}.{kind}" for arch in ("sm_80", "sm_90") for kind in ("ptx", "cubin")}
    assert {path.name for path in build_.files} == {path.name for path in folder.iterdir()} == names
    for arch in ("sm_80", "sm_90"):
        assert f".target {arch}" in (folder / f"everything.{arch}.ptx").read_text()
        assert (folder / f"everything.{arch}.cubin").read_bytes().startswith(b"\x7fELF")
    fatbin = (folder / "everything.fatbin").read_bytes()
    assert fatbin[:4] == bytes.fromhex("50ed55ba")  # the magic number of fatbinary.h
    assert fatbin.count(b"\x7fELF") == 2


def test_the_fatbin_has_a_cubin_for_each_architecture_and_ptx_for_later_ones(made: tuple[Build, Path]) -> None:
    cuobjdump = find_tool("cuobjdump")
    if cuobjdump is None:
        pytest.skip("needs cuobjdump")
    fatbin = str(made[1] / "everything.fatbin")
    elves = subprocess.run([str(cuobjdump), "-lelf", fatbin], capture_output=True, text=True, check=True).stdout
    texts = subprocess.run([str(cuobjdump), "-lptx", fatbin], capture_output=True, text=True, check=True).stdout
    assert "sm_80" in elves and "sm_90" in elves
    assert "sm_90" in texts and "sm_80" not in texts


@pytest.mark.parametrize(
    "command", [["gcc", "-std=c11", "-Wpedantic"], ["g++", "-std=c++11"], ["g++", "-std=c++20"]], ids=" ".join
)
def test_header_compiles(made: tuple[Build, Path], command: list[str], tmp_path: Path) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    source = tmp_path / ("main.c" if command[0] == "gcc" else "main.cpp")
    source.write_text(
        '#include "everything.h"\n#include "everything.h"\n'
        "int main(void) { scale_params p; p.factor = 2.0f; records_params r; r.default_ = 3; r.z.imag = 1.0f;\n"
        "  Body b; b.history[2] = p.factor; b.register_ = r.default_; return b.register_ - 3; }\n"
    )
    program = tmp_path / "main"
    warned = [*command, "-Wall", "-Wextra", "-Werror", f"-I{made[1]}", str(source), "-o", str(program)]
    subprocess.run(warned, check=True)
    assert subprocess.run([str(program)], check=False).returncode == 0


def test_header_says_where_each_parameter_lies(made: tuple[Build, Path]) -> None:
    text = (made[1] / "everything.h").read_text()
    assert "    const float *x;\n    float *out;\n    float factor;\n    int32_t n;\n} scale_params;" in text
    assert 'KDSL_ASSERT(offsetof(rows_params, a_extent1) == 12, "rows_params.a_extent1");' in text
    compilation = made[0].compilations["sm_90"]
    for kernel, fields in compilation.params.items():
        for field in fields:
            member = (
                "default_" if field.name == "default" else field.name.replace(".", "_").replace("[", "_").rstrip("]")
            )
            member = "double_" if member == "double" else member
            assert (
                f"offsetof({kernel}_params, {member.rstrip('_') if '[' in field.name else member}) == {field.offset}"
                in text
            )


def test_loader_needs_nothing_of_kdsl(made: tuple[Build, Path]) -> None:
    program = (
        "import sys, everything; print(sorted(m for m in sys.modules if m.startswith(('kdsl', 'llvmlite', 'click'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=made[1], capture_output=True, text=True, check=True, env={"PATH": ""}
    )
    assert done.stdout.strip() == "[]"


def test_loader_passes_mypy(made: tuple[Build, Path], tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    use = tmp_path / "use.py"
    use.write_text(
        "import numpy as np\nfrom everything import scale\n"
        "scale[1, 32](np.zeros(3), np.zeros(3), 2.0, 3)\n"
        'scale[1, 32](np.zeros(3), np.zeros(3), 2.0, "3")\n'
        "scale[1, 32](np.zeros(3))\n"
        "scale(np.zeros(3), np.zeros(3), 2.0, 3)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache"), "use.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False, env={"PATH": "", "MYPYPATH": str(made[1])},
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 3, done.stdout
    assert 'use.py:4: error: Argument 4 to "__call__" of "ScaleLaunch" has incompatible type "str"' in errors[0]
    assert "use.py:5: error: Missing positional arguments" in errors[1]
    assert "use.py:6: error:" in errors[2] and "not callable" in errors[2]


def test_arrays(loader: Any) -> None:
    x = np.arange(100, dtype=np.float32)
    out = np.zeros_like(x)
    loader.scale[(4, 1), (32,)](x, out, factor=2, n=100)
    np.testing.assert_array_equal(out, 2 * x)
    a = np.arange(12, dtype=np.float64).reshape(3, 4)
    sums = np.zeros(3, np.int64)
    loader.rows[1, 32](a, sums)
    np.testing.assert_array_equal(sums, a.sum(axis=1))


def test_overlapping_arrays_are_one(loader: Any) -> None:
    x = np.arange(40, dtype=np.float32)
    loader.scale[1, 32](x[:20], x[10:30], 2.0, 10)
    np.testing.assert_array_equal(x, np.r_[0:10, np.arange(10) * 2, 20:40].astype(np.float32))


def test_device_arrays_stay_on_the_device(loader: Any) -> None:
    x = loader.to_device(np.arange(8, dtype=np.float32))
    out = loader.empty(8)
    loader.module.driver.calls.clear()
    loader.scale[1, 32](x, out, 3.0, 8)
    assert not [c for c in loader.module.driver.calls if "Memcpy" in c or "Synchronize" in c]
    np.testing.assert_array_equal(out.to_host(), 3 * np.arange(8, dtype=np.float32))
    del x, out


def test_numbers(loader: Any) -> None:
    out = np.zeros(7)
    loader.scalars[1, 1](out, True, -8, 200, 2**64 - 1, 0.5, 1 + 2**-8 + 2**-40, np.float64(1e300))
    brain = float(np.float64(1 + 2**-8 + 2**-40).astype(ml_dtypes.bfloat16))
    assert out.tolist() == [1, -8, 200, float(2**64 - 1), 0.5, max(brain, 1.0078125), 1e300]


def test_records(loader: Any, to_build: ModuleType) -> None:
    out = np.zeros(5, np.float32)
    bodies = np.zeros(2, to_build.Body.dtype)
    bodies[1]["position"]["y"], bodies[1]["weight"], bodies[1]["history"] = 1, [0, 0, 20, 0], [0, 0, 300]
    vec = to_build.Vec(1.5, 2.5)
    loader.records[1, 1](out, vec, 3 + 4j, (5, 6, 7, 8), bodies, 9)
    assert out.tolist() == [4, 3, 4, 8, 321] and bodies[0]["register"] == 9
    loader.records[1, 1](out, (1, 1), np.complex64(1), np.arange(4, dtype=np.float32), bodies, 9)
    assert out.tolist() == [2, 1, 0, 3, 321]


def test_tuples_and_constants(loader: Any, to_build: ModuleType) -> None:
    out = np.zeros(2, np.float32)
    loader.pairs[1, 1](out, to_build.Pair(1, 2.5), (3, 0.25))
    assert out.tolist() == [3.5, 3.25]
    total = np.zeros(1, np.int32)
    loader.count[2, 16](total)
    assert total[0] == 2 * 16 * 3


def test_bfloat16_arrays(loader: Any) -> None:
    out = np.zeros(1, np.float32)
    loader.brains[1, 1](np.array([1.5], ml_dtypes.bfloat16), out)
    assert out[0] == 1.5
    with pytest.raises(TypeError, match="argument `x` takes an array of bfloat16, got one of uint16"):
        loader.brains[1, 1](np.zeros(1, np.uint16), out)


F = np.zeros(4, np.float32)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((F, F, 1.0), TypeError, r"scale\(x, out, factor, n\): n missing"),
        ((F, F, 1.0, 1, 2), TypeError, "takes 4 arguments, got 5"),
        ((F.astype(np.float64), F, 1.0, 1), TypeError, "argument `x` takes an array of float32, got one of float64"),
        ((np.zeros((4, 4), np.float32)[:, 0], F, 1.0, 1), ValueError, "argument `x`: the array is not contiguous"),
        (([1.0], F, 1.0, 1), TypeError, "argument `x` takes a NumPy array or a CUDA array, got list"),
        ((F, F, 1.0, 2**31), ValueError, "argument `n`: 2147483648 does not fit"),
        ((F, F, 1.0, 1.5), TypeError, "argument `n` takes an int, got 1.5"),
        ((F, F, "1", 1), TypeError, "argument `factor` takes a real number, got '1'"),
        ((F, F, 1e300, 1), ValueError, r"argument `factor`: 1e\+300 does not fit"),
    ],
)
def test_wrong_arguments(loader: Any, arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        loader.scale[1, 32](*arguments)
    assert "cuLaunchKernel" not in loader.module.driver.calls and "cuMemAlloc" not in loader.module.driver.calls


def test_a_machine_without_a_driver(loader: Any) -> None:
    class NoDriver:
        def cuInit(self, flags: int) -> None:
            raise RuntimeError("libcuda.so.1 cannot be opened")

    loader.module._driver = NoDriver()
    for use in (lambda: loader.scale[1, 32](F, F.copy(), 1.0, 1), lambda: loader.empty(3), loader.synchronize):
        with pytest.raises(loader.CudaError, match="no NVIDIA driver was found; these kernels run on NVIDIA GPUs"):
            use()
    with pytest.raises(TypeError, match="takes an array of float32"):
        loader.scale[1, 32](F.astype(np.float64), F, 1.0, 1)


def test_read_only_arrays(loader: Any) -> None:
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    loader.scale[1, 32](frozen, np.zeros(4, np.float32), 1.0, 4)
    with pytest.raises(ValueError, match="argument `out`: the kernel writes to it, and the array is read-only"):
        loader.scale[1, 32](F, frozen, 1.0, 4)


def test_wrong_configurations(loader: Any) -> None:
    with pytest.raises(ValueError, match="takes 1 to 3 numbers of at least 1"):
        loader.scale[0, 32]
    with pytest.raises(TypeError, match=r"scale\[grid, block\]"):
        loader.scale[32]
    with pytest.raises(TypeError, match=r"launched as scale\[grid, block\]"):
        loader.scale(F, F, 1.0, 1)
    with pytest.raises(ValueError, match="count is compiled for at most 64 threads"):
        loader.count[1, 128]


def test_contracts_are_checked(loader: Any) -> None:
    x = np.zeros(100, np.float32)
    loader.guarded[2, 64](x, 100)
    loader.guarded.launch(x, n=100)
    loader.guarded.launch(x, 0)
    assert (x == 2).all()
    for launch, error in (
        (lambda: loader.guarded[2, 64](x, 101), r"guarded requires x.size >= n"),
        (lambda: loader.guarded[2, 64](x, -1), r"guarded requires n >= 0"),
        (lambda: loader.guarded[1, 64](x, 100), r"guarded requires grid.x \* 64 >= n"),
        (lambda: loader.guarded[2, 32](x, 100), r"guarded is compiled for blocks of \(64, 1, 1\)"),
        (lambda: loader.guarded.launch(x, 101), r"guarded requires x.size >= n"),
    ):
        with pytest.raises(ValueError, match=error):
            launch()
    assert (x == 2).all()
    with pytest.raises(TypeError, match="scale has no contract that says its grid and block"):
        loader.scale.launch(x, x, 1.0, 1)


def test_a_failed_build_writes_nothing(to_build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="unknown architecture 'sm_12'"):
        build(to_build.scale, tmp_path / "out", targets=["sm_90", "sm_12"])
    with pytest.raises(TypeError, match="parameter 'step' is Constexpr"):
        build(to_build.count, tmp_path / "out", targets=["sm_90"])
    assert not (tmp_path / "out").exists()


def test_names_are_checked(to_build: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'02_vadd' is no name that Python imports"):
        build(to_build.scale, tmp_path, targets=["sm_90"], name="02_vadd")
    with pytest.raises(ValueError, match="two kernels are called 'scale'"):
        build([to_build.scale, to_build.scale], tmp_path, targets=["sm_90"])
    with pytest.raises(ValueError, match="at least one architecture"):
        build(to_build.scale, tmp_path, targets="sm_90")
    assert default_name(Path("a/02_vadd.py")) == "vadd_kernels"


def test_command(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = [
        "build",
        f"{HERE / 'kernels_to_build.py'}",
        "-o",
        str(out),
        "--arch",
        "sm_80,sm_90",
        "--signature",
        "step=2",
    ]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert f"{out / 'kernels_to_build_kernels.fatbin'} (" in done.output
    refused = CliRunner().invoke(main, ["build", f"{HERE / 'kernels_to_build.py'}", "-o", str(out)])
    assert refused.exit_code == 1 and "--signature step=16" in refused.output
    one = CliRunner().invoke(main, ["build", f"{HERE / 'kernels_to_build.py'}::scale", "-o", str(out), "--name", "one"])
    assert one.exit_code == 0 and (out / "one.py").exists()
    itself = CliRunner().invoke(
        main, ["build", f"{HERE / 'kernels_to_build.py'}::scale", "-o", str(HERE), "--name", "kernels_to_build"]
    )
    assert itself.exit_code == 1 and "is the file of the kernels itself" in itself.output


def test_kdsl_build_is_public(to_build: ModuleType, tmp_path: Path) -> None:
    made = kdsl.build(to_build.scale, tmp_path, targets=["sm_90"])
    assert {path.name for path in made.files} >= {"kernels.py", "kernels.h", "kernels.fatbin"}
