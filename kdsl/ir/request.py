"""What the frontend is asked for: a kernel, the types of its parameters, its options."""

from __future__ import annotations

from dataclasses import field
from types import FunctionType

from kdsl.ir.options import Options
from kdsl.lang.types import Type
from kdsl.records import dataclass


@dataclass(frozen=True)
class KernelRequest:
    """One kernel to check. ``parameters`` are the types from a launch, None where the annotation says it."""

    function: FunctionType
    parameters: tuple[Type | None, ...] | None = None
    options: Options = field(default_factory=Options)
