"""What is kept during one check of one or more kernels, from function to function."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kdsl.frontend.captures import Captures
from kdsl.frontend.reporting import Reporter
from kdsl.frontend.values import Passed, Value
from kdsl.ir import nodes as ir
from kdsl.lang.types import Space
from kdsl.lang.variables import Variable
from kdsl.records import dataclass

if TYPE_CHECKING:
    from kdsl.frontend.frame import Frame
    from kdsl.frontend.functions import Instance


@dataclass
class Session:
    """One check of one or more kernels that share a module. The stages below call those above through it."""

    evaluate: Callable[[Frame, ast.expr], Value]
    call_function: Callable[..., Value]
    """Of the frame, the call, what is called, and the first arguments if the call does not write them."""
    options: ir.Options = field(default_factory=ir.Options)
    reporter: Reporter = field(default_factory=Reporter)
    captures: Captures = field(default_factory=Captures)
    instances: dict[object, Instance] = field(default_factory=dict)
    functions: list[ir.Function] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    variables: dict[str, Variable] = field(default_factory=dict)
    """The module's variables that the host knows, by their names in PTX."""
    externs: dict[str, ir.Extern] = field(default_factory=dict)
    """The functions of other compilers that the module calls, by symbol."""
    arrays: dict[object, int] = field(default_factory=dict)
    """The uid of each shared and local array, by its place in the source."""
    first_array: int = 0
    shared_bytes: dict[int, int] = field(default_factory=dict)
    """Bytes of each shared array by uid."""
    largest_tile: int = 1
    """Threads of the largest `groups.tile` so far."""
    copies: int = 0
    """Copies of unrolled bodies made so far."""
    held: dict[tuple[int, str], Passed] = field(default_factory=dict)
    """What the function objects that a kernel is passed hold, by the object's id and the place in it."""
    parts: Frame | None = None
    """Stands for the function whose variables are those that a kernel is passed in parts."""
    definitions: dict[Any, Any] = field(default_factory=dict)
    """What is known of each function that was called (see `kdsl.frontend.functions`)."""
    active: list[tuple[object, object]] = field(default_factory=list)
    """The functions that are being checked, outermost first: the source, and what the instance depends on."""

    def constant_bytes(self) -> int:
        """What the constant memory of the module holds."""
        own = [v.nbytes if v.type.space is Space.CONSTANT else 8 for v in self.variables.values()]
        return self.captures.contents_size() + sum(-(-size // 16) * 16 for size in own)
