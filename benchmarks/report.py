"""A measured row, what judges it, and how rows become a table."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measurement. ``peer_value`` has the unit of ``value``; ``budget`` bounds the value or the ratio of both."""

    name: str
    value: float
    unit: str
    peer: str = ""
    peer_value: float | None = None
    budget: float | None = None
    budget_of_ratio: bool = False
    decimals: int = 2
    error: str | None = None

    @classmethod
    def failed(cls, name: str, error: str) -> Row:
        """The row of a measurement that gave no number."""
        return cls(name, math.nan, "", error=error)

    @property
    def ratio(self) -> float | None:
        return None if self.peer_value is None else self.value / self.peer_value

    @property
    def verdict(self) -> str:
        """``ok`` or ``MISS``; nothing where there is no budget."""
        if self.error:
            return "MISS"
        judged = self.ratio if self.budget_of_ratio else self.value
        if self.budget is None or judged is None:
            return ""
        return "ok" if judged <= self.budget else "MISS"

    def cells(self) -> list[str]:
        if self.error:
            return [self.name, "failed", "", "", "", "", self.verdict]
        form = f"{{:.{self.decimals}f}}"
        budget = "" if self.budget is None else f"<= {self.budget:g}{'x' if self.budget_of_ratio else ' ' + self.unit}"
        return [
            self.name,
            f"{form.format(self.value)} {self.unit}",
            self.peer,
            "" if self.peer_value is None else f"{form.format(self.peer_value)} {self.unit}",
            "" if self.ratio is None else f"{self.ratio:.3f}",
            budget,
            self.verdict,
        ]


HEADERS = ("what", "measured", "peer", "peer measured", "ratio", "budget", "verdict")


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned plain text, so that it reads the same on a terminal, in a file and in an issue."""
    widths = [max(len(line[i]) for line in [headers, *rows]) for i in range(len(headers))]
    lines = [headers, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def print_rows(title: str, rows: Sequence[Row]) -> None:
    print(f"\n{title}\n{table(HEADERS, [row.cells() for row in rows])}")
    for row in rows:
        if row.error:
            print(f"{row.name}: {row.error}")
    sys.stdout.flush()


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))
