"""LaunchConfig: what a launch may ask, and what it is told when it may not."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from kdsl.backend import Launch
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.errors import LaunchConfigTypeError, LaunchConfigValueError
from kdsl.runtime.launch import Configurations
from kdsl.runtime.stream import Event, Stream


@pytest.mark.parametrize(
    ("grid", "block", "expected"),
    [
        (4, 256, ((4, 1, 1), (256, 1, 1))),
        ((2, 3), (8, 4, 2), ((2, 3, 1), (8, 4, 2))),
        ([5], np.int64(32), ((5, 1, 1), (32, 1, 1))),
        ((2**31 - 1, 65535, 65535), 1, ((2**31 - 1, 65535, 65535), (1, 1, 1))),
    ],
)
def test_accepted(backend: Any, grid: Any, block: Any, expected: Any) -> None:
    launch = LaunchConfig(grid, block, shared=1024).check(backend)
    assert launch == Launch(*expected, shared_bytes=1024)


@pytest.mark.parametrize(
    ("grid", "block", "error", "text"),
    [
        (0, 256, LaunchConfigValueError, "grid.x = 0 must be at least 1; to launch nothing .* LaunchConfig.for_num"),
        (-3, 256, LaunchConfigValueError, "grid.x = -3 must be at least 1"),
        ((4, 0), 256, LaunchConfigValueError, r"grid.y = 0 \(in \(4, 0\)\) must be at least 1"),
        (4, 0, LaunchConfigValueError, "block.x = 0 must be at least 1"),
        (4.0, 256, LaunchConfigTypeError, r"grid.x = 4.0 is a float, an int is needed; use // for whole blocks"),
        (True, 256, LaunchConfigTypeError, "grid.x = True is a bool, an int is needed; pass an int"),
        ("4", 256, LaunchConfigTypeError, "grid.x = '4' is a str"),
        (None, 256, LaunchConfigTypeError, "grid.x = None is a NoneType"),
        ((1, 1, 1, 1), 256, LaunchConfigValueError, "grid takes 1 to 3 extents, got 4"),
        ((), 256, LaunchConfigValueError, "grid takes 1 to 3 extents, got 0"),
        (4, 1025, LaunchConfigValueError, r"block = \(1025, 1, 1\) has 1025 threads, at most 1024 fit"),
        (4, (32, 33), LaunchConfigValueError, r"has 32 \* 33 = 1056 threads, at most 1024 fit"),
        (4, (1, 1, 65), LaunchConfigValueError, "block.z = 65 is more than 64, the most along z"),
        (2**31, 1, LaunchConfigValueError, "grid.x = 2147483648 is more than 2147483647"),
        ((1, 65536), 1, LaunchConfigValueError, "grid.y = 65536 is more than 65535"),
        (2**23, 256, LaunchConfigValueError, r"\* 256 = 2147483648 threads is more .* grid-stride loop"),
        (np.array([2, 3]), 256, LaunchConfigTypeError, r"grid.x = array\(\[2, 3\]\) is a ndarray, an int is needed"),
    ],
)  # fmt: skip
def test_refused(backend: Any, grid: Any, block: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        LaunchConfig(grid, block).check(backend)


def test_ints_that_python_does_not_write_out(backend: Any) -> None:
    many = 10**5000
    for make, text in (
        (lambda: LaunchConfig(many, 256), "grid.x = <int of 16610 bits> is more than any device has room for"),
        (lambda: LaunchConfig((1, -many), 1), r"grid.y = <int of 16610 bits> \(in <tuple>\) must be at least 1"),
        (lambda: LaunchConfig(1, many), "block.x = <int of 16610 bits> is more than any device has room for"),
        (lambda: LaunchConfig(1, 1, cluster=many), "cluster.x = <int of 16610 bits> is more than any device"),
        (lambda: LaunchConfig(1, 1, shared=many), "shared is more than any device has, got <int of 16610 bits>"),
        (lambda: LaunchConfig(1, 1, stream=many).check(backend), "or None, got <int of 16610 bits>, which is no handle"),
        (lambda: LaunchConfig.for_num_elems(256 * many), "grid.x = <int of 16610 bits> is more than any device"),
        (lambda: LaunchConfig.for_num_elems(-many), "a number of elements, got <int of 16610 bits>"),
        (lambda: LaunchConfig.of(many), r"got k\[<int of 16610 bits>\]"),
    ):  # fmt: skip
        with pytest.raises((LaunchConfigValueError, LaunchConfigTypeError), match=text):
            make()


def test_for_num_elems(backend: Any) -> None:
    assert LaunchConfig.for_num_elems(1).check(backend) == Launch((1, 1, 1), (256, 1, 1))
    assert LaunchConfig.for_num_elems(257).grid == (2, 1, 1)
    assert LaunchConfig.for_num_elems(np.int32(512)).grid == (2, 1, 1)
    nothing = LaunchConfig.for_num_elems(0)
    assert nothing.empty and nothing.grid == (0, 1, 1)
    with pytest.raises(LaunchConfigValueError, match="got -1"):
        LaunchConfig.for_num_elems(-1)
    with pytest.raises(LaunchConfigTypeError, match="takes an int, got 1.5"):
        LaunchConfig.for_num_elems(1.5)  # type: ignore[arg-type]


def test_shared_memory_limits(backend: Any) -> None:
    with pytest.raises(LaunchConfigValueError, match="shared = 49153 bytes is more than the 49152"):
        LaunchConfig(1, 32, shared=49153).check(backend)
    with pytest.raises(LaunchConfigValueError, match="must not be negative"):
        LaunchConfig(1, 32, shared=-1)
    with pytest.raises(LaunchConfigTypeError, match="number of bytes, got 1.5"):
        LaunchConfig(1, 32, shared=1.5)  # type: ignore[arg-type]


def test_switches_are_bools() -> None:
    with pytest.raises(LaunchConfigTypeError, match="cooperative takes True or False, got 1"):
        LaunchConfig(1, 32, cooperative=1)  # type: ignore[arg-type]
    with pytest.raises(LaunchConfigTypeError, match="programmatic_dependent_launch takes True or False, got 'yes'"):
        LaunchConfig(1, 32, programmatic_dependent_launch="yes")  # type: ignore[arg-type]
    with pytest.raises(LaunchConfigTypeError, match="empty takes True or False, got 'no'"):
        LaunchConfig(1, 32, empty="no")  # type: ignore[arg-type]


def test_hardware_is_refused_by_name(backend: Any) -> None:
    with pytest.raises(LaunchConfigValueError, match="clusters need a GPU of sm_90 or later; this is the emulator"):
        LaunchConfig(2, 32, cluster=2).check(backend)
    with pytest.raises(LaunchConfigValueError, match="programmatic dependent launches need a GPU of sm_90 or later"):
        LaunchConfig(2, 32, programmatic_dependent_launch=True).check(backend)
    with pytest.raises(LaunchConfigValueError, match="cooperative launches need a GPU"):
        LaunchConfig(2, 32, cooperative=True).check(backend)
    with pytest.raises(LaunchConfigValueError, match="is a CUDA stream; the emulator"):
        LaunchConfig(2, 32, stream=0x7F0000000000).check(backend)


def test_streams_of_a_config(backend: Any, make_backend: Any) -> None:
    stream = Stream(backend)
    assert LaunchConfig(2, 32, stream=stream).check(backend).stream == stream.handle != 0
    assert LaunchConfig(2, 32, stream=0).check(backend).stream == 0
    with pytest.raises(LaunchConfigValueError, match="belongs to another device"):
        LaunchConfig(2, 32, stream=Stream(make_backend())).check(backend)
    with pytest.raises(LaunchConfigTypeError, match="the fourth value in k.* is the dynamic shared memory"):
        LaunchConfig(2, 32, stream=1024).check(backend)


def test_stream_and_event_on_a_synchronous_backend(backend: Any) -> None:
    stream = Stream(backend)
    start, end = stream.record(), Event(backend)
    with pytest.raises(ValueError, match="the end event was never recorded"):
        start.elapsed_ms(end)
    end.record(stream)
    assert start.elapsed_ms(end) >= 0 and end.done and stream.done
    stream.wait(end)
    stream.synchronize()
    with pytest.raises(AttributeError, match="emulator"):
        stream.__cuda_stream__()


def test_brackets() -> None:
    memo = Configurations(lambda config: config)
    first = memo.configured((4, 256))
    assert first == LaunchConfig(4, 256) and memo.configured((4, 256)) is first
    assert memo.configured(((4, 2), 256)) is memo.configured(((4, 2), 256))
    assert memo.configured((4, 256, None, 1024)).shared == 1024
    assert memo.configured(([4, 2], [32])).grid == (4, 2, 1)
    assert memo.configured((np.int64(4), 256)) == first
    assert memo.configured(LaunchConfig.for_num_elems(0)).empty


class WithoutHash:
    """Another library's stream."""

    __hash__ = None  # type: ignore[assignment]

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 1


def test_streams_are_told_apart_by_their_classes_too(backend: Any) -> None:
    memo: Any = Configurations(lambda config: config.check(backend))
    for _ in range(2):
        for wrong in (False, 0.0, 1.0, True, np.int64(1)):
            with pytest.raises(LaunchConfigTypeError, match="stream takes a kdsl.Stream"):
                memo.configured((4, 256, wrong))
            with pytest.raises(LaunchConfigTypeError, match="stream takes a kdsl.Stream"):
                memo.configured(LaunchConfig(4, 256, stream=wrong))
        for handle in (0, 1):
            assert memo.configured((4, 256, handle)).stream == handle
            assert memo.configured(LaunchConfig(4, 256, stream=handle)).stream == handle
        assert memo.configured((4, 256, WithoutHash())).stream == 1
        assert memo.configured(LaunchConfig(4, 256, stream=WithoutHash())).stream == 1


@pytest.mark.parametrize(
    "key",
    [(4.0, 256), (4, 256.0), (True, 256), ((4.0, 2), 256), ((4, True), 256), (4, (256, True)), ((None, 2), 256),
     (([4], 10**9), 256), ((4, {}), 256)],
)  # fmt: skip
def test_equal_keys_of_other_types_are_still_refused(key: Any) -> None:
    memo = Configurations(lambda config: config)
    memo.configured((4, 256)), memo.configured((1, 256)), memo.configured(((4, 2), 256))
    memo.configured(((4, 1), 256)), memo.configured((4, (256, 1)))
    with pytest.raises(LaunchConfigTypeError, match="an int is needed"):
        memo.configured(key)


@pytest.mark.parametrize("key", [4, (4,), (1, 2, None, 0, 5), "x", None])
def test_what_is_no_configuration(key: Any) -> None:
    with pytest.raises(LaunchConfigTypeError, match=r"a launch is k\[grid, block\]"):
        Configurations(lambda config: config).configured(key)


def test_the_memo_is_bounded() -> None:
    memo = Configurations(lambda config: config)
    for grid in range(1, 3000):
        memo.configured((grid, 32))
    assert len(memo) <= 1024


def test_equality_and_hash_are_those_of_the_fields() -> None:
    import copy
    import pickle

    first, same = LaunchConfig(4, (8, 2), shared=16), LaunchConfig((4, 1), (8, 2, 1), 16)
    assert first == same
    assert hash(first) == hash(same)
    assert {first: 1}[same] == 1
    changes: list[dict[str, Any]] = [
        {"grid": 5}, {"block": 8}, {"shared": 0}, {"stream": 1}, {"cluster": 2}, {"cooperative": True},
        {"programmatic_dependent_launch": True}, {"empty": True},
    ]  # fmt: skip
    for change in changes:
        assert first != dataclasses.replace(first, **change)
    assert first != (4, (8, 2)) and first != None  # noqa: E711
    for made in (pickle.loads(pickle.dumps(first)), copy.copy(first), dataclasses.replace(first)):
        assert made == first and hash(made) == hash(first)
    # Hashes of strings and objects are another process's own: they are not carried along.
    assert b"_hash" not in pickle.dumps(first) and b"_key" not in pickle.dumps(first)
    with pytest.raises(TypeError, match="unhashable"):
        hash(LaunchConfig(1, 1, stream=WithoutHash()))


def test_for_num_elems_shares_configurations() -> None:
    assert LaunchConfig.for_num_elems(1000) is LaunchConfig.for_num_elems(1024)
    assert LaunchConfig.for_num_elems(1025).grid == (5, 1, 1)
    for count in range(0, 256 * 1000, 256):
        LaunchConfig.for_num_elems(count)
    assert LaunchConfig._of_blocks.cache_info().currsize <= 256
    assert LaunchConfig.for_num_elems(np.int64(3)) == LaunchConfig(1, 256)
    assert LaunchConfig.for_num_elems(0).empty
    for bad, text in (
        (-1, "got -1"), (1.5, "takes an int"), (True, "takes an int"), (None, "takes an int"),
        (np.array([3]), "takes an int"),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=text):
            LaunchConfig.for_num_elems(bad)  # type: ignore[arg-type]
