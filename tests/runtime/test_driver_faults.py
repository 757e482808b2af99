"""What a kernel's fault becomes, when it is met and by whom, on a driver in host memory."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from kdsl.backend import DeviceAssertionError, DeviceError, Launch, LaunchTimeout, MemoryFault
from kdsl.lang.types import F32, PointerType
from kdsl.runtime.array_making import zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.launch import Launcher

from .fake_driver import function

P = PointerType
LAUNCH = Launch((4, 1, 1), (256, 1, 1))


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        (700, MemoryFault, "accessed memory outside of every allocation"),
        (716, MemoryFault, "made a misaligned access"),
        (710, DeviceAssertionError, "failed an assert; the device wrote file, line, block and thread to stderr"),
        (719, DeviceError, "trapped"),
        (702, LaunchTimeout, "watchdog"),
    ],
)
def test_faults_have_the_kernels_name(
    gpu: CudaDriver, fake_driver: Any, code: int, kind: type[DeviceError], text: str
) -> None:
    gpu.launch(function(gpu), LAUNCH, b"")
    fake_driver.fault = code
    with pytest.raises(kind, match=rf"kernel `vadd` \(grid \(4, 1, 1\), .*{text}.* \(CUDA_ERROR_.*: in the") as caught:
        gpu.synchronize()
    assert caught.value.kernel == "vadd"
    with pytest.raises(DeviceError, match="cannot be used any more in this process, since kernel `vadd`"):
        gpu.alloc(100)
    with pytest.raises(DeviceError, match="cannot be used any more"):
        gpu.synchronize()


def test_a_fault_of_one_of_several(gpu: CudaDriver, fake_driver: Any) -> None:
    vadd, other = function(gpu), function(gpu, "other")
    gpu.launch(vadd, LAUNCH, b"")
    gpu.synchronize()
    for _ in range(3):
        gpu.launch(other, LAUNCH, b"")
    fake_driver.fault = 700
    with pytest.raises(MemoryFault, match="kernel `other`"):
        zeros(3, backend=gpu).to_host()


def test_a_fault_after_a_synchronisation(gpu: CudaDriver, fake_driver: Any) -> None:
    run = Launcher("vadd", (), gpu, function(gpu)).bind(LaunchConfig(4, 256))
    for _ in range(3):
        run()
        gpu.synchronize()
    run()
    fake_driver.fault = 700
    with pytest.raises(MemoryFault, match="kernel `vadd`"):
        gpu.synchronize()


def test_a_fault_of_an_unknown_one(gpu: CudaDriver, fake_driver: Any) -> None:
    for name in ("vadd", "other", "vadd"):
        gpu.launch(function(gpu, name), LAUNCH, b"")
    fake_driver.fault = 719
    with pytest.raises(
        DeviceError,
        match=r"one of the kernels .*: `vadd` \(.*\), `other` \(.*\); run with KDSL_SYNC=1, or call kdsl.synchronize",
    ):
        gpu.synchronize()


def test_a_launch_after_a_fault(gpu: CudaDriver, fake_driver: Any) -> None:
    run = Launcher("vadd", (), gpu, function(gpu)).bind(LaunchConfig(1, 32))
    run()
    fake_driver.fault = 700
    with pytest.raises(MemoryFault, match="kernel `vadd`"):
        run()
    with pytest.raises(
        DeviceError, match="`vadd` was not launched: the GPU cannot be used any more, since kernel `vadd`"
    ):
        run()


def test_arrays_die_quietly_after_a_fault(gpu: CudaDriver, fake_driver: Any, recwarn: pytest.WarningsRecorder) -> None:
    array = zeros(4, backend=gpu)
    fake_driver.fault = 700
    with pytest.raises(MemoryFault):
        gpu.synchronize()
    del array
    gc.collect()
    assert not recwarn.list


@pytest.mark.parametrize("foreign", [False, True])
def test_a_fault_met_while_freeing_is_raised_by_the_next_call(gpu: CudaDriver, fake_driver: Any, foreign: bool) -> None:
    array = zeros(4, backend=gpu)
    gpu.launch(function(gpu), Launch((4, 1, 1), (256, 1, 1), stream=0x7F0000001000 if foreign else 0), b"")
    fake_driver.codes["cuCtxSynchronize" if foreign else "cuMemFreeAsync"] = [700]
    del array
    gc.collect()
    with pytest.raises(MemoryFault, match="kernel `vadd`"):
        gpu.synchronize()
    with pytest.raises(DeviceError, match="cannot be used any more in this process, since kernel `vadd`"):
        gpu.synchronize()


def test_a_failed_kernel_leaves_numpy_arguments_alone(gpu: CudaDriver, fake_driver: Any) -> None:
    def breaks(parameters: bytes) -> None:
        fake_driver.fault = 700

    fake_driver.kernels["vadd"] = breaks
    host = np.ones(4, np.float32)
    with pytest.raises(MemoryFault, match="kernel `vadd`"):
        Launcher("vadd", (("a", P(F32)),), gpu, function(gpu)).bind(LaunchConfig(1, 32))(host)
    np.testing.assert_array_equal(host, np.ones(4))
