"""The CUDA driver's errors as exception classes; `driver_errors` says which code is which, and what to do.

What a kernel does wrong while it runs, and what the emulator finds too, is in `kdsl.backend`. A class for each error
that a program may want to tell from others; where CUDA has several codes for what kdsl never does, one class for all.
"""

from __future__ import annotations

from kdsl.backend import DeviceError, MemoryFault
from kdsl.captures import StreamCaptureError
from kdsl.runtime.errors import LaunchConfigValueError

# Faults of a running kernel, and of the hardware: the context is lost.


class InvalidAddressSpaceError(MemoryFault):
    """An instruction met an address in a state space that it does not work on."""


class InvalidProgramCounterError(MemoryFault):
    """A kernel jumped to an address that holds no code."""


class IllegalInstructionError(DeviceError):
    """A kernel ran an instruction that the GPU does not have."""


class TensorMemoryLeakError(DeviceError):
    """A kernel ended without giving back its tensor memory."""


class EccError(DeviceError):
    """The GPU's memory gave a value that its error correction could not mend."""


class NvlinkError(DeviceError):
    """An error on NVLink that could not be mended."""


class ContainedError(DeviceError):
    """A fault that the GPU kept from spreading, such as an access of another GPU's memory that failed."""


class ExternalDeviceError(DeviceError):
    """A device beside CUDA's reported that the data it shares is not valid."""


class ContextLostError(DeviceError):
    """A call after a fault: the process cannot use the GPU any more. ``fault`` is the fault, which is also the cause
    of this exception.
    """

    fault: DeviceError | None = None


# A launch that cannot be: nothing was enqueued, and the context is well.


class LaunchRefusedError(DeviceError, LaunchConfigValueError):
    """The driver refused a launch because of its configuration."""


class LaunchOutOfResourcesError(LaunchRefusedError):
    """A block needs more registers, or more shared memory, than there are for one."""


class CooperativeLaunchTooLargeError(LaunchRefusedError):
    """A cooperative launch has more blocks than run at the same time."""


class InvalidClusterSizeError(LaunchRefusedError):
    """The clusters of a launch do not fit on the GPU."""


# Images: PTX, cubins and fatbins.


class ImageError(DeviceError):
    """The driver cannot load, or link, an image."""


class InvalidImageError(ImageError):
    """Neither PTX nor a cubin or fatbin; or one that is cut off."""


class NoBinaryForGpuError(ImageError):
    """A cubin or fatbin without code for this GPU's architecture."""


class InvalidPtxError(ImageError):
    """PTX that does not assemble; the message has the log of the driver's compiler."""


class UnsupportedPtxVersionError(ImageError):
    """PTX of a newer version than the driver knows."""


class InvalidSourceError(ImageError):
    """Device code with errors that the compiler or linker found."""


class LinkError(ImageError):
    """Images cannot be linked: something is defined nowhere, or twice. The message has the linker's log."""


class LinkerMissing(LinkError):
    """Linking needs nvJitLink, which is not installed; the message says how to get it."""


class JitCompilerMissingError(ImageError):
    """The driver's library that compiles PTX is not installed."""


class JitDisabledError(ImageError):
    """The driver is set up not to compile PTX."""


class DynamicParallelismError(ImageError):
    """A module launches kernels from kernels, in a way that the driver does not support here."""


# The context, handles and values.


class InvalidValueError(DeviceError, ValueError):
    """A value that the driver does not take."""


class InvalidHandleError(DeviceError, ValueError):
    """A stream, event, module or graph that there is not, or not any more."""


class InvalidContextError(DeviceError):
    """The thread has no CUDA context, or one that cannot be used for this."""


class ContextDestroyedError(InvalidContextError):
    """Somebody destroyed the device's context, or reset the device."""


class IllegalStateError(DeviceError):
    """Something is not in a state in which the call is possible."""


class SymbolNotFoundError(DeviceError, LookupError):
    """A kernel, variable or driver function of a name that there is not."""


class FunctionNotLoadedError(DeviceError):
    """A kernel whose code the driver has not loaded yet, where it must be."""


class NotReadyError(DeviceError):
    """Work that has not ended; no error, but for a call that wanted it ended."""


class NotPermittedError(DeviceError, PermissionError):
    """What the driver does not permit, in this state or to this user."""


class NotSupportedError(DeviceError, NotImplementedError):
    """What the GPU, the driver or the system does not support."""


class InvalidResourceError(DeviceError, ValueError):
    """Resources that do not fit the operation."""


class GraphicsError(DeviceError):
    """Sharing memory with OpenGL or Direct3D failed, or an array's mapping."""


class ProfilerError(DeviceError):
    """Starting or stopping the profiler failed."""


# Memory.


class OutOfMemoryError(DeviceError, MemoryError):
    """The GPU has not as much memory free as was asked for."""


class HostMemoryAlreadyRegisteredError(DeviceError, ValueError):
    """Host memory that is pinned already."""


class HostMemoryNotRegisteredError(DeviceError, ValueError):
    """Host memory that is not pinned."""


class MulticastResourceError(OutOfMemoryError):
    """No room for another multicast object."""


# Several GPUs.


class PeerAccessError(DeviceError):
    """A GPU cannot reach another one's memory."""


class PeerAccessUnsupportedError(PeerAccessError):
    """There is no way between the two GPUs."""


class PeerAccessAlreadyEnabledError(PeerAccessError):
    """Access is enabled already."""


class PeerAccessNotEnabledError(PeerAccessError):
    """Access was not enabled."""


class TooManyPeersError(PeerAccessError):
    """The GPU cannot reach so many others at once."""


# Streams and graphs.


class CaptureUnsupportedError(StreamCaptureError):
    """A call that is not possible while a stream is being captured."""


class CaptureInvalidatedError(StreamCaptureError):
    """An earlier error has ended the capture."""


class CaptureMergeError(StreamCaptureError):
    """A wait would join two captures."""


class CaptureUnmatchedError(StreamCaptureError):
    """The capture did not begin in this stream."""


class CaptureUnjoinedError(StreamCaptureError):
    """A stream that the capture forked into was not joined again."""


class CaptureIsolationError(StreamCaptureError):
    """A dependency would cross the bounds of the capture."""


class CaptureImplicitError(StreamCaptureError):
    """The default stream would be ordered with the capture."""


class CapturedEventError(StreamCaptureError):
    """An event that was recorded in a capture cannot be waited for outside of it."""


class CaptureWrongThreadError(StreamCaptureError):
    """A capture was ended by another thread than the one that began it."""


class StreamDetachedError(DeviceError):
    """A stream that is detached from its context."""


class GraphUpdateError(DeviceError):
    """An instantiated graph cannot be updated to what was asked."""


class GraphRecaptureError(GraphUpdateError):
    """A graph that is captured again differs from what it was."""


class WaitTimeoutError(DeviceError, TimeoutError):
    """A wait took longer than it was given."""


# The driver and the system.


class DeviceUnavailableError(DeviceError):
    """The GPU cannot be used now: another process has it for itself, or the system does not let anyone."""


class DriverNotInitializedError(DeviceUnavailableError):
    """The driver was not initialised, or is shutting down."""


class DriverTooOldError(DeviceUnavailableError):
    """The driver is older than a call needs."""


class StubLibraryError(DeviceUnavailableError):
    """The library that was found is the toolkit's stub, and not the driver."""


class NoDeviceError(DeviceUnavailableError):
    """There is no GPU."""


class InvalidDeviceError(DeviceError, ValueError):
    """There is no GPU of that number, or it does not do what was asked."""


class NotLicensedError(DeviceUnavailableError):
    """The virtual GPU has no licence."""


class SystemNotReadyError(DeviceUnavailableError):
    """A service that the GPUs need is not running."""


class DriverMismatchError(DeviceUnavailableError):
    """The kernel's driver and the library are of different versions, or do not fit the GPU."""


class MpsError(DeviceUnavailableError):
    """The Multi-Process Service cannot be reached, or has no room."""


class DriverFileNotFoundError(DeviceError, FileNotFoundError):
    """A file that the driver was to read is not there."""


class OperatingSystemError(DeviceError, OSError):
    """A call of the operating system failed, or loading a shared library."""


class UnknownDriverError(DeviceError):
    """The driver does not say what went wrong."""
