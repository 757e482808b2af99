"""Names that PTX or the device's runtime uses itself, and other ways to write a kernel down."""

import math

import numpy as np
import pytest

from kdsl import Ptr, f32, i32, kernel

from ..sources import define
from .running import run

PTX_WORDS = """
    reg param tid ld st _ WARP_SZ é ret add entry b32 pred shared local const mov bar call func align r1 rd1 f1 p1
    visible version target ntid laneid clock 变量 self define ptr undef null label phi llvm malloc printf vprintf
    memcpy sin extern weak __assertfail __nv_sinf main exit trap
""".split()


def test_names():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        _ = n
        __ = 2
        WARP_SZ = 3
        é = 4
        π = 2.5
        reg = param = tid = ld = 5
        ret = 6
        add = 7
        entry = 8
        b32 = u8_ = 1
        global_ = 1
        变量 = 9
        y[0] = _ + __ + WARP_SZ + é + reg + ret + add + entry + b32 + 变量
        x[0] = π

    x, y = run(k)
    assert y[:1] == [50]
    assert x[:1] == [2.5]


@pytest.mark.parametrize("name", PTX_WORDS)
def test_words_of_ptx_and_the_runtime(name):
    """As a parameter, a variable, a device function and a kernel."""
    function = f"def {name}(v):\n    r = 0\n    for i in range(v):\n        r += i * v\n    return r\n"
    helper = define(function, name)
    text = f"@kernel\ndef k({name}: Ptr[f32], y: Ptr[i32], n: i32):\n    {name}[0] = n\n    y[0] = helper(n)\n"
    k = define(text, "k", kernel=kernel, Ptr=Ptr, f32=f32, i32=i32, helper=helper)
    assert [v[0] for v in run(k)] == [5.0, 50]
    text = f"@kernel\ndef {name}(x: Ptr[f32], y: Ptr[i32], n: i32):\n    {name} = n + 1\n    y[0] = {name}\n"
    text += "    x[0] = math.sin(0.0 * n) + n\n    print(n)\n    assert n > 0\n"
    k = define(text, name, kernel=kernel, Ptr=Ptr, f32=f32, i32=i32, math=math)
    assert [v[0] for v in run(k)] == [5.0, 6]


FORMS = {
    "tabs": "@kernel\ndef k(x: Ptr[f32], y: Ptr[i32], n: i32):\n\ty[0] = 1\n\tif n:\n\t\ty[0] = n\n",
    "one line": "@kernel\ndef k(x: Ptr[f32], y: Ptr[i32], n: i32): x[0] = 1; y[0] = n\n",
    "positional only": "@kernel\ndef k(x: Ptr[f32], y: Ptr[i32], /, n: i32):\n    y[0] = n\n",
    "many lines": "@kernel(fmad=False)\ndef k(\n    x: Ptr[f32],  # x\n    y: Ptr[i32],\n    n: i32,\n) -> None:\n    y[0] = n\n",
    "strings": "@kernel\ndef k(x: 'Ptr[f32]', y: \"Ptr[i32]\", n: 'i32') -> 'None':\n    y[0] = n\n",
    "future": "from __future__ import annotations\n@kernel\ndef k(x: Ptr[f32], y: Ptr[i32], n: i32):\n    y[0] = n\n",
    "numpy": "@kernel\ndef k(x: Ptr[np.float32], y: Ptr[np.int32], n: np.int32):\n    y[0] = n\n",
    "python": "@kernel\ndef k(x: Ptr[float], y: Ptr[int], n: int):\n    y[0] = n\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    k = define(FORMS[form], "k", kernel=kernel, Ptr=Ptr, f32=f32, i32=i32, np=np)
    assert run(k)[1][0] == 5
