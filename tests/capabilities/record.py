"""docs/capabilities.json: which rows passed on which device, as a test run found it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .capability import Capability

RECORD = Path(__file__).parents[2] / "docs" / "capabilities.json"

Record = dict[str, Any]
"""``devices``: what is known of each, by name. ``rows``: the table in its order, each with the devices it passed on."""


def read(path: Path = RECORD) -> Record:
    if not path.exists():
        return {"devices": {}, "rows": []}
    return json.loads(path.read_text(encoding="utf-8"))


def described(row: Capability) -> Record:
    """What the record says of a row, besides where it passed."""
    return {
        "area": row.area,
        "name": row.name,
        "what": row.what,
        "from": row.minimum,
        "instructions": list(row.instructions),
        "digest": row.digest,
    }


def merged(
    old: Record, rows: Sequence[Capability], ran: Mapping[str, Mapping[str, bool]], devices: Mapping[str, Any]
) -> Record:
    """``old`` with what a run found: for each device, by a row's id, whether it passed.

    A row that has changed since it passed elsewhere has not passed there; rows that are no more are left out.
    """
    before = {(r["area"], r["name"]): r for r in old["rows"]}
    out = []
    for row in rows:
        known = before.get((row.area, row.name), {})
        passed = set(known["passed"] if known.get("digest") == row.digest else ())
        for device, results in ran.items():
            if row.id in results:
                passed = passed | {device} if results[row.id] else passed - {device}
        out.append({**described(row), "passed": sorted(passed)})
    return {"devices": dict(sorted({**old["devices"], **devices}.items())), "rows": out}


def write(record: Record, path: Path) -> None:
    """A line for each row, so that a change of one is a change of one line."""
    lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in record["rows"])
    devices = json.dumps(record["devices"], ensure_ascii=False)
    path.write_text(f'{{\n"devices": {devices},\n"rows": [\n{lines}\n]\n}}\n', encoding="utf-8")
