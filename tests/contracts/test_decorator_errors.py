"""Mistakes in a contract: found where the kernel is decorated, or where its types are known, and told at the decorator."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import kdsl
from kdsl import Array, CompileError, Constexpr, Ptr, f32, f32x4, i32, kernel, struct
from kdsl.contracts.places import ContractError
from kdsl.files import FileError, load_file

TILE = 16
RATIO = 1.5


@struct
class Pair:
    x: f32
    y: f32


# The text, the part of it that the error points at, the message and the hint.
TEXTS = [
    ("a.size >= m", "m", "`m` is no parameter, and no name of a number where the kernel is defined", 'the parameters are a, n; a local number goes in by an f-string, f"... {m}"'),
    ("n >= 0 and a.size >= m", "m", "`m` is no parameter, and no name of a number where the kernel is defined", None),
    ("a.size", "a.size", "`a.size` is a number, and no relation", "compare it, as in a.size > 0"),
    ("n + 1", "n + 1", "`n + 1` is a number, and no relation", "compare it, as in n + 1 > 0"),
    ("n > RATIO", "RATIO", "`RATIO` is a float, and a contract takes ints", None),
    ("n / 2 > 1", "n / 2", "`n / 2` is no whole number", "write ceil(n / 2), which rounds up, or //"),
    ("ceil(n) > 1", "ceil(n)", "ceil() takes a division", "write ceil(n / 256)"),
    ("2 ** n > 1", "2 ** n", "there is no ** in a contract", "write 1 << n"),
    ("n ** 2 > 1", "n ** 2", "there is no ** in a contract", "write a product"),
    ("a.foo > 1", "a.foo", "a contract knows no `a.foo`", "of an array it knows a.size, .shape[0], .ndim, .nbytes, .strides[0] and a.ptr % 16"),
    ("a.shape > 1", "a.shape", "a contract takes one of the shape of `a`", "write a.shape[0]"),
    ("a.shape[n] > 1", "a.shape[n]", "a contract takes one of the shape of `a`", "write a.shape[0]"),
    ("a.ptr > 1", "a.ptr", "of an address a contract takes its alignment", "write a.ptr % 16 == 0"),
    ("a.ptr % 12 == 0", "12", "an address is asked for a multiple of a power of two", "write 4, 8, 16 and so on up to 256, which all fresh memory has"),
    ("b.size > 1", "b.size", "`b` is no parameter", "the parameters are a, n"),
    ("grid > 1", "grid", "`grid` has three extents", "write grid.x, or grid.size for their product"),
    ("grid.w > 1", "grid.w", "`grid.w` cannot be in this contract", "write grid.x grid.y grid.z or grid.size"),
    ("n % 0 == 1", "0", "this divides by zero", "write another divisor"),
    ("n >> 200 == 1", "200", "no number is shifted so far", "write 0 to 128"),
    ("n is 1", "n is 1", "a relation compares numbers", "write == != < <= > >=, or in (1, 2)"),
    ("print(n) > 1", "print(n)", "`print(n)` cannot be in a contract", None),
    ("n % 1.5 == 0", "1.5", "`1.5` is a float, and % takes ints", "compare it as it is"),
    ("n >", ">", "this is no Python expression: invalid syntax", None),
    ("", "", "there is nothing in it", None),
]  # fmt: skip


def error_of(make: Any) -> tuple[Any, str]:
    """The only mistake, and what its span covers."""
    with pytest.raises(ContractError) as caught:
        make()
    assert isinstance(caught.value, CompileError)
    (found,) = caught.value.diagnostics
    line = Path(found.span.file).read_text().splitlines()[found.span.line - 1]
    return found, line[
        found.span.column - 1 : found.span.end_column - 1
    ] if found.span.end_line == found.span.line else line


@pytest.mark.parametrize(("text", "part", "message", "hint"), TEXTS)
def test_texts(text: str, part: str, message: str, hint: str | None, tmp_path: Path) -> None:
    file = tmp_path / "contracted.py"
    file.write_text(
        "from kdsl import Ptr, f32, i32, kernel\n"
        "RATIO = 1.5\n"
        f'@kernel(block=32, requires=("n < 100", "{text}"))\n'
        "def k(a: Ptr[f32], n: i32) -> None:\n"
        "    pass\n"
    )
    with pytest.raises(FileError) as failed:
        load_file(file)
    rendered = str(failed.value)
    assert rendered.startswith("contracted.py:3:")
    assert f"error: requires of `k`: {message}\n" in rendered
    column = int(rendered.split(":")[2])
    carets = rendered.splitlines()[2].count("^")
    shown = file.read_text().splitlines()[2][column - 1 : column - 1 + carets]
    if part not in (">", ""):
        assert shown == part
    if hint is not None:
        assert f"\n  hint: {hint}" in rendered
    assert "a launch while the file was imported" not in rendered


def test_names_of_the_launch_are_no_part_of_what_follows_from_arguments() -> None:
    def make() -> None:
        @kernel(block=32, grid="ceil(n / block.x)")
        def k(n: i32) -> None:
            pass

    found, part = error_of(make)
    assert found.message == "grid of `k`: `block.x` cannot be in this contract"
    assert found.hint == "it is what this says: write it from the arguments"
    assert part == "block.x"


def test_types_of_parameters() -> None:
    cases: list[tuple[Any, dict[str, str], str, str, str]] = [
        (lambda r: kernel(requires=r), {"a": "Ptr"}, "a > 1", "requires of `k`: `a` is an array, and no number", "a"),
        (lambda r: kernel(requires=r), {}, "n.size > 1", "requires of `k`: `n` is i32, and no array", ""),
        (
            lambda r: kernel(requires=r),
            {},
            "x.shape[2] > 1",
            "requires of `k`: `x` is Array[f32, 2], which has no axis 2",
            "",
        ),
        (
            lambda r: kernel(requires=r),
            {},
            "p > 1",
            "requires of `k`: `p` is Pair, and a contract takes numbers and arrays",
            "",
        ),
        (
            lambda r: kernel(requires=r),
            {},
            "v.shape[0] > 1",
            "requires of `k`: `v` is Ptr[f32x4], whose array may have any shape",
            "",
        ),
        (lambda r: kernel(requires=r), {}, "n", "requires of `k`: `n` is a number, and no relation", ""),
        (lambda r: kernel(requires=r), {}, "not n", "requires of `k`: `n` is a number, and no relation", ""),
        (lambda r: kernel(requires=r), {}, "f % 2 == 0", "requires of `k`: `f` is a float, and % takes ints", ""),
        (
            lambda r: kernel(requires=r),
            {},
            "ceil(n / f) > 1",
            "requires of `k`: `f` is a float, and ceil() takes ints",
            "",
        ),
        (lambda r: kernel(grid=r), {}, "f", "grid of `k`: grid takes ints", ""),
        (lambda r: kernel(block=r), {}, "size", "block of `k`: the block would be (2000, 1, 1)", ""),
        (lambda r: kernel(shared=r), {}, "4 * f", "shared of `k`: shared takes ints", ""),
    ]
    for decorate, _, text, message, _ in cases:

        @decorate(text)
        def k(
            a: Ptr[f32], x: Array[f32, 2], v: Ptr[f32x4], p: Pair, n: i32, f: f32, size: Constexpr[int] = 2000
        ) -> None:
            pass

        with pytest.raises(CompileError) as caught:
            k.check()
        assert [d.message for d in caught.value.diagnostics] == [message], text
        with pytest.raises(CompileError) as caught:
            k.compile(target="sm_80")
        assert [d.message for d in caught.value.diagnostics] == [message], text


def test_types_are_told_with_the_other_mistakes_in_the_kernel() -> None:
    @kernel(requires=("n >= 0", "a.shape[1] > 2"))
    def k(a: Array[f32, 1], n: i32) -> None:
        a[0] = undefined  # noqa: F821

    with pytest.raises(CompileError) as caught:
        k.check()
    first, second = caught.value.diagnostics
    assert first.message == "requires of `k`: `a` is Array[f32, 1], which has no axis 1"
    assert first.hint == "its only axis is 0"
    line = Path(first.span.file).read_text().splitlines()[first.span.line - 1]
    assert line[first.span.column - 1 : first.span.end_column - 1] == "a.shape[1]"
    assert "undefined" in second.message


def test_a_launch_without_types_and_a_foreign_module_are_checked_too() -> None:
    @kernel(requires="x.size > 0")
    def k(x):
        pass

    with pytest.raises(CompileError, match="`x` is i32, and no array"):
        k[1, 1](3)

    @kdsl.cuda_module
    class kernels:
        @kernel(requires="x.size > 0")
        def k(x: i32) -> None:
            pass

    @kdsl.cuda_module
    class plain:
        @kernel
        def k(x: i32) -> None:
            pass

    foreign = kdsl.load_module(plain.compile().ptx.encode())
    with pytest.raises(CompileError, match="`x` is i32, and no array"):
        kernels.from_module(foreign)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"requires": 3}, 'requires takes relations as text, such as "a.size >= n", or a tuple of them, got 3'),
        ({"requires": ("n > 0", 3)}, 'requires takes relations as text, such as "a.size >= n", or a tuple of them, got (\'n > 0\', 3)'),
        ({"block": 0}, 'block takes an int of at least 1, an expression such as "ceil(n / 256)", or a tuple of up to three of them, got 0'),
        ({"grid": (1, 2, 3, 4)}, 'grid takes an int of at least 1, an expression such as "ceil(n / 256)", or a tuple of up to three of them, got (1, 2, 3, 4)'),
        ({"grid": True}, 'grid takes an int of at least 1, an expression such as "ceil(n / 256)", or a tuple of up to three of them, got True'),
        ({"block": (64, 32)}, "a block has at most 1024 threads, 64 along z, got block=(64, 32)"),
        ({"block": (1, 1, 65)}, "a block has at most 1024 threads, 64 along z, got block=(1, 1, 65)"),
        ({"shared": -1}, 'shared takes a number of bytes or an expression such as "4 * n", got -1'),
        ({"min_arch": 80}, 'min_arch takes an architecture, such as "sm_80", got 80'),
        ({"block": 256, "launch_bounds": 128}, "block=256 has 256 threads, and launch_bounds=(128,) says 128; write launch_bounds=256, or leave it out"),
        ({"block": (16, 16), "launch_bounds": (512, 2)}, "block=(16, 16) has 256 threads, and launch_bounds=(512, 2) says 512; write launch_bounds=(256, 2), or leave it out"),
        ({"block": 1024, "max_registers": 128}, "block=1024 has 1024 threads, and max_registers=128 of each are more than the 65536 of a block; write max_registers=64 at most"),
    ],
)  # fmt: skip
def test_what_the_options_take(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        kernel(**options)
    assert str(caught.value) == message


def test_an_unknown_option_is_told_with_the_known_ones() -> None:
    text = r"no option 'blocks' \(did you mean 'block'\?\); it takes fmad, .*requires, block, grid, shared, min_arch"
    with pytest.raises(TypeError, match=text):
        kernel(blocks=3)  # type: ignore[call-overload]


def test_an_unknown_architecture() -> None:
    with pytest.raises(TypeError, match=re.escape("min_arch: ") + ".*sm_999"):
        kernel(min_arch="sm_999")


def test_min_arch() -> None:
    @kernel(min_arch="sm_90")
    def new(x: Ptr[f32]) -> None:
        x[0] = 1.0

    @kernel(min_arch="sm_90a")
    def own(x: Ptr[f32]) -> None:
        x[0] = 1.0

    for target in ("sm_90", "sm_90a", "sm_100", "sm_120"):
        new.compile(target=target)
    own.compile(target="sm_90a")
    found, part = error_of(lambda: new.compile(target="sm_80"))
    assert (found.message, found.hint) == ("`new` needs sm_90 or newer; this is sm_80", 'compile with target="sm_90"')
    assert part == '"sm_90"'
    found, _ = error_of(lambda: own.compile(target="sm_100a"))
    assert found.message == "`own` needs sm_90a itself; this is sm_100a"


def test_min_arch_of_a_launch(device: str) -> None:
    @kernel(min_arch="sm_121")
    def newest(x: Ptr[f32]) -> None:
        x[0] = 1.0

    backend = kdsl.current_device()
    found, part = error_of(lambda: newest[1, 1](kdsl.zeros(1)))
    assert found.message == f"`newest` needs sm_121 or newer; the device is {backend.target} ({backend.description})"
    assert found.hint == "launch it on a device of sm_121, or lower min_arch"
    assert part == '"sm_121"'

    @kdsl.cuda_module
    class kernels:
        @kernel(min_arch="sm_121")
        def newest(x: Ptr[f32]) -> None:
            x[0] = 1.0

    error_of(kernels.load)


def test_options_of_compile_have_a_contract_of_their_own() -> None:
    @kernel(block=256, requires="n > 0")
    def k(x: Ptr[f32], n: i32) -> None:
        x[0] = kdsl.block_dim.x

    assert ".reqntid 256\n" in k.compile(target="sm_80").ptx
    assert ".reqntid" not in k.compile(target="sm_80", options={}).ptx
    assert ".reqntid 64\n" in k.compile(target="sm_80", options={"block": 64}).ptx
    found, _ = error_of(lambda: k.compile(target="sm_80", options={"requires": "m > 0"}))
    assert found.message.startswith("requires of `k`: `m` is no parameter")


def test_none_is_no_function() -> None:
    with pytest.raises(TypeError, match=r"@kernel takes a function written with def, got a NoneType: None"):
        kdsl.kernel(None)  # type: ignore[call-overload]
