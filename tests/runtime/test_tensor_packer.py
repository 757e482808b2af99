"""The fast way for PyTorch's tensors, with a stand-in for PyTorch on a driver in host memory: what it takes, on which
stream, and that everything else goes the checked way.
"""

from __future__ import annotations

import struct
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kdsl.lang.types import BF16, F32, I32, ArrayType, PointerType
from kdsl.runtime.array_making import zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError
from kdsl.runtime.hooks import launch_hooks
from kdsl.runtime.stream import Stream

from .fast_ways import Slow, launcher

P = PointerType
SIDE = 0x7F0000001000


class Tensor:
    """As much of a tensor as kdsl asks for. ``asked`` counts the questions."""

    def __init__(self, address: int = 4096, shape: tuple[int, ...] = (4,), dtype: str = "float32", **more: Any) -> None:
        self._address = address
        self.shape = shape
        self.dtype = sys.modules["torch"].__dict__[dtype]
        self.layout = "strided"
        self.device = types.SimpleNamespace(type="cuda", index=more.get("number", 0))
        self.is_cuda, self.is_nested = True, more.get("nested", False)
        self.requires_grad = more.get("requires_grad", False)
        self._more = more

    def data_ptr(self) -> int:
        if "raises" in self._more:
            raise RuntimeError("no storage")
        return self._address

    def get_device(self) -> int:
        return int(self.device.index)

    def is_contiguous(self) -> bool:
        return "strides" not in self._more

    def stride(self) -> tuple[int, ...]:
        return tuple(self._more["strides"])

    def is_conj(self) -> bool:
        return bool(self._more.get("conj", False))

    def is_neg(self) -> bool:
        return bool(self._more.get("neg", False))

    def is_inference(self) -> bool:
        return bool(self._more.get("inference", False))

    def record_stream(self, stream: int) -> None:
        sys.modules["torch"].used.append((self, stream))

    def numel(self) -> int:
        return int(np.prod(self.shape))


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    found: Any = types.ModuleType("torch")
    names = "bool int8 int16 int32 int64 uint8 float16 bfloat16 float32 float64 complex64 complex128"
    for name in names.split():
        setattr(found, name, type("dtype", (), {"__repr__": lambda _, name=name: f"torch.{name}"})())
    found.strided = "strided"
    found.Tensor = Tensor
    found.nn = types.SimpleNamespace(Parameter=type("Parameter", (Tensor,), {}))
    found.grad_mode, found.stream, found.written, found.used = True, 0, [], []
    found.is_grad_enabled = lambda: found.grad_mode
    found._C = types.SimpleNamespace(
        _cuda_getCurrentRawStream=lambda number: found.stream, _increment_version=found.written.extend
    )
    graph = types.SimpleNamespace(increment_version=lambda tensor: found.written.append(tensor))
    found.autograd = types.SimpleNamespace(graph=graph)
    found.cuda = types.SimpleNamespace(ExternalStream=lambda stream, device: stream)
    monkeypatch.setitem(sys.modules, "torch", found)
    return found


def test_what_is_packed(gpu: CudaDriver, fake_driver: Any, torch: Any, only_fast: Any) -> None:
    seen: list[bytes] = []
    fake_driver.kernels["vadd"] = seen.append
    only_fast()
    ours = zeros(4, backend=gpu)
    run = launcher(gpu, ("a", P(F32)), ("b", ArrayType(F32, 2)), ("n", I32), ("x", F32))
    run(Tensor(4096), Tensor(8192, (2, 3)), 7, 0.5)
    run(ours, Tensor(8192, (2, 3)), 7, 0.5)
    run(a=torch.nn.Parameter(requires_grad=False), b=ours.reshape(2, 2), n=7, x=0.5)
    assert seen == [
        struct.pack("<QQiiif", first, second, *shape, 7, 0.5)
        for first, second, shape in ((4096, 8192, (2, 3)), (ours.address, 8192, (2, 3)), (4096, ours.address, (2, 2)))
    ]
    halves = launcher(gpu, ("a", P(BF16)))
    halves(Tensor(dtype="bfloat16"))
    assert seen[-1] == struct.pack("<Q", 4096)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Tensor(dtype="float64"),
        lambda: Tensor(number=1),
        lambda: Tensor(strides=(2,)),
        lambda: Tensor(nested=True),
        lambda: Tensor(neg=True),
        lambda: Tensor(requires_grad=True),
        lambda: Tensor(raises=True),
        lambda: Tensor(4097),
        lambda: Tensor(0),
        lambda: np.zeros(4, np.float32),
        lambda: type("Subclass", (Tensor,), {})(),
    ],
)
def test_what_goes_the_checked_way(gpu: CudaDriver, torch: Any, only_fast: Any, make: Callable[[], Any]) -> None:
    run = launcher(gpu, ("a", P(F32)), ("b", P(F32)))
    only_fast()
    run(Tensor(), Tensor())
    with pytest.raises(Slow):
        run(Tensor(), make())
    with pytest.raises(Slow):
        run(make(), Tensor())


def test_errors_are_those_of_the_checked_way(gpu: CudaDriver, torch: Any) -> None:
    run = launcher(gpu, ("a", P(F32)), ("n", I32))
    with pytest.raises(ArgumentTypeError, match="requires grad"):
        run(Tensor(requires_grad=True), 4)
    with pytest.raises(ArgumentValueError, match="on cuda:1; this launch is on cuda:0"):
        run(Tensor(number=1), 4)
    with pytest.raises(ArgumentTypeError, match="has no memory"):
        run(Tensor(0), 4)  # its storage has been resized to nothing, as FSDP does
    with pytest.raises(ArgumentTypeError, match="takes an int"):
        run(Tensor(), 4.5)
    with pytest.raises(ArgumentTypeError, match="`n` is missing"):
        run(Tensor())
    with pytest.raises(ArgumentTypeError, match="drop 1"):
        run(Tensor(), 4, 5)


def test_streams(gpu: CudaDriver, fake_driver: Any, torch: Any, only_fast: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    torch.stream = SIDE
    run(Tensor())  # the checked way makes the launch on that stream ready
    assert fake_driver.launched[-1][-1] == SIDE
    only_fast()
    run(Tensor())
    assert fake_driver.launched[-1][-1] == SIDE
    torch.stream = 0
    run(Tensor())
    assert fake_driver.launched[-1][-1] == 0
    named = launcher(gpu, ("a", P(F32)), config=LaunchConfig(1, 32, stream=SIDE))
    torch.stream = SIDE
    named(Tensor())
    assert fake_driver.launched[-1][-1] == SIDE
    torch.stream = 0
    with pytest.raises(Slow):
        named(Tensor())  # which has to be ordered
    torch.stream = SIDE
    named(Tensor())


def test_autograd_is_told_what_was_written(gpu: CudaDriver, torch: Any, only_fast: Any) -> None:
    only_fast()
    run = launcher(gpu, ("a", P(F32)), ("b", P(F32)), written={1})
    a, b = Tensor(), Tensor()
    run(a, b)
    assert torch.written == [b]
    run(a, Tensor(inference=True))
    run(a, zeros(4, backend=gpu))
    assert torch.written == [b]
    torch.grad_mode = False
    weight = Tensor(requires_grad=True)
    run(a, weight)
    assert torch.written == [b, weight]


def test_hooks_and_current_streams_come_first(gpu: CudaDriver, fake_driver: Any, torch: Any, only_fast: Any) -> None:
    run = launcher(gpu, ("a", P(F32)))
    run(Tensor())
    seen: list[Any] = []
    with launch_hooks(before=seen.append):
        run(Tensor())
    assert len(seen) == 1
    stream = Stream(gpu)
    kept = Tensor()
    with stream:
        run(kept)
    assert fake_driver.launched[-1][-1] == stream.handle
    assert torch.used == [(kept, stream.handle)]
    only_fast()
    run(Tensor())
