"""`@kernel`, `compile` and `cuda_module`: options, specialisation, rebinding, and what needs no device."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import CompileError, Ptr, f32, i32, kernel, struct, thread_idx
from kdsl.device_choice import Devices
from kdsl.files import kernels_of, load_file

SCALE = 2.0


@kernel
def scale(x: Ptr[f32]) -> None:
    x[thread_idx.x] = x[thread_idx.x] * SCALE


@kernel
def fill(x, value):  # type: ignore[no-untyped-def]
    x[thread_idx.x] = value


@kernel
def total(matrix, out: Ptr[f32]):  # type: ignore[no-untyped-def]
    acc = 0.0
    for row in range(matrix.shape[0]):
        for column in range(matrix.shape[1]):
            acc += matrix[row, column]
    out[0] = acc


def test_compile_needs_no_launch() -> None:
    compilation = kdsl.compile(scale, target="sm_75")
    assert ".target sm_75" in compilation.ptx
    assert compilation.kernels == ("scale",)


def test_several_kernels_share_a_module() -> None:
    @kernel
    def other(x: Ptr[f32]) -> None:
        x[0] = 1.0

    ptx = kdsl.compile([scale, other], target="sm_90").ptx
    assert ".entry scale(" in ptx
    assert ".entry other(" in ptx


def test_kernels_of_one_name_do_not_share_a_module() -> None:
    with pytest.raises(ValueError, match="two kernels of one module are called 'scale'"):
        kdsl.compile([scale, scale], target="sm_90")


def test_many_parameters_raise_the_ptx_version_until_a_launch_cannot_carry_them(tmp_path: Path) -> None:
    def of(count: int) -> kdsl.Kernel[Any]:
        file = tmp_path / f"of{count}.py"
        parameters = ", ".join(f"p{i}: i32" for i in range(count))
        file.write_text(f"from kdsl import i32, kernel\n@kernel\ndef k({parameters}) -> None:\n    pass\n")
        return kernels_of(load_file(file))["k"]

    assert ".version 7.8" in kdsl.compile(of(1088), target="sm_90").ptx
    large = kdsl.compile(of(8191), target="sm_90")
    assert ".version 8.1" in large.ptx
    assert large.cubin
    with pytest.raises(CompileError, match="the parameters of `k` take 32768 bytes, and a launch carries 32764"):
        kdsl.compile(of(8192), target="sm_90")


def test_unknown_architecture_lists_the_known() -> None:
    with pytest.raises(ValueError, match="sm_999.*sm_90"):
        kdsl.compile(scale, target="sm_999")


@pytest.mark.parametrize("arguments", [(), (np.zeros(1),), (np.zeros(1, np.float32),)])
def test_the_traceback_of_a_failed_launch_ends_at_the_launch(arguments: tuple[Any, ...]) -> None:
    @kernel
    def k(x: Ptr[f32]) -> None:
        x[2] = 1.0

    with pytest.raises((kdsl.ArgumentError, kdsl.DeviceError)) as caught:
        k[1, 1](*arguments)
    assert [Path(str(entry.path)).name for entry in caught.traceback] == ["test_compiler.py", "configured.py"]


def test_a_block_past_the_launch_bounds_is_refused() -> None:
    @kernel(launch_bounds=(64,))
    def k(x: Ptr[f32]) -> None:
        x[0] = 1.0

    x = np.zeros(1, np.float32)
    k[1, (32, 2)](x)
    text = r"\(33, 2, 1\) has 66 threads, and k is compiled for at most 64"
    with pytest.raises(kdsl.LaunchConfigError, match=text):
        k[1, (33, 2)](x)
    module = kdsl.cuda_module(type("kernels", (), {"k": k})).load()
    with pytest.raises(kdsl.LaunchConfigError, match=text):
        module.k[1, (33, 2)](x)


def test_a_compilation_prints_shortly_and_its_tree_as_text() -> None:
    compilation = kdsl.compile(scale, target="sm_90")
    assert repr(compilation) == "<Compilation of scale for sm_90>"
    assert str(compilation.tree).startswith("kernel scale(")


@pytest.mark.parametrize("given", [print, len, 3, lambda x: x])
def test_compile_takes_kernels_only(given: Any) -> None:
    with pytest.raises(TypeError, match="takes kernels"):
        kdsl.compile(given, target="sm_90")


@pytest.mark.parametrize(
    ("kernels", "given", "message"),
    [
        ([], {}, "takes a kernel, or a list of at least one"),
        (scale, {"options": 3}, "options are a dict"),
        (scale, {"signature": 3}, "a signature is a dict by parameter, or a list"),
        (scale, {"signature": "f32"}, "a signature is a dict by parameter, or a list"),
    ],
)
def test_what_compile_takes(kernels: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        kdsl.compile(kernels, target="sm_90", **given)


def test_a_kernel_is_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(scale)) is scale
    assert copy.deepcopy(scale) is scale


@pytest.mark.parametrize("name", [None, 1.0, True, ("cuda", 0), [0]])
def test_what_is_no_device(name: Any) -> None:
    with pytest.raises(ValueError, match="no device is called"):
        kdsl.set_device(name)


def test_rebinding_a_captured_name_recompiles(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    x = np.ones(4, np.float32)
    configured = scale[1, 4]
    configured(x)
    assert (x == 2).all()
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    configured(x)
    assert (x == 10).all()


def test_rebinding_what_a_helper_captures_recompiles(monkeypatch: pytest.MonkeyPatch) -> None:
    @kernel
    def indirect(x: Ptr[f32]) -> None:
        x[0] = helper()

    x = np.zeros(1, np.float32)
    indirect[1, 1](x)
    assert x[0] == 2
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    indirect[1, 1](x)
    assert x[0] == 7


def helper() -> float:
    return SCALE


class Settings:
    """An object of the host: a kernel may read all that its class gives it."""

    inherited = 300

    def __init__(self) -> None:
        self.own = 300

    @property
    def computed(self) -> int:
        return self.own + 1


@pytest.mark.parametrize("change", ["class", "hidden", "own", "property"])
def test_changing_what_an_object_gives_recompiles(change: str) -> None:
    class Derived(Settings):
        pass

    settings = Derived()

    @kernel
    def k(x: Ptr[i32]) -> None:
        x[0] = settings.inherited
        x[1] = settings.computed
        x[2] = Derived.inherited

    x = np.zeros(3, np.int32)
    k[1, 1](x)
    assert x.tolist() == [300, 301, 300]
    match change:
        case "class":
            Derived.inherited = 400
        case "hidden":
            settings.inherited = 500
        case "own":
            settings.own = 600
        case "property":
            Derived.computed = property(lambda self: 700)  # type: ignore[assignment, method-assign]
    k[1, 1](x)
    assert x.tolist() == [settings.inherited, settings.computed, Derived.inherited]


def test_changing_a_function_recompiles() -> None:
    """As reloading its module in a notebook does, and a struct's methods, too."""

    def add(x: int, y: int = 1) -> int:
        return x + y

    def double(x: int, y: int = 1) -> int:
        return x * 2 + y

    @struct
    class Number:
        value: i32

        def __add__(self, other: Number) -> int:
            return self.value + other.value

        @staticmethod
        def one() -> int:
            return 1

    @kernel
    def k(x: Ptr[i32]) -> None:
        x[0] = add(10)
        x[1] = Number(3) + Number(4)
        x[2] = Number.one()

    def launched() -> list[int]:
        x = np.zeros(3, np.int32)
        k[1, 1](x)
        result: list[int] = x.tolist()
        return result

    assert launched() == [11, 7, 1]
    add.__defaults__ = (5,)
    assert launched() == [15, 7, 1]
    add.__code__ = double.__code__
    assert launched() == [25, 7, 1]
    Number.one = staticmethod(add)  # type: ignore[method-assign, assignment]
    with pytest.raises(CompileError, match=r"add\(\) needs `x`"):
        launched()


def test_unannotated_kernel_specialises(device: str) -> None:
    for dtype in (np.float32, np.float64, np.int32):
        x = np.zeros(4, dtype)
        fill[1, 4](x, 3)
        assert (x == 3).all()


def test_unannotated_kernel_takes_strided_arrays(device: str) -> None:
    out = np.zeros(1, np.float32)
    matrix = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (matrix, matrix.T, matrix[::2, 1::2], matrix[::-1]):
        total[1, 1](view, out)
        assert out[0] == view.sum()


def test_a_strong_scalar_of_the_wrong_type_is_a_compile_error() -> None:
    with pytest.raises(CompileError):
        fill[1, 4](np.zeros(4, np.int32), 0.5)


def test_signature_for_unannotated_parameters() -> None:
    for signature in ({"x": Ptr[f32], "value": f32}, (Ptr[f32], f32)):
        assert "st.global" in kdsl.compile(fill, target="sm_90", signature=signature).ptx
    with pytest.raises(TypeError, match="'value' has no annotation"):
        kdsl.compile(fill, target="sm_90", signature={"x": Ptr[f32]})
    with pytest.raises(TypeError, match="fill has no parameter 'y', which the signature names; it has x, value"):
        kdsl.compile(fill, target="sm_90", signature={"y": Ptr[f32]})


def test_a_signature_does_not_contradict_an_annotation() -> None:
    name, type = scale.parameters[0]
    assert type is not None
    with pytest.raises(TypeError, match=f"parameter '{name}' is annotated"):
        kdsl.compile(scale, target="sm_90", signature={name: Ptr[kdsl.f64]})


def test_options() -> None:
    @kernel(fmad=False, restrict=True, launch_bounds=(256, 2))
    def fused(x: Ptr[f32], y: Ptr[f32]) -> None:
        x[0] = y[0] * y[1] + y[2]

    ptx = kdsl.compile(fused, target="sm_90").ptx
    assert "fma" not in ptx
    assert ".maxntid 256" in ptx
    assert ".minnctapersm 2" in ptx
    assert "ld.global.nc" in ptx
    for compiled in (kdsl.compile([fused], target="sm_90", options={}), fused.compile("sm_90", options={"fmad": True})):
        assert "fma" in compiled.ptx
        assert ".maxntid" not in compiled.ptx


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"speed": True}, "no option 'speed'"),
        ({"fmad": 1}, "takes True or False"),
        ({"launch_bounds": (2048,)}, "launch_bounds takes"),
        ({"launch_bounds": "256"}, "launch_bounds takes"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        kernel(**options)
    with pytest.raises(TypeError, match=message):
        kdsl.compile(scale, target="sm_90", options=options)


@pytest.mark.parametrize("thing", [3, "x", int, len, print])
def test_what_is_no_function_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match="@kernel takes a function"):
        kernel(thing)


def test_calling_a_kernel_without_a_configuration() -> None:
    with pytest.raises(TypeError, match=r"scale\[grid, block\]"):
        scale(np.zeros(1, np.float32))


class Holder:
    @kernel
    def method(self, x: Ptr[f32]) -> None:
        x[0] = 1.0


@pytest.mark.parametrize(
    "use",
    [
        lambda: Holder().method[1, 1](np.zeros(1, np.float32)),
        lambda: Holder.method[1, 1](Holder(), np.zeros(1, np.float32)),
        lambda: Holder.method.compile(target="sm_90"),
        lambda: Holder.method.check(),
    ],
)
def test_a_method_is_no_kernel(use: Any) -> None:
    with pytest.raises(CompileError, match=r"`self` is an object of the host(.|\n)*make it a @staticmethod"):
        use()


def test_intrinsics_are_refused_on_the_host() -> None:
    with pytest.raises(TypeError, match="inside a @kernel"):
        kdsl.sync_threads()
    assert repr(kdsl.sync_threads) == "<sync_threads of the kernel language>"
    assert repr(thread_idx.x) == "<thread_idx.x of the kernel language>"


def test_all_mistakes_are_reported_and_nothing_runs() -> None:
    @kernel
    def wrong(x: Ptr[f32]) -> None:
        x[0] = first_unknown
        x[1] = second_unknown

    x = np.zeros(2, np.float32)
    with pytest.raises(CompileError) as caught:
        wrong[1, 1](x)
    assert len(caught.value.diagnostics) == 2
    assert not x.any()


@kdsl.cuda_module
class kernels:
    @kernel
    def write(out: Ptr[i32]) -> None:
        out[0] = 42

    @kernel
    def double(out: Ptr[i32]) -> None:
        out[0] = out[0] * 2


def test_cuda_module(device: str) -> None:
    loaded = kernels.load()
    out = np.zeros(1, np.int32)
    loaded.write[1, 1](out)
    loaded.double[1, 1](out)
    assert out[0] == 84
    with pytest.raises(AttributeError, match="there are: write, double"):
        loaded.triple


def test_kernels_of_a_foreign_module(tmp_path: Path, device: str) -> None:
    path = tmp_path / "kernels.ptx"
    path.write_text(kernels.compile("sm_75").ptx)
    for image in (path, str(path), path.read_bytes()):
        loaded = kernels.from_module(kdsl.load_module(image))
        out = np.zeros(1, np.int32)
        loaded.write[1, 1](out)
        assert out[0] == 42


def test_module_without_the_entry() -> None:
    @kdsl.cuda_module
    class others:
        @kernel
        def absent(out: Ptr[i32]) -> None:
            out[0] = 1

    with pytest.raises(KeyError, match="write"):
        others.from_module(kdsl.load_module(kernels.compile("sm_75").ptx.encode()))


def test_a_class_without_kernels_is_refused() -> None:
    with pytest.raises(TypeError, match="no @kernel function"):

        @kdsl.cuda_module
        class empty:
            pass


def test_overlap_is_seen_as_on_c_pointers(device: str) -> None:
    @kernel
    def shift(a: Ptr[f32], b: Ptr[f32]) -> None:
        b[0] = a[0] + 1.0
        a[1] = b[0] + 1.0

    x = np.zeros(2, np.float32)
    shift[1, 1](x, x)
    assert x.tolist() == [1, 2]


def test_source_of_a_compilation() -> None:
    source = kdsl.compile(scale, target="sm_90").source
    assert source == "@kernel\ndef scale(x: Ptr[f32]) -> None:\n    x[thread_idx.x] = x[thread_idx.x] * SCALE\n"


def test_the_emulator_s_step_limit_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(limit: str) -> int:
        @kernel
        def counts(x: Ptr[i32], n: i32) -> None:
            for i in range(n):
                x[0] = (x[0] * 5 + i) ^ (x[0] >> 3)

        monkeypatch.setattr("kdsl.current.DEVICES", Devices())
        monkeypatch.setenv("KDSL_STEP_LIMIT", limit)
        kdsl.set_device("emulator")
        x = kdsl.zeros(1, i32)
        counts[1, 1](x, 1000)
        return int(x.to_host()[0])

    expected = 0
    for i in range(1000):
        expected = np.int64((expected * 5 + i) ^ (expected >> 3)).astype(np.int32).item()
    with pytest.raises(kdsl.LaunchTimeout, match=r"no end after 500 steps: .*KDSL_STEP_LIMIT can be set to more"):
        count("500")
    assert count("50000") == expected
    assert kdsl.current_device().backend.step_limit == 50000
    assert count("") == expected
    assert kdsl.current_device().backend.step_limit == 1 << 24


def test_a_step_limit_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KDSL_STEP_LIMIT", "-5")
    with pytest.raises(
        ValueError, match="KDSL_STEP_LIMIT=-5: the emulator's step limit is a whole number of at least 1"
    ):
        kdsl.set_device("emulator")


def test_an_open_signature_says_what_it_needs() -> None:
    @kernel
    def k(x: Ptr[f32], f: Callable[[f32], f32]) -> None:
        x[0] = f(x[0])

    with pytest.raises(TypeError, match=r"say its value, as in signature=\{'f': function\}"):
        kdsl.compile(k, target="sm_90")
    assert k.check() == 0
    assert k.check({"f": abs}) == 1


def test_a_loop_that_waits_with_a_plain_read_is_told_of_atomic_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KDSL_STEP_LIMIT", "500")
    monkeypatch.setattr("kdsl.current.DEVICES", Devices())
    kdsl.set_device("emulator")

    @kernel
    def waiting(f: Ptr[i32]) -> None:
        while f[0] == 0:
            pass

    @kernel
    def counting(f: Ptr[i32]) -> None:
        while kdsl.atomic.load(f, 0) == 0:
            f[1] += 1

    for k, is_told in ((waiting, True), (counting, False)):
        with pytest.raises(kdsl.LaunchTimeout) as caught:
            k[1, 1](np.zeros(2, np.int32))
        assert ('read with atomic.load(f, 0, order="acquire")' in str(caught.value)) == is_told
