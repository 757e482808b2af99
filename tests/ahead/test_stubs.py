"""`kdsl stubs`: what mypy and pyright find in launches once they see a module's stub."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kdsl.ahead.stubs import MARK, stub
from kdsl.cli import main
from kdsl.files import load_file

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))

MODULE = '''
"""Kernels."""
from __future__ import annotations
import enum
import sys
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from collections.abc import Callable
import numpy as np
import kdsl
from kdsl import Array, Constexpr, Ptr, bf16, complex64, cuda_module, f32, f32x4, f64, i32, kernel, struct, u8

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T", f32, f64)
Alias = dict[str, int]
SIZES = (1, 2.5, "x")
TABLE = np.zeros(3)
first, (second, *others) = 1, (2, 3)
if sys.platform == "nowhere":
    somewhere: int = 3
try:
    import nothing_of_that_name as fast
except ImportError:
    fast = None
for step in range(3):
    total = step


class Mode(enum.IntEnum):
    SLOW = 0
    FAST = 1


class Pair(NamedTuple):
    x: i32
    y: f32 = 0.5


@struct
class Body:
    mass: f32 = 1.0

    def twice(self) -> f32:
        return 2 * self.mass


@kernel
def everything(a: Ptr[f32], rows: Array[u8, 2], brain: Ptr[bf16], n: i32, factor: f32, flag: bool, z: complex64,
               lanes: f32x4, body: Body, pair: Pair, t: tuple[i32, f32], bodies: Ptr[Body]) -> None:
    pass


@kernel
def generic(a: Ptr[T], size: Constexpr[int], mode: Constexpr[Mode], f: Callable, free, n: i32 = 3) -> None:
    pass


@cuda_module
class kernels:
    @kernel
    def hello(out: Ptr[i32]) -> None:
        out[0] = 42


class Holder:
    limit = 3

    @staticmethod
    @kernel
    def inner(out: Ptr[f64], n: i32) -> None:
        pass

    def plain(self, x: int = 5) -> str:
        return str(x)


def helper(a: list[int], *rest: str, key: bool = False, **more: float) -> Alias:
    return {}
'''

USE = """
import numpy as np
import torch_like
import kdsl
from typing import assert_type
from made import Body, Holder, Mode, Pair, SIZES, TABLE, T, everything, fast, first, generic, helper, kernels, others, step, total

a = np.zeros(3, np.float32)
rows = np.zeros((3, 3), np.uint8)
brain = kdsl.zeros(3, np.float32)
tensor = torch_like.Tensor()
bodies = np.zeros(3, np.dtype(Body))
everything[4, 256](a, rows, brain, 3, 2.0, True, 1j, (1, 2, 3, 4), Body(2), Pair(1), (1, 2.0), bodies)
everything[(4, 1), (256,), None, 0](a, rows, brain, np.int64(3), np.float32(2), np.True_, 1, [1, 2, 3, 4], Body(2), Pair(1, 2), (1, 2), bodies)
everything[kdsl.LaunchConfig(1, 2)](tensor, tensor, brain, n=3, factor=2, flag=True, z=1, lanes=(1, 2, 3, 4), body=Body(), pair=Pair(1), t=(1, 2), bodies=bodies)
generic[1, 1](np.zeros(3), 3, Mode.FAST, abs, "anything")
generic[1, 1](np.zeros(3), 3, Mode.FAST, abs, 5, 6)
kernels.load().hello[1, 1](np.zeros(1, np.int32))
kernels.hello[1, 1](np.zeros(1, np.int32))
Holder.inner[1, 1](np.zeros(1), 2)
everything.launch(brain, brain, brain, 3, 2.0, True, 1j, (1, 2, 3, 4), Body(2), Pair(1), (1, 2.0), bodies)
everything[4, 256](kdsl.In(a), kdsl.Out(rows), kdsl.InOut(tensor), 3, 2.0, True, 1j, (1, 2, 3, 4), Body(2), Pair(1), (1, 2.0), bodies)
everything.launch_on(None, brain, brain, brain, 3, 2.0, True, 1j, (1, 2, 3, 4), Body(2), Pair(1), (1, 2.0), bodies)
p = everything.prepare(1, 2, brain, brain, brain, 3, 2.0, True, 1j, (1, 2, 3, 4), Body(2), Pair(1), (1, 2.0), bodies)
p()
assert_type(Holder().plain(), str)
assert_type(helper([1], "a", key=True), dict[str, int])
assert_type(first, int)
assert_type(SIZES, tuple[int, float, str])
kdsl.compile(everything)
"""

WRONG = [
    ('everything[4, 256](np.zeros(3), rows, brain, 3, 2.0, True, 1j, (1, 2, 3, 4), Body(2), Pair(1), (1, 2.0), bodies)', 'Argument 1'),
    ('everything[4, 256](a, rows, brain, 3.5, 2.0, True, 1j, (1, 2, 3, 4), Body(2), Pair(1), (1, 2.0), bodies)', 'Argument 4'),
    ('everything[4, 256](a, rows, brain, 3, "2", True, 1j, (1, 2, 3, 4), Body(2), Pair(1), (1, 2.0), bodies)', 'Argument 5'),
    ('everything[4, 256](a, rows, brain, 3, 2.0, 1, 1j, (1, 2, 3, 4), Body(2), Pair(1), (1, 2.0), bodies)', 'Argument 6'),
    ('everything[4, 256](a, rows, brain, 3, 2.0, True, 1j, 4, Body(2), Pair(1), (1, 2.0), bodies)', 'Argument 8'),
    ('everything[4, 256](a, rows, brain, 3, 2.0, True, 1j, (1, 2, 3, 4), Pair(1), Pair(1), (1, 2.0), bodies)', 'Argument 9'),
    ('everything[4, 256](a, rows, brain, 3, 2.0, True, 1j, (1, 2, 3, 4), Body(2), Pair(1), (1, 2.0, 3), bodies)', 'Argument 11'),
    ('everything[4, 256](a)', 'Missing positional arguments'),
    ('everything[4](a)', 'Invalid index type'),
    ('everything[4.5, 256]', 'Invalid index type'),
    ('generic[1, 1](np.zeros(3), 3.5, Mode.FAST, abs, 5)', 'Argument 2'),
    ('generic[1, 1](np.zeros(3), 3, Mode.FAST, 7, 5)', 'Argument 4'),
    ('kernels.load().hello[1, 1](np.zeros(1))', 'Argument 1'),
    ('Holder.inner[1, 1](a, 2)', 'Argument 1'),
    ('everything.prepare(1, 2, brain)', 'No overload variant'),
    ('everything(a)', '"_everything" not callable'),
    ('kernels.load().hello(a)', 'not callable'),
]  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stubs")
    (folder / "made.py").write_text(MODULE)
    (folder / "torch_like.py").write_text(
        "from typing import Any\nclass Tensor:\n    @property\n    def __cuda_array_interface__(self) -> dict[str, Any]:\n        return {}\n"
    )
    done = CliRunner().invoke(main, ["stubs", str(folder / "made.py")])
    assert done.exit_code == 0, done.output
    assert done.output.strip() == str(folder / "made.pyi")
    return folder


def mypy(folder: Path, *files: str) -> list[str]:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--cache-dir",
        str(folder / ".cache"),
        *files,
    ]
    environment = {"PATH": "", "MYPYPATH": f"{folder}:{ROOT}"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert not done.stderr, done.stderr
    # kdsl itself is checked by the configuration of its own.
    return [line for line in done.stdout.splitlines() if line.startswith((*files, "made"))]


def test_mypy_passes_right_launches_and_finds_wrong_ones(project: Path) -> None:
    head = written(project)
    lines = mypy(project, "use.py", "wrong.py")
    assert [line for line in lines if not line.startswith("wrong.py")] == []
    start = head.count("\n") + 1
    errors = {int(found[1]): found[0] for line in lines if (found := re.search(r":(\d+): error:.*", line))}
    for number, (line, message) in enumerate(WRONG, start):
        assert message in errors.get(number, ""), (line, errors.get(number))
    assert len(errors) == len(WRONG)


def written(project: Path) -> str:
    """Write both programs; what the wrong one begins with."""
    (project / "use.py").write_text(USE)
    head = USE[: USE.index("everything[4, 256]")]
    (project / "wrong.py").write_text(head + "\n".join(line for line, _ in WRONG) + "\n")
    return head


def test_pyright_agrees(project: Path) -> None:
    pytest.importorskip("pyright")
    head = written(project)
    (project / "pyrightconfig.json").write_text(
        json.dumps({"extraPaths": [str(ROOT)], "reportMissingModuleSource": False})
    )
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "use.py", "wrong.py", "made.pyi"],
        cwd=project, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright could not be started: {done.stderr[-200:]}")
    found = [d for d in json.loads(done.stdout)["generalDiagnostics"] if d["severity"] == "error"]
    assert [d for d in found if not d["file"].endswith("wrong.py")] == []
    start = head.count("\n")
    assert {d["range"]["start"]["line"] for d in found} == set(range(start, start + len(WRONG)))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_stubs_of_the_examples_parse_and_name_all_that_is_public(path: Path) -> None:
    module = load_file(path)
    text = stub(module, path.read_text())
    declared: set[str] = set()
    for node in ast.parse(text).body:
        match node:
            case ast.Import(names) | ast.ImportFrom(names=names):
                declared |= {alias.asname or alias.name for alias in names}
            case ast.FunctionDef(name) | ast.ClassDef(name) | ast.AnnAssign(ast.Name(name)):
                declared.add(name)
            case ast.Assign([ast.Name(name)]):
                declared.add(name)
    assert {name for name in vars(module) if not name.startswith("_")} - declared <= {"annotations"}


def test_a_stub_of_someone_elses_is_kept(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(MODULE)
    theirs = tmp_path / "made.pyi"
    theirs.write_text("x: int\n")
    refused = CliRunner().invoke(main, ["stubs", str(tmp_path / "made.py")])
    assert refused.exit_code == 1 and "was not made by kdsl stubs; --force replaces it" in refused.output
    assert theirs.read_text() == "x: int\n"
    forced = CliRunner().invoke(main, ["stubs", "--force", str(tmp_path / "made.py")])
    assert forced.exit_code == 0 and theirs.read_text().startswith(MARK)
    again = CliRunner().invoke(main, ["stubs", str(tmp_path / "made.py")])
    assert again.exit_code == 0


def test_modules_by_name_and_what_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package_of_kernels"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "made.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["stubs", "package_of_kernels.made", "-o", "out"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "made.pyi").exists()
    for wrong in ("package_of_kernels.other", "nothing.of.that", "missing.py"):
        refused = CliRunner().invoke(main, ["stubs", wrong])
        assert refused.exit_code == 1 and "Traceback" not in refused.output, refused.output
    (tmp_path / "bad.py").write_text("from kdsl import kernel\n@kernel\ndef k(a: print) -> None:\n    pass\n")
    refused = CliRunner().invoke(main, ["stubs", "bad.py"])
    assert refused.exit_code == 1 and "bad.py:3:" in refused.output
