"""A compilation that is found does all that one does that was just made."""

from __future__ import annotations

import json
import linecache
import os
import re
from abc import ABC
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pytest

import kdsl
from kdsl import Array, CompileError, LaunchConfigError, Ptr, cuda_module, f32, i32, kernel, thread_idx
from kdsl.cache import compilations
from kdsl.cache.process import CACHE
from kdsl.cache.report import report
from kdsl.cache.settings import Settings
from kdsl.cache.versions import own_files
from kdsl.compilation import Compilation, run_pipeline
from kdsl.compiler import Kernel
from tests.cache.programs import Sessions

SCALE = 2.0


@kernel(launch_bounds=64)
def scaled(a: Ptr[f32], out: Ptr[f32], n: i32):
    i = thread_idx.x
    if i < n:
        out[i] = a[i] * SCALE


def again(made: Any) -> Any:
    """The kernel as another process has it."""
    return Kernel(made.function, made.options)


def test_every_stage_is_there(sessions: Sessions) -> None:
    first = kdsl.compile(scaled, target="sm_90")
    found = kdsl.compile(again(scaled), target="sm_90")
    assert (sessions.count("hits"), sessions.count("misses")) == (1, 1)
    assert found.ptx == first.ptx
    assert found.kernels == ("scaled",)
    assert found.compiled == first.compiled
    assert (found.compiled[0].written, found.compiled[0].most_threads) == ((1,), 64)
    assert str(found.tree) == str(first.tree)
    assert found.llvm == first.llvm
    assert found.llvm_optimized == first.llvm_optimized
    assert found.params == first.params
    assert found.source == first.source
    assert repr(found) == repr(first)


def test_its_limits_hold(sessions: Sessions) -> None:
    a, out = np.ones(4, np.float32), np.zeros(4, np.float32)
    again(scaled)[1, 4](a, out, 4)
    found = again(scaled)
    found[1, 4](a, out, 4)
    assert sessions.count("hits") == 1
    with pytest.raises(LaunchConfigError, match="compiled for at most 64"):
        found[1, 65](a, out, 4)
    a.flags.writeable = False  # an array that is only read needs no copy back
    found[1, 4](a, out, 4)
    assert out.tolist() == [2.0] * 4


def test_a_rebound_name_is_noticed(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    a, out = np.ones(4, np.float32), np.zeros(4, np.float32)
    again(scaled)[1, 4](a, out, 4)
    found = again(scaled)
    found[1, 4](a, out, 4)
    assert out.tolist() == [2.0] * 4
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    found[1, 4](a, out, 4)
    assert out.tolist() == [5.0] * 4
    assert (sessions.count("hits"), sessions.count("misses")) == (1, 2)


def test_contents_that_change_are_noticed(sessions: Sessions) -> None:
    text = """
import numpy as np
from kdsl import *
from kdsl import kernel, constant
W = np.ones(4, np.float32)
@kernel
def k(out: Ptr[f32]):
    out[thread_idx.x] = constant.array(W)[thread_idx.x]
out = np.zeros(4, np.float32)
k[1, 4](out)
W[:] = 3
first = out.tolist()
k[1, 4](out)
result = first, out.tolist()
"""
    for expected in ((0, 2), (2, 2)):
        assert sessions.run(text) == (([1.0] * 4, [3.0] * 4), *expected)


def test_device_arrays_are_shared_with_kernels_that_are_compiled(sessions: Sessions) -> None:
    text = """
import numpy as np
from kdsl import *
from kdsl import kernel, device
D = device.array(4, f32, init=1.0)
C = constant.empty(4, f32)
@kernel
def first():
    D[thread_idx.x] += 1.0
@kernel
def second():
    D[thread_idx.x] *= {factor} + C[thread_idx.x]
first[1, 4]()
C.fill(2.0)
second[1, 4]()
result = D.to_host().tolist()
"""
    assert sessions.run(text.format(factor="1.0")) == ([6.0] * 4, 0, 2)
    assert sessions.run(text.format(factor="1.0")) == ([6.0] * 4, 2, 2)
    # The first is found, the second compiled.
    assert sessions.run(text.format(factor="2.0")) == ([8.0] * 4, 3, 3)


def test_a_module_of_kernels(sessions: Sessions) -> None:
    @cuda_module
    class kernels:
        @kernel
        def one(a: Ptr[f32]):
            a[thread_idx.x] = 1.0

        @kernel
        def two(a: Ptr[f32], b: Array[f32, 1]):
            b[thread_idx.x] = a[thread_idx.x] + SCALE

    for expected in ((0, 1), (1, 1)):
        loaded = kernels.load()
        a, b = np.zeros(4, np.float32), np.zeros(4, np.float32)
        loaded.one[1, 4](a)
        loaded.two[1, 4](a, b)
        assert b.tolist() == [3.0] * 4
        assert (sessions.count("hits"), sessions.count("misses")) == expected


def test_a_failed_check_says_the_same(sessions: Sessions) -> None:
    @kernel(debug=True)
    def beyond(a: Array[f32, 1], n: i32):
        a[n] = 1.0

    said = []
    for _ in range(2):
        with pytest.raises(kdsl.DeviceError) as error:
            again(beyond)[1, 1](np.zeros(4, np.float32), 7)
        said.append(str(error.value))
    assert said[0] == said[1]
    assert "test_recalled.py" in said[0]
    assert (sessions.count("hits"), sessions.count("misses")) == (1, 1)


def test_errors_are_not_kept(sessions: Sessions) -> None:
    @kernel
    def wrong(a: Ptr[f32]):
        a[0] = undefined  # noqa: F821

    for _ in range(2):
        with pytest.raises(CompileError, match="`undefined` is not defined"):
            kdsl.compile(again(wrong), target="sm_90")
    assert not list((sessions.folder / "cache" / "files").iterdir())


def test_registered_text_and_notebook_cells(sessions: Sessions) -> None:
    text = "@kernel\ndef k(a: Ptr[f32]):\n    a[thread_idx.x] = {value}\n"

    def cell(value: str, name: str) -> list[float]:
        source = text.format(value=value)
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        scope: dict[str, Any] = {"kernel": kernel, "Ptr": Ptr, "f32": f32, "thread_idx": thread_idx}
        exec(compile(source, name, "exec"), scope)
        out = np.zeros(2, np.float32)
        scope["k"][1, 2](out)
        return out.tolist()

    assert cell("1.0", "/tmp/ipykernel_1/123.py") == [1.0, 1.0]
    # Another session of the notebook has another folder.
    assert cell("1.0", "/tmp/ipykernel_2/123.py") == [1.0, 1.0]
    assert cell("2.0", "<ipython-input-1-abc>") == [2.0, 2.0]
    assert cell("3.0", "<ipython-input-1-abc>") == [3.0, 3.0]
    assert (sessions.count("hits"), sessions.count("misses")) == (1, 3)


def test_scripts_of_one_name(sessions: Sessions) -> None:
    text = "import numpy as np\nfrom kdsl import *\nfrom kdsl import kernel\nN = {n}\n@kernel\ndef k(a: Ptr[f32]):\n    a[0] = N\na = np.zeros(1, np.float32)\nk[1, 1](a)\nresult = a.tolist()\n"
    for n in (1.0, 2.0, 1.0, 2.0):
        assert sessions.run(text.format(n=n), run_name="__main__")[0] == [n]
    assert (sessions.count("hits"), sessions.count("misses")) == (2, 2)


def test_a_file_that_changed_since_it_was_imported(sessions: Sessions, tmp_path: Path) -> None:
    text = "from kdsl import *\nfrom kdsl import kernel\n@kernel\ndef k(a: Ptr[f32]):\n    a[0] = {value}\n"
    scopes = []
    file = tmp_path / "changing.py"
    for value in ("1.0", "2.0"):
        file.write_text(text.format(value=value))
        scope: dict[str, Any] = {}
        exec(compile(file.read_text(), str(file), "exec"), scope)
        scopes.append(scope)
    linecache.checkcache()
    kdsl.compile(scopes[1]["k"], target="sm_90")
    with pytest.raises(CompileError, match="has changed since it was imported"):
        kdsl.compile(scopes[0]["k"], target="sm_90")
    file.write_text(text.format(value="1.0"))
    linecache.checkcache()
    assert "1065353216" in kdsl.compile(scopes[0]["k"], target="sm_90").ptx  # the bits of 1.0
    with pytest.raises(CompileError, match="has changed since it was imported"):
        kdsl.compile(again(scopes[1]["k"]), target="sm_90")


class Dtyped:
    """Might be taken for a type."""

    dtype = np.dtype(np.float32)
    value = 1.0


STRANGE = Dtyped()


@kernel
def strange(a: Ptr[f32]):
    a[thread_idx.x] = STRANGE.value


def test_what_cannot_be_told_from_others_is_not_kept(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    out = np.zeros(2, np.float32)
    again(strange)[1, 2](out)
    monkeypatch.setattr(Dtyped, "value", 2.0)
    again(strange)[1, 2](out)
    assert out.tolist() == [2.0, 2.0]
    assert sessions.count("hits") == 0
    (note,) = (sessions.folder / "cache" / "files").glob("*.uncached.json")
    assert "cache.test_recalled.Dtyped" in note.read_text()


class Says(type):
    """Says what its instances are, whatever they are."""

    answer = True

    def __instancecheck__(cls, _: object) -> bool:
        return Says.answer


class Family(metaclass=Says):
    """Has no instances of its own."""


class Plain:
    """Holds nothing."""


PLAIN = Plain()


@kernel
def asks(a: Ptr[f32]):
    a[thread_idx.x] = 1.0 if isinstance(PLAIN, Family) else 2.0


def test_a_class_that_says_what_its_instances_are(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    out = np.zeros(2, np.float32)
    again(asks)[1, 2](out)
    monkeypatch.setattr(Says, "answer", False)
    again(asks)[1, 2](out)
    assert out.tolist() == [2.0, 2.0]


class Abstract(ABC):
    """Has the instances of what is registered with it."""


@runtime_checkable
class Scales(Protocol):
    """Has the instances of what has its method."""

    def scale(self) -> float: ...


@kernel
def asks_abstract(a: Ptr[f32]):
    a[thread_idx.x] = 1.0 if isinstance(PLAIN, Abstract) else 2.0


@kernel
def asks_protocol(a: Ptr[f32]):
    a[thread_idx.x] = 1.0 if isinstance(PLAIN, Scales) else 2.0


def test_what_is_registered_with_an_abstract_class(sessions: Sessions) -> None:
    out = np.zeros(2, np.float32)
    again(asks_abstract)[1, 2](out)
    assert out.tolist() == [2.0, 2.0]
    Abstract.register(Plain)
    again(asks_abstract)[1, 2](out)
    assert out.tolist() == [1.0, 1.0]


def test_what_has_the_methods_of_a_protocol(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    out = np.zeros(2, np.float32)
    again(asks_protocol)[1, 2](out)
    assert out.tolist() == [2.0, 2.0]
    monkeypatch.setattr(Plain, "scale", lambda self: 1.0, raising=False)
    again(asks_protocol)[1, 2](out)
    assert out.tolist() == [1.0, 1.0]


def test_another_compiler_finds_nothing(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    kdsl.compile(scaled, target="sm_90")
    kdsl.compile(again(scaled), target="sm_90")
    assert sessions.count("hits") == 1
    monkeypatch.setattr(CACHE.current(), "compiler", ["another"])
    kdsl.compile(again(scaled), target="sm_90")
    assert (sessions.count("hits"), sessions.count("misses")) == (1, 2)


def test_another_target_or_option_is_another_entry(sessions: Sessions) -> None:
    kdsl.compile(scaled, target="sm_90")
    kdsl.compile(scaled, target="sm_80")
    kdsl.compile(scaled, target="sm_90", options={"fastmath": True})
    assert (sessions.count("hits"), sessions.count("misses")) == (0, 3)


def test_another_libdevice_is_another_entry(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import math

    from kdsl.cache import dependencies

    @kernel
    def sines(a: Ptr[f32]):
        a[thread_idx.x] = math.sin(a[thread_idx.x])

    kdsl.compile(again(sines), target="sm_90")
    kdsl.compile(again(sines), target="sm_90")
    assert (sessions.count("hits"), sessions.count("misses")) == (1, 1)
    other = tmp_path / "other.bc"
    monkeypatch.setattr(dependencies, "find", lambda: other)
    for content in (b"1", b"2"):
        other.unlink(missing_ok=True)
        other.write_bytes(content)
        os.utime(other, (1, 1))  # as installers do that want the same bytes each time
        kdsl.compile(again(sines), target="sm_90")
    kdsl.compile(again(scaled), target="sm_90")
    assert (sessions.count("hits"), sessions.count("misses")) == (1, 4)


def test_a_kdsl_that_is_worked_on_has_no_version(tmp_path: Path) -> None:
    folder = tmp_path / "kdsl"
    (folder / "lang").mkdir(parents=True)
    (folder / "lang" / "types.py").write_text("a = 1")
    first = own_files(folder)
    assert own_files(folder) == first
    (folder / "lang" / "types.py").write_text("a = 12")
    second = own_files(folder)
    (folder / "lang" / "more.py").write_text("")
    third = own_files(folder)
    record = tmp_path / f"kdsl-{kdsl.__version__}.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("an installed one has a list of its files: 1")
    os.utime(record, (1, 1))
    installed = own_files(folder)
    record.write_text("an installed one has a list of its files: 2")
    os.utime(record, (1, 1))
    assert len({str(found) for found in (first, second, third, installed, own_files(folder))}) == 5


def test_what_changes_while_it_is_compiled_is_not_kept(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    def changing(*arguments: Any) -> Compilation:
        made = run_pipeline(*arguments)
        monkeypatch.setitem(globals(), "SCALE", 5.0)
        return made

    monkeypatch.setitem(globals(), "SCALE", 3.0)
    with monkeypatch.context() as patch:
        patch.setattr(compilations, "run_pipeline", changing)
        assert "0f40400000" in text_of(again(scaled))
    assert not list((sessions.folder / "cache" / "files").iterdir())
    for _ in range(2):
        assert "0f40A00000" in text_of(again(scaled))
    assert (sessions.count("hits"), sessions.count("misses")) == (1, 2)


def text_of(made: Any) -> str:
    """With f32 constants as PTX has them."""
    return re.sub(r"0f([0-9a-fA-F]{8})", lambda m: f"0f{m[1].upper()}", kdsl.compile(made, target="sm_90").ptx)


WRONG: list[Any] = [None, 1, "x", [], {}, [1], [[1]], [[[1, 2, 3]]], [[["part", -1, "globals"]]], [[["part", 99, "x"]]],
    [[["part", 0, ["x"]]]], [[["no way", 0, "x"]]], [[["global", 0, "x"]]], {"kernels": [], "variables": [["x", 99]], "externs": []},
    {"kernels": [[1, 2, 3]], "variables": [], "externs": []}, {"kernels": [["k", "a", "b", "c", "d", "e"]], "variables": [], "externs": []},
    {"kernels": [[5, None, None, None, False, 1]], "variables": [], "externs": []},
    {"kernels": [["k", None, None, [1], False, 1]], "variables": [], "externs": []}, {"kernels": 1, "variables": 1, "externs": 1},
    {"kernels": [], "variables": [["x", 0]], "externs": []}, {"kernels": [], "variables": [], "externs": [0]}]  # fmt: skip
TEXTS = [b"", b"{", b"\xff", b"[" * 100_000, b'{"kernels": [], "variables": [[0, ' + b"9" * 5000 + b"]]}", b"NaN",
         *(json.dumps(one).encode() for one in WRONG)]  # fmt: skip


@pytest.mark.parametrize("kind", ["recipes.json", "entry.json", "uncached.json"])
def test_what_another_program_wrote_is_made_again(kind: str, sessions: Sessions) -> None:
    """Its seal is right, for that is no secret."""
    right = kdsl.compile(again(scaled), target="sm_90").ptx
    kdsl.compile(again(strange), target="sm_90")
    cache = CACHE.current()
    assert cache is not None
    (name,) = [entry.name for entry in cache.store.files() if entry.name.endswith(kind)]
    for text in TEXTS:
        assert cache.store.write(name, text)
        made = kdsl.compile(again(scaled), target="sm_90")
        assert (made.ptx, made.kernels) == (right, ("scaled",)), text
        report(Settings(cache.store.folder))
    assert kdsl.compile(again(scaled), target="sm_90").key is not None
