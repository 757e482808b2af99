"""Callable objects of the host that a kernel cannot call."""

from __future__ import annotations

import functools
from typing import Any

from kdsl import Ptr, i32, kernel

from ..harness import check_errors


class Memoised:
    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)

    def __call__(self, v: i32) -> i32:
        return v


@Memoised
def wrapped(v: i32) -> i32:
    return v


class OfTheHost:
    __call__ = functools.partial(print, "x")


class Affine:
    def __call__(self, v: i32) -> i32:
        return v


affine, host = Affine(), OfTheHost()


def test_what_is_no_function_object() -> None:
    @kernel
    def k(o: Ptr[i32], n: i32) -> None:
        o[0] = wrapped(n)  # error: `wrapped` is wrapped by a decorator, which a kernel cannot run
        o[1] = host(n)  # error: `host` is an OfTheHost, not a function that a kernel can call
        o[2] = affine.missing(n)  # error: `affine` has no attribute `missing`

    check_errors(k)
