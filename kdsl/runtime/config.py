"""LaunchConfig: the grid, block and the rest of a launch, checked against a device before anything is enqueued."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass, field, fields
from typing import Any

from kdsl.backend import Backend, Dim3, Launch
from kdsl.runtime.errors import LaunchConfigTypeError, LaunchConfigValueError, written

AXES = "xyz"
THREADS_FOR_NUM_ELEMS = 256
MAX_AXIS_THREADS = 2**31 - 1
MOST = 2**64 - 1
"""More than any device takes of anything."""
MOST_OF_CLUSTER = 16
"""CUDA C++ Programming Guide, thread block clusters: 8 are portable."""


def dim3(value: Any, what: str) -> Dim3:
    """Three positive extents from an int or a tuple of 1 to 3 ints, missing ones 1."""
    extents = value if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(extents) <= 3:
        raise LaunchConfigValueError(f"{what} takes 1 to 3 extents, got {len(extents)}: {written(value)}")
    out = [_extent(extent, value, f"{what}.{AXES[axis]}") for axis, extent in enumerate(extents)]
    x, y, z = out + [1] * (3 - len(out))
    return x, y, z


def _extent(extent: Any, value: Any, name: str) -> int:
    shown = f"{name} = {written(extent)}" + (f" (in {written(value)})" if isinstance(value, (tuple, list)) else "")
    number = as_int(extent)
    if number is None:
        fix = "use // for whole blocks: (n + 255) // 256" if isinstance(extent, float) else "pass an int"
        raise LaunchConfigTypeError(f"{shown} is {_article(type(extent).__name__)}, an int is needed; {fix}")
    if number < 1:
        empty = "; to launch nothing for n = 0 use LaunchConfig.for_num_elems(n)" if name == "grid.x" else ""
        raise LaunchConfigValueError(f"{shown} must be at least 1{empty}")
    if number > MOST:
        raise LaunchConfigValueError(f"{shown} is more than any device has room for")
    return number


def as_int(value: Any) -> int | None:
    """The int that it is, to Python; None for what is none, bools and arrays included."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    try:
        return operator.index(value)
    except TypeError:  # an array of NumPy has the method, and refuses in it
        return None


def _article(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


@dataclass(frozen=True)
class LaunchConfig:
    """How to launch: ``grid`` in blocks and ``block`` in threads, each an int or a tuple of 1 to 3 ints.

    ``shared`` is dynamic shared memory in bytes, ``stream`` a `Stream`, another library's stream or None, ``cluster``
    the blocks of a cluster. ``cooperative``: all blocks run together, as `grid_sync` needs (a kernel that calls it is
    launched so anyway). ``programmatic_dependent_launch``: it may begin before the kernel ahead of it in the stream has
    ended, as far as `grid_dependency_wait`. With ``empty`` arguments are checked and nothing is launched.
    """

    grid: Any
    block: Any
    shared: int = 0
    stream: Any = None
    cluster: Any = None
    cooperative: bool = False
    programmatic_dependent_launch: bool = False
    empty: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "grid", (0, 1, 1) if self.empty else dim3(self.grid, "grid"))
        set_(self, "block", dim3(self.block, "block"))
        if self.cluster is not None:
            set_(self, "cluster", dim3(self.cluster, "cluster"))
            blocks = math.prod(self.cluster)
            if blocks > MOST_OF_CLUSTER:
                raise LaunchConfigValueError(
                    f"cluster = {self.cluster} has {blocks} blocks, at most {MOST_OF_CLUSTER} fit, and 8 on every GPU"
                )
        for name in ("cooperative", "programmatic_dependent_launch", "empty"):
            if not isinstance(getattr(self, name), bool):
                raise LaunchConfigTypeError(f"{name} takes True or False, got {getattr(self, name)!r}")
        shared = as_int(self.shared)
        if shared is None:
            raise LaunchConfigTypeError(f"shared takes a number of bytes, got {written(self.shared)}")
        set_(self, "shared", shared)
        if not 0 <= shared <= MOST:
            what = "must not be negative" if shared < 0 else "is more than any device has"
            raise LaunchConfigValueError(f"shared {what}, got {written(shared)}")
        if self.stream is not None:
            from kdsl.runtime.stream import check_stream  # start-up cost: most launches name none

            check_stream(self.stream)

    # Why its own? Each `k[config]` asks for hash and equality, for which the standard ones make tuples each time.
    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, LaunchConfig) else NotImplemented

    @functools.cached_property
    def _hash(self) -> int:
        return hash(self._key)

    @functools.cached_property
    def _key(self) -> tuple[Any, ...]:
        # Its class: False and 0.0 equal the default stream's handle, 0, and are no streams.
        return (*(getattr(self, f.name) for f in fields(self)), type(self.stream))

    def __getstate__(self) -> dict[str, Any]:
        # In another process other things have other hashes.
        return {name: value for name, value in self.__dict__.items() if name not in ("_hash", "_key")}

    @classmethod
    def for_num_elems(cls, n: int) -> LaunchConfig:
        """One thread an element: blocks of 256, the grid rounded up, so that 1 element runs 256 threads; 0 launch
        nothing.
        """
        count = as_int(n)
        if count is None:
            size = "; pass a.size" if hasattr(n, "size") and hasattr(n, "shape") else ""
            raise LaunchConfigTypeError(f"for_num_elems takes an int, got {written(n)}{size}")
        if count < 0:
            raise LaunchConfigValueError(f"for_num_elems takes a number of elements, got {written(count)}")
        return cls._of_blocks(-(-count // THREADS_FOR_NUM_ELEMS))

    @classmethod
    @functools.lru_cache(maxsize=256)
    def _of_blocks(cls, blocks: int) -> LaunchConfig:
        # A configuration never changes, so launches of one size may share it: they spend no time on checking it.
        return cls(blocks, THREADS_FOR_NUM_ELEMS, empty=not blocks)

    @classmethod
    def of(cls, key: Any) -> LaunchConfig:
        """What stands in ``k[...]``: a LaunchConfig, or grid, block[, stream[, shared bytes]]."""
        if isinstance(key, cls):
            return key
        if not isinstance(key, tuple) or not 2 <= len(key) <= 4:
            raise LaunchConfigTypeError(
                f"a launch is k[grid, block], k[grid, block, stream], k[grid, block, stream, shared_bytes] "
                f"or k[LaunchConfig(...)], got k[{written(key)}]"
            )
        grid, block, *rest = key
        if isinstance(grid, cls):
            raise LaunchConfigTypeError(
                "a LaunchConfig stands alone in the brackets, k[config]; its stream and shared memory are its own, "
                "LaunchConfig(grid, block, shared, stream)"
            )
        return cls(grid, block, rest[1] if len(rest) > 1 else 0, rest[0] if rest else None)

    def check(self, backend: Backend) -> Launch:
        """The complete launch for this device; LaunchConfigError if the device cannot do it."""
        limits = backend.limits
        _check_threads(self.block, limits.threads)
        for axis in range(3):
            _check_axis("block", axis, self.block[axis], limits.block[axis])
            _check_axis("grid", axis, self.grid[axis], limits.grid[axis])
            threads = self.grid[axis] * self.block[axis]
            if threads > MAX_AXIS_THREADS:
                raise LaunchConfigValueError(
                    f"grid.{AXES[axis]} * block.{AXES[axis]} = {self.grid[axis]} * {self.block[axis]} = {threads} "
                    f"threads is more than 2**31 - 1 along one axis; use a smaller grid and a grid-stride loop: "
                    f"for i in range(grid(1), n, gridsize(1))"
                )
        if self.shared > limits.shared_bytes:
            raise LaunchConfigValueError(
                f"shared = {self.shared} bytes is more than the {limits.shared_bytes} that a block can have here"
            )
        self._check_hardware(backend)
        from kdsl.runtime.stream import stream_handle  # start-up cost: for the first launch

        stream = stream_handle(self.stream, backend)
        return Launch(
            self.grid, self.block, self.shared, stream, self.cluster, self.cooperative,
            self.programmatic_dependent_launch,
        )  # fmt: skip

    def _check_hardware(self, backend: Backend) -> None:
        extra = backend.limits.extra
        if self.cluster is not None:
            if not extra.get("cluster"):
                raise LaunchConfigValueError(
                    f"cluster = {self.cluster}: thread block clusters need a GPU of sm_90 or later; "
                    f"this is the {backend.name} ({backend.target})"
                )
            for axis in range(3):
                if self.grid[axis] % self.cluster[axis]:
                    filled = -(-self.grid[axis] // self.cluster[axis]) * self.cluster[axis]
                    raise LaunchConfigValueError(
                        f"grid.{AXES[axis]} = {self.grid[axis]} is not a multiple of "
                        f"cluster.{AXES[axis]} = {self.cluster[axis]}; use {filled}, and a guard in the kernel"
                    )
        if self.cooperative and not extra.get("cooperative"):
            raise LaunchConfigValueError(
                f"cooperative launches need a GPU that has them; this is the {backend.name} ({backend.target})"
            )
        if self.programmatic_dependent_launch and not extra.get("programmatic"):
            raise LaunchConfigValueError(
                f"programmatic dependent launches need a GPU of sm_90 or later; "
                f"this is the {backend.name} ({backend.target})"
            )


def _check_threads(block: Dim3, limit: int) -> None:
    threads = block[0] * block[1] * block[2]
    if threads > limit:
        product = " * ".join(str(extent) for extent in block if extent > 1)
        sum_ = f"{product} = {threads}" if "*" in product else product
        raise LaunchConfigValueError(
            f"block = {block} has {sum_} threads, at most {limit} fit; use smaller blocks and a larger grid"
        )


def _check_axis(what: str, axis: int, extent: int, limit: int) -> None:
    if extent > limit:
        raise LaunchConfigValueError(
            f"{what}.{AXES[axis]} = {extent} is more than {limit}, the most along {AXES[axis]} on this device"
        )
