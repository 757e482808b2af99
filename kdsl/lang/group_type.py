"""The type of a group of threads. `kdsl.lang.groups` has the classes that a kernel author sees."""

from __future__ import annotations

from kdsl.records import dataclass

_SUBCLASSES = {
    "Group": ("Block", "Tile", "Coalesced", "Cluster", "Grid"),
    "Collective": ("Block", "Tile", "Coalesced", "Cluster"),
    "Lanes": ("Tile", "Coalesced"),
}


@dataclass(frozen=True)
class GroupType:
    """Threads that work together: a `kdsl.groups.Group`. In registers it is a u32, the lanes of a group of lanes.

    ``name`` is the class's. ``size`` is a tile's, and 0 for others. As an annotation, ``Group``, ``Collective`` and
    ``Lanes`` mean any of their subclasses, and a ``Tile`` of size 0 one of any size.
    """

    name: str
    size: int = 0

    def takes(self, other: GroupType) -> bool:
        """Whether a parameter of this type takes a group of the other."""
        if other.name in _SUBCLASSES.get(self.name, ()):
            return True
        return self.name == other.name and self.size in (0, other.size)

    def __str__(self) -> str:
        return f"{self.name} of {self.size}" if self.size else self.name

    __repr__ = __str__
