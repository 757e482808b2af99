"""Disagreements that random programs found and that are mended, one row each."""

from __future__ import annotations

from ..rows import Row

FOUND: tuple[Row, ...] = ()
