"""The NumPy arrays of one launch of a kernel that was built ahead of time: copied in, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.runtime.standalone.driver_module import Module


class HostArrays:
    """The arrays of one launch. Host memory that several share is one buffer on the device."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.spans: list[list[int]] = []  # low, high, device address
        self.arrays: list[tuple[np.ndarray[Any, Any], bool]] = []  # and whether the kernel writes it
        self.producers: set[int] = set()
        """Streams on which the arrays of other libraries are made."""

    def add(self, array: np.ndarray[Any, Any], written: bool) -> Any:
        """What gives the packed address once the arrays are copied in; 0 for an array without elements."""
        start = int(array.__array_interface__["data"][0])
        if not array.size:
            return bytes(8)
        low, high = byte_bounds(array)
        self.arrays.append((array, written))
        overlapping = [span for span in self.spans if span[0] < high and low < span[1]]
        self.spans = [span for span in self.spans if span not in overlapping]
        low, high = min([low, *(span[0] for span in overlapping)]), max([high, *(span[1] for span in overlapping)])
        self.spans.append([low, high, 0])
        return lambda: self._address(start).to_bytes(8, "little")

    def _address(self, host: int) -> int:
        low, _, device = next(span for span in self.spans if span[0] <= host < span[1])
        return device + low % 256 + host - low

    def copy_in(self) -> None:
        for span in self.spans:
            low, high, _ = span
            # Alignment on the host is kept on the device.
            span[2] = int(self.module.call("cuMemAlloc", high - low + low % 256))
            self.module.call("cuMemcpyHtoD", span[2] + low % 256, low, high - low)
        if self.spans:
            # A copy from pageable memory returns while its last part may still be on the way to the device, and a
            # launch in another stream does not wait for it.
            self.module.call("cuStreamSynchronize", 0)

    def copy_back(self) -> None:
        """Bring back what the kernel may have written, and nothing of what lies between the elements."""
        if self.arrays:
            self.module.synchronize()
        for array, written in self.arrays:
            if not written:
                continue
            low, high = byte_bounds(array)
            place = self._address(low)
            if array.nbytes == high - low:
                self.module.call("cuMemcpyDtoH", low, place, high - low)
            else:
                fresh = np.empty(high - low, np.uint8)
                self.module.call("cuMemcpyDtoH", fresh.ctypes.data, place, high - low)
                offset = int(array.__array_interface__["data"][0]) - low
                first = fresh[offset : offset + array.itemsize].view(array.dtype)
                array[...] = np.lib.stride_tricks.as_strided(first, array.shape, array.strides)

    def release(self) -> None:
        for _, _, device in self.spans:
            if device:
                self.module.free(device)


def byte_bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The addresses [low, high) that the elements of an array lie in, whatever its strides."""
    low = int(array.__array_interface__["data"][0])
    reaches = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True)]
    high = low + array.itemsize + sum(reach for reach in reaches if reach > 0)
    return low + sum(reach for reach in reaches if reach < 0), high
