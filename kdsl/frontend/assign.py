"""Assignment: to names (a variable keeps one type), elements and tuples of them."""

from __future__ import annotations

import ast
import tokenize
from dataclasses import replace
from functools import partial

from kdsl.frontend import complex_numbers, convert, places, struct_methods, swizzles, vectors
from kdsl.frontend.array_elements import parts_of
from kdsl.frontend.copies import assign_part
from kdsl.frontend.describing import describe_object
from kdsl.frontend.divisions import cast_hint, whole
from kdsl.frontend.frame import Frame
from kdsl.frontend.meet import cast, converted
from kdsl.frontend.memory import address_at, elements, index_parts, written_address
from kdsl.frontend.names import mangle
from kdsl.frontend.operands import Operands
from kdsl.frontend.operators import BINARY, BITWISE, binary
from kdsl.frontend.structs import struct_type
from kdsl.frontend.syntax import ATTRIBUTE_TARGET, MATRIX_PRODUCT
from kdsl.frontend.unpacking import spread
from kdsl.frontend.values import (
    POISON,
    AnyWeak,
    Lattice,
    Poison,
    Runtime,
    Static,
    StaticType,
    Tuple,
    Value,
    Weak,
    WeakChoice,
    WeakType,
    WeakUnknown,
    describe,
    is_weak,
    join,
    scalar_type,
    type_of,
)
from kdsl.frontend.views import is_view
from kdsl.ir import nodes as ir
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.index import Registers
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import VOID, ArrayType, PointerType, ScalarType, TupleType, VectorType, boolean


def assign(frame: Frame, node: ast.Assign) -> None:
    """``target = value``, also to several targets: the value is evaluated once."""
    value = frame.value(node.value)
    if len(node.targets) > 1:
        value = kept(frame, value, node.value)
    match value, node.targets:
        case Runtime(ir.SharedArray() | ir.LocalArray() as array), [ast.Name(id=name)]:
            # In PTX the array is called as the variable that holds it.
            value = Runtime(replace(array, name=mangle(name)))
        case Runtime(ir.ListExpr(array) as made), [ast.Name(id=name)]:
            value = Runtime(replace(made, array=replace(array, name=mangle(name))))
    for target in node.targets:
        store(frame, target, value, node.value, node)


def kept(frame: Frame, value: Value, node: ast.expr) -> Value:
    """A value that is evaluated now, to be used later or more than once."""
    match value:
        case Runtime(ir.Const()):
            return value
        case Runtime(ir.Read(local)) if (
            # Assigning to a component binds no name.
            not isinstance(local.type, VectorType | StructType)
            and local.name not in frame.scope.bindings
            and frame.locals.get(local.name) is local
        ):
            return value  # a parameter that is never assigned to
        case Runtime(expr) if expr.type != VOID:
            local = frame.local("value", expr.type)
            frame.emit(ir.Assign(local, expr, frame.span(node)))
            return Runtime(ir.Read(local, local.type, frame.span(node)))
        case WeakChoice(test, then, orelse):
            # The literals stay literals; what is asked is asked now.
            local = frame.local("test", boolean)
            frame.emit(ir.Assign(local, test, frame.span(node)))
            arms = [_kept_arm(frame, arm, node) for arm in (then, orelse)]
            return WeakChoice(ir.Read(local, boolean, frame.span(node)), arms[0], arms[1])
        case Tuple(parts):
            return Tuple(tuple(kept(frame, p, node) for p in parts), value.python)
        case _:
            return value


def _kept_arm(frame: Frame, arm: AnyWeak, node: ast.expr) -> AnyWeak:
    result = kept(frame, arm, node)
    assert isinstance(result, Weak | WeakUnknown | WeakChoice)
    return result


def store(frame: Frame, target: ast.expr, value: Value, place: ast.expr, node: ast.stmt) -> None:
    """Assign a value to a target; ``place`` is where the value stands."""
    match target:
        case ast.Name():
            expr = bind(frame, target, value, place)
            if expr is not None:
                frame.emit(ir.Assign(frame.locals[target.id], expr, frame.span(node)))
        case ast.Subscript():
            _store_element(frame, target, value, place, node)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            _unpack(frame, target, targets, value, place, node)
        case ast.Attribute():
            base = frame.value(target.value)
            if (lanes := swizzles.lanes_of(target, base)) is not None:
                swizzles.store(frame, target, base, lanes, value, place, node)
            elif places.has_parts(base):
                places.store_part(frame, target, base, value, place, node)
            elif not isinstance(base, Poison):
                _refuse_attribute(frame, target, base)
        case ast.Starred(value=inner):
            store(frame, inner, value, place, node)
        case _:
            frame.error(target, "this cannot be assigned to in a kernel")


def _unpack(
    frame: Frame, target: ast.expr, targets: list[ast.expr], value: Value, place: ast.expr, node: ast.stmt
) -> None:
    value = kept(frame, value, place)
    parts = parts_of(frame, value, place)
    if parts is not None and isinstance(type_of(value), ArrayType):
        parts = tuple(kept(frame, part, place) for part in parts)
    if parts is None and not isinstance(value, Poison):
        refuse_unpacking(frame, value, place)
    found = None if parts is None else spread(frame, parts, target, targets)
    parts = (POISON,) * len(targets) if found is None else found
    places = place.elts if isinstance(place, ast.Tuple) and len(place.elts) == len(targets) else [place] * len(targets)
    for one, part, where in zip(targets, parts, places, strict=True):
        store(frame, one, part, where, node)


def refuse_unpacking(frame: Frame, value: Value, place: ast.expr) -> None:
    """Report a value that is unpacked and is no tuple."""
    kind = type_of(value)
    what = describe(kind) if kind is not None else "this"
    if isinstance(value, Static):
        what = describe_object(value.object, frame.text(place))
    hint = vectors.hint(kind, frame.text(place))
    if isinstance(value, Static) and isinstance(value.object, Registers):
        hint = f"name its components: {', '.join(f'{frame.text(place)}.{axis}' for axis in 'xyz')}"
    frame.error(place, f"{what} cannot be unpacked: it is no tuple", hint)


def bind(frame: Frame, target: ast.Name, value: Value, place: ast.expr) -> ir.Expr | None:
    """A value as what a variable is assigned; None if nothing is to be assigned (a constant's name), or it is wrong."""
    name = target.id
    frame.bound |= frame.scope.bits.get(name, 0)
    if name in frame.constants or isinstance(value, Poison):
        return None
    type = frame.types.get(name)
    if type_of(value) == VOID:
        frame.error(place, f"`{frame.text(place)}` returns no value")
        return None
    if isinstance(value, Static):
        if name in frame.declared:
            frame.runtime(value, place)
        elif value.object is not None or type is not None:
            _refuse_object(frame, target, value, place)
        return None
    if type is None or isinstance(type, StaticType) or name not in frame.locals:
        frame.runtime(value, place)
        return None
    if name in frame.declared:
        return converted(frame, value, frame.declared[name], place, f"`{name}`")
    got = type_of(value)
    if got is None or (got != type and (not may_widen(got) or join(got, type) != type)):
        if got is None:
            frame.runtime(value, place)
        else:
            conflict(frame, target, got, type, place, _divided(frame, value, type, place))
        return None
    return converted(frame, value, type, place, f"`{name}`")  # type: ignore[arg-type]


def _divided(frame: Frame, value: Value, type: Lattice, place: ast.expr) -> str | None:
    """The hint for a float that ints were divided to, where the variable is an int; None for other values."""
    if not isinstance(value, Runtime) or not isinstance(type, ScalarType) or whole(place, value.expr) is None:
        return None
    return cast_hint(frame, place, value.expr, type) if type.is_int else None


def may_widen(type: Lattice) -> bool:
    """Whether a variable's type may be more than a value's: of literals, and arrays of which less is known."""
    if isinstance(type, TupleType):
        return is_weak(type) or all(map(may_widen, type.elements))
    return is_weak(type) or isinstance(type, ArrayType)


def _refuse_object(frame: Frame, target: ast.Name, value: Static, place: ast.expr) -> None:
    if callable(value.object) or isinstance(value.object, type | ScalarType):
        frame.error(
            target,
            f"`{target.id}` is bound more than once: a name for a function or type is bound once",
            "give each its own name",
        )
    else:
        frame.runtime(value, place)


def conflict(
    frame: Frame, target: ast.Name, got: Lattice, type: Lattice, place: ast.expr, hint: str | None = None
) -> None:
    """Report a value of another type than the variable's."""
    name = target.id
    where = frame.scope.declared.get(name) or frame.decided.get(name)
    if isinstance(where, ast.arg):
        first = f"{describe(type)} as a parameter (line {where.lineno})"
    else:
        line = getattr(where, "lineno", target.lineno)
        text = _without_comment(frame.file.lines[line - 1]) if line <= len(frame.file.lines) else name
        first = f"{describe(type)} at line {line} (`{text}`)"
    frame.error(
        target,
        f"`{name}` is {describe(got)} here but {first}; a variable keeps one type",
        hint or _conflict_hint(frame, name, got, type, place),
    )


def _without_comment(line: str) -> str:
    """A line of source as a message quotes it."""
    try:
        for token in tokenize.generate_tokens(iter([line]).__next__):
            if token.type == tokenize.COMMENT:
                return line[: token.start[1]].strip()
    except (tokenize.TokenError, SyntaxError):
        pass  # a part of a longer statement
    return line.strip()


def _conflict_hint(frame: Frame, name: str, got: Lattice, type: Lattice, place: ast.expr) -> str | None:
    for binding in frame.scope.bindings.get(name, ()):
        match binding.value:
            # A variable started as `i32(0)`: the literal alone takes the type it meets.
            case ast.Call(func=ast.Name(), args=[ast.Constant(value=int() | float())]) if (
                binding.target is frame.decided.get(name)
            ):
                literal = frame.text(binding.value.args[0])
                return f"start it as a literal, which takes the type it meets: {name} = {literal}"
    numbers = ScalarType | ComplexType
    if (
        isinstance(type, numbers)
        and isinstance(got, numbers | WeakType)
        and isinstance(type, ComplexType) >= isinstance(got, ComplexType)
    ):
        return f"cast it: {name} = {type}({frame.text(place)})"
    return "give each value its own name"


def assigned(frame: Frame, target: ast.Name, value: Value, node: ast.NamedExpr) -> Value:
    """``target := value`` as a value."""
    if frame.quiet:
        return value
    reported = frame.session.reporter.count
    expr = bind(frame, target, value, node.value)
    if expr is None:
        return value if frame.session.reporter.count == reported else POISON
    return Runtime(ir.AssignExpr(frame.locals[target.id], expr, expr.type, frame.span(node)))


def _store_element(frame: Frame, target: ast.Subscript, value: Value, place: ast.expr, node: ast.stmt) -> None:
    base = frame.value(target.value)
    if places.has_parts(base):
        places.store_part(frame, target, base, value, place, node)
        return
    if isinstance(base, Tuple) or (isinstance(base, Runtime) and elements(frame, base, target) is not None):
        frame.error(target, "the elements of a tuple cannot be assigned", "local.array(n, dtype) has elements that can")
        return
    parts = index_parts(frame, target)
    if isinstance(base, Runtime) and isinstance(base.type, ArrayType | PointerType) and is_view(base.type, parts):
        assign_part(frame, base, target, parts, value, place, node)
        return
    address = address_at(frame, base, target, parts)
    if address is None or written_address(frame, address, target) is None:
        return
    expr = converted(frame, value, address.type.element, place, f"`{frame.text(target.value)}`")
    if expr is not None:
        frame.emit(ir.Store(address, expr, frame.span(node)))


def augmented_assign(frame: Frame, node: ast.AugAssign) -> None:
    """``target op= value``; the address of an element is computed once."""
    match node.target:
        case ast.Name() as target:
            current = frame.read(target.id, target)
            result = augmented(frame, node, current, frame.value(node.value))
            expr = bind(frame, target, result, node.value)
            if expr is not None:
                frame.emit(ir.Assign(frame.locals[target.id], expr, frame.span(node)))
        case ast.Subscript() | ast.Attribute() as target:
            base = frame.value(target.value)
            compute = partial(_computed, frame, node)
            if (lanes := swizzles.lanes_of(target, base)) is not None:
                swizzles.augment(frame, target, base, lanes, compute, node)
            elif places.has_parts(base):
                places.augment(frame, target, base, compute, node)
            elif isinstance(target, ast.Subscript):
                _augment_element(frame, target, base, node)
            elif not isinstance(base, Poison):
                _refuse_attribute(frame, target, base)
        case _:
            store(frame, node.target, POISON, node.value, node)


def _computed(frame: Frame, node: ast.AugAssign, current: Value) -> Value:
    return augmented(frame, node, current, frame.value(node.value))


def _refuse_attribute(frame: Frame, target: ast.Attribute, base: Value) -> None:
    """Report an assignment to an attribute of what has no fields."""
    type = type_of(base)
    if isinstance(type, PointerType) and isinstance(type.element, StructType):
        text = frame.text(target.value)
        message = f"`{text}` is a Ptr: it has no fields, its elements have"
        frame.error(target, message, f"index it: {text}[0].{target.attr} = ...")
        return
    frame.error(target, *ATTRIBUTE_TARGET)


def _augment_element(frame: Frame, target: ast.Subscript, base: Value, node: ast.AugAssign) -> None:
    if isinstance(base, Tuple) or (isinstance(base, Runtime) and elements(frame, base, target) is not None):
        frame.error(target, "the elements of a tuple cannot be assigned", "local.array(n, dtype) has elements that can")
        return
    parts = index_parts(frame, target)
    if isinstance(base, Runtime) and isinstance(base.type, ArrayType | PointerType) and is_view(base.type, parts):
        frame.error(target, "a part of an array has no such assignment", "loop over its elements")
        return
    address = address_at(frame, base, target, parts)
    value = frame.value(node.value)
    if address is None or written_address(frame, address, target) is None:
        return
    local = frame.local("address", address.type)
    frame.emit(ir.Assign(local, address, address.span))
    pointer = ir.Read(local, address.type, address.span)
    element = address.type.element
    result = augmented(frame, node, Runtime(ir.Load(pointer, element, address.span)), value)
    expr = converted(frame, result, element, node.value, f"`{frame.text(target.value)}`")
    if expr is not None:
        frame.emit(ir.Store(pointer, expr, frame.span(node)))


def augmented(frame: Frame, node: ast.AugAssign, current: Value, value: Value) -> Value:
    """``current op value``, narrowed back to 8 or 16 bits if only widening made it wider."""
    if isinstance(node.op, ast.MatMult):
        return frame.error(node, *MATRIX_PRODUCT)
    op, operands = BINARY[type(node.op)], Operands(current, value, node, (node.target, node.value))
    if struct_type(current) and not complex_numbers.meets(current, value):
        return struct_methods.in_place(frame, op, operands)
    result = binary(frame, op, operands)
    own, made, other = scalar_type(current), scalar_type(result), scalar_type(value)
    if own is not None and made is not None and not frame.quiet:
        if own.is_int and isinstance(node.op, ast.Div):
            return _refuse_division(frame, node, own)
        if own == boolean and made != boolean and BINARY[type(node.op)] not in BITWISE:
            return _refuse_arithmetic(frame, node, made)
    if own is None or made is None or own == made or not (own.is_int and made.is_int):
        return result
    is_small = own.bits < 32 and (
        other is None or convert.widened(other) != other or type(node.op) in (ast.LShift, ast.RShift)
    )
    if is_small and isinstance(result, Runtime):
        return Runtime(cast(result.expr, own, frame.span(node), checked=True))
    return result


def _refuse_arithmetic(frame: Frame, node: ast.AugAssign, made: ScalarType) -> Value:
    """``flag += 1`` makes a number, which no cast of what is added changes."""
    target, value, op = frame.text(node.target), frame.text(node.value), BINARY[type(node.op)].value
    return frame.error(node, f"`{op}` gives {made}, and `{target}` is bool", f"{target} = bool({target} {op} {value})")


def _refuse_division(frame: Frame, node: ast.AugAssign, own: ScalarType) -> Value:
    """``n /= 2`` of an int makes a float, which no cast of the divisor changes."""
    target, divisor = frame.text(node.target), frame.text(node.value)
    hint = f"write {target} //= {divisor}, or {target} = {own}({target} / {divisor})"
    return frame.error(node, f"`/` gives a float, and `{target}` is {own}", hint)
