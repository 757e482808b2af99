"""Device functions of other compilers, called from kernels: what is passed, what is linked, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    Ptr,
    errors,
    extern,
    f16,
    f32,
    f32x3,
    f32x4,
    f64,
    f64x2,
    i8,
    i16x2,
    i32,
    i64,
    kernel,
    local,
    shared,
    struct,
    thread_idx,
    u8,
    u16,
    u32,
)  # fmt: skip
from kdsl.codegen.sass import find_tool

HERE = Path(__file__).parent / "images"
FUNCTIONS = HERE / "functions.ptx"


@pytest.fixture(params=["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Any:
    kdsl.set_device(request.param)
    yield request.param
    kdsl.set_device("emulator")


@struct
class Pair:
    a: i32
    b: f64
    c: i8


@extern(link=FUNCTIONS)
def dev_add(a: f32, b: f32) -> f32: ...


@extern(link=[FUNCTIONS], name="dev_store")
def put(p: Ptr[i32], v: i32) -> None: ...


@extern(link=FUNCTIONS)
def dev_pair(p: Pair, k: i32) -> Pair: ...


@extern(link=FUNCTIONS)
def dev_scale(v: f32x4, s: f32) -> f32x4: ...


@extern(link=FUNCTIONS)
def dev_offset(p: Ptr[f32], n: i32) -> Ptr[f32]: ...


@extern
def nowhere(a: f32) -> f32: ...


@kernel
def adds(x: Ptr[f32], n: i32) -> None:
    i = thread_idx.x
    if i < n:
        x[i] = dev_add(x[i], b=3)


def test_scalars(device: str) -> None:
    x = np.arange(40, dtype=np.float32)
    adds[1, 64](x, 33)
    assert list(x) == [i + 6 * (i < 33) for i in range(40)]


@kernel
def everything(x: Ptr[f32], out: Ptr[f32], numbers: Ptr[i32]) -> None:
    put(numbers, 7)
    held = local.array(2, i32)
    held[0] = 1
    put(held, 8)
    common = shared.array(2, i32)
    put(common, 9)
    out[0] = f32(held[0] + 10 * common[0])
    pair = dev_pair(Pair(3, 1.5, -2), 4)
    out[1] = f32(pair.a) + f32(pair.b) + f32(pair.c)
    v = dev_scale(f32x4(1, 2, 3, 4), 2)
    out[2] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w
    p = dev_offset(x, 2)
    out[3] = p[0]
    p[1] = 5


def test_structs_vectors_and_pointers(device: str) -> None:
    x, out, numbers = np.arange(4, dtype=np.float32), np.zeros(4, np.float32), np.zeros(2, np.int32)
    everything[1, 1](x, out, numbers)
    assert list(out) == [8 + 90, 7 + 3 - 2, 2 + 40 + 600 + 8000, 2]
    assert list(numbers) == [7, 0]  # what a pointer points at counts as written, and is copied back
    assert list(x) == [0, 1, 2, 5]


def helper(v: f32) -> f32:
    return dev_add(v, 1.0)


@kernel
def in_a_function(x: Array[f32, 1]) -> None:
    for i in range(x.shape[0]):
        x[i] = helper(x[i])


def test_a_call_in_a_function_of_ours(device: str) -> None:
    x = np.zeros(3, np.float32)
    in_a_function[1, 1](x)
    assert list(x) == [2] * 3


@kdsl.cuda_module
class kernels:
    @kernel
    def first(x: Ptr[f32]) -> None:
        x[0] = dev_add(x[0], 1.0)

    @kernel
    def second(x: Ptr[f32]) -> None:
        x[0] = dev_add(x[0], 2.0)
        put(bitcast_of(x), 3)


def bitcast_of(x: Ptr[f32]) -> Ptr[i32]:
    return kdsl.bitcast(x, Ptr[i32])


def test_kernels_of_a_module(device: str) -> None:
    loaded = kernels.load()
    x = np.zeros(1, np.float32)
    loaded.first[1, 1](x)
    assert x[0] == 2
    loaded.second[1, 1](x)
    assert x.view(np.int32)[0] == 3


@kdsl.cuda_module(link=FUNCTIONS)
class linked_kernels:
    @kernel
    def only(x: Ptr[f32]) -> None:
        x[0] = declared_only(x[0], 2.0)


@kernel(link=FUNCTIONS)
def linked_by_the_kernel(x: Ptr[f32]) -> None:
    x[0] = declared_only(x[0], 1.0)


@extern(name="dev_add")
def declared_only(a: f32, b: f32) -> f32: ...


def test_what_the_kernel_links(device: str) -> None:
    x = np.ones(1, np.float32)
    linked_by_the_kernel[1, 1](x)
    assert x[0] == 3
    linked_kernels.load().only[1, 1](x)
    assert x[0] == 7


WHOLE = """
.version 7.8
.target sm_75
.address_size 64
.visible .func (.param .b32 r) whole(.param .b32 a, .param .b32 b)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; add.s32 %r1, %r1, %r2; st.param.b32 [r], %r1; ret; }
"""


@extern(link=WHOLE)
def whole(a: i8, b: u16) -> i32: ...


@kernel
def of_small_numbers(x: Ptr[i8], y: Ptr[u16], out: Ptr[i32]) -> None:
    out[0] = whole(x[0], 0)
    out[1] = whole(i8(x[0] - 3), y[0])


def test_small_numbers_fill_their_registers(device: str) -> None:
    out = np.zeros(2, np.int32)
    of_small_numbers[1, 1](np.array([-3], np.int8), np.array([60000], np.uint16), out)
    assert list(out) == [-3, 60000 - 6]


SQUARE_ROOT = """
.version 7.8
.target sm_75
.address_size 64
.visible .func (.param .b32 r) sqrtf(.param .b32 a)
{ .reg .f32 %f; ld.param.f32 %f, [a]; add.rn.f32 %f, %f, %f; st.param.f32 [r], %f; ret; }
"""


@extern(link=SQUARE_ROOT)
def sqrtf(a: f32) -> f32: ...


@kernel(debug=True)
def of_a_known_name(x: Array[f32, 1]) -> None:
    x[0] = sqrtf(9.0)


def test_a_name_of_the_c_library(device: str) -> None:
    """It is another function than LLVM may know, whose results are not worked out when compiling."""
    x = np.zeros(1, np.float32)
    of_a_known_name[1, 1](x)
    assert x[0] == 18


@kernel
def undefined(x: Ptr[f32]) -> None:
    x[0] = nowhere(x[0])


def test_what_nothing_defines(device: str) -> None:
    with pytest.raises(errors.LinkError, match=r"`nowhere` is defined in none of undefined \(PTX of kdsl\); link what"):
        undefined[1, 1](np.zeros(1, np.float32))


@extern(link=HERE / "missing.ptx")
def unread(a: f32) -> f32: ...


@kernel
def of_a_missing_file(x: Ptr[f32]) -> None:
    x[0] = unread(x[0])


def test_a_file_that_is_missing(device: str) -> None:
    with pytest.raises(FileNotFoundError, match="missing.ptx"):
        of_a_missing_file[1, 1](np.zeros(1, np.float32))


TEXT = """
.version 7.8
.target sm_75
.address_size 64
.visible .func (.param .b32 r) plus_one(.param .b32 a)
{ .reg .b32 %r; ld.param.b32 %r, [a]; add.s32 %r, %r, 1; st.param.b32 [r], %r; ret; }
"""


@extern(link=TEXT)
def plus_one(a: i32) -> i32: ...


@kernel
def of_text(x: Ptr[i32]) -> None:
    x[0] = plus_one(x[0]) + plus_one(i32(dev_add(1.0, 2.0)))


def test_text_and_several_images(device: str) -> None:
    x = np.zeros(1, np.int32)
    of_text[1, 1](x)
    assert x[0] == 1 + 6


def test_the_ptx_declares_and_the_tree_shows() -> None:
    compilation = kdsl.compile(adds, target="sm_90")
    assert ".extern .func  (.param .b32 func_retval0) dev_add" in compilation.ptx
    assert "extern dev_add(" in str(compilation.tree)
    assert [str(e) for e in compilation.externs] == ["dev_add(f32, f32) -> f32"]
    declaration = next(line for line in compilation.llvm.splitlines() if line.startswith('declare float @"dev_add"'))
    assert "convergent" in declaration
    assert 'call float @"dev_add"' in compilation.llvm and " nobuiltin" in compilation.llvm
    # Convergent calls are not made to depend on more conditions: two in different arms stay two.
    assert compilation.ptx.count("dev_add,") == 1


@pytest.mark.skipif(find_tool("ptxas") is None, reason="ptxas is not installed")
def test_the_linked_cubin() -> None:
    pytest.importorskip("cuda.bindings.nvjitlink", reason="nvJitLink is not installed")
    compilation = kdsl.compile(everything, target="sm_90")
    assert set(kdsl.runtime.entries.entries(compilation.cubin)) >= {"everything"}
    (report,) = compilation.resources
    assert report.spill_stores == 0
    values = kdsl.compile(by_value, target="sm_90")
    assert values.resources[0].stack == 0  # nothing passed by value goes through local memory
    assert "dev_pair" in compilation.sass


@kernel
def by_value(out: Ptr[f64]) -> None:
    pair = dev_pair(Pair(3, out[0], -2), 4)
    out[0] = pair.b + pair.a + pair.c


def test_the_host_cannot_call_it() -> None:
    with pytest.raises(TypeError, match="dev_add is a device function, declared with @extern: call it in a kernel"):
        dev_add(1.0, 2.0)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: extern(3), "takes a function written with def"),
        (lambda: extern(name="a b")(lambda: None), "takes the symbol of a function"),
        (lambda: extern(link=3)(lambda: None), "takes paths, bytes or PTX text"),
        (lambda: extern(lambda a: None), "no function is called '<lambda>' in PTX"),
        (lambda: kernel(link=[3])(bitcast_of), r"@kernel\(link=...\) takes paths"),
    ],
)
def test_what_extern_does_not_take(make: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        make()


SOURCE = """
#include <cuda_fp16.h>
struct Pair { int a; double b; char c; };
struct Small { float x, y; };
struct Nested { Small s; short h[3]; float4 v; bool t; };
#define F extern "C" __device__
F double dev_mix(bool t, signed char c, unsigned short h, int i, long long l, double d) { return t + c + h + i + l + d; }
F void dev_put(int *p, int v) { *p = v; }
F Small dev_small(Small s, float4 v, float3 w) { Small r; r.x = s.x + v.x + v.w; r.y = s.y + w.z; return r; }
F Pair dev_pair(Pair p, int k) { p.a += k; p.b *= 2; return p; }
F Nested dev_nested(Nested n, int k) { n.s.y += k; n.h[2] += k; n.v.w += k; n.t = !n.t; return n; }
F float4 dev_vec(float4 v, float s) { v.x *= s; v.y *= s; v.z *= s; v.w *= s; return v; }
F signed char dev_char(signed char c) { return c + 1; }
F bool dev_flag(int i) { return i > 3; }
F float *dev_offset(float *p, int n) { return p + n; }
F short2 dev_s2(short2 s) { s.x += 1; return s; }
F __half dev_half(__half h) { return h + h; }
F double2 dev_d2(double2 s) { s.x += 1; return s; }
F unsigned dev_sum(const unsigned char *p, unsigned n) { unsigned s = 0; for (unsigned i = 0; i < n; i++) s += p[i]; return s; }
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source in every form that nvcc makes."""
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not installed")
    directory = tmp_path_factory.mktemp("nvcc")
    (directory / "f.cu").write_text(SOURCE)
    lto = ["-gencode", "arch=compute_90,code=lto_90", "-dc"]
    for arguments in (
        ["-arch=sm_90", "-rdc=true", "-ptx", "-o", "f.ptx"],
        ["-arch=sm_90", "-rdc=true", "-cubin", "-o", "f.cubin"],
        ["-arch=sm_90", "-rdc=true", "-fatbin", "-o", "f.fatbin"],
        ["-arch=sm_90", "-dc", "-o", "f.o"],
        [*lto, "-o", "flto.o"],
        [*lto, "-ltoir", "-o", "f.ltoir"],
    ):
        subprocess.run(["nvcc", "f.cu", *arguments], cwd=directory, check=True, capture_output=True)
    subprocess.run(
        ["nvcc", "-arch=sm_90", "-lib", "f.o", "-o", "libf.a"], cwd=directory, check=True, capture_output=True
    )
    return directory


@struct
class Small:
    x: f32
    y: f32


@struct
class Nested:
    s: Small
    h: kdsl.FixedArray[kdsl.i16, 3]
    v: f32x4
    t: bool


def kernel_of(image: Path) -> Any:
    """A kernel that passes a value of each kind to a function of nvcc's."""
    link = str(image)

    @extern(link=link)
    def dev_mix(t: bool, c: i8, h: u16, i: i32, l: i64, d: f64) -> f64: ...
    @extern(link=link)
    def dev_put(p: Ptr[i32], v: i32) -> None: ...
    @extern(link=link)
    def dev_small(s: Small, v: f32x4, w: f32x3) -> Small: ...
    @extern(link=link)
    def dev_pair(p: Pair, k: i32) -> Pair: ...
    @extern(link=link)
    def dev_nested(n: Nested, k: i32) -> Nested: ...
    @extern(link=link)
    def dev_vec(v: f32x4, s: f32) -> f32x4: ...
    @extern(link=link)
    def dev_char(c: i8) -> i8: ...
    @extern(link=link)
    def dev_flag(i: i32) -> bool: ...
    @extern(link=link)
    def dev_offset(p: Ptr[f32], n: i32) -> Ptr[f32]: ...
    @extern(link=link)
    def dev_s2(s: i16x2) -> i16x2: ...
    @extern(link=link)
    def dev_half(h: f16) -> f16: ...
    @extern(link=link)
    def dev_d2(s: f64x2) -> f64x2: ...
    @extern(link=link)
    def dev_sum(p: Ptr[u8], n: u32) -> u32: ...

    @kernel
    def calls(x: Ptr[f32], out: Ptr[f64], n: Ptr[i32], raw: Ptr[u8], nested: Ptr[Nested]):
        out[0] = dev_mix(True, -3, 60000, n[0] + 5, 1 << 40, d=0.5)
        dev_put(n, 77)
        s = dev_small(Small(1.0, 2.0), f32x4(1, 2, 3, 4), f32x3(5, 6, 7))
        out[1] = s.x
        out[2] = s.y
        p = dev_pair(Pair(3, 1.5, -2), 4)
        out[3] = p.a
        out[4] = p.b
        out[5] = p.c
        v = dev_vec(f32x4(1, 2, 3, 4), 2.0)
        out[6] = v.x + v.y * 10 + v.z * 100 + v.w * 1000
        out[7] = dev_char(i8(n[0] + 50))
        out[8] = f64(i32(dev_flag(4))) + 10 * f64(i32(dev_flag(3)))
        out[9] = dev_offset(x, 1)[0]
        out[10] = dev_s2(i16x2(1, 2)).x
        out[11] = dev_half(f16(1.5))
        out[12] = dev_d2(f64x2(1.0, 2.0)).x
        a = shared.array(4, u8)
        for j in range(4):
            a[j] = u8(j + 1)
        out[13] = dev_sum(a, 4)
        b = local.array(3, u8)
        for j in range(3):
            b[j] = u8(j + 1)
        out[14] = dev_sum(b, 3)
        out[15] = dev_sum(raw, 2)
        nested[0] = dev_nested(nested[0], 5)

    return calls


EXPECTED = [1 - 3 + 60000 + 5 + 2**40 + 0.5, 6, 9, 7, 3, -2, 8642, 127, 1, 5, 2, 3, 2, 10, 6, 19]


class TestOfNvcc:
    @pytest.mark.parametrize("name", ["f.ptx", "f.cubin", "f.fatbin", "f.o", "libf.a", "flto.o", "f.ltoir"])
    def test_every_kind_of_value(self, compiled: Path, device: str, name: str) -> None:
        calls = kernel_of(compiled / name)
        arguments = (
            np.array([1, 5], np.float32), np.zeros(16), np.zeros(1, np.int32), np.array([9, 10], np.uint8),
            np.zeros(1, Nested.dtype),
        )  # fmt: skip
        arguments[4]["h"], arguments[4]["v"] = (1, 2, 3), (1, 2, 3, 4)
        if device == "emulator" and name != "f.ptx":
            with pytest.raises(errors.LinkError, match=f"{name} is .*, and the emulator links PTX text only"):
                calls[1, 1](*arguments)
            return
        calls[1, 1](*arguments)
        # `n` holds 77 when the byte is made: 127, and nothing is known of i8(127) + 1 but its bits.
        assert list(arguments[1][:7]) == EXPECTED[:7] and list(arguments[1][8:]) == EXPECTED[8:]
        assert arguments[1][7] == -128
        assert arguments[2][0] == 77
        n = arguments[4][0]
        assert (n["s"]["x"], n["s"]["y"], bool(n["t"])) == (0, 5, True)
        assert list(n["h"]) == [1, 2, 8] and list(n["v"]) == [1, 2, 3, 9]

    @pytest.mark.parametrize("name", ["f.ptx", "f.cubin", "f.fatbin", "f.o", "libf.a", "flto.o", "f.ltoir"])
    def test_linking_without_a_gpu(self, compiled: Path, name: str) -> None:
        linked = kdsl.compile(kernel_of(compiled / name), target="sm_90").linked
        assert linked.architecture == "sm_90"
        assert "calls" in kdsl.runtime.entries.entries(linked.image)
