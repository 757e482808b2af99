"""NVIDIA architectures: which there are, and the PTX ISA version that each one needs at least.

Source: PTX ISA 9.0, 11.1 (release notes) and 11.2 (`.target`), for the architectures that LLVM 22 can select.
"""

from __future__ import annotations

from dataclasses import dataclass

# The architecture's suffix "a" stands for features of that one architecture, which later ones need not have.
MINIMUM_PTX: dict[str, int] = {
    "sm_75": 63,
    "sm_80": 70,
    "sm_86": 71,
    "sm_87": 74,
    "sm_88": 90,
    "sm_89": 78,
    "sm_90": 78,
    "sm_90a": 80,
    "sm_100": 86,
    "sm_100a": 86,
    "sm_101": 86,
    "sm_101a": 86,
    "sm_103": 88,
    "sm_103a": 88,
    "sm_110": 90,
    "sm_110a": 90,
    "sm_120": 87,
    "sm_120a": 87,
    "sm_121": 88,
    "sm_121a": 88,
}
KNOWN: tuple[str, ...] = tuple(MINIMUM_PTX)


@dataclass(frozen=True, slots=True)
class Target:
    """One architecture. ``ptx_version`` is the oldest PTX ISA version that has it: 78 means 7.8."""

    name: str
    sm: int
    suffix: str
    ptx_version: int

    @classmethod
    def parse(cls, name: str) -> Target:
        """The architecture called ``name``; ValueError lists the known ones if it is not among them."""
        if name not in MINIMUM_PTX:
            raise ValueError(f"unknown architecture {name!r}; known: {', '.join(KNOWN)}")
        digits = name.removeprefix("sm_").rstrip("a")
        return cls(name, int(digits), "a" if name.endswith("a") else "", MINIMUM_PTX[name])

    def __str__(self) -> str:
        return self.name
