"""The statements of the typed tree."""

from __future__ import annotations

from kdsl.ir.access import Access
from kdsl.ir.expressions import Expr, Local
from kdsl.records import dataclass
from kdsl.source import Span


@dataclass(frozen=True, slots=True)
class Assign:
    local: Local
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Store:
    """A write to memory; one that is not plain has an ``access``, and may have a cache ``policy`` (a u64)."""

    address: Expr
    value: Expr
    span: Span
    access: Access | None = None
    policy: Expr | None = None


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Bring the line of an address in global memory to the cache of that ``level``."""

    address: Expr
    level: str
    span: Span


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An expression for its effect."""

    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class If:
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class While:
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ForRange:
    """``for target in range(start, stop, step)``; all four have one int type. Never wraps; step 0 iterates not at all.

    The target is assigned at the top of each iteration from a hidden counter, so the body may rebind it. ``unroll`` is
    how often LLVM shall copy the body (True: as often as it runs; False or 1: not at all; None: as it likes).
    ``reverse``: the same values from the last to the first.
    """

    target: Local
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    span: Span
    unroll: bool | int | None = None
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Unrolled:
    """A loop over a tuple: the bodies in order. ``continue`` goes to the next body, ``break`` past ``orelse``."""

    bodies: tuple[tuple[Stmt, ...], ...]
    orelse: tuple[Stmt, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Break:
    span: Span


@dataclass(frozen=True, slots=True)
class Continue:
    span: Span


@dataclass(frozen=True, slots=True)
class Return:
    value: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Print:
    """``format`` is vprintf's, the newline included; a bool argument prints as True or False through ``%s``.

    Arguments are i32, u32, i64, u64, f64, bool or pointers, already promoted as C's varargs are.
    """

    format: str
    arguments: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Assert:
    """``message`` is for the device. ``template`` is the host's, for ``str.format`` with the ``values``."""

    test: Expr
    message: str
    span: Span
    template: str
    values: tuple[Expr, ...] = ()


Stmt = (
    Assign | Store | Prefetch | Evaluate | If | While | ForRange | Unrolled | Break | Continue | Return | Print | Assert
)
