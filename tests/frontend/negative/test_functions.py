"""Mistakes in device functions: they are reported where they are, once for all calls."""

from __future__ import annotations

from kdsl import Ptr, f32, f64, i32, kernel, u32

from ..harness import check_errors


def no_value(p):
    p[0] = 1


def list_annotation(p: list):  # error: `p` is annotated `list`, which is no type of the kernel language
    return p


def unknown_annotation(p: "undefined_type"):  # error: `p` is annotated `undefined_type`, which is no type of the kernel
    #   language (name 'undefined_type' is not defined)
    return p


def list_result(p) -> list:  # error: the result is annotated `list`, which is no type of the kernel language
    return p


def two_shapes(p):
    if p > 0:
        return 1
    return (1, 2)  # error: this is tuple[i32, i32], but the result of `two_shapes` (line {-1}) takes i32


def two_signs(p: i32, q: u32):
    if p > 0:
        return p
    return q  # error: this is u32, but the result of `two_signs` (line {-1}) takes i32 # hint: cast it: i32(q)


def float_result(p: i32) -> i32:
    return 1.5  # error: 1.5 is a float literal where i32 is needed # hint: write an int, or cast it: i32(1.5)


def wide_result(p: f64) -> f32:
    return p  # error: this is f64, but the result of `wide_result` takes f32 # hint: cast it: f32(p)


def nothing_result(p) -> None:
    return 1  # error: `nothing_result` is annotated `-> None`, and returns a value here
    #   # hint: return a value everywhere, or nowhere


def pair_result(p: i32) -> f32:
    return p, p  # error: this is tuple[i32, i32], but the result of `pair_result` takes f32


def sometimes(p: i32) -> i32:  # error: `sometimes` returns i32 at line {3}, but may end without a return
    #   # hint: return a value at its end, too
    if p > 0:
        return 1


def in_a_while(p: i32) -> i32:  # error: `in_a_while` returns i32 at line {2}, but may end without a return
    while p > 0:
        return 1


def in_a_for(p: i32) -> i32:  # error: `in_a_for` returns i32 at line {2}, but may end without a return
    for i in range(p):
        return 1


def value_or_nothing(p):
    if p > 0:
        return p
    return  # error: `value_or_nothing` returns i32 elsewhere, and nothing here
    #   # hint: return a value, or none anywhere


def returns_nothing(p):
    return no_value(p)


def returns_nothing_or_value(p, n):
    if n > 0:
        return n
    return no_value(p)  # error: `no_value(p)` returns no value


def uses_undefined(p):
    return undefined_name + p  # error: `undefined_name` is not defined


def indexes(p):
    return p[0]  # error: i32 cannot be indexed


def writes_a_global(p):
    global COUNT  # error: `global` cannot be used in a kernel: it cannot change the host's variables
    #   # hint: store it in an array
    COUNT = p
    return p


def updates_a_global(p):
    global TOTAL  # error: `global` cannot be used in a kernel: it cannot change the host's variables
    TOTAL += p
    return TOTAL


def catches(p):
    try:  # error: a kernel cannot catch exceptions: there are none on the device # hint: test with if, or assert
        return p
    except ValueError:
        return 1


def rebinds(p: i32):
    p = 2.5  # error: 2.5 is a float literal where i32 is needed # hint: write an int, or cast it: i32(2.5)
    return p


def rebinds_untyped(p):
    p = 2.5  # error: `p` is a float literal (f32) here but i32 as a parameter (line {-1}); a variable keeps one
    #   type # hint: cast it: p = i32(2.5)
    return p


def outer(p):
    return inner(p)


def inner(p):
    return p.field  # error: `p` is i32, which has no attribute `field`


def counter():
    count = [1]

    def use(p):
        return count[0] + p  # error: `count` (a list of the host) cannot be indexed
        #   # hint: make it a tuple, or pass an array as a parameter

    return use


COUNTED = counter()


def test_annotations():
    @kernel
    def k(x: Ptr[f32], n: i32):
        list_annotation(n)
        unknown_annotation(n)
        x[0] = list_result(n)

    check_errors(k, helpers=(list_annotation, list_result, unknown_annotation))


def test_results_of_two_types():
    @kernel
    def k(x: Ptr[f32], n: i32, u: u32):
        x[0] = two_shapes(n)
        x[1] = two_signs(n, u)

    check_errors(k, helpers=(two_shapes, two_signs))


def test_results_that_need_a_cast():
    @kernel
    def k(x: Ptr[f32], n: i32, d: f64):
        x[0] = float_result(n)
        x[1] = wide_result(d)
        x[2] = pair_result(n)
        nothing_result(n)

    check_errors(k, helpers=(float_result, nothing_result, pair_result, wide_result))


def test_results_that_may_be_missing():
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = sometimes(n)
        x[1] = in_a_while(n)
        x[2] = in_a_for(n)
        x[3] = value_or_nothing(n)

    check_errors(k, helpers=(in_a_for, in_a_while, sometimes, value_or_nothing))


def test_results_of_calls_without_a_value():
    @kernel
    def k(x: Ptr[f32], n: i32):
        returns_nothing(x)
        x[0] = returns_nothing_or_value(x, n)

    check_errors(k, helpers=(returns_nothing_or_value,))


def test_names_in_functions():
    @kernel
    def k(n: i32, f: f32):
        uses_undefined(n)
        uses_undefined(f)

    check_errors(k, helpers=(uses_undefined,))


def test_types_in_functions():
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = indexes(n)
        x[1] = indexes(x)

    check_errors(k, helpers=(indexes,))


def test_globals_in_functions():
    @kernel
    def k(n: i32):
        writes_a_global(n)
        updates_a_global(n)

    check_errors(k, helpers=(updates_a_global, writes_a_global))


def test_exceptions_in_functions():
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = catches(n)

    check_errors(k, helpers=(catches,))


def test_parameters_keep_their_type():
    @kernel
    def k(n: i32):
        rebinds(n)
        rebinds_untyped(n)
        rebinds_untyped(1)

    check_errors(k, helpers=(rebinds, rebinds_untyped))


def test_functions_in_functions():
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = outer(n)

    check_errors(k, helpers=(inner,))


def test_captured_lists():
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = COUNTED(n)

    check_errors(k, helpers=(counter,))
