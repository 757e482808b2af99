"""What barriers, shuffles, votes, matches and reductions give each thread that comes to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from . import semantics
from .memory import Undefined
from .typing_rules import BOOL, I32, U32, IllTyped, Scalar

Came = Mapping[int, Sequence[Any]]
"""What each lane (or thread) passed."""
FULL = 0xFFFF_FFFF


@dataclass(frozen=True)
class Rule:
    """``waits`` for "warp" (the lanes of the mask that is the first argument), "block", or "named" (a barrier's count).

    ``parameters`` are types, or None for any; ``results`` too, None for the type of the second argument.
    """

    waits: str
    parameters: tuple[Scalar | None, ...]
    results: tuple[Scalar | None, ...]
    give: Callable[[Came, int, Scalar], tuple[Any, ...]]


def from_lane(came: Came, source: int) -> Any:
    if source not in came:
        raise Undefined(f"a shuffle from lane {source}, which does not take part")
    return came[source][1]


def shuffle_index(came: Came, lane: int, t: Scalar) -> tuple[Any, ...]:
    _, _, source, width = came[lane]
    return (from_lane(came, lane // width * width + source % width),)


def shuffle_up(came: Came, lane: int, t: Scalar) -> tuple[Any, ...]:
    _, _, delta, width = came[lane]
    return (from_lane(came, lane - delta if lane % width >= delta else lane),)


def shuffle_down(came: Came, lane: int, t: Scalar) -> tuple[Any, ...]:
    _, _, delta, width = came[lane]
    return (from_lane(came, lane + delta if lane % width + delta < width else lane),)


def shuffle_xor(came: Came, lane: int, t: Scalar) -> tuple[Any, ...]:
    _, _, change, width = came[lane]
    source = lane ^ change
    return (from_lane(came, source if source // width <= lane // width else lane),)


def ballot(came: Came, lane: int, t: Scalar) -> tuple[Any, ...]:
    return (sum(1 << other for other, (_, chosen) in came.items() if chosen),)


def match_any(came: Came, lane: int, t: Scalar) -> tuple[Any, ...]:
    mine = came[lane][1]
    return (sum(1 << other for other, (_, value) in came.items() if value == mine),)


def match_all(came: Came, lane: int, t: Scalar) -> tuple[Any, ...]:
    if len({value for _, value in came.values()}) == 1:
        return (came[lane][0] & FULL, True)
    return (0, False)


def reduction(op: str) -> Callable[[Came, int, Scalar], tuple[Any, ...]]:
    def give(came: Came, lane: int, t: Scalar) -> tuple[Any, ...]:
        return (reduce(lambda a, b: semantics.binary(op, a, b, t), [value for _, value in came.values()]),)

    return give


def nothing(came: Came, lane: int, t: Scalar) -> tuple[Any, ...]:
    return ()


SHUFFLES = {
    "shfl_sync": shuffle_index,
    "shfl_up_sync": shuffle_up,
    "shfl_down_sync": shuffle_down,
    "shfl_xor_sync": shuffle_xor,
}
REDUCTIONS = {"add": "+", "min": "min", "max": "max", "and": "&", "or": "|", "xor": "^"}

RULES: dict[str, Rule] = {
    "sync_threads": Rule("block", (), (), nothing),
    "sync_threads_count": Rule("block", (BOOL,), (I32,), lambda c, k, t: (sum(p for (p,) in c.values()),)),
    "sync_threads_and": Rule("block", (BOOL,), (BOOL,), lambda c, k, t: (all(p for (p,) in c.values()),)),
    "sync_threads_or": Rule("block", (BOOL,), (BOOL,), lambda c, k, t: (any(p for (p,) in c.values()),)),
    "barrier": Rule("named", (U32, U32), (), nothing),
    "sync_warp": Rule("warp", (U32,), (), nothing),
    "all_sync": Rule("warp", (U32, BOOL), (BOOL,), lambda c, k, t: (all(p for _, p in c.values()),)),
    "any_sync": Rule("warp", (U32, BOOL), (BOOL,), lambda c, k, t: (any(p for _, p in c.values()),)),
    "ballot_sync": Rule("warp", (U32, BOOL), (U32,), ballot),
    "match_any_sync": Rule("warp", (U32, None), (U32,), match_any),
    "match_all_sync": Rule("warp", (U32, None), (U32, BOOL), match_all),
}
RULES |= {name: Rule("warp", (U32, None, U32, I32), (None,), give) for name, give in SHUFFLES.items()}
RULES |= {f"reduce_{name}_sync": Rule("warp", (U32, None), (None,), reduction(op)) for name, op in REDUCTIONS.items()}


def result_types(name: str, arguments: Sequence[Scalar]) -> list[Scalar]:
    rule = RULES[name]
    if len(arguments) > len(rule.parameters):
        raise IllTyped(f"{name} of {len(arguments)} arguments")
    if name.startswith("reduce_") and arguments[1] not in (I32, U32):
        raise IllTyped(f"{name} of {arguments[1].name}")
    return [arguments[1] if result is None else result for result in rule.results]
