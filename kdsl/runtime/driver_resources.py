"""What a loaded kernel takes of the GPU, and which of it a launch asks too much of."""

from __future__ import annotations

from math import prod
from typing import Any

from kdsl.backend import DeviceError, Launch
from kdsl.records import dataclass
from kdsl.runtime.cuda_errors import LaunchOutOfResourcesError, LaunchRefusedError
from kdsl.runtime.driver_calls import Calls


@dataclass(frozen=True)
class KernelResources:
    """What the driver tells of a kernel on its GPU; None where it does not.

    ``threads``: of the largest block, as launch bounds or registers allow.
    """

    registers: int | None
    static_shared: int | None
    threads: int | None
    registers_of_block: int
    shared_of_block: int

    @property
    def text(self) -> str:
        """The end of a message."""
        parts = [
            f"{value} {what}"
            for value, what in (
                (self.registers, "registers a thread"),
                (self.static_shared, "bytes of static shared memory"),
                (self.threads, "threads a block at most"),
            )
            if value is not None
        ]
        return f". The kernel has {', '.join(parts)}" if parts else ""

    def too_much(self, launch: Launch) -> tuple[type[DeviceError], str] | None:
        """The exception, and in words what a launch asks more of than there is."""
        threads, static = prod(launch.block), self.static_shared or 0
        if static + launch.shared_bytes > self.shared_of_block:
            return LaunchOutOfResourcesError, (
                f"{static} bytes of static and {launch.shared_bytes} of dynamic shared memory are more than the "
                f"{self.shared_of_block} that a block can have here; use smaller tiles"
            )
        needed = (self.registers or 0) * threads
        if needed > self.registers_of_block:
            return LaunchOutOfResourcesError, (
                f"{threads} threads of {self.registers} registers need {needed}, and a block has "
                f"{self.registers_of_block}; use blocks of at most {self._fitting()} threads, or "
                f"@kernel(launch_bounds={threads}) or max_registers={_rounded(self.registers_of_block // threads)} "
                f"so that the compiler uses fewer"
            )
        if self.threads is not None and threads > self.threads:
            return LaunchRefusedError, (
                f"a block has {threads} threads, and the kernel was compiled for at most {self.threads}; use smaller "
                f"blocks, or raise its launch_bounds"
            )
        return None

    def _fitting(self) -> int:
        """Threads whose registers fit, in whole warps. Registers are given in units of 8 a thread."""
        each = -(-(self.registers or 1) // 8) * 8
        return max(self.registers_of_block // each // 32 * 32, 32)


def _rounded(registers: int) -> int:
    """As many registers as the hardware gives a thread that may have so many."""
    return max(min(registers // 8 * 8, 255), 24)


def resources(calls: Calls, function: Any) -> KernelResources:
    """What a kernel, a `CudaFunction`, takes."""
    names = calls.api.CUfunction_attribute
    device = calls.api.CUdevice_attribute

    def of_kernel(attribute: Any) -> int | None:
        code, value = calls.attempt("cuFuncGetAttribute", attribute, function.handle)
        return None if code else int(value)

    def of_device(attribute: Any) -> int:
        return int(calls.bare("cuDeviceGetAttribute", attribute, calls.device))

    return KernelResources(
        of_kernel(names.CU_FUNC_ATTRIBUTE_NUM_REGS),
        of_kernel(names.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
        of_kernel(names.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        of_device(device.CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        of_device(device.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    )
