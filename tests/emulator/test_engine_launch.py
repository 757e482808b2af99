"""The emulator as a `Backend`: what a launch may ask for, what is refused, and that a broken launch breaks nothing else."""

from __future__ import annotations

import signal
import struct
import threading
import time

import numpy as np
import pytest

from kdsl.backend import Backend, DeviceError, Launch, LaunchTimeout
from kdsl.emulator import Emulator
from tests.emulator.engine import HEADER, LINEAR, Machine, Run, element, emulate, kernel

NOTHING = kernel("", "ret;")


def test_it_is_a_backend() -> None:
    backend: Backend = Emulator()
    assert (backend.name, backend.target) == ("emulator", "sm_90")
    backend.target = "sm_86"
    assert (backend.target, backend.limits.shared_bytes) == ("sm_86", 99 * 1024)
    address = backend.alloc(10)
    assert address % 256 == 0
    backend.write(address, memoryview(b"0123456789"))
    backend.copy(address, address + 5, 5)
    backend.fill(address + 8, ord("x"), 2)
    found = bytearray(10)
    backend.read(address, memoryview(found))
    assert bytes(found) == b"56789567xx"
    assert backend.alloc(0) != backend.alloc(0)
    backend.synchronize()


def test_an_unknown_kernel_lists_the_kernels_there_are() -> None:
    emulator = Emulator()
    module = emulator.load(NOTHING.encode())
    with pytest.raises(KeyError, match="the module has no kernel 'nosuch'; it has k"):
        emulator.function(module, "nosuch")


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        ((0, 1, 1), (1, 1, 1), r"grid (0, 1, 1) of kernel k is outside of (1, 1, 1) to (2147483647, 65535, 65535)"),
        (
            (1, 65536, 1),
            (1, 1, 1),
            r"grid (1, 65536, 1) of kernel k is outside of (1, 1, 1) to (2147483647, 65535, 65535)",
        ),
        ((1, 1, 1), (1025, 1, 1), r"block (1025, 1, 1) of kernel k is outside of (1, 1, 1) to (1024, 1024, 64)"),
        ((1, 1, 1), (1, 1, 65), r"block (1, 1, 65) of kernel k is outside of (1, 1, 1) to (1024, 1024, 64)"),
        ((1, 1, 1), (33, 32, 1), r"block (33, 32, 1) of kernel k has 1056 threads, at most 1024 fit"),
    ],
)
def test_limits_of_grid_and_block(grid: tuple[int, int, int], block: tuple[int, int, int], message: str) -> None:
    with pytest.raises(DeviceError) as caught:
        emulate(NOTHING, grid, block)
    assert str(caught.value) == message


def test_bounds_that_the_kernel_was_compiled_with() -> None:
    bounded = NOTHING.replace(")\n{", ")\n.maxntid 32, 2\n{")
    emulate(bounded, 1, 64)
    with pytest.raises(
        DeviceError, match=r"block \(65, 1, 1\) of kernel k has 65 threads, it was compiled for at most 64"
    ):
        emulate(bounded, 1, 65)
    exact = NOTHING.replace(")\n{", ")\n.reqntid 32, 2, 1\n{")
    emulate(exact, 1, (32, 2, 1))
    with pytest.raises(DeviceError, match=r"has 64 threads, it was compiled for blocks of \(32, 2, 1\)"):
        emulate(exact, 1, 64)


def launch_clusters(directives: str, grid: int, cluster: tuple[int, int, int] | None, target: str = "sm_90") -> None:
    emulator = Emulator(target=target)
    module = emulator.load(NOTHING.replace(")\n{", f")\n{directives}\n{{").encode())
    emulator.launch(emulator.function(module, "k"), Launch((grid, 1, 1), (32, 1, 1), cluster=cluster), b"")


def test_limits_of_clusters() -> None:
    required = ".explicitcluster .reqnctapercluster 2, 1, 1"
    launch_clusters(required, 2, None)
    launch_clusters(required, 4, (2, 1, 1))
    launch_clusters(".maxclusterrank 4", 4, (4, 1, 1))
    launch_clusters("", 4, (1, 1, 1), "sm_86")
    for directives, grid, cluster, target, message in (
        (required, 3, None, "sm_90", r"cluster \(2, 1, 1\) of kernel k: grid \(3, 1, 1\) is no multiple of it"),
        (required, 4, (4, 1, 1), "sm_90", r"\(4, 1, 1\) of kernel k: it was compiled for clusters of \(2, 1, 1\)"),
        ("", 4, (2, 1, 1), "sm_86", r"cluster \(2, 1, 1\) of kernel k: there are clusters from sm_90 on"),
        ("", 32, (32, 1, 1), "sm_90", r"cluster \(32, 1, 1\) of kernel k has 32 blocks, at most 16 are allowed"),
        (".maxclusterrank 4", 8, (8, 1, 1), "sm_90", r"has 8 blocks, at most 4 are allowed"),
    ):
        with pytest.raises(DeviceError, match=message):
            launch_clusters(directives, grid, cluster, target)


def test_limits_of_shared_memory() -> None:
    use = "mov.u32 %r1, tile; mov.u32 %r2, dyn; ret;"
    module = ".shared .align 4 .b8 tile[{}]; .extern .shared .align 16 .b8 dyn[];"
    emulate(kernel("", use, module=module.format(48 * 1024)), 1, 1, shared=179 * 1024)
    with pytest.raises(DeviceError, match="kernel k has 49156 bytes of static shared memory, at most 49152 fit"):
        emulate(kernel("", use, module=module.format(48 * 1024 + 4)), 1, 1)
    with pytest.raises(DeviceError, match="kernel k has 233472 bytes of shared memory, sm_90 has 232448"):
        emulate(kernel("", use, module=module.format(48 * 1024)), 1, 1, shared=180 * 1024)


def test_too_short_a_parameter_buffer() -> None:
    with pytest.raises(DeviceError, match="kernel k takes 12 bytes of parameters, 8 were given"):
        emulate(kernel("u64 a, u32 n", "ret;"), 1, 1, np.zeros(1))


def test_a_large_grid_of_small_blocks(run: Run) -> None:
    ptx = kernel("u64 out", LINEAR + element("%rd1", "out") + "st.global.u32 [%rd1], %r4; ret;")
    (out,) = run(ptx, (100_003, 1, 1), 3, np.zeros(300_009, np.uint32))
    np.testing.assert_array_equal(out, np.arange(300_009))


def test_a_cubin_is_refused() -> None:
    with pytest.raises(DeviceError, match="the emulator runs PTX text, and this is a cubin"):
        Emulator().load(b"\x7fELF\x02\x01")


@pytest.mark.parametrize("cut", range(0, len(NOTHING) - 3, 7))
def test_text_that_is_cut_off_is_an_error_or_a_smaller_module(cut: int) -> None:
    try:
        module = Emulator().load(NOTHING[:cut].encode())
    except DeviceError as error:
        assert "PTX line" in str(error)
    else:
        assert "k" not in module.codes


def endless() -> str:
    return kernel("", "$L:\n.loc 1 4 1\nbra $L; ret;")


def test_an_endless_loop_of_a_small_kernel_ends_soon() -> None:
    """With a tenth of the usual limit: the whole takes 10 to 20 seconds at most."""
    machine = Machine(step_limit=(1 << 24) // 10)
    start = time.perf_counter()
    with pytest.raises(LaunchTimeout, match=r"k\.py:4: kernel k: no end after 1677721 steps"):
        machine.run(endless(), 1, 32)
    assert time.perf_counter() - start < 4


def test_control_c_ends_a_launch_and_leaves_the_emulator_usable() -> None:
    machine = Machine(step_limit=1 << 40)
    # A shell's background job begins with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            machine.run(endless(), 1, 32)
    finally:
        signal.signal(signal.SIGINT, before)
    machine.run(NOTHING, 1, 1)


def test_registers_that_are_never_written_are_zero() -> None:
    """LLVM leaves registers of undefined values unwritten."""
    (out,) = emulate(
        kernel("u64 a", "ld.param.u64 %rd1, [a]; st.global.u32 [%rd1], %r40; ret;"), 1, 1, np.ones(1, np.uint32)
    )
    assert out[0] == 0


def test_a_parameter_buffer_is_read_before_the_launch_returns() -> None:
    emulator = Emulator()
    function = emulator.function(emulator.load(kernel("u64 a, u32 v", "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [v];"
                                                      "st.global.u32 [%rd1], %r1; ret;").encode()), "k")  # fmt: skip
    address = emulator.alloc(4)
    buffer = bytearray(struct.pack("<QI", address, 5))
    emulator.launch(function, Launch((1, 1, 1), (1, 1, 1)), buffer)
    buffer[:] = bytes(12)
    found = bytearray(4)
    emulator.read(address, memoryview(found))
    assert found == b"\5\0\0\0"


def test_two_kernels_of_one_module_have_their_own_shared_memory() -> None:
    ptx = HEADER + "".join(
        f"""
.visible .entry k{i}(.param .u64 a) {{
    .shared .align 4 .b8 tile{i}[4]; .reg .b32 %r<4>; .reg .b64 %rd<4>;
    mov.u32 %r1, %total_smem_size; ld.param.u64 %rd1, [a]; st.shared.u32 [tile{i}], %r1; ld.shared.u32 %r2, [tile{i}];
    st.global.u32 [%rd1], %r2; ret;
}}"""
        for i in range(2)
    )
    for name in ("k0", "k1"):
        (out,) = Machine().run(ptx, 1, 1, np.zeros(1, np.uint32), name=name)
        assert out[0] == 4
