"""The memo behind ``kernel[grid, block]``: bounded, and it tells 4 from 4.0 and True."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kdsl.runtime.config import LaunchConfig

MOST_CONFIGURATIONS = 1024


class Configurations(dict[Any, Callable[..., None]]):
    """``kernel[...]``'s memo, bounded: when it is full it starts anew."""

    __slots__ = ("prepare",)

    def __init__(self, prepare: Callable[[LaunchConfig], Callable[..., None]]) -> None:
        super().__init__()
        self.prepare = prepare

    def __missing__(self, key: Any) -> Callable[..., None]:
        from kdsl.runtime.config import LaunchConfig  # start-up cost: for the first launch

        value = self.prepare(LaunchConfig.of(key))
        if len(self) >= MOST_CONFIGURATIONS:
            self.clear()
        self[key] = value
        return value

    def configured(self, key: Any) -> Callable[..., None]:
        """The value for ``key``; LaunchConfigError for what is no configuration."""
        if type(key) is tuple and 2 <= len(key) <= 3:
            grid, block = key[0], key[1]
            # Why look at classes? 4 == 4.0 == True to a dict, but a float or a bool is no grid, and no handle.
            if (
                (type(grid) is int or (type(grid) is tuple and type(prod(grid)) is int))
                and (type(block) is int or (type(block) is tuple and type(prod(block)) is int))
                and (len(key) == 2 or type(key[2]) not in (bool, float))
            ):
                return self[key]
        from kdsl.runtime.config import LaunchConfig  # start-up cost, as above

        config = LaunchConfig.of(key)
        try:
            return self[config]
        except TypeError:
            # Another library's stream object without a hash: nothing to remember it by.
            return self.prepare(config)
