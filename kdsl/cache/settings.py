"""Where the cache is and how large it may become: what the environment says, else the platform's cache folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from kdsl.records import dataclass

FILES = "files"
"""The folder in it of what is kept."""
DEFAULT_LIMIT = 256 * 1024 * 1024
OFF, ON = frozenset({"0", "off", "no", "false"}), frozenset({"", "1", "on", "yes", "true"})
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


class SettingError(ValueError):
    """A variable of the environment says what the cache does not take: the message begins with it."""

    @property
    def variable(self) -> str:
        return str(self).partition("=")[0]


@dataclass(frozen=True, slots=True)
class Settings:
    """``limit`` is in bytes. ``enabled`` is False where KDSL_CACHE=0 (or off, no, false) turns the cache off."""

    folder: Path
    limit: int = DEFAULT_LIMIT
    enabled: bool = True


def settings(environment: Mapping[str, str]) -> Settings:
    """What KDSL_CACHE, KDSL_CACHE_DIR and KDSL_CACHE_SIZE say; SettingError for what is none.

    There is no cache where there is no home to have one in.
    """
    said = environment.get("KDSL_CACHE_DIR")
    switch = environment.get("KDSL_CACHE", "")
    enabled = switch.strip().lower() not in OFF
    if enabled and switch.strip().lower() not in ON:
        raise SettingError(f"KDSL_CACHE={switch}: 0 turns the cache off, and 1 on; KDSL_CACHE_DIR says its folder")
    size = _size(environment.get("KDSL_CACHE_SIZE"))
    try:
        # It stays where it is when the program goes to another folder.
        folder = Path(said).expanduser().absolute() if said else default_folder(environment)
    except (RuntimeError, FileNotFoundError):  # a user without a home; a program whose own folder is gone
        return Settings(Path(os.devnull), size, False)
    return Settings(folder, size, enabled)


def default_folder(environment: Mapping[str, str]) -> Path:
    """The platform's folder for caches of kdsl. RuntimeError for a user without a home."""
    if sys.platform.startswith("linux"):
        # What platformdirs says there; its import alone would take half as long as a warm start's share of kdsl.
        caches = environment.get("XDG_CACHE_HOME", "").strip()
        # The specification takes no relative ones.
        return (Path(caches) if Path(caches).is_absolute() else Path("~/.cache").expanduser()) / "kdsl"
    from platformdirs import user_cache_path  # start-up cost, as above

    return user_cache_path("kdsl", appauthor=False)


def _size(said: str | None) -> int:
    if not said:
        return DEFAULT_LIMIT
    text = said.strip().lower().removesuffix("b").removesuffix("i")
    number, unit = (text[:-1], text[-1]) if text[-1:] in ("k", "m", "g") else (text, "")
    if not number.isdecimal() or len(number) > 18:
        raise SettingError(f"KDSL_CACHE_SIZE={said}: a size is a number of bytes, such as 500000, 64M or 2G")
    return int(number) * UNITS[unit]
