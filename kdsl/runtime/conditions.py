"""What a compiled kernel depends on beside its arguments: names that must stay bound to what it was compiled with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class Condition(Protocol):
    """Something a compiled kernel depends on: it may be used while ``namespace.get(name) is value``."""

    @property
    def namespace(self) -> Any: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> Any: ...


def all_hold(conditions: Iterable[Condition]) -> bool:
    """Whether each name is bound to what it was bound to."""
    return all(c.namespace.get(c.name) is c.value for c in conditions)
