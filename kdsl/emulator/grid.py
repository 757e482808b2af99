"""One launch: the parameter buffer, the shared layout, and batches of blocks until the grid has run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import prod

import numpy as np

from kdsl.backend import DeviceError, Launch
from kdsl.emulator.batch import Batch
from kdsl.emulator.code import Code
from kdsl.emulator.limits import cluster_of
from kdsl.emulator.memory import Allocation, Array, GlobalMemory
from kdsl.emulator.polling import never_released
from kdsl.emulator.program import Program
from kdsl.emulator.spaces import Region, SharedLayout

LANES = 32768
"""Lanes of a batch: enough to hide what a NumPy call costs, few enough that registers stay in cache."""

SHARED_OF_BATCH = 8 << 20
LOCAL_OF_BATCH = 64 << 20
COOPERATIVE = 16
"""How many times as many blocks of a cooperative launch a batch may have."""

PATIENCE = 256
"""Turns that a batch may give away in spin loops before the next one starts; each turn is some tens of blocks."""


class GridLaunch:
    """What all batches of a launch have in common."""

    def __init__(
        self, memory: GlobalMemory, program: Program, code: Code, configuration: Launch, parameters: bytes,
        step_limit: int, grid_id: int, output: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.memory = memory
        self.code = code
        self.configuration: Launch = configuration
        self.step_limit = step_limit
        self.grid_id: int = grid_id
        self.output = output
        self.threads = configuration.block[0] * configuration.block[1] * configuration.block[2]
        self.shared = layout(program, code, configuration.shared_bytes)
        self.shared_size: int = sum(r.size for r in self.shared.regions)
        self.has_dynamic = program.dynamic is not None
        self.parameters: Allocation | None = None
        self.workspace: Allocation | None = (
            memory.allocate(8, "the grid's workspace") if configuration.cooperative else None
        )
        self.template = self.with_parameters(parameters)
        x, y, z = configuration.grid
        self.total = x * y * z
        self.cluster = cluster_of(code, configuration)
        self.cluster_size: int = prod(self.cluster)
        self.has_clusters: bool = configuration.cluster is not None or "reqnctapercluster" in code.attributes
        # Blocks that wait for each other are best together: apart they wait for the other batches' turns.
        more = COOPERATIVE if configuration.cooperative else 1
        blocks = min(self.total, more * LANES // self.threads)
        if self.shared.row:
            blocks = min(blocks, more * SHARED_OF_BATCH // self.shared.row)
        local = sum(program.codes[name].local_size for name in reachable(program, code) if name in program.codes)
        if local:
            blocks = min(blocks, LOCAL_OF_BATCH // (local * self.threads))
        self.blocks = max(blocks // self.cluster_size, 1) * self.cluster_size
        self.indices()

    def indices(self) -> None:
        """Index arrays for the lanes of a whole batch."""
        linear = np.arange(self.threads)
        self.block_of_lane = np.repeat(np.arange(self.blocks), self.threads)
        self.lane_index: Array = np.tile((linear % 32).astype(np.uint32), self.blocks)
        self.warp_index: Array = np.tile((linear // 32).astype(np.uint32), self.blocks)
        x, y, z = self.configuration.block
        axes = (linear % x, linear // x % y, linear // (x * y))
        self.thread_axes: list[Array] = [
            np.zeros(1, np.uint32) if extent == 1 else np.tile(axis.astype(np.uint32), self.blocks)
            for axis, extent in zip(axes, (x, y, z), strict=True)
        ]

    def with_parameters(self, parameters: bytes) -> list[Array]:
        """The kernel's first registers: constants, zeros, and its parameters."""
        template = list(self.code.template)
        offset = 0
        offsets: dict[str, int] = {}
        for variable in self.code.parameters:
            offset = -(-offset // variable.align) * variable.align
            offsets[variable.name] = offset
            offset += variable.size
        if len(parameters) < offset:
            raise DeviceError(
                f"kernel {self.code.name} takes {offset} bytes of parameters, {len(parameters)} were given",
                kernel=self.code.name,
            )
        for name, pieces in self.code.pieces.items():
            if name in offsets:
                for (start, width), slot in pieces.items():
                    raw = np.frombuffer(parameters, f"u{width}", 1, offsets[name] + start)
                    template[slot] = raw.astype(template[slot].dtype)
        if self.code.addresses:
            self.parameters = self.memory.allocate(
                len(parameters), f"the parameters of {self.code.name}", writable=False
            )
            self.parameters.buffer[:] = np.frombuffer(parameters, np.uint8)
            for name, slot in self.code.addresses.items():
                template[slot] = np.array([self.parameters.address + offsets[name]], np.uint64)
        return template

    def run(self) -> None:
        """Run the whole grid. Batches that only wait for others give way to them."""
        blocked: deque[Batch] = deque()
        with np.errstate(all="ignore"):
            for first in range(0, self.total, self.blocks):
                batch = Batch(self, first, min(self.blocks, self.total - first))
                # Each waiting batch holds its registers, so the more there are, the longer the next one is given.
                if not batch.run(PATIENCE << len(blocked) // 16):
                    blocked.append(batch)
            self.finish(blocked)

    def finish(self, blocked: deque[Batch]) -> None:
        """Give turns to batches that wait, until they end or only wait for blocks that never come."""
        seen, unchanged = b"", 0
        while blocked:
            batch = blocked.popleft()
            if batch.run(PATIENCE):
                continue
            blocked.append(batch)
            now = self.workspace.buffer.tobytes() if self.workspace is not None else b""
            unchanged = unchanged + 1 if batch.only_waits and now == seen else 0
            seen = now
            if unchanged >= len(blocked):
                raise never_released(sorted(blocked, key=lambda b: b.first))

    def close(self) -> None:
        """Give back what the launch allocated."""
        if self.parameters is not None:
            self.memory.free(self.parameters.address)
        if self.workspace is not None:
            self.memory.free(self.workspace.address)


def reachable(program: Program, code: Code) -> set[str]:
    """The names of functions and variables that a kernel or what it calls mentions."""
    reached: set[str] = set()
    pending = [code.name]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += program.mentioned.get(name, ())
    return reached


def layout(program: Program, code: Code, dynamic_bytes: int) -> SharedLayout:
    """Shared variables that the kernel can reach keep their size; the others have none here."""
    reached = reachable(program, code)
    regions: list[Region] = []
    row = 0
    for region in program.shared:
        size = dynamic_bytes if region.name == program.dynamic else region.size
        if region.name not in reached and region.name != program.dynamic:
            size = 0
        place = -(-row // 1024) * 1024 if region.name == program.dynamic else -(-row // 128) * 128
        regions.append(Region(region.name, region.address, size, place))
        row = place + size
    return SharedLayout(tuple(regions), -(-row // 128) * 128)
