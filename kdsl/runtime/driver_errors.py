"""What the driver's error codes mean for a user of kernels: which exception, in which words, with what to do."""

from __future__ import annotations

from collections.abc import Sequence

from kdsl.backend import (
    DeviceAssertionError,
    DeviceError,
    HardwareStackError,
    IllegalAddressError,
    Launch,
    LaunchFailedError,
    LaunchTimeout,
    MisalignedAddressError,
)
from kdsl.runtime import cuda_errors as errors

# cuda.h, CUresult. Plain numbers, since bindings of different versions know different names.
INVALID_VALUE = 1
OUT_OF_MEMORY = 2
NOT_INITIALIZED = 3
NO_DEVICE = 100
INVALID_CONTEXT = 201
INVALID_HANDLE = 400
NO_BINARY = 209
INVALID_PTX = 218
UNSUPPORTED_PTX = 222
NOT_FOUND = 500
NOT_READY = 600
OUT_OF_RESOURCES = 701

# A kernel did it, and the context is lost afterwards.
FAULTS: dict[int, tuple[type[DeviceError], str]] = {
    226: (errors.ContainedError, "failed in a way that the GPU contained, such as an access of another GPU's memory"),
    700: (IllegalAddressError, "accessed memory outside of every allocation"),
    702: (LaunchTimeout, "ran longer than the display's watchdog allows"),
    710: (DeviceAssertionError, "failed an assert; the device wrote file, line, block and thread to stderr"),
    714: (HardwareStackError, "overflowed or corrupted its stack"),
    715: (errors.IllegalInstructionError, "ran an illegal instruction"),
    716: (MisalignedAddressError, "made a misaligned access"),
    717: (errors.InvalidAddressSpaceError, "used an address in a state space that it does not belong to"),
    718: (errors.InvalidProgramCounterError, "jumped to an invalid address"),
    719: (LaunchFailedError, "trapped (a failed check ends in a trap) or faulted in another way"),
    721: (errors.TensorMemoryLeakError, "ended without giving back its tensor memory"),
}

# The context is lost, and no kernel need have done it.
LOSSES: dict[int, tuple[type[DeviceError], str]] = {
    214: (errors.EccError, "the GPU's memory has an error that cannot be corrected; nvidia-smi -q -d ECC shows more"),
    220: (errors.NvlinkError, "NVLink has an error that cannot be corrected; nvidia-smi nvlink -e shows more"),
    709: (errors.ContextDestroyedError, "another library destroyed the device's context, or reset the device"),
    810: (errors.MpsError, "the Multi-Process Service ended this client"),
    911: (errors.ExternalDeviceError, "a device beside CUDA's says that the data it shares is not valid"),
}
DEAD_CONTEXT = frozenset({*FAULTS, *LOSSES})

UNREADABLE_IMAGE: dict[int, tuple[type[DeviceError], str]] = {
    200: (errors.InvalidImageError, "it is neither PTX nor a cubin or fatbin of this kind of device, or it is cut off"),
    NO_BINARY: (errors.NoBinaryForGpuError, "it holds no code for this GPU's architecture"),
    INVALID_PTX: (errors.InvalidPtxError, "its PTX does not assemble"),
    221: (errors.JitCompilerMissingError, "the driver's PTX compiler library (libnvidia-ptxjitcompiler) is missing"),
    UNSUPPORTED_PTX: (
        errors.UnsupportedPtxVersionError,
        "its PTX version is newer than this driver knows; update the driver, or compile for an older one",
    ),
    223: (errors.JitDisabledError, "the driver is set up not to compile PTX (CUDA_DISABLE_PTX_JIT)"),
    225: (errors.DynamicParallelismError, "it calls cudaDeviceSynchronize in a kernel"),
    300: (errors.InvalidSourceError, "its source is invalid"),
    811: (errors.DynamicParallelismError, "it launches kernels from kernels, which the driver does not support here"),
    812: (errors.DynamicParallelismError, "it mixes versions of launching kernels from kernels"),
}

REFUSED_LAUNCH: dict[int, tuple[type[DeviceError], str]] = {
    INVALID_VALUE: (
        errors.LaunchRefusedError,
        "the configuration does not fit the kernel: compare its launch bounds and its static shared memory "
        "with the block and the dynamic shared memory asked for",
    ),
    OUT_OF_RESOURCES: (
        errors.LaunchOutOfResourcesError,
        "a block of this size needs more registers than the GPU has for it; use smaller blocks, or "
        "@kernel(launch_bounds=threads) or max_registers= so that the compiler uses fewer",
    ),
    703: (errors.LaunchRefusedError, "its textures are not of the mode that the kernel was compiled for"),
    720: (
        errors.CooperativeLaunchTooLargeError,
        "a cooperative launch must fit on the GPU at once; use a smaller grid",
    ),
    912: (
        errors.InvalidClusterSizeError,
        "these clusters do not fit on the GPU; use smaller clusters or less shared memory",
    ),
}

_GRAPHICS = (errors.GraphicsError, "memory that is shared with graphics is not as the call needs it")
_CONTEXT = (errors.InvalidContextError, "the thread's CUDA context cannot be used for this")
_PROFILER = (errors.ProfilerError, "another profiling tool may be at work")
_MPS = (errors.MpsError, "look at the Multi-Process Service: nvidia-cuda-mps-control")
_SHARED_OBJECT = (errors.OperatingSystemError, "a library of the driver's cannot be loaded; install the driver anew")

# All other errors of calls: the exception, and what to do about it.
OTHERS: dict[int, tuple[type[DeviceError], str]] = {
    INVALID_VALUE: (errors.InvalidValueError, ""),
    OUT_OF_MEMORY: (errors.OutOfMemoryError, "free arrays, or use smaller ones"),
    NOT_INITIALIZED: (errors.DriverNotInitializedError, "start processes with multiprocessing's spawn method"),
    4: (errors.DriverNotInitializedError, "the process is ending; use no GPU in finalizers and atexit functions"),
    5: _PROFILER,
    6: _PROFILER,
    7: _PROFILER,
    8: _PROFILER,
    34: (errors.StubLibraryError, "take the toolkit's lib64/stubs out of LD_LIBRARY_PATH"),
    36: (errors.DriverTooOldError, "update the NVIDIA driver"),
    46: (errors.DeviceUnavailableError, "another process may have the GPU for itself: nvidia-smi -q -d COMPUTE"),
    47: (errors.MulticastResourceError, ""),
    NO_DEVICE: (errors.NoDeviceError, "is CUDA_VISIBLE_DEVICES hiding it?"),
    101: (errors.InvalidDeviceError, "GPUs are counted from 0"),
    102: (errors.NotLicensedError, ""),
    INVALID_CONTEXT: _CONTEXT,
    202: _CONTEXT,
    205: _GRAPHICS,
    206: _GRAPHICS,
    207: _GRAPHICS,
    208: _GRAPHICS,
    210: _GRAPHICS,
    211: _GRAPHICS,
    212: _GRAPHICS,
    213: _GRAPHICS,
    215: (errors.NotSupportedError, "the GPU has no such limit"),
    216: _CONTEXT,
    217: (errors.PeerAccessUnsupportedError, "copy through the host; nvidia-smi topo -m shows how GPUs are joined"),
    219: _GRAPHICS,
    224: (errors.NotSupportedError, "the GPU cannot be divided so"),
    227: (errors.DriverTooOldError, "update the NVIDIA driver"),
    301: (errors.DriverFileNotFoundError, ""),
    302: _SHARED_OBJECT,
    303: _SHARED_OBJECT,
    304: (errors.OperatingSystemError, ""),
    400: (errors.InvalidHandleError, "it may have been destroyed, or be of another device"),
    401: (errors.IllegalStateError, ""),
    402: (errors.NotSupportedError, "the driver has more to say than this kdsl asks for"),
    NOT_FOUND: (errors.SymbolNotFoundError, ""),
    NOT_READY: (errors.NotReadyError, "wait for it first"),
    704: (errors.PeerAccessAlreadyEnabledError, ""),
    705: (errors.PeerAccessNotEnabledError, ""),
    708: (errors.InvalidContextError, "the GPU is in use already, and its settings cannot be changed any more"),
    711: (errors.TooManyPeersError, ""),
    712: (errors.HostMemoryAlreadyRegisteredError, ""),
    713: (errors.HostMemoryNotRegisteredError, ""),
    800: (errors.NotPermittedError, ""),
    801: (errors.NotSupportedError, ""),
    802: (errors.SystemNotReadyError, "on machines with NVSwitch, the fabric manager must run"),
    803: (errors.DriverMismatchError, "a restart after an update of the driver mends this"),
    804: (errors.DriverMismatchError, "the compatibility package is for data center GPUs; update the driver instead"),
    805: _MPS,
    806: _MPS,
    807: _MPS,
    808: _MPS,
    809: _MPS,
    900: (errors.CaptureUnsupportedError, "make the call before the capture begins, or after it has ended"),
    901: (errors.CaptureInvalidatedError, "an earlier call in the capture failed; begin it anew"),
    902: (errors.CaptureMergeError, ""),
    903: (errors.CaptureUnmatchedError, "end a capture in the stream where it began"),
    904: (errors.CaptureUnjoinedError, "let the first stream wait for an event of each other one, before the end"),
    905: (errors.CaptureIsolationError, "what a capture waits for must be in the capture"),
    906: (errors.CaptureImplicitError, "use no default stream while a stream is being captured"),
    907: (errors.CapturedEventError, "wait for an event that was recorded outside of the capture"),
    908: (errors.CaptureWrongThreadError, "end a capture in the thread that began it"),
    909: (errors.WaitTimeoutError, ""),
    910: (errors.GraphUpdateError, "instantiate the graph anew"),
    913: (errors.FunctionNotLoadedError, ""),
    914: (errors.InvalidResourceError, ""),
    915: (errors.InvalidResourceError, ""),
    916: (errors.SystemNotReadyError, "the GPU's keys were being changed; try again"),
    917: (errors.StreamDetachedError, ""),
    918: (errors.GraphRecaptureError, "instantiate the graph anew"),
    919: (errors.SystemNotReadyError, "on machines with NVSwitch, the fabric manager must run"),
    999: (errors.UnknownDriverError, "the system's log (dmesg, for lines with NVRM) may say more"),
}


def meaning(code: int) -> tuple[type[DeviceError], str]:
    """The exception of a code that a call gave, whatever the call was, and what to do or what it means."""
    for table in (OTHERS, UNREADABLE_IMAGE, REFUSED_LAUNCH, FAULTS, LOSSES):
        if code in table:
            return table[code]
    return DeviceError, ""  # of a driver that is newer than this table


def failed(doing: str, code: int, text: str) -> DeviceError:
    """The exception for a call that failed and left the context well; ``text`` is the driver's."""
    kind, advice = meaning(code)
    error = kind(f"{doing} failed: {text}{f'; {advice}' if advice else ''}")
    error.code = code
    return error


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
    """The error for what ended the context; ``launched`` are the distinct launches since the device was last seen
    well.
    """
    error = _fault(code, name, [launch_text(kernel, launch) for kernel, launch in launched])
    error.code = code
    if code in FAULTS:
        error.launches = tuple(launched)
        error.kernel = launched[0][0] if len(launched) == 1 else None
    return error


def _fault(code: int, name: str, shown: Sequence[str]) -> DeviceError:
    if code not in FAULTS:
        kind, why = LOSSES.get(code, (DeviceError, "the driver has lost the context"))
        return kind(f"{why} ({name})")
    kind, did = FAULTS[code]
    if not shown:
        return kind(f"a kernel that kdsl did not launch {did} ({name})")
    if len(shown) == 1:
        return kind(f"kernel {shown[0]} {did} ({name})")
    return kind(
        f"one of the kernels launched since the last synchronisation {did} ({name}): {', '.join(shown[-8:])}; "
        "run with KDSL_SYNC=1, or call kdsl.synchronize() after each launch, to see which"
    )
