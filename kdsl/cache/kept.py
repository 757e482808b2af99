"""Whether a kernel is probably in the cache: a guess from two times, before anything else of it is imported."""

from __future__ import annotations

import os
from pathlib import Path
from types import FunctionType

from kdsl.cache.settings import FILES, settings


def is_probably_kept(function: FunctionType) -> bool:
    """Whether its file has not been changed since something was last kept. Nothing but the order of a first launch's
    work may depend on it.
    """
    try:
        said = settings(os.environ)
        written = Path(function.__code__.co_filename).stat().st_mtime
        return said.enabled and written < (said.folder / FILES).stat().st_mtime
    except (OSError, ValueError):  # no file, no cache yet, or settings that are wrong, which is told elsewhere
        return False
