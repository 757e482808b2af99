"""A cache for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cache.programs import Sessions


@pytest.fixture(autouse=True, scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Processes that tests start share the bytecode of what they import, as those of an installed package do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("bytecode")))
        yield


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sessions:
    """Programs that share a cache, and nothing else."""
    monkeypatch.setenv("KDSL_CACHE_DIR", str(tmp_path / "cache"))
    return Sessions(tmp_path)
