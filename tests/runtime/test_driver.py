"""CudaDriver against a driver in host memory: what it asks, in which order, and what errors become."""

from __future__ import annotations

import gc
import os
import struct
import threading
from typing import Any

import numpy as np
import pytest

from kdsl.backend import DeviceError, Launch
from kdsl.lang.types import F32, I32, PointerType, Space
from kdsl.lang.variables import POINTER, Variable
from kdsl.runtime.array_making import to_device, zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.errors import DriverUnavailableError, ForkedProcessError, LaunchConfigValueError
from kdsl.runtime.launch import Launcher
from kdsl.runtime.variables import attach

from .fake_driver import function

P = PointerType
LAUNCH = Launch((4, 1, 1), (256, 1, 1))


def test_what_the_device_is(gpu: CudaDriver, fake_driver: Any) -> None:
    assert (gpu.name, gpu.target, gpu.description) == ("cuda", "sm_90", "Fake GPU")
    assert gpu.limits.threads == 1024 and gpu.limits.grid == (2**31 - 1, 65535, 65535) and gpu.limits.block[2] == 64
    assert gpu.limits.shared_bytes == 232448 and gpu.limits.extra["cluster"] == 1
    assert "cuDevicePrimaryCtxRetain" not in fake_driver.called()


def context_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "kdsl: CUDA context"]


def test_the_context_is_made_beside_the_caller(gpu: CudaDriver, fake_driver: Any) -> None:
    gpu.start()
    for thread in context_threads():
        thread.join()
    assert "cuDevicePrimaryCtxRetain" in fake_driver.called()
    assert getattr(fake_driver.current, "context", 0) == 0  # another thread's is current there alone
    gpu.start()
    assert not context_threads()
    gpu.alloc(256)
    assert "cuDevicePrimaryCtxRetain" not in fake_driver.called() and fake_driver.current.context == 77


def test_a_context_that_cannot_be_made_is_told_where_it_is_needed(gpu: CudaDriver, fake_driver: Any) -> None:
    fake_driver.codes["cuDevicePrimaryCtxRetain"] = [2, 2]
    gpu.start()
    for thread in context_threads():
        thread.join()
    with pytest.raises(DeviceError, match="cuDevicePrimaryCtxRetain failed: CUDA_ERROR_OUT_OF_MEMORY"):
        gpu.alloc(256)


def test_an_architecture_newer_than_the_table_runs_the_newest_known(fake_driver: Any) -> None:
    fake_driver.attributes.update(COMPUTE_CAPABILITY_MAJOR=13, COMPUTE_CAPABILITY_MINOR=2)
    assert CudaDriver(api=fake_driver).target == "sm_121"


def test_available(fake_driver: Any) -> None:
    assert CudaDriver.available(fake_driver) == (True, "")
    assert CudaDriver.version(fake_driver) == "CUDA 13.0" and CudaDriver.count(fake_driver) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"codes": {"cuInit": [100]}}, "finds no GPU"),
        ({"devices": 0}, "finds no GPU"),
        ({"codes": {"cuInit": [3]}}, "spawn"),
        ({"codes": {"cuDeviceGetCount": [3]}}, "spawn"),
        ({"codes": {"cuInit": [803]}}, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        ({"driver_version": 11040}, "supports CUDA 11.4, and kdsl needs 12.0"),
        ({"attributes": {"COMPUTE_CAPABILITY_MAJOR": 7, "COMPUTE_CAPABILITY_MINOR": 0}}, "sm_70, and kdsl needs sm_75"),
    ],
)
def test_unavailable(fake_driver: Any, change: dict[str, Any], reason: str) -> None:
    for name, value in change.items():
        setattr(fake_driver, name, value)
    found, why = CudaDriver.available(fake_driver)
    assert not found and reason in why


def test_no_driver_library(fake_driver: Any) -> None:
    class Missing:
        def cuInit(self, flags: int) -> None:
            raise RuntimeError("Failed to dlopen libcuda.so.1")

    assert CudaDriver.available(Missing()) == (False, "no NVIDIA driver was found")


def test_no_cuda_python(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    found, why = CudaDriver.available()
    assert not found and "cuda-python is not installed; pip install" in why


def test_no_such_gpu(fake_driver: Any) -> None:
    with pytest.raises(DriverUnavailableError, match="there is no GPU 3: the driver finds 1"):
        CudaDriver(3, api=fake_driver)


def test_memory(gpu: CudaDriver, fake_driver: Any) -> None:
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    array = to_device(host, gpu)
    copy = zeros((3, 4), backend=gpu)
    fake_driver.called()
    copy.copy_from(array)
    np.testing.assert_array_equal(copy.to_host(), host)
    assert fake_driver.called() == ["cuMemcpyDtoDAsync", "cuCtxSynchronize", "cuMemcpyDtoH"]
    copy.fill(1.5)
    np.testing.assert_array_equal(copy.to_host(), np.full((3, 4), 1.5, np.float32))
    del array, copy
    gc.collect()
    assert not fake_driver.memory


def test_a_host_copy_is_complete_when_it_returns(gpu: CudaDriver, fake_driver: Any) -> None:
    array = zeros(4, backend=gpu)
    fake_driver.called()
    array.copy_from(np.ones(4, np.float32))
    assert fake_driver.called() == ["cuMemcpyHtoD", "cuStreamSynchronize"]


def test_without_pools(gpu: CudaDriver, fake_driver: Any) -> None:
    fake_driver.attributes["MEMORY_POOLS_SUPPORTED"] = 0
    gpu.free(gpu.alloc(100))
    assert fake_driver.called("cuDevicePrimaryCtxRetain", "cuDeviceGetAttribute")[-2:] == ["cuMemAlloc", "cuMemFree"]


def test_out_of_memory_says_what_was_asked_and_what_is_free(gpu: CudaDriver, fake_driver: Any) -> None:
    fake_driver.codes["cuMemAllocFromPoolAsync"] = [2, 2]
    with pytest.raises(MemoryError) as caught:
        gpu.alloc(3 << 30)
    assert str(caught.value) == (
        "3221225472 bytes (3.00 GiB) asked for on Fake GPU, "
        "1048576 bytes (0.00 GiB) free of 4294967296 bytes (4.00 GiB); arrays here have 0 bytes"
    )
    fake_driver.codes["cuMemAllocFromPoolAsync"] = [2]
    assert gpu.alloc(100)  # the second try, after a synchronisation


def test_launch(gpu: CudaDriver, fake_driver: Any) -> None:
    seen = []
    fake_driver.kernels["vadd"] = seen.append
    launcher = Launcher("vadd", (("a", P(F32)), ("n", I32)), gpu, function(gpu))
    array = zeros(4, backend=gpu)
    run = launcher.bind(LaunchConfig((4, 2), 256, 1024))
    fake_driver.called()
    run(array, 4)
    run(array, 5)
    assert fake_driver.called("") == ["cuLaunchKernel"] * 2 and fake_driver.calls == []
    assert seen == [struct.pack("<Qi", array.address, 4), struct.pack("<Qi", array.address, 5)]
    assert fake_driver.launched[0] == (4, 2, 1, 256, 1, 1, 1024, 0)


def test_launch_of_plain_bytes_and_of_no_parameters(gpu: CudaDriver, fake_driver: Any) -> None:
    seen = []
    fake_driver.kernels["vadd"] = seen.append
    found = function(gpu)
    gpu.launch(found, LAUNCH, b"abc")
    gpu.launch(found, LAUNCH, bytearray())
    assert seen == [b"abc", b""]


def test_numpy_arguments(gpu: CudaDriver, fake_driver: Any) -> None:
    def double(parameters: bytes) -> None:
        (address,) = struct.unpack("<Q", parameters)
        view = np.frombuffer(fake_driver.bytes_at(address, 16), np.float32)
        view *= 2

    fake_driver.kernels["vadd"] = double
    run = Launcher("vadd", (("a", P(F32)),), gpu, function(gpu)).bind(LaunchConfig(1, 32))
    host = np.arange(4, dtype=np.float32)
    run(host)
    np.testing.assert_array_equal(host, [0, 2, 4, 6])
    assert not fake_driver.memory


def test_clusters_and_cooperative_launches(gpu: CudaDriver, fake_driver: Any) -> None:
    launcher = Launcher("vadd", (), gpu, function(gpu))
    launcher.bind(LaunchConfig(4, 64, cluster=2))()
    launcher.bind(LaunchConfig(4, 64, cooperative=True))()
    launcher.bind(LaunchConfig(4, 64, programmatic_dependent_launch=True))()
    (grid, block, [(name, dimensions)]), *others = fake_driver.launched
    assert (grid, block, name) == (4, 64, "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION")
    assert (dimensions.x, dimensions.y, dimensions.z) == (2, 1, 1)
    assert others == [
        (4, 64, [("CU_LAUNCH_ATTRIBUTE_COOPERATIVE", 1)]),
        (4, 64, [("CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION", 1)]),
    ]
    with pytest.raises(LaunchConfigValueError, match=r"grid.x = 3 is not a multiple of cluster.x = 2"):
        launcher.bind(LaunchConfig(3, 64, cluster=2))


def test_what_a_kernel_asks_of_every_launch(gpu: CudaDriver, fake_driver: Any) -> None:
    launcher = Launcher("vadd", (), gpu, function(gpu), cluster=(16, 1, 1), cooperative=True)
    launcher.bind(LaunchConfig(32, 64))()
    launcher.bind(LaunchConfig(32, 64, cluster=16, cooperative=True))()
    names = ["CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION", "CU_LAUNCH_ATTRIBUTE_COOPERATIVE"]
    assert [[name for name, _ in attributes] for _, _, attributes in fake_driver.launched] == [names, names]
    assert fake_driver.large_clusters == {200}
    with pytest.raises(LaunchConfigValueError, match=r"cluster = \(8, 1, 1\), and vadd is compiled for clusters of"):
        launcher.bind(LaunchConfig(32, 64, cluster=8))


def test_a_cooperative_grid_fits(gpu: CudaDriver, fake_driver: Any) -> None:
    launcher = Launcher("vadd", (), gpu, function(gpu), cooperative=True)
    launcher.bind(LaunchConfig((8, 33), 64))()
    for config, most in (
        (LaunchConfig(265, 64), 264),
        (LaunchConfig(133, 64, shared=200_000), 132),
        (LaunchConfig(266, 64, cluster=2), 264),
    ):
        with pytest.raises(
            LaunchConfigValueError, match=rf"at once: at most {most} fit on this GPU.*; use {most} blocks"
        ):
            launcher.bind(config)
    fake_driver.codes["cuOccupancyMaxActiveBlocksPerMultiprocessor"] = [1]
    with pytest.raises(DeviceError, match="was not launched"):
        launcher.bind(LaunchConfig(2, 64, shared=16))


def test_a_launch_without_attributes_calls_nothing_else(gpu: CudaDriver, fake_driver: Any) -> None:
    run = Launcher("vadd", (), gpu, function(gpu)).bind(LaunchConfig(4, 64))
    fake_driver.calls.clear()
    run(), run()
    assert [call[0] for call in fake_driver.calls] == ["cuLaunchKernel"] * 2


def test_much_shared_memory_is_asked_for_once(gpu: CudaDriver, fake_driver: Any) -> None:
    run = Launcher("vadd", (), gpu, function(gpu)).bind(LaunchConfig(1, 32, shared=100_000))
    run(), run()
    assert fake_driver.called().count("cuFuncSetAttribute") == 1
    Launcher("vadd", (), gpu, function(gpu)).bind(LaunchConfig(1, 32, shared=90_000))()
    assert set(fake_driver.dynamic_shared.values()) == {100_000}


def test_threads_do_not_lower_the_limit_of_shared_memory(gpu: CudaDriver, fake_driver: Any) -> None:
    ask, launcher = fake_driver.cuFuncGetAttribute, Launcher("vadd", (), gpu, function(gpu))
    others: list[threading.Thread] = []

    def ask_and_let_another_thread_go_on(*arguments: Any) -> Any:
        found = ask(*arguments)
        if not others:
            others.append(threading.Thread(target=launcher.bind, args=(LaunchConfig(1, 32, shared=100_000),)))
            others[0].start()
            others[0].join(0.2)
        return found

    fake_driver.cuFuncGetAttribute = ask_and_let_another_thread_go_on
    launcher.bind(LaunchConfig(1, 32, shared=60_000))
    others[0].join()
    assert set(fake_driver.dynamic_shared.values()) == {100_000}


def test_another_thread_gets_the_context(gpu: CudaDriver, fake_driver: Any) -> None:
    run = Launcher("vadd", (), gpu, function(gpu)).bind(LaunchConfig(1, 32))
    failures: list[BaseException] = []

    def work() -> None:
        try:
            fake_driver.codes["cuLaunchKernel"] = [201]
            run()
            assert fake_driver.current.context == 77
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failures and len(fake_driver.launched) == 1


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (1, r"`vadd` \(grid \(4, 1, 1\), block \(256, 1, 1\)\) was not launched: the configuration does not fit"),
        (701, r"needs more registers .*launch_bounds.*CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES.*40 registers a thread"),
        (720, r"a cooperative launch must fit on the GPU at once"),
        (999, r"the driver refuses it \(CUDA_ERROR_UNKNOWN"),
    ],
)
def test_refused_launches(gpu: CudaDriver, fake_driver: Any, code: int, text: str) -> None:
    found = function(gpu)
    fake_driver.codes["cuLaunchKernel"] = [code]
    with pytest.raises(DeviceError, match=text) as caught:
        gpu.launch(found, LAUNCH, b"")
    assert caught.value.kernel == "vadd"
    gpu.launch(found, LAUNCH, b"")  # the device is well


def test_a_module_that_the_driver_refuses(gpu: CudaDriver, fake_driver: Any) -> None:
    fake_driver.codes["cuLibraryLoadData"] = [218]
    with pytest.raises(DeviceError, match="refuses the module: its PTX does not assemble"):
        gpu.load(b"nonsense")


def test_the_ptx_compilers_log_is_told(gpu: CudaDriver, fake_driver: Any) -> None:
    real = fake_driver.cuLibraryLoadData

    def load(code: bytes, options: Any, values: Any, *more: Any) -> Any:
        real(code, options, values, *more)
        values[0][:26] = b"ptxas line 3; syntax error"
        return (fake_driver.CUresult(218), None)

    fake_driver.cuLibraryLoadData = load
    with pytest.raises(DeviceError, match="\nptxas line 3; syntax error$"):
        gpu.load(b"nonsense")


def test_the_log_names_the_python_line(gpu: CudaDriver, fake_driver: Any) -> None:
    real, log = fake_driver.cuLibraryLoadData, b"ptxas application ptx input, line 4; error   : Unknown"

    def load(code: bytes, options: Any, values: Any, *more: Any) -> Any:
        real(code, options, values, *more)
        values[0][: len(log)] = log
        return (fake_driver.CUresult(218), None)

    fake_driver.cuLibraryLoadData = load
    with pytest.raises(DeviceError, match=r"\nkernels\.py:8: ptxas application ptx input, line 4"):
        gpu.load(b'.visible .entry k()\n{\n.loc 1 8 5\nbogus;\n}\n.file 1 "kernels.py"')


def test_images(gpu: CudaDriver, fake_driver: Any) -> None:
    for image in (b".version 8.0", b".version 8.0\0", b"\x7fELF\0\0"):
        gpu.load(image)
    codes = [call[1] for call in fake_driver.calls if call[0] == "cuLibraryLoadData"]
    assert codes == [b".version 8.0\0", b".version 8.0\0", b"\x7fELF\0\0"]


def test_no_such_kernel(gpu: CudaDriver, fake_driver: Any) -> None:
    fake_driver.codes["cuLibraryGetKernel"] = [500]
    with pytest.raises(KeyError, match="the module has no kernel 'nope'; it has other, vadd"):
        function(gpu, "nope")


def test_recording(fake_driver: Any) -> None:
    records: list[tuple[str, float, float]] = []
    fake_driver.kernels = {"vadd": lambda parameters: None}
    gpu = CudaDriver(api=fake_driver, record=lambda *record: records.append(record))
    gpu.launch(function(gpu), LAUNCH, b"")
    gpu.synchronize()
    names = [name for name, _, _ in records]
    assert names[0] == "cuInit" and names[-1] == "cuCtxSynchronize" and "cuLaunchKernelEx" in names
    assert all(duration >= 0 for _, _, duration in records)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_use_after_fork(gpu: CudaDriver) -> None:
    run = Launcher("vadd", (), gpu, function(gpu)).bind(LaunchConfig(1, 32))
    array = zeros(4, backend=gpu)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        said = []
        for use in (run, gpu.synchronize, array.to_host):
            try:
                use()
            except ForkedProcessError as error:
                said.append(str(error))
        gpu.free(array.address)  # a finaliser does this, and must not complain
        os.write(write, b"ok" if len(said) == 3 and all("spawn" in text for text in said) else repr(said).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 1000) == b"ok"
    run()  # the parent goes on


def test_variables_of_a_module(gpu: CudaDriver, fake_driver: Any) -> None:
    """A second module is told the address of the first one's memory."""
    variable = Variable((2,), I32, Space.GLOBAL, None, None)
    homes = []
    for _ in range(2):
        for name, size in (("n", 8), (POINTER + "n", 8)):
            fake_driver.globals[name] = next(fake_driver.handles) << 20
            fake_driver.memory[fake_driver.globals[name]] = bytearray(size)
        module = gpu.load(b".visible .global .align 16 .b8 n[8];\n.visible .const .align 8 .u64 other = n;\n")
        attach(gpu, module, [("n", variable)])
        homes.append(fake_driver.globals["n"])
    assert variable.homes[gpu].address == homes[0] != homes[1]
    assert struct.unpack("<Q", fake_driver.memory[fake_driver.globals[POINTER + "n"]]) == (homes[0],)
    assert gpu.variables(module) == ("n", "other")
    fake_driver.codes["cuLibraryGetGlobal"] = [500]
    with pytest.raises(KeyError, match="no variable 'missing'; it has n, other"):
        gpu.variable(module, "missing")
