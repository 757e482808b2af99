"""Calls: what may be called, and what to write instead of what may not."""

from __future__ import annotations

import ast
import math
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from kdsl.frontend import cmath_calls, complex_numbers, instead, named, reshape, struct_methods, structs, vectors
from kdsl.frontend.callables import call_bound
from kdsl.frontend.callees import BoundMethod, GroupMethod, NestedFunction
from kdsl.frontend.captures import is_functor
from kdsl.frontend.casts import cast_call, cast_type
from kdsl.frontend.constructs import handler
from kdsl.frontend.effects import has_effects
from kdsl.frontend.frame import Frame
from kdsl.frontend.hints import public_names
from kdsl.frontend.intrinsics import intrinsic_call
from kdsl.frontend.mutating import call_method
from kdsl.frontend.structs import class_type, struct_type
from kdsl.frontend.syntax import EXPRESSIONS
from kdsl.frontend.values import POISON, Poison, Runtime, Static, Tuple, Value, describe, type_of
from kdsl.ir import nodes as ir
from kdsl.lang.extern import ExternFunction
from kdsl.lang.index import Registers
from kdsl.lang.intrinsic import Intrinsic
from kdsl.lang.named import is_named_tuple
from kdsl.lang.types import ArrayType, PointerType, TupleType, VectorType

HOST_FUNCTIONS = {
    "kdsl.host": "call it outside of the kernel, and pass the array as a parameter",
    "kdsl.streams": "call it outside of the kernel",
    "kdsl.variables": "make the array outside of the kernel, and name it here",
    "kdsl.compiler": "call it outside of the kernel",
    "kdsl.decorator": "call it outside of the kernel",
    "kdsl.lang.extern": "declare the function outside of the kernel, and call it here",
    "kdsl.linking": "call it outside of the kernel",
    "kdsl.loading": "call it outside of the kernel",
    "kdsl.module": "call it outside of the kernel",
}
"""What to do instead of a call of our own modules' functions."""


def call(frame: Frame, node: ast.Call) -> Value:
    """A call of anything."""
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        unpacked = _unpacked(frame, node)
        if unpacked is None:
            return POISON
        node = unpacked
    if isinstance(node.func, ast.Attribute) and node.func.attr in reshape.METHODS:
        owner = frame.value(node.func.value)
        if isinstance(owner, Runtime) and isinstance(owner.type, ArrayType):
            return reshape.method(frame, owner, node.func.attr, node)
    callee = frame.value(node.func)
    if isinstance(callee, Poison):
        if not frame.quiet:
            _check_arguments(frame, node)
        return POISON
    if struct_type(callee) is not None:
        return struct_methods.called(frame, callee, node)
    if not isinstance(callee, Static):
        kind = type_of(callee)
        what = describe(kind) if kind is not None else "a range"
        name = frame.text(node.func)
        # Typically `grid = (n + 255) // 256` after `from kdsl import grid`; `warp_size` is a number itself.
        hidden = name in public_names() and name != "warp_size"
        hint = f"a variable hides kdsl's `{name}`: give it another name" if hidden else None
        read = callee.expr if isinstance(callee, Runtime) else None
        if isinstance(read, ir.IntrinsicCall) and read.intrinsic.register:
            hint = f"write {name}, without a call"
        return frame.error(node.func, f"`{name}` is {what}, not a function", hint)
    return _call_object(frame, callee.object, node)


def _unpacked(frame: Frame, node: ast.Call) -> ast.Call | None:
    """A call with each element of a tuple in the place of ``*t``; None (reported) for what is no tuple."""
    written: list[ast.expr] = []
    for argument in node.args:
        if not isinstance(argument, ast.Starred):
            written.append(argument)
            continue
        value = frame.value(argument.value)
        if isinstance(value, Poison):
            return None
        kind = type_of(value)
        if not isinstance(kind, TupleType | VectorType):
            if not isinstance(value, Tuple):
                what = describe(kind) if kind is not None and not isinstance(value, Static) else "no tuple"
                frame.error(argument, f"`*` takes a tuple apart, and this is {what}", "write each argument")
            return None
        if has_effects(value):
            text = frame.text(argument.value)
            what = "vector" if isinstance(kind, VectorType) else "tuple"
            frame.error(
                argument, f"`*` takes a {what} apart, and calls in it would be made again", f"name it: t = {text}"
            )
            return None
        for i in range(kind.lanes if isinstance(kind, VectorType) else len(kind.elements)):
            index = ast.copy_location(ast.Constant(i), argument)
            written.append(ast.copy_location(ast.Subscript(argument.value, index, ast.Load()), argument))
    return ast.copy_location(ast.Call(node.func, written, node.keywords), node)


def _check_arguments(frame: Frame, node: ast.Call) -> None:
    """Report what is wrong in the arguments of a call that is wrong itself; lists and such belong to that call."""
    for argument in [*node.args, *(k.value for k in node.keywords)]:
        if type(argument) not in EXPRESSIONS:
            frame.value(argument)


def _call_object(frame: Frame, callee: Any, node: ast.Call) -> Value:
    construct = handler(callee)
    if construct is not None:
        return construct(frame, node)
    if isinstance(callee, ExternFunction):
        from kdsl.frontend.externs import extern_call  # start-up cost: only kernels that are linked need it

        return extern_call(frame, callee, node)
    if isinstance(callee, Intrinsic):
        return intrinsic_call(frame, callee, node, _python_function(callee))
    if getattr(callee, "__module__", None) == "math":
        return _math(frame, callee, node)
    if getattr(callee, "__module__", None) == "cmath":
        return cmath_calls.cmath_call(frame, callee, node)
    number = complex_numbers.class_type(callee)
    if number is not None:
        return complex_numbers.construct(frame, number, node)
    type = cast_type(callee)
    if type is not None:
        return cast_call(frame, type, node)
    if isinstance(callee, VectorType):
        return vectors.construct(frame, callee, node)
    if is_named_tuple(callee):
        return named.construct(frame, callee, node)
    struct = class_type(callee)
    if struct is not None:
        return structs.construct(frame, struct, node)
    if isinstance(callee, BoundMethod):
        return call_method(frame, callee, node)
    host = HOST_FUNCTIONS.get(getattr(callee, "__module__", "")) or instead.of_module(callee)
    if isinstance(callee, FunctionType | MethodType) and host is not None:
        return frame.error(node.func, f"`{frame.text(node.func)}` is a function of the host", host)
    if isinstance(callee, GroupMethod):
        from kdsl.frontend import collectives  # start-up cost: only kernels with groups need it

        return collectives.call_method(frame, callee, node)
    if isinstance(callee, partial | MethodType) and _package(callee) != "numpy":
        return call_bound(frame, callee, node)
    if isinstance(callee, NestedFunction) or (isinstance(callee, FunctionType) and not hasattr(callee, "__wrapped__")):
        return frame.session.call_function(frame, node, callee)
    if is_functor(callee):
        return call_bound(frame, callee.__call__, node)
    if not frame.quiet:
        _check_arguments(frame, node)
    return _refuse(frame, callee, node)


def _python_function(intrinsic: Intrinsic) -> Any:
    """Python's own function of that name, which evaluates literals."""
    own = getattr(math, intrinsic.name, None)
    if own is None:
        return None
    from kdsl.lang.math.python import PYTHON  # start-up cost: only kernels that call mathematical functions need it

    return own if PYTHON.get(own) is intrinsic else None


def _math(frame: Frame, callee: Any, node: ast.Call) -> Value:
    from kdsl.lang.math.python import PYTHON  # start-up cost, as above

    device = PYTHON.get(callee)
    if callee is math.log and len(node.args) == 2:
        hint = "math.log2(x), math.log10(x), or math.log(x) / math.log(base)"
        return frame.error(node.args[1], "math.log() takes no base in a kernel", hint)
    if device is not None:
        return intrinsic_call(frame, device, node, callee)
    wanted = instead.MATH.get(callee.__name__)
    return frame.error(node.func, f"`{frame.text(node.func)}` has no counterpart on the device", wanted)


def _refuse(frame: Frame, callee: Any, node: ast.Call) -> Value:
    name = frame.text(node.func)
    kind = type(callee).__name__
    hint = instead.of_builtin(callee)
    if not isinstance(callee, type) and (kind == "ufunc" or _package(callee) == "numpy"):
        return frame.error(node.func, f"`{name}` is a NumPy function of the host", instead.of_numpy(callee))
    if hint or kind == "builtin_function_or_method":
        hint = hint or instead.of_module(callee) or instead.METHODS.get(callee.__name__)
        return frame.error(node.func, f"`{name}` cannot be called in a kernel", hint)
    if kind == "Kernel":
        return frame.error(
            node.func,
            f"`{name}` is a kernel, and a kernel cannot call one",
            "put what both need in a plain function, without @kernel",
        )
    if isinstance(callee, type):
        hint = instead.of_module(callee)
        if hint is None:
            fields = "__annotations__" in vars(callee)
            hint = "decorate it with @struct" if fields else "pass the values, or a tuple of them"
        return frame.error(node.func, f"`{name}` is a class, and a kernel makes no objects", hint)
    if hasattr(callee, "cache_info"):
        # `functools.cache`, as of a function that makes structs.
        hint = "name what it gives outside of the kernel"
        return frame.error(node.func, f"`{name}` is a function of the host", hint)
    if hasattr(callee, "__wrapped__"):
        return frame.error(
            node.func,
            f"`{name}` is wrapped by a decorator, which a kernel cannot run",
            "call a function without a decorator",
        )
    if isinstance(callee, PointerType):
        return frame.error(node.func, f"`{name}` is a type, which converts nothing", f"bitcast(p, {name})")
    hint = f"read {name}.x, .y or .z, without a call" if isinstance(callee, Registers) else instead.SITE.get(name)
    return frame.error(node.func, f"`{name}` is {_article(kind)}, not a function that a kernel can call", hint)


def _package(callee: Any) -> str:
    place = type(callee.__self__) if isinstance(callee, MethodType) else callee
    return str(getattr(place, "__module__", None)).partition(".")[0]


def _article(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiouAEIOU' else 'a'} {kind}"
