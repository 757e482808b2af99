"""Names that kdsl lacks: what is written for those of CUDA C++, Numba, CuPy and Warp, and for misspelt ones."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import kdsl
from kdsl import Ptr, f32, kernel
from kdsl.frontend.other_names import DEVICE, HOST

SAID = [
    ("ones", "write kdsl.full(shape, 1, dtype)"),
    ("float32", "write kdsl.f32"),
    ("threadIdx", "write kdsl.thread_idx"),
    ("syncthreads", "write kdsl.sync_threads"),
    ("__syncthreads", "write kdsl.sync_threads"),
    ("device_array", "write kdsl.empty(shape, dtype)"),
    ("to_gpu", "write kdsl.to_device(a)"),
    ("jit", "write kdsl.kernel"),
    ("tid", "write kdsl.grid(1)"),
    ("cos", "write kdsl.math.cos"),
    ("atomicAdd", "write kdsl.atomic.add(x, i, value)"),
    ("atomic_and", "write kdsl.atomic.and_"),
    ("make_float4", "write kdsl.f32x4(x, y, z, w)"),
    ("dim3", "a grid is an int or a tuple of the launch: k[(4, 4), 256]"),
    ("func", "functions need no mark: a kernel calls plain Python functions"),
    ("kernal", "write kdsl.kernel"),
]


@pytest.mark.parametrize(("name", "advice"), SAID)
def test_an_attribute_that_is_not_there_says_what_to_write(name: str, advice: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(kdsl, name)
    assert str(raised.value) == f"module 'kdsl' has no attribute {name!r}: {advice}"


@pytest.mark.parametrize(("name", "advice"), SAID)
def test_an_import_says_it_too(name: str, advice: str) -> None:
    with pytest.raises(ImportError) as raised:
        exec(f"from kdsl import kernel, {name}")
    assert str(raised.value) == f"cannot import name {name!r} from 'kdsl': {advice}"


def test_what_is_like_nothing_gets_no_advice() -> None:
    with pytest.raises(AttributeError, match=r"^module 'kdsl' has no attribute 'xyzzy'$"):
        kdsl.xyzzy
    with pytest.raises(ImportError, match=r"^cannot import name 'xyzzy' from 'kdsl'$"):
        from kdsl import xyzzy  # noqa: F401
    assert not hasattr(kdsl, "ones")


def test_python_adds_no_guess_of_its_own() -> None:
    ran = subprocess.run([sys.executable, "-c", "import kdsl; kdsl.ones"], capture_output=True, text=True, check=False)
    assert ran.stderr.endswith(
        "AttributeError: module 'kdsl' has no attribute 'ones': write kdsl.full(shape, 1, dtype)\n"
    )


def test_tools_that_ask_for_special_names_load_nothing() -> None:
    script = "import sys, kdsl; hasattr(kdsl, '__wrapped__'); print('kdsl.frontend' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


@pytest.mark.parametrize("table", [HOST, DEVICE])
def test_what_is_advised_is_there_and_what_is_replaced_is_not(table: dict[str, str]) -> None:
    public = {*kdsl.__all__, "compile", "math", "random"}
    assert not public & set(table)
    for name, advice in table.items():
        assert set(re.findall(r"kdsl\.(\w+)", advice)) <= public, name


def test_a_kernel_is_told_what_kernels_write() -> None:
    @kernel
    def k(x: Ptr[f32]):
        i = kdsl.threadIdx.x
        x[i] = kdsl.cos(x[i])
        kdsl.ones(3)

    with pytest.raises(kdsl.CompileError) as raised:
        k.check()
    hints = [line.strip() for line in str(raised.value).splitlines() if "hint:" in line]
    assert hints == ["hint: write kdsl.thread_idx", "hint: write kdsl.math.cos"]
