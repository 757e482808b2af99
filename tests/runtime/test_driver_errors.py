"""Which exception each of the driver's errors is, what it tells, and what the device's state is afterwards."""

from __future__ import annotations

import inspect
import linecache
import multiprocessing
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import kdsl
from kdsl import errors
from kdsl.backend import DeviceError, Launch
from kdsl.emulator import Emulator
from kdsl.runtime import driver_errors
from kdsl.runtime.array_making import zeros
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.driver import CudaDriver
from kdsl.runtime.launch import Launcher
from kdsl.source import CompileError, Span

from .fake_driver import function

LAUNCH = Launch((4, 1, 1), (256, 1, 1))
KINDS = [getattr(errors, name) for name in errors.__all__]

# What CUDA calls each error, beside what a program catches.
CAUGHT_AS = [
    ("CUDA_ERROR_INVALID_VALUE", ValueError),
    ("CUDA_ERROR_OUT_OF_MEMORY", MemoryError),
    ("CUDA_ERROR_ILLEGAL_ADDRESS", kdsl.MemoryFault),
    ("CUDA_ERROR_MISALIGNED_ADDRESS", kdsl.MemoryFault),
    ("CUDA_ERROR_ASSERT", AssertionError),
    ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", kdsl.LaunchConfigError),
    ("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", kdsl.LaunchConfigError),
    ("CUDA_ERROR_INVALID_CLUSTER_SIZE", kdsl.LaunchConfigError),
    ("CUDA_ERROR_NOT_PERMITTED", PermissionError),
    ("CUDA_ERROR_NOT_SUPPORTED", NotImplementedError),
    ("CUDA_ERROR_NOT_FOUND", LookupError),
    ("CUDA_ERROR_FILE_NOT_FOUND", FileNotFoundError),
    ("CUDA_ERROR_OPERATING_SYSTEM", OSError),
    ("CUDA_ERROR_TIMEOUT", TimeoutError),
    ("CUDA_ERROR_INVALID_PTX", errors.ImageError),
    ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", errors.ImageError),
    ("CUDA_ERROR_NO_BINARY_FOR_GPU", errors.ImageError),
    ("CUDA_ERROR_STREAM_CAPTURE_MERGE", errors.StreamCaptureError),
    ("CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", errors.PeerAccessError),
    ("CUDA_ERROR_NO_DEVICE", errors.DeviceUnavailableError),
    ("CUDA_ERROR_DEVICE_UNAVAILABLE", errors.DeviceUnavailableError),
    ("CUDA_ERROR_MPS_CONNECTION_FAILED", errors.MpsError),
]


def test_every_code_of_the_bindings_has_an_exception() -> None:
    real = pytest.importorskip("cuda.bindings.driver", reason="cuda-python is not installed")
    codes = {int(code): code.name for code in real.CUresult if code}
    without = [name for code, name in codes.items() if driver_errors.meaning(code)[0] is DeviceError]
    assert not without
    tables = (driver_errors.OTHERS, driver_errors.UNREADABLE_IMAGE, driver_errors.FAULTS, driver_errors.LOSSES)
    known = [code for table in (*tables, driver_errors.REFUSED_LAUNCH) for code in table]
    # INVALID_VALUE has a meaning of its own at a launch.
    assert sorted(known) == sorted([*set(known), 1])
    assert {kind for table in tables for kind, _ in table.values()} <= set(KINDS)


@pytest.mark.parametrize(("name", "base"), CAUGHT_AS)
def test_what_an_error_is_caught_as(fake_driver: Any, gpu: CudaDriver, name: str, base: type[Exception]) -> None:
    code = int(getattr(fake_driver.real.CUresult, name))
    error = gpu._calls.error(code, "a call")
    assert isinstance(error, base) and isinstance(error, kdsl.DeviceError)
    assert error.code == code and name in str(error)


def test_an_error_of_a_newer_driver(gpu: CudaDriver) -> None:
    error = gpu._calls.error(12345, "a call")
    assert type(error) is DeviceError and error.code == 12345


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_exceptions_are_documented_and_pickle(kind: type[Exception]) -> None:
    assert inspect.getdoc(kind)
    place = Span("k.py", 3)
    error = kind.at(place, "what happened", "a hint") if issubclass(kind, CompileError) else kind("what happened")
    if isinstance(error, DeviceError):
        error.kernel, error.code, error.launches = "vadd", 700, (("vadd", LAUNCH),)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error) and vars(again) == vars(error)


def test_a_compile_error_keeps_its_text(tmp_path: Path) -> None:
    """The process that reads it need not have the file."""
    (tmp_path / "k.py").write_text("x = nonsense\n")
    error = CompileError.at(Span(str(tmp_path / "k.py"), 1, 5, 1, 13), "no such name")
    sent = pickle.dumps(error)
    assert "x = nonsense" in str(error)
    (tmp_path / "k.py").unlink()
    linecache.clearcache()
    assert str(pickle.loads(sent)) == str(error)


def test_every_exception_that_a_user_meets_has_its_name_there() -> None:
    """Those of the named families, wherever a module of kdsl defines them."""
    families = (DeviceError, CompileError, kdsl.ArgumentError, kdsl.LaunchConfigError)
    root = Path(kdsl.__file__).parent
    pattern = re.compile(r"^class (\w+)\((.*)\):", re.MULTILINE)
    known = {kind.__name__ for kind in KINDS if issubclass(kind, families)}
    missing = {
        name
        for file in root.rglob("*.py")
        for name, bases in pattern.findall(file.read_text("utf-8"))
        if {base.strip().rpartition(".")[2] for base in bases.split(",")} & known and name not in known
    }
    # One that a launch catches itself: the variant of the kernel for large arrays takes them.
    assert missing == {"ExtentError"}
    script = "import sys, kdsl.errors; print('llvmlite' in sys.modules, 'kdsl.frontend' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert loaded == "False False\n"


def fails() -> None:
    error = errors.IllegalAddressError("kernel `vadd` accessed", kernel="vadd", block=(1, 2, 3))
    error.launches = (("vadd", LAUNCH),)
    raise error


def test_an_exception_of_a_worker_process() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool, pytest.raises(errors.IllegalAddressError) as caught:
        pool.apply(fails)
    assert (caught.value.kernel, caught.value.block) == ("vadd", (1, 2, 3))
    assert caught.value.launches == (("vadd", LAUNCH),)


def test_what_a_fault_tells(gpu: CudaDriver, fake_driver: Any) -> None:
    assert (gpu.state, gpu.fault) == ("not started", None)
    gpu.launch(function(gpu), LAUNCH, b"")
    assert gpu.state == "ready"
    fake_driver.fault = 700
    with pytest.raises(errors.IllegalAddressError) as caught:
        gpu.synchronize()
    fault = caught.value
    assert (fault.kernel, fault.code, fault.launches) == ("vadd", 700, (("vadd", LAUNCH),))
    assert (gpu.state, gpu.fault) == ("lost", fault)
    for use in (gpu.synchronize, lambda: gpu.alloc(8), lambda: gpu.launch(function(gpu), LAUNCH, b"")):
        with pytest.raises(
            errors.ContextLostError, match=r"cannot be used any more in this process, since kernel `vadd` \(grid"
        ) as later:
            use()
        assert later.value.fault is later.value.__cause__ is fault
        assert str(later.value).count("cannot be used") == 1
        assert (later.value.kernel, later.value.code) == ("vadd", 700)
        assert pickle.loads(pickle.dumps(later.value)).fault.args == fault.args


def test_the_first_of_two_threads_tells(gpu: CudaDriver, fake_driver: Any) -> None:
    """A call that was under way when another thread met the fault says that the context is lost, and nothing new."""
    gpu.launch(function(gpu), LAUNCH, b"")
    fake_driver.fault = 716
    with pytest.raises(errors.MisalignedAddressError):
        gpu.synchronize()
    late = gpu._calls.error(716, "cuMemcpyDtoH")
    assert isinstance(late, errors.ContextLostError) and isinstance(late.fault, errors.MisalignedAddressError)
    assert gpu.fault is late.fault


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        (214, errors.EccError, "cannot be corrected"),
        (709, errors.ContextDestroyedError, "another library destroyed the device's context"),
        (810, errors.MpsError, "ended this client"),
    ],
)
def test_a_context_that_no_kernel_ended(
    gpu: CudaDriver, fake_driver: Any, code: int, kind: type[DeviceError], text: str
) -> None:
    gpu.launch(function(gpu), LAUNCH, b"")
    fake_driver.fault = code
    with pytest.raises(kind, match=text) as caught:
        gpu.synchronize()
    assert caught.value.kernel is None and "vadd" not in str(caught.value)
    assert gpu.state == "lost"


def test_too_many_registers(gpu: CudaDriver, fake_driver: Any) -> None:
    found = function(gpu)
    fake_driver.function_attributes["NUM_REGS"] = 168
    fake_driver.codes["cuLaunchKernel"] = [701]
    with pytest.raises(errors.LaunchOutOfResourcesError) as caught:
        gpu.launch(found, Launch((1, 1, 1), (1024, 1, 1)), b"")
    assert (
        "1024 threads of 168 registers need 172032, and a block has 65536; use blocks of at most 384 threads, or "
        "@kernel(launch_bounds=1024) or max_registers=64 so that the compiler uses fewer "
        "(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
    ) in str(caught.value)
    assert caught.value.kernel == "vadd" and caught.value.launches[0][1].block == (1024, 1, 1)
    assert gpu.state == "ready"


def test_too_much_shared_memory(gpu: CudaDriver, fake_driver: Any) -> None:
    found = function(gpu)
    fake_driver.function_attributes["SHARED_SIZE_BYTES"] = 40_000
    fake_driver.codes["cuFuncSetAttribute"] = [1]
    with pytest.raises(
        errors.LaunchOutOfResourcesError,
        match="40000 bytes of static and 200000 of dynamic shared memory are more than the 232448 that a block can",
    ):
        gpu.launch(found, Launch((1, 1, 1), (32, 1, 1), shared_bytes=200_000), b"")


def test_more_threads_than_compiled_for(gpu: CudaDriver, fake_driver: Any) -> None:
    found = function(gpu)
    fake_driver.function_attributes["MAX_THREADS_PER_BLOCK"] = 128
    fake_driver.codes["cuLaunchKernel"] = [1]
    with pytest.raises(errors.LaunchRefusedError, match="a block has 256 threads, and the kernel was compiled for at"):
        gpu.launch(found, LAUNCH, b"")


class TestSynchronousLaunches:
    @pytest.fixture
    def gpu(self, fake_driver: Any) -> CudaDriver:
        fake_driver.kernels = {"vadd": lambda parameters: None, "other": lambda parameters: None}
        return CudaDriver(api=fake_driver, synchronous=True)

    def test_each_is_waited_for(self, gpu: CudaDriver, fake_driver: Any) -> None:
        run = Launcher("vadd", (), gpu, function(gpu)).bind(LaunchConfig(4, 256))
        fake_driver.called()
        run(), run()
        assert fake_driver.called() == ["cuLaunchKernel", "cuStreamIsCapturing", "cuStreamSynchronize"] * 2

    def test_the_fault_is_the_launchs_own(self, gpu: CudaDriver, fake_driver: Any) -> None:
        def breaks(parameters: bytes) -> None:
            fake_driver.fault = 700

        fake_driver.kernels["other"] = breaks
        gpu.launch(function(gpu), LAUNCH, b"")
        other = function(gpu, "other")
        with pytest.raises(errors.IllegalAddressError, match="kernel `other` .* accessed memory") as caught:
            gpu.launch(other, LAUNCH, b"")
        assert caught.value.launches == (("other", LAUNCH),)

    def test_a_capture_is_not_waited_for(self, gpu: CudaDriver, fake_driver: Any) -> None:
        found = function(gpu)
        fake_driver.capturing = {0}
        fake_driver.called()
        gpu.launch(found, LAUNCH, b"")
        assert fake_driver.called() == ["cuLaunchKernel", "cuStreamIsCapturing"]


def test_faults_of_the_emulator_are_of_the_same_classes() -> None:
    ptx = b"""
.version 6.3
.target sm_75
.address_size 64
.visible .entry faulty(.param .u64 x) { .reg .b64 %d; .reg .b32 %r; BODY ret; }
"""
    load = b"ld.param.u64 %d, [x]; ld.global.u32 %r, [%d];"
    backend = Emulator()
    memory = zeros(8, backend=backend)
    for body, argument, kind in (
        (load, 0xDEAD00000000, errors.IllegalAddressError),
        (load, memory.address + 2, errors.MisalignedAddressError),
        (b"trap;", 0, errors.LaunchFailedError),
    ):
        found = backend.function(backend.load(ptx.replace(b"BODY", body)), "faulty")
        with pytest.raises(kind) as caught:
            backend.launch(found, Launch((1, 1, 1), (32, 1, 1)), argument.to_bytes(8, "little"))
        assert type(caught.value) is kind
    assert (backend.state, backend.fault) == ("ready", None)


def test_threads_see_the_same_fault(gpu: CudaDriver, fake_driver: Any) -> None:
    gpu.launch(function(gpu), LAUNCH, b"")
    fake_driver.fault = 700
    with pytest.raises(errors.IllegalAddressError):
        gpu.synchronize()
    seen: list[BaseException] = []

    def work() -> None:
        try:
            gpu.synchronize()
        except errors.ContextLostError as error:
            seen.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [error.fault for error in seen] == [gpu.fault] * 4


def test_exceptions_are_made_by_what_their_class_names_first() -> None:
    """As picklers do that keep tracebacks (tblib's, which Dask installs)."""
    for kind in KINDS:
        if issubclass(kind, DeviceError):
            made = kind.__new__(kind)
            assert type(made) is kind
