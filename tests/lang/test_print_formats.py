"""Format specifications of print: each one that is taken prints what Python's own format() makes; others are refused."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import kdsl
from kdsl import CompileError

SPECS_INT = ["", "d", "5d", "05d", "+d", " d", "-d", "<5d", ">5d", "<8", ">8", "08", "+5d", "+06d", " 7d", "1d"]
SPECS_UINT = ["x", "X", "o", "5x", "08x", "<6x", "#x", "#X", "#010x", "#03x", "+d", " d", ">9o", "8X"]
SPECS_FLOAT = [
    "f",
    ".3f",
    "e",
    ".2e",
    "E",
    "g",
    "G",
    ".4g",
    "10.2f",
    "010.2f",
    "+.1f",
    " .1f",
    "<10.3f",
    ">12.4e",
    "F",
    "#.0f",
    ".0f",
]
SPECS_FLOAT += [".1%", "%", "8.1%", "+.0%", "09.2%", "+10.1e", "-.2f", "#g"]
REFUSED_INT = ["^7", "*>6", ",", "_", "b", "#b", "c", "n", "=5d", "#o", "<05d", ">05d", ".3d", "x", "#x", "5s", "z"]
REFUSED_UINT = ["#6x", "+x", "<#8x", "+5d", "b", "^5x", ",d", "#o"]
REFUSED_FLOAT = ["10", "<10", "+", ".3", "^9.1f", "*>9f", ",.1f", "n", "d", "x", "<8.1%", "<08.1f", "s", "010"]
VALUES_INT = [0, 7, -42, 123456, -(2**31), 2**31 - 1]
VALUES_UINT = [0, 1, 255, 2**32 - 1]
VALUES_FLOAT = [0.0, -0.0, 1.5, -2.25, 123456.75, 1e-3, 1e10, -1e-10]


def made(tmp_path: Any, specs: list[str], annotation: str) -> Any:
    lines = "\n".join(f'    print(f"{{x:{spec}}}|")' for spec in specs)
    file = tmp_path / f"formats_{annotation}_{abs(hash(tuple(specs)))}.py"
    file.write_text(f"from kdsl import *\n\n@kernel\ndef shown(x: {annotation}):\n{lines}\n")
    from kdsl.files import load_file

    return load_file(file).shown


@pytest.mark.parametrize(
    ("annotation", "specs", "values"),
    [
        ("i32", SPECS_INT, VALUES_INT),
        ("i64", SPECS_INT, [*VALUES_INT, -(2**63)]),
        ("u32", SPECS_UINT, VALUES_UINT),
        ("u64", SPECS_UINT, [*VALUES_UINT, 2**64 - 1]),
        ("f64", SPECS_FLOAT, VALUES_FLOAT),
        ("f32", SPECS_FLOAT, VALUES_FLOAT[:5]),
    ],
)
def test_prints_what_python_does(
    device: str, tmp_path: Any, capfd: Any, annotation: str, specs: list[str], values: list[Any]
) -> None:
    k = made(tmp_path, specs, annotation)
    for value in values:
        k[1, 1](value)
        kdsl.synchronize()
        sys.stdout.flush()
        got = capfd.readouterr().out
        assert got.splitlines() == [f"{value:{spec}}|" for spec in specs], value


@pytest.mark.parametrize(
    ("annotation", "spec"),
    [
        *(("i32", spec) for spec in REFUSED_INT),
        *(("u32", spec) for spec in REFUSED_UINT),
        *(("f32", spec) for spec in REFUSED_FLOAT),
    ],
)
def test_what_the_device_lacks_is_refused(tmp_path: Any, annotation: str, spec: str) -> None:
    with pytest.raises(CompileError) as caught:
        kdsl.compile(made(tmp_path, [spec], annotation), target="sm_90")
    (diagnostic,) = caught.value.diagnostics
    assert f"`{spec}`" in diagnostic.message
