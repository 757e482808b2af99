"""Names that a refused statement binds: the statement is the mistake, their uses are not."""

from __future__ import annotations

from kdsl import Ptr, f32, i32, kernel

from ..harness import check_errors


class Context:
    pass


def test_names_bound_by_a_with():
    @kernel
    def k(x: Ptr[f32]):
        with Context() as p:  # error: `with` cannot run in a kernel
            q = 1
        x[0] = q + p

    check_errors(k)


def test_names_bound_by_a_try():
    @kernel
    def k(x: Ptr[f32], n: i32):
        try:  # error: a kernel cannot catch exceptions: there are none on the device
            q = n
        except ValueError as error:
            w = 2
        x[0] = q + w

    check_errors(k)


def test_names_bound_by_imports_and_classes():
    @kernel
    def k(x: Ptr[f32]):
        import os.path  # error: a kernel cannot import
        from os import sep as q  # error: a kernel cannot import

        class Inner:  # error: a class cannot be defined in a kernel
            value = 1

        x[0] = os.sep + q
        x[1] = Inner.value
        x[2] = Inner()

    check_errors(k)


def test_names_bound_by_a_with_on_one_path():
    @kernel
    def k(x: Ptr[f32], n: i32):
        if n:
            with Context():  # error: `with` cannot run in a kernel
                q = 1
        else:
            q = 2
        x[0] = q
        x[1] = undefined_name  # error: `undefined_name` is not defined

    check_errors(k)


def test_names_bound_by_a_with_in_a_nested_function():
    @kernel
    def k(x: Ptr[f32], n: i32):
        with Context():  # error: `with` cannot run in a kernel
            q = 1

        def inner(p):
            return p + q

        x[0] = inner(n)

    check_errors(k)
