"""From a Python function to the typed tree."""

from kdsl.frontend.annotations import kernel_parameters
from kdsl.frontend.captures import Captured
from kdsl.frontend.check import Checked, KernelRequest, check_kernel, check_kernels, check_syntax
from kdsl.frontend.names import mangle

__all__ = [
    "Captured",
    "Checked",
    "KernelRequest",
    "check_kernel",
    "check_kernels",
    "check_syntax",
    "kernel_parameters",
    "mangle",
]
