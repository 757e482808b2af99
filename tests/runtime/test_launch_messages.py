"""What a launch says of names that no parameter has, and of streams that are none: the same on its first call and on
later ones, which take the fast way.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl import LaunchConfig, Ptr, grid, i32, kernel

CONFIGURATION = (
    "the configuration goes into the brackets, {0}[grid, block, stream, shared_bytes] or {0}[LaunchConfig(...)]"
)
BY_CONTRACT = "the kernel's contract says the configuration, and {0}[grid, block](...) takes another one"


def kernels() -> dict[str, Any]:
    """Kernels that were not launched yet: with annotations, without, with a default value, with a contract."""

    @kernel
    def typed(x: Ptr[i32], count: i32) -> None:
        if grid(1) < count:
            x[grid(1)] = 1

    @kernel
    def untyped(x, count):
        if grid(1) < count:
            x[grid(1)] = 1

    @kernel
    def filled(x: Ptr[i32], count: i32 = 4) -> None:
        if grid(1) < count:
            x[grid(1)] = 1

    @kernel(block=32, grid="ceil(count / 32)")
    def derived(x: Ptr[i32], count: i32) -> None:
        if grid(1) < count:
            x[grid(1)] = 1

    loaded = kdsl.load_module(kdsl.compile(typed).ptx).kernel("typed", typed)
    stream = kdsl.Stream()
    return {
        "typed": typed[1, 32],
        "untyped": untyped[1, 32],
        "filled": filled[1, 32],
        "loaded typed": loaded[1, 32],
        "derived": derived.launch,
        "derived on": lambda *given, **named: derived.launch_on(stream, *given, **named),
    }


@pytest.fixture(autouse=True)
def on_emulator() -> Iterator[None]:
    with kdsl.Device("emulator"):
        yield


NAMES = [
    ("size", "{0}(x, count) has no parameter 'size'"),
    ("Count", "{0}(x, count) has no parameter 'Count'; did you mean `count`?"),
    ("coutn", "{0}(x, count) has no parameter 'coutn'; did you mean `count`?"),
]
OF_BRACKETS = [
    ("stream", "{0}(x, count) has no parameter 'stream'; a stream goes into the brackets, {0}[grid, block, stream]"),
    ("block", "{0}(x, count) has no parameter 'block'; " + CONFIGURATION),
    ("blockDim", "{0}(x, count) has no parameter 'blockDim'; " + CONFIGURATION),
    ("shared_bytes", "{0}(x, count) has no parameter 'shared_bytes'; " + CONFIGURATION),
]
OF_CONTRACT = [
    ("stream", "{0}(x, count) has no parameter 'stream'; write {0}.launch_on(stream, ...)"),
    ("grid", "{0}(x, count) has no parameter 'grid'; " + BY_CONTRACT),
]


@pytest.mark.parametrize("way", ["typed", "untyped", "filled", "loaded typed", "derived", "derived on"])
def test_unknown_names_are_told_alike_by_the_first_call_and_by_later_ones(way: str) -> None:
    x = kdsl.zeros(4, i32)
    launch: Callable[..., None] = kernels()[way]
    for _ in range(3):
        for name, text in NAMES + (OF_CONTRACT if way.startswith("derived") else OF_BRACKETS):
            for given in ((x, 4), (x,), ()):
                with pytest.raises(kdsl.ArgumentError) as caught:
                    launch(*given, **{name: 1})
                assert str(caught.value) == text.format(way.split()[-1] if "loaded" in way else way.split()[0])
        launch(x, 4)
        launch(x, count=4)
    assert x.to_host().tolist() == [1] * 4


@pytest.mark.parametrize("way", ["typed", "untyped", "filled", "loaded typed", "derived"])
def test_a_value_given_twice_is_told_alike(way: str) -> None:
    x = kdsl.zeros(4, i32)
    launch = kernels()[way]
    for _ in range(2):
        with pytest.raises(TypeError, match=r"^\w+(\.launch)?\(\) got multiple values for argument 'count'$"):
            launch(x, 4, count=4)
        launch(x, 4)


def test_parameters_may_be_called_as_the_configuration_is() -> None:
    @kernel
    def named(x: Ptr[i32], stream: i32, _unknown: i32) -> None:
        x[0] = stream + _unknown

    x = kdsl.zeros(1, i32)
    for sum_ in (5, 6):
        named[1, 1](x, stream=sum_, _unknown=1)
        assert x.item() == sum_ + 1


@pytest.mark.parametrize("way", ["typed", "untyped", "filled", "loaded typed", "derived", "derived on"])
def test_a_mistake_shows_few_of_our_frames(way: str) -> None:
    x = kdsl.zeros(4, i32)
    launch = kernels()[way]
    for _ in range(3):
        for given in ((x, "four"), (x, 4, 5), (None, 4)):
            with pytest.raises(kdsl.ArgumentError) as caught:
                launch(*given)
            frames = traceback.extract_tb(caught.value.__traceback__)
            assert len([f for f in frames if "/kdsl/" in f.filename and "/tests/" not in f.filename]) <= 4
        launch(x, 4)


def test_prepared_launches_and_nodes_say_their_own_way() -> None:
    @kernel
    def put(x: Ptr[i32], count: i32) -> None:
        x[0] = count

    x = kdsl.zeros(4, i32)
    prepared = put.prepare(1, 1, x, 4)
    stream = kdsl.Stream()
    with stream.capture() as graph:
        put[1, 1](x, 4)
    node = graph.instantiate().nodes[0]
    what = "put(x, count) has no parameter "
    table: list[tuple[Callable[[], object], str]] = [
        (
            lambda: put.prepare(1, 1, x, 4, stream=stream),
            "'stream'; a stream goes before the arguments, put.prepare(LaunchConfig(grid, block, stream=stream), ...)",
        ),
        (
            lambda: put.prepare(1, 1, x, 4, shared=64),
            "'shared'; the configuration goes before the arguments, put.prepare(grid, block, ...) or "
            "put.prepare(LaunchConfig(...), ...)",
        ),
        (
            lambda: prepared.with_arguments(stream=stream),
            "'stream'; another stream is another configuration: with_config(LaunchConfig(grid, block, stream=stream))",
        ),
        (
            lambda: prepared.with_arguments(block=2),
            "'block'; another configuration is with_config(grid, block) or with_config(LaunchConfig(...))",
        ),
        (lambda: prepared.with_arguments(counts=2), "'counts'; did you mean `count`?"),
        (
            lambda: node.update(stream=stream),
            "'stream'; a node runs in the stream of its graph's launch, run.launch(stream)",
        ),
        (
            lambda: node.update(grid=2),
            "'grid'; another configuration goes before the arguments, node.update((grid, block), ...)",
        ),
    ]
    for call, text in table:
        with pytest.raises(kdsl.ArgumentError) as caught:
            call()
        assert str(caught.value) == what + text


def test_launch_on_says_what_is_no_stream() -> None:
    @kernel(block=32, grid="ceil(count / 32)")
    def ones(x: Ptr[i32], count: i32) -> None:
        if grid(1) < count:
            x[grid(1)] = 1

    x, event = kdsl.zeros(4, i32), kdsl.Event()
    before = "ones.launch_on takes a stream before the arguments, ones.launch_on(stream, ...)"
    table: list[tuple[tuple[Any, ...], str]] = [
        ((), "; without one write ones.launch(...)"),
        ((x, 4), f", got {x!r}; make one, kdsl.Stream()"),
        ((1024, x, 4), ", got 1024, which is no handle: 0, 1, 2 or an address"),
        ((-1, x, 4), ", got -1, which is no handle: 0, 1, 2 or an address"),
        ((2**64, x, 4), f", got {2**64}, which is no handle: 0, 1, 2 or an address"),
        ((True, x, 4), ", got True; make one, kdsl.Stream()"),
        ((1.0, x, 4), ", got 1.0; make one, kdsl.Stream()"),
        (("fast", x, 4), ", got 'fast'; make one, kdsl.Stream()"),
        ((kdsl.Stream, x, 4), ", got <class 'kdsl.streams.Stream'>; make one, kdsl.Stream()"),
        ((event, x, 4), f", got {event!r}; stream.wait(event) lets a stream wait for an event"),
    ]
    for _ in range(2):
        for arguments, text in table:
            with pytest.raises(kdsl.LaunchConfigError) as caught:
                ones.launch_on(*arguments)
            assert str(caught.value) == before + text
        # What is one: 1 is the legacy stream's handle, which equals True and 1.0.
        for stream in (None, 0, 1, 2, kdsl.Stream(), kdsl.legacy_stream):
            ones.launch_on(stream, x, 4)


def test_without_brackets_and_without_a_contract() -> None:
    @kernel
    def bare(x: Ptr[i32]) -> None:
        x[0] = 1

    @kernel(block=1, grid=1)
    def whole(x: Ptr[i32]) -> None:
        x[0] = 1

    x: Any = kdsl.zeros(1, i32)
    contract = 'needs a contract that says grid and block, as in @kernel(block=256, grid="ceil(n / 256)"); write that'
    calls: Any = {"bare": bare, "whole": whole}
    for call, text in [
        (lambda: bare.launch(x), f"bare.launch {contract}, or bare[grid, block](...)"),
        (lambda: bare.launch_on(kdsl.Stream(), x), f"bare.launch_on {contract}, or bare[grid, block, stream](...)"),
        (
            lambda: calls["bare"](x, n=1),
            "bare(kdsl.DeviceArray, n=int 1) lacks a launch configuration; write bare[grid, block](...)",
        ),
        (
            lambda: calls["whole"](x),
            "whole(kdsl.DeviceArray) lacks a launch configuration; write whole.launch(...) or whole[grid, block](...)",
        ),
    ]:
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == text


def test_what_is_no_configuration() -> None:
    @kernel
    def put(x: Ptr[i32]) -> None:
        x[0] = 1

    alone = (
        "a LaunchConfig stands alone in the brackets, k[config]; its stream and shared memory are its own, "
        "LaunchConfig(grid, block, shared, stream)"
    )
    takes = "stream takes a kdsl.Stream, a stream of another library, a handle or None, got "
    pair, config = np.array([1, 2]), LaunchConfig(1, 32)
    put[1, 32, 1](kdsl.zeros(1, i32))
    for make, text in [
        (lambda: put[pair, 32], f"grid.x = {pair!r} is a ndarray, an int is needed; pass an int"),
        (lambda: put[1, 0], "block.x = 0 must be at least 1"),
        (lambda: put[config, kdsl.Stream()], alone),
        (lambda: put[config, 5], alone),
        (lambda: put[1, 32, True], takes + "True; make one, kdsl.Stream()"),
        (lambda: put[1, 32, 1.0], takes + "1.0; make one, kdsl.Stream()"),
        (
            lambda: put[1, 32, 4096],
            takes + "4096, which is no handle: 0, 1, 2 or an address; the fourth value in "
            "k[grid, block, stream, shared_bytes] is the dynamic shared memory",
        ),
        (lambda: LaunchConfig(1, 32, stream="x"), takes + "'x'; make one, kdsl.Stream()"),
        (lambda: LaunchConfig(1, 32, shared=pair), f"shared takes a number of bytes, got {pair!r}"),
        (lambda: LaunchConfig.for_num_elems(pair), f"for_num_elems takes an int, got {pair!r}; pass a.size"),
        (lambda: LaunchConfig.for_num_elems(1.5), "for_num_elems takes an int, got 1.5"),
    ]:
        with pytest.raises(kdsl.LaunchConfigError) as caught:
            make()
        assert str(caught.value) == text
