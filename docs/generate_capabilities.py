"""Writes the capability table of docs/language.md from docs/capabilities.json: `python docs/generate_capabilities.py`.

The record is written by a test run, `pytest tests/capabilities --record-capabilities docs/capabilities.json`, and holds
what passed; nothing of the table is written by hand. A test checks that this was run.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
BEGIN = "<!-- capabilities: written by generate_capabilities.py -->"
END = "<!-- end of capabilities -->"


def with_table(page: str, record: dict[str, Any]) -> str:
    """The page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"the page has no {BEGIN} ... {END}")
    return "\n".join([before + BEGIN, *table(record), END]) + after


def table(record: dict[str, Any]) -> Iterator[str]:
    """Which devices there were, and a table for each area."""
    devices = sorted(record["devices"], key=lambda name: (name != "emulator", name))
    gpus = [name for name in devices if name != "emulator"]
    rows = record["rows"]
    yield ""
    yield f"{len(rows)} rows, each with a test in tests/capabilities. {', '.join(told(d, record) for d in devices)}."
    for area, group in itertools.groupby(rows, key=lambda row: row["area"]):
        yield f"\n### {area}\n"
        yield "| what | meaning | PTX | from | emulator | GPU |"
        yield "|---|---|---|---|---|---|"
        yield from (written(row, gpus) for row in group)
    yield ""


def told(device: str, record: dict[str, Any]) -> str:
    """A device, with how much passed there."""
    passed = sum(device in row["passed"] for row in record["rows"])
    about = record["devices"][device]
    driver = f" ({about['architecture']}, driver for {about['driver']})" if "driver" in about else ""
    name = device if driver else f"On the {device}"
    return f"{name}{driver}: {passed} passed"


def written(row: dict[str, Any], gpus: list[str]) -> str:
    """One line of a table."""
    on_gpus = [name.removeprefix("NVIDIA ") for name in gpus if name in row["passed"]]
    cells = (
        f"`{row['name']}`",
        row["what"],
        ", ".join(f"`{word}`" for word in row["instructions"]),
        row["from"],
        "passed" if "emulator" in row["passed"] else "not yet",
        ", ".join(on_gpus) or "not yet run",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    path = DOCS / "language.md"
    record = json.loads((DOCS / "capabilities.json").read_text(encoding="utf-8"))
    path.write_text(with_table(path.read_text(encoding="utf-8"), record), encoding="utf-8")
