"""What devices of one machine add to `kdsl.backend.Backend`: copies between them, use of each other's memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, cast

from kdsl.backend import Backend

LEGACY_STREAM = 1
"""CUDA's name for the default stream, whichever is current."""


class PeerBackend(Protocol):
    """A device that knows others of its kind. ``other`` is always one of them, and not this one."""

    def can_reach(self, other: Any) -> bool:
        """Whether kernels here could use the other's memory."""
        ...

    def reach(self, other: Any) -> None:
        """Let kernels here use the other's arrays from now on; DeviceError if that cannot be."""
        ...

    def reaches(self, other: Any) -> bool:
        """Whether `reach` has been called."""
        ...

    def copy_from_peer(self, destination: int, other: Any, source: int, size: int) -> None:
        """Copy bytes of the other's memory here, after the work on both default streams and before what follows."""
        ...

    def wait_for_peer(self, stream: int, other: Any, other_stream: int) -> None:
        """Make later work in a stream here wait for what is in a stream there now."""
        ...

    def wait_for_peer_event(self, stream: int, other: Any, event: int) -> None:
        """Make later work in a stream here wait for an event there."""
        ...


def are_peers(one: Backend, other: Backend) -> bool:
    """Whether they are two devices of one kind."""
    # Why not isinstance of the Protocol? Each look at one takes 20 us.
    return one is not other and type(one) is type(other) and hasattr(one, "wait_for_peer")


def reaches(backend: Backend, other: Backend) -> bool:
    """Whether kernels may use the other's memory, as the user has said."""
    return are_peers(backend, other) and cast(PeerBackend, backend).reaches(other)


@contextmanager
def ordered(backend: Backend, stream: int, peers: Iterable[Backend]) -> Iterator[None]:
    """A launch in ``stream`` that uses memory of ``peers``: after their work so far, and before what follows there."""
    others = [cast(PeerBackend, peer) for peer in peers]
    for peer in others:
        cast(PeerBackend, backend).wait_for_peer(stream, peer, LEGACY_STREAM)
    yield
    for peer in others:
        peer.wait_for_peer(LEGACY_STREAM, backend, stream)
