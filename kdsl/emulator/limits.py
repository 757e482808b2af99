"""What a launch may ask for: the limits of the architecture, and those that a kernel was compiled with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kdsl.backend import DeviceError, DeviceLimits, Dim3, Launch
from kdsl.emulator.code import Code
from kdsl.emulator.memory import MOST_REGIONS

if TYPE_CHECKING:
    from kdsl.emulator.grid import GridLaunch

SHARED_KILOBYTES = {
    "75": 64,
    "80": 163,
    "86": 99,
    "87": 163,
    "89": 99,
    "90": 227,
    "100": 227,
    "103": 227,
    "110": 227,
}
"""Shared memory that a block can have, by architecture; 99 where it is not said (CUDA C++ Programming Guide, technical
specifications per compute capability)."""

STATIC_SHARED_BYTES = 48 * 1024
FIRST_WITH_CLUSTERS = 90
MOST_OF_CLUSTER = 16


def limits_of(target: str) -> DeviceLimits:
    """The limits of an architecture such as ``sm_90a``."""
    architecture = target.removeprefix("sm_").rstrip("af")
    since_90 = int(int(architecture) >= FIRST_WITH_CLUSTERS)
    extra = {"cluster": since_90, "programmatic": since_90, "cooperative": 1}
    return DeviceLimits(shared_bytes=1024 * SHARED_KILOBYTES.get(architecture, 99), extra=extra)


def check_launch(code: Code, launch: Launch, limits: DeviceLimits) -> None:
    """DeviceError when grid or block are not what the device or the kernel allow."""
    for what, extents, most in (("grid", launch.grid, limits.grid), ("block", launch.block, limits.block)):
        if any(not 1 <= extent <= limit for extent, limit in zip(extents, most, strict=True)):
            raise refusal(code, f"{what} {extents} of kernel {code.name} is outside of (1, 1, 1) to {most}")
    threads = math.prod(launch.block)
    asked = f"block {launch.block} of kernel {code.name} has {threads} threads"
    if threads > limits.threads:
        raise refusal(code, f"{asked}, at most {limits.threads} fit")
    bound = code.attributes.get("maxntid")
    if bound and threads > math.prod(bound):
        raise refusal(code, f"{asked}, it was compiled for at most {math.prod(bound)}")
    required = code.attributes.get("reqntid")
    if required and launch.block != (*required, 1, 1)[:3]:
        raise refusal(code, f"{asked}, it was compiled for blocks of {(*required, 1, 1)[:3]}")
    check_cluster(code, launch, limits)


def cluster_of(code: Code, launch: Launch) -> Dim3:
    """The blocks of a cluster: what the launch says, else what the kernel was compiled with, else one."""
    if launch.cluster is not None:
        return launch.cluster
    x, y, z = (*code.attributes.get("reqnctapercluster", ()), 1, 1, 1)[:3]
    return x, y, z


def check_cluster(code: Code, launch: Launch, limits: DeviceLimits) -> None:
    """DeviceError when the clusters are not what the device or the kernel allow, or do not fill the grid."""
    cluster = cluster_of(code, launch)
    blocks = math.prod(cluster)
    asked = f"cluster {cluster} of kernel {code.name}"
    required = code.attributes.get("reqnctapercluster")
    if required and cluster != (*required, 1, 1)[:3]:
        raise refusal(code, f"{asked}: it was compiled for clusters of {(*required, 1, 1)[:3]}")
    if blocks > 1 and not limits.extra.get("cluster"):
        raise refusal(code, f"{asked}: there are clusters from sm_{FIRST_WITH_CLUSTERS} on")
    most = min(MOST_OF_CLUSTER, *code.attributes.get("maxclusterrank", ()), MOST_OF_CLUSTER)
    if blocks > most:
        raise refusal(code, f"{asked} has {blocks} blocks, at most {most} are allowed")
    if any(extent % part for extent, part in zip(launch.grid, cluster, strict=True)):
        raise refusal(code, f"{asked}: grid {launch.grid} is no multiple of it")


def check_regions(grid: GridLaunch) -> None:
    """DeviceError when the module has more shared arrays than an address in another block's memory can tell apart."""
    if grid.cluster_size > 1 and len(grid.shared.regions) > MOST_REGIONS:
        count = len(grid.shared.regions)
        raise refusal(
            grid.code, f"the module of kernel {grid.code.name} has {count} shared arrays; the emulator can tell apart "
            f"{MOST_REGIONS} in a cluster"
        )  # fmt: skip


def check_shared(grid: GridLaunch, target: str, limits: DeviceLimits) -> None:
    """DeviceError when a block would have more shared memory than fits."""
    dynamic = grid.configuration.shared_bytes
    static = grid.shared_size - dynamic if grid.has_dynamic else grid.shared_size
    kernel = f"kernel {grid.code.name}"
    if static > STATIC_SHARED_BYTES:
        raise refusal(
            grid.code, f"{kernel} has {static} bytes of static shared memory, at most {STATIC_SHARED_BYTES} fit"
        )
    if static + dynamic > limits.shared_bytes:
        whole = static + dynamic
        raise refusal(grid.code, f"{kernel} has {whole} bytes of shared memory, {target} has {limits.shared_bytes}")


def refusal(code: Code, message: str) -> DeviceError:
    return DeviceError(message, kernel=code.name)
