"""Assignments to names of the module: a variable of the kernel is made, which its author did not mean."""

from __future__ import annotations

import numpy as np

from kdsl import Ptr, constant, device, f32, i32, kernel

from ..harness import check_errors, variables

counter = device.array(1, f32)
plane = device.array((2, 2), i32)
table = constant.empty(4, f32)
weights = np.ones(4, np.float32)
LIMIT = 4


def helper(v: f32) -> f32:
    counter = v  # error: `counter` is a device.array of the module, which this would hide
    return counter


def test_variables_of_the_module():
    @kernel
    def assigned(x: Ptr[f32]):
        counter = x[0]  # error: `counter` is a device.array of the module, which this would hide
        #   # hint: write counter[0] = x[0], or give the variable another name
        x[1] = counter
        x[2] = helper(x[2])

    @kernel
    def augmented(x: Ptr[f32]):
        counter += 1.0  # error: `counter` is a device.array of the module, which this would hide
        #   # hint: write counter[0] += 1.0, or give the variable another name
        plane -= 1  # error: `plane` is a device.array of the module, which this would hide
        #   # hint: write plane[0, 0] -= 1, or give the variable another name

    @kernel
    def others(x: Ptr[f32]):
        for counter in range(3):  # error: `counter` is a device.array of the module, which this would hide
            #   # hint: give the variable another name
            x[counter] = 1.0
        table = x[0]  # error: `table` is a constant.empty of the module, which this would hide
        #   # hint: kernels cannot change it: give the variable another name
        x[1] = table

    check_errors(assigned, helpers=(helper,))
    check_errors(augmented)
    check_errors(others)


def test_constants_of_the_module():
    @kernel
    def k(x: Ptr[f32]):
        LIMIT += 1  # error: `LIMIT` may be read before it has a value
        #   # hint: `LIMIT` is a variable of the kernel because it is assigned to, and the module's `LIMIT` is a
        #   constant in kernels: give the variable another name
        weights *= 2.0  # error: `weights` may be read before it has a value
        #   # hint: `weights` is a variable of the kernel because it is assigned to, and the array of the module is a
        #   constant in kernels: pass it as a parameter, and index it

    check_errors(k)


def test_parameters_and_values_of_the_same_name():
    @kernel
    def k(counter: Ptr[f32], n: i32):
        weights = counter[0]
        LIMIT = n
        counter[1] = weights * LIMIT

    assert variables(k) == {"weights": "f32", "LIMIT": "i32"}
