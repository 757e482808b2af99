"""``pytest --cache FOLDER``: each compilation that the cache finds is made anew as well, and must be the same.

Run twice with one folder, the second run checks what the first one kept of every kernel that the tests launch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from kdsl.cache import compilations
from kdsl.compilation import Compilation, Recalled, recall, run_pipeline
from kdsl.ir.request import KernelRequest
from kdsl.target import Target
from kdsl.timeline import Timeline


def check_what_is_found(patch: pytest.MonkeyPatch) -> None:
    """From now on."""
    patch.setattr(compilations, "recall", recall_and_check)


def recall_and_check(
    requests: Sequence[KernelRequest], target: Target, found: Recalled, timeline: Timeline | None = None
) -> Compilation:
    made = run_pipeline(requests, target)
    # LLVM counts calls through a process.
    texts = [re.sub(r"callseq \d+", "callseq", ptx) for ptx in (found.ptx, made.ptx)]
    assert texts[0] == texts[1]
    assert found.compiled == made.compiled
    assert found.link == made.link
    assert [(name, id(variable)) for name, variable in found.variables] == [(n, id(v)) for n, v in made.variables]
    return recall(requests, target, found, timeline)
