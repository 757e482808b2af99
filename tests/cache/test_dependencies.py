"""What changes what is compiled is noticed by another process, and what does not is not: each with its right result.

A program runs, runs again, is changed and runs again, each time in a namespace of its own and with the same cache: as
in processes one after the other, which take longer.
"""

from __future__ import annotations

import pytest

from tests.cache.programs import Sessions

HEAD = """
import enum, functools, sys
import numpy as np
from typing import ClassVar, NamedTuple, TypeVar
import kdsl
from kdsl import *
from kdsl import kernel, shared, constant, device
N_THREADS = 4
"""
TAIL = """
out = np.zeros(4, np.float32)
k[1, 4](out{arguments})
result = out.tolist()
"""
KERNEL = """
@kernel
def k(out: Ptr[f32]):
    i = thread_idx.x
    out[i] = {expression}
"""


def program(body: str, arguments: str = "") -> str:
    return HEAD + body + TAIL.format(arguments=arguments)


def value_of(expression: str, before: str) -> str:
    return program(before + KERNEL.format(expression=expression))


PARAMETER = """
@struct
class S:
    x: f32
    def f(self): return {}
@kernel
def k(out: Ptr[f32], s: S):
    out[thread_idx.x] = s.f()
"""
FACTORY = """
def make(x, helper=None):
    def h(v):
        return v * x
    helper = helper or h
    @kernel
    def k(out: Ptr[f32]):
        out[thread_idx.x] = helper(1.0) * x
    return k, h
"""
PUT_BACK = "kdsl.math.sqrt = sqrt\n"
# Name: the program, its result; the changed program, its result.
FIRST, SECOND = [1.0] * 4, [2.0] * 4
CHANGES = {
    "the kernel's text": (value_of("1.0", ""), value_of("2.0", "")),
    "a captured int": (value_of("float(N)", "N = 1\n"), value_of("float(N)", "N = 2\n")),
    "a captured float": (value_of("X", "X = 1.0\n"), value_of("X", "X = 2.0\n")),
    "a NumPy scalar": (value_of("X", "X = np.float32(1)\n"), value_of("X", "X = np.float32(2)\n")),
    "a bool": (value_of("1.0 if B else 2.0", "B = True\n"), value_of("1.0 if B else 2.0", "B = False\n")),
    "a tuple": (value_of("T[1]", "T = (3.0, 1.0)\n"), value_of("T[1]", "T = (3.0, 2.0)\n")),
    "a helper's text": (
        value_of("f()", "def f():\n    return 1.0\n"),
        value_of("f()", "def f():\n    return 2.0\n"),
    ),
    "what a helper captures": (
        value_of("f()", "N = 1.0\ndef f():\n    return N\n"),
        value_of("f()", "N = 2.0\ndef f():\n    return N\n"),
    ),
    "a helper's helper": (
        value_of("f()", "def g():\n    return 1.0\ndef f():\n    return g()\n"),
        value_of("f()", "def g():\n    return 2.0\ndef f():\n    return g()\n"),
    ),
    "a helper's default": (
        value_of("f()", "N = 1.0\ndef f(x=N):\n    return x\n"),
        value_of("f()", "N = 2.0\ndef f(x=N):\n    return x\n"),
    ),
    "a helper's keyword default": (
        value_of("f()", "N = 1.0\ndef f(*, x=N):\n    return x\n"),
        value_of("f()", "N = 2.0\ndef f(*, x=N):\n    return x\n"),
    ),
    "a type in a helper's annotation": (
        value_of("f(1) / 2 * 2", "T = f32\ndef f(x: T) -> T:\n    return x\n"),
        value_of("f(1) / 2 * 2", "T = i32\ndef f(x: T) -> T:\n    return x + 1\n"),
    ),
    "which function a name is": (
        value_of("h()", "def f(): return 1.0\ndef g(): return 2.0\nh = f\n"),
        value_of("h()", "def f(): return 1.0\ndef g(): return 2.0\nh = g\n"),
    ),
    "a lambda": (value_of("f(1.0)", "f = lambda x: x\n"), value_of("f(1.0)", "f = lambda x: x + 1.0\n")),
    "which lambda of a line": (
        value_of("F[0]()", "F = (lambda: 1.0, lambda: 2.0)\n"),
        value_of("F[0]()", "F = (lambda: 1.0, lambda: 2.0)[::-1]\n"),
    ),
    "a closure's cell": (
        program("def make(n):\n    @kernel\n    def k(out: Ptr[f32]):\n        out[thread_idx.x] = n\n    return k\nk = make(1.0)\n"),
        program("def make(n):\n    @kernel\n    def k(out: Ptr[f32]):\n        out[thread_idx.x] = n\n    return k\nk = make(2.0)\n"),
    ),
    "a partial's argument": (
        value_of("f(0.0)", "def g(x, y):\n    return x + y\nf = functools.partial(g, 1.0)\n"),
        value_of("f(0.0)", "def g(x, y):\n    return x + y\nf = functools.partial(g, 2.0)\n"),
    ),
    "a class constant": (
        value_of("C.X", "class C:\n    X = 1.0\n"),
        value_of("C.X", "class C:\n    X = 2.0\n"),
    ),
    "an object's attribute": (
        value_of("c.x", "class C: pass\nc = C()\nc.x = 1.0\n"),
        value_of("c.x", "class C: pass\nc = C()\nc.x = 2.0\n"),
    ),
    "an object's property": (
        value_of("c.x", "V = 1.0\nclass C:\n    @property\n    def x(self): return V\nc = C()\n"),
        value_of("c.x", "V = 2.0\nclass C:\n    @property\n    def x(self): return V\nc = C()\n"),
    ),
    "a callable object's text": (
        value_of("c(1.0)", "class C:\n    def __call__(self, x): return x\nc = C()\n"),
        value_of("c(1.0)", "class C:\n    def __call__(self, x): return x + 1.0\nc = C()\n"),
    ),
    "a callable object's attribute": (
        value_of("c(1.0)", "class C:\n    def __init__(self, y): self.y = y\n    def __call__(self, x): return x * self.y\nc = C(1.0)\n"),
        value_of("c(1.0)", "class C:\n    def __init__(self, y): self.y = y\n    def __call__(self, x): return x * self.y\nc = C(2.0)\n"),
    ),
    "an enum member": (
        value_of("float(E.A)", "class E(enum.IntEnum):\n    A = 1\n"),
        value_of("float(E.A)", "class E(enum.IntEnum):\n    A = 2\n"),
    ),
    "an array's contents": (
        value_of("constant.array(A)[i]", "A = np.full(4, 1, np.float32)\n"),
        value_of("constant.array(A)[i]", "A = np.full(4, 2, np.float32)\n"),
    ),
    "a struct's method": (
        value_of("S(1.0).f()", "@struct\nclass S:\n    x: f32\n    def f(self): return self.x\n"),
        value_of("S(1.0).f()", "@struct\nclass S:\n    x: f32\n    def f(self): return self.x + 1.0\n"),
    ),
    "a struct's default": (
        value_of("S().x", "@struct\nclass S:\n    x: f32 = 1.0\n"),
        value_of("S().x", "@struct\nclass S:\n    x: f32 = 2.0\n"),
    ),
    "a struct's operator": (
        value_of("(S(1.0) + S(0.0)).x", "@struct\nclass S:\n    x: f32\n    def __add__(self, o): return S(self.x + o.x)\n"),
        value_of("(S(1.0) + S(0.0)).x", "@struct\nclass S:\n    x: f32\n    def __add__(self, o): return S(self.x + o.x + 1.0)\n"),
    ),
    "a struct's property": (
        value_of("S(1.0).y", "@struct\nclass S:\n    x: f32\n    @property\n    def y(self): return self.x\n"),
        value_of("S(1.0).y", "@struct\nclass S:\n    x: f32\n    @property\n    def y(self): return self.x * 2.0\n"),
    ),
    "what a struct's method captures": (
        value_of("S(1.0).f()", "N = 0.0\n@struct\nclass S:\n    x: f32\n    def f(self): return self.x + N\n"),
        value_of("S(1.0).f()", "N = 1.0\n@struct\nclass S:\n    x: f32\n    def f(self): return self.x + N\n"),
    ),
    "a struct object": (
        value_of("s.x", "@struct\nclass S:\n    x: f32\ns = S(1.0)\n"),
        value_of("s.x", "@struct\nclass S:\n    x: f32\ns = S(2.0)\n"),
    ),
    "a struct of a factory": (
        value_of("S(1.0).f()", "def make(n):\n    @struct\n    class S:\n        x: f32\n        def f(self): return self.x * n\n    return S\nS = make(1.0)\n"),
        value_of("S(1.0).f()", "def make(n):\n    @struct\n    class S:\n        x: f32\n        def f(self): return self.x * n\n    return S\nS = make(2.0)\n"),
    ),
    "a field's type": (
        value_of("float(S(2).x / 2 * 2) - float(size_of(S) == 4)", "@struct\nclass S:\n    x: f32\n"),
        value_of("float(S(2).x / 2 * 2) - float(size_of(S) == 4)", "@struct\nclass S:\n    x: f64\n"),
    ),
    "a name that comes to hide a builtin": (
        value_of("float(abs(-1))", "other = 1\n"),
        value_of("float(abs(-1))", "def abs(x): return 2\n"),
    ),
    "an option": (
        program("@kernel\ndef k(out: Ptr[f32]):\n    assert N_THREADS == 3\n    out[thread_idx.x] = 1.0\n".replace("N_THREADS == 3", "True")),
        program("@kernel(fastmath=True)\ndef k(out: Ptr[f32]):\n    out[thread_idx.x] = 2.0\n"),
    ),
    "a constant parameter": (
        program("@kernel\ndef k(out: Ptr[f32], n: Constexpr[int]):\n    out[thread_idx.x] = float(n)\n", ", 1"),
        program("@kernel\ndef k(out: Ptr[f32], n: Constexpr[int]):\n    out[thread_idx.x] = float(n)\n", ", 2"),
    ),
    "a constant's default": (
        program("@kernel\ndef k(out: Ptr[f32], n: Constexpr[int] = 1):\n    out[thread_idx.x] = float(n)\n"),
        program("@kernel\ndef k(out: Ptr[f32], n: Constexpr[int] = 2):\n    out[thread_idx.x] = float(n)\n"),
    ),
    "a constant type": (
        program("@kernel\ndef k(out: Ptr[f32], T: Constexpr[type]):\n    out[thread_idx.x] = float(size_of(T) // 4)\n", ", f32"),
        program("@kernel\ndef k(out: Ptr[f32], T: Constexpr[type]):\n    out[thread_idx.x] = float(size_of(T) // 4)\n", ", f64"),
    ),
    "a constant string": (
        program("@kernel\ndef k(out: Ptr[f32], s: Constexpr[str]):\n    out[thread_idx.x] = 1.0 if s == 'a' else 2.0\n", ", 'a'"),
        program("@kernel\ndef k(out: Ptr[f32], s: Constexpr[str]):\n    out[thread_idx.x] = 1.0 if s == 'a' else 2.0\n", ", 'b'"),
    ),
    "a constant tuple": (
        program("@kernel\ndef k(out: Ptr[f32], t: Constexpr[tuple[int, int]]):\n    out[thread_idx.x] = float(t[1])\n", ", (0, 1)"),
        program("@kernel\ndef k(out: Ptr[f32], t: Constexpr[tuple[int, int]]):\n    out[thread_idx.x] = float(t[1])\n", ", (0, 2)"),
    ),
    "a function as an argument": (
        program("def f(x): return x\n@kernel\ndef k(out: Ptr[f32], f):\n    out[thread_idx.x] = f(1.0)\n", ", f"),
        program("def f(x): return x + x\n@kernel\ndef k(out: Ptr[f32], f):\n    out[thread_idx.x] = f(1.0)\n", ", f"),
    ),
    "what a function argument's global is": (
        program("N = 1.0\ndef f(x): return x * N\n@kernel\ndef k(out: Ptr[f32], f):\n    out[thread_idx.x] = f(1.0)\n", ", f"),
        program("N = 2.0\ndef f(x): return x * N\n@kernel\ndef k(out: Ptr[f32], f):\n    out[thread_idx.x] = f(1.0)\n", ", f"),
    ),
    "the type of a scalar argument": (
        program("@kernel\ndef k(out: Ptr[f32], x):\n    out[thread_idx.x] = float(size_of(type_of(x)) // 4)\n", ", np.float32(1)"),
        program("@kernel\ndef k(out: Ptr[f32], x):\n    out[thread_idx.x] = float(size_of(type_of(x)) // 4)\n", ", np.float64(1)"),
    ),
    "a NamedTuple's default": (
        value_of("P().x", "class P(NamedTuple):\n    x: f32 = 1.0\n"),
        value_of("P().x", "class P(NamedTuple):\n    x: f32 = 2.0\n"),
    ),
    "a local variable's annotation": (
        program("T = i32\n@kernel\ndef k(out: Ptr[f32]):\n    x: T = 0\n    out[thread_idx.x] = float(size_of(type_of(x)) // 4)\n"),
        program("T = i64\n@kernel\ndef k(out: Ptr[f32]):\n    x: T = 0\n    out[thread_idx.x] = float(size_of(type_of(x)) // 4)\n"),
    ),
    "a device array's first values": (
        value_of("D[i]", "D = device.array(4, f32, init=1.0)\n"),
        value_of("D[i]", "D = device.array(4, f32, init=2.0)\n"),
    ),
    "a constant array that the host writes": (
        value_of("D[i]", "D = constant.empty(4, f32)\nD.fill(1.0)\n"),
        value_of("D[i]", "D = constant.empty(4, f32)\nD.fill(2.0)\n"),
    ),
    "a module's attribute": (
        value_of("config.N", "config = type(sys)('config')\nconfig.N = 1.0\n"),
        value_of("config.N", "config = type(sys)('config')\nconfig.N = 2.0\n"),
    ),
    "an attribute of an attribute": (
        value_of("a.b.x", "class C: pass\na, C.b = C(), C()\na.b.x = 1.0\n"),
        value_of("a.b.x", "class C: pass\na, C.b = C(), C()\na.b.x = 2.0\n"),
    ),
    "an attribute that another one hides": (
        value_of("c.x", "class C: x = 1.0\nc = C()\n"),
        value_of("c.x", "class C: x = 1.0\nc = C()\nc.x = 2.0\n"),
    ),
    "an inherited attribute": (
        value_of("D.X", "class C:\n    X = 1.0\nclass D(C): pass\n"),
        value_of("D.X", "class C:\n    X = 2.0\nclass D(C): pass\n"),
    ),
    "the text of a function in a tuple": (
        value_of("F[1](1.0)", "def f(x): return x\nF = (3, f)\n"),
        value_of("F[1](1.0)", "def f(x): return x * 2.0\nF = (3, f)\n"),
    ),
    "a partial's keyword": (
        value_of("f(1.0)", "def g(x, *, y):\n    return x * y\nf = functools.partial(g, y=1.0)\n"),
        value_of("f(1.0)", "def g(x, *, y):\n    return x * y\nf = functools.partial(g, y=2.0)\n"),
    ),
    "what a bound method's object holds": (
        value_of("f(1.0)", "class C:\n    def g(self, x): return x * self.y\nc = C()\nc.y = 1.0\nf = c.g\n"),
        value_of("f(1.0)", "class C:\n    def g(self, x): return x * self.y\nc = C()\nc.y = 2.0\nf = c.g\n"),
    ),
    "a bound method's text": (
        value_of("c.g(1.0)", "class C:\n    def g(self, x): return x\nc = C()\n"),
        value_of("c.g(1.0)", "class C:\n    def g(self, x): return x + 1.0\nc = C()\n"),
    ),
    "a method of a parameter's struct": (
        program(PARAMETER.format("self.x"), ", S(1.0)"),
        program(PARAMETER.format("self.x * 2.0"), ", S(1.0)"),
    ),
    "a class constant of a parameter's struct": (
        program(PARAMETER.replace("x: f32", "x: f32\n    Y: ClassVar[float] = 1.0").format("self.x * self.Y"), ", S(1.0)"),
        program(PARAMETER.replace("x: f32", "x: f32\n    Y: ClassVar[float] = 2.0").format("self.x * self.Y"), ", S(1.0)"),
    ),
    "a method of a struct in a struct": (
        program(PARAMETER.replace("@struct", "@struct\nclass I:\n    z: f32\n    def g(self): return self.z\n@struct", 1).replace("x: f32", "x: I").format("self.x.g()"), ", S(I(1.0))"),
        program(PARAMETER.replace("@struct", "@struct\nclass I:\n    z: f32\n    def g(self): return self.z * 2.0\n@struct", 1).replace("x: f32", "x: I").format("self.x.g()"), ", S(I(1.0))"),
    ),
    "what a TypeVar may be": (
        program("T = TypeVar('T', f32, f64)\n@kernel\ndef k(out: Ptr[f32], x: T):\n    out[thread_idx.x] = float(size_of(T) // 4)\n", ", np.float32(1)"),
        program("T = TypeVar('T', f64, i32)\n@kernel\ndef k(out: Ptr[f32], x: T):\n    out[thread_idx.x] = float(size_of(T) // 4)\n", ", np.float64(1)"),
    ),
    "a constant enum": (
        program("class E(enum.Enum):\n    A = 1\n    B = 2\n@kernel\ndef k(out: Ptr[f32], e: Constexpr[E]):\n    out[thread_idx.x] = float(e.value)\n", ", E.A"),
        program("class E(enum.Enum):\n    A = 1\n    B = 2\n@kernel\ndef k(out: Ptr[f32], e: Constexpr[E]):\n    out[thread_idx.x] = float(e.value)\n", ", E.B"),
    ),
    "which objects are one": (
        value_of("1.0 if M is A else 2.0", "def make():\n    def f(): return 0\n    return f\nA = make()\nM = A\n"),
        value_of("1.0 if M is A else 2.0", "def make():\n    def f(): return 0\n    return f\nA = make()\nM = make()\n"),
    ),
    "a helper of the language's mathematics": (
        value_of("f(1.0)", "import math\ndef f(x): return math.sqrt(x)\n"),
        value_of("f(4.0)", "import math\ndef f(x): return math.sqrt(x)\n"),
    ),
    "a vector constant": (
        value_of("f32x2(V).y", "V = f32x2(3, 1)\n"),
        value_of("f32x2(V).y", "V = f32x2(3, 2)\n"),
    ),
    "a complex number": (
        value_of("abs(complex64(Z))", "Z = 1j\n"),
        value_of("abs(complex64(Z))", "Z = 2j\n"),
    ),
    "a recursive function": (
        value_of("f(2.0)", "def f(x: f32) -> f32:\n    return 1.0 if x < 1.0 else f(x - 1.0)\n"),
        value_of("f(2.0)", "def f(x: f32) -> f32:\n    return 2.0 if x < 1.0 else f(x - 1.0)\n"),
    ),
    "two names for one array": (
        value_of("D[i]", "D = device.array(4, f32, init=2.0)\nE = D\n").replace("    out[i] = D[i]", "    E[i] = 1.0\n    out[i] = D[i]"),
        value_of("D[i]", "D = device.array(4, f32, init=2.0)\nE = device.array(4, f32, init=2.0)\n").replace("    out[i] = D[i]", "    E[i] = 1.0\n    out[i] = D[i]"),
    ),
    "whether two functions share their globals": (
        value_of("h() * B", "B = 1.0\ndef h(): return B\nh = type(h)(h.__code__, globals())\n"),
        value_of("h() * B", "B = 1.0\ndef h(): return B\nh = type(h)(h.__code__, {**globals(), 'B': 2.0})\n"),
    ),
    "whether two functions share a cell": (
        program(FACTORY + "k, _ = make(1.0)\n"),
        program(FACTORY + "k, _ = make(1.0, make(2.0)[1])\n"),
    ),
    "which modules are one": (
        value_of("1.0 if M is A else 2.0", "A = type(sys)('m')\nM = A\n"),
        value_of("1.0 if M is A else 2.0", "A = type(sys)('m')\nM = type(sys)('m')\n"),
    ),
    "which lists are one": (
        value_of("1.0 if M is A else 2.0", "A = [1]\nM = A\n"),
        value_of("1.0 if M is A else 2.0", "A = [1]\nM = [1]\n"),
    ),
    "which dictionaries are one": (
        value_of("1.0 if M is A else 2.0", "A = {1: 2}\nM = A\n"),
        value_of("1.0 if M is A else 2.0", "A = {1: 2}\nM = {1: 2}\n"),
    ),
    "which bytes are one": (
        value_of("1.0 if M is A else 2.0", "A = bytes([1, 2])\nM = A\n"),
        value_of("1.0 if M is A else 2.0", "A = bytes([1, 2])\nM = bytes([1, 2])\n"),
    ),
    "which class of one name an object is of": (
        value_of("1.0 if isinstance(c, B) else 2.0", "class B: pass\nc, A = B(), B\nclass B: pass\nB = A\n"),
        value_of("1.0 if isinstance(c, B) else 2.0", "class B: pass\nc, A = B(), B\nclass B: pass\nB = B\n"),
    ),
    "which class of one name a class is made from": (
        value_of("1.0 if isinstance(c, B) else 2.0", "class B: pass\nclass D(B): pass\nc, A = D(), B\nclass B: pass\nB = A\n"),
        value_of("1.0 if isinstance(c, B) else 2.0", "class B: pass\nclass D(B): pass\nc, A = D(), B\nclass B: pass\nB = B\n"),
    ),
    "a global of a function that says to be of kdsl.random": (
        value_of("f(1.0)", "N = 1.0\ndef f(x): return x * N\nf.__module__ = 'kdsl.random'\n"),
        value_of("f(1.0)", "N = 2.0\ndef f(x): return x * N\nf.__module__ = 'kdsl.random'\n"),
    ),
    "a name that the program gives kdsl": (
        value_of("kdsl.SCALE", "kdsl.SCALE = 1.0\n") + "del kdsl.SCALE\n",
        value_of("kdsl.SCALE", "kdsl.SCALE = 2.0\n") + "del kdsl.SCALE\n",
    ),
    "a function of the language that the program replaces": (
        value_of("kdsl.math.sqrt(1.0)", "def f(x): return x * 2.0\nsqrt = kdsl.math.sqrt\nkdsl.math.sqrt = sqrt\n") + PUT_BACK,
        value_of("kdsl.math.sqrt(1.0)", "def f(x): return x * 2.0\nsqrt = kdsl.math.sqrt\nkdsl.math.sqrt = f\n") + PUT_BACK,
    ),
    "the text of a function that says to be kdsl's": (
        value_of("f(1.0)", "def f(x): return x\nf.__module__ = 'kdsl.math'\n"),
        value_of("f(1.0)", "def f(x): return x * 2.0\nf.__module__ = 'kdsl.math'\n"),
    ),
    "an attribute of a class that says to be kdsl's": (
        value_of("C.X", "class C: X = 1.0\nC.__module__ = 'kdsl.math'\n"),
        value_of("C.X", "class C: X = 2.0\nC.__module__ = 'kdsl.math'\n"),
    ),
    "a global of a module that says to be kdsl's": (
        value_of("X", "__name__ = 'kdsl.math'\nX = 1.0\n"),
        value_of("X", "__name__ = 'kdsl.math'\nX = 2.0\n"),
    ),
}  # fmt: skip
NEVER_A_MISS = frozenset({"a constant array that the host writes"})
"""What is no part of what is compiled."""


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_noticed(name: str, sessions: Sessions) -> None:
    first, second = CHANGES[name]
    changed_misses = 1 if name in NEVER_A_MISS else 2
    assert sessions.run(first) == (FIRST, 0, 1)
    assert sessions.run(first) == (FIRST, 1, 1)
    result, _, misses = sessions.run(second)
    assert (result, misses) == (SECOND, changed_misses)
    # Both are there now, and each is found for what it is.
    assert sessions.run(first)[::2] == (FIRST, changed_misses)
    assert sessions.run(second)[::2] == (SECOND, changed_misses)
