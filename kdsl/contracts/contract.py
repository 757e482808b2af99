"""A kernel's launch contract: what every launch must satisfy, and what `launch` derives from the arguments."""

from __future__ import annotations

from collections.abc import Mapping

from kdsl.contracts.evaluate import evaluate
from kdsl.contracts.expressions import Compare, Configured, Node, Number, Value, leaves, substituted
from kdsl.records import dataclass

Extents = tuple[Node, Node, Node]


@dataclass(frozen=True, slots=True)
class Contract:
    """``requires`` are relations that all hold in a launch. ``grid``, ``block`` and ``shared`` say what `launch` takes
    for its configuration; a ``block`` of constants holds for every launch.
    """

    requires: tuple[Node, ...] = ()
    grid: Extents | None = None
    block: Extents | None = None
    shared: Node | None = None

    @property
    def fixed_block(self) -> tuple[int, int, int] | None:
        """The threads of a block, if all launches have the same."""
        if self.block is None or not all(is_constant(n) for n in self.block):
            return None
        x, y, z = (int(evaluate(n, _nothing)) for n in self.block)
        return x, y, z

    @property
    def relations(self) -> tuple[Node, ...]:
        """What is looked at in a launch: ``requires``, and enough shared memory."""
        if self.shared is None:
            return self.requires
        return *self.requires, Compare((Configured("shared"), self.shared), (">=",))

    @property
    def is_empty(self) -> bool:
        return self == NOTHING

    def with_constants(self, values: Mapping[str, Value]) -> Contract:
        """The contract of a kernel that is compiled for these values of some parameters."""
        if not values or self.is_empty:
            return self

        def extents(found: Extents | None) -> Extents | None:
            if found is None:
                return None
            x, y, z = (substituted(n, values) for n in found)
            return x, y, z

        return Contract(
            tuple(substituted(r, values) for r in self.requires),
            extents(self.grid),
            extents(self.block),
            None if self.shared is None else substituted(self.shared, values),
        )

    def unchecked(self) -> Contract:
        """What of it holds where launches check the block size alone."""
        return Contract(block=self.block)

    def nodes(self) -> tuple[Node, ...]:
        """All expressions in it."""
        shared = () if self.shared is None else (self.shared,)
        return *self.requires, *(self.grid or ()), *(self.block or ()), *shared

    def leaves(self) -> tuple[Node, ...]:
        """All that its expressions name."""
        return tuple(leaf for node in self.nodes() for leaf in leaves(node))


def is_constant(node: Node) -> bool:
    """Whether an expression names nothing of a launch."""
    return all(isinstance(leaf, Number) for leaf in leaves(node))


def _nothing(node: Node) -> Value:
    raise AssertionError(f"{node} is no constant")


NOTHING = Contract()
