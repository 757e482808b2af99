"""A function that makes a struct for each type, in a module whose annotations are postponed."""

# mypy: ignore-errors

from __future__ import annotations

from functools import cache

from kdsl import FixedArray, struct


@cache
def pair(T):
    @struct
    class Pair:
        a: T
        w: FixedArray[T, 2]

        def total(self) -> T:
            s: T = 0
            for x in self.w:
                s += x
            return self.a + s

        def scaled(self, by: T) -> Pair:
            return Pair(self.a * by, self.w)

    return Pair
