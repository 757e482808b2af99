"""docs/intrinsics.md is what its generator makes of the stubs."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_intrinsics_page_is_current() -> None:
    page = runpy.run_path(str(DOCS / "generate_intrinsics.py"))["page"]()
    assert page == (DOCS / "intrinsics.md").read_text(encoding="utf-8"), "run python docs/generate_intrinsics.py"
    assert "| `shfl_sync(mask: u32, value: V, lane: u32, width: i32 = 32) -> V` |" in page
