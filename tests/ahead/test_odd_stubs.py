"""Stubs of modules that are written in odd ways, for mypy and pyright."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kdsl.cli import main
from tests.ahead.test_stubs import ROOT, mypy

ODD = r'''
"""Odd."""
from __future__ import annotations
import functools, sys, enum, dataclasses
from dataclasses import dataclass, field, InitVar
from typing import Any, Callable, Final, Generic, NewType, TypeAlias, TypeVar, overload, ClassVar, Literal, Optional, AsyncIterator, Iterator
from os.path import *
import numpy as np
from kdsl import kernel, Ptr, f32, i32, struct, Constexpr

__all__ = ["k", "t", "np_", "over", "LIMIT"]
__all__ += ["Alias", "Plain"]
LIMIT: Final = 3
Alias: TypeAlias = "dict[str, int]"
UserId = NewType("UserId", int)
F = f32
T = TypeVar("T")
S = Optional[int]
def deco(f: Callable[..., T]) -> Callable[..., T]:
    @functools.wraps(f)
    def inner(*a: Any, **k: Any) -> T:
        return f(*a, **k)
    return inner

@overload
def over(x: int) -> int: ...
@overload
def over(x: str) -> str: ...
def over(x: Any) -> Any:
    return x

@deco
def decorated(x: int = 3, /, y: str = "a", *, z: float = 1.0) -> int:
    return x

async def ag() -> AsyncIterator[int]:
    yield 1

async def aw(x: int) -> int:
    return x

@functools.lru_cache(maxsize=4)
def cached(x: int) -> int:
    return x

class Plain:
    limit = 3
    table = [i for i in range(3)]
    empty = []  # type: ignore
    names: ClassVar[dict[str, int]] = {}
    if sys.version_info >= (3, 8):
        def conditional(self) -> int:
            return 1
    try:
        import json
    except ImportError:
        json = None
    def __init__(self, x: int, name: str = "x") -> None:
        self.x = x
        self.name: str | None = name
        self._hidden = [x]
        self.total = 0
    @property
    def double(self) -> int:
        return 2 * self.x
    @double.setter
    def double(self, v: int) -> None:
        self.x = v // 2
    @classmethod
    def make(cls) -> Plain:
        return cls(1)
    @overload
    def get(self, x: int) -> int: ...
    @overload
    def get(self, x: str) -> str: ...
    def get(self, x: Any) -> Any:
        return x

@dataclass
class D:
    a: int
    b: list[int] = field(default_factory=list)
    c: int = field(init=False, default=3)
    d: int = field(default=4, kw_only=True)
    e: InitVar[int] = 3

class Color(enum.Enum):
    RED = enum.auto()
    BLUE = 2

class Box(Generic[T]):
    def __init__(self, v: T) -> None:
        self.v = v
    def get(self) -> T:
        return self.v

class Outer:
    class Inner:
        @staticmethod
        @kernel
        def run(out: Ptr[i32]) -> None:
            out[0] = 1

class Other:
    class Inner:
        @staticmethod
        @kernel
        def run(out: Ptr[f32]) -> None:
            out[0] = 1

@kernel
def k(out: Ptr[i32], grid: i32, block: i32, config: i32, stream: i32) -> None:
    out[0] = grid

@kernel
def t(self: i32, out: Ptr[i32]) -> None:
    out[0] = self

@kernel
def np_(_t: i32, _k: i32, out: Ptr[i32]) -> None:
    out[0] = _t

@kernel
def _hidden(out: Ptr[i32]) -> None:
    out[0] = 1

@kernel
def kdsl(out: Ptr[i32]) -> None:
    out[0] = 1

if sys.platform == "win32":
    @kernel
    def cond(out: Ptr[i32]) -> None:
        out[0] = 1
else:
    @kernel
    def cond(out: Ptr[f32]) -> None:
        out[0] = 1

def plain(out: Ptr[i32]) -> None:
    out[0] = 1

aliased = kernel(plain)

@kernel
def twice(out: Ptr[i32]) -> None:
    out[0] = 1

@kernel
def twice(out: Ptr[f32]) -> None:
    out[0] = 1

match sys.platform:
    case "linux":
        where = 1
    case _:
        where = 2

(walrus := 3)
sq = lambda x: x * x
'''

USE = """
from typing import assert_type
import numpy as np
import kdsl as K
from odd import (
    Alias, Box, Color, D, F, LIMIT, Other, Outer, Plain, UserId, ag, aliased, aw, cached, cond, decorated, k, over, sq, t, twice, walrus, where,
)
ints, floats = np.zeros(1, np.int32), np.zeros(1, np.float32)
k[1, 1](ints, grid=1, block=2, config=3, stream=4)
k.prepare(1, 1, K.zeros(1, np.int32), grid=1, block=2, config=3, stream=4)
k.prepare(K.LaunchConfig(1, 1), K.zeros(1, np.int32), 1, 2, 3, 4)
k.launch_on(None, ints, 1, 2, 3, stream=4)
t[1, 1](self=1, out=ints)
Outer.Inner.run[1, 1](ints)
Other.Inner.run[1, 1](floats)
aliased[1, 1](ints)
cond[1, 1](floats)
twice[1, 1](floats)
p = Plain(3)
assert_type(p.x, int)
assert_type(p.name, str | None)
assert_type(p.total, int)
assert_type(p.double, int)
p.double = 4
assert_type(p.get("a"), str)
assert_type(p.conditional(), int)
assert_type(Plain.make(), Plain)
assert_type(over(1), int)
assert_type(over("x"), str)
assert_type(decorated(1), int)
d = D(1, [2], d=4, e=3)
assert_type(d.c, int)
assert_type(Box(3).v, int)
assert_type(Box("a").get(), str)
u = UserId(3)
c: Color = Color.RED
a: Alias = {"x": 1}
assert_type(where, int)
assert_type(walrus, int)
assert_type(cached(2), int)
async def main() -> None:
    async for i in ag():
        assert_type(i, int)
    assert_type(await aw(1), int)
"""

WRONG_HEAD = """
import numpy as np
from odd import D, LIMIT, Other, Outer, Plain, UserId, aliased, k, over, t, twice
ints, floats = np.zeros(1, np.int32), np.zeros(1, np.float32)
"""
WRONG = [
    "k[1, 1](floats, 1, 2, 3, 4)",
    "k[1, 1](ints, 1, 2, 3)",
    't[1, 1]("1", ints)',
    "Outer.Inner.run[1, 1](floats)",
    "Other.Inner.run[1, 1](ints)",
    "aliased[1, 1](floats)",
    "twice[1, 1](ints)",
    'Plain("a")',
    "over(1.5)",
    "D(1, [2], c=4)",
    'UserId("x")',
    "LIMIT = 4",
]

NEW = """
from __future__ import annotations
import dataclasses, sys
from typing import Any, Protocol, TypeAliasType, NamedTuple, TypedDict
import kdsl
from kdsl import kernel, Ptr, i32
type Pair[T] = tuple[T, T]
type Num = int | float
Old = TypeAliasType("Old", int)
def first[T](x: Pair[T]) -> T:
    return x[0]
class Box[T]:
    def __init__(self, v: T) -> None:
        self.v = v
    def get(self) -> T: return self.v
    class Deep:
        __slots__ = ("a",)
        def __init__(self) -> None:
            self.a: int = 3
class Point(NamedTuple):
    x: int
    y: int = 3
class TD(TypedDict, total=False):
    a: int
class P(Protocol):
    attr: int
    def run(self) -> int: ...
@dataclasses.dataclass(frozen=True, slots=True)
class Fr:
    a: int = 3
    def __post_init__(self) -> None:
        object.__setattr__(self, "b", 3)
@dataclasses.dataclass
class Post:
    a: int = 3
    def __post_init__(self) -> None:
        self.total = self.a
@kernel
def k[T: (kdsl.f32, kdsl.f64)](x: Ptr[T], n: i32 = 3) -> None:
    x[0] = n
try:
    raise ValueError
except* ValueError as e:
    handled = True
with open(__file__) as f:
    text = f.read()
class Base:
    @property
    def z(self) -> int: return 1
class Derived(Base):
    def __init__(self) -> None:
        self.w, self.q = 1, 2
        for self.i in range(3): pass
    def _private(self) -> None:
        self.__mangled = 3
stream = kdsl.Stream if False else None
"""
"""What Python 3.12 added."""

USE_NEW = """
from typing import assert_type
import numpy as np
from new import Box, Derived, Num, Pair, Point, Post, Fr, P, TD, Old, first, k, handled, text
assert_type(first((1, 2)), int)
assert_type(Box(3).v, int)
assert_type(Box.Deep().a, int)
x: Num = 3
y: Pair[int] = (1, 2)
assert_type(Point(1).y, int)
assert_type(Post(3).a, int)
Post(3).total = 4
Post(3).total
Fr(3)
t: TD = {"a": 3}
Derived().w
Derived().i
assert_type(Derived().z, int)
assert_type(handled, bool)
assert_type(text, str)
o: Old = 3
k[1, 1](np.zeros(3), 4)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd_stubs")
    modules = {"odd.py": ODD} | ({"new.py": NEW} if sys.version_info >= (3, 12) else {})
    for name, text in modules.items():
        (folder / name).write_text(text)
    (folder / "use.py").write_text(USE + (USE_NEW if "new.py" in modules else ""))
    (folder / "wrong.py").write_text(WRONG_HEAD + "\n".join(WRONG) + "\n")
    done = CliRunner().invoke(main, ["stubs", *(str(folder / name) for name in modules)])
    assert done.exit_code == 0, done.output
    return folder


def first_wrong_line() -> int:
    return WRONG_HEAD.count("\n") + 1


def test_mypy(project: Path) -> None:
    lines = mypy(project, "use.py", "wrong.py", "odd.pyi")
    assert [line for line in lines if not line.startswith("wrong.py")] == []
    found = {int(at[1]) for line in lines if (at := re.search(r":(\d+): error:", line))}
    assert found == set(range(first_wrong_line(), first_wrong_line() + len(WRONG)))


def test_pyright(project: Path) -> None:
    pytest.importorskip("pyright")
    (project / "pyrightconfig.json").write_text(
        json.dumps({"extraPaths": [str(ROOT)], "reportMissingModuleSource": False})
    )
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "use.py", "wrong.py", "odd.pyi"],
        cwd=project, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright could not be started: {done.stderr[-200:]}")
    found = [d for d in json.loads(done.stdout)["generalDiagnostics"] if d["severity"] == "error"]
    assert [d for d in found if not d["file"].endswith("wrong.py")] == []
    lines = {d["range"]["start"]["line"] + 1 for d in found}
    assert lines == set(range(first_wrong_line(), first_wrong_line() + len(WRONG)))


PACKAGE = {
    "__init__.py": "from .kern import fill as fill\nfrom .inner.deep import deep\n",
    "consts.py": "N = 4\n",
    "kern.py": (
        "from kdsl import Ptr, i32, kernel\nfrom .consts import N\n"
        "@kernel\ndef fill(out: Ptr[i32]) -> None:\n    out[0] = N\n"
    ),
    "inner/__init__.py": "",
    "inner/deep.py": (
        "from kdsl import Ptr, i32, kernel\nfrom ..consts import N\nfrom . import deep as itself\n"
        "@kernel\ndef deep(out: Ptr[i32]) -> None:\n    out[0] = N\n"
    ),
}


def test_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in PACKAGE.items():
        (tmp_path / "odd_package" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "odd_package" / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    names = ["odd_package", "odd_package.kern", "odd_package/inner/deep.py"]
    done = CliRunner().invoke(main, ["stubs", *names])
    assert done.exit_code == 0, done.output
    (tmp_path / "use.py").write_text(
        "import numpy as np\nfrom odd_package import deep, fill\n"
        "fill[1, 1](np.zeros(1, np.int32))\ndeep[1, 1](np.zeros(1, np.int32))\ndeep[1, 1]()\n"
    )
    assert [line.partition(" error:")[0] for line in mypy(tmp_path, "use.py")] == ["use.py:5:"]
    again = CliRunner().invoke(main, ["stubs", "odd_package/kern.py", "odd_package.kern"])
    assert again.exit_code == 1 and "is the stub of another module, too" in again.output


def test_star_imports_and_exports(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(
        "from os.path import *\nfrom math import pi\n__all__ = ['join', 'pi', 'late'] + ['k']\n__all__.append('size')\n"
        "globals()['late'] = 3\nsize = 4\nfrom kdsl import Ptr, i32, kernel\n"
        "@kernel\ndef k(out: Ptr[i32]) -> None:\n    out[0] = 1\n"
    )
    done = CliRunner().invoke(main, ["stubs", str(tmp_path / "made.py")])
    assert done.exit_code == 0, done.output
    lines = (tmp_path / "made.pyi").read_text().splitlines()
    assert lines[-2:] == ["late: int", "__all__ = ['join', 'pi', 'late', 'k', 'size']"]
    (tmp_path / "use.py").write_text("from made import join, late, pi, size\nprint(join, late, pi, size)\n")
    assert mypy(tmp_path, "use.py", "made.pyi") == []


ONE_KERNEL = "import kdsl\n\n\n@kdsl.kernel\ndef k(a: kdsl.Ptr[kdsl.f32]) -> None: ...\n\n\n"


def test_other_encodings(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_bytes(f'# -*- coding: latin-1 -*-\n{ONE_KERNEL}É: str = "é"\n'.encode("latin-1"))
    done = CliRunner().invoke(main, ["stubs", str(tmp_path / "made.py")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "made.pyi").read_text(encoding="utf-8").endswith("É: str\n")


def test_what_cannot_be_read_or_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, text in (("broken_package", "1 / 0\n"), ("made.pyi", "")):
        Path(folder).mkdir()
        Path(folder, "__init__.py").write_text(text)
    Path("made.py").write_text(ONE_KERNEL)
    Path("fine.py").write_text(ONE_KERNEL)
    for module, message in (
        ("broken_package.inner", "importing its package failed: ZeroDivisionError"),
        ("made.py", "Is a directory"),
        ("", "error: "),
        ("..up", "no package specified"),
        ("sys", "no file or module"),
    ):
        done = CliRunner().invoke(main, ["stubs", module])
        assert done.exit_code == 1 and message in done.output and "Traceback" not in done.output, done.output
    Path("fine.pyi").write_text("# Made by `kdsl stubs`: do not edit.\nold: int\n")

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    done = CliRunner().invoke(main, ["stubs", "fine.py"])
    assert done.exit_code == 1 and "No space left on device" in done.output
    assert "old: int" in Path("fine.pyi").read_text() and not list(tmp_path.glob(".kdsl-*"))
