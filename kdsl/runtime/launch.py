"""What `@kernel` objects use to launch: configurations, their memo, and the typed launcher.

    launcher = Launcher("vadd", (("a", Ptr[f32]), ..., ("n", i32)), backend, function, written={2})
    launcher.bind(LaunchConfig(grid, block))(a, b, c, n)     # a plain function: bind once, call often
    launcher.launch(Launch(...), (a, b, c, n))               # one call of what `bind` gives
    launcher.describe                                        # the generated packer's source text

With ``conditions`` (names that must stay bound to the objects that the kernel was compiled with) the packer looks at
them on each launch, and calls ``bind(..., otherwise=)`` when one does not hold.

`Configurations(prepare)` is the dict behind ``kernel[grid, block]``: a missing key is turned into a LaunchConfig, which
``prepare`` turns into what ``kernel[...]`` gives. Look up through `configured`, which also refuses equal keys of other
types.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from kdsl.runtime.conditions import Condition, all_hold
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.launcher import Launcher, not_configured
from kdsl.runtime.launcher_code import MISSING

__all__ = ["MISSING", "Condition", "Configurations", "LaunchConfig", "Launcher", "all_hold", "not_configured"]

MOST_CONFIGURATIONS = 1024


class Configurations(dict[Any, Callable[..., None]]):
    """``kernel[...]``'s memo, bounded: when it is full it starts anew."""

    __slots__ = ("prepare",)

    def __init__(self, prepare: Callable[[LaunchConfig], Callable[..., None]]) -> None:
        super().__init__()
        self.prepare = prepare

    def __missing__(self, key: Any) -> Callable[..., None]:
        value = self.prepare(LaunchConfig.of(key))
        if len(self) >= MOST_CONFIGURATIONS:
            self.clear()
        self[key] = value
        return value

    def configured(self, key: Any) -> Callable[..., None]:
        """The value for ``key``; LaunchConfigError for what is no configuration."""
        if type(key) is tuple and 2 <= len(key) <= 3:
            grid, block = key[0], key[1]
            # Why look at classes? 4 == 4.0 == True to a dict, but a float or a bool is no grid.
            if (type(grid) is int or (type(grid) is tuple and type(prod(grid)) is int)) and (
                type(block) is int or (type(block) is tuple and type(prod(block)) is int)
            ):
                return self[key]
        config = LaunchConfig.of(key)
        try:
            return self[config]
        except TypeError:
            # Another library's stream object without a hash: nothing to remember it by.
            return self.prepare(config)
