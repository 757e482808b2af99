"""Kernels that are linked with other compilers' code: found again, by the bytes of what was linked."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import kdsl
import kdsl.linking
from kdsl import Ptr, f32
from kdsl.cache import linked
from kdsl.cache.process import CACHE, linked_cached
from kdsl.linking import Linker, linked_for
from kdsl.runtime.cuda_errors import LinkError
from kdsl.runtime.images import Kind
from kdsl.runtime.linking import Input, Linked
from kdsl.runtime.machine import Machine
from tests.cache.programs import Program, Sessions, run

PTX = """
.version 7.8
.target sm_75
.address_size 64
.visible .func (.param .b32 r) {name}(.param .b32 a)
{{ .reg .f32 %f; ld.param.f32 %f, [a]; {instruction}.f32 %f, %f, {constant}; st.param.f32 [r], %f; ret; }}
"""
ONE, TWO = "0f3F800000", "0f40000000"
PROGRAM = """
import numpy as np
from pathlib import Path
from kdsl import Array, Ptr, bitcast, cuda_module, extern, f32, i32, kernel, load_module, thread_idx

@extern(link=Path({file!r}))
def more(a: f32) -> f32: ...

@kernel
def k(out: Ptr[f32]):
    out[thread_idx.x] = more(0.0)

out = np.zeros(4, np.float32)
k[1, 4](out)
result = out.tolist()
"""
HEAVY = ("llvmlite", "kdsl.frontend", "kdsl.codegen", "kdsl.ir.nodes", "cuda.bindings.nvjitlink")


def ptx(constant: str = ONE, name: str = "more", instruction: str = "add.rn") -> str:
    return PTX.format(name=name, constant=constant, instruction=instruction)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """More is one more."""
    (tmp_path / "more.ptx").write_text(ptx())
    return tmp_path / "more.ptx"


@pytest.fixture(autouse=True)
def linkings(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Input]]:
    """What was linked."""
    done = []

    def counted(backend: Any, architecture: str, inputs: Sequence[Input]) -> tuple[Linker, bytes]:
        done.append(inputs)
        return linked_for(backend, architecture, inputs)

    monkeypatch.setattr(linked, "linked_for", counted)
    return done


def of_kind(sessions: Sessions, ending: str) -> list[Path]:
    return sorted((sessions.folder / "cache" / "files").glob(f"*.{ending}"))


def test_a_second_process_neither_compiles_nor_links(tmp_path: Path, file: Path) -> None:
    text = PROGRAM.format(file=str(file))
    program = Program(tmp_path, f"{text}\nimport sys\nprint(result, [n for n in {HEAVY!r} if n in sys.modules])\n")
    cold, warm = run(program), run(program)
    assert cold.said.startswith("[1.0, 1.0, 1.0, 1.0] ['llvmlite', 'kdsl.frontend'")
    assert warm.said == "[1.0, 1.0, 1.0, 1.0] []"
    assert (warm.hits, warm.misses) == (1, 1)


def test_nothing_is_linked_twice(sessions: Sessions, file: Path, linkings: list[Any]) -> None:
    for expected in ((0, 1), (1, 1)):
        assert sessions.run(PROGRAM.format(file=str(file))) == ([1.0] * 4, *expected)
    assert len(linkings) == 1


def test_an_edited_file_is_noticed(sessions: Sessions, file: Path, linkings: list[Any]) -> None:
    text = PROGRAM.format(file=str(file))
    about = file.stat()
    assert sessions.run(text)[0] == [1.0] * 4
    file.write_text(ptx(TWO))
    # Neither the size nor the time tells.
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert file.stat().st_size == about.st_size
    # What a file holds is not compiled: the PTX is found, and linked with the other.
    assert sessions.run(text) == ([2.0] * 4, 1, 1)
    file.write_text(ptx())
    assert sessions.run(text) == ([1.0] * 4, 2, 1)
    assert len(linkings) == 2


def test_names_of_files_do_not_matter(sessions: Sessions, file: Path, linkings: list[Any]) -> None:
    sessions.run(PROGRAM.format(file=str(file)))
    (file.parent / "other").mkdir()
    moved = file.rename(file.parent / "other" / "name.ptx")
    assert sessions.run(PROGRAM.format(file=str(moved))) == ([1.0] * 4, 1, 1)
    assert len(linkings) == 1


def test_a_file_that_is_gone_is_an_error(sessions: Sessions, file: Path) -> None:
    sessions.run(PROGRAM.format(file=str(file)))
    file.unlink()
    with pytest.raises(FileNotFoundError, match=r"more\.ptx"):
        sessions.run(PROGRAM.format(file=str(file)))


# What is changed, the change, and the result.
CHANGES = {
    "the symbol": (("@extern(", "@extern(name='other', "), [7.0] * 4),
    "the type of a parameter": (("(a: f32) ->", "(a: i32) ->"), [1.0] * 4),
    "the type of the result": (("-> f32: ...", "-> i32: ..."), [float(0x3F800000)] * 4),
    "the function that is called": (("more(0.0)", "another(0.0)"), [7.0] * 4),
    "which function a name is": (("\n@kernel", "\nmore = another\n@kernel"), [7.0] * 4),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_a_declaration_is_noticed(name: str, sessions: Sessions, file: Path) -> None:
    file.write_text(
        ptx() + PTX[PTX.index(".visible") :].format(name="other", constant="0f40E00000", instruction="add.rn")
    )
    another = f"\n@extern(name='other', link={str(file)!r})\ndef another(a: f32) -> f32: ...\n\n@kernel"
    first = PROGRAM.format(file=str(file)).replace("\n@kernel", another)
    (old, new), result = CHANGES[name]
    changed = first.replace(old, new, 1)
    assert changed != first
    if name.startswith("the type of a parameter"):
        changed = changed.replace("more(0.0)", "more(0)")
    for misses in (1, 1):
        assert sessions.run(first)[::2] == ([1.0] * 4, misses)
    for misses in (2, 2):
        assert sessions.run(changed)[::2] == (result, misses)
    assert sessions.run(first)[::2] == ([1.0] * 4, 2)


MODULES = {
    "a kernel's link": """
@extern
def more(a: f32) -> f32: ...
@kernel(link=Path({file!r}))
def k(out: Ptr[f32]):
    out[thread_idx.x] = more(0.0)
""",
    "a module's link": """
@extern
def more(a: f32) -> f32: ...
@cuda_module(link={file!r})
class m:
    @kernel
    def k(out: Ptr[f32]):
        out[thread_idx.x] = more(0.0)
k = m.load().k
""",
    "a helper's function": """
@extern(link={file!r})
def more(a: f32) -> f32: ...
def helper(x):
    return more(x)
@kernel
def k(out: Ptr[f32]):
    out[thread_idx.x] = helper(0.0)
""",
    "two declarations of one function": """
@extern(name="more")
def first(a: f32) -> f32: ...
@extern(name="more", link={file!r})
def second(a: f32) -> f32: ...
@kernel
def k(out: Ptr[f32]):
    out[thread_idx.x] = (first(0.0) + second(0.0)) / 2.0
""",
    "a loaded module's link": """
TEXT = '''.version 7.8
.target sm_75
.address_size 64
.extern .func (.param .b32 r) more(.param .b32 a);
.visible .entry k(.param .u64 x)
{{
	.reg .b64 %d; .reg .f32 %f; .reg .b64 %i; .reg .b32 %r;
	ld.param.u64 %d, [x];
	{{ .param .b32 a; .param .b32 r; st.param.f32 [a], 0f00000000; call (r), more, (a); ld.param.f32 %f, [r]; }}
	mov.u32 %r, %tid.x;
	mul.wide.u32 %i, %r, 4;
	add.s64 %d, %d, %i;
	st.global.f32 [%d], %f;
	ret;
}}
'''
k = load_module(TEXT, link={file!r}).kernel("k", [Ptr[f32]])
""",
}


@pytest.mark.parametrize("name", MODULES)
def test_every_way_to_say_what_is_linked(name: str, sessions: Sessions, file: Path, linkings: list[Any]) -> None:
    before, rest = PROGRAM.split("@extern", 1)
    text = (before + MODULES[name] + rest[rest.index("\nout = ") :]).format(file=str(file))
    compiled = 0 if name == "a loaded module's link" else 1
    assert sessions.run(text) == ([1.0] * 4, 0, compiled)
    assert sessions.run(text) == ([1.0] * 4, compiled, compiled)
    assert len(linkings) == 1
    file.write_text(ptx(TWO))
    assert sessions.run(text) == ([2.0] * 4, 2 * compiled, compiled)
    assert len(linkings) == 2


@pytest.mark.parametrize("ending", ["linked", "ptx", "entry.json"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "another's"])
def test_a_damaged_file_is_made_again(ending: str, damage: str, sessions: Sessions, file: Path) -> None:
    text = PROGRAM.format(file=str(file))
    sessions.run(text)
    (kept,) = of_kind(sessions, ending)
    whole = kept.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 3] ^= 8
    other = kept.parent / "other.linked"
    CACHE.current().store.write(other.name, ptx(TWO).encode())  # type: ignore[union-attr]
    kept.write_bytes(
        {"cut": whole[:-9], "flipped": bytes(flipped), "empty": b"", "another's": other.read_bytes()}[damage]
    )
    assert sessions.run(text)[0] == [1.0] * 4
    if ending == "ptx":
        # LLVM counts calls through a process.
        assert re.sub(rb"callseq \d+", b"", kept.read_bytes()[:-80]) == re.sub(rb"callseq \d+", b"", whole[:-80])
    else:
        assert kept.read_bytes() == whole


def test_what_is_not_linked_is_not_kept(sessions: Sessions, file: Path) -> None:
    file.write_text(ptx(name="less"))
    for _ in range(2):
        with pytest.raises(LinkError, match="`more` is defined in none of"):
            sessions.run(PROGRAM.format(file=str(file)))
    assert not of_kind(sessions, "linked")
    file.write_text(ptx())
    assert sessions.run(PROGRAM.format(file=str(file))) == ([1.0] * 4, 2, 1)


def test_off_means_off(sessions: Sessions, file: Path, linkings: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KDSL_CACHE", "0")
    assert sessions.run(PROGRAM.format(file=str(file))) == ([1.0] * 4, 0, 0)
    assert linkings == [] and not (sessions.folder / "cache").exists()


def test_the_stages_of_one_that_is_found(sessions: Sessions, file: Path) -> None:
    @kdsl.extern(link=file)
    def more(a: f32) -> f32: ...

    @kdsl.kernel
    def k(out: Ptr[f32]) -> None:
        out[0] = more(0.0)

    made = kdsl.compile(k, target="sm_90")
    found = kdsl.compile(kdsl.Kernel(k.function, k.options), target="sm_90")
    assert sessions.count("hits") == 1
    assert made.link == found.link == (file,)
    assert [str(e) for e in found.externs] == ["more(f32) -> f32"]
    assert found.link_inputs() == made.link_inputs()


class Gpu:
    """A device whose driver links all but LTO-IR, and what it does not know."""

    name = "cuda"

    def __init__(self, release: str = "580.65.06", refuses: bool = False) -> None:
        self.machine = Machine("sm_90", (13, 0), release)
        self.refuses = refuses

    def link(self, inputs: Sequence[Input]) -> bytes:
        if self.refuses:
            raise LinkError("the driver knows no such thing")
        return b"driver's of " + b"".join(given.data for given in inputs)


FUNCTION, LTO = Input("a name", Kind.CUBIN, b"\x7fELF function"), Input("lto", Kind.LTO_IR, b"lto")


@pytest.fixture
def of_nvjitlink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for nvJitLink 13.0."""
    monkeypatch.setattr(kdsl.linking, "check_once", lambda _: None)
    monkeypatch.setattr(kdsl.linking, "link_inputs", lambda inputs, arch: Linked(b"nvJitLink's", arch))
    monkeypatch.setattr(kdsl.linking, "available", lambda: "13.0")
    monkeypatch.setattr(linked, "linker_version", lambda _: ["13.0"])


def load(gpu: Gpu, *inputs: Input, architecture: str = "sm_90") -> bytes:
    return linked_cached(gpu, architecture, inputs)  # type: ignore[arg-type]


@pytest.mark.usefixtures("sessions", "of_nvjitlink")
class TestOnAGpu:
    @pytest.mark.parametrize(
        ("gpu", "given", "image"),
        [
            (Gpu(), FUNCTION, b"driver's of \x7fELF function"),
            (Gpu(), LTO, b"nvJitLink's"),
            (Gpu(refuses=True), FUNCTION, b"nvJitLink's"),
        ],
        ids=["driver", "LTO-IR", "refused"],
    )
    def test_it_is_linked_once(self, gpu: Gpu, given: Input, image: bytes, linkings: list[Any]) -> None:
        assert load(gpu, given) == load(gpu, given) == load(gpu, Input("another name", given.kind, given.data)) == image
        assert len(linkings) == 1

    def test_what_makes_another_image(self, linkings: list[Any]) -> None:
        other = Input("a name", Kind.CUBIN, b"\x7fELF another")
        asked: list[tuple[Gpu, tuple[Input, ...], str]] = [
            (Gpu(), (FUNCTION,), "sm_90"),
            (Gpu(), (other,), "sm_90"),
            (Gpu(), (FUNCTION, other), "sm_90"),
            (Gpu(), (other, FUNCTION), "sm_90"),
            (Gpu(), (FUNCTION,), "sm_80"),
            (Gpu("590.1"), (FUNCTION,), "sm_90"),
            (Gpu(), (LTO,), "sm_90"),
        ]
        for _ in range(2):
            for gpu, inputs, architecture in asked:
                load(gpu, *inputs, architecture=architecture)
        assert len(linkings) == len(asked)

    def test_another_nvjitlink_links_again_what_it_links(
        self, linkings: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        load(Gpu(), LTO)
        load(Gpu(), FUNCTION)
        monkeypatch.setattr(linked, "linker_version", lambda _: ["13.1"])
        load(Gpu(), LTO)
        load(Gpu(), FUNCTION)
        assert [inputs for inputs in linkings] == [(LTO,), (FUNCTION,), (LTO,)]

    def test_another_compiler_links_again(self, linkings: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
        load(Gpu(), FUNCTION)
        monkeypatch.setattr(CACHE.current(), "compiler", ["another"])
        load(Gpu(), FUNCTION)
        assert len(linkings) == 2


def test_the_version_of_nvjitlink_is_that_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kdsl.cache import versions

    monkeypatch.setattr(versions, "package_folders", lambda _: [str(tmp_path / "nvidia")])
    environment = {"CUDA_HOME": str(tmp_path / "toolkit"), "LD_LIBRARY_PATH": f"{tmp_path / 'libs'}:"}
    known = versions.linker_version(environment)
    for place in ("nvidia/cu13/lib/libnvJitLink.so.13", "toolkit/lib64/libnvJitLink.so.12", "libs/libnvJitLink.so.13"):
        path = tmp_path / place
        path.parent.mkdir(parents=True)
        for content in ("one", "and two"):
            path.write_text(content)
            found = versions.linker_version(environment)
            assert found not in known
            known.append(found)


def test_it_is_counted(sessions: Sessions, file: Path) -> None:
    from click.testing import CliRunner

    from kdsl.cli import main

    sessions.run(PROGRAM.format(file=str(file)))
    assert "linked        1 with other compilers' code\n" in CliRunner().invoke(main, ["cache", "info", "-v"]).output
    assert '"linked": 1' in CliRunner().invoke(main, ["cache", "info", "--json"]).output
