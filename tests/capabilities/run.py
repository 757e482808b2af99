"""Runs a row on the current device, and says what is wrong with what it gave."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import kdsl

from .capability import Capability

ROOT = Path(__file__).parents[2]

IN_A_PROCESS = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
run = importlib.import_module("tests.capabilities.run")
capability = importlib.import_module("tests.capabilities.capability")
import kdsl
kdsl.set_device("cuda")
(row,) = [r for r in capability.rows() if r.id == sys.argv[2]]
print(run.failure_of(row), end="")
"""


def launch(row: Capability) -> np.ndarray | None:
    """The first argument after the row's kernel ran."""
    arguments: list[Any] = [x.copy() if isinstance(x, np.ndarray) else x for x in row.inputs]
    result = None
    if row.out is not None:
        result = np.zeros(row.out.shape, row.out.dtype) if row.start is None else row.start.copy()
        arguments.insert(0, result)
    row.kernel[row.config](*arguments, **row.keywords)
    kdsl.synchronize()
    return result


def failure_of(row: Capability) -> str:
    """The kind and the text of what a row raises."""
    kind = row.raises[0] if row.raises else kdsl.DeviceError
    try:
        launch(row)
    except kind as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was raised"


def failure_on_a_gpu(row: Capability) -> str:
    """`failure_of` in a process of its own: a fault ends the use of the GPU in the process that makes it."""
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS, str(ROOT), row.id],
        capture_output=True, text=True, timeout=200, check=False, cwd=ROOT,
    )  # fmt: skip
    return done.stdout if done.returncode == 0 else done.stderr


def difference(row: Capability, got: np.ndarray) -> str | None:
    """Where ``got`` is not what the row expects: None if nowhere. NaNs are equal, zeros of two signs are not."""
    want = row.out
    assert want is not None
    if want.dtype.kind not in "fVc" or want.dtype.names:
        wrong = got != want
    else:
        wrong = _far_off(row, got, want)
    places = np.argwhere(wrong)
    if not len(places):
        return None
    first = tuple(int(i) for i in places[0])
    return f"{len(places)} elements differ, first at {first}: got {got[first]!r}, expected {want[first]!r}"


def _far_off(row: Capability, got: np.ndarray, want: np.ndarray) -> np.ndarray:
    if want.dtype.kind == "c":
        return _far_off(row, got.view(got.real.dtype), want.view(want.real.dtype))
    wide = np.float64 if want.dtype.itemsize < 8 else np.longdouble
    g, w = got.astype(wide), want.astype(wide)
    same = ((g == w) & (np.signbit(g) == np.signbit(w))) | (np.isnan(g) & np.isnan(w))
    if not row.because:
        return ~same
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(want)).astype(wide)
        near = np.abs(g - w) <= np.maximum(row.ulps * unit, row.absolute)
    return ~(same | near)
