"""The launcher: how arguments are packed and copied, against struct and NumPy."""

from __future__ import annotations

import struct
import threading
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kdsl.backend import DeviceError, Launch
from kdsl.lang.types import BF16, F16, F32, F64, I8, I16, I32, I64, SCALARS, U8, U64, ArrayType, PointerType, boolean
from kdsl.runtime.array_making import empty, to_device, zeros
from kdsl.runtime.launch import LaunchConfig, Launcher
from kdsl.runtime.memory import DeviceArray

P = PointerType
VADD = (("a", P(F32)), ("b", P(F32)), ("c", P(F32)), ("n", I32))


def vadd(backend: Any, launch: Launch, buffer: bytes) -> None:
    """c = a + b for float32, the device side of VADD."""
    a, b, c, n = struct.unpack("<QQQi", buffer)
    x, y, z = (backend.array(p, np.float32, n) for p in (a, b, c))
    z[:] = x + y


def packed(backend: Any, parameters: Any, *args: Any) -> bytes:
    """The buffer of one launch."""
    Launcher("k", parameters, backend, None).bind(LaunchConfig(1, 32))(*args)
    return bytes(backend.launches[-1][2])


def test_device_arrays(backend: Any) -> None:
    a, b = (to_device(np.arange(10, dtype=np.float32) * k, backend) for k in (1, 10))
    c = zeros(10, backend=backend)
    launcher = Launcher("vadd", VADD, backend, vadd, written={2})
    run = launcher.bind(LaunchConfig(4, (8, 2), shared=16))
    backend.calls.clear()
    run(a, b, c, 10)
    assert backend.calls == ["launch"]
    np.testing.assert_array_equal(c.to_host(), np.arange(10) * 11)
    assert backend.launches[-1][1] == Launch((4, 1, 1), (8, 2, 1), 16)
    run(a, b, n=10, c=a)
    np.testing.assert_array_equal(a.to_host(), np.arange(10) * 11)


def test_numpy_arrays_are_copied_in_and_only_written_ones_back(backend: Any) -> None:
    a, b = np.arange(10, dtype=np.float32), np.ones(10, np.float32)
    c = np.zeros(10, np.float32)
    a.flags.writeable = False
    Launcher("vadd", VADD, backend, vadd, written={2}).bind(LaunchConfig(1, 32))(a, b, c, 10)
    np.testing.assert_array_equal(c, np.arange(10) + 1)
    assert backend.calls == ["alloc"] * 3 + ["write"] * 3 + ["launch", "read"] + ["free"] * 3
    assert not backend.memory


def test_numpy_and_device_arrays_mix(backend: Any) -> None:
    a, c = to_device(np.arange(6, dtype=np.float32), backend), np.empty((2, 3), np.float32)
    Launcher("vadd", VADD, backend, vadd, {2}).launch(Launch((1, 1, 1), (32, 1, 1)), (a, a, c, 6))
    np.testing.assert_array_equal(c.ravel(), np.arange(6) * 2)


def test_one_array_twice_is_one_buffer(backend: Any) -> None:
    def shift(backend: Any, launch: Launch, buffer: bytes) -> None:
        a, b = struct.unpack("<QQ", buffer)
        assert a == b
        backend.array(a, np.int32, 4)[:] += 1
        backend.array(b, np.int32, 4)[:] *= 10

    a = np.arange(4, dtype=np.int32)
    Launcher("k", (("a", P(I32)), ("b", P(I32))), backend, shift).bind(LaunchConfig(1, 1))(a, a)
    np.testing.assert_array_equal(a, [10, 20, 30, 40])


def test_overlapping_views_share_a_buffer(backend: Any) -> None:
    def kernel(backend: Any, launch: Launch, buffer: bytes) -> None:
        a, b = struct.unpack("<QQ", buffer)
        assert b - a == 8
        backend.array(a, np.int32, 6)[5] = 55
        backend.array(b, np.int32, 6)[0] = 22

    base = np.arange(9, dtype=np.int32)
    untouched = base[8:]
    Launcher("k", (("a", P(I32)), ("b", P(I32))), backend, kernel).bind(LaunchConfig(1, 1))(base[:6], base[2:8])
    np.testing.assert_array_equal(base, [0, 1, 22, 3, 4, 55, 6, 7, 8])
    assert untouched[0] == 8
    assert backend.calls.count("alloc") == 1


def test_adjacent_views_are_buffers_of_their_own(backend: Any) -> None:
    base = np.zeros(8, np.float32)
    packed(backend, (("a", P(F32)), ("b", P(F32))), base[:4], base[4:])
    assert backend.calls.count("alloc") == 2


def test_views_of_two_widths_keep_their_alignment(backend: Any) -> None:
    raw = np.zeros(64, np.uint8)
    start = -raw.ctypes.data % 8 + 4
    floats, doubles = raw[start : start + 16].view(np.float32), raw[start + 4 : start + 20].view(np.float64)
    a, b = struct.unpack("<QQ", packed(backend, (("a", P(F32)), ("b", P(F64))), floats, doubles))
    assert b - a == 4 and b % 8 == 0


@pytest.mark.parametrize("shape", [0, (0, 4)])
def test_arrays_without_elements(backend: Any, shape: Any) -> None:
    array = np.zeros(shape, np.float32)
    assert packed(backend, (("a", P(F32)), ("n", I32)), array, 7) == struct.pack("<Qi", 0, 7)
    assert packed(backend, (("a", P(F32)), ("n", I32)), to_device(array, backend), 7) == struct.pack("<Qi", 0, 7)
    assert "alloc" not in backend.calls


def test_empty_launch_checks_and_does_nothing(backend: Any) -> None:
    run = Launcher("vadd", VADD, backend, vadd).bind(LaunchConfig.for_num_elems(0))
    a = np.zeros(0, np.float32)
    device = zeros(4, backend=backend)
    backend.calls.clear()
    run(a, a, a, 0)
    run(device, device, device, 4)
    run(np.zeros(4, np.float32), device, device, 4)
    assert backend.calls == []
    with pytest.raises(TypeError, match="`n`"):
        run(a, a, a, 1.0)


def test_parameters_lie_as_in_cuda_c(backend: Any) -> None:
    parameters = [("a", I8), ("b", F64), ("c", boolean), ("d", I16), ("e", U8), ("f", I64), ("g", F16), ("h", F32)]
    buffer = packed(backend, parameters, -1, 2.5, True, -2, 255, -3, 0.5, 1.5)
    # Native alignment of struct is the C compiler's.
    assert buffer == struct.pack("@bd?hBqef", -1, 2.5, True, -2, 255, -3, 0.5, 1.5)


def test_array_parameters(backend: Any) -> None:
    parameters = (
        ("x", ArrayType(F32, 2)),
        ("s", I8),
        ("y", ArrayType(F64, 1, index=I64)),
        ("z", ArrayType(I32, 3, strided=True)),
    )
    x, y, z = np.zeros((2, 3), np.float32), np.zeros(5), np.zeros((2, 3, 4), np.int32)
    device = [to_device(array, backend) for array in (x, y, z)]
    got = struct.unpack("@QiibQqQiiiiii", packed(backend, parameters, device[0], 1, device[1], device[2]))
    assert got == (device[0].address, 2, 3, 1, device[1].address, 5, device[2].address, 2, 3, 4, 12, 4, 1)
    host = struct.unpack("@QiibQqQiiiiii", packed(backend, parameters, x, 1, y, z[:, ::-1, ::2]))
    assert host[1:4] == (2, 3, 1) and host[5] == 5 and host[7:] == (2, 3, 2, 12, -4, 2)


def test_strided_host_arrays(backend: Any) -> None:
    def kernel(backend: Any, launch: Launch, buffer: bytes) -> None:
        address, n, step = struct.unpack("<Qii", buffer)
        for i in range(n):
            backend.array(address + 4 * i * step, np.int32, 1)[0] *= 10

    base = np.arange(10, dtype=np.int32)
    Launcher("k", (("x", ArrayType(I32, 1, strided=True)),), backend, kernel).bind(LaunchConfig(1, 1))(base[8:2:-3])
    np.testing.assert_array_equal(base, [0, 1, 2, 3, 4, 50, 6, 7, 80, 9])


@pytest.mark.parametrize("name", [name for name in SCALARS if SCALARS[name].is_int])
def test_integers_at_their_limits(backend: Any, name: str) -> None:
    scalar = SCALARS[name]
    for value in (scalar.minimum, scalar.maximum, 0, True, np.True_, scalar.numpy.type(3), np.array(5, np.int16)):
        assert packed(backend, (("n", scalar),), value) == np.array(int(value)).astype(scalar.numpy).tobytes()
    for value in (scalar.minimum - 1, scalar.maximum + 1):
        with pytest.raises(
            ValueError, match=f"k: argument `n` takes {name}, {scalar.minimum} to {scalar.maximum}, got {value}"
        ):
            packed(backend, (("n", scalar),), value)


@pytest.mark.parametrize("name", ["f16", "f32", "f64", "bf16"])
def test_floats(backend: Any, name: str) -> None:
    scalar = SCALARS[name]
    values = (
        1.0,
        -2,
        True,
        np.float32(0.1),
        np.float64(0.1),
        np.int64(3),
        float("inf"),
        -0.0,
        np.array(0.5),
        1e-7,
        np.float16(2),
    )
    for value in values:
        assert packed(backend, (("x", scalar),), value) == np.array(value, np.float64).astype(scalar.numpy).tobytes()
    nan = packed(backend, (("x", scalar),), float("nan"))
    assert np.isnan(np.frombuffer(nan, scalar.numpy)[0])
    with pytest.raises(ValueError, match=f"k: argument `x` takes {name}, got .*too large"):
        packed(backend, (("x", scalar),), 10**400 if name == "f64" else 1e39)


@pytest.mark.parametrize(
    "value",
    [3.4028234663852886e38, -3.4028235e38, np.float64(3e38), np.float32(3e38), np.float16(6e4), 10**38, float("-inf")],
)
def test_f32_at_its_limits(backend: Any, value: Any) -> None:
    assert packed(backend, (("x", F32),), value) == struct.pack("<f", value)


@pytest.mark.parametrize("value", [3.4028236e38, -1e39, np.float64(4e38), 10**39, 10**400])
def test_f32_past_its_limits(backend: Any, value: Any) -> None:
    with pytest.raises(ValueError, match="k: argument `x` takes f32, got .*too large"):
        packed(backend, (("x", F32),), value)


def test_bf16_rounds_once(backend: Any) -> None:
    # Just above the midpoint of 1 and its bf16 neighbour, by less than f32 shows: rounding through f32 would give 1.
    value = 1 + 2.0**-8 + 2.0**-40
    assert np.float32(value).astype(ml_dtypes.bfloat16) == 1
    assert np.frombuffer(packed(backend, (("x", BF16),), value), ml_dtypes.bfloat16)[0] == 1 + 2.0**-7
    with pytest.raises(ValueError, match="too large"):
        packed(backend, (("x", BF16),), 3.4e38)


def test_bf16_agrees_with_ml_dtypes_on_f32_values(backend: Any) -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 1 << 32, 2000, np.uint32).view(np.float32)
    values = values[np.isfinite(values)]
    values = values[np.isfinite(values.astype(ml_dtypes.bfloat16))]
    launcher = Launcher("k", (("x", BF16),), backend, None).bind(LaunchConfig(1, 1))
    for value in values:
        launcher(value)
    got = b"".join(buffer for _, _, buffer in backend.launches)
    assert got == values.astype(ml_dtypes.bfloat16).tobytes()


def test_bools(backend: Any) -> None:
    assert [packed(backend, (("p", boolean),), v) for v in (True, False, np.True_, np.False_)] == [
        b"\1",
        b"\0",
        b"\1",
        b"\0",
    ]
    for value in (1, 0.0, "x", None):
        with pytest.raises(TypeError, match="takes a bool"):
            packed(backend, (("p", boolean),), value)


def test_a_failed_launch_copies_nothing_back(backend: Any) -> None:
    def fails(backend: Any, launch: Launch, buffer: bytes) -> None:
        backend.array(struct.unpack("<Q", buffer)[0], np.int32, 2)[:] = 9
        raise DeviceError("boom")

    def fails_later(backend: Any, launch: Launch, buffer: bytes) -> None:
        backend.array(struct.unpack("<Q", buffer)[0], np.int32, 2)[:] = 9
        backend.pending = DeviceError("boom later")

    for kernel in (fails, fails_later):
        a = np.array([1, 2], np.int32)
        with pytest.raises(DeviceError, match="boom"):
            Launcher("k", (("a", P(I32)),), backend, kernel).bind(LaunchConfig(1, 1))(a)
        np.testing.assert_array_equal(a, [1, 2])
        assert not backend.memory and "read" not in backend.calls


def test_a_bad_argument_costs_nothing(backend: Any) -> None:
    run = Launcher("vadd", VADD, backend, vadd, {2}).bind(LaunchConfig(1, 32))
    good = np.zeros(4, np.float32)
    with pytest.raises(TypeError, match="`n`"):
        run(good, good, good, 1.5)
    assert backend.calls == []


def test_out_of_memory_copies_nothing(backend: Any) -> None:
    backend.capacity = 1000
    run = Launcher("vadd", VADD, backend, vadd, {2}).bind(LaunchConfig(1, 32))
    with pytest.raises(MemoryError):
        run(np.zeros(4, np.float32), np.zeros(4, np.float32), np.zeros(4000, np.float32), 4)
    assert "write" not in backend.calls and not backend.memory


def test_parameter_names_that_the_packer_uses(backend: Any) -> None:
    names = ("_buffer", "__pack", "launch", "make", "___", "é", "f32_layout", "_more")
    buffer = packed(backend, [(name, I32) for name in names], *range(len(names)))
    assert buffer == struct.pack("<8i", *range(8))


def test_no_parameters(backend: Any) -> None:
    assert packed(backend, ()) == b""
    with pytest.raises(TypeError, match=r"k\(\) takes 0 arguments, got 1: drop 1"):
        packed(backend, (), 1)


def test_threads_and_nested_launches_do_not_share_a_buffer(backend: Any) -> None:
    launcher = Launcher("k", (("n", I32), ("m", I32)), backend, None)
    run = launcher.bind(LaunchConfig(1, 1))

    class Launches:
        """An index that launches while it is packed."""

        def __index__(self) -> int:
            run(1, 2)
            return 7

    run(3, Launches())
    assert [buffer for _, _, buffer in backend.launches][-1] == struct.pack("<ii", 3, 7)

    def many(value: int) -> None:
        for _ in range(2000):
            run(value, value)

    backend.launches.clear()
    threads = [threading.Thread(target=many, args=(value,)) for value in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    pairs = [struct.unpack("<ii", buffer) for _, _, buffer in backend.launches]
    assert len(pairs) == 8000 and all(a == b for a, b in pairs)


def test_wide_arrays_need_wide_extents(backend: Any) -> None:
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (2**31,), (0,))
    with pytest.raises(ValueError, match="do not fit 32 bits; compile the kernel's 64-bit variant"):
        packed(backend, (("x", ArrayType(I8, 1, strided=True)),), huge)
    assert struct.unpack("<Qqq", packed(backend, (("x", ArrayType(I8, 1, index=I64, strided=True)),), huge))[1:] == (
        2**31,
        0,
    )


def test_wide_device_arrays_take_the_checked_way(backend: Any) -> None:
    huge = DeviceArray((65536, 65536), I8, backend, owner=None, address=4096)
    with pytest.raises(ValueError, match=r"shape \(65536, 65536\), whose offsets do not fit 32 bits"):
        packed(backend, (("x", ArrayType(I8, 2)),), huge)
    assert packed(backend, (("x", P(I8)),), huge) == struct.pack("<Q", 4096)
    assert packed(backend, (("x", ArrayType(I8, 2, index=I64)),), huge) == struct.pack("<Qqq", 4096, 65536, 65536)


def test_pointers_to_pointers_take_addresses(backend: Any) -> None:
    table = empty(3, U64, backend=backend)
    assert packed(backend, (("p", P(P(F32))),), table) == struct.pack("<Q", table.address)


def test_describe_is_the_packer(backend: Any) -> None:
    text = Launcher("vadd", VADD, backend, None).describe
    assert "vadd(a: Ptr[f32], b: Ptr[f32], c: Ptr[f32], n: i32)" in text
    assert "28 bytes, struct '@PPPi'" in text and "pack(_buffer, 0, a.address, b.address, c.address, n)" in text


@dataclass(frozen=True)
class Depends:
    """A condition, as the compiler's captured names are."""

    namespace: Any
    name: str
    value: Any


def test_conditions_are_looked_at_on_each_launch(backend: Any) -> None:
    names: dict[str, Any] = {"x": "one"}
    conditions = [
        Depends(names, "x", "one"),
        Depends(names, "absent", None),
        Depends(MappingProxyType(names), "x", "one"),
    ]
    launcher = Launcher("k", (("n", I32),), backend, None, conditions=conditions)
    # A subscript would raise for a name that is not there, and every launch would take the slow way.
    assert " x is _value0 and _namespace1.get('absent') is" in launcher.describe
    stale: list[tuple[Any, ...]] = []
    run = launcher.bind(LaunchConfig(1, 1), otherwise=lambda *args: stale.append(args))
    run(1)
    assert (len(backend.launches), stale) == (1, [])
    names["x"] = "two"
    run(2)
    names["x"] = "one"
    names["absent"] = "there"
    run(3)
    del names["absent"], names["x"]
    run(4)
    assert (len(backend.launches), stale) == (1, [(2,), (3,), (4,)])
    names["x"] = "one"
    run(5)
    assert len(backend.launches) == 2


def test_without_a_way_out_conditions_stop_nothing(backend: Any) -> None:
    launcher = Launcher("k", (("n", I32),), backend, None, conditions=[Depends({}, "x", "one")])
    run = launcher.bind(LaunchConfig(1, 1))
    run(1)
    assert len(backend.launches) == 1 and launcher.bind(LaunchConfig(1, 1)) is run


def test_arrays_too_wide_go_to_the_wide_variant(backend: Any) -> None:
    huge = DeviceArray((65536, 65536), I8, backend, owner=None, address=4096)
    wide: list[tuple[Any, ...]] = []
    launcher = Launcher("k", (("x", ArrayType(I8, 2)),), backend, None)
    launcher.bind(LaunchConfig(1, 1), wider=lambda *args: wide.append(args))(huge)
    assert wide == [(huge,)] and not backend.launches
