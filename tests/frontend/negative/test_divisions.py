"""A quotient of ints where an int is wanted: the hint keeps all its bits."""

from __future__ import annotations

from kdsl import Ptr, atomic, clz, f32, i32, i64, kernel, u32

from ..harness import check_errors


def whole(v: i32) -> i32:
    return v


def halved(v: i32) -> i32:
    return v / 2  # error: this is f32, but the result of `halved` takes i32  # hint: divide with //: v // 2


@kernel
def quotients(o: Ptr[i32], big: Ptr[i64], a: i32, b: i32, w: i64, x: f32) -> None:
    o[0] = a / b  # error: this is f32, but `o` takes i32  # hint: divide with //: a // b
    n: i32 = a / b  # error: this is f32, but `n` takes i32  # hint: divide with //: a // b
    o[1] += a / 2  # error: this is f32, but `o` takes i32  # hint: divide with //: a // 2
    z = 3 + a
    z = (a + 1) / b  # error: `z` is f32 here but i32 at line {-1} (`z = 3 + a`); a variable keeps one type
    # hint: divide with //: (a + 1) // b
    whole(a / b)  # error: this is f32, but `v` of `whole` takes i32  # hint: divide with //: a // b
    o[2] = -(a / b) + 1  # error: this is f32, but `o` takes i32  # hint: divide with //: -(a // b) + 1
    o[3] = a / b if a else a  # error: this is f32, but `o` takes i32  # hint: divide with //: a // b if a else a
    atomic.add(o, 0, a / b)  # error: this is f32, but atomic.add() takes i32  # hint: divide with //: a // b
    big[0] = w / b  # error: this is f64, but `big` takes i64  # hint: divide with //: w // b
    o[4] = w / b  # error: this is f64, but `o` takes i32  # hint: divide with //: i32(w // b)
    o[5] = clz(a / 2)  # error: clz() takes i32, u32, i64 or u64, and this is f32  # hint: divide with //: a // 2
    o[6] = halved(a)


@kernel
def floats(o: Ptr[i32], a: i32, x: f32) -> None:
    o[0] = x / a  # error: this is f32, but `o` takes i32  # hint: cast it: i32(x / a)
    o[1] = a / 2.0  # error: this is f32, but `o` takes i32  # hint: cast it: i32(a / 2.0)
    o[2] = a / 2 * x  # error: this is f32, but `o` takes i32  # hint: cast it: i32(a / 2 * x)
    o[3] = x  # error: this is f32, but `o` takes i32  # hint: cast it: i32(x)


@kernel
def other_types(o: Ptr[u32], f: Ptr[f32], a: u32, b: i32) -> None:
    o[0] = a / 2  # error: this is f32, but `o` takes u32  # hint: divide with //: a // 2
    o[1] = b / 2  # error: this is f32, but `o` takes u32  # hint: divide with //: u32(b // 2)
    f[0] = a / 2


def test_quotients_of_ints() -> None:
    check_errors(quotients, helpers=(halved,))


def test_quotients_of_floats() -> None:
    check_errors(floats)


def test_quotients_of_other_types() -> None:
    check_errors(other_types)
