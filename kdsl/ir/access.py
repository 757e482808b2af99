"""How memory is accessed where it is not plainly: order and scope of atomics, caching and volatility."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Order(Enum):
    """What else an atomic access orders, as C++ names it; the value is LLVM's name."""

    RELAXED = "monotonic"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SEQ_CST = "seq_cst"


class Scope(Enum):
    """The threads among which an access is atomic and ordered; the value is LLVM's name."""

    BLOCK = "block"
    CLUSTER = "cluster"
    GPU = "device"
    SYSTEM = ""


@dataclass(frozen=True, slots=True)
class Ordering:
    """An atomic access."""

    order: Order = Order.RELAXED
    scope: Scope = Scope.GPU

    def __str__(self) -> str:
        return f"order={self.order.name.lower()!r}, scope={self.scope.name.lower()!r}"


@dataclass(frozen=True, slots=True)
class Caching:
    """An access with a cache operator of PTX's (``""`` for none), or a volatile one."""

    cache: str = ""
    volatile: bool = False

    def __str__(self) -> str:
        return "volatile=True" if self.volatile else f"cache={self.cache!r}"


Access = Ordering | Caching
RELAXED = Ordering()
