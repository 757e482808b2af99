"""The memo behind ``kernel[grid, block]``: bounded, and it tells 4 from 4.0 and True."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kdsl.runtime.config import LaunchConfig

MOST_CONFIGURATIONS = 1024
INTS = frozenset({(int,), (int, int), (int, int, int)})
"""Classes of the extents in a tuple that is looked up as it is."""


class Configurations(dict[Any, Callable[..., None]]):
    """``kernel[...]``'s memo, bounded: when it is full it starts anew."""

    __slots__ = ("prepare",)

    def __init__(self, prepare: Callable[[LaunchConfig], Callable[..., None]]) -> None:
        super().__init__()
        self.prepare = prepare

    def configured(self, key: Any) -> Callable[..., None]:
        """The value for ``key``; LaunchConfigError for what is no configuration."""
        known_by = _plain(key)
        if known_by is not None:
            try:
                return self[known_by]
            except (KeyError, TypeError):
                pass  # new, or with another library's stream that has no hash
        from kdsl.runtime.config import LaunchConfig  # start-up cost: for the first launch

        config = LaunchConfig.of(key)
        key = known_by or config
        try:
            found = self.get(key)
        except TypeError:
            # A stream without a hash: nothing to remember it by.
            return self.prepare(config)
        if found is None:
            found = self.prepare(config)
            if len(self) >= MOST_CONFIGURATIONS:
                self.clear()
            self[key] = found
        return found


def _plain(key: Any) -> tuple[Any, ...] | None:
    """What ``[grid, block]`` and ``[grid, block, stream]`` of plain ints are remembered by; None for other keys."""
    if type(key) is not tuple or not 2 <= len(key) <= 3:
        return None
    grid, block = key[0], key[1]
    # Why look at classes? 4 == 4.0 == True to a dict, but a float or a bool is no grid.
    if (type(grid) is int or (type(grid) is tuple and tuple(map(type, grid)) in INTS)) and (
        type(block) is int or (type(block) is tuple and tuple(map(type, block)) in INTS)
    ):
        # Nor is False the default stream, though it is 0.
        return key if len(key) == 2 else (*key, type(key[2]))
    return None
