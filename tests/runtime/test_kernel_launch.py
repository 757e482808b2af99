"""Launching through `@kernel` on the emulator: what is remembered between launches, and what must not be."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl import Array, LaunchConfig, Ptr, f32, grid, i32, kernel
from kdsl.runtime.bound_launch import BoundLaunch

SCALE = 2


@kernel
def scale(x: Ptr[f32], n: i32):
    i = grid(1)
    if i < n:
        x[i] = x[i] * SCALE


@kernel
def count(x: Ptr[i32], n: i32):
    for _ in range(n):
        x[0] += 1


@kernel
def untyped(x, value):
    i = grid(1)
    if i < x.shape[0]:
        x[i] = value


@kernel
def rows(x: Array[f32, 2]):
    x[0, 0] = x.shape[0] * 100 + x.shape[1]


@pytest.fixture(autouse=True)
def on_the_emulator():
    kdsl.set_device("emulator")


def test_a_rebound_global_is_noticed(monkeypatch):
    x = np.ones(4, np.float32)
    run = scale[1, 32]
    for factor in (2, 2, 5, 5, 2):
        monkeypatch.setitem(globals(), "SCALE", factor)
        for launch in (scale[1, 32], run):
            x[:] = 1
            launch(x, 4)
            assert (x == factor).all()


def test_a_builtin_that_becomes_hidden_is_noticed(monkeypatch):
    x = np.zeros(1, np.int32)
    for _ in range(2):
        count[1, 1](x, 3)
    assert x[0] == 6
    monkeypatch.setitem(globals(), "range", 7)
    with pytest.raises(kdsl.CompileError):
        count[1, 1](x, 3)
    assert x[0] == 6
    monkeypatch.undo()
    count[1, 1](x, 3)
    assert x[0] == 9


def test_arguments_by_names_that_no_parameter_has():
    @kernel
    def set_to(x: Ptr[f32], value: f32):
        x[0] = value

    x = np.zeros(1, np.float32)
    with pytest.raises(kdsl.ArgumentError, match=r"set_to\(x, value\) has no parameter 'm'$"):
        set_to[1, 1](x, m=1.0)
    with pytest.raises(
        kdsl.ArgumentError, match=r"no parameter 'stream'; .* the brackets, set_to\[grid, block, stream\]"
    ):
        set_to[1, 1](x, 1.0, stream=kdsl.Stream())


def test_arguments_by_name_and_of_every_kind():
    x = np.ones(4, np.float32)
    for _ in range(2):
        scale[1, 32](n=4, x=x)
    assert (x == 4).all()
    device = kdsl.to_device(x)
    for _ in range(2):
        scale[1, 32](device, n=np.int64(4))
    assert (device.to_host() == 16).all()


def test_a_kernel_without_annotations_follows_its_arguments():
    run = untyped[1, 32]
    for dtype in (np.float32, np.int32, np.float64, np.float32):
        x = np.zeros(8, dtype)
        run(x, 3)
        assert (x == 3).all() and x.dtype == dtype
        run(x[::2], 5)
        assert (x == [5, 3] * 4).all()


def test_ranks_and_extents():
    x = np.zeros((3, 7), np.float32)
    for _ in range(2):
        rows[1, 1](x)
        assert x[0, 0] == 307
    with pytest.raises(ValueError, match=r"rows: argument `x` takes Array\[f32, 2\].* 1 dimension, shape \(21,\)"):
        rows[1, 1](x.ravel())


def test_configurations_after_the_first_launch():
    x = np.ones(4, np.float32)
    for config in ((1, 32), ((1, 1), 32), (LaunchConfig(1, 32),), (1, 32, None, 64)):
        scale[config if len(config) > 1 else config[0]](x, 4)
    assert (x == 16).all()
    for bad in ((1.0, 32), (True, 32), (1, 32.0), (0, 32)):
        with pytest.raises((TypeError, ValueError), match="grid.x|block.x"):
            scale[bad](x, 4)
    scale[LaunchConfig.for_num_elems(0)](x, 4)
    assert (x == 16).all()


def test_wrong_arguments_after_the_first_launch():
    x = np.ones(4, np.float32)
    scale[1, 32](x, 4)
    for args, text in (
        ((x,), "got 1: `n` is missing"),
        ((x, 4, 5), "got 3: drop 1"),
        ((x, 4.0), "takes an int"),
        ((x.astype(np.float64), 4), r"pass x.astype\(np.float32\)"),
        ((x, 2**31), "does not fit"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            scale[1, 32](*args)
    assert (x == 2).all()


def test_the_memo_of_grids_and_blocks_is_bounded():
    x = kdsl.zeros(4, f32)
    for block in range(1, 700):
        scale[1, block](x, 4)
    for number in range(1, 400):
        scale[number, 1](x, 4)
    assert sum(map(len, scale._hot.values())) <= 256
    assert len(scale._configurations) <= 1024
    (specialization,) = (s for s in scale._specializations.values() if s.backend is kdsl.current_device().backend)
    assert len(specialization.launcher._bound) <= 256


def test_a_packer_leaves_the_module_of_its_kernel_alone():
    before = dict(globals())
    x = kdsl.zeros(4, f32)

    @kernel
    def named_like_a_builtin(x: Ptr[f32], type: i32, len: f32):
        x[0] = type + len * SCALE

    for _ in range(3):
        named_like_a_builtin[1, 1](x, 3, 0.5)
    assert x.to_host()[0] == 4
    assert {name: value for name, value in globals().items() if before.get(name, value) is not value} == {}
    assert set(globals()) == set(before)


def test_a_parameter_may_be_called_as_something_captured(monkeypatch):
    def helper(v):
        return v * SCALE

    @kernel
    def shadowing(x: Ptr[f32], SCALE: i32):
        x[0] = helper(x[0]) + SCALE

    x = kdsl.to_device(np.ones(1, np.float32))
    for _ in range(3):
        shadowing[1, 1](x, 10)
    assert x.to_host()[0] == 78
    monkeypatch.setitem(globals(), "SCALE", 3)
    shadowing[1, 1](x, 1)
    assert x.to_host()[0] == 235


def test_a_global_that_is_deleted_is_noticed(monkeypatch):
    x = kdsl.to_device(np.ones(4, np.float32))
    for _ in range(3):
        scale[1, 32](x, 4)
    monkeypatch.delitem(globals(), "SCALE")
    with pytest.raises(kdsl.CompileError):
        scale[1, 32](x, 4)
    monkeypatch.undo()
    scale[1, 32](x, 4)
    assert (x.to_host() == 16).all()


def test_names_of_pythons_own_may_be_hidden_in_the_module(monkeypatch):
    y = kdsl.zeros(2, f32)
    monkeypatch.setitem(globals(), "type", lambda value: float)
    monkeypatch.setitem(globals(), "len", None)
    for value in (2.0, np.float32(3)):
        for _ in range(3):
            untyped[1, 1](y, value)
            assert y.to_host()[0] == value
    with pytest.raises(TypeError):
        scale[1, 32](kdsl.zeros(4, f32), "x")


_value0 = _buffer = _x_layout = launch = make = 1


@kernel
def captures_value(x: Ptr[f32]):
    x[0] = _value0


@kernel
def captures_variable(x: Ptr[f32]):
    x[0] = _buffer


@kernel
def captures_global(x: Ptr[f32]):
    x[0] = _x_layout


@kernel
def captures_functions(x: Ptr[f32]):
    x[0] = launch * make


@pytest.mark.parametrize(
    ("captures", "name"),
    [
        (captures_value, "_value0"),
        (captures_variable, "_buffer"),
        (captures_global, "_x_layout"),
        (captures_functions, "launch"),
        (captures_functions, "make"),
    ],
)
def test_what_is_captured_may_be_called_as_the_packer_calls_its_own(monkeypatch, captures, name):
    ways = []
    checked = BoundLaunch.checked
    monkeypatch.setattr(BoundLaunch, "checked", lambda self, given, _: ways.append(given) or checked(self, given))
    x = kdsl.zeros(1, f32)
    for value in (2, 3):
        monkeypatch.setitem(globals(), name, value)
        captures[1, 1](x)
        assert x.to_host()[0] == value
    # And it costs a launch no more than another name.
    ways.clear()
    captures[1, 1](x)
    assert not ways
