"""What a compiled kernel takes, and how many of its blocks run at once: as the device says, or for the emulator as
ptxas and the architecture's published limits say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kdsl.backend import Launch
from kdsl.occupancy import (
    MULTIPROCESSORS,
    WARP,
    KernelAttributes,
    Occupancy,
    SuggestedBlock,
    blocks_by_resource,
    most_threads,
)
from kdsl.runtime.config import LaunchConfig, as_int
from kdsl.runtime.errors import LaunchConfigTypeError, LaunchConfigValueError, written
from kdsl.runtime.launch import Launcher
from kdsl.target import Target

if TYPE_CHECKING:
    from kdsl.codegen.sass import Resources

SharedBytes = int | Callable[[int], int]
"""Dynamic shared memory of a block: bytes, or a function from its threads to bytes."""


@runtime_checkable
class OccupancyBackend(Protocol):
    """A backend that knows what a loaded kernel takes, and what fits."""

    def attributes(self, function: Any) -> KernelAttributes:
        """But for spills, which are None."""
        ...

    def active_blocks(self, function: Any, threads: int, shared_bytes: int) -> int:
        """Blocks of so many threads, and of so much dynamic shared memory, that a multiprocessor runs at once."""
        ...

    def active_clusters(self, function: Any, launch: Launch) -> int:
        """The launch's clusters that the device runs at once."""
        ...

    def best_block(self, function: Any, shared_bytes: int, most_threads: int) -> SuggestedBlock:
        """The block of at most so many threads (0: any) with the highest occupancy, the largest of several."""
        ...


def attributes_of(launcher: Launcher) -> KernelAttributes:
    """What the launcher's kernel takes; ToolMissing on the emulator where there is no ptxas."""
    if not isinstance(launcher.backend, OccupancyBackend):
        return _attributes(launcher, _reported(launcher))
    found = launcher.backend.attributes(launcher.function)
    report = _known_report(launcher)
    return replace(found, spill_stores=report.spill_stores, spill_loads=report.spill_loads) if report else found


def occupancy_of(launcher: Launcher, block: Any, shared: int, cluster: Any) -> Occupancy:
    """Of blocks of this size and dynamic shared memory; LaunchConfigError for what cannot be launched."""
    launch = launcher.checked_config(
        LaunchConfig(cluster or launcher.limits.cluster or 1, block, shared, cluster=cluster), is_launched=False
    )
    threads, backend = prod(launch.block), launcher.backend
    sm = Target.parse(backend.target).sm
    if not isinstance(backend, OccupancyBackend):
        report = _reported(launcher)
        limits = _limits(launcher, report, threads, launch.shared_bytes)
        blocks = min(limits.values())
        return Occupancy(blocks, blocks * -(-threads // WARP), MULTIPROCESSORS[sm].warps, limits)
    blocks = backend.active_blocks(launcher.function, threads, launch.shared_bytes)
    taken = backend.attributes(launcher.function)
    limits = (
        blocks_by_resource(sm, threads, registers=taken.registers, shared=taken.shared + launch.shared_bytes)
        if sm in MULTIPROCESSORS
        else {}
    )
    # The driver knows more than this table does: of a GPU that is newer, and of barriers.
    limits = limits if min(limits.values(), default=0) == blocks else {}
    clusters = backend.active_clusters(launcher.function, launch) if launch.cluster else None
    most_warps = backend.limits.extra["multiprocessor_threads"] // WARP
    return Occupancy(blocks, blocks * -(-threads // WARP), most_warps, limits, clusters)


def suggested_block(launcher: Launcher, shared: SharedBytes, most: int | None) -> SuggestedBlock:
    """The block with the highest occupancy, of at most ``most`` threads and as the kernel allows."""
    most = None if most is None else checked_most(most)
    backend, compiled, fixed = launcher.backend, launcher.limits, launcher.checks.contract.fixed_block
    limit = min(most or backend.limits.threads, compiled.most_threads or backend.limits.threads, backend.limits.threads)
    if isinstance(backend, OccupancyBackend) and not callable(shared) and fixed is None:
        launcher.checked_config(LaunchConfig(compiled.cluster or 1, compiled.block_multiple, shared), is_launched=False)
        found = backend.best_block(launcher.function, shared, limit)
        if found.block and found.block % compiled.block_multiple == 0:
            return found
    sizes = [prod(fixed)] if fixed is not None else _sizes(limit, compiled.block_multiple)
    tried = {threads: _blocks(launcher, threads, shared) for threads in sizes}
    # Of several that are as good, the largest: fewer blocks have less to begin and to end.
    block = max(tried, key=lambda threads: (threads * tried[threads], threads), default=0)
    if not block or not tried[block]:
        raise LaunchConfigValueError(
            f"no block of {launcher.kernel} fits: it takes {attributes_of(launcher)}, and dynamic shared memory"
        )
    multiprocessors = backend.limits.extra.get("multiprocessors")
    return SuggestedBlock(block, multiprocessors and multiprocessors * tried[block])


def checked_most(most: Any) -> int:
    """How large a block may be suggested, as an int."""
    threads = as_int(most) or 0
    if threads < 1:
        raise LaunchConfigTypeError(
            f"most_threads is how large a block may be suggested, in threads, got {written(most)}"
        )
    return threads


def _sizes(limit: int, multiple: int) -> list[int]:
    """Whole warps, and the largest block if that is none."""
    sizes = {*range(WARP, limit + 1, WARP), limit}
    return sorted(size for size in sizes if size % multiple == 0)


def _blocks(launcher: Launcher, threads: int, shared: SharedBytes) -> int:
    """Blocks of a multiprocessor; none where one cannot be launched."""
    shared_bytes = shared(threads) if callable(shared) else shared
    config = LaunchConfig(launcher.limits.cluster or 1, launcher.checks.contract.fixed_block or threads, shared_bytes)
    if config.shared > launcher.backend.limits.shared_bytes:
        return 0
    launch = launcher.checked_config(config, is_launched=False)
    if isinstance(launcher.backend, OccupancyBackend):
        return launcher.backend.active_blocks(launcher.function, threads, launch.shared_bytes)
    return min(_limits(launcher, _reported(launcher), threads, launch.shared_bytes).values())


def report_on(ptx: bytes, target: str, entry: str) -> Resources:
    """ptxas's report on an entry of PTX that any compiler made."""
    from kdsl.codegen.sass import assemble  # start-up cost, as below

    text = ptx.rstrip(b"\0").decode("ascii", errors="replace")
    return next(r for r in assemble(text, Target.parse(target)).resources if r.kernel == entry)


# Without a device that says it.


def _limits(launcher: Launcher, report: Resources, threads: int, shared_bytes: int) -> dict[str, int]:
    target, most = Target.parse(launcher.backend.target), launcher.backend.limits.shared_bytes
    if report.shared + shared_bytes > most:
        raise LaunchConfigValueError(
            f"{launcher.kernel} has {report.shared} bytes of static shared memory; with {shared_bytes} of dynamic "
            f"these are more than the {most} that a block can have here"
        )
    return blocks_by_resource(
        target.sm, threads, registers=report.registers, shared=report.shared + shared_bytes, barriers=report.barriers
    )


def _attributes(launcher: Launcher, report: Resources) -> KernelAttributes:
    sm = Target.parse(launcher.backend.target).sm
    most = min(launcher.backend.limits.threads, most_threads(report.registers))
    return KernelAttributes(
        registers=report.registers,
        shared=report.shared,
        local=report.stack,
        constant=report.constants,
        max_threads=min(most, launcher.limits.most_threads or most),
        ptx_version=sm,
        binary_version=sm,
        spill_stores=report.spill_stores,
        spill_loads=report.spill_loads,
    )


def _reported(launcher: Launcher) -> Resources:
    from kdsl.codegen.sass import ToolMissing  # start-up cost: a launch needs none of it

    what = f"what {launcher.kernel} takes (registers, shared and local memory) is ptxas's to say on the emulator"
    if launcher.report is None:
        raise ToolMissing(f"{what}, from PTX text, and this kernel's module is none")
    try:
        report: Resources = launcher.report()
    except ToolMissing as error:
        raise ToolMissing(f"{what}, and {error}") from None
    return report


def _known_report(launcher: Launcher) -> Resources | None:
    """ptxas's report, where it can be had: not where ptxas is older than the GPU."""
    from kdsl.codegen.sass import AssemblyError, find_tool  # start-up cost, as above

    if launcher.report is None or find_tool("ptxas") is None:
        return None
    try:
        report: Resources = launcher.report()
    except AssemblyError:
        return None
    return report
