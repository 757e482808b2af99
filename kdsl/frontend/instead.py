"""What to write instead of a call of Python's own functions and of those of its standard library and NumPy."""

from __future__ import annotations

import math
from typing import Any

_FORMATTED = "print() takes f-strings"
_KNOWN_TYPES = "types are known while the kernel is compiled"
_BY_NAME = "name the variables"
_ON_THE_HOST = "do it on the host, and pass what the kernel needs as parameters"

BUILTINS: dict[Any, str] = {
    map: "write a loop",
    filter: "write a loop with an if",
    sorted: "sort on the host, or with a loop of compares and swaps",
    issubclass: _KNOWN_TYPES,
    callable: _KNOWN_TYPES,
    type: "type_of(x) is the type of a value",
    str: _FORMATTED,
    repr: _FORMATTED,
    format: _FORMATTED,
    ascii: _FORMATTED,
    bin: _FORMATTED,
    oct: _FORMATTED,
    hex: 'print() takes f-strings, such as f"{u32(x):x}"',
    chr: _FORMATTED,
    ord: "write the number",
    getattr: "write the attribute: a.shape",
    hasattr: _KNOWN_TYPES,
    setattr: "store to an element: a[i] = value",
    delattr: "leave it out",
    iter: "write a for loop",
    next: "write a for loop",
    aiter: "write a for loop",
    anext: "write a for loop",
    bytes: "pass them to the kernel as an array of u8",
    bytearray: "pass them to the kernel as an array of u8",
    memoryview: "pass the array itself",
    frozenset: "compare with each value",
    list: "local.array(n, dtype) holds values that are indexed at run time",
    dict: "use arrays, or a chain of if and elif",
    set: "compare with each value",
    slice: "loop over the indices",
    breakpoint: "brkpt() of kdsl stops a debugger on the device",
    input: "pass values as parameters",
    open: "read the file on the host, and pass its contents as an array",
    id: "a pointer is compared with ==",
    hash: "philox4x32() of kdsl.random mixes the bits of words",
    dir: _BY_NAME,
    vars: _BY_NAME,
    globals: _BY_NAME,
    locals: _BY_NAME,
    eval: "write the expression itself",
    exec: "write the statements themselves",
    compile: "write the statements themselves",
    __import__: "import at the top of the file",
}
"""Python's builtins that no kernel can call."""

SITE = {"exit": "return ends the thread, trap() the kernel", "quit": "return ends the thread, trap() the kernel"}

MATH = {
    "comb": "write a loop of products and divisions",
    "perm": "write a loop of products",
    "factorial": "write a loop of products, or math.tgamma(n + 1.0)",
    "dist": "math.hypot(x1 - x0, y1 - y0)",
    "fsum": "write a loop that adds; sum() takes a tuple",
    "prod": "write a loop that multiplies",
    "sumprod": "write a loop that multiplies and adds",
    "gcd": "write Euclid's loop: while b != 0: a, b = b, a % b",
    "lcm": "a // gcd * b, with Euclid's loop for the gcd",
    "isclose": "abs(x - y) <= tolerance",
    "isqrt": "i32(math.sqrt(f64(n)))",
    "ulp": "math.nextafter(x, math.inf) - x",
}
"""Functions of Python's math that the device has no counterpart for."""

_RANDOM = "philox4x32(), uniform() and normal() of kdsl.random"
MODULES = {
    "time": "clock64() counts cycles, globaltimer() nanoseconds, and nanosleep(ns) waits",
    "random": _RANDOM,
    "secrets": _RANDOM,
    "os": _ON_THE_HOST,
    "posix": _ON_THE_HOST,
    "nt": _ON_THE_HOST,
    "sys": _ON_THE_HOST,
    "_io": "print() writes to the standard output",
    "io": "print() writes to the standard output",
    "threading": "sync_threads(), barrier() and atomic order the threads of a block",
    "_thread": "sync_threads(), barrier() and atomic order the threads of a block",
    "itertools": "write the loops",
    "_functools": "write a loop, or a def",
    "functools": "write a loop, or a def",
    "operator": "write the operator: a + b",
    "_operator": "write the operator: a + b",
    "collections": "use arrays, or a @struct class",
    "_collections": "use arrays, or a @struct class",
    "copy": "an assignment copies a value",
    "struct": "bitcast(x, u32) gives the bits of a value",
    "_struct": "bitcast(x, u32) gives the bits of a value",
    "logging": "print() writes to the standard output",
    "_warnings": "print() writes to the standard output",
    "warnings": "print() writes to the standard output",
}
"""Modules of Python's standard library whose functions belong to the host."""

METHODS = {
    "bit_length": "32 - clz(n), of an i32",
    "bit_count": "popc(n)",
    "is_integer": "x == math.floor(x)",
    "real": "a number has no parts: leave it out",
    "imag": "a number has no parts: leave it out",
    "conjugate": "a number has no parts: leave it out",
    "from_bytes": "bitcast(p, Ptr[u32]) has the words of memory",
    "fromhex": "write the number",
    "to_bytes": "bitcast(p, Ptr[u8]) has the bytes of memory",
    "item": "a number needs none: leave it out",
    "astype": "a type's name casts: f32(x)",
}
"""What Python's and NumPy's numbers have as methods."""

_A_LOOP = "write a loop"
NUMPY = {
    "abs": "abs(x)",
    "absolute": "abs(x)",
    "maximum": "max(x, y)",
    "minimum": "min(x, y)",
    "clip": "min(max(x, low), high)",
    "where": "write a conditional expression: a if p else b",
    "power": "x ** y",
    "square": "x * x",
    "add": "x + y",
    "subtract": "x - y",
    "multiply": "x * y",
    "divide": "x / y",
    "mod": "x % y",
    "arctan2": "math.atan2(y, x)",
    "arcsin": "math.asin(x)",
    "arccos": "math.acos(x)",
    "arctan": "math.atan(x)",
    "round": "round(x)",
    "sign": "math.copysign(1.0, x)",
    **dict.fromkeys(("sum", "prod", "mean", "max", "min", "amax", "amin", "any", "all", "std", "var"), _A_LOOP),
    **dict.fromkeys(("dot", "matmul", "vdot", "inner", "outer", "tensordot", "einsum", "sort", "argmax"), _A_LOOP),
    **dict.fromkeys(
        ("zeros", "ones", "empty", "full", "array", "asarray", "arange", "linspace", "zeros_like", "empty_like"),
        "local.array(n, dtype) or shared.array(n, dtype), or make it on the host and pass it",
    ),
}  # fmt: skip
"""Functions of NumPy by name, beside those that are called as in `math`."""


_MASK_FIRST = "the mask comes first: {0}(FULL_MASK, {1})"
_SHAPE_FIRST = "such as {0}(64, f32)"
_OF_SOME = "barrier(id, count) waits for some of the block's threads"
_NO_ARGUMENTS = "it takes none: write {0}()"
ARGUMENTS = {
    "barrier": "sync_threads() waits for all threads of the block, and barrier(id, count) for count of them",
    "barrier_arrive": "barrier_arrive(id, count) is for threads that do not wait at barrier(id, count)",
    "sync_threads": f"write sync_threads(); {_OF_SOME}",
    "sync_threads_count": "write sync_threads_count(p), or sync_threads()",
    "sync_threads_and": "write sync_threads_and(p), or sync_threads()",
    "sync_threads_or": "write sync_threads_or(p), or sync_threads()",
    "grid": "grid(1) is the thread's index in the whole grid, grid(2) the pair along x and y",
    "gridsize": "gridsize(1) counts the threads of the whole grid along x",
    "elect_sync": "such as elect_sync(FULL_MASK)",
    "load": "such as load(x, i)",
    "store": "such as store(x, i, value)",
    "prefetch": "such as prefetch(x, i)",
    **dict.fromkeys(("shared.array", "local.array"), _SHAPE_FIRST),
    **{
        name: _MASK_FIRST.format(name, rest)
        for names, rest in (
            ("shfl_sync", "value, lane"),
            ("shfl_up_sync shfl_down_sync", "value, delta"),
            ("shfl_xor_sync", "value, lane_mask"),
            ("all_sync any_sync ballot_sync", "predicate"),
            ("match_any_sync match_all_sync reduce_add_sync reduce_min_sync reduce_max_sync", "value"),
            ("reduce_and_sync reduce_or_sync reduce_xor_sync", "value"),
        )
        for name in names.split()
    },
    **dict.fromkeys(
        (
            "lane_id", "warp_id", "grid_sync", "cluster_sync", "active_mask", "clock", "clock64", "globaltimer",
            "sm_id", "cluster_rank", "cluster_size", "trap", "brkpt",
        ),
        _NO_ARGUMENTS,
    ),
}  # fmt: skip
"""What to write for a call with too few or too many arguments, as of who knows the function from CUDA C++."""


def of_arguments(function: str) -> str | None:
    """For a function of ours that is called with other arguments than it takes."""
    found = ARGUMENTS.get(function)
    return None if found is None else found.format(function)


def of_builtin(callee: Any) -> str | None:
    """For one of Python's builtins that a kernel cannot call; None if it is not among them."""
    try:
        return BUILTINS.get(callee)
    except TypeError:  # unhashable
        return None


def of_module(callee: Any) -> str | None:
    """For a function, method or class of a module of the standard library; None if the module is not among them."""
    owner = getattr(callee, "__self__", None)
    place = callee if owner is None or type(owner).__name__ == "module" else type(owner)
    return MODULES.get(str(getattr(place, "__module__", None)))


def of_numpy(callee: Any) -> str:
    """For a function of NumPy."""
    name = getattr(callee, "__name__", "")
    if "random" in type(getattr(callee, "__self__", None)).__module__:
        return _RANDOM
    return NUMPY.get(name) or (f"math.{name}(x)" if hasattr(math, name) else _ON_THE_HOST)


def of_number(method: str) -> str:
    """For a method that Python's numbers have."""
    return METHODS.get(method, "a number has no attributes in a kernel: functions take it, such as math.floor(x)")
