"""What a debug build on a GPU tells of a failed check: a record in host memory, read when the context has died."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from kdsl.backend import DeviceError
from kdsl.checks import RECORD_BYTES, Table, failure
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class ModuleChecks:
    """The checks of a loaded module, and the host address of the record that its kernels write."""

    table: Table
    record: int

    def failure(self, launched: Sequence[str]) -> DeviceError | None:
        """The exception for the check that failed, if one has; ``launched`` are the kernels that it may be of."""
        return failure(ctypes.string_at(self.record, RECORD_BYTES), self.table, launched)
