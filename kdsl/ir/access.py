"""How memory is accessed where it is not plainly: order and scope of atomics, caching and volatility."""

from __future__ import annotations

from enum import Enum

from kdsl.records import dataclass


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
    """An access with a cache operator of PTX's (``""`` for none), a volatile one, or one with hints.

    ``evict`` is the priority of its line in L1, ``l2_prefetch`` how many bytes L2 shall fetch (0: as it likes). What L2
    shall do with the line is the policy of the load or store itself, an expression.
    """

    cache: str = ""
    volatile: bool = False
    evict: str = ""
    l2_prefetch: int = 0

    def __str__(self) -> str:
        said = {"cache": self.cache, "volatile": self.volatile, "evict": self.evict, "l2_prefetch": self.l2_prefetch}
        return ", ".join(f"{name}={value!r}" for name, value in said.items() if value)


Access = Ordering | Caching
RELAXED = Ordering()
