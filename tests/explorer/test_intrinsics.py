"""The table of the language's functions: what is in it, and how it is searched."""

from __future__ import annotations

import importlib
import pkgutil

import kdsl.lang
from kdsl.explorer.intrinsics import matching, rendered, sections
from kdsl.lang.construct import Construct
from kdsl.lang.index import Registers
from kdsl.lang.intrinsic import Intrinsic


def test_every_stub_is_in_the_table_once() -> None:
    stubs: set[Intrinsic | Construct] = set()
    for info in pkgutil.walk_packages(kdsl.lang.__path__, "kdsl.lang."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, Registers):
                stubs |= {value.x, value.y, value.z}
            elif isinstance(value, type):
                parts = (part.__func__ for part in vars(value).values() if isinstance(part, staticmethod))
                stubs |= {part for part in parts if isinstance(part, Construct)}
            elif isinstance(value, Intrinsic | Construct):
                stubs.add(value)
    names = sorted(entry.name.removeprefix("math.").removeprefix("fast.") for s in sections() for entry in s.entries)
    assert names == sorted(stub.name for stub in stubs)


def test_patterns_look_at_names_and_instructions() -> None:
    assert {"clz", "math.clz"} & {entry.name for entry in matching("clz")}
    assert [entry.name for entry in matching("ELECT")] == ["elect_sync"]
    assert [entry.name for entry in matching("redux.sync.xor")] == ["reduce_xor_sync"]
    assert [entry.name for entry in matching("sync_threads_?r")] == ["sync_threads_or"]
    assert [entry.name for entry in matching("math.sin")][:3] == ["math.sin", "math.sincos", "math.sinpi"]
    assert matching("no such function") == ()


def test_an_entry_on_a_terminal() -> None:
    (entry,) = matching("elect_sync")
    assert rendered(entry).splitlines() == [
        "elect_sync(mask: u32) -> bool",
        "    Whether the caller is the one lane of mask that was chosen; the same one each time.",
        "    PTX: elect.sync",
        "    from sm_90",
    ]
    (array,) = matching("shared.array")
    assert "PTX" not in rendered(array)
    assert rendered(array).startswith("shared.array(shape: int | tuple[int, ...], dtype: type[T]) -> Array[T, Any]\n")


def test_atomics_and_accesses_are_found_by_their_instruction() -> None:
    found = {
        pattern: [e.name for e in matching(pattern)] for pattern in ("atom.cas", "ld.global", "st.release", "mapa")
    }
    assert found == {
        "atom.cas": ["atomic.cas"], "ld.global": ["load"], "st.release": ["atomic.store"], "mapa": ["map_shared_rank"],
    }  # fmt: skip
