"""The runtime on a real GPU: memory, launches, streams, faults, other libraries' arrays. The PTX is written by hand."""

from __future__ import annotations

import re
import struct
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kdsl.backend import DeviceError, Launch
from kdsl.lang.types import BF16, F16, F32, F64, I8, I16, I32, I64, SCALARS, U8, U64, PointerType, Type, boolean
from kdsl.runtime.array_making import empty, to_device, zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.launch import Launcher
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.stream import Stream

pytestmark = pytest.mark.gpu
P = PointerType
ROOT = Path(__file__).parents[2]
HEAD = b".version 6.3\n.target sm_75\n.address_size 64\n"
VADD = (
    HEAD
    + b"""
.visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %r<4>; .reg .f32 %f<3>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [c]; ld.param.u32 %r0, [n];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r1, %r1, %r2, %r3;
    setp.ge.s32 %p, %r1, %r0; @%p bra DONE;
    mul.wide.s32 %d3, %r1, 4;
    add.s64 %d0, %d0, %d3; add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;
    ld.global.f32 %f0, [%d0]; ld.global.f32 %f1, [%d1]; add.rn.f32 %f2, %f0, %f1; st.global.f32 [%d2], %f2;
DONE:
    ret;
}
"""
)
# Spins for about `n` clock ticks, then adds 1 to x[0].
SLOW = (
    HEAD
    + b"""
.visible .entry slow(.param .u64 x, .param .u64 n)
{
    .reg .pred %p; .reg .b32 %r0; .reg .b64 %d<5>;
    ld.param.u64 %d0, [x]; ld.param.u64 %d1, [n]; mov.u64 %d2, %clock64;
AGAIN:
    mov.u64 %d3, %clock64; sub.s64 %d4, %d3, %d2; setp.lt.s64 %p, %d4, %d1; @%p bra AGAIN;
    ld.global.u32 %r0, [%d0]; add.u32 %r0, %r0, 1; st.global.u32 [%d0], %r0;
    ret;
}
"""
)
# Writes the number of bytes of dynamic shared memory, after touching the last of them.
SHARED = (
    HEAD
    + b"""
.extern .shared .align 16 .b8 memory[];
.visible .entry shared(.param .u64 x)
{
    .reg .b32 %r<3>; .reg .b64 %d0;
    ld.param.u64 %d0, [x]; mov.u32 %r0, %dynamic_smem_size; mov.u32 %r1, memory; add.u32 %r1, %r1, %r0;
    st.shared.u32 [%r1 + -4], %r0; ld.shared.u32 %r2, [%r1 + -4]; st.global.u32 [%d0], %r2;
    ret;
}
"""
)


@pytest.fixture(scope="module")
def gpu() -> CudaDriver:
    return CudaDriver()


def kernel(gpu: CudaDriver, image: bytes, name: str, *parameters: tuple[str, Type], written: Any = None) -> Launcher:
    return Launcher(name, parameters, gpu, gpu.function(gpu.load(image), name), written)


@pytest.fixture(scope="module")
def vadd(gpu: CudaDriver) -> Launcher:
    return kernel(gpu, VADD, "vadd", ("a", P(F32)), ("b", P(F32)), ("c", P(F32)), ("n", I32), written={2})


@pytest.fixture(scope="module")
def slow(gpu: CudaDriver) -> Launcher:
    return kernel(gpu, SLOW, "slow", ("x", P(I32)), ("n", I64))


def test_what_the_device_is(gpu: CudaDriver) -> None:
    assert CudaDriver.available() == (True, "")
    assert gpu.target.startswith("sm_") and gpu.limits.threads == 1024 and gpu.limits.shared_bytes > 48 * 1024
    assert gpu.description and CudaDriver.count() >= 1 and CudaDriver.version().startswith("CUDA 1")


@pytest.mark.parametrize("name", sorted(SCALARS))
def test_arrays(gpu: CudaDriver, name: str) -> None:
    host = np.arange(1000).reshape(10, 100).astype(SCALARS[name].numpy)
    array = to_device(host, gpu)
    assert array.to_host().tobytes() == host.tobytes()
    copy = zeros(host.shape, host.dtype, backend=gpu)
    assert not copy.to_host().any()
    copy.copy_from(array)
    assert copy.to_host().tobytes() == host.tobytes()
    copy.fill(1)
    np.testing.assert_array_equal(copy.to_host(), np.ones_like(host))


def test_a_large_copy_is_complete(gpu: CudaDriver) -> None:
    host = np.random.default_rng(0).integers(0, 256, 1 << 28, np.uint8)
    array = to_device(host, gpu)
    expected = host.copy()
    host[:] = 0
    assert (array.to_host() == expected).all()


def test_vadd(gpu: CudaDriver, vadd: Launcher) -> None:
    n = 1_000_003
    a, b = (np.random.default_rng(seed).random(n, np.float32) for seed in (1, 2))
    run = vadd.bind(LaunchConfig.for_num_elems(n))
    c = np.zeros(n, np.float32)
    run(a, b, c, n)
    assert (c == a + b).all()
    x, y, z = to_device(a, gpu), to_device(b, gpu), empty(n, backend=gpu)
    run(x, y, z, n)
    assert (z.to_host() == a + b).all()
    run(x, y, x, n)
    assert (x.to_host() == a + b).all()
    run(a, a, a, n)
    assert (a == 2 * (c - b)).mean() > 0.5  # in place; exactness is checked above


def test_one_array_thrice(vadd: Launcher) -> None:
    a = np.arange(256, dtype=np.float32)
    vadd.bind(LaunchConfig(1, 256))(a, a, a, 256)
    np.testing.assert_array_equal(a, np.arange(256) * 2)


def test_every_kind_of_parameter_arrives(gpu: CudaDriver) -> None:
    """A kernel stores its whole parameter space, byte by byte; struct's native layout is the C compiler's."""
    types: Sequence[Type] = (I8, F64, boolean, I16, U8, I64, F16, F32, BF16, U64)
    values = (-1, 2.5, True, -2, 255, -3, 0.5, 1.5, 3.0, 2**64 - 1)
    expected = struct.pack("@bd?hBqefHQ", *values[:8], 0x4040, values[9])
    sizes = [t.size for t in types if not isinstance(t, PointerType)]  # type: ignore[union-attr]
    declared = ", ".join(f".param .b{8 * size} p{i}" for i, size in enumerate(sizes))
    lines, offset = [], 0
    for i, size in enumerate(sizes):
        offset = -(-offset // size) * size
        register = {1: "h", 2: "h", 4: "r", 8: "d"}[size]
        lines.append(f"ld.param.b{8 * size} %{register}, [p{i}]; st.global.b{8 * size} [%x + {offset}], %{register};")
        offset += size
    text = HEAD.decode() + (
        f".visible .entry store({declared}, .param .u64 out) {{ .reg .b16 %h; .reg .b32 %r; .reg .b64 %d, %x;\n"
        "ld.param.u64 %x, [out];\n" + "\n".join(lines) + "\nret; }"
    )
    parameters = [(f"p{i}", t) for i, t in enumerate(types)]
    out = zeros(len(expected), np.uint8, backend=gpu)
    kernel(gpu, text.encode(), "store", *parameters, ("out", P(U8))).bind(LaunchConfig(1, 1))(*values, out)
    got = bytes(out.to_host())
    # Padding holds what it held.
    assert all(a == b for a, b, used in zip(got, expected, _used(sizes), strict=True) if used)


def _used(sizes: Sequence[int]) -> list[bool]:
    out: list[bool] = []
    for size in sizes:
        out += [False] * (-len(out) % size) + [True] * size
    return out


def test_no_parameters(gpu: CudaDriver) -> None:
    kernel(gpu, HEAD + b".visible .entry nothing() { ret; }", "nothing").bind(LaunchConfig(1, 32))()
    gpu.synchronize()


def test_much_shared_memory(gpu: CudaDriver) -> None:
    launcher = kernel(gpu, SHARED, "shared", ("x", P(I32)))
    x = np.zeros(1, np.int32)
    for size in (1024, 48 * 1024, gpu.limits.shared_bytes):
        launcher.bind(LaunchConfig(1, 32, shared=size))(x)
        assert x[0] == size


def test_clusters_and_cooperative_launches(gpu: CudaDriver, vadd: Launcher) -> None:
    a = np.arange(1024, dtype=np.float32)
    configs = [LaunchConfig(4, 256, cooperative=True)]
    if gpu.limits.extra["cluster"]:
        configs.append(LaunchConfig(4, 256, cluster=2))
    for config in configs:
        c = np.zeros_like(a)
        vadd.bind(config)(a, a, c, 1024)
        np.testing.assert_array_equal(c, 2 * a)


def test_streams_and_events(gpu: CudaDriver, slow: Launcher) -> None:
    stream = Stream(gpu)
    x = zeros(1, np.int32, backend=gpu)
    start = stream.record()
    run = slow.bind(LaunchConfig(1, 1, stream=stream))
    run(x, 20_000_000)
    assert not stream.done
    end = stream.record()
    assert start.elapsed_ms(end) > 1
    assert stream.done and x.to_host()[0] == 1


def test_memory_is_not_given_away_while_it_is_used(gpu: CudaDriver, slow: Launcher) -> None:
    stream = Stream(gpu)
    x = zeros(1 << 20, np.int32, backend=gpu)
    slow.bind(LaunchConfig(1, 1, stream=stream))(x, 200_000_000)
    del x
    y = zeros(1 << 20, np.int32, backend=gpu)
    gpu.synchronize()
    assert not y.to_host().any()


def test_threads(gpu: CudaDriver, vadd: Launcher) -> None:
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            a = np.random.default_rng(seed).random(10_000, np.float32)
            device = to_device(a, gpu)
            run = vadd.bind(LaunchConfig.for_num_elems(10_000))
            for _ in range(50):
                c = np.zeros_like(a)
                run(device, a, c, 10_000)
                assert (c == a + a).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_out_of_memory(gpu: CudaDriver) -> None:
    with pytest.raises(MemoryError, match=r"1099511627776 bytes \(1024.00 GiB\) asked for on .*, .* free of .*"):
        empty(1 << 40, np.uint8, backend=gpu)
    assert zeros(10, backend=gpu).to_host().sum() == 0


def test_bad_images(gpu: CudaDriver) -> None:
    with pytest.raises(DeviceError, match="its PTX does not assemble(.|\n)*nonsense"):
        gpu.function(gpu.load(HEAD + b".visible .entry k() { nonsense.u32 %r1; ret; }"), "k")
    # The driver looks into a cubin when a kernel is asked for, not before.
    with pytest.raises((DeviceError, KeyError), match="refuses the module|has no kernel 'k'"):
        gpu.function(gpu.load(b"\x7fELF" + bytes(100)), "k")
    with pytest.raises(KeyError, match="has no kernel 'nope'; it has vadd"):
        gpu.function(gpu.load(VADD), "nope")


def test_a_block_that_does_not_fit_the_kernel(gpu: CudaDriver) -> None:
    image = HEAD + b".visible .entry k() .maxntid 64, 1, 1 { ret; }"
    with pytest.raises(DeviceError, match=r"`k` \(grid \(1, 1, 1\), block \(256, 1, 1\)\) was not launched") as caught:
        kernel(gpu, image, "k").bind(LaunchConfig(1, 256))()
    assert caught.value.kernel == "k"
    gpu.synchronize()


def test_recording() -> None:
    records: list[tuple[str, float, float]] = []
    gpu = CudaDriver(record=lambda *record: records.append(record))
    run = kernel(gpu, VADD, "vadd", ("a", P(F32)), ("b", P(F32)), ("c", P(F32)), ("n", I32)).bind(LaunchConfig(1, 32))
    a = np.zeros(8, np.float32)
    run(a, a, a, 8)
    names = [name for name, _, _ in records]
    assert {"cuLibraryLoadData", "cuLaunchKernelEx", "cuMemcpyDtoH"} <= set(names) and all(
        t >= 0 for _, _, t in records
    )


def test_torch(gpu: CudaDriver, vadd: Launcher) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    a = torch.arange(1000, dtype=torch.float32, device="cuda")
    c = torch.zeros_like(a)
    run = vadd.bind(LaunchConfig.for_num_elems(1000))
    run(a, a, c, 1000)
    assert torch.equal(c, 2 * a)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        big = torch.ones(1 << 26, device="cuda")
        for _ in range(20):
            big = big * 1.0
        out = torch.zeros_like(big)
        vadd.bind(LaunchConfig.for_num_elems(1 << 26))(big, big, out, 1 << 26)
        assert float(out.sum()) == 2.0 * (1 << 26)
    for bad, text in (
        (a.double(), "got torch.Tensor of float64; pass a.to(torch.float32)"),
        (a.reshape(10, 100).T, "not contiguous"),
        (a.clone().requires_grad_(), "pass t.detach()"),
    ):
        with pytest.raises((TypeError, ValueError), match=re.escape(text)):
            run(bad, a, c, 1000)
    array = to_device(np.arange(6, dtype=np.float32).reshape(2, 3), gpu)
    assert torch.equal(torch.as_tensor(array, device="cuda").cpu(), torch.arange(6.0).reshape(2, 3))


def test_torch_bfloat16(gpu: CudaDriver) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    image = (
        HEAD
        + b"""
    .visible .entry k(.param .u64 x) { .reg .b64 %d; .reg .b16 %h;
    ld.param.u64 %d, [x]; mov.b16 %h, 0x3fc0; st.global.b16 [%d], %h; ret; }"""
    )
    x = torch.zeros(4, dtype=torch.bfloat16, device="cuda")
    kernel(gpu, image, "k", ("x", P(BF16))).bind(LaunchConfig(1, 1))(x)
    assert x.tolist() == [1.5, 0, 0, 0]


def test_cupy(gpu: CudaDriver, vadd: Launcher) -> None:
    cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    run = vadd.bind(LaunchConfig.for_num_elems(1000))
    with cupy.cuda.Stream(non_blocking=True):
        a = cupy.arange(1000, dtype=cupy.float32)
        c = cupy.zeros_like(a)
        run(a, a, c, 1000)
        assert bool((c == 2 * a).all())
    array = to_device(np.arange(6, dtype=np.float32), gpu)
    assert cupy.asarray(array).sum() == 15


def test_a_foreign_stream_does_not_overtake_a_fill(gpu: CudaDriver, slow: Launcher) -> None:
    cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    side = cupy.cuda.Stream(non_blocking=True)
    for _ in range(20):
        x = DeviceArray((1 << 24,), I32, gpu)
        x.fill(7)
        slow.bind(LaunchConfig(1, 1, stream=side))(x, 0)
        side.synchronize()
        assert x.to_host()[0] == 8


def test_launching_in_a_loop_reads_the_parameters_each_time(gpu: CudaDriver) -> None:
    image = (
        HEAD
        + b"""
    .visible .entry add(.param .u64 x, .param .u32 n) { .reg .b64 %d; .reg .b32 %r<2>;
    ld.param.u64 %d, [x]; ld.param.u32 %r0, [n]; red.global.add.u32 [%d], %r0; ret; }"""
    )
    launcher = kernel(gpu, image, "add", ("x", P(I32)), ("n", I32))
    x = zeros(1, np.int32, backend=gpu)
    run = launcher.bind(LaunchConfig(1, 1))
    for value in range(20_000):
        run(x, value)
    assert x.to_host()[0] == sum(range(20_000))
    launcher.launch(Launch((1, 1, 1), (2, 1, 1)), (x, 1))
    assert x.to_host()[0] == sum(range(20_000)) + 2
