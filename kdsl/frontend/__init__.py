"""From a Python function to the typed tree.

`check` is the entry. It makes a `frame` (one function while it is checked) of the function's `names`; `infer` finds
the type of every variable; then `statements` (with `assign` and `loops`) and `expressions` (with `operators`, `logic`,
`memory`, `vectors`, `vector_operators` and `calls`) build the tree. The same expressions are evaluated in both passes:
mistakes are reported in the second. What a value can be meanwhile is in `values`, which types meet as which in
`convert` and `meet`, literals in `weak`. Calls go to `constructs` (an index by object), `intrinsics`, `casts` or
`functions`.
"""

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
