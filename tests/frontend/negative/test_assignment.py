"""Names that may have no value where they are read, in every shape of control flow."""

from __future__ import annotations

from kdsl import Ptr, f32, fma, i32, kernel, u32

from ..harness import check_errors


def test_after_if():
    @kernel
    def k(x: Ptr[f32], n: i32):
        if n:
            q = 1
        x[0] = q  # error: `q` may be read before it has a value # hint: give `q` a value before the branch or loop

    check_errors(k)


def test_after_elif():
    @kernel
    def k(x: Ptr[f32], n: i32, u: u32):
        if n:
            q = 1
        elif u:
            q = 2
        x[0] = q  # error: `q` may be read before it has a value

    check_errors(k)


def test_after_while():
    @kernel
    def k(x: Ptr[f32], n: i32):
        while n:
            q = 1
        x[0] = q  # error: `q` may be read before it has a value

    check_errors(k)


def test_after_for():
    @kernel
    def k(x: Ptr[f32], n: i32):
        for i in range(n):
            q = 1
        x[0] = q  # error: `q` may be read before it has a value
        x[1] = i  # error: `i` may be read before it has a value
        #   # hint: a loop may run zero times: give `i` a value before it

    check_errors(k)


def test_after_for_with_else():
    @kernel
    def k(x: Ptr[f32], n: i32):
        for i in range(n):
            q = 1
            if q > n:
                break
        else:
            w = 2
        x[0] = w  # error: `w` may be read before it has a value # hint: give `w` a value before the branch or loop
        x[1] = q  # error: `q` may be read before it has a value

    check_errors(k)


def test_after_a_break():
    @kernel
    def k(x: Ptr[f32], n: i32):
        while True:
            if n:
                break
            q = 1
            break
        x[0] = q  # error: `q` may be read before it has a value

    check_errors(k)


def test_after_a_continue():
    @kernel
    def k(x: Ptr[f32], n: i32):
        for i in range(4):
            if n:
                continue
            q = 1
        x[0] = q  # error: `q` may be read before it has a value

    check_errors(k)


def test_before_the_assignment():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = q  # error: `q` may be read before it has a value
        q = 1

    check_errors(k)


def test_from_themselves():
    @kernel
    def k(n: i32):
        q = q  # error: `q` may be read before it has a value
        w += 1  # error: `w` may be read before it has a value

    check_errors(k)


def test_swapped_before():
    @kernel
    def k(n: i32):
        q, w = w, q  # error: `w` may be read before it has a value # error: `q` may be read before it has a value

    check_errors(k)


def test_in_the_loop_before():
    @kernel
    def k(x: Ptr[f32], n: i32):
        while n:
            x[0] = q  # error: `q` may be read before it has a value
            q = 1

    check_errors(k)


def test_range_of_itself():
    @kernel
    def k(n: i32):
        for i in range(i):  # error: `i` may be read before it has a value
            pass

    check_errors(k)


def test_walrus_on_one_side():
    @kernel
    def k(x: Ptr[f32], n: i32, u: u32):
        if n and (q := u):
            x[0] = q
        else:
            x[1] = q  # error: `q` may be read before it has a value

    check_errors(k)


def test_walrus_behind_or():
    @kernel
    def k(x: Ptr[f32], n: i32, u: u32):
        if n or (q := u):
            x[0] = q  # error: `q` may be read before it has a value

    check_errors(k)


def test_walrus_in_a_conditional():
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = (q := 1) if n else 2
        x[1] = q  # error: `q` may be read before it has a value

    check_errors(k)


def test_walrus_behind_a_comparison():
    @kernel
    def k(x: Ptr[f32], n: i32):
        0 < n < (q := 1)
        x[0] = q  # error: `q` may be read before it has a value

    check_errors(k)


def test_walrus_to_the_right():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = q + (q := 1)  # error: `q` may be read before it has a value

    check_errors(k)


def test_never_executed():
    @kernel
    def k(x: Ptr[f32]):
        if False:
            q = 1
        x[0] = q  # error: `q` may be read before it has a value

    check_errors(k)


def test_empty_loop():
    @kernel
    def k(x: Ptr[f32]):
        for i in ():
            q = 1
        x[0] = q  # error: `q` may be read before it has a value

    check_errors(k)


def test_shadowed_builtins():
    @kernel
    def k(x: Ptr[f32], f: f32):
        x[0] = fma(f, f, f)  # error: `fma` may be read before it has a value
        #   # hint: `fma` is a variable of the kernel because it is assigned to: give it another name
        fma = 1

    check_errors(k)


def test_captured_before():
    @kernel
    def k(x: Ptr[f32]):
        def g():
            return q  # error: `q` may be read before it has a value

        x[0] = g()
        q = 1

    check_errors(k)


def test_captured_by_a_lambda_before():
    @kernel
    def k(x: Ptr[f32]):
        g = lambda: q  # error: `q` may be read before it has a value
        x[0] = g()
        q = 1

    check_errors(k)


def test_defined_later():
    @kernel
    def k(x: Ptr[f32], n: i32):
        x[0] = g(n)  # error: `g` may be read before it has a value # hint: define `g` above its first use

        def g(p):
            return p

    check_errors(k)


def test_defined_on_one_path():
    @kernel
    def k(x: Ptr[f32], n: i32):
        if n:

            def g(p):
                return p

        x[0] = g(1)  # error: `g` may be read before it has a value

    check_errors(k)
