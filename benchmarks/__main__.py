"""``python -m benchmarks``: the host's budgets, as tables. Needs no GPU; exits 0 also where a budget is missed."""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import isolated
from benchmarks.report import Row, print_rows

SECTIONS = {
    "compile_time": "Python source to PTX",
    "import_time": "Importing",
    "emulation": "The emulator",
    "cold_start": "Interpreter start to a verified result, nothing cached and warm",
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="the host's budgets")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="measure this section alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE as well")
    parser.add_argument("--child", choices=SECTIONS, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.child:
        measured: list[Row] = importlib.import_module(f"benchmarks.{arguments.child}").rows()
        print(json.dumps([asdict(row) for row in measured]))
        return 0

    everything: list[Row] = []
    for section in arguments.only or SECTIONS:
        outcome = isolated.run("benchmarks", ["--child", section], timeout=240)
        rows = [Row.failed(section, outcome.error)] if outcome.error else [Row(**row) for row in outcome.value]
        print_rows(SECTIONS[section], rows)
        everything += rows
    missed = [row.name for row in everything if row.verdict == "MISS"]
    print(f"\nmissed: {', '.join(missed) if missed else 'none'}")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in everything], indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
