"""From a Python function to the typed tree.

`check` is the entry. It makes a `frame` (one function while it is checked, in the `session` that all share) of the
function's `names`; `infer` finds the type of every variable; then `statements` and `expressions` build the tree. The
same expressions are evaluated in both passes: mistakes are reported (`reporting`) in the second. What a value can be
meanwhile is in `values`, which types meet as which in `convert` and `meet`, literals in `weak`. In this order:

names           names with bindings, target_paths, branches; captures and host_structs: what the host gives; mangling
annotations     of variables; generics: what TypeVars stand for; parts: tuples and functions that a kernel is passed;
                contract: what its launches keep
statements      assign with unpacking, places, swizzles, mutating; loops with array_loops; match; assert_messages
expressions     operators (of operands) with vector_operators, struct_methods, pointers; logic; casts; choosing; effects
calls           constructs (an index by object), intrinsics with overloads and arguments, builtin, tuples,
                comprehensions, functions with definitions, callables and callees, written, externs; shuffles,
                vector_functions
memory          memory, memory_index and attributes, arrays, lists with escapes, views, reshape, copies, array_elements,
                module_variables; access and what uses it: atomics, caching with policies, addresses, alignment
types           vectors, structs with fixed_arrays, complex_numbers with cmath_calls, named (tuples); their sizes
threads         barriers, clusters; groups with collectives, combining, scratch and workspace
text            printing with composites; inline PTX: inline, ptx_template, ptx_operands, ptx_instructions,
                ptx_matrices
mistakes        syntax, untyped (without types), hidden_names, unwritten, made_anew; hints with divisions, cuda_names,
                other_names (of kdsl) and describing; instead
"""

from kdsl.annotations import kernel_parameters
from kdsl.captured import Captured
from kdsl.frontend.check import Checked, check_every, check_kernel, check_kernels, check_syntax
from kdsl.frontend.names import mangle
from kdsl.ir.request import KernelRequest

__all__ = [
    "Captured",
    "Checked",
    "KernelRequest",
    "check_every",
    "check_kernel",
    "check_kernels",
    "check_syntax",
    "kernel_parameters",
    "mangle",
]
