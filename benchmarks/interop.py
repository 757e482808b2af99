"""``python -m benchmarks.interop``: the host's time for a launch with other libraries' arrays, beside DeviceArrays.

One process, in turns. Libraries that are not installed, or have no GPU, are left out and named.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import kdsl
from benchmarks import examples
from benchmarks.gpu import unavailable
from benchmarks.report import Row, print_rows

N = 1 << 10
LAUNCHES = 400  # fewer than the driver's queue holds: past it a launch waits for the GPU
BATCHES = 21

Make = Callable[[], tuple[Any, Any, Any]]


def main() -> int:
    reason = unavailable()
    if reason:
        print(f"benchmarks.interop measures the driver, and there is no GPU here ({reason})")
        return 0
    kdsl.set_device("cuda")
    vadd = examples.load("02_vadd").vadd
    loops: dict[str, Callable[[], None]] = {}
    for name, make in MAKERS.items():
        try:
            arrays = make()
        except (ImportError, RuntimeError) as error:
            print(f"{name}: left out, {error}")
            continue
        for label, array_maker in ((name, arrays),):
            loops[label] = launching(vadd, array_maker)
    times = measured(loops)
    ours = times["kdsl.DeviceArray"]
    rows = [Row(name, time, "us", "kdsl.DeviceArray", ours) for name, time in times.items()]
    print_rows("One launch of vadd(a, b, c, n), host time, by whose arrays they are", rows)
    return 0


def launching(vadd: Any, arrays: tuple[Any, Any, Any]) -> Callable[[], None]:
    a, b, c = arrays
    run = vadd[N // 256, 256]
    run(a, b, c, N)

    def loop() -> None:
        for _ in range(LAUNCHES):
            vadd[N // 256, 256](a, b, c, N)

    return loop


def measured(loops: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Medians over batches, in turns, in microseconds."""
    times: dict[str, list[float]] = {name: [] for name in loops}
    for batch in range(-3, BATCHES):
        for name, loop in loops.items():
            kdsl.synchronize()
            start = perf_counter()
            loop()
            if batch >= 0:
                times[name].append((perf_counter() - start) / LAUNCHES * 1e6)
    return {name: median(values) for name, values in times.items()}


def device_arrays() -> tuple[Any, Any, Any]:
    return kdsl.zeros(N), kdsl.zeros(N), kdsl.zeros(N)


def torch_tensors() -> tuple[Any, Any, Any]:
    torch = import_module("torch")
    return tuple(torch.zeros(N, device="cuda") for _ in range(3))  # type: ignore[return-value]


def cupy_arrays() -> tuple[Any, Any, Any]:
    cupy = import_module("cupy")
    return cupy.zeros(N, "f4"), cupy.zeros(N, "f4"), cupy.zeros(N, "f4")


def jax_arrays() -> tuple[Any, Any, Any]:
    """Two that are read, through DLPack; the third must be ours."""
    jax = import_module("jax")
    gpus = [device for device in jax.devices() if device.platform == "gpu"]
    if not gpus:
        raise RuntimeError("this JAX has no GPU")
    read = [jax.device_put(np.zeros(N, np.float32), gpus[0]) for _ in range(2)]
    return (*read, kdsl.zeros(N))


class Dlpack:
    """An array that offers nothing but DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self.array.__dlpack_device__()
        return device

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)


def dlpack_alone() -> tuple[Any, Any, Any]:
    a, b, c = cupy_arrays()
    return Dlpack(a), Dlpack(b), Dlpack(c)


def numba_arrays() -> tuple[Any, Any, Any]:
    cuda = import_module("numba.cuda")
    return cuda.device_array(N, np.float32), cuda.device_array(N, np.float32), cuda.device_array(N, np.float32)


MAKERS: dict[str, Make] = {
    "kdsl.DeviceArray": device_arrays,
    "torch.Tensor": torch_tensors,
    "cupy.ndarray": cupy_arrays,
    "numba.cuda's array": numba_arrays,
    "two jax.Array, one ours": jax_arrays,
    "DLPack alone (CuPy's)": dlpack_alone,
}


if __name__ == "__main__":
    raise SystemExit(main())
