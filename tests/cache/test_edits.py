"""Random edits of a module, run after run with one cache: the result is always what Python computes, and a state that was
met before is found.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cache.programs import Sessions

TEMPLATE = """
import numpy as np
from kdsl import *
from kdsl import kernel
{constants}
class Options:
    offset = {offset}

def first(x):
    return x {first} N0

def second(x, y={default}):
    return {chosen}(x) + N1 * y

@kernel
def k(out: Ptr[i32], n: i32):
    i = thread_idx.x
    out[i] = second(i) + Options.offset + N2

out = np.zeros(4, np.int32)
k[1, 4](out, 4)
result = out.tolist()
{below}
"""
numbers = st.integers(-3, 3)
states = st.fixed_dictionaries(
    {
        "constants": st.tuples(numbers, numbers, numbers),
        "offset": numbers,
        "first": st.sampled_from("+-*"),
        "default": numbers,
        "chosen": st.sampled_from(["first", "abs"]),
        "below": st.sampled_from(["", "# a comment", "unrelated = 1"]),
    }
)


def text_of(state: dict[str, object]) -> str:
    constants = "\n".join(f"N{i} = {value}" for i, value in enumerate(state["constants"]))  # type: ignore[arg-type]
    return TEMPLATE.format(**{**state, "constants": constants})


def expected(state: dict[str, object]) -> list[int]:
    """The same in Python."""
    n0, n1, n2 = state["constants"]  # type: ignore[misc]
    first = {"+": lambda x: x + n0, "-": lambda x: x - n0, "*": lambda x: x * n0}[state["first"]]  # type: ignore[index]
    chosen = first if state["chosen"] == "first" else abs
    return [chosen(i) + n1 * state["default"] + state["offset"] + n2 for i in range(4)]  # type: ignore[operator]


def known_as(state: dict[str, object]) -> str:
    """What is the same for states of which the kernel is the same."""
    used = dict(state, below="")
    n0, n1, n2 = state["constants"]  # type: ignore[misc]
    if state["chosen"] == "abs":
        used["constants"], used["first"] = (0, n1, n2), "+"
    return text_of(used)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(states, min_size=2, max_size=6))
def test_edits(history: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("KDSL_CACHE_DIR", str(Path(folder) / "cache"))
        sessions = Sessions(Path(folder))
        met = set()
        for state in [*history, history[0]]:
            result, hits, misses = sessions.run(text_of(state))
            assert result == expected(state)
            met.add(known_as(state))
            assert misses == len(met)
        assert hits == len(history) + 1 - len(met)
