"""What a debug build tells of a check that failed. The next launch starts anew: nothing here dies of a trap."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from kdsl.backend import DeviceError
from kdsl.checks import CLAIM_OFFSET, RECORD_BYTES, STATE, TABLE, Table, failure
from kdsl.emulator.memory import WINDOW_BITS, Allocation, GlobalMemory
from kdsl.records import dataclass


@dataclass(frozen=True, slots=True)
class ModuleChecks:
    """The checks of a loaded module, its state, and the record that its kernels write."""

    table: Table
    state: Allocation
    record: Allocation

    @classmethod
    def of(cls, addresses: Mapping[str, int], memory: GlobalMemory) -> ModuleChecks | None:
        """The checks of a module whose variables lie at ``addresses``, with a record to tell them; None if it has
        none.
        """
        if STATE not in addresses or TABLE not in addresses:
            return None
        state, table = (memory.allocations[addresses[name] >> WINDOW_BITS] for name in (STATE, TABLE))
        record = memory.allocate(RECORD_BYTES, "the record of failed checks")
        state.buffer[:8] = list(struct.pack("<Q", record.address))
        return cls(Table.decoded(table.buffer.tobytes()), state, record)

    def failure(self, kernel: str) -> DeviceError | None:
        """The exception for the check that failed in a launch of ``kernel``, if one has; forget it."""
        told = self.record.buffer.tobytes()
        self.record.buffer[:] = 0
        self.state.buffer[CLAIM_OFFSET:] = 0
        return failure(told, self.table, [kernel])
