"""What is wrong with `size_of` and `align_of` in kernels, and what the errors say."""

# mypy: ignore-errors

from kdsl import Array, Ptr, align_of, f32, i8, i32, kernel, size_of
from tests.frontend.harness import check_errors


def test_what_has_no_size() -> None:
    @kernel
    def k(out: Ptr[i32], a: Array[f32, 1], x: f32):
        out[0] = size_of(x)  # error: size_of() takes a type, and this is a value # hint: size_of(type_of(x))
        out[1] = align_of(a)  # error: align_of() takes a type, and this is a value # hint: align_of(a.dtype)
        out[2] = size_of(4)  # error: size_of() takes a type, and this is a value
        out[3] = size_of(Array[f32, 1])  # error: size_of() takes a type that lies in memory # hint: size_of(f32)
        out[4] = size_of(tuple[i8])  # error: size_of() takes a type that lies in memory, and tuple[i8] does not
        out[5] = size_of("f4")  # error: size_of() takes a type, got 'f4'
        out[6] = size_of(str)  # error: size_of() takes a type, got <class 'str'>
        out[7] = size_of()  # error: size_of() needs `dtype`
        out[8] = size_of(f32, i32)  # error: size_of() takes 1 argument (dtype), and this gives 2
        out[9] = size_of(nothing)  # noqa: F821 # error: `nothing` is not defined

    check_errors(k)
