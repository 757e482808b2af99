"""One function while it is checked: what its names are, and how values become expressions with a type."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from kdsl.frontend import convert
from kdsl.frontend.bindings import How
from kdsl.frontend.callees import BoundMethod
from kdsl.frontend.captures import host_value
from kdsl.frontend.describing import describe_object
from kdsl.frontend.effects import is_repeatable
from kdsl.frontend.hidden_names import hidden_hint
from kdsl.frontend.hints import misfit, public_names, similar
from kdsl.frontend.module_variables import module_variable
from kdsl.frontend.names import Scope
from kdsl.frontend.parts import part_value
from kdsl.frontend.session import Session
from kdsl.frontend.values import (
    POISON,
    AnyWeak,
    Lattice,
    Passed,
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
    is_weak,
    weak_type,
)
from kdsl.ir import nodes as ir
from kdsl.lang.complex_type import ComplexType
from kdsl.lang.generics import substituted, variables
from kdsl.lang.index import Registers
from kdsl.lang.intrinsic import Intrinsic
from kdsl.lang.types import (
    ArrayType,
    PointerType,
    ScalarType,
    TupleType,
    Type,
)
from kdsl.lang.variables import Variable
from kdsl.records import dataclass
from kdsl.source import InternalError, SourceFile, Span

ALL = -1
"""Definite assignment where no execution comes: everything is assigned."""


@dataclass
class Loop:
    """A loop being built: the variables that are assigned at every `break`, and at every `continue`, so far."""

    breaks: int = ALL
    continues: int = ALL


@dataclass
class Frame:
    """The state of checking one typed instance of a function.

    First its variables' types are inferred (``quiet``: mistakes are not reported, nodes are thrown away), then its body
    is built. ``outer`` is the frame in which a nested function was defined.
    """

    session: Session
    file: SourceFile
    scope: Scope
    function: FunctionType
    name: str
    outer: Frame | None = None
    outermost: bool = False
    """Whether this is a kernel."""
    changes_self: bool = False
    """Whether this is a method that assigns to its object, which the call then stores where it came from."""
    calls: tuple[Span, ...] = ()
    at: Span | None = None
    """Where all of it stands, for a function that is a part of the language: at the user's call."""
    quiet: bool = True
    keep_weak: bool = False
    """An inference for a caller whose own types are not known yet: literals stay literals."""
    types: dict[str, Lattice] = field(default_factory=dict)
    decided: dict[str, ast.AST] = field(default_factory=dict)
    """Where each variable got its type."""
    declared: dict[str, Type] = field(default_factory=dict)
    generic: Mapping[TypeVar, Type] = field(default_factory=dict)
    """What the TypeVars of its parameters stand for."""
    constants: dict[str, Value] = field(default_factory=dict)
    copies: dict[str, Value] = field(default_factory=dict)
    locals: dict[str, ir.Local] = field(default_factory=dict)
    captured: dict[tuple[int, str], tuple[Frame, ir.Local]] = field(default_factory=dict)
    """Variables of other functions, by the id of the frame that they belong to, which come as extra parameters."""
    bound: int = 0
    """Bits of the variables that are assigned on every path to here."""
    loops: list[Loop] = field(default_factory=list)
    next_uid: int = 0
    printed: ast.expr | None = None
    """The call that is a statement of its own, where alone print() may stand."""
    iterated: ast.expr | None = None
    """What a `for` runs over: it is evaluated before the loop, so what is in it may be, too."""
    before: list[ir.Expr] | None = None
    """Of a comprehension, where such things are evaluated; None where they are statements."""
    pending: list[ir.Stmt] = field(default_factory=list)
    """The statements built so far of the block being built."""

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> Span:
        return self.at or self.file.span(node)

    def text(self, node: ast.expr | ast.stmt) -> str:
        """The source text of a node, for messages."""
        return self.file.text(node)

    def error(
        self, node: ast.expr | ast.stmt | ast.arg | ast.keyword | Span, message: str, hint: str | None = None
    ) -> Poison:
        """Report a mistake (unless types are still being inferred); the value of what is wrong."""
        if not self.quiet:
            span = node if isinstance(node, Span) else self.span(node)
            self.session.reporter.add(span, message, hint, self.calls)
        return POISON

    def value(self, node: ast.expr) -> Value:
        """What an expression is."""
        value = self.session.evaluate(self, node)
        if isinstance(value, Poison) and not self.quiet and not self.session.reporter.failed and not self.refused:
            raise InternalError(f"{self.span(node)}: `{self.text(node)}` is refused without a reason")
        return value

    def const(self, value: bool | int | float, type: Type, node: ast.expr | ast.stmt) -> Runtime:
        return Runtime(ir.Const(value, type, self.span(node)))

    def runtime(self, value: Value, node: ast.expr) -> ir.Expr | None:
        """A value with a concrete type, literals by default; None (reported) for what cannot be one."""
        match value:
            case Runtime(expr):
                return expr
            case Weak() | WeakUnknown() | WeakChoice():
                return self.literal(value, weak_type(value).default, node)
            case Tuple(elements):
                parts = [self.runtime(e, node) for e in elements]
                if None in parts:
                    return None
                exprs = tuple(p for p in parts if p is not None)
                return ir.TupleExpr(exprs, TupleType(tuple(e.type for e in exprs), value.python), self.span(node))
            case Static(object):
                what = describe_object(object, self.text(node))
                hint = f"write {self.text(node)}.x, .y or .z" if isinstance(object, Registers) else None
                if object is None:
                    hint = "write a number that stands for it, such as -1"
                if isinstance(object, np.ndarray) and object.ndim == 1 and 2 <= len(object) <= 4:
                    hint = f"f32x{len(object)}({self.text(node)}) is a vector of what it holds"
                if isinstance(object, Intrinsic | FunctionType | BoundMethod):
                    hint = f"call it: {self.text(node)}(...)"
                self.error(node, f"{what} is not a value that a kernel computes with", hint)
            case Poison():
                pass
            case _:
                self.error(node, "a range is only for a `for` loop", "for i in range(n)")
        return None

    def literal(self, value: AnyWeak, type: ScalarType | ComplexType, node: ast.expr) -> ir.Expr | None:
        """A literal as the type that it meets; None (reported) if it does not fit."""
        match value:
            case WeakUnknown():
                if isinstance(type, ComplexType):
                    return self.complex_constant(0, type, node)
                return ir.Const(0.0 if type.is_float else 0, type, self.span(node))
            case WeakChoice(test, then, orelse):
                a, b = self.literal(then, type, node), self.literal(orelse, type, node)
                return None if a is None or b is None else ir.Conditional(test, a, b, type, self.span(node))
        if isinstance(type, ComplexType):
            return self.complex_constant(value.value, type, node)
        try:
            return ir.Const(convert.fitted(value.value, type), type, self.span(node))
        except convert.DoesNotFit:
            self.error(node, *misfit(value.value, type))
            return None

    def complex_constant(self, number: int | float | complex, type: ComplexType, node: ast.expr) -> ir.Expr | None:
        """A Python number as a complex one; None (reported) if a part does not fit."""
        parts: list[ir.Expr] = []
        for part in (number.real, number.imag):
            try:
                parts.append(ir.Const(convert.rounded(part, type.component), type.component, self.span(node)))
            except convert.DoesNotFit:
                self.error(node, *misfit(part, type.component))
                return None
        return ir.StructExpr(tuple(parts), type, self.span(node))

    def local(self, name: str, type: Type) -> ir.Local:
        """A new variable."""
        self.next_uid += 1
        return ir.Local(name, type, self.next_uid)

    def once(self, expr: ir.Expr, name: str, *, others_between: bool = False) -> tuple[ir.Expr, ir.Expr]:
        """An expression to be used twice but evaluated once: its first use, then its second.

        ``others_between``: what is evaluated between the two uses may assign to a variable that the expression reads.
        """
        if isinstance(expr, ir.Const) or (is_repeatable(expr) and not others_between):
            return expr, expr
        local = self.local(name, expr.type)
        return ir.AssignExpr(local, expr, expr.type, expr.span), ir.Read(local, expr.type, expr.span)

    @property
    def refused(self) -> frozenset[str]:
        """Names bound in statements that are outside of the language, which are reported themselves."""
        return self.scope.refused | (self.outer.refused if self.outer is not None else frozenset())

    def read(self, name: str, node: ast.expr) -> Value:
        """What a name is here."""
        if name in self.copies:
            return self.copies[name]
        if name in self.scope.bits:
            return self.read_own(name, node)
        return self.read_outer(name, node)

    def read_own(self, name: str, node: ast.expr) -> Value:
        if name in self.copies:
            return self.copies[name]
        is_bound = self.quiet or self.check_bound(name, node)
        if name in self.constants:
            return self.respanned(self.constants[name], node) if is_bound else POISON
        type = self.type_in(self, name, node)
        if type is None:
            return POISON
        if is_weak(type):
            return unknown(type, name, self, node)
        local = self.locals.get(name) or ir.Local(name, type, 0)  # type: ignore[arg-type]
        return Runtime(ir.Read(local, local.type, self.span(node)))

    def type_in(self, owner: Frame, name: str, node: ast.expr) -> Type | WeakType | None:
        """The type of a variable of ``owner`` that is read here; None (reported) if it has none."""
        type = owner.types.get(name)
        if type is not None and not isinstance(type, StaticType):
            return type
        if not self.quiet:
            self.session.reporter.untyped(self.span(node), name, self.calls)
        return None

    def check_bound(self, name: str, node: ast.expr) -> bool:
        """Whether every path assigns a variable before it is read here; one that does not is reported."""
        bit = self.scope.bits[name]
        if self.bound & bit:
            return True
        self.bound |= bit
        bindings = self.scope.bindings.get(name, [])
        hint = f"give `{name}` a value before the branch or loop"
        if bindings and all(b.how is How.FUNCTION for b in bindings):
            hint = f"define `{name}` above its first use"
        if bindings and all(b.how is How.FOR for b in bindings):
            hint = f"a loop may run zero times: give `{name}` a value before it"
        if name in public_names():
            hint = f"`{name}` is a variable of the kernel because it is assigned to: give it another name"
        self.error(node, f"`{name}` may be read before it has a value", hidden_hint(self, name) or hint)
        return False

    def read_outer(self, name: str, node: ast.expr) -> Value:
        """A name of an enclosing function, a module or Python."""
        if name in self.refused:
            return POISON
        owner = self.outer
        while owner is not None and name not in owner.scope.bits and name not in owner.copies:
            owner = owner.outer
        if owner is not None:
            return self.read_captured(owner, name, node)
        if name in self.scope.declared:
            line = self.scope.declared[name].lineno
            return self.error(node, f"`{name}` is declared at line {line}, and has no value", "give it one there")
        held = self.session.held.get((id(self.function), f"cell {name}"))
        if held is not None and name in self.function.__code__.co_freevars:
            return part_value(self, held, node)
        try:
            value = self.session.captures.lookup(self.function, name)
        except NameError:
            return self.error(
                node, f"`{name}` is not defined", similar(name, [*self.scope.bits, *self.function.__globals__])
            )
        return self.host(value, node)

    def read_captured(self, owner: Frame, name: str, node: ast.expr) -> Value:
        """A variable of an enclosing function: a constant, or an extra parameter."""
        if self is owner:
            return self.read_own(name, node)
        if name in owner.copies:
            return self.error(
                node,
                f"`{name}` belongs to a loop over a tuple, which a nested function cannot see",
                "pass it as an argument",
            )
        if name in owner.constants:
            if not self.quiet and not owner.quiet and not owner.check_bound(name, node):
                return POISON
            return self.respanned(owner.constants[name], node)
        type = self.type_in(owner, name, node)
        if type is None:
            return POISON
        if is_weak(type):
            return unknown(type, name, self, node)
        if self.quiet:
            return Runtime(ir.Read(ir.Local(name, type, 0), type, self.span(node)))  # type: ignore[arg-type]
        key = (id(owner), name)
        if key not in self.captured:
            self.captured[key] = (owner, self.local(name, type))  # type: ignore[arg-type]
        _, local = self.captured[key]
        return Runtime(ir.Read(local, local.type, self.span(node)))

    def host(self, value: Any, node: ast.expr) -> Value:
        """A Python object of the host; a special register is read at once, and a TypeVar is the type it stands for."""
        if isinstance(value, TypeVar | PointerType | ArrayType):
            return self.without_variables(value, node)
        if isinstance(value, Intrinsic) and value.register:
            # They need the frame's neighbours, and only registers come here.
            from kdsl.frontend.overloads import signatures

            (signature,) = signatures(value)
            result = signature.result
            assert isinstance(result, ScalarType)
            return Runtime(ir.IntrinsicCall(value, (), (), None, result, self.span(node)))
        if isinstance(value, Variable):
            return module_variable(self, value, node)
        return host_value(value, self.span(node))

    def without_variables(self, template: Any, node: ast.expr) -> Value:
        """A type in which TypeVars may stand, with what they stand for here."""
        found: dict[TypeVar, Type] = {}
        frame: Frame | None = self
        while frame is not None:
            found = {**frame.generic, **found}
            frame = frame.outer
        missing = next((v for v in variables(template) if v not in found), None)
        if missing is None:
            return Static(substituted(template, found))
        name = missing.__name__
        hint = f"annotate a parameter with it, as in x: {name} or a: Ptr[{name}]"
        return self.error(node, f"no parameter of `{self.name}` says what the TypeVar `{name}` stands for", hint)

    def respanned(self, value: Value, node: ast.expr) -> Value:
        """A constant, at the place where it is read."""
        match value:
            case Runtime(ir.Const(number, type)):
                return Runtime(ir.Const(number, type, self.span(node)))
            case Tuple(elements):
                return Tuple(tuple(self.respanned(e, node) for e in elements), value.python)
            case Passed():
                return part_value(self, value, node)
            case _:
                return value

    def emit(self, statement: ir.Stmt) -> None:
        self.pending.append(statement)

    @contextmanager
    def block(self) -> Iterator[list[ir.Stmt]]:
        """Collect the statements that are built meanwhile."""
        outer, self.pending = self.pending, []
        try:
            yield self.pending
        finally:
            self.pending = outer


def unknown(type: Lattice, name: str, frame: Frame, node: ast.expr) -> Value:
    """A value of a type that is partly still a literal's."""
    match type:
        case WeakType():
            return WeakUnknown(type)
        case TupleType(elements, python):
            return Tuple(tuple(unknown(e, name, frame, node) for e in elements), python)
        case _:
            return Runtime(ir.Read(ir.Local(name, type, 0), type, frame.span(node)))  # type: ignore[arg-type]
