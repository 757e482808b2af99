"""Names of the module: constants, enums, and text."""

import enum
import math
import typing

import numpy as np

from kdsl import Ptr, f32, i32, kernel

from .running import run

DEBUG = False
OPTION = None
MODE = "fast"
FINAL: typing.Final = 3
TYPED: typing.Final[int] = 4
PI = math.pi
TWO = np.float32(2)
TRUE = True


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Kind(enum.Enum):
    THIRD = 7


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Holder:
    NUMBER = 4


def test_globals():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        y[0] = FINAL + TYPED
        y[1] = Level.HIGH
        y[2] = Level.HIGH.value
        y[3] = Kind.THIRD.value
        y[4] = TRUE
        y[5] = Holder.NUMBER
        y[6] = n & Bits.A | Bits.B
        x[0] = PI * TWO

    x, y = run(k)
    assert y[:7] == [7, 2, 2, 7, 1, 4, 3]
    assert x[0] == np.float32(np.pi) * np.float32(2)


def test_constant_globals_choose():
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        if DEBUG:
            y[0] = 1
        else:
            y[0] = 2
        if OPTION:
            y[1] = 1
        if MODE == "fast":
            y[2] = 3

    assert run(k)[1][:3] == [2, 0, 3]


def test_text(capsys):
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        print("é", f"{'a'} {n!r:>3} {{}} {1 + 1} {n=} 100%")
        assert n, "naïve"

    run(k)
    assert capsys.readouterr().out == "é a   5 {} 2 n=5 100%\n"


def test_text_that_conversions_make(capsys):
    @kernel
    def k(x: Ptr[f32], y: Ptr[i32], n: i32):
        print(f"{n!r:5}|{n!s:>5}|{n!r}|{'a'!r:5}|{'a'!s:5}|{1!r:>3}|{'a'=}|{n=}|{n:5}|{n!r:<3}|")

    run(k)
    n = 5
    assert (
        capsys.readouterr().out == f"{n!r:5}|{n!s:>5}|{n!r}|{'a'!r:5}|{'a'!s:5}|{1!r:>3}|{'a'=}|{n=}|{n:5}|{n!r:<3}|\n"
    )
