"""What a kernel costs in machine code beside the same in CUDA C++, compiled by nvcc -O3.

Our semantics are defined where C's are not (floor division, shifts past the width, casts that saturate). Where both mean
the same, ours may not be larger. Each row has the two sources; `extra` is what ours may have more, with the reason.
"""

# mypy: ignore-errors

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import kdsl
from kdsl import (
    Array,
    Ptr,
    block_dim,
    block_idx,
    f32,
    f64,
    grid,
    gridsize,
    i32,
    i64,
    kernel,
    shared,
    sync_threads,
    thread_idx,
    u8,
    u32,
    u64,
)
from kdsl.codegen.sass import disassemble, find_tool

from .test_division_cost import sizes

pytestmark = pytest.mark.skipif(
    not (shutil.which("nvcc") and find_tool("ptxas") and find_tool("nvdisasm")), reason="needs nvcc, ptxas and nvdisasm"
)
ROWS: list[tuple[kdsl.Kernel, str, int, str]] = []


def beside(cuda: str, extra: int = 0, because: str = "") -> Any:
    """The kernel below is this, in C: parameters, and the body."""

    def add(checked: kdsl.Kernel) -> kdsl.Kernel:
        assert bool(extra) == bool(because)
        parameters, _, body = cuda.partition("|")
        text = f'extern "C" __global__ void {checked.name}({parameters}) {{\n{body}\n}}'
        ROWS.append((checked, text, extra, because))
        return checked

    return add


I = "int i = blockIdx.x * blockDim.x + threadIdx.x;"  # noqa: E741


# Index math.


@beside(f"float *x, float *y, int n|{I} if (i < n) y[i] = x[i] * 2.f;")
@kernel
def index_1d(x: Ptr[f32], y: Ptr[f32], n: i32):
    i = grid(1)
    if i < n:
        y[i] = x[i] * 2.0


@beside(
    "float *x, float *y, int w, int h|int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;"
    "if (i < w && j < h) y[j * w + i] = x[j * w + i] + 1.f;"
)
@kernel
def index_2d(x: Ptr[f32], y: Ptr[f32], w: i32, h: i32):
    i, j = grid(2)
    if i < w and j < h:
        y[j * w + i] = x[j * w + i] + 1.0


@beside(
    "float *x, int h, int w, float *y, int g, int v|"
    "int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;"
    "if (i < w && j < h) y[j * v + i] = x[j * w + i] + 1.f;"
)
@kernel
def array_2d(x: Array[f32, 2], y: Array[f32, 2]):
    i, j = grid(2)
    if i < x.shape[1] and j < x.shape[0]:
        y[j, i] = x[j, i] + 1.0


@beside(
    "float *x, float *y, int w, int h, int d|int i = blockIdx.x * blockDim.x + threadIdx.x,"
    "j = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z * blockDim.z + threadIdx.z;"
    "if (i < w && j < h && k < d) y[(k * h + j) * w + i] = x[(k * h + j) * w + i] + 1.f;"
)
@kernel
def index_3d(x: Ptr[f32], y: Ptr[f32], w: i32, h: i32, d: i32):
    i, j, k = grid(3)
    if i < w and j < h and k < d:
        y[(k * h + j) * w + i] = x[(k * h + j) * w + i] + 1.0


@beside(f"float *x, float *y, int n|{I} if (i > 0 && i < n - 1) y[i] = x[i - 1] + x[i] + x[i + 1];")
@kernel
def neighbours(x: Ptr[f32], y: Ptr[f32], n: i32):
    i = grid(1)
    if i > 0 and i < n - 1:
        y[i] = x[i - 1] + x[i] + x[i + 1]


@beside(f"float *x, float *y, int n|{I} y[i] = x[min(max(i - 1, 0), n - 1)] + x[min(max(i + 1, 0), n - 1)];")
@kernel
def clamped(x: Ptr[f32], y: Ptr[f32], n: i32):
    i = grid(1)
    y[i] = x[min(max(i - 1, 0), n - 1)] + x[min(max(i + 1, 0), n - 1)]


@beside(
    "float *x, float *y, long long n|long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i];"
)
@kernel
def index_64(x: Ptr[f32], y: Ptr[f32], n: i64):
    i = i64(block_idx.x) * block_dim.x + thread_idx.x
    if i < n:
        y[i] = x[i]


# Division.


@beside(f"unsigned *x|{I} x[i] = x[i] / 10;")
@kernel
def unsigned_by_10(x: Ptr[u32]):
    i = grid(1)
    x[i] = x[i] // 10


@beside(f"unsigned *x|{I} x[i] = x[i] % 10;")
@kernel
def unsigned_rest_of_10(x: Ptr[u32]):
    i = grid(1)
    x[i] = x[i] % 10


@beside(f"unsigned *x|{I} x[i] = x[i] / 16;")
@kernel
def unsigned_by_16(x: Ptr[u32]):
    i = grid(1)
    x[i] = x[i] // 16


@beside(f"unsigned *x|{I} x[i] = x[i] % 16;")
@kernel
def unsigned_rest_of_16(x: Ptr[u32]):
    i = grid(1)
    x[i] = x[i] % 16


@beside(f"unsigned *x|{I} x[i] = x[i] / 7;")
@kernel
def unsigned_by_7(x: Ptr[u32]):
    i = grid(1)
    x[i] = x[i] // 7


@beside(f"int *x|{I} x[i] = x[i] / 10;", 2, "floor takes two instructions more than truncation")
@kernel
def signed_by_10(x: Ptr[i32]):
    i = grid(1)
    x[i] = x[i] // 10


@beside(f"int *x|{I} x[i] = x[i] % 10;", 2, "floor takes two instructions more than truncation")
@kernel
def signed_rest_of_10(x: Ptr[i32]):
    i = grid(1)
    x[i] = x[i] % 10


@beside(f"int *x|{I} x[i] = x[i] / 16;")
@kernel
def signed_by_16(x: Ptr[i32]):
    i = grid(1)
    x[i] = x[i] // 16


@beside(f"int *x|{I} x[i] = x[i] % 16;")
@kernel
def signed_rest_of_16(x: Ptr[i32]):
    i = grid(1)
    x[i] = x[i] % 16


@beside(f"int *x|{I} x[i] = x[i] / -3;", 1, "floor takes an instruction more than truncation")
@kernel
def signed_by_minus_3(x: Ptr[i32]):
    i = grid(1)
    x[i] = x[i] // -3


@beside(f"unsigned long long *x|{I} x[i] = x[i] / 10;")
@kernel
def wide_by_10(x: Ptr[u64]):
    i = grid(1)
    x[i] = x[i] // 10


@beside(f"int *x|{I} x[i] = i / 24 * 100 + i % 24;")
@kernel
def index_by_24(x: Ptr[i32]):
    i = grid(1)
    x[i] = i // 24 * 100 + i % 24


@beside(f"int *x, int *y|{I} x[i] = i / 32; y[i] = i % 32;")
@kernel
def index_by_32(x: Ptr[i32], y: Ptr[i32]):
    i = grid(1)
    x[i] = i // 32
    y[i] = i % 32


@beside(f"int *x, int h, int w|{I} x[i] = i / w;")
@kernel
def by_an_extent(x: Array[i32, 2]):
    i = grid(1)
    x[0, i] = i // x.shape[1]


@beside(f"int *x, int h, int w|{I} x[i] = i % w;")
@kernel
def rest_of_an_extent(x: Array[i32, 2]):
    i = grid(1)
    x[0, i] = i % x.shape[1]


@beside(
    f"float *x, int h, int w, float *y, int g, int v|{I} if (i < h * w) y[(i % w) * v + i / w] = x[(i / w) * w + i % w];"
)
@kernel
def unravelled(x: Array[f32, 2], y: Array[f32, 2]):
    i = grid(1)
    h, w = x.shape
    if i < h * w:
        y[i % w, i // w] = x[i // w, i % w]


@beside(
    f"unsigned *x, unsigned w|{I} x[i] = x[i] / w;",
    4,
    "a division by zero gives 0, and ptxas does not see that there is none left to look for",
)
@kernel
def unsigned_by_a_variable(x: Ptr[u32], w: u32):
    i = grid(1)
    x[i] = x[i] // w


@beside(f"int *x|{I} x[i] = threadIdx.x / (blockDim.x / 4 + 1);")
@kernel
def by_a_known_positive(x: Ptr[i32]):
    i = grid(1)
    x[i] = thread_idx.x // (block_dim.x // 4 + 1)


@beside(f"int *x, int w|{I} x[i] = i / w;", 3, "w may be negative, where floor is not truncation, or 0")
@kernel
def by_a_variable(x: Ptr[i32], w: i32):
    i = grid(1)
    x[i] = i // w


@beside(f"int *x, int w|{I} x[i] = x[i] / w;", 5, "floor is not truncation where the signs differ; by zero is 0")
@kernel
def both_of_unknown_sign(x: Ptr[i32], w: i32):
    i = grid(1)
    x[i] = x[i] // w


# Shifts, casts, comparisons.


@beside(f"unsigned *x|{I} x[i] = (x[i] << 5) ^ (x[i] >> 27);")
@kernel
def constant_shifts(x: Ptr[u32]):
    i = grid(1)
    x[i] = (x[i] << 5) ^ (x[i] >> 27)


@beside(f"int *x|{I} x[i] = x[i] >> 3;")
@kernel
def arithmetic_shift(x: Ptr[i32]):
    i = grid(1)
    x[i] = x[i] >> 3


@beside(f"int *x|{I} x[i] = 1 << (threadIdx.x & 31);")
@kernel
def shift_in_range(x: Ptr[i32]):
    i = grid(1)
    x[i] = i32(1) << (thread_idx.x & 31)


@beside(f"unsigned *x, unsigned n|{I} x[i] = x[i] << n;")
@kernel
def shift_by_a_variable(x: Ptr[u32], n: u32):
    i = grid(1)
    x[i] = x[i] << n


@beside(f"float *x, int *y|{I} y[i] = (int)x[i];")
@kernel
def float_to_int(x: Ptr[f32], y: Ptr[i32]):
    i = grid(1)
    y[i] = i32(x[i])


@beside(
    f"float *x, unsigned char *y|{I} y[i] = (unsigned char)fminf(fmaxf(x[i], 0.f), 255.f);",
    2,
    "a cast to u8 saturates, too",
)
@kernel
def float_to_byte(x: Ptr[f32], y: Ptr[u8]):
    i = grid(1)
    y[i] = u8(min(max(x[i], 0.0), 255.0))


@beside(f"double *x, int *y|{I} y[i] = (int)x[i];", 2, "NaN is 0: the instruction gives the lowest integer")
@kernel
def double_to_int(x: Ptr[f64], y: Ptr[i32]):
    i = grid(1)
    y[i] = i32(x[i])


@beside(f"int *x, float *y|{I} y[i] = (float)x[i] * 0.5f;")
@kernel
def int_to_float(x: Ptr[i32], y: Ptr[f32]):
    i = grid(1)
    y[i] = f32(x[i]) * 0.5


@beside(f"int *x, int *y, int *z|{I} x[i] = max(min(x[i], y[i]), min(max(x[i], y[i]), z[i]));")
@kernel
def median(x: Ptr[i32], y: Ptr[i32], z: Ptr[i32]):
    i = grid(1)
    x[i] = max(min(x[i], y[i]), min(max(x[i], y[i]), z[i]))


@beside(f"float *x, float *y, float *z|{I} x[i] = fmaxf(fmaxf(x[i], y[i]), fminf(z[i], 1.f));")
@kernel
def largest(x: Ptr[f32], y: Ptr[f32], z: Ptr[f32]):
    i = grid(1)
    x[i] = max(max(x[i], y[i]), min(z[i], 1.0))


@beside(f"int *x|{I} x[i] = abs(x[i]);")
@kernel
def absolute(x: Ptr[i32]):
    i = grid(1)
    x[i] = abs(x[i])


@beside(f"float *x, float *y|{I} y[i] = x[i] < 0.f ? -x[i] * 0.1f : x[i];")
@kernel
def leaky(x: Ptr[f32], y: Ptr[f32]):
    i = grid(1)
    y[i] = -x[i] * 0.1 if x[i] < 0.0 else x[i]


@beside(f"unsigned char *x, unsigned char *y|{I} y[i] = (x[i] + y[i]) >> 1;")
@kernel
def bytes_mean(x: Ptr[u8], y: Ptr[u8]):
    i = grid(1)
    y[i] = u8((x[i] + y[i]) >> 1)


@beside(f"float *x, float a, float b|{I} x[i] = (a * x[i] + b) * x[i] + 1.f;")
@kernel
def polynomial(x: Ptr[f32], a: f32, b: f32):
    i = grid(1)
    x[i] = (a * x[i] + b) * x[i] + 1.0


# Loops and shared memory.


@beside("float *x, float *y, int n|#pragma unroll 1\nfor (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = x[i];",
        23, "one division counts the iterations, so that the index never wraps; the loop itself is one longer")  # fmt: skip
@kernel
def grid_stride(x: Ptr[f32], y: Ptr[f32], n: i32):
    for i in range(grid(1), n, gridsize(1), unroll=False):
        y[i] = x[i]


@beside(
    "float *x, float *y, int n|float s = 0; int t = threadIdx.x;\n#pragma unroll 1\nfor (int i = 0; i < n; i++) s += x[i * 32 + t];\ny[t] = s;"
)
@kernel
def column_sum(x: Ptr[f32], y: Ptr[f32], n: i32):
    s = 0.0
    t = thread_idx.x
    for i in range(n, unroll=False):
        s += x[i * 32 + t]
    y[t] = s


@beside(
    "float *x, float *y|float s = 0; int t = threadIdx.x;\n#pragma unroll\nfor (int i = 0; i < 8; i++) s += x[i * 32 + t];\ny[t] = s;"
)
@kernel
def unrolled_sum(x: Ptr[f32], y: Ptr[f32]):
    s = 0.0
    t = thread_idx.x
    for i in range(8, unroll=True):
        s += x[i * 32 + t]
    y[t] = s


@beside("int *x, int n|int s = 0;\n#pragma unroll 1\nfor (int i = n; i > 0; i -= 2) s ^= x[i];\nx[0] = s;",
        1, "the iterations are counted: a range never wraps")  # fmt: skip
@kernel
def downwards(x: Ptr[i32], n: i32):
    s = i32(0)
    for i in range(n, 0, -2, unroll=False):
        s ^= x[i]
    x[0] = s


@beside(
    "float *x, float *y|__shared__ float s[256]; int t = threadIdx.x; s[t] = x[t]; __syncthreads();\n"
    "#pragma unroll\nfor (int w = 128; w > 0; w /= 2) { if (t < w) s[t] += s[t + w]; __syncthreads(); }\nif (t == 0) y[blockIdx.x] = s[0];"
)
@kernel
def tree_sum(x: Ptr[f32], y: Ptr[f32]):
    s = shared.array(256, f32)
    t = thread_idx.x
    s[t] = x[t]
    sync_threads()
    for w in (128, 64, 32, 16, 8, 4, 2, 1):
        if t < w:
            s[t] += s[t + w]
        sync_threads()
    if t == 0:
        y[block_idx.x] = s[0]


@beside(
    "float *x, float *y, int n|__shared__ float tile[16][17]; int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;"
    "tile[threadIdx.y][threadIdx.x] = x[j * n + i]; __syncthreads();"
    "i = blockIdx.y * 16 + threadIdx.x; j = blockIdx.x * 16 + threadIdx.y; y[j * n + i] = tile[threadIdx.x][threadIdx.y];"
)
@kernel
def transposed(x: Ptr[f32], y: Ptr[f32], n: i32):
    tile = shared.array((16, 17), f32)
    i, j = block_idx.x * 16 + thread_idx.x, block_idx.y * 16 + thread_idx.y
    tile[thread_idx.y, thread_idx.x] = x[j * n + i]
    sync_threads()
    i, j = block_idx.y * 16 + thread_idx.x, block_idx.x * 16 + thread_idx.y
    y[j * n + i] = tile[thread_idx.x, thread_idx.y]


@pytest.fixture(scope="module")
def their_sass(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What nvcc makes of the C sources."""
    directory: Path = tmp_path_factory.mktemp("nvcc")
    source, cubin = directory / "rows.cu", directory / "rows.cubin"
    source.write_text("\n".join(text for _, text, _, _ in ROWS))
    subprocess.run(["nvcc", "-arch=sm_90", "-O3", "-cubin", str(source), "-o", str(cubin)], check=True)
    return disassemble(cubin.read_bytes())


@pytest.fixture(scope="module")
def theirs(their_sass: str) -> dict[str, int]:
    return sizes(their_sass)


@pytest.fixture(scope="module")
def our_sass() -> str:
    """Ours, as one module."""
    return kdsl.compile([checked for checked, *_ in ROWS], target="sm_90").sass


@pytest.fixture(scope="module")
def ours(our_sass: str) -> dict[str, int]:
    return sizes(our_sass)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r[0].name)
def test_costs_what_c_s_does(row: Any, theirs: dict[str, int], ours: dict[str, int]) -> None:
    name, extra = row[0].name, row[2]
    assert ours[name] <= theirs[name] + extra, (ours[name], theirs[name])


def loops(sass: str) -> dict[str, list[int]]:
    """The length of each kernel's loops: from a label to the last branch back to it; not the one behind the code."""
    out: dict[str, list[int]] = {}
    for part in re.split(r"^\s*\.section\s+\.text\.", sass, flags=re.MULTILINE)[1:]:
        place, labels, found = 0, {}, {}
        for line in part.splitlines():
            if label := re.match(r"\s*(\.L_x_\d+):", line):
                labels[label[1]] = place
            elif re.search(r"/\*[0-9a-f]{4}\*/", line):
                place += 1
                if (branch := re.search(r"BRA `\((\.L_x_\d+)\)", line)) and branch[1] in labels:
                    found[branch[1]] = place - labels[branch[1]]
        out[part.split(",")[0]] = [length for length in found.values() if length > 1]
    return out


def test_a_counted_loop_is_at_most_one_longer_than_c_s(our_sass: str, their_sass: str) -> None:
    """The one is the counter beside the index."""
    ours, theirs = loops(our_sass), loops(their_sass)
    for name in ("grid_stride", "downwards", "column_sum"):
        assert len(ours[name]) == len(theirs[name]) == 1
        assert ours[name][0] <= theirs[name][0] + 1, name
