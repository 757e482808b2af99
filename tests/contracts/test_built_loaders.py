"""The loader that `kdsl build` writes checks the contract too, and its kernels rely on the block size alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import Array, Constexpr, Ptr, f32, f32x4, grid, i32, kernel
from kdsl.codegen.sass import find_tool
from tests.ahead.emulated_driver import EmulatedDriver

pytestmark = pytest.mark.skipif(
    find_tool("ptxas") is None or find_tool("fatbinary") is None, reason="needs ptxas and fatbinary"
)


@kernel(
    requires=("a.size >= n >= 0", "grid.x * block.x >= n", "n % size == 0", "v.size >= 2 and x.shape[1] == 3 and x.ndim == 2 and w.ndim == 1",
              "1 << n > 0 or 12 // n > 0", "a.ptr % 4 == 0 and a.strides[0] == 4 and a.nbytes > 4", "f < 2.5 and not flag"),
    block=32, shared="8 * size",
)  # fmt: skip
def fill(
    a: Ptr[f32],
    n: i32,
    v: Ptr[f32x4],
    x: Array[f32, 2],
    w: Array[f32x4, 1],
    f: f32,
    flag: kdsl.lang.types.boolean,
    size: Constexpr[int],
) -> None:
    i = grid(1)
    if i < n:
        a[i] = f


def loaded(folder: Path) -> Any:
    kdsl.build(fill, folder, targets=["sm_90"], name="contracted", signatures={"fill": {"size": 4}})
    spec = importlib.util.spec_from_file_location("contracted", folder / "contracted.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.module._driver = EmulatedDriver()
    module.module.image = (folder / "contracted.sm_90.ptx").read_bytes()
    return module


def test_a_loader_checks_the_contract(tmp_path: Path) -> None:
    module = loaded(tmp_path)
    a, v, x = np.zeros(100, np.float32), np.zeros(8, np.float32), np.zeros((2, 3), np.float32)
    device, w = module.to_device(a), np.zeros((2, 4), np.float32)
    for of in (a, device):
        module.fill[4, 32, None, 32](of, 100, v, x, w, 1.0, False)
    assert a.sum() == device.to_host().sum() == 100

    def refused(configuration: tuple[Any, ...], *arguments: Any) -> str:
        with pytest.raises(ValueError) as caught:
            module.fill[configuration](*arguments)
        return str(caught.value)

    right = (4, 32, None, 32)
    for of in (a, device):
        assert refused(right, of, 104, v, x, w, 1.0, False) == "fill requires a.size >= n >= 0"
    assert refused(right, a, np.int32(-4), v, x, w, 1.0, False) == "fill requires a.size >= n >= 0"
    assert refused((3, 32, None, 32), a, 100, v, x, w, 1.0, False) == ("fill requires grid.x * block.x >= n")
    assert refused(right, a, 99, v, x, w, 1.0, False) == "fill requires n % size == 0"
    assert refused(right, a, 100, v[:4], x, w, 1.0, False) == "fill requires v.size >= 2"
    assert refused(right, a, 100, v, x.reshape(3, 2), w, 1.0, False) == "fill requires x.shape[1] == 3"
    assert refused(right, a, 100, v, x, w, 2.5, False) == "fill requires f < 2.5"
    assert refused(right, a, 100, v, x, w, 2.0, True) == "fill requires not flag"
    assert refused((4, 32), a, 100, v, x, w, 1.0, False) == "fill requires shared >= 8 * size"
    assert refused((4, 64, None, 32), a, 100, v, x, w, 1.0, False) == (
        "block = (64, 1, 1): fill is compiled for blocks of (32, 1, 1)"
    )
