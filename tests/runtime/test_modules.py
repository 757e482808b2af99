"""Modules that other compilers made: kernels by name with a signature, checked; variables; unloading; what is no image."""

from __future__ import annotations

import gc
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, errors, f32, f64, i8, i32, i64, kernel
from kdsl.runtime import cpp_names, elf, images
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.entries import Entry, entries

HERE = Path(__file__).parent / "images"
FOREIGN = HERE / "foreign.ptx"


@pytest.fixture(params=["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Any:
    kdsl.set_device(request.param)
    yield request.param
    kdsl.set_device("emulator")


@kdsl.struct
class Pair:
    a: i32
    b: f64
    c: i8


def vadd(a: Ptr[f32], b: Ptr[f32], n: i32) -> None: ...


def quoted(a: "Ptr[f32]", b: "Ptr[f32]", n: "i32") -> None: ...


@kernel
def decorated(a: Ptr[f32], b: Ptr[f32], n: i32) -> None:
    pass


@pytest.mark.parametrize(
    "signature",
    [
        vadd,
        quoted,
        decorated,
        [Ptr[f32], Ptr[f32], i32],
        (Ptr[np.float32], Ptr[f32], np.int32),
        {"a": Ptr[f32], "b": Ptr[f32], "n": int},
    ],
    ids=["function", "quoted", "kernel", "list", "numpy", "dict"],
)
@pytest.mark.parametrize("name", ["_Z4vaddPfPKfi"])
def test_signatures(device: str, signature: Any, name: str) -> None:
    m = kdsl.load_module(FOREIGN)
    k = m.kernel(name, signature)
    a, b = np.arange(40, dtype=np.float32), np.full(40, 2, np.float32)
    k[1, 64](a, b, 33)
    assert list(a) == [i + 6 * (i < 33) for i in range(40)]
    with pytest.raises(kdsl.ArgumentError, match=r"argument `(a|p0)` takes Ptr\[f32\]"):
        k[1, 64](a.astype(np.float64), b, 33)
    with pytest.raises(kdsl.ArgumentError, match="lacks a launch configuration"):
        k(a, b, 33)


def test_ptx_as_text(device: str) -> None:
    k = kdsl.load_module(kdsl.compile(decorated).ptx).kernel("decorated", decorated)
    k[1, 1](np.zeros(1, np.float32), np.zeros(1, np.float32), 1)
    with pytest.raises(TypeError, match="an image is a path, or bytes, or PTX text, got 3"):
        kdsl.load_module(3)  # type: ignore[arg-type]


def test_a_prepared_launch(device: str) -> None:
    k = kdsl.load_module(FOREIGN).kernel("_Z4vaddPfPKfi", vadd)
    a, b = kdsl.zeros(32), kdsl.to_device(np.ones(32, np.float32))
    prepared = k.prepare(1, 32, a, b=b, n=32)
    prepared(), prepared()
    assert list(a.to_host()) == [6] * 32


def test_names_of_cpp(device: str) -> None:
    m = kdsl.load_module(FOREIGN)
    signature = [Ptr[f32], f32, Pair]
    out = np.zeros(32, np.float32)
    for name in ("ns::fill<float>", "fill<float>", "_ZN2ns4fillIfEEvPT_S1_4Pair"):
        m.kernel(name, signature)[1, 32](out, 1.5, Pair(1, 2.0, 3))
        assert list(out) == [3.5] * 32
    for name, text in (
        ("fill", r"2 kernels of the module are called 'fill': ns::fill<float> is .*, ns::fill<int> is _ZN2ns4fillIiEE"),
        ("vadd", r"2 kernels of the module are called 'vadd': vadd is _Z4vaddPfPKfi, other::vadd is _ZN5other4vaddEv"),
        ("fil", r"no kernel 'fil'; it has .*_ZN2ns4fillIfEEvPT_S1_4Pair \(ns::fill<float>\)"),
    ):
        with pytest.raises(KeyError, match=text):
            m.kernel(name, signature)
    m.kernel("other::vadd", [])[1, 1]()
    assert m.kernels == tuple(sorted(entries(FOREIGN.read_bytes())))


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z4vaddPfS_S_i", "vadd"),
        ("_ZN1a1b4scanEPf", "a::b::scan"),
        ("_Z6reduceIdLi256EEvPT_", "reduce<double, 256>"),
        ("_Z6reduceILin1EPfEvv", "reduce<-1, float*>"),
        ("_Z3mapI6FunctoEvT_", "map"),
        ("_ZN12_GLOBAL__N_14testEv", "(anonymous namespace)::test"),
        ("_Zoops", None),
        ("vadd", None),
    ],
)
def test_reading_a_mangled_name(mangled: str, name: str | None) -> None:
    assert cpp_names.readable(mangled) == name


@pytest.mark.parametrize(
    ("signature", "text"),
    [
        (None, r"has 3 parameters of 8, 8, 4 bytes; say their types, as in signature=\[Ptr\[f32\], i32\]"),
        ([Ptr[f32], Ptr[f32]], r"has 2 parameters of 8, 8 bytes, and the module's has 3 parameters of 8, 8, 4 bytes"),
        ([Ptr[f32], Ptr[f32], i64], r"p2: i64\) has 3 parameters of 8, 8, 8 bytes, and the module's has 3 parameters"),
        ([Array[f32, 1], Ptr[f32], i32], r"has 4 parameters of 8, 4, 8, 4 bytes"),
        ([], r"has no parameters, and the module's has 3 parameters"),
        ([Ptr[f32], Ptr[f32], "nonsense"], r"parameter 'p2'"),
        ("Ptr[f32]", r"a signature is a function with annotations"),
        (lambda a, b, n: None, r"needs an annotation on every parameter"),
    ],
)
def test_a_signature_that_does_not_fit(device: str, signature: Any, text: str) -> None:
    m = kdsl.load_module(FOREIGN)
    with pytest.raises(TypeError, match=text):
        m.kernel("_Z4vaddPfPKfi", signature)


def test_what_the_kernel_asks_of_a_launch(device: str) -> None:
    m = kdsl.load_module(FOREIGN)
    a = np.zeros(32, np.float32)
    with pytest.raises(kdsl.LaunchConfigError, match=r"has 256 threads, and _Z4vaddPfPKfi is compiled for at most 128"):
        m.kernel("_Z4vaddPfPKfi", vadd)[1, 256](a, a, 0)
    fill = m.kernel("fill<float>", [Ptr[f32], f32, Pair])
    with pytest.raises(kdsl.LaunchConfigError, match=r"is compiled for blocks of \(32, 1, 1\) only"):
        fill[1, 64](a, 1.0, Pair(1, 2.0, 3))
    with pytest.raises(kdsl.LaunchConfigError, match=r"is compiled for blocks of \(32, 1, 1\) only"):
        fill.prepare(1, 64, kdsl.zeros(32), 1.0, Pair(1, 2.0, 3))


def test_variables(device: str) -> None:
    m = kdsl.load_module(FOREIGN)
    assert list(m.globals) == ["counter", "factor"]
    assert m.globals["counter"].view(np.uint32).to_host()[0] == 7
    m.globals["factor"].view(np.float32).copy_from(np.array([0, 10], np.float32))
    a, b = np.zeros(32, np.float32), np.ones(32, np.float32)
    m.kernel("_Z4vaddPfPKfi", vadd)[1, 32](a, b, 32)
    assert list(a) == [10] * 32
    with pytest.raises(KeyError, match="no variable 'missing'; it has counter, factor"):
        m.globals["missing"]


def test_a_module_says_how_its_kernels_and_variables_are_reached() -> None:
    kdsl.set_device("emulator")
    m = kdsl.load_module(FOREIGN)
    kernel = r": a kernel is had with its types, m\.kernel\('_Z4vaddPfPKfi', \[Ptr\[f32\], i32\]\)$"
    with pytest.raises(AttributeError, match=f"'LoadedModule' object has no attribute '_Z4vaddPfPKfi'{kernel}"):
        m._Z4vaddPfPKfi
    with pytest.raises(TypeError, match=kernel):
        m["_Z4vaddPfPKfi"]
    with pytest.raises(AttributeError, match=r"'vadd': 2 kernels of the module are called 'vadd'"):
        m.vadd
    with pytest.raises(AttributeError, match=r"'counter': write m\.globals\['counter'\]$"):
        m.counter
    with pytest.raises(TypeError, match=r"has no items: write m\.globals\['counter'\]$"):
        m["counter"]
    with pytest.raises(AttributeError, match=r"'missing': the module has no kernel 'missing'; it has _Z4vaddPfPKfi"):
        m.missing
    with pytest.raises(AttributeError, match=r"'LoadedModule' object has no attribute '__len__'$"):
        m.__len__
    with pytest.raises(TypeError, match="has no items$"):
        m[0]
    m.unload()
    assert not hasattr(m, "vadd")


def test_unloading(device: str) -> None:
    a, b = np.zeros(32, np.float32), np.ones(32, np.float32)
    with kdsl.load_module(FOREIGN) as m:
        k = m.kernel("_Z4vaddPfPKfi", vadd)
        bound = k[1, 32]
        bound(a, b, 32)
        bound(kdsl.to_device(a), kdsl.to_device(b), 32)
    for use in (
        lambda: bound(a, b, 32),
        lambda: bound(kdsl.to_device(a), kdsl.to_device(b), 32),
        lambda: k[1, 32],
        lambda: k.prepare(1, 32, kdsl.to_device(a), kdsl.to_device(b), 32),
        lambda: m.globals,
        lambda: m.kernels,
        lambda: m.kernel("_Z4vaddPfPKfi", vadd),
    ):
        with pytest.raises(errors.InvalidHandleError, match=r"<module .*foreign\.ptx on \w+:0> has been unloaded"):
            use()
    m.unload()  # again is nothing
    assert list(a) == [3] * 32


@pytest.mark.parametrize("what", ["array", "view", "prepared"])
def test_what_is_in_use_is_not_unloaded(device: str, what: str) -> None:
    m = kdsl.load_module(FOREIGN)
    a = kdsl.zeros(32)
    held: Any = m.kernel("_Z4vaddPfPKfi", vadd).prepare(1, 32, a, a, 32) if what == "prepared" else m.globals["factor"]
    if what == "view":
        held = held.view(np.float32).reshape(1, 2)
    with pytest.raises(errors.InvalidHandleError, match="cannot be unloaded while arrays of its variables or prepared"):
        m.unload()
    if what == "prepared":
        held = held.with_arguments(n=3)
        gc.collect()
        with pytest.raises(errors.InvalidHandleError):
            m.unload()
    del held
    gc.collect()
    m.unload()


CUBIN = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7) + b"\x02\x00\xbe\x00" + bytes(28) + b"\x04\x5a\x00\x06" + bytes(12)


@pytest.mark.parametrize(
    ("image", "text"),
    [
        (b"", "<bytes>: it is empty"),
        (b"nonsense", "<bytes>: it is neither PTX"),
        ("no PTX\n", "<PTX text>: it is neither PTX"),
        (CUBIN[:40], "an ELF file of 40 bytes is cut off"),
        (CUBIN[:40] + b"\xff\x20" + CUBIN[42:], "it is cut off: 64 bytes of at least"),
        (b"\x50\xed\x55\xba\x01\x00\x10\x00\x00\x01" + bytes(6), "it is cut off: 16 bytes of at least 272"),
        (b"!<arch>\n", r"a library \(.a\), which is linked first"),
        (b"\xed\x43\x4e\x7f", "LTO-IR, which is linked first"),
        (CUBIN[:16] + b"\x01\x00\x3e\x00" + CUBIN[20:], "an object file of the host's, which is linked first"),
        (CUBIN[:16] + b"\x01\x00\xbe\x00" + CUBIN[20:], "a relocatable cubin, which is linked first"),
    ],
)
def test_what_is_no_image(device: str, image: bytes, text: str) -> None:
    with pytest.raises(errors.InvalidImageError, match=text):
        kdsl.load_module(image)


def test_a_file_that_is_no_image(device: str, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text("nonsense")
    with pytest.raises(errors.InvalidImageError, match=r"k\.ptx: it is neither PTX"):
        kdsl.load_module(tmp_path / "k.ptx")
    with pytest.raises(FileNotFoundError):
        kdsl.load_module(tmp_path / "missing.ptx")


def test_ptx_with_a_mistake(device: str) -> None:
    broken = FOREIGN.read_bytes().replace(b"fma.rn.f32", b"fma.rn.f33")
    with pytest.raises(errors.InvalidPtxError, match="(?s)<.*>: .*fma"):
        kdsl.load_module(broken)


@pytest.mark.parametrize(
    ("image", "what"), [(CUBIN, "a cubin"), (b"\x50\xed\x55\xba\x01\x00\x10\x00" + bytes(8), "a fatbin")]
)
def test_the_emulator_takes_ptx_only(image: bytes, what: str) -> None:
    kdsl.set_device("emulator")
    with pytest.raises(errors.InvalidImageError, match=f"the emulator runs PTX text, and this is {what}"):
        kdsl.load_module(image)


class TestRefusalsOfTheDriver:
    @pytest.mark.parametrize(
        ("code", "image", "kind", "text"),
        [
            (209, CUBIN, errors.NoBinaryForGpuError, r"it has sm_90, and this GPU is sm_86; compile it for that, too"),
            (
                222,
                b".version 99.1\n.target sm_90\n",
                errors.UnsupportedPtxVersionError,
                r"\(it is PTX 99.1, and the driver is of CUDA 13.0\)",
            ),
            (
                218,
                b".version 8.0\n.target sm_120a\n",
                errors.InvalidPtxError,
                r"\(it is PTX for sm_120a, and this GPU is sm_86\)",
            ),
            (218, b".version 8.0\n.target sm_80\n", errors.InvalidPtxError, r"its PTX does not assemble \(CUDA_ERROR"),
        ],
    )
    def test_they_name_image_and_gpu(self, fake_driver: Any, code: int, image: bytes, kind: Any, text: str) -> None:
        fake_driver.attributes.update(COMPUTE_CAPABILITY_MAJOR=8, COMPUTE_CAPABILITY_MINOR=6)
        gpu = CudaDriver(api=fake_driver)
        fake_driver.codes["cuLibraryLoadData"] = [code]
        with pytest.raises(kind, match=text) as caught:
            gpu.load(image)
        assert caught.value.code == code

    def test_an_older_driver_tells_no_parameters(self, fake_driver: Any) -> None:
        fake_driver.kernels = {"_Z4vaddPfPKfi": lambda parameters: None}
        for version in (12000, 13000):
            fake_driver.driver_version = version
            fake_driver.parameter_places = [(0, 8), (8, 8), (16, 4)]
            gpu = CudaDriver(api=fake_driver)
            fake_driver.called()
            found = gpu.function(gpu.load(FOREIGN.read_bytes()), "_Z4vaddPfPKfi")
            assert gpu.parameters(found) == ((0, 8), (8, 8), (16, 4))
            assert fake_driver.called().count("cuFuncGetParamInfo") == (4 if version >= 12040 else 0)

    def test_unloading_waits(self, gpu: CudaDriver, fake_driver: Any) -> None:
        module = gpu.load(FOREIGN.read_bytes())
        fake_driver.called()
        gpu.unload(module)
        assert fake_driver.called() == ["cuCtxSynchronize", "cuLibraryUnload"]


SOURCE = """
struct Pair { int a; double b; char c; };
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter;
__global__ void vadd(float *a, const float *b, int n) { if (threadIdx.x < n) { a[threadIdx.x] += b[threadIdx.x] + table[0]; counter = 1; } }
namespace ns { __global__ void __launch_bounds__(128) scale(double *x, float f, Pair p, char c, bool q) { *x = f + p.a + p.b + p.c + c + q; } }
"""
VADD = Entry("_Z4vaddPfPKfi", ((0, 8), (8, 8), (16, 4)))
SCALE = Entry("_ZN2ns5scaleEPdf4Paircb", ((0, 8), (8, 4), (16, 24), (40, 1), (41, 1)), most_threads=128)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What nvcc makes of the source, in every form."""
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    directory = tmp_path_factory.mktemp("nvcc")
    (directory / "k.cu").write_text(SOURCE)
    both = ["-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=[sm_90,compute_90]"]
    for arguments in (
        ["-arch=sm_90", "-ptx", "-o", "k.ptx"],
        ["-arch=sm_90", "-cubin", "-o", "k.cubin"],
        ["-arch=sm_75", "-cubin", "-o", "old.cubin"],
        [*both, "-fatbin", "-o", "k.fatbin"],
        [*both, "--no-compress", "-fatbin", "-o", "plain.fatbin"],
    ):
        subprocess.run(["nvcc", "k.cu", *arguments], cwd=directory, check=True, capture_output=True)
    return directory


class TestOfNvcc:
    def test_what_the_images_tell(self, compiled: Path) -> None:
        for name, architectures in (
            ("k.ptx", {"PTX for sm_90"}),
            ("k.cubin", {"sm_90"}),
            ("old.cubin", {"sm_75"}),
            ("k.fatbin", {"sm_80", "sm_90", "PTX for sm_90"}),
            ("plain.fatbin", {"sm_80", "sm_90", "PTX for sm_90"}),
        ):
            image = (compiled / name).read_bytes()
            assert set(images.architectures(image)) == architectures
            images.check_loads(image)
            assert entries(image) in ({}, {VADD.name: VADD, SCALE.name: SCALE})
            assert entries(image) or name == "k.fatbin"

    def test_a_cubin_that_is_cut_off(self, compiled: Path) -> None:
        image = (compiled / "k.cubin").read_bytes()
        for size in (5, 63, 64, 200, len(image) // 2, len(image) - 1):
            with pytest.raises(errors.InvalidImageError, match="cut off"):
                images.check_loads(image[:size])
        assert {s.name for s in elf.symbols(image)} >= {"table", "counter"}

    @pytest.mark.parametrize(
        "name",
        ["k.ptx", pytest.param("k.cubin", marks=pytest.mark.gpu), pytest.param("k.fatbin", marks=pytest.mark.gpu)],
    )
    def test_running_them(self, compiled: Path, device: str, name: str) -> None:
        if device == "emulator" and name != "k.ptx":
            pytest.skip("the emulator takes PTX only")
        m = kdsl.load_module(compiled / name)
        a, b = np.zeros(32, np.float32), np.ones(32, np.float32)
        m.kernel("vadd", vadd)[1, 32](a, b, 30)
        assert list(a) == [2.0] * 30 + [0.0] * 2
        assert m.globals["counter"].view(np.int32).to_host()[0] == 1
        x = np.zeros(1)
        scale = m.kernel("scale", {"x": Ptr[f64], "f": f32, "p": Pair, "c": i8, "q": bool})
        scale[1, 1](x, 0.5, Pair(1, 2.0, 3), -4, True)
        assert x[0] == 0.5 + 1 + 2 + 3 - 4 + 1
        with pytest.raises(TypeError, match="5 parameters of 8, 4, 24, 1, 1 bytes"):
            m.kernel("scale", [Ptr[f64], f32, Pair, i32])


FACTOR = 2


def test_what_is_missing_is_told_after_a_change_too(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @kdsl.cuda_module
    class kernels:
        @kernel
        def put(x: Ptr[i32], n: i32) -> None:
            x[0] = n * FACTOR

    x, loaded = kdsl.zeros(1, i32), kernels.load()
    put = loaded.put[1, 1]
    put(x, 1)
    monkeypatch.setitem(globals(), "FACTOR", 3)
    with pytest.raises(TypeError, match="takes 2 arguments, got 1: `n` is missing"):
        put(x=x)
    put(n=2, x=x)
    assert x.to_host()[0] == 6
    with pytest.raises(TypeError, match="put.* lacks a launch configuration"):
        loaded.put(x, n=2)
