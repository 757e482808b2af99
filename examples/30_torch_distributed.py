"""Power iteration with a matrix that is cut into rows, one part for each process: torch.distributed joins the parts.

Each process multiplies its rows with a kernel, on its own GPU (NCCL) or on the emulator (gloo), and all-reduces the
result, which the kernel left in a tensor. Needs PyTorch. Start it plainly, and it makes a process for each GPU of this
machine; or with ``torchrun --nproc-per-node N 30_torch_distributed.py``, on any number of machines.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import Array, Ptr, block_idx, f64, groups, i32, kernel, thread_idx

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
except ImportError:
    torch = None

THREADS = 128


@kernel
def rows_times(a: Array[f64, 2], x: Ptr[f64], y: Ptr[f64], first: i32) -> None:
    """A block for each row of this part: y[first + row] = a[row] . x."""
    row = block_idx.x
    total = f64(0.0)
    for j in range(thread_idx.x, a.shape[1], THREADS):
        total += a[row, j] * x[j]
    total = groups.this_block().reduce(total, "add")
    if thread_idx.x == 0:
        y[first + row] = total


def matrix(n: int) -> NDArray[np.float64]:
    """Symmetric, with its eigenvalues apart, so that the iteration converges."""
    a = np.random.default_rng(30).standard_normal((n, n))
    return a + a.T + np.diag(np.full(n, 3.0 * np.sqrt(n)))


def reference(n: int, steps: int) -> NDArray[np.float64]:
    """The vector after so many steps, on the host."""
    a, x = matrix(n), np.full(n, 1 / np.sqrt(n))
    for _ in range(steps):
        x = a @ x
        x /= np.linalg.norm(x)
    return x


def work(rank: int, world: int, n: int, steps: int, place: str) -> NDArray[np.float64]:
    """What each process does. All of them have the result."""
    on_gpu = place == "cuda"
    local = int(os.environ.get("LOCAL_RANK", rank))
    if on_gpu:
        torch.cuda.set_device(local)
    dist.init_process_group("nccl" if on_gpu else "gloo", rank=rank, world_size=world)
    first, last = n * rank // world, n * (rank + 1) // world
    with kdsl.Device(f"cuda:{local}" if on_gpu else "emulator"):
        device = torch.device(place, local) if on_gpu else torch.device("cpu")
        a = torch.from_numpy(matrix(n)[first:last].copy()).to(device)
        x = torch.full((n,), 1 / np.sqrt(n), dtype=torch.float64, device=device)
        for _ in range(steps):
            y = torch.zeros_like(x)
            if last > first:
                # On PyTorch's current stream: it follows what made y, and the all-reduce follows it.
                rows_times[last - first, THREADS](a, x, y, first)
            dist.all_reduce(y)
            x = y / torch.linalg.vector_norm(y)
        result: NDArray[np.float64] = x.cpu().numpy()
    dist.destroy_process_group()
    return result


def run(rank: int, world: int, n: int, steps: int, place: str) -> bool:
    """Work, and compare; the first process says what came out."""
    result, expected = work(rank, world, n, steps, place), reference(n, steps)
    # A sum of n products in another order: n roundings each step, and the steps of a converging iteration forget them.
    right = bool(np.allclose(result, expected, rtol=0, atol=n * 2.0**-50))
    if rank == 0 or not right:
        print(
            f"power iteration, {n} x {n}, {world} processes on {place}: {'verified' if right else 'WRONG'}", flush=True
        )
    return right


def _spawned(rank: int, *arguments: Any) -> None:
    if not run(rank, *arguments):
        sys.exit(1)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1024, help="rows and columns")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--processes", type=int, default=0, help="as many as there are GPUs, and two with emulators")
    arguments = parser.parse_args(argv)
    if torch is None:
        print("this example needs PyTorch, which is not installed: pip install torch")
        return 0

    place = "cuda" if kdsl.current_device().name == "cuda" else "cpu"
    given = (arguments.n, arguments.steps, place)
    if "RANK" in os.environ:  # torchrun started this process, and others
        return 0 if run(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), *given) else 1
    world = arguments.processes or (torch.cuda.device_count() if place == "cuda" else 2)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", str(_free_port()))
    if world == 1:
        return 0 if run(0, 1, *given) else 1
    mp.spawn(_spawned, (world, *given), nprocs=world)
    return 0


def _free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
