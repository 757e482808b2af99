"""Kernels without annotations: what is reported of them before a launch says the types."""

from __future__ import annotations

import pytest

from kdsl.frontend import check_syntax
from kdsl.source import CompileError

from ..harness import expected_errors


def check_untyped_errors(kernel):
    """The errors of a kernel without types are exactly those that its comments say, each once."""
    with pytest.raises(CompileError) as caught:
        check_syntax(kernel)
    reported = [(d.span.line, d.message) for d in caught.value.diagnostics]
    assert sorted(reported) == sorted(expected_errors(kernel))


def test_statements():
    def k(x, n):
        with x:  # error: `with` cannot run in a kernel
            undefined_name
        try:  # error: a kernel cannot catch exceptions: there are none on the device
            undefined_name
        except ValueError:
            undefined_name
        raise ValueError  # error: a kernel cannot raise
        import os  # error: a kernel cannot import

        del n  # error: `del` cannot be used in a kernel
        global COUNT  # error: `global` cannot be used in a kernel: it cannot change the host's variables

        class Inner:  # error: a class cannot be defined in a kernel
            undefined_name

        async def inner():  # error: an async function cannot be defined in a kernel
            await undefined_name

    check_untyped_errors(k)


def test_values():
    def k(x, n):
        x[0] = [n, [n]][0]
        x[1] = {n: {n: 1}}  # error: a kernel has no dicts
        x[2] = {n, 1}  # error: a kernel has no sets
        x[3] = 1j
        x[4] = b"text"  # error: a kernel has no bytes
        x[5] = ...  # error: `...` is no value in a kernel
        x[6] = f"{n}"  # error: an f-string is only for print() and assert
        x[7] = x[1:2][0]
        x[8] = (*x, n)  # error: a kernel has no * unpacking

    check_untyped_errors(k)


def test_comprehensions_bind_names_of_their_own():
    def k(x, n):
        x[0] = [i + unknown for i in x]  # error: `unknown` is not defined
        x[1] = {i: j for i, j in x}  # error: a comprehension makes a dict, and a kernel has none
        x[2] = sum(i for i in x)
        x[3] = (i for i in x)  # error: a generator expression is only for sum, min, max, any and all

    check_untyped_errors(k)


def test_operators():
    def k(x, n):
        x[0] = n @ x  # error: a kernel has no `@`
        x @= n  # error: a kernel has no `@`

    check_untyped_errors(k)


def test_attributes_may_be_fields():
    def k(x, n):
        x.size = n  # `x` may be a struct or a vector
        n = n @ n  # error: a kernel has no `@`

    check_untyped_errors(k)


def test_returns():
    def k(x, n):
        def inner(p):
            return p + n

        g = lambda p: p
        if n > inner(n) + g(n):
            return n  # error: a kernel returns nothing
        if n > 1:
            return
        if n > 2:
            return None
        return x  # error: a kernel returns nothing

    check_untyped_errors(k)


def test_names():
    def k(x, n):
        x[0] = undefined_name  # error: `undefined_name` is not defined

        def inner(p):
            return p + undefined_inside  # error: `undefined_inside` is not defined

        x[1] = inner(lambda q: q + undefined_in_lambda)  # error: `undefined_in_lambda` is not defined
        undefined_function(n)  # error: `undefined_function` is not defined

    check_untyped_errors(k)


def test_generators():
    def k(x, n):
        for i in range(n):
            yield i  # error: a kernel cannot yield

    check_untyped_errors(k)


def test_parameters():
    def k(x, *rest):  # error: `k` takes *args or **kwargs
        pass

    check_untyped_errors(k)


def test_what_is_part_of_the_language_is_not_reported():
    def k(x, n):
        """A docstring."""
        [a, b] = n, 1
        for [c, d] in ((1, 2), (3, 4)):
            print(f"{a} {b:4d}", c, d, sep=f"{1}")
        assert n > 0, f"{1} is less"
        x[a, b] = (e := n) + e
        x[0]: float = 1.0 if not n else max(n, 2)

    check_syntax(k)
