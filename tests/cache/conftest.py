"""A cache for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cache.programs import Sessions


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sessions:
    """Programs that share a cache, and nothing else."""
    monkeypatch.setenv("KDSL_CACHE_DIR", str(tmp_path / "cache"))
    return Sessions(tmp_path)
