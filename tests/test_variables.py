"""Variables of a module: `device.array` and `constant.empty`, in kernels and on the host."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    CompileError,
    MemoryFault,
    Ptr,
    Target,
    atomic,
    bitcast,
    constant,
    cuda_module,
    f32,
    f32x4,
    f64,
    grid,
    i32,
    kernel,
    load,
    thread_idx,
    u32,
)

counter = kdsl.device.array(1, u32)
table = kdsl.device.array((3, 4), f32, init=np.arange(12, dtype=np.float32).reshape(3, 4))
rows = kdsl.device.array(5, f32x4, init=2.0)
gains = constant.empty((2, 3), f64)
odd = kdsl.device.array(7, np.int16, init=[1, -2, 3, -4, 5, -6, 7], name="odd_ones")


@pytest.fixture(autouse=True)
def first_values(on_the_emulator: None, request: pytest.FixtureRequest) -> None:
    if "device" in request.fixturenames:
        request.getfixturevalue("device")
    counter.fill(0)
    table.copy_from(np.arange(12, dtype=np.float32).reshape(3, 4))
    rows.fill(2)
    gains.fill(0)
    odd.copy_from(np.array([1, -2, 3, -4, 5, -6, 7], np.int16))


@kernel
def ticket(out: Ptr[u32]):
    out[grid(1)] = atomic.add(counter, 0, 1)


@kernel
def last(out: Ptr[u32], unused):
    out[thread_idx.x] = counter[0]
    counter[0] = 7


def test_all_kernels_share_it_with_the_host(device: str) -> None:
    out = np.zeros(96, np.uint32)
    ticket[3, 32](out)
    assert sorted(out.tolist()) == list(range(96))
    assert counter.to_host().tolist() == [96]
    # Each type of an unannotated parameter has its own module.
    for unused in (1, 2.5):
        counter.fill(33)
        last[1, 1](out, unused)
        assert (out[0], counter.to_host()[0]) == (33, 7)
    ticket[1, 1](out)
    assert (out[0], counter.to_host()[0]) == (7, 8)


def test_the_host_before_any_kernel(device: str) -> None:
    own = kdsl.device.array((2, 2), i32, init=[[1, 2], [3, 4]])
    zeros = kdsl.device.array(3, i32)
    assert own.to_host().tolist() == [[1, 2], [3, 4]]
    own.copy_from(np.array([[5, 6], [7, 8]], np.int32))

    @kernel
    def k(out: Ptr[i32]):
        i = thread_idx.x
        out[i] = own[i // 2, i % 2] + zeros[i % 3] + own.shape[1]
        zeros[i % 3] = 9

    out = np.zeros(4, np.int32)
    k[1, 4](out)
    assert out.tolist() == [7, 8, 9, 10]
    assert zeros.to_host().tolist() == [9, 9, 9]


@kernel
def changed(out: Ptr[f32]):
    x, y = grid(2)
    table[y, x] = 2 * table[y, x] + total(table, x) * 0
    out[4 * y + x] = load(table, (y, x))


def total(a, x):
    sum = a[0, x]
    for row in range(1, a.shape[0]):
        sum += a[row, x]
    return sum


def test_a_table_with_first_values(device: str) -> None:
    out = np.zeros((3, 4), np.float32)
    expected = np.arange(12).reshape(3, 4)
    for power in (2, 4):
        changed[1, (4, 3)](out)
        assert out.tolist() == (power * expected).tolist()
        assert table.to_host().tolist() == out.tolist()


@kernel
def vectors(out: Ptr[f32]):
    i = thread_idx.x
    v = rows[i] * 2
    v.y = i
    rows[i] = v
    p = bitcast(rows, Ptr[f32])
    out[i] = p[4 * i] + p[4 * i + 1] + odd[i]


def test_vectors_and_16_bits(device: str) -> None:
    out = np.zeros(5, np.float32)
    vectors[1, 5](out)
    assert out.tolist() == [5, 3, 9, 3, 13]
    assert rows.to_host().tolist() == [[4, i, 4, 4] for i in range(5)]
    assert odd.to_host().tolist() == [1, -2, 3, -4, 5, -6, 7]


@kernel
def gained(out: Array[f64, 1]):
    i = thread_idx.x
    if i < gains.size:
        out[i] = gains[i // 3, i % 3]


@kernel
def gained_too(out: Array[f64, 1]):
    out[0] = gains[1, 2]


def test_constants_that_the_host_sets(device: str) -> None:
    out = np.zeros(6)
    gained[1, 6](out)
    assert out.tolist() == [0] * 6
    values = np.array([[1, 2, 3], [4, 5, 6.5]])
    gains.copy_from(values)
    gained[1, 6](out)
    assert out.tolist() == [1, 2, 3, 4, 5, 6.5]
    # A module that is loaded later, too.
    out[0] = 0
    gained_too[1, 1](out)
    assert out[0] == 6.5
    assert gains.to_host().tolist() == values.tolist()
    gains.fill(-1)
    for k in (gained, gained_too):
        out.fill(0)
        k[1, 1](out)
        assert out[0] == -1


def test_its_view_on_the_device_is_an_argument(device: str) -> None:
    counter.fill(5)
    ticket[1, 1](counter.on_device())
    # The sum was 6, and then the old value was stored.
    assert counter.to_host().tolist() == [5]


FACTOR = np.array([2, 3], np.int32)
offset = 10


@cuda_module
class pair:
    @kernel
    def count(n: i32):
        atomic.add(counter, 0, u32(n))

    @kernel
    def scaled(out: Ptr[i32]):
        i = thread_idx.x
        out[i] = constant.array(FACTOR)[i] * i32(counter[0]) + offset + i32(gains[0, 0])


def test_a_module_of_several_kernels(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = pair.load()
    out = np.zeros(2, np.int32)
    loaded.count[1, 32](2)
    assert sorted(loaded.globals) == ["counter", "gains"]
    assert loaded.globals["counter"].to_host().tolist() == [64]
    loaded.globals["gains"].fill(1000)
    launch = loaded.scaled[1, 2]
    launch(out)
    assert out.tolist() == [1138, 1202]
    with pytest.raises(KeyError, match="no variable 'count'; it has counter, gains"):
        loaded.globals["count"]
    # Names that are bound anew, and contents that changed.
    monkeypatch.setitem(globals(), "offset", 20)
    launch(out=out)
    assert out.tolist() == [1148, 1212]
    monkeypatch.setitem(globals(), "FACTOR", np.array([5, 7], np.int32))
    loaded.scaled[1, 2](out)
    assert out.tolist() == [1340, 1468]
    FACTOR[1] = 1
    launch(out)
    assert out.tolist() == [1340, 1084]
    assert loaded.scaled[1, 2] is loaded.scaled[1, 2]


def test_another_object_of_that_name(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out = np.zeros(1, np.uint32)
    ticket[1, 1](out)
    other = kdsl.device.array(1, u32, init=[50])
    monkeypatch.setitem(globals(), "counter", other)
    ticket[1, 1](out)
    assert (out[0], other.to_host()[0]) == (50, 51)


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_ptx(arch: str) -> None:
    texts = {k.name: kdsl.compile(k, target=Target.parse(arch)) for k in (ticket, changed, vectors, gained)}
    assert all(c.cubin for c in texts.values())
    declared = [
        d for c in texts.values() for d in re.findall(r"^\.visible \.(?:global|const) .*?;", c.ptx, re.MULTILINE)
    ]
    assert [re.sub(r" = \{.*\}", " = {}", d) for d in declared] == [
        ".visible .global .align 16 .b8 counter[4];",
        ".visible .const .align 8 .u64 kdsl_address_of_counter = counter;",
        ".visible .global .align 16 .b8 table[48] = {};",
        ".visible .const .align 8 .u64 kdsl_address_of_table = table;",
        ".visible .global .align 16 .b8 rows[80] = {};",
        ".visible .const .align 8 .u64 kdsl_address_of_rows = rows;",
        ".visible .global .align 16 .b8 odd_ones[14] = {};",
        ".visible .const .align 8 .u64 kdsl_address_of_odd_ones = odd_ones;",
        ".visible .const .align 16 .b8 gains[48];",
    ]
    # sm_100 and newer double two f32 at a time.
    stored = "st.global.v2.b64" if arch == "sm_120" else "st.global.v4.b32"
    assert stored in texts["vectors"].ptx
    assert re.search(r"atom\.global\.add\.u32\s+%r\d+, \[%rd\d+\], 1", texts["ticket"].ptx)
    # Its address is read once, from constant memory.
    assert texts["changed"].ptx.count("ld.const.b64") == 1


def test_ptx_alone_has_memory_of_its_own(device: str, tmp_path: Path) -> None:
    arch = kdsl.current_device().target
    path = tmp_path / "changed.ptx"
    path.write_text(kdsl.compile(changed, target=arch).ptx)
    module = kdsl.load_module(path)
    own = module.globals["table"].view(np.float32)
    assert own.to_host().tolist() == list(range(12))
    assert len(module.globals["table"]) == 48
    own.fill(1)
    assert table.to_host().ravel().tolist() == list(range(12))
    with pytest.raises(KeyError, match="no variable 'tables'; it has kdsl_address_of_table, table"):
        module.globals["tables"]


FOREIGN = """
__device__ int hits[4] = {1, 2, 3, 4};
__constant__ float gain;
extern "C" __global__ void apply(float *x) { atomicAdd(&hits[threadIdx.x], 10); x[threadIdx.x] *= gain; }
"""


@cuda_module
class foreign:
    @kernel
    def apply(x: Ptr[f32]):
        pass


needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc, the other compiler, is not on the PATH")


@needs_nvcc
def test_variables_of_another_compiler(device: str, tmp_path: Path) -> None:
    arch = kdsl.current_device().target
    (tmp_path / "k.cu").write_text(FOREIGN)
    kinds = ["ptx"] if device == "emulator" else ["ptx", "cubin"]
    for kind in kinds:
        path = tmp_path / f"k.{kind}"
        subprocess.run(["nvcc", f"-{kind}", f"-arch={arch}", "-o", path, tmp_path / "k.cu"], check=True)
        loaded = foreign.from_module(kdsl.load_module(path))
        assert sorted(loaded.globals) == ["gain", "hits"]
        loaded.globals["gain"].view(np.float32).fill(3)
        x = np.arange(4, dtype=np.float32)
        loaded.apply[1, 4](x)
        assert x.tolist() == [0, 3, 6, 9]
        assert loaded.globals["hits"].view(np.int32).to_host().tolist() == [11, 12, 13, 14]
        with pytest.raises(KeyError, match="no variable 'miss'; it has gain, hits"):
            loaded.globals["miss"]


@needs_nvcc
def test_the_symbols_of_a_cubin(tmp_path: Path) -> None:
    from kdsl.runtime.image_variables import variable_names

    (tmp_path / "k.cu").write_text(FOREIGN)
    subprocess.run(["nvcc", "-cubin", "-arch=sm_90", "-o", tmp_path / "k.cubin", tmp_path / "k.cu"], check=True)
    assert variable_names((tmp_path / "k.cubin").read_bytes()) == ("gain", "hits")
    assert variable_names(kdsl.compile(vectors, target="sm_90").cubin)[2:] == ("odd_ones", "rows")


@kernel
def past_the_end(n: i32):
    counter[n] = 1


@kernel(debug=True)
def checked_past_the_end(n: i32):
    counter[n] = 1


def test_indices_past_the_end() -> None:
    with pytest.raises(MemoryFault, match="out-of-bounds write of 4 bytes .*0 bytes after the end of"):
        past_the_end[1, 1](1)
    with pytest.raises(MemoryFault, match="index 1 is outside of axis 0 of `counter`, whose extent is 1"):
        checked_past_the_end[1, 1](1)


def test_views() -> None:
    words = kdsl.to_device(np.arange(6, dtype=np.uint32).reshape(2, 3))
    assert words.view(np.float32).shape == (2, 3)
    assert words.view(np.uint8).to_host().tolist() == words.to_host().view(np.uint8).tolist()
    with pytest.raises(ValueError, match="divisor"):
        words.view(np.float64)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: kdsl.device.array(0, u32), "1 to 4 extents of at least 1"),
        (lambda: kdsl.device.array(2.5, u32), "a shape is an int or a tuple of ints"),
        (lambda: kdsl.device.array(2**31, u32), "more than 2\\*\\*31 - 1 elements"),
        (lambda: kdsl.device.array(2, "nothing"), "not a type of the kernel language"),
        (lambda: kdsl.device.array(2, u32, init=[1, 2, 3]), "broadcast"),
        (lambda: kdsl.device.array(2, u32, init=[1, -1]), "numbers that u32 does not hold"),
        (lambda: kdsl.device.array(2, u32, init=2.5), "numbers that u32 does not hold"),
        (lambda: kdsl.device.array(2, u32, init=[1, np.nan]), "numbers that u32 does not hold"),
        (lambda: kdsl.device.array(2, f32, init=1e300), "numbers that f32 does not hold"),
        (lambda: kdsl.device.array(2, u32, init=np.zeros(2)), "init has float64, and the array uint32"),
        (lambda: kdsl.device.array(2, u32, name="a b"), "is no name in PTX"),
        (lambda: kdsl.device.array(1 << 20, u32, init=1), "leave init out"),
        (lambda: constant.empty(1 << 16, u32), "constant memory has 65536 bytes, and this array 262144"),
        (lambda: gains.copy_from(np.zeros(6)), "the source has float64\\[6\\], this variable float64\\[2, 3\\]"),
        (lambda: counter.copy_from([1.5]), "the source has float64\\[1\\], this array uint32\\[1\\]"),
    ],
)
def test_refused_on_the_host(make: Any, error: str) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError), match=error):
        make()


def test_two_of_one_name_in_a_module() -> None:
    first, second = kdsl.device.array(1, u32, name="n"), kdsl.device.array(1, u32, name="n")

    @kernel
    def k():
        first[0] = second[0]

    with pytest.raises(CompileError, match="two things of this module would be called `n` in PTX"):
        kdsl.compile(k, target="sm_90")
