"""Memory on the emulator: what loads and stores move, and every fault with its exact message."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from kdsl.backend import Launch, MemoryFault
from tests.emulator.engine import HEADER, LINEAR, REGISTERS, Machine, Run, element, emulate, kernel


def fault(ptx: str, grid: int, block: int, *arguments: object, shared: int = 0) -> MemoryFault:
    with pytest.raises(MemoryFault) as caught:
        Machine().run(ptx, grid, block, *arguments, shared=shared)
    return caught.value


def test_vectors_bytes_and_sign_extension(run: Run) -> None:
    ptx = kernel(
        "u64 a, u64 out",
        LINEAR + element("%rd1", "a", size=16) + element("%rd2", "out", size=32)
        + "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd1]; st.global.v4.b32 [%rd2], {%r13, %r12, %r11, %r10};"
        "ld.global.s8 %r14, [%rd1+3]; ld.global.u8 %rd3, [%rd1+3]; ld.global.s16 %r15, [%rd1+2];"
        "cvt.u32.u64 %r16, %rd3; st.global.v2.b32 [%rd2+16], {%r14, %r15};"
        "st.global.b8 [%rd2+24], %r16; st.global.b16 [%rd2+26], %r15; st.global.u32 [%rd2+28], %r16; ret;",
    )  # fmt: skip
    rng = np.random.default_rng(2)
    a = rng.integers(0, 2**32, (50, 4), np.uint32)
    _, out = run(ptx, 1, 50, a, np.zeros((50, 8), np.uint32))
    np.testing.assert_array_equal(out[:, :4], a[:, ::-1])
    top = a[:, 0].view(np.int32) >> 24
    half = a[:, 0].view(np.int32) >> 16
    np.testing.assert_array_equal(out[:, 4].view(np.int32), top)
    np.testing.assert_array_equal(out[:, 5].view(np.int32), half)
    np.testing.assert_array_equal(out[:, 6], ((top & 0xFF) | ((half & 0xFFFF) << 16)).view(np.uint32))
    np.testing.assert_array_equal(out[:, 7], top & 0xFF)


def test_packs_unpacks_and_constants(run: Run) -> None:
    ptx = kernel(
        "u64 out",
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, 0x11223344; mov.u32 %r2, -2; mov.b64 %rd2, {%r1, %r2};"
        "st.global.u64 [%rd1], %rd2; mov.b64 {%r3, _}, %rd2; mov.b32 {%rs1, %rs2}, %r3; st.global.u16 [%rd1+8], %rs2;"
        "mov.b32 %r4, {%rs2, %rs1}; st.global.u32 [%rd1+12], %r4; mov.f32 %r5, 0f3F800000; st.global.f32 [%rd1+16], %r5;"
        "mov.f64 %rd3, 0d4008000000000000; st.global.f64 [%rd1+24], %rd3; mov.pred %p1, -1; selp.u32 %r6, 5, 6, %p1;"
        "st.global.u32 [%rd1+20], %r6; ret;",
    )
    (out,) = run(ptx, 1, 1, np.zeros(32, np.uint8))
    assert struct.unpack("<QHxxIfId", out.tobytes()) == (0xFFFFFFFE11223344, 0x1122, 0x33441122, 1.0, 5, 3.0)


def test_initialised_variables_and_generic_addresses(run: Run) -> None:
    module = """
    .global .align 4 .u32 table[3] = {10, 20, 30};
    .const .align 8 .b8 bytes[16] = {1, 2, 255, 4};
    .global .align 8 .u64 pointers[2] = {generic(table)+4, 7};
    .global .f32 number = 0f40490FDB;
    """
    body = (
        "ld.param.u64 %rd1, [out]; mov.u64 %rd2, pointers; cvta.global.u64 %rd2, %rd2; ld.u64 %rd3, [%rd2]; ld.u32 %r1, [%rd3+4];"
        "ld.const.s8 %r2, [bytes+2]; ld.global.f32 %r3, [number]; ld.global.u64 %rd4, [pointers+8]; cvt.u32.u64 %r4, %rd4;"
        "st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; ret;"
    )
    (out,) = run(kernel("u64 out", body, module=module), 1, 1, np.zeros(4, np.uint32))
    assert out.tolist() == [30, 0xFFFFFFFF, 0x40490FDB, 7]


@pytest.mark.parametrize(("block", "grid"), [(64, 1), (64, 7), (48, 600)])
def test_shared_memory_reverses_each_block(block: int, grid: int, run: Run) -> None:
    ptx = kernel(
        "u64 a",
        LINEAR + element("%rd1", "a")
        + "ld.global.u32 %r5, [%rd1]; mov.u64 %rd2, tile; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd2, %rd3;"
        "st.shared.u32 [%rd4], %r5; bar.sync 0; sub.s32 %r6, %r3, %r1; mul.wide.u32 %rd3, %r6, 4; add.s64 %rd4, %rd2, %rd3;"
        "ld.shared.u32 %r7, [%rd4+-4]; st.global.u32 [%rd1], %r7; ret;",
        module=".shared .align 4 .b8 other[12]; .shared .align 4 .b8 tile[256];",
    )  # fmt: skip
    a = np.arange(block * grid, dtype=np.uint32)
    (out,) = run(ptx, grid, block, a)
    np.testing.assert_array_equal(out, a.reshape(grid, block)[:, ::-1].reshape(-1))


def test_dynamic_shared_memory_and_its_size(run: Run) -> None:
    ptx = kernel(
        "u64 a",
        LINEAR + element("%rd1", "a")
        + "mov.u32 %r5, dyn; shl.b32 %r6, %r1, 3; add.u32 %r5, %r5, %r6; mov.u32 %r7, %dynamic_smem_size;"
        "st.shared.v2.u32 [%r5], {%r4, %r7}; ld.shared.v2.u32 {%r8, %r9}, [%r5]; add.u32 %r8, %r8, %r9;"
        "st.global.u32 [%rd1], %r8; ret;",
        module=".extern .shared .align 16 .b8 dyn[];",
    )  # fmt: skip
    (out,) = run(ptx, 2, 32, np.zeros(64, np.uint32), shared=256)
    np.testing.assert_array_equal(out, np.arange(64) + 256)


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_local_arrays_and_generic_pointers_to_mixed_spaces(run: Run, shift: int) -> None:
    body = (
        ".local .align 16 .b8 depot[32];\n.reg .b64 %SP; .reg .b64 %SPL; mov.b64 %SPL, depot; cvta.local.u64 %SP, %SPL;"
        + LINEAR + element("%rd1", "a")
        + "st.local.u32 [%SPL+4], %r4; add.u64 %rd2, %SP, 4; mov.u64 %rd3, tile; cvta.shared.u64 %rd3, %rd3;"
        "mul.wide.u32 %rd4, %r1, 4; add.s64 %rd3, %rd3, %rd4; mul.lo.u32 %r6, %r4, 10; st.u32 [%rd3], %r6;"
        f"add.u32 %r5, %r4, {shift}; rem.u32 %r5, %r5, 3;"
        "setp.eq.u32 %p1, %r5, 0; setp.eq.u32 %p2, %r5, 1;"
        "selp.u64 %rd5, %rd2, %rd3, %p1; selp.u64 %rd5, %rd1, %rd5, %p2;"
        "ld.u32 %r7, [%rd5]; add.u32 %r7, %r7, 1; st.u32 [%rd5], %r7; ld.u32 %r8, [%rd5];"
        "isspacep.shared %p3, %rd5; selp.u32 %r9, 1000, 0, %p3; add.u32 %r8, %r8, %r9;"
        "cvta.to.global.u64 %rd1, %rd1; st.global.u32 [%rd1], %r8; ret;"
    )  # fmt: skip
    a = np.full(96, 5, np.uint32)
    (out,) = run(kernel("u64 a", body, module=".shared .align 4 .b8 tile[256];"), 2, 48, a)
    i = np.arange(96)
    which = (i + shift) % 3
    np.testing.assert_array_equal(out, np.where(which == 0, i + 1, np.where(which == 1, 6, 10 * i + 1001)))


def test_out_of_bounds_names_bytes_line_block_and_thread() -> None:
    ptx = kernel("u64 a", LINEAR + element("%rd1", "a") + "\n.loc 1 12 1\nld.global.u32 %r5, [%rd1];\nret;")
    a = np.zeros(100, np.uint32)
    error = fault(ptx, 4, 32, a)
    address = (16 << 40) + (1 << 36) + 400
    assert str(error) == (
        f"k.py:12: kernel k: out-of-bounds read of 4 bytes at {address:#x}: 0 bytes after the end of the allocation of "
        "400 bytes (block (3, 0, 0), thread (4, 0, 0))"
    )
    assert (error.kernel, error.file, error.line, error.block, error.thread) == ("k", "k.py", 12, (3, 0, 0), (4, 0, 0))


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ("st.global.u32 [%rd1+7], %r4;", "out-of-bounds write of 4 bytes at {7}: 3 bytes past the end of the allocation of 8 bytes"),
        ("ld.global.u8 %r4, [%rd1+8];", "out-of-bounds read of 1 byte at {8}: 0 bytes after the end of the allocation of 8 bytes"),
        ("ld.global.u32 %r4, [%rd1+-4];", "out-of-bounds read of 4 bytes at {-4}: 4 bytes before the allocation of 8 bytes"),
        ("ld.global.u32 %r4, [%rd1+2];", "misaligned read of 4 bytes at {2}: not a multiple of 4"),
        ("st.global.v2.u32 [%rd1+4], {%r4, %r4};", "out-of-bounds write of 8 bytes at {4}: 4 bytes past the end of the allocation of 8 bytes"),
        ("ld.u64 %rd2, [%rd1+1];", "out-of-bounds read of 8 bytes at {1}: 1 bytes past the end of the allocation of 8 bytes"),
        ("ld.global.u32 %r4, [%rd9];", "read of 4 bytes at 0x0: null pointer"),
        ("st.u32 [%rd9+8], %r4;", "write of 4 bytes at 0x8: null pointer"),
        ("mov.u64 %rd8, 0x123456789abcdef0; ld.global.u32 %r4, [%rd8];", "read of 4 bytes at 0x123456789abcdef0: no allocation has this address"),
        ("ld.shared.u32 %r4, [tile+8];", "out-of-bounds read of 4 bytes at shared address 0x100008: 0 bytes after the end of tile of 8 bytes"),
        ("st.shared.u32 [tile+-4], %r4;", "out-of-bounds write of 4 bytes at shared address 0xffffc: 4 bytes before tile of 8 bytes"),
        ("st.shared.u16 [tile+1], %rs1;", "misaligned write of 2 bytes at shared address 0x100001: not a multiple of 2"),
        ("ld.shared.u32 %r4, [tile];", "read of 4 bytes of tile that were never written"),
        ("st.shared.u16 [tile], %rs1; ld.shared.u32 %r4, [tile+4];", "read of 4 bytes of tile that were never written"),
        ("atom.shared.add.u32 %r4, [tile], 1;", "read of 4 bytes of tile that were never written"),
        ("mov.u64 %rd3, depot; ld.local.u32 %r4, [%rd3];", "read of 4 bytes of local memory that were never written"),
        ("mov.u64 %rd3, depot; st.local.u32 [%rd3+16], %r4;", "out-of-bounds write of 4 bytes at local address 0x10: 4 bytes past the end of local memory of 16 bytes"),
        ("mov.u64 %rd3, depot; st.local.u32 [%rd3+-4], %r4;", "out-of-bounds write of 4 bytes at local address -0x4: 4 bytes before local memory of 16 bytes"),
        ("mov.u64 %rd3, depot; st.local.u32 [%rd3+2], %r4;", "misaligned write of 4 bytes at local address 0x2: not a multiple of 4"),
        ("mov.u64 %rd3, fixed; st.u32 [%rd3], %r4;", "write of 4 bytes at {const}: fixed is read-only"),
    ],
)  # fmt: skip
def test_faults(access: str, message: str) -> None:
    ptx = kernel(
        "u64 a", f".local .align 16 .b8 depot[16]; ld.param.u64 %rd1, [a];\n.loc 1 3 1\n{access}\nret;",
        module=".shared .align 8 .b8 tile[8]; .const .align 4 .u32 fixed[1] = {1};",
    )  # fmt: skip
    error = fault(ptx, 1, 1, np.zeros(8, np.uint8))
    base = (17 << 40) + (1 << 36)
    for offset in (7, 8, -4, 2, 4, 1):
        message = message.replace(f"{{{offset}}}", f"{base + offset:#x}")
    message = message.replace("{const}", f"{(16 << 40) + (1 << 36) + (1 << 20):#x}")
    assert str(error) == f"k.py:3: kernel k: {message} (block (0, 0, 0), thread (0, 0, 0))"


@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize(
    ("access", "message"),
    [
        ("ld.shared.u8 %r5, [%r2+3];", "out-of-bounds read of 1 byte at shared address 0x100003: 0 bytes after the end of tile of 3 bytes"),
        ("ld.shared.u16 %r5, [%r2+2];", "out-of-bounds read of 2 bytes at shared address 0x100002: 1 bytes past the end of tile of 3 bytes"),
    ],
)  # fmt: skip
def test_only_whole_words_may_reach_past_the_end_of_shared_memory(access: str, message: str, filled: bool) -> None:
    store = "st.shared.u8 [%r2], 1; st.shared.u8 [%r2+1], 1; st.shared.u8 [%r2+2], 1;" if filled else ""
    body = f"mov.u32 %r2, tile; {store} bar.sync 0; {access} ret;"
    assert message in str(fault(kernel("u64 a", body, module=".shared .align 4 .b8 tile[3];"), 1, 1, np.zeros(1)))


def test_a_whole_word_that_begins_in_shared_memory_names_it() -> None:
    body = "ld.param.u64 %rd1, [a]; st.shared.u8 [tile], 1; st.shared.u8 [tile+1], 1; st.shared.u8 [tile+2], 1;"
    body += "ld.shared.v4.u8 {%r4, %r5, %r6, %r7}, [tile]; add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6; add.u32 %r4, %r4, %r7; st.global.u32 [%rd1], %r4; ret;"
    ptx = kernel("u64 a", body, module=".shared .align 4 .b8 tile[3]; .shared .align 4 .b8 next[4];")
    assert "read of 1 byte of tile that were never written" in str(fault(ptx, 1, 1, np.zeros(1)))


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ("ld.global.u32 %r5, [%rd1+8];", "0 bytes after the end of the allocation of 8 bytes"),
        ("ld.global.u32 %r5, [%rd1+-4];", "4 bytes before the allocation of 8 bytes"),
        ("st.global.u32 [%rd1+8], %r5;", "0 bytes after the end of the allocation of 8 bytes"),
        ("st.global.u32 [%rd1+-4], %r5;", "4 bytes before the allocation of 8 bytes"),
        ("ld.global.u16 %rs1, [%rd1+5];", "misaligned read of 2 bytes"),
        ("ld.shared.u32 %r5, [%r2+8];", "0 bytes after the end of tile of 8 bytes"),
        ("st.shared.u32 [%r2+-4], %r5;", "4 bytes before tile of 8 bytes"),
        ("ld.shared.u32 %r5, [%r2+4];", "read of 4 bytes of tile that were never written"),
        ("ld.local.u32 %r5, [%rd3+4];", "read of 4 bytes of local memory that were never written"),
        ("st.u32 [%rd4], %r5; st.u32 [%rd4+4], %r5;", "fixed is read-only"),
    ],
)
def test_faults_of_an_address_that_was_right_before(access: str, message: str) -> None:
    """The register of the address is used again, with another offset."""
    before = "ld.param.u64 %rd1, [a]; ld.global.u32 %r5, [%rd1]; st.global.u32 [%rd1+4], %r5; mov.u32 %r2, tile;"
    before += "st.shared.u32 [%r2], %r5; ld.shared.u32 %r6, [%r2]; mov.u64 %rd3, depot; st.local.u32 [%rd3], %r5;"
    before += "ld.local.u32 %r7, [%rd3]; mov.u64 %rd4, fixed; ld.u32 %r8, [%rd4]; ld.u32 %r8, [%rd4+4];"
    module = ".shared .align 8 .b8 tile[8]; .const .align 4 .u32 fixed[2] = {1, 2};"
    use = "st.global.u32 [%rd1], %r5;"
    ptx = kernel("u64 a", f".local .align 16 .b8 depot[16]; {before}\n.loc 1 3 1\n{access} {use}\nret;", module=module)
    error = fault(ptx, 1, 40, np.zeros(8, np.uint8))
    assert message in str(error)
    assert error.line == 3


def test_local_memory_is_unwritten_again_in_the_next_call() -> None:
    module = f"""
.func f(.param .b32 f_param_0)
{{{REGISTERS}
    .local .align 4 .b8 depot[4]; mov.b64 %rd1, depot; ld.param.b32 %r1, [f_param_0]; setp.ne.u32 %p1, %r1, 0; @%p1 bra $R;
    st.local.u32 [%rd1], %r1;
$R:
.loc 1 5 1
    ld.local.u32 %r2, [%rd1]; st.local.u32 [%rd1], %r2;
    ret;
}}
"""
    call = "{{ .param .b32 param0; st.param.b32 [param0], {}; call.uni f, (param0); }}"
    error = fault(kernel("", call.format(0) + call.format(1) + "ret;", module=module), 1, 40)
    assert str(error).startswith("k.py:5: kernel k: read of 4 bytes of local memory that were never written")


def test_only_the_first_lane_that_faults_is_named_and_earlier_stores_stay() -> None:
    machine = Machine()
    ptx = kernel("u64 a", LINEAR + element("%rd1", "a") + "st.global.u32 [%rd1], 1; st.global.u32 [%rd1+8], 2; ret;")
    function = machine.emulator.function(machine.emulator.load(ptx.encode()), "k")
    address = machine.upload(np.zeros(32, np.uint32))
    with pytest.raises(MemoryFault, match=r"thread \(30, 0, 0\)"):
        machine.emulator.launch(function, Launch((1, 1, 1), (32, 1, 1)), struct.pack("<Q", address))
    assert (machine.download(address, np.zeros(32, np.uint32)) >= 1).all()
    # The emulator is as good as before.
    bigger = machine.upload(np.zeros(34, np.uint32))
    machine.emulator.launch(function, Launch((1, 1, 1), (32, 1, 1)), struct.pack("<Q", bigger))
    assert machine.download(bigger, np.zeros(34, np.uint32)).sum() == 66


def test_use_after_free() -> None:
    machine = Machine()
    ptx = kernel("u64 a", "ld.param.u64 %rd1, [a]; ld.global.u32 %r1, [%rd1]; ret;")
    function = machine.emulator.function(machine.emulator.load(ptx.encode()), "k")
    address = machine.upload(np.zeros(32, np.uint32))
    machine.emulator.free(address)
    with pytest.raises(MemoryFault, match="use after free of an allocation of 128 bytes"):
        machine.emulator.launch(function, Launch((1, 1, 1), (1, 1, 1)), struct.pack("<Q", address))


def test_host_copies_are_checked() -> None:
    machine = Machine()
    address = machine.emulator.alloc(16)
    machine.emulator.fill(address, 7, 16)
    machine.emulator.copy(address, address + 8, 4)
    with pytest.raises(MemoryFault, match="1 bytes past the end of the allocation of 16 bytes"):
        machine.emulator.read(address + 1, memoryview(bytearray(16)))
    with pytest.raises(MemoryFault, match="8 bytes past the end"):
        machine.emulator.write(address + 16 - 8, memoryview(bytes(16)))
    machine.emulator.free(address)
    with pytest.raises(MemoryFault, match="use after free of an allocation of 16 bytes"):
        machine.emulator.fill(address, 0, 1)


def test_of_freed_allocations_the_newest_are_remembered() -> None:
    emulator = Machine().emulator
    addresses = [emulator.alloc(16) for _ in range(5000)]
    for address in addresses:
        emulator.free(address)
    assert len(emulator.memory.freed) == 4096
    with pytest.raises(MemoryFault, match="use after free of an allocation of 16 bytes"):
        emulator.read(addresses[5000 - 4096], memoryview(bytearray(4)))
    with pytest.raises(MemoryFault, match="no allocation has this address"):
        emulator.read(addresses[5000 - 4097], memoryview(bytearray(4)))


def test_uninitialised_shared_read_of_one_lane_after_a_barrier() -> None:
    ptx = kernel(
        "u64 a",
        LINEAR + "mov.u32 %r5, tile; shl.b32 %r6, %r1, 2; add.u32 %r5, %r5, %r6; setp.eq.u32 %p1, %r1, 3; @%p1 bra $S;"
        "st.shared.u32 [%r5], %r1; $S: bar.sync 0;\n.loc 1 6 1\nld.shared.u32 %r7, [%r5];\nret;",
        module=".shared .align 4 .b8 tile[128];",
    )
    error = fault(ptx, 2, 32, np.zeros(1, np.uint32))
    assert str(error) == (
        "k.py:6: kernel k: read of 4 bytes of tile that were never written (block (0, 0, 0), thread (3, 0, 0))"
    )


def test_parameters_by_value_lie_as_in_c(run: Run) -> None:
    ptx = (
        kernel("u64 out", "")
        .replace(
            "(.param .u64 out)", "(.param .u64 out, .param .u8 small, .param .align 8 .b8 pair[16], .param .f64 d)"
        )
        .replace(
            "\n}",
            "ld.param.u64 %rd1, [out]; ld.param.u8 %r1, [small]; ld.param.u32 %r2, [pair+4]; mov.b64 %rd2, pair;"
            "cvta.param.u64 %rd2, %rd2; ld.u64 %rd3, [%rd2+8]; ld.param.f64 %rd4, [d]; st.global.u32 [%rd1], %r1;"
            "st.global.u32 [%rd1+4], %r2; st.global.u64 [%rd1+8], %rd3; st.global.u64 [%rd1+16], %rd4; ret;\n}",
        )
    )
    pair = struct.pack("<IIQ", 1, 2, 3)
    (out,) = run(ptx, 1, 1, np.zeros(3, np.uint64), b"\x09", pair[:8], pair[8:], struct.pack("<d", 2.5))
    assert out.tolist() == [9 | 2 << 32, 3, int(np.float64(2.5).view(np.uint64))]


def test_alignment_after_ptr_is_that_of_the_pointee(run: Run) -> None:
    ptx = kernel(
        "u32 value, u64 out",
        "ld.param.u32 %r1, [value]; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r1; ret;",
    ).replace(".param .u64 out", ".param .u64 .ptr .global .align 4 out")
    (out,) = run(ptx, 1, 1, 7, np.zeros(1, np.uint32))  # `out` lies at byte 8, as any u64
    assert out.tolist() == [7]


@pytest.mark.parametrize(
    ("size", "write", "read", "expected"),
    [
        (12, "st.shared.u32 [%r5+8], %r1;", "ld.shared.v4.b32 {%r8, %r9, %r7, %r10}, [%r5];", 5),
        (16, "st.shared.u32 [%r5+12], %r1;", "ld.shared.v4.b32 {%r8, _, %r9, %r7}, [%r5];", 5),
        (3, "st.shared.u8 [%r5+2], %r1;", "ld.shared.b32 %r7, [%r5]; shr.u32 %r7, %r7, 16; and.b32 %r7, %r7, 255;", 5),
    ],
)
def test_loads_that_llvm_widened_over_what_is_not_there(
    size: int, write: str, read: str, expected: int, run: Run
) -> None:
    ptx = kernel(
        "u64 a", f"ld.param.u64 %rd1, [a]; mov.u32 %r5, tile; mov.u32 %r1, 5; {write} {read} st.global.u32 [%rd1], %r7; ret;",
        module=f".shared .align 16 .b8 tile[{size}];",
    )  # fmt: skip
    (out,) = run(ptx, 2, 1, np.zeros(1, np.uint32))
    assert out.tolist() == [expected]


def test_a_widened_load_must_be_aligned_as_a_whole() -> None:
    body = "mov.u32 %r5, tile;\n.loc 1 4 1\nld.shared.v4.b32 {%r7, %r8, %r9, %r10}, [%r5+8]; mov.u32 %r6, %r7; ret;"
    error = fault(kernel("u64 a", body, module=".shared .align 16 .b8 tile[64];"), 1, 1, np.zeros(1, np.uint32))
    assert "misaligned read of 16 bytes" in str(error)


def test_elements_of_two_widths_at_one_address(run: Run) -> None:
    body = (
        LINEAR + "ld.param.u64 %rd1, [a]; mul.wide.u32 %rd2, %r4, 16; add.s64 %rd1, %rd1, %rd2; cvt.u64.u32 %rd3, %r4;"
    )
    body += "st.global.v2.u32 [%rd1], {%r4, %r4}; st.global.u64 [%rd1+8], %rd3; ret;"
    (out,) = run(kernel("u64 a", body), 1, 40, np.full(160, 77, np.uint32))
    lane = np.arange(40)
    np.testing.assert_array_equal(out.reshape(40, 4), np.stack([lane, lane, lane, 0 * lane], axis=1))


SPECULATED = [
    # What a load finds is not used: one of two values of a select, an `and` with a condition, a block that is not entered.
    ("ld.shared.u32 %r7, [tile+4]; add.u32 %r7, %r7, 1; selp.u32 %r8, %r7, 9, %p1;", False),
    ("ld.shared.u32 %r7, [tile+4]; setp.eq.u32 %p2, %r7, 3; and.pred %p2, %p2, %p1; selp.u32 %r8, 1, 9, %p2;", False),
    ("ld.shared.u32 %r7, [tile+4]; mov.u32 %r8, 9; @!%p1 bra $E; add.u32 %r8, %r7, 1; $E:", False),
    ("add.u64 %rd4, %rd3, 4; ld.local.u32 %r7, [%rd4]; selp.u32 %r8, %r7, 9, %p1;", False),
    ("cvta.local.u64 %rd5, %rd3; ld.u32 %r7, [%rd5+4]; selp.u32 %r8, %r7, 9, %p1;", False),
    ("ld.shared.v2.u32 {%r10, %r7}, [tile]; selp.u32 %r8, %r7, 5, %p1; add.u32 %r8, %r8, %r10;", False),
    # It is used.
    ("ld.shared.v2.u32 {%r10, %r7}, [tile]; selp.u32 %r8, %r10, 5, %p1; add.u32 %r8, %r8, %r7;", True),
    ("ld.shared.s8 %r7, [tile+4]; add.u32 %r8, %r7, 1;", True),
    ("ld.shared.u32 %r7, [tile+4]; add.u32 %r7, %r7, tile; ld.shared.u32 %r8, [%r7]; mov.u32 %r8, 9;", True),
    ("ld.shared.u32 %r7, [tile+4]; add.u32 %r8, %r7, 1;", True),
    ("ld.shared.u32 %r7, [tile+4]; setp.eq.u32 %p2, %r7, 3; mov.u32 %r8, 9; @%p2 bra $E; mov.u32 %r8, 8; $E:", True),
    ("ld.shared.u32 %r7, [tile+4]; bar.sync 0; add.u32 %r8, %r7, 1;", True),
    ("add.u64 %rd4, %rd3, 4; ld.local.u32 %r7, [%rd4]; mov.u32 %r8, %r7;", True),
    # Nobody can know that the address is valid.
    ("mov.u32 %r9, tile; add.u32 %r9, %r9, %r6; ld.shared.u32 %r7, [%r9]; selp.u32 %r8, %r7, 9, %p1;", True),
]


@pytest.mark.parametrize(("body", "faults"), SPECULATED)
def test_loads_that_llvm_ran_for_nothing(body: str, faults: bool) -> None:
    before = "ld.param.u64 %rd1, [a]; ld.global.u32 %r6, [%rd1]; setp.eq.u32 %p1, %r6, 0; mov.u64 %rd3, depot;"
    before = ".local .align 16 .b8 depot[16];" + before + "st.shared.u32 [tile], %r6; st.local.u32 [%rd3], %r6;"
    module = ".shared .align 8 .b8 tile[16];"
    ptx = kernel("u64 a", f"{before}\n.loc 1 3 1\n{body}\n.loc 1 4 1\nst.global.u32 [%rd1], %r8; ret;", module=module)
    if faults:
        assert "that were never written" in str(fault(ptx, 1, 40, np.full(1, 4, np.uint32)))
    else:
        (out,) = emulate(ptx, 1, 40, np.full(1, 4, np.uint32))
        assert out.tolist() == [9]


def test_decimal_literals_take_the_type_that_they_initialise(run: Run) -> None:
    ptx = kernel(
        "u64 out",
        "ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [one]; st.global.u32 [%rd1], %r1; ld.global.u32 %r1, [one+8];"
        "st.global.u32 [%rd1+4], %r1; ld.global.u64 %rd2, [two]; st.global.u64 [%rd1+8], %rd2; ret;",
        module=".global .f32 one[3] = {1.1, 2.0, -0.5}; .global .f64 two = 1.1;",
    )
    (out,) = run(ptx, 1, 1, np.zeros(4, np.uint32))
    assert out.view(np.float32)[:2].tolist() == [np.float32(1.1), -0.5]
    assert out.view(np.float64)[1] == 1.1


def test_a_minus_before_a_literal_negates_it(run: Run) -> None:
    body = "ld.param.u64 %rd1, [out]; mov.f32 %r1, - 1.5; st.global.b32 [%rd1], %r1; ret;"
    (out,) = run(kernel("u64 out", body), 1, 1, np.zeros(1, np.float32))
    assert out[0] == -1.5


def test_kernels_may_each_declare_a_shared_array_of_one_name(run: Run) -> None:
    def declaring(name: str, size: int) -> str:
        use = f"mov.u32 %r1, {size}; st.shared.u32 [tile+{size - 4}], %r1; ld.shared.u32 %r2, [tile+{size - 4}];"
        store = "ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r2; ret;"
        return kernel("u64 out", f".shared .align 4 .b8 tile[{size}]; {use} {store}", name)

    # One header and one file for both.
    ptx = declaring("first", 16) + declaring("second", 8).removeprefix(HEADER).replace('.file 1 "k.py"\n', "")
    for name, size in (("first", 16), ("second", 8)):
        (out,) = run(ptx, 1, 1, np.zeros(1, np.uint32), name=name)
        assert out[0] == size
