"""Debug builds: what each check says, on the emulator and on a GPU's driver alike; and that others are as they were."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import (
    Array,
    CheckError,
    DeviceError,
    MemoryFault,
    Ptr,
    atomic,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    kernel,
    local,
    shared,
    thread_idx,
    u8,
    u32,
    u64,
)

FILE = "test_debug_builds.py"
I32 = np.int32


def failure(run: Callable[[], object]) -> DeviceError:
    """What a launch raises."""
    with pytest.raises(DeviceError) as caught:
        run()
    return caught.value


def expect(error: DeviceError, kind: type, k: Any, marked: str, text: str, thread: int = 0) -> None:
    """The whole message: of the line that holds ``marked``, and of that thread in the first block."""
    lines, first = inspect.getsourcelines(k.function)
    line = first + next(i for i, source in enumerate(lines) if marked in source)
    place = f"(block (0, 0, 0), thread ({thread}, 0, 0))"
    assert str(error) == f"{FILE}:{line}: kernel {k.name}: {text} {place}"
    assert type(error) is kind
    assert (error.kernel, error.file, error.line) == (k.name, FILE, line)
    assert (error.block, error.thread) == ((0, 0, 0), (thread, 0, 0))


@kernel(debug=True)
def store(a: Array[f32, 1], offset: i32) -> None:
    a[thread_idx.x + offset] = 1.0


@pytest.mark.parametrize(("offset", "index", "thread"), [(0, 10, 10), (-2, -2, 0), (2**31 - 1, 2**31 - 1, 0)])
def test_an_index_out_of_bounds(offset: int, index: int, thread: int) -> None:
    error = failure(lambda: store[1, 12](np.zeros(10, np.float32), offset))
    text = f"index {index} is outside of axis 0 of `a`, whose extent is 10"
    expect(error, MemoryFault, store, "a[", text, thread)


def test_the_next_launch_works() -> None:
    a = np.zeros(10, np.float32)
    for _ in range(2):
        failure(lambda: store[1, 12](a, 0))
        store[1, 10](a, 0)
        assert a.all()


def test_block_and_thread() -> None:
    @kernel(debug=True)
    def late(a: Array[f32, 1]) -> None:
        if kdsl.block_idx.y == 2 and thread_idx.y == 3:
            a[a.shape[0]] = 1.0

    error = failure(lambda: late[(2, 3), (1, 4)](np.zeros(5, np.float32)))
    assert error.block in [(0, 2, 0), (1, 2, 0)] and error.thread == (0, 3, 0)


@kernel(debug=True)
def wrapping(a: Array[f32, 1], i: i32) -> None:
    a[i + 1] = 1.0


def test_an_index_that_wraps() -> None:
    error = failure(lambda: wrapping[1, 1](np.zeros(3, np.float32), 2**31 - 1))
    expect(error, MemoryFault, wrapping, "a[", "index -2147483648 is outside of axis 0 of `a`, whose extent is 3")


@kernel(debug=True)
def matrix(a: Array[i32, 2], out: Array[i32, 1], row: i64, column: u32) -> None:
    out[0] = a[row, column]


@pytest.mark.parametrize(
    ("row", "column", "index", "axis", "extent"),
    [(3, 0, 3, 0, 3), (0, 5, 5, 1, 5), (-(2**40), 0, -(2**40), 0, 3), (2, 2**32 - 1, 2**32 - 1, 1, 5)],
)
def test_each_axis_of_a_load(row: int, column: int, index: int, axis: int, extent: int) -> None:
    error = failure(lambda: matrix[1, 1](np.zeros((3, 5), I32), np.zeros(1, I32), row, column))
    text = f"index {index} is outside of axis {axis} of `a`, whose extent is {extent}"
    expect(error, MemoryFault, matrix, "a[row", text)


def test_the_last_element() -> None:
    out = np.zeros(1, I32)
    matrix[1, 1](np.arange(15, dtype=I32).reshape(3, 5), out, 2, 4)
    assert out[0] == 14


@kernel(debug=True)
def shared_array(i: i32, out: Ptr[f32]) -> None:
    tile = shared.array((4, 8), f32)
    tile[thread_idx.x, i] = 1.0
    out[0] = tile[0, i]


@kernel(debug=True)
def local_array(i: i32, out: Ptr[f32]) -> None:
    mine = local.array(8, f32)
    for k in range(8):
        mine[k] = f32(k)
    out[0] = mine[i]


@kernel(debug=True)
def counted(a: Array[i32, 1], i: i32) -> None:
    atomic.add(a, i, 1)


@kernel(debug=True)
def augmented(a: Array[i32, 1], i: u64) -> None:
    a[i] += 1


@kernel(debug=True)
def unannotated(a, i):  # type: ignore[no-untyped-def]
    a[i] = 0


def helper(data: Array[i32, 1], i: i32) -> i32:
    return data[i]


@kernel(debug=True)
def calling(a: Array[i32, 1], i: i32) -> None:
    a[0] = helper(a, i)


def test_other_arrays_and_accesses() -> None:
    floats, ints = np.zeros(9, np.float32), np.zeros(9, I32)
    text = "index {} is outside of axis {} of `{}`, whose extent is {}"
    expect(
        failure(lambda: shared_array[1, 1](8, floats)), MemoryFault, shared_array, "= 1.0", text.format(8, 1, "tile", 8)
    )
    expect(
        failure(lambda: shared_array[1, 5](0, floats)),
        MemoryFault,
        shared_array,
        "= 1.0",
        text.format(4, 0, "tile", 4),
        4,
    )
    expect(
        failure(lambda: local_array[1, 1](-1, floats)),
        MemoryFault,
        local_array,
        "= mine",
        text.format(-1, 0, "mine", 8),
    )
    expect(failure(lambda: counted[1, 1](ints, 9)), MemoryFault, counted, "atomic", text.format(9, 0, "a", 9))
    most = 2**64 - 1
    expect(failure(lambda: augmented[1, 1](ints, most)), MemoryFault, augmented, "+= 1", text.format(most, 0, "a", 9))
    expect(failure(lambda: unannotated[1, 1](ints, 9)), MemoryFault, unannotated, "= 0", text.format(9, 0, "a", 9))


def test_an_access_in_a_device_function() -> None:
    error = failure(lambda: calling[1, 1](np.zeros(4, I32), 4))
    line = helper.__code__.co_firstlineno + 1
    assert str(error) == (
        f"{FILE}:{line}: kernel calling: index 4 is outside of axis 0 of `data`, whose extent is 4 "
        "(block (0, 0, 0), thread (0, 0, 0))"
    )


@kernel(debug=True)
def divide(out: Ptr[i32], n: i32, d: i32) -> None:
    out[0] = n // d


@kernel(debug=True)
def remainder(out: Ptr[u64], n: u64, d: u64) -> None:
    out[0] = n % d


@kernel(debug=True)
def both(out: Ptr[i64], n: i64, d: i64) -> None:
    quotient, rest = divmod(n, d)
    out[0] = quotient + rest


@kernel(debug=True)
def guarded(out: Ptr[i32], n: i32, d: i32) -> None:
    out[0] = n // d if d != 0 else 7
    out[1] = 1 if d != 0 and i8(n) == 3 and n % d == 0 else 2


def test_division_by_zero() -> None:
    out = np.zeros(2, I32)
    expect(failure(lambda: divide[1, 1](out, -7, 0)), CheckError, divide, "n // d", "integer division by zero: -7 // 0")
    divide[1, 1](out, -7, 2)
    assert out[0] == -4
    n = 2**64 - 1
    expect(
        failure(lambda: remainder[1, 1](np.zeros(1, np.uint64), n, 0)),
        CheckError,
        remainder,
        "n % d",
        f"integer modulo by zero: {n} % 0",
    )
    expect(
        failure(lambda: both[1, 1](np.zeros(1, np.int64), 5, 0)),
        CheckError,
        both,
        "divmod",
        "integer division by zero: 5 // 0",
    )


def test_what_is_not_evaluated_is_not_checked() -> None:
    out = np.zeros(2, I32)
    guarded[1, 1](out, 1000, 0)
    assert out.tolist() == [7, 2]


CASTS = [
    (i32, i8, 300, 44),
    (i32, i8, -129, 127),
    (i32, u8, -1, 255),
    (i32, u32, -5, 2**32 - 5),
    (u32, i32, 2**32 - 1, -1),
    (u32, i8, 2**32 - 56, -56),
    (i64, i32, 2**31, -(2**31)),
    (i64, u64, -1, 2**64 - 1),
    (u64, i64, 2**63, -(2**63)),
    (u64, i16, 2**15, -(2**15)),
    (f32, i32, 2.0**31, 2**31 - 1),
    (f32, i32, -(2.0**31) - 256, -(2**31)),
    (f32, u8, 256.5, 255),
    (f32, u32, -1.0, 0),
    (f64, i32, -(2.0**31) - 1, -(2**31)),
    (f64, i64, 2.0**63, 2**63 - 1),
    (f32, u64, 2.0**64, 2**64 - 1),
    (f16, i8, 128.0, 127),
    (f32, i32, float("nan"), 0),
    (f64, u64, float("inf"), 2**64 - 1),
]
KEPT = [
    (i32, i8, -128),
    (i32, u8, 255),
    (i32, u32, 2**31 - 1),
    (u32, i32, 2**31 - 1),
    (u64, i64, 2**63 - 1),
    (f32, i8, -128.75),
    (f32, u8, 255.75),
    (f32, u8, -0.75),
    (f32, i32, -(2.0**31)),
    (f64, i32, -(2.0**31) - 0.5),
    (f32, i64, -(2.0**63)),
    (f16, i16, 32752.0),
]


def casting(target: Any) -> Any:
    @kernel(debug=True)
    def cast(x, out):  # type: ignore[no-untyped-def]
        out[0] = target(x[0])

    return cast


@pytest.mark.parametrize(("source", "target", "value", "result"), CASTS)
def test_a_cast_that_loses_the_value(source: Any, target: Any, value: Any, result: int) -> None:
    cast = casting(target)
    x, out = np.array([value], source.numpy), np.zeros(1, target.numpy)
    error = failure(lambda: cast[1, 1](x, out))
    expect(error, CheckError, cast, "= target", f"{value} does not fit {target}, which makes it {result}")


@pytest.mark.parametrize(("source", "target", "value"), KEPT)
def test_a_cast_that_keeps_the_value(source: Any, target: Any, value: Any) -> None:
    x, out = np.array([value], source.numpy), np.zeros(1, target.numpy)
    casting(target)[1, 1](x, out)
    assert out[0] == int(value)


@kernel(debug=True)
def narrowing(x: Ptr[i8], out: Ptr[u8]) -> None:
    x[0] += 100
    out[0] = u8(x[0] & 255)


def test_an_augmented_assignment_that_narrows() -> None:
    x, out = np.array([27], np.int8), np.zeros(1, np.uint8)
    narrowing[1, 1](x, out)
    assert (x[0], out[0]) == (127, 127)
    error = failure(lambda: narrowing[1, 1](x, out))
    expect(error, CheckError, narrowing, "+= 100", "227 does not fit i8, which makes it -29")


def test_values_that_python_writes_with_braces() -> None:
    @kernel(debug=True)
    def größe(a: Array[f32, 1]) -> None:
        a[a.shape[0]] = 1.0

    error = failure(lambda: größe[1, 1](np.zeros(1, np.float32)))
    assert "index 1 is outside of axis 0 of `a`, whose extent is 1" in str(error)


def plain(a: Array[f32, 1], b: Array[i32, 1], d: i32) -> None:
    i = thread_idx.x
    a[i + d] = f32(i8(b[i] // d))


def pointers(x: Ptr[f32], n: i32) -> None:
    i = kdsl.grid(1)
    if i < n:
        x[i] = x[i] * 2.0


def ptx(function: Callable[..., None], **options: bool) -> str:
    return without_comments(kernel(**options)(function).compile(target="sm_90").ptx)


def without_comments(text: str) -> str:
    """LLVM numbers the calls of a process in comments."""
    return re.sub("//.*", "", text)


def test_release_builds_have_nothing_of_it() -> None:
    assert ptx(plain) == ptx(plain, debug=False)
    assert not [word for word in ("kdsl_check", "trap", "exit", "call") if word in ptx(plain)]
    assert ptx(plain, debug=True).count("call.uni kdsl_check_failed") == 4
    assert ptx(pointers) == ptx(pointers, debug=True)


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    release, debug = ptx(plain), ptx(plain, debug=True)
    monkeypatch.setenv("KDSL_DEBUG", "1")
    assert ptx(plain) == debug and ptx(plain, debug=False) == release
    assert without_comments(kdsl.compile(kernel(plain), target="sm_90", options={"fmad": True}).ptx) == debug
    monkeypatch.setenv("KDSL_DEBUG", "0")
    assert ptx(plain) == release


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_ptxas_takes_it(arch: str) -> None:
    assert kernel(debug=True)(plain).compile(target=arch).cubin


def test_a_module_of_two_kernels_names_the_one() -> None:
    @kdsl.cuda_module
    class Both:
        @kernel(debug=True)
        def first(a: Array[f32, 1]) -> None:  # noqa: N805
            a[a.shape[0]] = 1.0

        @kernel(debug=True)
        def second(a: Array[f32, 1]) -> None:  # noqa: N805
            a[a.shape[0] + 1] = 1.0

    loaded = Both.load()
    for name, index in (("second", 4), ("first", 3)):
        error = failure(lambda name=name: getattr(loaded, name)[1, 1](np.zeros(3, np.float32)))  # type: ignore[misc]
        assert error.kernel == name and f"kernel {name}: index {index} is outside" in str(error)


def test_foreign_loading_of_the_ptx(tmp_path: Any) -> None:
    file = tmp_path / "store.ptx"
    file.write_text(store.compile(target="sm_90").ptx)

    @kdsl.cuda_module
    class Stored:
        @kernel
        def store(a: Array[f32, 1], offset: i32) -> None:  # noqa: N805
            pass

    loaded = Stored.from_module(kdsl.load_module(file))
    error = failure(lambda: loaded.store[1, 1](np.zeros(3, np.float32), 3))
    expect(error, MemoryFault, store, "a[", "index 3 is outside of axis 0 of `a`, whose extent is 3")
