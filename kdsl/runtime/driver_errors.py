"""What the driver's error codes mean for a user of kernels: which exception, in which words, with what to do."""

from __future__ import annotations

from collections.abc import Sequence

from kdsl.backend import DeviceAssertionError, DeviceError, Launch, LaunchTimeout, MemoryFault

# cuda.h, CUresult. Plain numbers, since bindings of different versions know different names.
INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
NO_DEVICE = 100
INVALID_CONTEXT = 201
NOT_FOUND = 500
NOT_READY = 600

# A kernel did it, and the context is dead afterwards.
FAULTS: dict[int, tuple[type[DeviceError], str]] = {
    700: (MemoryFault, "accessed memory outside of every allocation"),
    702: (LaunchTimeout, "ran longer than the display's watchdog allows"),
    710: (DeviceAssertionError, "failed an assert; the device wrote file, line, block and thread to stderr"),
    714: (DeviceError, "overflowed or corrupted its stack"),
    715: (DeviceError, "ran an illegal instruction"),
    716: (MemoryFault, "made a misaligned access"),
    717: (MemoryFault, "used an address in a state space that it does not belong to"),
    718: (MemoryFault, "jumped to an invalid address"),
    719: (DeviceError, "trapped (a failed check ends in a trap) or faulted in another way"),
    721: (DeviceError, "failed in a cluster: a block of it had exited already"),
}
# The context is dead, whoever did it.
DEAD_CONTEXT = frozenset({*FAULTS, 214, 709})

UNREADABLE_IMAGE: dict[int, str] = {
    200: "it is neither PTX nor a cubin or fatbin of this kind of device",
    209: "it holds no code for this GPU's architecture",
    218: "its PTX does not assemble",
    220: "the driver cannot compile PTX here",
    221: "the driver's PTX compiler library is missing",
    222: "its PTX version is newer than this driver knows; update the driver",
    223: "the driver is set up not to compile PTX (CUDA_DISABLE_PTX_JIT)",
    300: "its source is invalid",
}

REFUSED_LAUNCH: dict[int, str] = {
    INVALID_VALUE: "the configuration does not fit the kernel: compare its launch bounds and its static shared memory "
    "with the block and the dynamic shared memory asked for",
    701: "a block of this size needs more registers than the GPU has for it; use smaller blocks, or "
    "@kernel(launch_bounds=threads) so that the compiler uses fewer",
    720: "a cooperative launch must fit on the GPU at once; use a smaller grid",
    912: "these clusters do not fit on the GPU; use smaller clusters or less shared memory",
}


def launch_text(kernel: str, launch: Launch) -> str:
    """A launch as a message names it."""
    more = "".join(
        [
            f", {launch.shared_bytes} bytes of dynamic shared memory" if launch.shared_bytes else "",
            f", cluster {launch.cluster}" if launch.cluster else "",
            ", cooperative" if launch.cooperative else "",
            ", programmatic dependent launch" if launch.programmatic_dependent_launch else "",
        ]
    )
    return f"`{kernel}` (grid {launch.grid}, block {launch.block}{more})"


def fault(code: int, name: str, launched: Sequence[tuple[str, Launch]]) -> DeviceError:
    """The error for a kernel's fault; ``launched`` are the distinct launches since the device was last seen well."""
    kind, did = FAULTS.get(code, (DeviceError, "failed"))
    if not launched:
        return kind(f"a kernel that kdsl did not launch {did} ({name})")
    shown = [launch_text(kernel, launch) for kernel, launch in launched]
    if len(launched) == 1:
        return kind(f"kernel {shown[0]} {did} ({name})", kernel=launched[0][0])
    return kind(
        f"one of the kernels launched since the last synchronisation {did} ({name}): {', '.join(shown[-8:])}; "
        "call kdsl.synchronize() after each launch to see which"
    )


def gibibytes(size: int) -> str:
    """A size as a person reads it."""
    return f"{size} bytes ({size / 2**30:.2f} GiB)" if size >= 2**20 else f"{size} bytes"
