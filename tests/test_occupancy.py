"""Occupancy and kernel attributes: the formula beside NVIDIA's own header, the emulator beside ptxas, a GPU beside both."""

from __future__ import annotations

import importlib.util
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Array, Constexpr, Ptr, f32, grid, i32, kernel, shared, static_range, sync_threads, thread_idx
from kdsl.codegen.sass import ToolMissing, find_tool
from kdsl.occupancy import MULTIPROCESSORS, Multiprocessor, blocks_by_resource, most_threads
from kdsl.target import Target

needs_ptxas = pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas")

ORACLE = """
#include <cstddef>
#include <cstdio>
#include <climits>
#include "cuda_occupancy.h"

int main() {
  int major, minor, threads_of_sm, shared_of_sm, optin, reserved, block, registers, dynamic, barriers, fixed;
  while (scanf("%d %d %d %d %d %d %d %d %d %d %d", &major, &minor, &threads_of_sm, &shared_of_sm, &optin, &reserved,
               &block, &registers, &fixed, &dynamic, &barriers) == 11) {
    cudaOccDeviceProp device;
    device.computeMajor = major;
    device.computeMinor = minor;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = threads_of_sm;
    device.regsPerBlock = device.regsPerMultiprocessor = 65536;
    device.warpSize = 32;
    device.sharedMemPerBlock = 49152;
    device.sharedMemPerMultiprocessor = shared_of_sm;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = optin;
    device.reservedSharedMemPerBlock = reserved;
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = 1024;
    kernel.numRegs = registers;
    kernel.sharedSizeBytes = fixed;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = dynamic;
    kernel.numBlockBarriers = barriers;
    cudaOccDeviceState state;
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, block, dynamic)) return 1;
    printf("%d\\n", result.activeBlocksPerMultiprocessor);
  }
}
"""


def header() -> Path | None:
    """The directory of cuda_occupancy.h: a CUDA toolkit's, or that of NVIDIA's wheels."""
    spec = importlib.util.find_spec("nvidia")
    wheels = [Path(root) for root in (spec.submodule_search_locations or () if spec else ())]
    places = [Path("/usr/local/cuda/include"), *sorted(Path("/usr/local").glob("cuda-*/include"))]
    places += [include for root in wheels for include in sorted(root.glob("*/include"))]
    return next((place for place in places if (place / "cuda_occupancy.h").exists()), None)


def cases() -> list[tuple[int, int, int, int, int, int]]:
    """(architecture, threads, registers, static and dynamic shared memory, barriers)."""
    chosen = random.Random(4)
    out = []
    for sm, has in MULTIPROCESSORS.items():
        most = optin(sm, has)
        for _ in range(400):
            static = chosen.choice([0, chosen.randrange(4096), chosen.randrange(49153)])
            dynamic = chosen.choice([0, 0, chosen.randrange(most - static + 1)])
            registers, barriers = chosen.randrange(16, 256), chosen.choice([0, 1, 1, 2, 5, 16])
            out.append((sm, chosen.randrange(1, 1025), registers, static, dynamic, barriers))
    return out


def optin(sm: int, has: Multiprocessor) -> int:
    return has.shared - has.reserved if sm != 75 else 65536


def test_the_formula_agrees_with_nvidias_header(tmp_path: Path) -> None:
    include, compiler = header(), shutil.which("c++") or shutil.which("g++")
    if include is None or compiler is None:
        pytest.skip("needs cuda_occupancy.h and a C++ compiler")
    source, program = tmp_path / "oracle.cpp", tmp_path / "oracle"
    source.write_text(ORACLE)
    subprocess.run([compiler, "-w", "-I", include, source, "-o", program], check=True)
    asked = []
    for sm, threads, registers, static, dynamic, barriers in cases():
        has = MULTIPROCESSORS[sm]
        fields = (sm // 10, sm % 10, has.warps * 32, has.shared, optin(sm, has), has.reserved)
        asked.append(" ".join(map(str, (*fields, threads, registers, static, dynamic, barriers))))
    done = subprocess.run([program], input="\n".join(asked), capture_output=True, text=True, check=True)
    expected = [int(line) for line in done.stdout.split()]
    found = [
        min(blocks_by_resource(sm, threads, registers=r, shared=static + dynamic, barriers=b).values())
        for sm, threads, r, static, dynamic, b in cases()
    ]
    assert [(c, f, e) for c, f, e in zip(cases(), found, expected, strict=True) if f != e] == []


def test_each_architecture_is_known_or_said_not_to_be() -> None:
    known = {Target.parse(name).sm for name in kdsl.target.KNOWN}
    assert known - set(MULTIPROCESSORS) == {88}
    with pytest.raises(ValueError, match="multiprocessor of sm_88 has is not published"):
        blocks_by_resource(88, 32, registers=16, shared=0)


@pytest.mark.parametrize(("registers", "threads"), [(16, 1024), (64, 1024), (65, 896), (128, 512), (255, 256)])
def test_the_largest_block_by_registers(registers: int, threads: int) -> None:
    assert most_threads(registers) == threads


@kernel
def vadd(a: Ptr[f32], b: Ptr[f32], c: Ptr[f32], n: i32) -> None:
    i = grid(1)
    if i < n:
        c[i] = a[i] + b[i]


@kernel(launch_bounds=128)
def bounded(x: Ptr[f32]) -> None:
    tile = shared.array(1024, f32)
    tile[thread_idx.x] = x[thread_idx.x]
    sync_threads()
    x[thread_idx.x] = tile[127 - thread_idx.x]


@kernel
def sized(x, size: Constexpr[i32]):  # type: ignore[no-untyped-def]
    x[0] = size


@kernel(max_registers=24)
def spilling(x: Ptr[f32]) -> None:
    v = [x[i * 32 + thread_idx.x] for i in range(40)]
    sync_threads()
    for i in static_range(40):
        x[(39 - i) * 32 + thread_idx.x] = v[i] * v[(i * 7) % 40]


@needs_ptxas
def test_attributes_on_the_emulator_are_ptxass() -> None:
    found = vadd.attributes
    (report,) = kdsl.compile(vadd, target="sm_90").resources
    assert (found.registers, found.shared, found.local, found.constant) == (report.registers, 0, 0, 0)
    assert (found.max_threads, found.ptx_version, found.binary_version) == (1024, 90, 90)
    assert (found.spill_stores, found.spill_loads) == (0, 0)
    assert bounded.attributes.shared == 4096
    assert bounded.attributes.max_threads == 128
    spilled = spilling.attributes
    assert spilled.registers <= 24
    assert min(spilled.spill_stores or 0, spilled.spill_loads or 0, spilled.local) > 0


@needs_ptxas
def test_constants_are_the_modules_own() -> None:
    assert with_table.attributes.constant == 400


TABLE = kdsl.constant.empty(100, i32)


@kernel
def with_table(x: Ptr[i32], n: i32) -> None:
    x[0] = TABLE[n]


@needs_ptxas
def test_occupancy_on_the_emulator() -> None:
    full = vadd.occupancy(256)
    assert (full.blocks, full.warps, full.max_warps, full.fraction) == (8, 64, 64, 1.0)
    assert full.limited_by == ("warps",)
    half = vadd.occupancy((16, 16), 100_000)
    assert (half.blocks, half.warps, half.fraction, half.limited_by) == (2, 16, 0.25, ("shared memory",))
    assert vadd.occupancy(32).limited_by == ("blocks",)
    assert bounded.occupancy(128).limits["shared memory"] == 228 * 1024 // 5120
    assert full.clusters is None


@needs_ptxas
def test_a_signature_says_what_annotations_do_not() -> None:
    signature = {"x": Array[f32, 1], "size": 5}
    assert sized.attributes_of(signature).registers > 0
    assert sized.occupancy(64, signature=signature).blocks == 32
    assert sized.suggest_block(signature=signature).block == 1024
    for ask in (lambda: sized.attributes, lambda: sized.occupancy(32), lambda: sized.suggest_block()):
        with pytest.raises(TypeError, match="sized: parameter 'x' has no annotation; say its type, as in signature="):
            ask()


@needs_ptxas
def test_suggestions_on_the_emulator() -> None:
    block, min_grid = vadd.suggest_block()
    assert (block, min_grid) == (1024, None)
    assert vadd.suggest_block(most_threads=300).block == 256
    assert bounded.suggest_block().block == 128
    for of_thread in (20, 120, 200):
        assert vadd.suggest_block(lambda threads, each=of_thread: each * threads).block == best(of_thread)


def best(of_thread: int) -> int:
    """The block with the most threads at once, where each has so many bytes of shared memory."""
    registers = vadd.attributes.registers

    def threads_at_once(threads: int) -> int:
        limits = blocks_by_resource(90, threads, registers=registers, shared=of_thread * threads)
        return threads * min(limits.values())

    return max(range(32, 1025, 32), key=lambda threads: (threads_at_once(threads), threads))


def test_misuse() -> None:
    for block, shared_bytes, text in (
        (2048, 0, "2048 threads, at most 1024 fit"),
        (0, 0, "block.x = 0"),
        (32.0, 0, "block.x = 32.0"),
        (32, -1, "shared must not be negative"),
        (32, 1 << 20, "is more than the 232448 that a block can have here"),
        (32, 1.5, "shared takes a number of bytes"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            vadd.occupancy(block, shared_bytes)
    with pytest.raises(ValueError, match="compiled for at most 128"):
        bounded.occupancy(256)
    for most in (0, -1, True, 1.5):
        with pytest.raises(TypeError, match="most_threads is how large a block may be suggested"):
            vadd.suggest_block(most_threads=most)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no block of vadd fits"):
        vadd.suggest_block(lambda threads: 1 << 20)


def test_without_ptxas_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import kdsl.codegen.sass

    monkeypatch.setattr(kdsl.codegen.sass, "find_tool", lambda name: None)

    @kernel
    def fresh(x: Ptr[f32]) -> None:
        x[0] = 1.0

    for ask in (lambda: fresh.attributes, lambda: fresh.occupancy(32), lambda: fresh.suggest_block()):
        with pytest.raises(
            ToolMissing,
            match=r"what fresh takes \(registers, shared and local memory\) is ptxas's to say on the emulator, and "
            r"ptxas was not found: pip install",
        ):
            ask()


@needs_ptxas
def test_loaded_kernels_say_the_same() -> None:
    @kdsl.cuda_module
    class kernels:
        @kernel
        def put(x: Ptr[i32], n: i32) -> None:
            x[0] = n

    loaded = kernels.load().put
    assert loaded.attributes.registers > 0
    assert loaded.occupancy(128).fraction == 1.0
    assert loaded.suggest_block().block == 1024


@needs_ptxas
def test_kernels_of_ptx_that_is_loaded_say_the_same() -> None:
    module = kdsl.load_module(kdsl.compile(bounded, target="sm_80").ptx.encode())
    loaded = module.kernel("bounded", {"x": Ptr[f32]})
    assert (loaded.attributes.shared, loaded.attributes.max_threads) == (4096, 128)
    assert loaded.occupancy(128).limits["shared memory"] == 228 * 1024 // 5120
    assert loaded.suggest_block().block == 128


# On a GPU.


@pytest.fixture
def cuda() -> Any:
    kdsl.set_device("cuda")
    yield kdsl.current_device()
    kdsl.set_device("emulator")


@pytest.mark.gpu
def test_a_gpu_says_what_ptxas_and_the_formula_say(cuda: Any) -> None:
    for k in (vadd, bounded, spilling):
        found = k.attributes
        sm = Target.parse(cuda.target).sm
        assert found.binary_version == sm
        assert found.ptx_version == sm
        for block in (32, 96, 128):
            for dynamic in (0, 1000, 40_000, 100_000):
                if found.shared + dynamic > cuda.limits.shared_bytes:
                    continue
                limits = blocks_by_resource(sm, block, registers=found.registers, shared=found.shared + dynamic)
                occupancy = k.occupancy(block, dynamic)
                assert occupancy.blocks == min(limits.values()), (k, block, dynamic)
                assert occupancy.limited_by
                assert occupancy.max_warps == MULTIPROCESSORS[sm].warps
    assert (bounded.attributes.max_threads, bounded.attributes.shared) == (128, 4096)
    assert spilling.attributes.local > 0
    assert with_table.attributes.constant == 400


@pytest.mark.gpu
def test_a_gpu_suggests_a_block(cuda: Any) -> None:
    block, min_grid = vadd.suggest_block()
    assert min_grid is not None
    assert vadd.occupancy(block).fraction == 1.0
    assert min_grid == cuda.limits.extra["multiprocessors"] * vadd.occupancy(block).blocks
    assert vadd.suggest_block(most_threads=256).block <= 256
    n = 10_000
    a, b, c = (kdsl.to_device(np.full(n, v, np.float32)) for v in (1, 2, 0))
    vadd[-(-n // block), block](a, b, c, n)
    assert (c.to_host() == 3).all()
    assert bounded.suggest_block().block <= 128
    by_threads = vadd.suggest_block(lambda threads: 200 * threads)
    assert vadd.occupancy(by_threads.block, 200 * by_threads.block).blocks > 0


@pytest.mark.gpu
def test_clusters_of_a_gpu(cuda: Any) -> None:
    if not cuda.limits.extra["cluster"]:
        with pytest.raises(ValueError, match="clusters need a GPU of sm_90"):
            vadd.occupancy(128, cluster=2)
        return
    one, eight = vadd.occupancy(128, cluster=2).clusters, vadd.occupancy(128, 100_000, cluster=8).clusters
    assert one is not None
    assert eight is not None
    assert one > eight > 0
    assert vadd.occupancy(128, 100_000, cluster=16).clusters is not None
