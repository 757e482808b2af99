"""PyTorch's tensors as arguments, and DeviceArrays as tensors; custom operators, torch.compile and autograd."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kdsl
from kdsl import Array, Ptr, bf16, f32, grid, i32, kernel
from kdsl.files import load_file
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError
from tests.interop.kernels import axpy, copy_elements

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")

TORCH = {"emulator": "cpu", "cuda": "cuda"}
"""Where PyTorch's tensors lie beside our device."""

NAMES = {
    "bool": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64, "f16": torch.float16,
    "f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f8e4m3": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2, "complex64": torch.complex64, "complex128": torch.complex128,
}  # fmt: skip


@kernel
def add_rows(x: Array[f32, 2], y: Array[f32, 1]) -> None:
    i = grid(1)
    if i < x.shape[0]:
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j]
        y[i] = total


@kernel
def double_bf16(x: Ptr[bf16], n: i32) -> None:
    i = grid(1)
    if i < n:
        x[i] = bf16(f32(x[i]) * 2)


def test_a_launch_with_tensors(device: str) -> None:
    x = torch.arange(1000, dtype=torch.float32, device=TORCH[device])
    y = torch.ones_like(x)
    axpy[8, 128](2.0, x, y, 1000)
    assert torch.equal(y.cpu(), 2 * torch.arange(1000, dtype=torch.float32) + 1)


@pytest.mark.parametrize("name", NAMES)
def test_every_type_both_ways(device: str, name: str) -> None:
    # Through bytes, because PyTorch does not convert into each of its types.
    numbers = np.arange(8).astype(bool if name == "bool" else getattr(kdsl, name).numpy)
    bits = torch.from_numpy(numbers.view(np.uint8).copy()).to(TORCH[device])
    x = bits.view(NAMES[name])
    y = torch.zeros_like(bits).view(NAMES[name])
    copy_elements[1, 32](x, y)
    assert torch.equal(y.view(torch.uint8), bits)
    shared = kdsl.from_dlpack(x)
    assert shared.dtype == numbers.dtype
    assert (shared.to_host() == numbers).all()
    back = torch.from_dlpack(shared)
    assert back.dtype == NAMES[name]
    assert back.data_ptr() == x.data_ptr()
    ours = kdsl.to_device(numbers)
    theirs = torch.from_dlpack(ours)
    assert (theirs.dtype, theirs.device.type) == (NAMES[name], TORCH[device])
    assert torch.equal(theirs.view(torch.uint8), bits)


def test_what_a_kernel_writes_is_seen_by_the_tensor_and_the_other_way_round(device: str) -> None:
    ours = kdsl.zeros(64, f32)
    theirs = torch.from_dlpack(ours)
    axpy[1, 64](1.0, torch.ones(64, device=TORCH[device]), ours, 64)
    assert theirs.sum().item() == 64
    theirs += 1
    assert ours.to_host().sum() == 128
    del ours
    gc.collect()
    assert theirs.sum().item() == 128


def test_views_with_strides(device: str) -> None:
    x = torch.arange(16, dtype=torch.float32, device=TORCH[device])
    y = torch.zeros(8, device=TORCH[device])
    copy_elements[1, 32](x[1::2], y)
    assert y.tolist() == [1, 3, 5, 7, 9, 11, 13, 15]
    z = torch.zeros(16, device=TORCH[device])
    copy_elements[1, 32](y, z[::2])
    assert z.tolist() == [1, 0, 3, 0, 5, 0, 7, 0, 9, 0, 11, 0, 13, 0, 15, 0]
    rows = torch.zeros(4, device=TORCH[device])
    add_rows[1, 32](x.view(4, 4), rows)
    assert rows.tolist() == [6, 22, 38, 54]
    with pytest.raises(
        ArgumentValueError, match=r"not contiguous; pass x\.contiguous\(\), or leave out the annotation"
    ):
        add_rows[1, 32](x.view(4, 4).T, rows)


def test_bfloat16_on_the_host_is_copied_back() -> None:
    x = torch.arange(8, dtype=torch.bfloat16)
    double_bf16[1, 32](x, 8)
    assert x.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_tensors_on_the_host_that_overlap_are_one_array(device: str) -> None:
    x = torch.zeros(8)
    axpy[1, 32](1.0, x[4:] + 1, x[:4], 4)
    copy_elements[1, 32](x[:4], x[4:])
    assert x.tolist() == [1] * 8


def test_a_tensor_beside_a_numpy_array_of_the_same_memory() -> None:
    host = np.ones(4, np.float32)
    axpy[1, 32](1.0, host, torch.from_numpy(host), 4)
    assert host.tolist() == [2, 2, 2, 2]


class Subclass(torch.Tensor):  # type: ignore[misc]
    """A tensor of the user's own."""


def test_parameters_and_subclasses(device: str) -> None:
    y = torch.ones(4, device=TORCH[device]).as_subclass(Subclass)
    weight = torch.nn.Parameter(torch.ones(4, device=TORCH[device]))
    with torch.no_grad():
        axpy[1, 32](1.0, weight, y, 4)
        axpy[1, 32](1.0, y, weight, 4)
    assert weight.tolist() == [3, 3, 3, 3]


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: torch.ones(4, dtype=torch.float64), ArgumentTypeError,
     "got torch.Tensor of float64; pass y.to(torch.float32), and keep it"),
    (lambda: torch.ones(4, dtype=torch.int32), ArgumentTypeError, "got torch.Tensor of int32; pass y.to(torch.float32)"),
    (lambda: torch.ones(4, dtype=torch.complex32), ArgumentTypeError, "got torch.Tensor of complex32"),
    (lambda: torch.ones(4, requires_grad=True), ArgumentTypeError,
     "it requires grad, which would be lost; pass t.detach(), launch under torch.no_grad(), or wrap the launch in a "
     "torch.library.custom_op, as docs/interop.md shows"),
    (lambda: torch.nn.Parameter(torch.ones(4)), ArgumentTypeError, "got torch.Parameter; it requires grad"),
    (lambda: torch.ones(4, device="meta"), ArgumentTypeError, "it is a tensor on the meta device, which has no elements"),
    (lambda: torch.eye(4).to_sparse(), ArgumentTypeError, "it is a sparse tensor; pass t.to_dense()"),
    (lambda: torch.eye(4).to_sparse_csr(), ArgumentTypeError, "it is a sparse tensor; pass t.to_dense()"),
    (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), ArgumentTypeError,
     "it is a nested tensor; pass t.values()"),
    (lambda: torch.ones(4, dtype=torch.complex64).conj(), ArgumentTypeError,
     "it is a lazy conjugate or negative; pass t.resolve_conj().resolve_neg()"),
    (lambda: torch.ones(4, dtype=torch.complex64).conj().imag, ArgumentTypeError, "it is a lazy conjugate or negative"),
    (lambda: torch.ones(8)[::2], ArgumentValueError, "that is not contiguous; pass y.contiguous(), and keep it"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "error", "text"), REFUSED, ids=[text[:50] for *_, text in REFUSED])
def test_refused_tensors(make: Callable[[], Any], error: type[Exception], text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, of sparse and nested tensors
        value = make()
    with pytest.raises(error) as caught:
        axpy[1, 32](1.0, torch.ones(4), value, 4)
    assert str(caught.value).startswith("axpy: argument `y` takes Ptr[f32] (a contiguous array of float32), got ")
    assert text in str(caught.value)


def test_what_stands_for_tensors_is_refused() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    wrapped = "it stands for a tensor and has no memory, as in torch.compile, torch.func and torch.export; wrap the"
    with warnings.catch_warnings(), FakeTensorMode():
        warnings.simplefilter("error")
        with pytest.raises(ArgumentTypeError, match=wrapped):
            axpy[1, 32](1.0, torch.ones(4), torch.ones(4), 4)
    x, y = torch.ones(3, 4), torch.ones(3, 4)
    with pytest.raises(ArgumentTypeError, match=wrapped):
        torch.func.vmap(lambda a, b: axpy[1, 32](1.0, a, b, 4))(x, y)


def test_gpu_tensors_as_numbers_are_refused() -> None:
    with pytest.raises(ArgumentTypeError, match=r"takes one number|takes an int"):
        axpy[1, 32](1.0, torch.ones(4), torch.ones(4), torch.ones(4))
    axpy[1, 32](torch.tensor(2.0), torch.ones(4), torch.ones(4), torch.tensor(4))


def test_a_write_is_noted_by_autograd() -> None:
    x = torch.ones(4, requires_grad=True)
    y = torch.ones(4)
    product = (x * y).sum()
    axpy[1, 32](1.0, torch.ones(4), y, 4)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()
    version = y._version
    copy_elements[1, 32](y, torch.zeros(4))
    assert y._version == version
    with torch.inference_mode():
        z = torch.ones(4)
        axpy[1, 32](1.0, torch.ones(4), z, 4)
    assert z.tolist() == [2, 2, 2, 2]


def test_from_dlpack_refuses_what_requires_grad() -> None:
    with pytest.raises(BufferError, match="gives no DLPack capsule: Can't export tensors that require gradient"):
        kdsl.from_dlpack(torch.ones(4, requires_grad=True))


def test_bf16_typestr_of_ml_dtypes() -> None:
    assert np.dtype(ml_dtypes.bfloat16).str == "<V2"


# On a GPU alone.


@kernel
def spin_and_fill(x: Ptr[f32], n: i32, cycles: kdsl.u64) -> None:
    begin = kdsl.clock64()
    while kdsl.clock64() - begin < cycles:
        pass
    i = grid(1)
    if i < n:
        x[i] = 7.0


@pytest.mark.gpu
def test_a_launch_goes_on_the_current_stream_of_pytorch() -> None:
    kdsl.set_device("cuda")
    side = torch.cuda.Stream()
    x = torch.zeros(1 << 20, device="cuda")
    y = torch.zeros_like(x)
    torch.cuda.synchronize()
    for _ in range(20):
        x.zero_()
        y.zero_()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            x.add_(3)
            # No synchronisation: right only if this launch comes after what is on the side stream.
            axpy[(1 << 20) // 256, 256](2.0, x, y, 1 << 20)
            y.mul_(10)
        torch.cuda.current_stream().wait_stream(side)
        assert y.min().item() == y.max().item() == 60


@pytest.mark.gpu
def test_a_stream_of_ours_waits_for_pytorch_and_pytorch_for_an_event_of_ours() -> None:
    kdsl.set_device("cuda")
    side, ours = torch.cuda.Stream(), kdsl.Stream()
    x = torch.zeros(1 << 20, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        x.add_(3)
        y = torch.zeros_like(x)
        axpy[(1 << 20) // 256, 256, ours](2.0, x, y, 1 << 20)
        external = torch.cuda.ExternalStream(ours.handle)
        side.wait_stream(external)
        total = y.sum()
    side.synchronize()
    assert total.item() == 6 * (1 << 20)


@pytest.mark.gpu
def test_memory_that_is_dropped_while_our_stream_uses_it_is_not_given_out_again() -> None:
    kdsl.set_device("cuda")
    ours = kdsl.Stream()
    for _ in range(10):
        x = torch.zeros(1 << 20, device="cuda")
        address = x.data_ptr()
        spin_and_fill[(1 << 20) // 256, 256, ours](x, 1 << 20, 20_000_000)
        del x
        fresh = torch.zeros(1 << 20, device="cuda")
        assert fresh.data_ptr() != address or ours.done
        fresh.add_(1)
        ours.synchronize()
        assert fresh.min().item() == fresh.max().item() == 1


@pytest.mark.gpu
def test_our_array_on_a_stream_of_pytorch_is_ready_when_shared() -> None:
    kdsl.set_device("cuda")
    side = torch.cuda.Stream()
    for _ in range(10):
        array = kdsl.zeros(1 << 20, f32)
        spin_and_fill[(1 << 20) // 256, 256, side](array, 1 << 20, 20_000_000)
        # PyTorch's default stream reads it: __dlpack__ orders that behind the side stream.
        assert torch.from_dlpack(array).min().item() == 7
        spin_and_fill[(1 << 20) // 256, 256, side](array, 1 << 20, 20_000_000)
        assert torch.as_tensor(array, device="cuda").min().item() == 7


@pytest.mark.gpu
def test_tensors_on_the_host_beside_a_gpu() -> None:
    kdsl.set_device("cuda")
    y = torch.ones(1000)
    axpy[8, 128](2.0, torch.ones(1000, device="cuda"), y, 1000)
    assert y.tolist() == [3] * 1000
    with pytest.raises(BufferError, match=r"is in memory of the host; kdsl\.to_device copies it"):
        kdsl.from_dlpack(y)


@pytest.mark.gpu
def test_capture_into_a_graph_of_pytorch() -> None:
    kdsl.set_device("cuda")
    x = torch.ones(1024, device="cuda")
    y = torch.zeros(1024, device="cuda")
    axpy[8, 128](1.0, x, y, 1024)
    torch.cuda.synchronize()
    y.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        axpy[8, 128](1.0, x, y, 1024)
    torch.cuda.synchronize()
    assert y.sum().item() == 0
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert y.sum().item() == 3 * 1024


# Operators, torch.compile and autograd.


def swish_module() -> Any:
    return load_file(Path(__file__).resolve().parents[2] / "examples" / "28_torch_op.py")


@pytest.fixture(scope="module")
def swish() -> Any:
    """The example's operator, which is also what docs/interop.md shows."""
    return swish_module().operator()


def test_an_operator_passes_the_checks_of_pytorch(device: str, swish: Any) -> None:
    """Schema, fake tensors, autograd registration, and AOT dispatch with static and dynamic shapes."""
    x = torch.randn(5, 7, dtype=torch.float64, device=TORCH[device], requires_grad=True)
    torch.library.opcheck(swish, (x, 1.5))
    torch.library.opcheck(swish, (x.detach().T, 0.5))


def test_gradients_against_differences(device: str, swish: Any) -> None:
    x = torch.randn(6, dtype=torch.float64, device=TORCH[device], requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: swish(v, 1.5), (x,))


@pytest.mark.parametrize("compiler", ["eager", "aot_eager"])
def test_an_operator_stays_in_the_graph(device: str, swish: Any, compiler: str) -> None:
    def layer(x: Any, w: Any) -> Any:
        return (swish(x @ w, 1.5) * 2).sum()

    x = torch.randn(4, 3, dtype=torch.float64, device=TORCH[device])
    w = torch.randn(3, 5, dtype=torch.float64, device=TORCH[device], requires_grad=True)
    layer(x, w).backward()
    expected = w.grad.clone()
    w.grad = None
    torch.compile(layer, fullgraph=True, backend=compiler)(x, w).backward()
    assert torch.allclose(w.grad, expected, rtol=1e-12, atol=1e-14)
    z = x @ w.detach()
    s = torch.sigmoid(1.5 * z)
    assert torch.allclose(expected, x.T @ (2 * (s + 1.5 * z * s * (1 - s))), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("compiler", ["eager", "aot_eager"])
def test_a_launch_in_a_compiled_function_breaks_its_graph_and_runs(device: str, compiler: str) -> None:
    torch.compiler.reset()

    def step(x: Any, y: Any) -> Any:
        z = x * 2
        axpy[1, 32](2.0, z, y, 8)
        return y + 1

    compiled = torch.compile(step, backend=compiler)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            y = torch.ones(8, device=TORCH[device])
            assert compiled(torch.ones(8, device=TORCH[device]), y).tolist() == [6] * 8
            assert y.tolist() == [5] * 8


def test_a_whole_graph_says_what_to_do() -> None:
    torch.compiler.reset()

    def step(x: Any, y: Any) -> Any:
        axpy[1, 32](2.0, x, y, 8)
        return y + 1

    with pytest.raises(Exception, match="wrap it in a torch.library.custom_op") as caught:
        torch.compile(step, backend="eager", fullgraph=True)(torch.ones(8), torch.ones(8))
    assert type(caught.value).__name__ == "Unsupported"


def test_a_function_of_autograd(device: str) -> None:
    class Double(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = torch.zeros_like(x)
            axpy[1, 32](2.0, x, out, x.numel())
            return out

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            out = torch.zeros_like(gradient)
            axpy[1, 32](2.0, gradient.contiguous(), out, gradient.numel())
            return out

    x = torch.ones(8, device=TORCH[device], requires_grad=True)
    (Double.apply(x) * 3).sum().backward()
    assert x.grad.tolist() == [6] * 8


@pytest.mark.parametrize("name", sorted(NAMES))
def test_tensors_on_the_host_are_copied_in_every_dtype(device: str, name: str) -> None:
    tensor = torch.tensor([[1, 0, 1], [0, 1, 1]]).to(NAMES[name])
    there = kdsl.to_device(tensor.T)
    assert there.shape == (3, 2) and there.layout.type.name == name
    expected = there.to_host()
    np.testing.assert_array_equal(expected.astype(np.complex128), [[1, 0], [0, 1], [1, 1]])
    made = kdsl.empty_like(tensor.T)
    assert (made.shape, made.dtype) == (there.shape, there.dtype)
    made.copy_from(tensor.T)
    assert made.to_host().tobytes() == expected.tobytes()
    made[0] = tensor[1, :2]
    np.testing.assert_array_equal(made.to_host()[0].astype(np.complex128), [0, 1])


def test_what_is_written_has_the_dtype_whatever_library_it_is_from(device: str) -> None:
    array = kdsl.zeros(2, np.float32)
    for other in (torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.int32), memoryview(b"ab")):
        with pytest.raises(ValueError, match=r"the source has the dtype \w+, this array float32: convert it"):
            array[...] = other
    array[0] = torch.tensor(3.0, dtype=torch.float64)  # a number
    assert array.to_host().tolist() == [3, 0]


def test_lazy_negatives_and_masks_are_not_shared(device: str) -> None:
    lazy = torch.ones(2, dtype=torch.complex64).conj().imag
    with pytest.raises(BufferError, match=r"the tensor is a lazy negative; pass t.resolve_neg\(\)"):
        kdsl.from_dlpack(lazy)
    with pytest.raises(TypeError, match="the tensor is a lazy conjugate or negative; pass t.resolve_conj"):
        kdsl.to_device(lazy)
    with pytest.raises(BufferError, match=r"a masked array has no device counterpart; pass array.filled\(value\)"):
        kdsl.from_dlpack(np.ma.array([1.0, 2.0], mask=[0, 1]))
