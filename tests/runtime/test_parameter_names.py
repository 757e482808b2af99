"""Parameters whose names the launcher's own code uses, too."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import kdsl
from kdsl import ArgumentError, LaunchConfig, Ptr, f32, i32, kernel


@kdsl.struct
class Pair:
    a: f32
    b: f32


@kernel
def named_as_a_type(x: Ptr[f32], f32: Ptr[Pair]) -> None:
    x[0] = f32[0].b


@kernel
def methods(self: Ptr[i32], arguments: i32, keywords: i32) -> None:
    self[0] = arguments * 10 + keywords


@kernel(block=1, grid="1")
def derived(self: Ptr[i32], _: i32) -> None:
    self[0] = _


@kernel
def untyped(arguments, keywords):  # type: ignore[no-untyped-def]
    arguments[0] = keywords


@contextmanager
def monitored(tell: Callable[..., None], *functions: Any) -> Iterator[None]:
    """Tell of each call of these functions on the host."""
    codes = {function.__code__ for function in functions}
    before = sys.getprofile()
    sys.setprofile(
        lambda frame, event, _: tell(frame.f_code.co_name) if event == "call" and frame.f_code in codes else None
    )
    try:
        yield
    finally:
        sys.setprofile(before)


@kernel
def functions(out, len, pair, type):  # type: ignore[no-untyped-def]
    out[0] = len(pair[0], 1) + type(pair[1])


def test_functions_are_called_as_those_of_python(device: str) -> None:
    called: list[Any] = []

    def on_the_host(*values: Any) -> None:
        called.append(values)

    def difference(a: i32, b: i32) -> i32:
        return a - b

    def twice(a: i32) -> i32:
        return a * 2

    x = kdsl.zeros(1, i32)
    for n in range(3):
        with monitored(on_the_host, difference, twice):
            functions[1, 1](x, difference, (n, 4), twice)
        assert x.to_host()[0] == n - 1 + 8
    assert called == []


def test_a_parameter_is_called_as_the_type_of_another(device: str) -> None:
    pairs, x = kdsl.full(4, Pair(1.0, 2.0), Pair), kdsl.zeros(4, f32)
    named_as_a_type[1, 1](x, pairs)
    assert x.to_host()[0] == 2
    for arguments in ((pairs, pairs), (x, x)):
        with pytest.raises(ArgumentError):
            named_as_a_type[1, 1](*arguments)


def test_parameters_are_called_as_those_of_methods(device: str) -> None:
    x = kdsl.zeros(1, i32)
    launches: list[Any] = [
        methods[1, 1],
        methods[1, 1],
        methods[LaunchConfig(1, 1)],
        lambda **given: methods.prepare(1, 1, **given)(),
        lambda **given: methods.prepare(1, 1, kdsl.zeros(1, i32), 0, 0).with_arguments(**given)(),
    ]
    for n, launch in enumerate(launches):
        launch(self=x, arguments=4, keywords=n)
        assert x.to_host()[0] == 40 + n
    for n in (5, 6):
        untyped[1, 1](arguments=x, keywords=n)
        assert x.to_host()[0] == n
        derived.launch(self=x, _=n + 10)
        assert x.to_host()[0] == n + 10
    assert derived.launch_config(self=x, _=3) == LaunchConfig(1, 1)
    with pytest.raises(TypeError, match="lacks a launch configuration"):
        methods(self=x)  # type: ignore[operator]
