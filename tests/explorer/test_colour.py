"""Stages on a terminal: the same text in colours."""

from __future__ import annotations

import re

import pytest

from kdsl.explorer.colour import coloured

PTX = ".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\tld.param.b64 \t%rd1, [k_param_0];" + " // x" * 40 + "\n}"


def without_escapes(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("stage", ["ptx", "llvm", "llvm-opt"])
def test_only_escapes_are_added(monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    monkeypatch.setenv("COLUMNS", "20")  # no line is cut or wrapped
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    found = coloured(PTX, stage)
    assert found != PTX
    assert without_escapes(found) == PTX.expandtabs()


def test_tables_stay_as_they_are() -> None:
    assert coloured("k: 8 bytes", "params") == "k: 8 bytes"
