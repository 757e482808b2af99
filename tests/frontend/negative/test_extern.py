"""Calls of other compilers' functions that no function of C could be, and that do not fit what was declared."""

from __future__ import annotations

from kdsl import Array, Constexpr, Ptr, complex64, extern, f32, f64, i32, kernel

from ..harness import check_errors


@extern
def add(a: f32, b: f32) -> f32: ...


@extern
def store(p: Ptr[i32], v: i32) -> None: ...


@extern
def untyped(a, b: f32) -> f32: ...


@extern
def of_array(a: Array[f32, 1]) -> None: ...


@extern
def of_complex(a: complex64) -> None: ...


@extern
def constant(n: Constexpr[int]) -> None: ...


@extern
def gives_array(n: i32) -> Array[f32, 1]: ...


@extern
def with_default(a: f32, b: f32 = 2.0) -> f32:  # error: `with_default` has default values, which no
    #   function of C has
    #   # hint: name each parameter, and pass each
    ...


@extern
def many(*a: f32) -> f32:  # error: `many` takes *args or **kwargs, which no function of C has
    ...


@extern(name="add")
def other_add(a: f64, b: f64) -> f64: ...


@extern(name="kernel_of_that_name")
def clashing(a: f32) -> f32: ...


def test_arguments():
    @kernel
    def few(x: Ptr[f32]):
        x[0] = add(x[0])  # error: add() needs `b`
        #   # hint: it takes a, b

    @kernel
    def wrong(x: Ptr[f32], y: Ptr[f64]):
        x[0] = add(x[0], y[0])  # error: this is f64, but `b` of `add` takes f32
        store(x, 3)  # error: this is Ptr[f32], but `p` of `store` takes Ptr[i32]

    @kernel
    def named(x: Ptr[f32]):
        x[0] = add(x[0], c=1.0)  # error: add() has no parameter `c`
        #   # hint: it takes a, b

    for k in (few, wrong, named):
        check_errors(k)


def test_signatures():
    @kernel
    def k(x: Ptr[f32], y: Array[f32, 1], z: Ptr[complex64]):
        x[0] = untyped(x[0], 1.0)  # error: `a` of `untyped` has no annotation; an @extern function
        #   takes and gives scalars, vectors, structs and Ptr[T]
        #   # hint: say its type, as in a: f32
        of_array(y)  # error: `a` of `of_array` is Array[f32, 1]; an @extern function
        #   takes and gives scalars, vectors, structs and Ptr[T]
        #   # hint: declare a Ptr[T], and pass the extents as numbers
        of_complex(z[0])  # error: `a` of `of_complex` is complex64; an @extern function
        #   takes and gives scalars, vectors, structs and Ptr[T]
        #   # hint: declare a vector, such as f32x2, and pass its parts
        constant(3)  # error: `n` of `constant` is Constexpr[int]; an @extern function
        #   takes and gives scalars, vectors, structs and Ptr[T]
        gives_array(3)  # error: the result of `gives_array` is Array[f32, 1]; an @extern function
        #   takes and gives scalars, vectors, structs and Ptr[T]

    check_errors(k)


def test_no_function_of_c():
    @kernel
    def default(x: Ptr[f32]):
        x[0] = with_default(x[0])

    @kernel
    def rest(x: Ptr[f32]):
        x[0] = many(x[0])

    check_errors(default, helpers=(with_default.function,))
    check_errors(rest, helpers=(many.function,))


def test_names():
    @kernel
    def twice(x: Ptr[f32], y: Ptr[f64]):
        x[0] = add(x[0], x[1])
        y[0] = other_add(y[0], y[1])  # error: `add` is declared in two ways: add(f32, f32) -> f32,
        #   and add(f64, f64) -> f64

    @kernel
    def kernel_of_that_name(x: Ptr[f32]):
        x[0] = clashing(x[0])  # error: `kernel_of_that_name` is declared with @extern, and the module has
        #   a function of its own of that name
        #   # hint: give that function another name

    for k in (twice, kernel_of_that_name):
        check_errors(k)


def test_no_result():
    @kernel
    def k(x: Ptr[i32]):
        x[0] = store(x, 3)  # error: `store(x, 3)` returns no value

    check_errors(k)
