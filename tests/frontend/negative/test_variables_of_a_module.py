"""What a kernel cannot do with `device.array` and `constant.empty`."""

from __future__ import annotations

import kdsl
from kdsl import Ptr, constant, f32, kernel, u32

from ..harness import check_errors

counter = kdsl.device.array(1, u32)
square = kdsl.device.array((2, 2), f32)
gains = constant.empty(4, f32)
half = constant.empty(12_000, f32)
rest = constant.empty(4_500, f32)


def test_made_in_a_kernel():
    @kernel
    def k():
        a = kdsl.device.array(1, u32)  # error: `kdsl.device.array` is a function of the host
        #   # hint: make the array outside of the kernel, and name it here
        b = constant.empty(1, u32)  # error: `constant.empty` is a function of the host
        c = kdsl.zeros(4)  # error: `kdsl.zeros` is a function of the host
        #   # hint: call it outside of the kernel, and pass the array as a parameter

    check_errors(k)


def test_uses():
    @kernel
    def k(x: Ptr[f32]):
        counter[1] = 2  # error: index 1 is out of range: `counter` has extent 1 along axis 0
        x[0] = square[0]  # error: this is a global array of 2 f32, but `x` takes f32
        #   # hint: write an element of it: square[0][i]
        gains[0] = 1  # error: a kernel cannot write constant memory
        counter[0] = square[0, 1]  # error: this is f32, but `counter` takes u32

    check_errors(k)


def test_constant_memory_is_64_kb():
    @kernel
    def k(x: Ptr[f32]):
        x[0] = half[0] + rest[0]  # error: constant memory has 65536 bytes, and with this array 66000 are needed
        #   # hint: make it a device.array

    check_errors(k)
