"""Several GPUs: copies between them, and kernels that use another one's memory: `kdsl.runtime.peers.PeerBackend`."""

from __future__ import annotations

from kdsl.backend import DeviceError
from kdsl.captures import CAPTURED_ELSEWHERE, COPYING, StreamCaptureError
from kdsl.runtime.driver_calls import Calls
from kdsl.runtime.driver_captures import DriverCaptures
from kdsl.runtime.peers import LEGACY_STREAM

ALREADY_ENABLED = 704
"""CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED."""


class DriverPeers(DriverCaptures):
    """What `CudaDriver` does with other GPUs."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls)
        self._reached: set[int] = set()

    def can_reach(self, other: DriverPeers) -> bool:
        return bool(int(self._calls.bare("cuDeviceCanAccessPeer", self._calls.device, other._calls.device)))

    def reaches(self, other: DriverPeers) -> bool:
        return other._calls.ordinal in self._reached

    def reach(self, other: DriverPeers) -> None:
        if self.reaches(other):
            return
        if not self.can_reach(other):
            raise DeviceError(
                f"cuda:{self._calls.ordinal} cannot use the memory of cuda:{other._calls.ordinal}: there is no path "
                "between these GPUs; copy arrays with .to(device)"
            )
        other._calls.enter()  # makes its context
        pool = other._memory_pool()
        self._calls.enter()
        code, _ = self._calls.attempt("cuCtxEnablePeerAccess", other._calls.context, 0)
        if code not in (0, ALREADY_ENABLED):
            raise self._calls.error(code, "cuCtxEnablePeerAccess")
        if pool is not False:
            # The context's access does not hold for memory from a pool, which has its own.
            api = self._calls.api
            access = api.CUmemAccessDesc()
            access.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
            access.location.id = self._calls.ordinal
            access.flags = api.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
            self._calls.bare("cuMemPoolSetAccess", pool, [access], 1)
        self._reached.add(other._calls.ordinal)

    def copy_from_peer(self, destination: int, other: DriverPeers, source: int, size: int) -> None:
        if not size:
            return
        for device in (self, other):
            device.captures.check("a copy between devices", COPYING)
        other.foreign.join()
        self.foreign.join()
        other._calls.enter()
        self.wait_for_peer(LEGACY_STREAM, other, LEGACY_STREAM)
        # With primary contexts named, pools need no access to each other; without a path the driver goes by the host.
        api, here, there = self._calls.api, self._calls, other._calls
        here.call(
            "cuMemcpyPeerAsync", destination, here.context, source, there.context, size, api.CUstream(LEGACY_STREAM)
        )
        self.foreign.filled()
        # What is there may then be freed or overwritten.
        other.wait_for_peer(LEGACY_STREAM, self, LEGACY_STREAM)

    def wait_for_peer(self, stream: int, other: DriverPeers, other_stream: int) -> None:
        event = other.create_event(timing=False)
        try:
            other.record_event(event, other_stream)
            self.wait_for_peer_event(stream, other, event)
        finally:
            # The driver keeps it until it is no longer waited for.
            other.destroy_event(event)

    def wait_for_peer_event(self, stream: int, other: DriverPeers, event: int) -> None:
        if event in other.captures.events:
            raise StreamCaptureError(CAPTURED_ELSEWHERE)
        self.wait_event(event, stream)
