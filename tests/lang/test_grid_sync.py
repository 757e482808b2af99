"""The barrier of a whole grid, and launches that begin before the one ahead has ended."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    CompileError,
    DeviceError,
    LaunchConfig,
    Ptr,
    SynchronizationError,
    Target,
    block_dim,
    block_idx,
    clock64,
    cluster_rank,
    cluster_sync,
    globaltimer,
    grid,
    grid_dependency_wait,
    grid_dim,
    grid_launch_dependents,
    grid_sync,
    gridsize,
    i32,
    i64,
    kernel,
    thread_idx,
    u32,
    u64,
)
from kdsl.backend import Launch
from kdsl.emulator import Emulator
from tests.emulator.engine import kernel as ptx_kernel


@kernel
def rotate(a: Ptr[u32], b: Ptr[u32], n: i32, steps: i32):
    """Each step takes what another block wrote in the step before."""
    source, target = a, b
    for k in range(steps):
        for i in range(grid(1), n, gridsize(1)):
            target[i] = source[(i + 4097) % n] * 3 + u32(k)
        source, target = target, source
        grid_sync()


def rotated(a: np.ndarray, steps: int) -> np.ndarray:
    for k in range(steps):
        a = np.roll(a, -4097) * np.uint32(3) + np.uint32(k)
    return a


@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (7, 33), (16, 128), (100, 256)])
def test_every_block_sees_what_all_wrote(device: str, blocks: int, threads: int) -> None:
    n = 10_007
    first = np.random.default_rng(1).integers(0, 2**32, n, np.uint32)
    a, b = kdsl.to_device(first), kdsl.zeros(n, np.uint32)
    for steps in (1, 2, 5):
        a.copy_from(first)
        rotate[blocks, threads](a, b, n, steps)
        assert (b if steps % 2 else a).to_host().tolist() == rotated(first, steps).tolist()


@kernel
def shapes(out: Array[i32, 2], rounds: i32):
    """Any shape of grid and block: the thread that counts is the one at the origin."""
    block = block_idx.x + grid_dim.x * (block_idx.y + grid_dim.y * block_idx.z)
    thread = thread_idx.x + block_dim.x * (thread_idx.y + block_dim.y * thread_idx.z)
    blocks = grid_dim.x * grid_dim.y * grid_dim.z
    for k in range(rounds):
        kdsl.atomic.add(out, (k, thread), block + 1)
        grid_sync()
        if out[k, thread] != blocks * (blocks + 1) // 2:
            out[rounds, thread] = -1
        grid_sync()


@pytest.mark.parametrize(
    ("blocks", "threads"), [((3, 2, 2), (4, 4, 4)), ((1, 5, 1), (1, 1, 64)), ((2, 1, 3), (1, 40, 1)), ((8, 1, 1), 1)]
)
def test_shapes(device: str, blocks: tuple[int, int, int], threads: tuple[int, int, int] | int) -> None:
    out = np.zeros((5, 64), np.int32)
    shapes[blocks, threads](out, 4)
    total = np.prod(blocks)
    each = np.prod(threads)
    expected = np.zeros_like(out)
    expected[:4, :each] = total * (total + 1) // 2
    assert out.tolist() == expected.tolist()


def through_a_helper(x):
    grid_sync()
    return x[0]


@kernel
def helped(x: Ptr[i32], out: Ptr[i32]):
    if block_idx.x == grid_dim.x - 1 and thread_idx.x == 0:
        x[0] = 7
    out[grid(1)] = through_a_helper(x)


@kernel
def plain(x: Ptr[i32], out: Ptr[i32]):
    out[grid(1)] = 1


def test_a_helpers_barrier_makes_the_launch_cooperative(device: str) -> None:
    x, out = np.zeros(1, np.int32), np.zeros(640, np.int32)
    helped[10, 64](x, out)
    assert out.tolist() == [7] * 640
    module = kdsl.compile([plain, helped], target="sm_90")
    assert module.cooperative == {"helped"}
    assert kdsl.compile(plain, target="sm_90").cooperative == frozenset()


def test_kernels_of_a_module(device: str) -> None:
    @kdsl.cuda_module
    class kernels:
        @kernel
        def add_all(x: Ptr[i32], out: Ptr[i32]):
            kdsl.atomic.add(x, 0, 1)
            grid_sync()
            out[grid(1)] = x[0]

        @kernel
        def ones(x: Ptr[i32], out: Ptr[i32]):
            out[grid(1)] = 1

    loaded = kernels.load()
    x, out = np.zeros(1, np.int32), np.zeros(96, np.int32)
    loaded.add_all[3, 32](x, out)
    assert out.tolist() == [96] * 96
    loaded.ones[3, 32](x, out)
    assert out.tolist() == [1] * 96


def test_ptx_that_was_stored_is_launched_cooperatively(device: str) -> None:
    """With the barrier in the kernel, or (as other compilers may leave it) in a function that any may call."""
    ptx = kdsl.compile([plain, helped], target=kdsl.current_device().target).ptx

    @kdsl.cuda_module
    class stored:
        @kernel
        def helped(x: Ptr[i32], out: Ptr[i32]):
            pass

        @kernel
        def plain(x: Ptr[i32], out: Ptr[i32]):
            pass

    module = kdsl.load_module(ptx.encode())
    assert module.cooperative == {"helped"}
    x, out = np.zeros(1, np.int32), np.zeros(640, np.int32)
    stored.from_module(module).helped[10, 64](x, out)
    assert out.tolist() == [7] * 640
    function = ".func of_all()\n{\n\t.reg .b32 %r<10>;\n\tmov.b32 \t%r9, %envreg1;\n\tret;\n}\n"
    head, entries = ptx.split(".address_size 64", 1)
    assert kdsl.load_module(f"{head}.address_size 64\n{function}{entries}".encode()).cooperative == {"helped", "plain"}


def test_launches_in_two_streams_do_not_disturb_each_other(device: str) -> None:
    """Both grids are on the GPU at the same time: each has a counter of its own."""
    n, steps = 5003, 200 if device == "cuda" else 6
    first = np.arange(n, dtype=np.uint32)
    streams = [kdsl.Stream(), kdsl.Stream()]
    pairs = [(kdsl.to_device(first), kdsl.zeros(n, np.uint32)) for _ in range(4)]
    kdsl.synchronize()
    for _ in range(3 if device == "cuda" else 1):
        for k, (a, b) in enumerate(pairs):
            rotate[16, 64, streams[k % 2]](a, b, n, steps)
    kdsl.synchronize()
    expected = first
    for _ in range(3 if device == "cuda" else 1):
        expected = rotated(expected, steps)
    for a, _ in pairs:
        assert a.to_host().tolist() == expected.tolist()


@kernel(cluster=2)
def clusters_too(out: Ptr[i32], total: Ptr[i32]):
    kdsl.atomic.add(total, 0, cluster_rank() + 1)
    grid_sync()
    cluster_sync()
    out[grid(1)] = total[0]
    grid_sync()


def test_with_clusters(device: str) -> None:
    out, total = np.zeros(256, np.int32), np.zeros(1, np.int32)
    clusters_too[8, 32](out, total)
    assert out.tolist() == [32 * 12] * 256


@pytest.mark.gpu
def test_a_grid_that_does_not_fit_names_the_largest() -> None:
    kdsl.set_device("cuda")
    x = kdsl.zeros(1, np.uint32)
    with pytest.raises(kdsl.LaunchConfigError, match=r"at most (\d+) fit on this GPU") as caught:
        rotate[1_000_000, 1024](x, x, 1, 1)
    most = int(str(caught.value).split("at most ")[1].split()[0])
    limit = kdsl.current_device().limits.extra["multiprocessors"]
    assert most >= limit
    n = 1024 * most
    a, b = kdsl.to_device(np.arange(n, dtype=np.uint32)), kdsl.zeros(n, np.uint32)
    rotate[most, 1024](a, b, n, 3)
    assert (b.to_host() == rotated(np.arange(n, dtype=np.uint32), 3)).all()
    with pytest.raises(kdsl.LaunchConfigError, match=f"has {most + 1} blocks.*at most {most} fit"):
        rotate[most + 1, 1024](a, b, n, 3)


# What the emulator finds.


@kernel
def some_return(x: Ptr[i32]):
    if block_idx.x == 1:
        return
    grid_sync()


@kernel
def divergent(x: Ptr[i32]):
    if thread_idx.x < 16:
        grid_sync()
    else:
        grid_sync()


@kernel
def first_threads(x: Ptr[i32]):
    i = grid(1)
    if i < 100:
        grid_sync()
    x[i] = i


@kernel
def second_round(x: Ptr[i32]):
    grid_sync()
    if thread_idx.x > 0 or block_idx.x != 2:
        grid_sync()


@kernel(cluster=2)
def odd_ranks(x: Ptr[i32]):
    if cluster_rank() == 1:
        grid_sync()
    cluster_sync()


def stuck(launcher: object, *arguments: object) -> str:
    """The error of a launch, and that no step limit was waited for."""
    with pytest.raises(SynchronizationError) as caught:
        launcher(*arguments)  # type: ignore[operator]
    return str(caught.value)


def line_of(kernel: object, text: str = "grid_sync()") -> str:
    """Where the last line with ``text`` of a kernel is."""
    lines, first = inspect.getsourcelines(kernel.function)  # type: ignore[attr-defined]
    return f"test_grid_sync.py:{first + max(k for k, line in enumerate(lines) if text in line)}"


def test_blocks_that_never_come_are_found() -> None:
    x = np.zeros(1, np.int32)
    for blocks, threads in ((3, 32), (2000, 256)):  # in one batch, and in several
        assert stuck(some_return[blocks, threads], x) == (
            f"{line_of(some_return)}: kernel some_return: deadlock: {blocks - 1} of the grid's {blocks} blocks wait in "
            "grid_sync() for those that never come: 1 has returned (block (0, 0, 0), thread (0, 0, 0))"
        )


def test_threads_that_never_come_are_found() -> None:
    """The threads of the first block that come are all that it has left."""
    for blocks in (4, 3000):
        assert stuck(first_threads[blocks, 128], np.zeros(blocks * 128, np.int32)) == (
            f"{line_of(first_threads)}: kernel first_threads: deadlock: 1 of the grid's {blocks} blocks waits in "
            f"grid_sync() for those that never come: {blocks - 1} have returned (block (0, 0, 0), thread (0, 0, 0))"
        )
    assert stuck(second_round[4, 64], np.zeros(1, np.int32)) == (
        f"{line_of(second_round)}: kernel second_round: deadlock: 3 of the grid's 4 blocks wait in grid_sync() for "
        "those that never come: 1 has returned (block (0, 0, 0), thread (0, 0, 0))"
    )
    with pytest.raises(SynchronizationError, match="divergent barrier"):
        divergent[2, 32](np.zeros(1, np.int32))


def test_blocks_that_wait_elsewhere_are_named() -> None:
    message = stuck(odd_ranks[6, 32], np.zeros(1, np.int32))
    assert (
        "3 of the grid's 6 blocks wait in grid_sync() for those that never come: 3 wait at `barrier.cluster.wait"
        in message
    )
    assert line_of(odd_ranks, "cluster_sync") in message


def test_a_loop_that_ends_by_itself_may_read_the_workspace() -> None:
    body = (
        "mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %rd1, {%r2, %r1}; mov.u32 %r3, 0;"
        "$L: ld.volatile.u32 %r4, [%rd1]; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 5000; @%p1 bra $L;"
        "ld.param.u64 %rd2, [a]; st.global.u32 [%rd2], %r3; ret;"
    )
    emulator = Emulator()
    function = emulator.function(emulator.load(ptx_kernel("u64 a", body).encode()), "k")
    address = emulator.alloc(4)
    emulator.launch(function, Launch((1, 1, 1), (32, 1, 1), cooperative=True), address.to_bytes(8, "little"))
    found = bytearray(4)
    emulator.read(address, memoryview(found))
    assert int.from_bytes(found, "little") == 5000


def test_debug_builds_find_it_too() -> None:
    debug = kernel(debug=True)(first_threads.function)
    assert "1 of the grid's 4 blocks waits in grid_sync()" in stuck(debug[4, 128], np.zeros(512, np.int32))


def test_the_barrier_needs_a_cooperative_launch() -> None:
    """What kdsl launches is; a driver of one's own has to say so."""
    emulator = Emulator()
    function = emulator.function(emulator.load(kdsl.compile(rotate, target="sm_90").ptx.encode()), "rotate")
    address = emulator.alloc(64)
    parameters = address.to_bytes(8, "little") * 2 + (1).to_bytes(4, "little") * 2
    with pytest.raises(DeviceError, match="null pointer"):
        emulator.launch(function, Launch((2, 1, 1), (32, 1, 1)), parameters)
    emulator.launch(function, Launch((2, 1, 1), (32, 1, 1), cooperative=True), parameters)


def test_more_blocks_than_run_together_in_the_emulator() -> None:
    """More threads than one batch holds: batches give way to each other."""
    out, total = np.zeros(1, np.int32), np.zeros(1, np.int32)

    @kernel
    def many(total: Ptr[i32], out: Ptr[i32]):
        if thread_idx.x == 0:
            kdsl.atomic.add(total, 0, 1)
        grid_sync()
        if thread_idx.x == 0 and total[0] == grid_dim.x:
            kdsl.atomic.add(out, 0, 1)

    many[1200, 1024](total, out)
    assert (total[0], out[0]) == (1200, 1200)


@pytest.mark.parametrize("target", ["sm_75", "sm_90", "sm_120"])
def test_ptx(target: str) -> None:
    compilation = kdsl.compile(helped, target=Target.parse(target))
    assert compilation.cubin
    words = ("bar.sync", "atom", "ld.acquire", "mov.b32 \t%r")
    lines = [line.strip().split()[0] for line in compilation.ptx.splitlines() if line.strip().startswith(words[:3])]
    assert sorted(lines) == ["atom.release.gpu.add.u32", "bar.sync", "bar.sync", "ld.acquire.gpu.b32"]
    assert compilation.ptx.count("%envreg") == 2


# Programmatic dependent launch.


@kernel
def producer(x: Ptr[i32], n: i32):
    grid_launch_dependents()
    for i in range(grid(1), n, gridsize(1)):
        x[i] += 1


@kernel
def consumer(x: Ptr[i32], out: Ptr[i32], n: i32):
    grid_dependency_wait()
    for i in range(grid(1), n, gridsize(1)):
        out[i] = out[i] * 3 + x[i]


def test_a_dependent_launch_waits_where_it_says(device: str) -> None:
    n = 1_000_003 if device == "cuda" else 1003
    x, out = kdsl.zeros(n, np.int32), kdsl.zeros(n, np.int32)
    stream = kdsl.Stream()
    kdsl.synchronize()
    late = LaunchConfig(64, 128, stream=stream, programmatic_dependent_launch=True)
    expected = 0
    for k in range(5):
        producer[64, 128, stream](x, n)
        consumer[late](x, out, n)
        expected = expected * 3 + k + 1
    stream.synchronize()
    assert (x.to_host() == 5).all()
    assert (out.to_host() == expected).all()


@kernel
def long_one(times: Ptr[u64], x: Ptr[i32], cycles: i64):
    grid_launch_dependents()
    start = clock64()
    while clock64() - start < u64(cycles):
        pass
    x[0] = 7
    times[0] = globaltimer()


@kernel
def next_one(times: Ptr[u64], x: Ptr[i32]):
    times[1] = globaltimer()
    grid_dependency_wait()
    times[2] = globaltimer()
    x[1] = x[0]


@pytest.mark.gpu
def test_a_dependent_launch_begins_early_and_waits() -> None:
    kdsl.set_device("cuda")
    times, x = kdsl.zeros(3, np.uint64), kdsl.zeros(2, np.int32)
    stream = kdsl.Stream()
    for early in (False, True, True):  # the first two launches of each load it
        x.fill(0)
        kdsl.synchronize()
        long_one[1, 1, stream](times, x, 20_000_000)
        next_one[LaunchConfig(1, 1, stream=stream, programmatic_dependent_launch=early)](times, x)
        stream.synchronize()
        end_of_first, start, after_waiting = times.to_host().tolist()
        assert x.to_host().tolist() == [7, 7]
        assert after_waiting >= end_of_first
        assert (start < end_of_first) == early


def test_dependent_launches_need_sm_90() -> None:
    for one in (producer, consumer):
        assert kdsl.compile(one, target="sm_90").cubin
        with pytest.raises(CompileError, match=r"grid_\w+\(\) needs sm_90 or newer; this is sm_89"):
            kdsl.compile(one, target="sm_89")
    lines = [line.strip() for line in kdsl.compile(consumer, target="sm_90").ptx.splitlines()]
    loads = [k for k, line in enumerate(lines) if line.startswith("ld.global")]
    assert lines.index("griddepcontrol.wait;") < min(loads)
    device = kdsl.current_device().backend
    before = device.target
    try:
        device.target = "sm_86"
        with pytest.raises(
            kdsl.LaunchConfigError, match="programmatic dependent launches need a GPU of sm_90 or later"
        ):
            plain[LaunchConfig(1, 32, programmatic_dependent_launch=True)](
                np.zeros(1, np.int32), np.zeros(32, np.int32)
            )
    finally:
        device.target = before
