"""Streams and graphs shared with PyTorch and CuPy, on a GPU."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Ptr, f32, grid, i32, kernel

pytestmark = pytest.mark.gpu
N = 1 << 16


@kernel
def increase(x: Ptr[f32], by: f32, n: i32) -> None:
    i = grid(1)
    if i < n:
        x[i] += by


@pytest.fixture(autouse=True)
def on_the_gpu() -> Any:
    kdsl.set_device("cuda")
    yield
    kdsl.set_device("emulator")


@pytest.fixture
def torch() -> Any:
    found = pytest.importorskip("torch", reason="torch is not installed")
    if not found.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return found


def test_kernels_of_pytorch_in_our_stream_and_in_our_graph(torch: Any) -> None:
    t = torch.zeros(N, device="cuda")
    torch.cuda.synchronize()
    stream = kdsl.Stream(blocking=False)
    theirs = torch.cuda.ExternalStream(stream.handle)
    with torch.cuda.stream(theirs):
        t.add_(1)
    increase[N // 256, 256, stream](t, 2, N)
    stream.synchronize()
    assert t.unique().tolist() == [3]
    torch.cuda.synchronize()
    with stream.capture() as graph:
        with torch.cuda.stream(theirs):
            t.mul_(2)
        increase[N // 256, 256](t, 1, N)
    assert [node.kernel for node in graph.nodes] == [None, "increase"]
    run = graph.instantiate()
    run.launch(stream)
    run.nodes[1].update(by=10)
    run.launch(stream)
    stream.synchronize()
    assert t.unique().tolist() == [24]
    with pytest.raises(TypeError, match="has no arguments to change"):
        run.nodes[0].update(by=1)


def test_our_launches_in_a_graph_of_pytorch(torch: Any) -> None:
    t = torch.ones(N, device="cuda")
    increase[N // 256, 256](t, 1, N)  # compiled and loaded
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        t.mul_(3)
        increase[N // 256, 256](t, 1, N)
    graph.replay()
    torch.cuda.synchronize()
    assert t.unique().tolist() == [7]
    graph.replay()
    torch.cuda.synchronize()
    assert t.unique().tolist() == [22]


def test_a_graph_keeps_tensors_that_were_passed_in_its_capture(torch: Any) -> None:
    t = torch.zeros(N, device="cuda")
    kept = t[:10]
    torch.cuda.synchronize()
    stream = kdsl.Stream()
    with stream.capture() as graph:
        increase[N // 256, 256](t, 1, N)
    run = graph.instantiate()
    del t, graph
    gc.collect()
    run.launch(stream)
    stream.synchronize()
    assert kept.tolist() == [1] * 10


def test_the_current_stream_of_pytorch_is_taken_and_awaited(torch: Any) -> None:
    side = torch.cuda.Stream()
    stream = kdsl.Stream.from_handle(side)
    assert stream.handle == side.cuda_stream
    x = kdsl.zeros(N)

    async def run() -> None:
        with stream:
            increase[N // 256, 256](x, 1, N)
        await stream

    asyncio.run(run())
    assert side.query()
    np.testing.assert_array_equal(x.to_host(), np.ones(N, np.float32))


def test_kernels_of_cupy_in_our_graph() -> None:
    cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    a = cupy.zeros(N, cupy.float32)
    a += 1  # compiled and loaded
    cupy.cuda.Device().synchronize()
    stream = kdsl.Stream(blocking=False)
    with stream.capture() as graph, cupy.cuda.ExternalStream(stream.handle):
        a += 1
        increase[N // 256, 256](a, 1, N)
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert float(a.min()) == float(a.max()) == 3
