"""``python -m benchmarks.interop``: the host's time for a launch of vadd with other libraries' arrays, beside what the
library itself takes to launch the same on them.

One process, in turns. Libraries that are not installed, or have no GPU, are left out and named. Exits 0 also where a
budget is missed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
GRID, BLOCK = N // 256, 256
LAUNCHES = 400  # fewer than the driver's queue holds: past it a launch waits for the GPU
BATCHES = 21

Arrays = tuple[Any, Any, Any]
Launch = Callable[[], object]


@dataclass(frozen=True)
class Library:
    """Arrays of a library; ``budget`` is in microseconds. ``launch`` makes the library's own launch with them."""

    arrays: Callable[[], Arrays]
    budget: float | None = None
    peer: str = ""
    launch: Callable[[Arrays], Launch] | None = None


def main() -> int:
    reason = unavailable()
    if reason:
        print(f"benchmarks.interop measures the driver, and there is no GPU here ({reason})")
        return 0
    kdsl.set_device("cuda")
    vadd = examples.load("02_vadd").vadd
    loops: dict[str, Callable[[], None]] = {}
    for name, library in LIBRARIES.items():
        try:
            loops |= loops_of(name, library, vadd)
        except (ImportError, RuntimeError) as error:
            print(f"{name}: left out, {error}")
    times = measured(loops)
    rows = [
        Row(name, times[name], "us", library.peer, times.get(f"{name}: peer"), library.budget)
        for name, library in LIBRARIES.items()
        if name in times
    ]
    print_rows("One launch of vadd(a, b, c, n) by kdsl, host time, beside the library's own with the same arrays", rows)
    ours = times["kdsl.DeviceArray"]
    rows = [Row(row.name, row.value, "us", "kdsl.DeviceArray", ours) for row in rows]
    print_rows("The same beside kdsl's own arrays", rows)
    return 0


def loops_of(name: str, library: Library, vadd: Any) -> dict[str, Callable[[], None]]:
    """Batches of the library's own launch, where it has one, and of kdsl's."""
    arrays = library.arrays()
    peer = {} if library.launch is None else {f"{name}: peer": repeated(library.launch(arrays))}
    return {**peer, name: repeated(launch_of(vadd, arrays))}


def launch_of(vadd: Any, arrays: Arrays) -> Launch:
    a, b, c = arrays
    return lambda: vadd[GRID, BLOCK](a, b, c, N)


def repeated(launch: Launch) -> Callable[[], None]:
    """A batch of launches, of which one is made now: it compiles and loads."""
    launch()

    def loop() -> None:
        for _ in range(LAUNCHES):
            launch()

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


def device_arrays() -> Arrays:
    return kdsl.zeros(N), kdsl.zeros(N), kdsl.zeros(N)


def torch_tensors() -> Arrays:
    torch = import_module("torch")
    return tuple(torch.zeros(N, device="cuda") for _ in range(3))  # type: ignore[return-value]


def cupy_arrays() -> Arrays:
    cupy = import_module("cupy")
    return cupy.zeros(N, "f4"), cupy.zeros(N, "f4"), cupy.zeros(N, "f4")


def jax_arrays() -> Arrays:
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


def dlpack_alone() -> Arrays:
    a, b, c = cupy_arrays()
    return Dlpack(a), Dlpack(b), Dlpack(c)


def numba_arrays() -> Arrays:
    cuda = import_module("numba.cuda")
    return cuda.device_array(N, np.float32), cuda.device_array(N, np.float32), cuda.device_array(N, np.float32)


class Interface:
    """An array of a library that kdsl does not know: its `__cuda_array_interface__` is made anew each time."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.pointer = array.data.ptr

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": (N,), "typestr": "<f4", "data": (self.pointer, False), "strides": None, "version": 3}


def interfaces() -> Arrays:
    a, b, c = cupy_arrays()
    return Interface(a), Interface(b), Interface(c)


def mixed_arrays() -> Arrays:
    """Two of JAX that are read, and one of CuPy that is written."""
    a, b, _ = jax_arrays()
    return a, b, cupy_arrays()[2]


def jax_jit(arrays: Arrays) -> Launch:
    """It makes the array that it writes."""
    jax = import_module("jax")
    add = jax.jit(lambda a, b: a + b)
    a, b, _ = arrays
    return lambda: add(a, b)


def torch_add(arrays: Arrays) -> Launch:
    torch = import_module("torch")
    a, b, c = arrays
    return lambda: torch.add(a, b, out=c)


VADD = r"""
extern "C" __global__ void vadd(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""


def cupy_kernel(arrays: Arrays) -> Launch:
    kernel = import_module("cupy").RawKernel(VADD, "vadd")
    a, b, c = arrays
    return lambda: kernel((GRID,), (BLOCK,), (a, b, c, np.int32(N)))


def numba_kernel(arrays: Arrays) -> Launch:
    cuda = import_module("numba.cuda")

    @cuda.jit  # type: ignore[untyped-decorator]
    def vadd(a: Any, b: Any, c: Any, n: Any) -> None:
        i = cuda.grid(1)
        if i < n:
            c[i] = a[i] + b[i]

    a, b, c = arrays
    return lambda: vadd[GRID, BLOCK](a, b, c, N)


LIBRARIES: dict[str, Library] = {
    "kdsl.DeviceArray": Library(device_arrays),
    "torch.Tensor": Library(torch_tensors, 12, "torch.add(a, b, out=c)", torch_add),
    "cupy.ndarray": Library(cupy_arrays, 15, "cupy.RawKernel", cupy_kernel),
    "numba.cuda's array": Library(numba_arrays, 25, "numba.cuda.jit", numba_kernel),
    "__cuda_array_interface__": Library(interfaces, 25, "numba.cuda.jit", numba_kernel),
    "two jax.Array, one ours": Library(jax_arrays, 15, "jax.jit", jax_jit),
    "two jax.Array, one CuPy's": Library(mixed_arrays, 20),
    "DLPack alone (CuPy's)": Library(dlpack_alone),
}


if __name__ == "__main__":
    raise SystemExit(main())
