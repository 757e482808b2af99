"""What the driver is asked about a kernel's resources and occupancy, on the driver's stand-in."""

from __future__ import annotations

from typing import Any

from kdsl.backend import Launch
from kdsl.lang.types import F32, PointerType
from kdsl.occupancy import KernelAttributes
from kdsl.resources import attributes_of, occupancy_of, suggested_block
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.launch import Launcher

from .fake_driver import function


def launcher(gpu: CudaDriver) -> Launcher:
    return Launcher("vadd", (("x", PointerType(F32)),), gpu, function(gpu))


def test_attributes(gpu: CudaDriver, fake_driver: Any) -> None:
    fake_driver.function_attributes.update({"NUM_REGS": 33, "LOCAL_SIZE_BYTES": 8, "PTX_VERSION": 75})
    assert attributes_of(launcher(gpu)) == KernelAttributes(
        registers=33, shared=40, local=8, constant=0, max_threads=1024, ptx_version=75, binary_version=90
    )


def test_occupancy(gpu: CudaDriver, fake_driver: Any) -> None:
    fake_driver.function_attributes.update({"NUM_REGS": 32, "SHARED_SIZE_BYTES": 0})
    fake_driver.most_blocks = 100
    found = occupancy_of(launcher(gpu), (16, 16), 0, None)
    assert (found.blocks, found.warps, found.max_warps, found.limited_by) == (8, 64, 64, ("warps", "registers"))
    fake_driver.most_blocks = 3  # for a reason that the table does not know
    found = occupancy_of(launcher(gpu), 256, 0, None)
    assert (found.blocks, found.fraction, found.limited_by, found.clusters) == (3, 0.375, (), None)


def test_dynamic_shared_memory_is_allowed_before_it_is_asked_about(gpu: CudaDriver, fake_driver: Any) -> None:
    made = launcher(gpu)
    fake_driver.called()
    occupancy_of(made, 128, 100_000, None)
    assert fake_driver.called("cuFuncGetAttribute") == [
        "cuFuncSetAttribute",
        "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    ]
    suggested_block(made, 120_000, None)
    assert fake_driver.called("cuFuncGetAttribute") == ["cuFuncSetAttribute", "cuOccupancyMaxPotentialBlockSize"]
    assert fake_driver.dynamic_shared == {200: 120_000}


def test_clusters(gpu: CudaDriver, fake_driver: Any) -> None:
    made = launcher(gpu)
    assert occupancy_of(made, 128, 0, 4).clusters == 2 * 132 // 4
    assert not fake_driver.large_clusters
    assert occupancy_of(made, 128, 0, 16).clusters == 2 * 132 // 16
    assert fake_driver.large_clusters == {200}
    assert gpu.active_clusters(made.function, Launch((4, 1, 1), (32, 1, 1), cluster=(4, 1, 1))) == 66


def test_suggestions(gpu: CudaDriver, fake_driver: Any) -> None:
    made = launcher(gpu)
    fake_driver.called()
    assert suggested_block(made, 0, None) == (768, 264)
    (call,) = (c for c in fake_driver.calls if c[0] == "cuOccupancyMaxPotentialBlockSize")
    assert (call[3], call[4]) == (0, 1024)
    assert suggested_block(made, 0, 500) == (500, 264)
    # A function of the threads is asked for each size.
    fake_driver.most_blocks = 100
    fake_driver.function_attributes.update({"NUM_REGS": 32})
    assert suggested_block(made, lambda threads: 200 * threads, None).block == 576
