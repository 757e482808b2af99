"""What is known of an integer's value: intervals from special registers, extents, ranges, masks and arithmetic on them.

A local's interval is the join over all that is assigned to it, so a variable that depends on itself is not bounded.
Nothing here looks at branches: LLVM does that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from math import prod

from kdsl.codegen.walk import all_expressions, statements
from kdsl.ir import nodes as ir
from kdsl.ir.nodes import BinaryOp
from kdsl.lang.intrinsic import Emit, Nvvm
from kdsl.lang.types import I32, Kind, ScalarType
from kdsl.records import dataclass

# CUDA C++ programming guide, compute capabilities: the largest block is 1024 threads, 64 along z; the largest grid
# 2^31 - 1 blocks along x, 65535 along y and z.
_SREG = "llvm.nvvm.read.ptx.sreg."
_MOST = {"ntid": (1024, 1024, 64), "nctaid": (2**31 - 1, 65535, 65535)}
MOST_OF_CLUSTER = 1 << 16
"""More blocks than any cluster has: 16 on every architecture so far."""
ONE_D = 2**31 - 1
"""Threads along one axis of a launch: the launcher refuses more."""


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from ``low`` to ``high``, both included."""

    low: int
    high: int

    @classmethod
    def of(cls, t: ScalarType) -> Interval:
        """Every value of an integer type; 0 and 1 of a bool."""
        return cls(0, 1) if t.kind is Kind.BOOL else cls(t.minimum, t.maximum)

    def within(self, other: Interval) -> bool:
        return other.low <= self.low and self.high <= other.high

    def join(self, other: Interval) -> Interval:
        return Interval(min(self.low, other.low), max(self.high, other.high))


def register_interval(name: str, block: tuple[int, int, int] | None = None) -> Interval | None:
    """The values of a special register, by the intrinsic that reads it, in blocks of so many threads."""
    group, _, axis = name.removeprefix(_SREG).partition(".")
    position = "xyz".find(axis) if axis else 0
    if block is not None and group in ("ntid", "tid"):
        extent = block[position]
        return Interval(extent, extent) if group == "ntid" else Interval(0, extent - 1)
    match group:
        case "ntid" | "nctaid":
            return Interval(1, _MOST[group][position])
        case "tid" | "ctaid":
            return Interval(0, _MOST["n" + group][position] - 1)
        case "clusterid" | "nclusterid":
            first = 1 if group == "nclusterid" else 0
            return Interval(first, _MOST["nctaid"][position] - 1 + first)
        case "cluster":
            return Interval(1, MOST_OF_CLUSTER) if axis.startswith("n") else Interval(0, MOST_OF_CLUSTER - 1)
        case "laneid":
            return Interval(0, 31)
        case _:
            return None


@dataclass(slots=True)
class Ranges:
    """Intervals of the expressions of one function. ``definitions`` are all values that a local may get."""

    definitions: dict[int, list[ir.Expr | ir.ForRange]] = field(default_factory=dict)
    arguments: frozenset[int] = frozenset()
    """The parameters' uids: each has a value beside those assigned to it."""
    parameters: dict[int, Interval] = field(default_factory=dict)
    block: tuple[int, int, int] | None = None
    """The threads of every block, where the kernel's contract says them."""
    results: Callable[[str], Interval | None] | None = None
    """What a device function returns, by its name."""
    _known: dict[int, Interval | None] = field(default_factory=dict)
    _busy: set[int] = field(default_factory=set)
    _memo: dict[int, Interval] = field(default_factory=dict)
    """By the identity of a node: the tree outlives the analysis."""

    @classmethod
    def of(cls, function: ir.Function) -> Ranges:
        """The analysis of a function; its parameters' values are taken as unknown until `parameters` says more."""
        block = function.options.contract.fixed_block
        ranges = cls(arguments=frozenset(p.uid for p in function.parameters), block=block)
        for expression in all_expressions(function.body):
            if isinstance(expression, ir.AssignExpr):
                ranges.definitions.setdefault(expression.local.uid, []).append(expression.value)
        for statement in statements(function.body):
            if isinstance(statement, ir.Assign):
                ranges.definitions.setdefault(statement.local.uid, []).append(statement.value)
            elif isinstance(statement, ir.ForRange):
                ranges.definitions.setdefault(statement.target.uid, []).append(statement)
        return ranges

    def forget(self, parameters: dict[int, Interval]) -> None:
        """Start over with what is known of the parameters."""
        self.parameters = parameters
        self._known.clear()
        self._memo.clear()

    def interval(self, e: ir.Expr) -> Interval | None:
        """The interval of an int or bool expression; None for other types."""
        t = e.type
        if not isinstance(t, ScalarType) or t.is_float or t.is_float8:
            return None
        known = self._memo.get(id(e))
        if known is None:
            exact, everything = self._exact(e), Interval.of(t)
            known = exact if exact is not None and exact.within(everything) else everything
            self._memo[id(e)] = known
        return known

    def exact_binary(self, e: ir.Binary) -> Interval | None:
        """The interval of the operation's result if it did not wrap."""
        left, right = self.interval(e.left), self.interval(e.right)
        if left is None or right is None:
            return None
        if is_grid_index(e, self):
            return Interval(0, ONE_D - 1)
        if is_grid_size(e, self):
            return Interval(1, ONE_D)
        return binary_interval(e.op, left, right)

    def _exact(self, e: ir.Expr) -> Interval | None:
        match e:
            case ir.Const():
                return Interval(int(e.value), int(e.value))
            case ir.Read():
                return self._local(e.local)
            case ir.AssignExpr():
                return self.interval(e.value)
            case ir.Binary():
                return self.exact_binary(e)
            case ir.Unary():
                return self._unary(e)
            case ir.Cast():
                return self.interval(e.operand)
            case ir.Conditional():
                then, orelse = self.interval(e.then), self.interval(e.orelse)
                return then.join(orelse) if then is not None and orelse is not None else None
            case ir.Extent():
                return Interval(0, e.type.maximum)
            case ir.TupleElement():
                return self._element(e)
            case ir.IntrinsicCall():
                return _intrinsic(e, self.block)
            case ir.Call() if self.results is not None:
                return self.results(e.function)
            case _:
                return None

    def _local(self, local: ir.Local) -> Interval | None:
        uid = local.uid
        if uid in self._known:
            return self._known[uid]
        if uid in self._busy:  # the local depends on itself
            return None
        self._busy.add(uid)
        found = [self._definition(d) for d in self.definitions.get(uid, ())]
        if uid in self.arguments or not found:
            found.append(self.parameters.get(uid))
        self._busy.discard(uid)
        joined = found[0]
        for other in found[1:]:
            joined = joined.join(other) if joined is not None and other is not None else None
        # What was found while another local was being looked at may be too wide, but never wrong.
        self._known[uid] = joined
        return joined

    def _definition(self, definition: ir.Expr | ir.ForRange) -> Interval | None:
        if not isinstance(definition, ir.ForRange):
            return self.interval(definition)
        start, stop = self.interval(definition.start), self.interval(definition.stop)
        step = self.interval(definition.step)
        if start is None or stop is None or step is None:
            return None
        if step.low > 0:
            return Interval(start.low, max(start.low, stop.high - 1))
        if step.high < 0:
            return Interval(min(start.high, stop.low + 1), start.high)
        return Interval(min(start.low, stop.low + 1), max(start.high, stop.high - 1))

    def _unary(self, e: ir.Unary) -> Interval | None:
        operand = self.interval(e.operand)
        if operand is None:
            return None
        match e.op:
            case ir.UnaryOp.NEG:
                return Interval(-operand.high, -operand.low)
            case ir.UnaryOp.ABS:
                corners = (abs(operand.low), abs(operand.high))
                low = 0 if operand.low <= 0 <= operand.high else min(corners)
                return Interval(low, max(corners))
            case ir.UnaryOp.INVERT if e.type.is_signed:
                return Interval(~operand.high, ~operand.low)
            case ir.UnaryOp.ROUND | ir.UnaryOp.FLOOR | ir.UnaryOp.CEIL:
                return operand
            case _:
                return None

    def _element(self, e: ir.TupleElement) -> Interval | None:
        value = self.resolve(e.value)
        if isinstance(value, ir.TupleExpr):
            return self.interval(value.elements[e.index])
        return _intrinsic(value, self.block) if isinstance(value, ir.IntrinsicCall) else None

    def resolve(self, e: ir.Expr) -> ir.Expr:
        """The expression that a local stands for, if the local is assigned only once and is no parameter."""
        while isinstance(e, ir.Read):
            found = self.definitions.get(e.local.uid, [])
            if len(found) != 1 or isinstance(found[0], ir.ForRange) or e.local.uid in self.arguments:
                return e
            e = found[0]
        return e


def _register(e: ir.Expr, ranges: Ranges) -> str:
    """The special register that an expression reads, such as ``tid.x``; else an empty string."""
    e = ranges.resolve(e)
    if isinstance(e, ir.IntrinsicCall) and isinstance(e.intrinsic.lowering, Nvvm):
        name = e.intrinsic.lowering.name
        return name.removeprefix(_SREG) if isinstance(name, str) and name.startswith(_SREG) else ""
    return ""


def is_grid_product(e: ir.Expr, ranges: Ranges, group: str) -> str:
    """The axis d if ``e`` is block_dim.d times ``group``.d, in either order, else an empty string."""
    e = ranges.resolve(e)
    if not isinstance(e, ir.Binary) or e.op is not BinaryOp.MUL or e.type != I32:
        return ""
    names = {_register(e.left, ranges), _register(e.right, ranges)}
    return next((d for d in "xyz" if names == {f"ntid.{d}", f"{group}.{d}"}), "")


def is_grid_size(e: ir.Expr, ranges: Ranges) -> bool:
    """Whether ``e`` is grid_dim.d * block_dim.d, which a launch keeps below 2^31."""
    return bool(is_grid_product(e, ranges, "nctaid"))


def is_grid_index(e: ir.Expr, ranges: Ranges) -> bool:
    """Whether ``e`` is block_idx.d * block_dim.d + thread_idx.d in any order, or its product alone: never wraps."""
    if not isinstance(e, ir.Binary) or e.type != I32:
        return False
    if e.op is not BinaryOp.ADD:
        return bool(is_grid_product(e, ranges, "ctaid"))
    for product, rest in ((e.left, e.right), (e.right, e.left)):
        axis = is_grid_product(product, ranges, "ctaid")
        if axis and _register(rest, ranges) == f"tid.{axis}":
            return True
    return False


def _intrinsic(e: ir.IntrinsicCall, block: tuple[int, int, int] | None) -> Interval | None:
    match e.intrinsic.lowering:
        case Nvvm(name=str(name)) if name.startswith(_SREG):
            return register_interval(name, block)
        case Emit(name="grid"):
            return Interval(0, ONE_D - 1)
        case Emit(name="gridsize"):
            return Interval(1, ONE_D)
        case Emit(name="warp_id"):
            return Interval(0, 31 if block is None else (prod(block) - 1) // 32)
        case _:
            return None


def binary_interval(op: BinaryOp, a: Interval, b: Interval) -> Interval | None:
    match op:
        case BinaryOp.ADD:
            return Interval(a.low + b.low, a.high + b.high)
        case BinaryOp.SUB:
            return Interval(a.low - b.high, a.high - b.low)
        case BinaryOp.MUL:
            corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            return Interval(min(corners), max(corners))
        case BinaryOp.FLOORDIV:
            return _floor_divide(a, b)
        case BinaryOp.MOD:
            return _modulo(a, b)
        case BinaryOp.AND:
            bounds = [i.high for i in (a, b) if i.low >= 0]
            return Interval(0, min(bounds)) if bounds else None
        case BinaryOp.OR | BinaryOp.XOR if a.low >= 0 and b.low >= 0:
            return Interval(0, (1 << max(a.high, b.high).bit_length()) - 1)
        case BinaryOp.SHR if a.low >= 0:
            return Interval(0, a.high >> max(0, b.low) if b.low < 64 else 0)
        case BinaryOp.SHR:
            return Interval(a.low, max(a.high, -1))
        case BinaryOp.SHL if a.low >= 0 and b.low >= 0 and b.high < 64:
            return Interval(0, a.high << b.high)
        case BinaryOp.MIN:
            return Interval(min(a.low, b.low), min(a.high, b.high))
        case BinaryOp.MAX:
            return Interval(max(a.low, b.low), max(a.high, b.high))
        case _:
            return None


def _floor_divide(a: Interval, b: Interval) -> Interval | None:
    if b.low < 0:
        return None
    if b.low == 0:  # by zero gives 0
        return Interval(min(a.low, 0), max(a.high, 0))
    corners = [x // y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(corners), max(corners))


def _modulo(a: Interval, b: Interval) -> Interval | None:
    if b.low < 0:
        return None
    if a.low >= 0 and b.low > 0 and a.high < b.low:
        return a
    most = max(b.high - 1, 0)
    return Interval(0, min(most, a.high) if a.low >= 0 else most)
