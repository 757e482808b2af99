"""Loaders take what kdsl's own launches take, with the same results, and refuse what these refuse."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kdsl
from kdsl.ahead.build import build
from kdsl.codegen.sass import find_tool
from kdsl.files import kernels_of, load_file
from kdsl.lang.types import ArrayType
from tests.ahead.emulated_driver import EmulatedDriver

pytestmark = pytest.mark.skipif(
    find_tool("ptxas") is None or find_tool("fatbinary") is None, reason="needs ptxas and fatbinary"
)
SIGNATURES = {"strided": {"x": ArrayType(kdsl.f32, 1, strided=True)}}
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def kernels() -> ModuleType:
    return load_file(HERE / "odd_kernels.py")


@pytest.fixture(scope="module")
def loader(kernels: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("odd")
    build(list(kernels_of(kernels).values()), folder, targets=["sm_90"], name="odd", signatures=SIGNATURES)
    spec = importlib.util.spec_from_file_location("odd", folder / "odd.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.module._driver = EmulatedDriver()
    module.module.image = (folder / "odd.sm_90.ptx").read_bytes()
    return module


class Index:
    """It has an ``__index__`` and nothing else."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"Index({self.value})"


class Float(float): ...


NAN, INF = float("nan"), float("inf")
BRAIN = np.dtype(ml_dtypes.bfloat16)
INTEGERS = (0, -1, 127, 128, -129, 2**31, 2**63, 2**200, True, np.True_, np.int8(-3), np.uint64(2**63), np.array(5),
            np.array([5]), 1.0, np.float32(1), "1", None, Index(7), Index(300), [1], 1j, Fraction(3), np.datetime64(3, "s"),
            np.timedelta64(3, "s"), np.ma.array(3), np.ma.masked, b"1")  # fmt: skip
FLOATS = (0.1, -0.0, NAN, INF, 1e38, 3.4028235677973366e38, 1e39, 65519.0, 65520.0, 2**2000, True, np.True_, np.float16(2),
          np.complex64(1 + 2j), 1j, Fraction(1, 3), "1", b"1", None, np.array(0.5), np.array([0.5]), Index(3), Float(2),
          np.longdouble(0.25), np.ma.array(2.0), np.void(b"ab"), np.datetime64(3, "s"), np.timedelta64(3), np.str_("1"), [1.0],
          ml_dtypes.bfloat16(3), float, 1 + 2**-8 + 2**-40, Decimal("1e400"), Decimal("-1e400"), np.longdouble("1e400"),
          Decimal("Infinity"), 2**60 + 2**36 + 1, np.int64(-(2**60) - 2**36 - 1), np.uint64(2**60 + 2**52 + 1),
          1 + Fraction(1, 2**24) + Fraction(1, 2**90), Fraction(-1, 2**2000))  # fmt: skip


def outcome(launch: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """What arrays are after a launch, or the kind of the error."""
    with np.errstate(all="ignore"):
        try:
            launch(*arguments, **keywords)
        except (TypeError, ValueError) as error:
            assert "argument" in str(error) or "requires" in str(error) or "takes" in str(error), error
            return TypeError if isinstance(error, TypeError) else ValueError
    return [a.tobytes() for a in (*arguments, *keywords.values()) if isinstance(a, np.ndarray) and a.size]


def agree(kernels: ModuleType, loader: Any, name: str, make: Callable[[], tuple[Any, ...]]) -> None:
    """Both do the same with arguments that are made anew for each."""
    arguments = make()
    assert outcome(getattr(loader, name)[1, 1], *arguments) == outcome(getattr(kernels, name)[1, 1], *make()), arguments


@pytest.mark.parametrize("value", INTEGERS, ids=repr)
@pytest.mark.parametrize("place", range(5))
def test_integers(kernels: ModuleType, loader: Any, value: Any, place: int) -> None:
    agree(kernels, loader, "integers", lambda: (np.zeros(5, np.int64), *([1] * place), value, *([1] * (4 - place))))


@pytest.mark.parametrize("value", FLOATS, ids=repr)
@pytest.mark.parametrize("place", range(4))
def test_floats(kernels: ModuleType, loader: Any, value: Any, place: int) -> None:
    agree(kernels, loader, "floats", lambda: (np.zeros(4), *([1] * place), value, *([1] * (3 - place))))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, [1, 2]), (0, (1e39, 0)), (0, np.array([1.0, 2.0])), (0, (1, 2, 3)), (0, 5), (0, "ab"), (0, (1j, 2)), (0, np.zeros((2, 1))),
        (0, (NAN, INF)), (0, range(2)), (0, None), (0, np.ma.array([1.0, 2.0])),
        (1, (1, 2, 3, 2**32)), (1, (1, 2, 3, -1)), (1, np.arange(4)), (1, np.arange(4, dtype=np.uint32)), (1, (1, 2, 3, 4.0)),
        (1, (1, 2, 3, np.uint64(4))), (1, (1, 2, 3, True)),
        (2, (0, 65520.0)), (2, np.array([0.1, 0.2])), (3, (0, 0.1)), (3, (0, 1e39)), (3, np.array([1, 2], BRAIN)), (3, [1, NAN]),
        (4, (1, 2, 3)), (4, (1, 2)), (4, np.arange(3, dtype=np.float32)), (4, np.arange(3)),
        (5, 2), (5, 1e39), (5, 1e39j), (5, np.complex128(3 - 4j)), (5, "1"), (5, None), (5, np.array(2 + 1j)), (5, Fraction(1, 2)),
        (5, True), (5, [1, 2]), (5, np.array([1j])),
    ],
)  # fmt: skip
def test_vectors(kernels: ModuleType, loader: Any, place: int, value: Any) -> None:
    plain: list[Any] = [(1, 2), (1, 2, 3, 4), (0.5, 2), (1, 2.5), (1, 2, 3), 1j]
    plain[place] = value
    agree(kernels, loader, "vectors", lambda: (np.zeros(7), *plain))


def test_structs_by_value(kernels: ModuleType, loader: Any) -> None:
    out = np.zeros(6)
    halves, padded = kernels.Halves(7, 1.5, 2.25), kernels.Padded(-3, (1, 2, 3), 0.5)
    for one, two in (
        (halves, padded),
        ((7, 1.5, 2.25), (-3, (1, 2, 3), 0.5)),
        (np.array(halves), np.array(padded)),
        (np.array(halves)[()], np.array(padded)[()]),
    ):
        out[:] = 0
        loader.structs[1, 1](out, one, two)
        assert out.tolist() == [7, 1.5, 2.25, -3, 3, 0.5]
    for one, error in (
        ((256, 1, 1), "field `tag`: 256 does not fit"),
        ((1.5, 1, 1), "field `tag` takes an int, got 1.5"),
        ((1, 1e39, 1), r"field `brain`: 1e\+39 does not fit"),
        ((1, 1), "takes 3 fields"),
        ((1, 1, "2"), "field `number` takes a real number"),
        ([1, 1, 2], "takes a record or a tuple"),
        (padded, "takes a record or a tuple"),
        (None, "takes a record or a tuple"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"structs: argument `one`.*{error}"):
            loader.structs[1, 1](out, one, padded)
    with pytest.raises(TypeError, match=r"argument `two`: field `three` takes 3 elements, got \(1, 2\)"):
        loader.structs[1, 1](out, halves, (1, (1, 2), 3))


def test_arrays_of_structs(kernels: ModuleType, loader: Any) -> None:
    halves, padded = np.zeros(2, np.dtype(kernels.Halves)), np.zeros(1, np.dtype(kernels.Padded))
    halves[1]["brain"], padded[0]["double"] = 1.5, 2
    agree(kernels, loader, "records", lambda: (np.zeros(1), halves, padded))
    out = np.zeros(1)
    loader.records[1, 1](out, loader.to_device(halves), loader.to_device(padded))
    assert out[0] == 3.5
    with pytest.raises(TypeError, match="takes an array of structs of tag, brain, number"):
        loader.records[1, 1](out, padded, padded)


def f32s(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def misaligned() -> Any:
    return np.zeros(17, np.uint8)[1:].view(np.float32)


def within_records() -> Any:
    """Strides that are no multiple of an element."""
    return np.zeros(4, np.dtype([("tag", "u1"), ("x", "f4")]))["x"]


def frozen() -> Any:
    array = f32s(4)
    array.flags.writeable = False
    return array


ARRAYS: list[Callable[[], Any]] = [
    lambda: f32s(4), lambda: f32s(8)[::2], lambda: f32s(4)[::-1], lambda: f32s(4, 4).T, lambda: f32s(4, 4)[:, 1:3],
    lambda: f32s(2, 2).reshape(4, 1, order="F"), lambda: f32s(1, 4)[:, ::-1], lambda: f32s(0), lambda: f32s(0, 3),
    lambda: f32s(4).astype(np.float64), lambda: f32s(4).astype(">f4"), misaligned, within_records, frozen,
    lambda: np.float32(3), lambda: np.array(3, np.float32), lambda: np.ma.array(f32s(4)), lambda: f32s(4).tolist(),
    lambda: None, lambda: "abcd", lambda: f32s(4).view(np.int32), lambda: np.broadcast_to(np.float32(1), (4,)),
    lambda: np.asfortranarray(f32s(3, 2)), lambda: f32s(3, 1)[::-1], lambda: f32s(1, 1, 1), lambda: np.ndarray,
    lambda: np.lib.stride_tricks.as_strided(f32s(4), (4,), (0,)), lambda: f32s(4).view(np.recarray), lambda: memoryview(f32s(4)),
    lambda: np.matrix(f32s(2, 2)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("name", ["double", "plane", "strided"])
@pytest.mark.parametrize("make", ARRAYS)
def test_arrays(kernels: ModuleType, loader: Any, name: str, make: Callable[[], Any]) -> None:
    if name == "strided" and (np.ndim(make()) != 1 or getattr(make(), "dtype", None) != np.float32):
        return  # for which kdsl makes another kernel
    agree(kernels, loader, name, lambda: (make(), getattr(make(), "size", 4)) if name == "double" else (make(),))


def test_what_lies_between_elements_is_left_alone(loader: Any) -> None:
    class Meanwhile(EmulatedDriver):
        """Another thread that writes to the host's memory while the kernel runs."""

        def _cuCtxSynchronize(self) -> None:
            whole[1] = 99

    whole = f32s(8)
    before = loader.module._driver
    loader.module._driver = Meanwhile()
    loader.module._handle, loader.strided._function = None, None
    loader.strided[1, 1](whole[::2])
    loader.module._driver, loader.module._handle, loader.strided._function = before, None, None
    assert whole.tolist() == [1, 99, 3, 3, 5, 5, 7, 7]


def test_vectors_in_arrays(kernels: ModuleType, loader: Any) -> None:
    for make in (
        lambda: np.arange(4, dtype=np.int32).reshape(2, 2),
        lambda: np.arange(4, dtype=np.int32),
        lambda: np.arange(8, dtype=np.int32).reshape(2, 4)[:, :2],
        lambda: np.arange(5, dtype=np.int32)[1:].reshape(2, 2),  # no multiple of 8
        lambda: np.arange(6, dtype=np.int32).reshape(2, 3),
    ):
        agree(kernels, loader, "lanes", lambda make=make: (np.zeros((2, 2), np.int32), make()))  # type: ignore[misc]
        agree(kernels, loader, "lanes", lambda make=make: (make(), np.zeros((2, 2), np.int32)))  # type: ignore[misc]


def test_offsets_past_32_bits_are_refused(kernels: ModuleType, loader: Any) -> None:
    class Large:
        """Nothing is read of it."""

        __cuda_array_interface__ = {"shape": (65536, 65536), "typestr": "|u1", "data": (4096, False), "version": 3}

    with pytest.raises(
        ValueError, match="argument `x`: an array of shape .65536, 65536., whose offsets do not fit 32 bits"
    ):
        loader.bytes_of[1, 1](Large(), np.zeros(1, np.int64))


@pytest.mark.parametrize(
    "interface",
    [
        {"shape": (4,), "typestr": "<f4", "data": (4098, False), "version": 3},
        {"shape": (4,), "typestr": "<f4", "data": (4096, True), "version": 3},
        {"shape": (4,), "typestr": "<f4", "data": (4096, False), "strides": (6,), "version": 3},
        {"shape": (4,), "typestr": "<f4", "data": (4096, False), "mask": object(), "version": 3},
        {"shape": (4,), "typestr": "<f8", "data": (4096, False), "version": 3},
        {"shape": (4,), "typestr": "|V4", "data": (4096, False), "version": 3},
        None,
        7,
    ],
)
def test_wrong_interfaces(loader: Any, interface: Any) -> None:
    class Foreign:
        __cuda_array_interface__ = interface

    with pytest.raises((TypeError, ValueError), match="double: argument `x`"):
        loader.double[1, 1](Foreign(), 4)
    with pytest.raises(TypeError, match="double: argument `x`"):
        loader.double[1, 1](Foreign, 4)


@pytest.mark.parametrize(
    "configuration",
    [
        (1, 1025), (1, (1, 1, 65)), ((1, 65536), 1), (2**31, 1), (2**22, 1024), (1, 0), (-1, 1), (True, 1), (1.0, 1), ("1", 1), ((), 1),
        ((1, 1, 1, 1), 1), (1, 1, "stream"), (1, 1, 1024), (1, 1, None, -1), (1, 1, None, 1.5), (1, 1, None, True), (1, None), (1, 1, True),
        (1,), 1, (1, 1, None, 0, 0), (2**64, 1), (1, 1, None, 2**40),
    ],
)  # fmt: skip
def test_wrong_configurations(kernels: ModuleType, loader: Any, configuration: Any) -> None:
    for kernel in (loader.double, kernels.double):
        x = f32s(4)
        with pytest.raises((TypeError, ValueError)):
            kernel[configuration](x, 4)
        assert x.tolist() == [0, 1, 2, 3]


def test_configurations_that_fit(loader: Any) -> None:
    for configuration in (
        ([1], [4]),
        (np.int64(1), Index(4)),
        ((1, 1, 1), (2, 2)),
        (1, 4, None, 0),
        (1, 4, 0),
        (1, 4, 2),
    ):
        x = f32s(4)
        loader.double[configuration](x, 1)
        assert x.tolist() == [0, 1, 2, 3]


def test_defaults(kernels: ModuleType, loader: Any) -> None:
    for arguments, keywords in (((), {}), ((1,), {}), ((1,), {"scale": 2}), ((), {"n": 3, "pair": (5, 6)})):
        ours, theirs = np.zeros(1), np.zeros(1)
        loader.filled[1, 1](ours, *arguments, **keywords)
        kernels.filled[1, 1](theirs, *arguments, **keywords)
        assert ours[0] == theirs[0] != 0
    with pytest.raises(TypeError, match="out missing"):
        loader.filled[1, 1]()


def test_tuples(kernels: ModuleType, loader: Any) -> None:
    out = np.zeros(1, np.int32)
    loader.nested[1, 1](out, (1, (2, 3)), 4)
    assert out[0] == 4321
    for p in ((1, (2, 3), 4), (1, 2), (1,), 5, None, [1, (2, 3)], (1, (2,)), "ab"):
        assert outcome(kernels.nested[1, 1], out, p, 4) is TypeError
        with pytest.raises(TypeError, match=r"nested: argument `p.*takes a tuple of 2"):
            loader.nested[1, 1](out, p, 4)


def test_names_of_parameters(loader: Any) -> None:
    out = np.zeros(1, np.int32)
    loader.named[1, 1](self=1, arguments=2, keywords=3, out=out)
    assert out[0] == 321
    loader.Named[1, 1](5, *range(5), out=out)
    assert out[0] == 5


def test_contracts(kernels: ModuleType, loader: Any) -> None:
    def aligned() -> Any:
        return kdsl.to_device(f32s(128)).to_host()

    for arguments in (
        (100, 0.25, True), (0, 0.25, True), (-1, 0.25, True), (129, 0.25, True), ("4", 0.25, True), (None, 0.25, True), (1.5, 0.25, True),
        (100, 0.5, True), (100, NAN, True), (100, np.float32(0.25), np.True_), (Index(100), Fraction(1, 4), False), (100, 0.25, 1),
        (np.array(100), np.array(0.25), np.array(True)), (2**40, 0.25, True), (np.uint8(100), 0, True),
    ):  # fmt: skip
        ours, theirs = aligned(), aligned()
        for launch in ("launch", "brackets"):
            x, y = (ours, theirs) if launch == "launch" else (f32s(128), f32s(128))
            found = [
                outcome(k.launch if launch == "launch" else k[2, 64, None, 512], a, *arguments)
                for k, a in ((loader.contracted, x), (kernels.contracted, y))
            ]
            assert found[0] == found[1], (launch, arguments)
    for wrong in (None, 5, "x", np.zeros(4)):
        assert outcome(loader.contracted.launch, wrong, 0, 0, True) is TypeError
    x = f32s(4)
    for k in (0, -2, 3):
        with pytest.raises(ValueError, match="divided"):
            loader.divided.launch(x, 4, k)
    loader.divided.launch(x, 4, 2)
    assert x[0] == 1


def test_memory_of_loaders(loader: Any) -> None:
    for shape in (-1, (2, -3)):
        with pytest.raises(ValueError, match="negative extent"):
            loader.empty(shape)
    for dtype in (object, ">f4", "(2,)f4"):
        with pytest.raises(TypeError, match="no kernel reads elements of"):
            loader.empty(2, dtype)
    array = loader.to_device([[1.0, 2.0]])
    array.copy_from([[3.0, 4.0]])
    assert array.to_host().tolist() == [[3, 4]] and loader.empty([2, 3]).shape == (2, 3)
    for write in (loader.to_device, array.copy_from):
        with pytest.raises(ValueError, match="masked array"):
            write(np.ma.array([[1.0, 2.0]]))


def test_memory_is_given_back_in_its_own_context(loader: Any) -> None:
    array = loader.empty(4)
    driver = loader.module.driver
    driver.context = 0  # as on a thread that has none
    driver.calls.clear()
    del array
    assert driver.calls[-3:] == ["cuCtxSetCurrent", "cuMemFree", "cuCtxSetCurrent"] and driver.context == 0


def test_copies_have_arrived_before_a_launch_in_another_stream(loader: Any) -> None:
    loader.module.driver.calls.clear()
    loader.double[1, 4](f32s(4), 4)
    calls = loader.module.driver.calls
    assert calls.index("cuMemcpyHtoD") < calls.index("cuStreamSynchronize") < calls.index("cuLaunchKernel")


def test_names_of_the_loaders_own_are_refused(tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(
        "from kdsl import Ptr, i32, kernel\n"
        + "".join(
            f"@kernel\ndef {name}(out: Ptr[i32]) -> None:\n    out[0] = 1\n"
            for name in ("max", "isinstance", "Vector", "copy", "Copy", "COPY_", "CopyLaunch")
        )
    )
    found = kernels_of(load_file(tmp_path / "made.py"))
    for name in ("max", "isinstance", "Vector"):
        with pytest.raises(ValueError, match=f"a kernel is called '{name}', which is a name of the loader's own"):
            build(found[name], tmp_path, targets=["sm_90"])
    build(
        [found[name] for name in ("copy", "Copy", "COPY_", "CopyLaunch")],
        tmp_path,
        targets=["sm_90"],
        source='a"""\\N.py',
    )
    text = (tmp_path / "kernels.py").read_text()
    compile(text, "kernels.py", "exec")
    classes = [line.split("(")[0] for line in text.splitlines() if line.startswith("class Copy")]
    assert classes == ["class CopyLaunch_", "class CopyLaunch__", "class CopyLaunch___", "class CopylaunchLaunch"]
