"""Attributes that a class does not have, and what to write instead."""

from __future__ import annotations

from typing import Any, NoReturn


class Absent:
    """Stands for what arrays of other libraries have, and says what to write instead."""

    def __init__(self, hint: str) -> None:
        self.hint = hint

    def __set_name__(self, _: type, name: str) -> None:
        self.name = name

    def __get__(self, array: Any, _: Any = None) -> NoReturn:
        raise AttributeError(f"a DeviceArray has no {self.name!r}: {self.hint}")
