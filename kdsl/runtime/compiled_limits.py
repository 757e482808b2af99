"""What a kernel was compiled for: what it asks of the configuration of every launch."""

from __future__ import annotations

import math
from dataclasses import replace

from kdsl.backend import Dim3, Launch
from kdsl.records import dataclass
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.errors import LaunchConfigValueError


@dataclass(frozen=True, slots=True)
class CompiledLimits:
    """``most_threads`` is the largest block that the kernel was compiled for, if it was for one; ``cluster`` are the
    blocks of a cluster that it was compiled for, if it was; ``cooperative``: all its blocks must run together.
    ``block_multiple``: what the threads of a block are a multiple of.
    """

    kernel: str
    most_threads: int | None = None
    cluster: Dim3 | None = None
    cooperative: bool = False
    block_multiple: int = 1

    def applied(self, config: LaunchConfig | Launch) -> LaunchConfig | Launch:
        """The configuration with what the kernel itself asks of every launch; LaunchConfigError if they differ."""
        if self.cluster is not None and config.cluster not in (None, self.cluster):
            raise LaunchConfigValueError(
                f"cluster = {config.cluster}, and {self.kernel} is compiled for clusters of {self.cluster}; leave "
                f"cluster out of the launch, or out of @kernel(cluster=...)"
            )
        cluster, cooperative = self.cluster or config.cluster, self.cooperative or config.cooperative
        if (cluster, cooperative) == (config.cluster, config.cooperative):
            return config
        return replace(config, cluster=cluster, cooperative=cooperative)

    def check(self, launch: Launch) -> None:
        """LaunchConfigError for a block that the kernel was not compiled for."""
        threads = math.prod(launch.block)
        if self.most_threads is not None and threads > self.most_threads:
            raise LaunchConfigValueError(
                f"block = {launch.block} has {threads} threads, and {self.kernel} is compiled for at most "
                f"{self.most_threads}; use smaller blocks, or raise its launch_bounds"
            )
        if threads % self.block_multiple:
            size = self.block_multiple
            raise LaunchConfigValueError(
                f"block = {launch.block} has {threads} threads, and {self.kernel} works in tiles of {size}: it takes "
                f"a multiple of {size}; groups.coalesced() in place of groups.tile({size}) takes any"
            )
