"""Debug builds on a driver in host memory: how a module is listened to, and what a failed check becomes."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from kdsl.backend import CheckError, DeviceError, Launch, MemoryFault
from kdsl.checks import RECORD_BYTES, STATE, TABLE, Site, Table
from kdsl.runtime.driver import CudaDriver

IMAGE = b".version 7.8\n.visible .global .align 8 .b8 kdsl_check_state[16];\n"
LAUNCH = Launch((4, 1, 1), (256, 1, 1))
TRAPPED = 719
SITES = (
    Site("k.py", 3, True, "ss", "index {} of {}"),
    Site("k.py", 5, False, "fu", "{} makes {}"),
)


def load(gpu: CudaDriver, fake: Any, kernels: tuple[str, ...]) -> Any:
    """A debug build with these kernels; its variables lie in the fake's memory as a loaded module's do."""
    for name, data in ((STATE, bytes(16)), (TABLE, Table(kernels, SITES).encoded())):
        fake.globals[name] = next(fake.handles) << 20
        fake.memory[fake.globals[name]] = bytearray(data)
    return gpu.load(IMAGE)


def fails(fake: Any, number: int, values: bytes) -> Any:
    """A kernel whose thread (5, 6, 7) of block (1, 2, 3) fails a check as the device does, and kills the context."""
    state = fake.memory[fake.globals[STATE]]

    def run(parameters: bytes) -> None:
        (address,) = struct.unpack_from("<Q", state)
        record = struct.pack("<7I4x", number, 1, 2, 3, 5, 6, 7) + values
        fake.memory[address][:] = record.ljust(RECORD_BYTES, b"\0")
        fake.fault = TRAPPED

    return run


def test_what_loading_asks(gpu: CudaDriver, fake_driver: Any) -> None:
    fake_driver.called()
    load(gpu, fake_driver, ("vadd",))
    assert fake_driver.called("cuDevicePrimaryCtxRetain") == [
        "cuLibraryLoadData",
        "cuLibraryGetGlobal",
        "cuLibraryGetGlobal",
        "cuMemcpyDtoH",
        "cuMemHostAlloc",
        "cuMemHostGetDevicePointer",
        "cuMemcpyHtoD",
        "cuStreamSynchronize",
    ]
    ((host, mapped),) = fake_driver.mapped.items()
    assert struct.unpack_from("<Q", fake_driver.memory[fake_driver.globals[STATE]]) == (mapped,) != (host,)
    assert fake_driver.memory[mapped] == bytes(RECORD_BYTES)


def test_loading_others_asks_nothing_more(gpu: CudaDriver, fake_driver: Any) -> None:
    fake_driver.called()
    gpu.load(b".version 7.8\n")
    assert fake_driver.called("cuDevicePrimaryCtxRetain") == ["cuLibraryLoadData"]


@pytest.mark.parametrize(
    ("number", "values", "kind", "text"),
    [
        (1, struct.pack("<2q", -12, 10), MemoryFault, "k.py:3: kernel vadd: index -12 of 10"),
        (2, struct.pack("<dQ", 2.5, 2**64 - 1), CheckError, f"k.py:5: kernel vadd: 2.5 makes {2**64 - 1}"),
    ],
)
def test_a_failed_check(
    gpu: CudaDriver, fake_driver: Any, number: int, values: bytes, kind: type[DeviceError], text: str
) -> None:
    module = load(gpu, fake_driver, ("vadd",))
    fake_driver.kernels["vadd"] = fails(fake_driver, number, values)
    gpu.launch(gpu.function(module, "vadd"), LAUNCH, b"")
    text += " (block (1, 2, 3), thread (5, 6, 7))"
    with pytest.raises(kind) as caught:
        gpu.synchronize()
    assert str(caught.value) == f"{text}. The GPU cannot be used any more in this process"
    error = caught.value
    assert (error.kernel, error.file, error.line) == ("vadd", "k.py", 3 if number == 1 else 5)
    assert (error.block, error.thread) == ((1, 2, 3), (5, 6, 7))
    with pytest.raises(DeviceError) as caught:
        gpu.alloc(8)
    assert str(caught.value) == f"the GPU cannot be used any more in this process, since {text}"


@pytest.mark.parametrize(
    ("launched", "named", "kernel"),
    [(["other"], "kernel other", "other"), (["vadd", "other"], "one of the kernels vadd, other", None)],
)
def test_which_kernel_of_a_module(
    gpu: CudaDriver, fake_driver: Any, launched: list[str], named: str, kernel: str | None
) -> None:
    module = load(gpu, fake_driver, ("vadd", "other", "third"))
    fake_driver.kernels["other"] = fails(fake_driver, 1, struct.pack("<2q", 1, 1))
    for name in launched:
        gpu.launch(gpu.function(module, name), LAUNCH, b"")
    with pytest.raises(MemoryFault, match=rf"^k\.py:3: {named}: index 1 of 1 ") as caught:
        gpu.synchronize()
    assert caught.value.kernel == kernel


def test_another_fault_with_a_debug_build_loaded(gpu: CudaDriver, fake_driver: Any) -> None:
    module = load(gpu, fake_driver, ("vadd",))
    gpu.launch(gpu.function(module, "vadd"), LAUNCH, b"")
    fake_driver.fault = TRAPPED
    with pytest.raises(DeviceError, match="kernel `vadd` .* trapped"):
        gpu.synchronize()


def test_a_module_whose_table_is_missing(gpu: CudaDriver, fake_driver: Any) -> None:
    fake_driver.codes["cuLibraryGetGlobal"] = [500]
    with pytest.raises(DeviceError, match=r"the driver refuses the module \(CUDA_ERROR_NOT_FOUND"):
        gpu.load(IMAGE)
