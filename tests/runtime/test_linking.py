"""Linking: what nvJitLink makes of each kind of input, what PTX alone becomes without it, and what the errors say."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
import kdsl.linking
from kdsl import Ptr, errors, f32
from kdsl.codegen.sass import assemble, find_tool
from kdsl.linking import Linker
from kdsl.runtime import linking
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.entries import entries
from kdsl.runtime.images import Kind, kind_of
from kdsl.runtime.ptx_linking import merge
from kdsl.runtime.ptx_statements import statements
from kdsl.target import Target

from .test_extern import adds

HERE = Path(__file__).parent / "images"
FUNCTIONS = HERE / "functions.ptx"
MAIN = """
.version 8.0
.target sm_80
.address_size 64
.file 1 "main.cu"
.extern .func (.param .b32 r) dev_add(.param .b32 a, .param .b32 b);
.global .align 4 .u32 calls = 40; // another module's own variable has the name, too
.visible .entry run(.param .u64 x)
{
	.reg .b64 %d; .reg .f32 %f<3>; .reg .b32 %r;
	.loc 1 7 0
	ld.param.u64 %d, [x];
	ld.global.f32 %f1, [%d];
	{ .param .b32 a; .param .b32 b; .param .b32 r; st.param.f32 [a], %f1; st.param.f32 [b], %f1; call (r), dev_add, (a, b); ld.param.f32 %f2, [r]; }
	atom.global.add.u32 %r, [calls], 2;
	st.global.f32 [%d], %f2;
	ret;
}
"""


def declared_add(a: f32, b: f32) -> f32:
    raise NotImplementedError


@pytest.fixture(params=["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Any:
    kdsl.set_device(request.param)
    yield request.param
    kdsl.set_device("emulator")


@pytest.fixture
def nvjitlink() -> None:
    if linking.available() is None:
        pytest.skip("nvJitLink is not installed")


def run(image: Any, **more: Any) -> float:
    x = np.array([2], np.float32)
    kdsl.load_module(image, **more).kernel("run", [Ptr[f32]])[1, 1](x)
    return float(x[0])


def test_a_module_and_what_is_linked_with_it(device: str) -> None:
    assert run(MAIN.encode(), link=FUNCTIONS) == 6
    assert run(MAIN.encode(), link=[FUNCTIONS.read_bytes()]) == 6
    assert run(kdsl.link([MAIN, FUNCTIONS])) == 6
    with pytest.raises(kdsl.DeviceError, match="dev_add"):
        run(MAIN.encode())


def test_a_compilation_is_linked(device: str) -> None:
    m = kdsl.load_module(kdsl.link([kdsl.compile(adds)]))
    x = np.zeros(4, np.float32)
    m.kernel("adds", adds)[1, 4](x, 4)
    assert list(x) == [6] * 4


def test_own_variables_of_two_modules_stay_two() -> None:
    kdsl.set_device("emulator")
    m = kdsl.load_module(kdsl.link([MAIN, FUNCTIONS]))
    assert list(m.globals) == ["calls", "calls__2"]
    m.kernel("run", [Ptr[f32]])[1, 1](np.array([2], np.float32))
    assert [m.globals[name].view(np.uint32).to_host()[0] for name in m.globals] == [42, 1]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_ptx_of_several_modules(order: list[int]) -> None:
    inputs = [("main", MAIN), ("functions", FUNCTIONS.read_text())]
    merged = merge([inputs[i] for i in order])
    assert merged.startswith(".version 8.0\n.target sm_80\n.address_size 64\n.file 1 ")
    assert sorted(line for line in merged.splitlines() if line.startswith(".file")) == [
        f'.file 1 "{["main.cu", "functions.cu"][order[0]]}"', f'.file 2 "{["main.cu", "functions.cu"][order[1]]}"',
    ]  # fmt: skip
    assert ".extern" not in merged and merged.count(".visible .func (.param .b32 r) dev_add(") == 2
    assert ".loc 2 3 0" in merged if order == [0, 1] else ".loc 1 3 0" in merged
    if find_tool("ptxas"):
        assemble(merged, Target.parse("sm_80"))


def test_weak_and_common_definitions() -> None:
    head = ".version 7.0\n.target sm_75\n.address_size 64\n"
    weak = head + ".weak .func f() { ret; }\n.weak .global .u32 v = 1;\n"
    strong = head + ".visible .func f() { trap; }\n"
    for texts in ((weak, strong), (strong, weak)):
        merged = merge([(str(i), text) for i, text in enumerate(texts)])
        assert merged.count(" f()") == 1 and "trap" in merged and merged.count(" v = 1") == 1
    assert merge([("a", weak), ("b", weak)]).count(" f()") == 1
    with pytest.raises(errors.LinkError, match="f is defined both in a and in b"):
        merge([("a", strong), ("b", strong)])


def test_statements_of_ptx() -> None:
    text = (
        '.version 8.0\n.target sm_80 // ; {\n/* } */ .visible .global .align 4 .b8 t[4] = {1, 2, 3, 4};\n.pragma "a;{";\n'
        ".extern .shared .align 16 .b8 dyn[];\n.func (.param .b32 r) f(.param .b32 a);\n"
        ".visible .entry k(.param .u64 x) .maxntid 32 { { .reg .b32 %r; } ret; }\n.section .debug_x { .b8 0 }\n"
    )
    found = [(s.kind, s.name, s.linkage, s.defines) for s in statements(text)]
    assert found == [
        ("", "", "", False),
        ("", "", "", False),
        ("variable", "t", "visible", True),
        ("", "", "", False),
        ("variable", "dyn", "extern", False),
        ("func", "f", "", False),
        ("entry", "k", "visible", True),
        ("", "", "", False),
    ]


class TestErrors:
    def test_what_nothing_defines(self, nvjitlink: None) -> None:
        with pytest.raises(errors.LinkError) as caught:
            kdsl.link([MAIN], target="sm_90")
        assert "`dev_add` is defined in none of <PTX text>; link what defines it" in str(caught.value)
        assert "Undefined reference to 'dev_add'" in str(caught.value)  # the linker's own words

    def test_what_is_defined_twice(self, nvjitlink: None) -> None:
        with pytest.raises(errors.LinkError, match=r"dev_\w+ is defined both in .*functions.ptx and in <PTX text>"):
            kdsl.link([MAIN, FUNCTIONS, FUNCTIONS.read_text() + "// a copy"], target="sm_90")

    @pytest.mark.parametrize("has_nvjitlink", [False, True])
    def test_what_a_compilation_brings_along(self, has_nvjitlink: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        if not has_nvjitlink:
            monkeypatch.setattr(linking, "_bindings", lambda: None)
        elif linking.available() is None:
            pytest.skip("nvJitLink is not installed")
        add = kdsl.extern(link=FUNCTIONS, name="dev_add")(declared_add)

        @kdsl.kernel
        def uses(x: Ptr[f32]) -> None:
            x[0] = add(x[0], 1.0)

        text = r"functions.ptx is given twice; leave one out \(a compilation brings along what its link= names\)"
        with pytest.raises(errors.LinkError, match=text) as caught:
            kdsl.link([kdsl.compile(uses, target="sm_90"), FUNCTIONS], target="sm_90")
        assert caught.value.__context__ is None

    def test_ptx_that_does_not_assemble(self, nvjitlink: None) -> None:
        with pytest.raises(errors.LinkError, match="ptxas"):
            kdsl.link([MAIN.replace("atom.global.add", "atom.global.bdd")], target="sm_90")

    def test_options(self, nvjitlink: None) -> None:
        with pytest.raises(errors.LinkError, match="nvJitLink does not take -arch=sm_90 --nonsense"):
            kdsl.link([MAIN, FUNCTIONS], target="sm_90", options=["--nonsense"])
        assert "Used" in kdsl.link([MAIN, FUNCTIONS], target="sm_90", options=["-verbose"]).log

    @pytest.mark.parametrize(
        ("inputs", "kind", "text"),
        [
            ([], TypeError, "at least one thing"),
            ("k.ptx", TypeError, "takes a list of what to link"),
            ([3], TypeError, "an image is a path, or bytes, or PTX text, got 3"),
            ([b"nonsense"], errors.InvalidImageError, "<bytes>: it is no PTX, cubin"),
            ([b""], errors.InvalidImageError, "<bytes>: it is no PTX, cubin"),
            (["missing.o"], FileNotFoundError, "missing.o"),
        ],
    )
    def test_what_is_nothing_to_link(self, inputs: Any, kind: type[Exception], text: str) -> None:
        with pytest.raises(kind, match=text):
            kdsl.link(inputs, target="sm_90")


class TestWithoutNvjitlink:
    @pytest.fixture(autouse=True)
    def without(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(linking, "_bindings", lambda: None)

    def test_ptx_is_linked_to_ptx(self) -> None:
        linked = kdsl.link([MAIN, FUNCTIONS], target="sm_90")
        assert kind_of(linked.image) is Kind.PTX and set(entries(linked.image)) == {"run"}

    def test_what_needs_it(self) -> None:
        cubin = linking.Input("f.cubin", Kind.CUBIN, b"")
        for call in (
            lambda: kdsl.link([MAIN, FUNCTIONS], target="sm_90", options=["-lto"]),
            lambda: linking.link([cubin], "sm_90"),
        ):
            with pytest.raises(errors.LinkerMissing, match=r"pip install 'kdsl\[link\]'"):
                call()


class TestTheDriversLinker:
    def test_what_it_is_asked(self, gpu: CudaDriver, fake_driver: Any) -> None:
        main = linking.read(MAIN)
        fatbin = linking.Input("f.fatbin", Kind.FATBIN, b"code")
        assert kdsl.linking.linked_for(gpu, "sm_90", [main, fatbin]) == (Linker.DRIVER, b"machine code")
        assert fake_driver.linked == [
            ("CU_JIT_INPUT_PTX", MAIN.encode() + b"\0", b"<PTX text>"),
            ("CU_JIT_INPUT_FATBINARY", b"code", b"f.fatbin"),
        ]
        assert fake_driver.called()[-1] == "cuLinkDestroy"

    def test_what_is_defined_twice(self, gpu: CudaDriver, fake_driver: Any) -> None:
        copy = linking.read(FUNCTIONS.read_text() + "// a copy")
        fake_driver.called()
        with pytest.raises(errors.LinkError, match="is defined both in"):
            kdsl.linking.linked_for(gpu, "sm_90", [linking.read(MAIN), linking.read(FUNCTIONS), copy])
        assert fake_driver.called() == []

    def test_what_it_says(self, gpu: CudaDriver, fake_driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(linking, "_bindings", lambda: None)
        main, other = linking.read(MAIN), linking.Input("f.fatbin", Kind.FATBIN, b"code")
        fake_driver.log = b"error   : Undefined reference to 'dev_add' in '<PTX text>'"
        with pytest.raises(
            errors.LinkError, match=r"(?s)`dev_add` is defined in none of <PTX text>, f.fatbin;.*Undefined"
        ):
            kdsl.linking.linked_for(gpu, "sm_90", [main, other])
        assert fake_driver.called()[-1] == "cuLinkDestroy"

    def test_nvjitlink_is_asked_next(self, gpu: CudaDriver, fake_driver: Any, nvjitlink: None) -> None:
        fake_driver.log = b"too new"
        linker, image = kdsl.linking.linked_for(gpu, "sm_90", [linking.read(MAIN), linking.read(FUNCTIONS)])
        assert linker is Linker.NVJITLINK
        assert "run" in entries(image)

    def test_it_takes_no_lto_ir(self, gpu: CudaDriver, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(linking, "_bindings", lambda: None)
        with pytest.raises(errors.LinkerMissing, match=r"pip install 'kdsl\[link\]'"):
            kdsl.linking.linked_for(gpu, "sm_90", [linking.read(MAIN), linking.Input("f.ltoir", Kind.LTO_IR, b"code")])


def test_ptx_for_one_architecture_alone(nvjitlink: None) -> None:
    """Machine code for sm_90a is what PTX for it becomes; for sm_90 alone there is none."""
    linked = kdsl.link([MAIN.replace("sm_80", "sm_90a"), FUNCTIONS], target="sm_90")
    assert linked.architecture == "sm_90a"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Relocatable code of the functions in every form: by ptxas and nvcc, for two architectures."""
    if shutil.which("nvcc") is None or shutil.which("ptxas") is None:
        pytest.skip("nvcc is not installed")
    directory = tmp_path_factory.mktemp("linked")
    (directory / "f.cu").write_text('extern "C" __device__ float dev_add(float a, float b) { return a + 2 * b; }')
    lto = ["-gencode", "arch=compute_80,code=lto_80", "-dc"]
    for command in (
        ["ptxas", "-c", "-arch=sm_90", str(FUNCTIONS), "-o", "f.cubin"],
        ["nvcc", "-arch=sm_80", "-rdc=true", "-cubin", "f.cu", "-o", "old.cubin"],
        ["nvcc", "-arch=sm_90", "-rdc=true", "-fatbin", "f.cu", "-o", "f.fatbin"],
        ["nvcc", "-arch=sm_90", "-rdc=true", "--no-compress", "-fatbin", "f.cu", "-o", "plain.fatbin"],
        ["nvcc", "-arch=sm_90", "-dc", "f.cu", "-o", "f.o"],
        ["nvcc", *lto, "f.cu", "-o", "flto.o"],
        ["nvcc", *lto, "-ltoir", "f.cu", "-o", "f.ltoir"],
        ["nvcc", "-arch=sm_90", "-lib", "f.o", "-o", "libf.a"],
    ):
        subprocess.run(command, cwd=directory, check=True, capture_output=True)
    return directory


class TestOfNvcc:
    @pytest.mark.parametrize("name", ["f.cubin", "f.fatbin", "f.o", "flto.o", "f.ltoir", "libf.a"])
    def test_each_kind(self, built: Path, nvjitlink: None, name: str) -> None:
        linked = kdsl.link([MAIN, built / name], target="sm_90")
        assert "run" in entries(linked.image) and kind_of(linked.image) is Kind.CUBIN
        assert kdsl.runtime.images.architectures(linked.image) == ("sm_90",)

    @pytest.mark.gpu
    @pytest.mark.parametrize("name", ["f.cubin", "f.fatbin", "f.o", "flto.o", "f.ltoir", "libf.a"])
    def test_running_each(self, built: Path, name: str) -> None:
        kdsl.set_device("cuda")
        try:
            assert run(MAIN.encode(), link=built / name) == 6
        finally:
            kdsl.set_device("emulator")

    @pytest.mark.gpu
    @pytest.mark.parametrize("name", ["f.cubin", "f.fatbin", "f.o", "libf.a"])
    def test_by_the_driver(self, built: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(linking, "_bindings", lambda: None)
        monkeypatch.setenv("KDSL_CACHE", "0")
        kdsl.set_device("cuda")
        try:
            assert run(MAIN.encode(), link=built / name) == 6
        finally:
            kdsl.set_device("emulator")

    def test_what_objects_define_is_seen(self, built: Path, nvjitlink: None) -> None:
        for inputs, text in (
            (["f.cubin", "plain.fatbin"], "dev_add is defined both in .*f.cubin and in .*plain.fatbin"),
            (["f.o", "f.o"], "f.o is given twice"),
        ):
            with pytest.raises(errors.LinkError, match=text):
                kdsl.link([MAIN, *(built / name for name in inputs)], target="sm_90")

    def test_a_cubin_of_another_architecture(self, built: Path, nvjitlink: None) -> None:
        with pytest.raises(errors.LinkError, match=r"old\.cubin"):
            kdsl.link([MAIN, built / "old.cubin"], target="sm_90")
