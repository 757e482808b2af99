"""A kernel as an operator of PyTorch: differentiable, and a part of the graph under torch.compile.

The operator is a smooth rectifier, x times the logistic function of b * x (Swish), with its gradient for x. Needs
PyTorch; its tensors lie on the GPU if kdsl's current device is one, and otherwise on the host, beside the emulator.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import LaunchConfig, Ptr, f64, grid, i32, kernel, math

try:
    import torch
except ImportError:
    torch = None


@kernel
def swish(x: Ptr[f64], b: f64, out: Ptr[f64], n: i32) -> None:
    i = grid(1)
    if i < n:
        out[i] = x[i] / (1.0 + math.exp(-b * x[i]))


@kernel
def swish_backward(x: Ptr[f64], b: f64, gradient: Ptr[f64], out: Ptr[f64], n: i32) -> None:
    i = grid(1)
    if i < n:
        s = 1.0 / (1.0 + math.exp(-b * x[i]))
        out[i] = gradient[i] * (s + b * x[i] * s * (1.0 - s))


def forward(x: torch.Tensor, b: float) -> torch.Tensor:
    # Inside of an operator tensors may require grad: autograd is told below what this one does.
    x = x.contiguous()
    out = torch.empty_like(x)
    swish[LaunchConfig.for_num_elems(x.numel())](x, b, out, x.numel())
    return out


def backward(x: torch.Tensor, b: float, gradient: torch.Tensor) -> torch.Tensor:
    x, gradient = x.contiguous(), gradient.contiguous()
    out = torch.empty_like(x)
    swish_backward[LaunchConfig.for_num_elems(x.numel())](x, b, gradient, out, x.numel())
    return out


def like_x(x: torch.Tensor, *others: Any) -> torch.Tensor:
    """What torch.compile asks for: shape, dtype and layout of the result, of tensors without memory."""
    return torch.empty_like(x.contiguous())


def operator() -> Any:
    """The operator ``kdsl_examples::swish``: the kernel, what it gives, and another operator as its gradient."""
    op = torch.library.custom_op("kdsl_examples::swish", forward, mutates_args=())
    op.register_fake(like_x)
    gradient_op = torch.library.custom_op("kdsl_examples::swish_backward", backward, mutates_args=())
    gradient_op.register_fake(like_x)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        x, ctx.b = inputs
        ctx.save_for_backward(x)

    def gradients(ctx: Any, gradient: torch.Tensor) -> tuple[Any, None]:
        (x,) = ctx.saved_tensors
        return gradient_op(x, ctx.b, gradient), None  # one for each argument: b has none

    op.register_autograd(gradients, setup_context=setup_context)
    return op


def reference(x: NDArray[np.float64], b: float) -> NDArray[np.float64]:
    """The operator's values, by NumPy."""
    values: NDArray[np.float64] = x / (1 + np.exp(-b * x))
    return values


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="a kernel as a differentiable operator of PyTorch")
    parser.add_argument("--elements", type=int, default=100_000)
    parser.add_argument("--backend", default=None, help="of torch.compile; its own needs a C++ compiler on the host")
    arguments = parser.parse_args(argv)
    if torch is None:
        print("this example needs PyTorch, which is not installed: pip install torch")
        return 0

    place = "cuda" if kdsl.current_device().name == "cuda" else "cpu"
    compiler = arguments.backend or ("inductor" if place == "cuda" else "aot_eager")
    op = operator()
    x = torch.linspace(-4, 4, arguments.elements, dtype=torch.float64, device=place)
    expected = reference(x.cpu().numpy(), 1.5)
    right = np.allclose(op(x, 1.5).cpu().numpy(), expected, rtol=1e-12, atol=1e-14)

    # In one graph with PyTorch's own operations: fullgraph refuses to leave it.
    compiled = torch.compile(lambda v: op(v, 1.5) * 2 + 1, fullgraph=True, backend=compiler)
    right &= np.allclose(compiled(x).cpu().numpy(), expected * 2 + 1, rtol=1e-12, atol=1e-14)

    # Against differences of the operator itself.
    few = torch.randn(10, dtype=torch.float64, device=place, requires_grad=True)
    right &= torch.autograd.gradcheck(lambda v: op(v, 1.5), (few,))
    outcome = "verified" if right else "WRONG"
    print(
        f"swish of {arguments.elements} elements and its gradient, {place} tensors, compiled by {compiler}: {outcome}"
    )
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
