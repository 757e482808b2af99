"""Another order in which the emulator may run threads. Its own brings lanes together wherever it can, so that all go
through a program in step, and a barrier that is missing does no harm.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdsl.emulator.batch import Batch
from kdsl.emulator.fragment import Fragment


def warps_apart(backwards: bool = False) -> Callable[[Batch], None]:
    """What `Batch.start` may be replaced by: each warp runs until it has to wait, and only then the next."""

    def start(batch: Batch) -> None:
        code = batch.launch.code
        warps = np.arange(batch.size).reshape(-1, 32)
        for turn, lanes in enumerate(reversed(warps) if backwards else warps):
            fragment = Fragment(batch, lanes, code, list(batch.launch.template))
            fragment.prefix = (turn,)
            if code.local_size:
                batch.local.enter(fragment, 0, code.local_size)
            batch.park(fragment)

    return start
