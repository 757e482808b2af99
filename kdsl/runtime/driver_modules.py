"""Loading PTX, cubins and fatbins into the driver, and finding kernels in them."""

from __future__ import annotations

import ctypes
import re
import struct
from typing import Any

from kdsl.checks import RECORD_BYTES, STATE, TABLE, Table, has_checks
from kdsl.ptx_lines import with_python_places
from kdsl.records import dataclass
from kdsl.runtime import driver_errors
from kdsl.runtime.driver_calls import Calls, capability, error_text, version_text
from kdsl.runtime.driver_checks import ModuleChecks
from kdsl.runtime.entries import Place, entries
from kdsl.runtime.image_variables import variable_names
from kdsl.runtime.images import architectures, ptx_version

LOG_BYTES = 16 * 1024
FIRST_WITH_PARAMETER_INFO = 12040
"""The first driver that has cuFuncGetParamInfo."""


@dataclass(frozen=True)
class CudaModule:
    """A loaded library. ``log`` is where the driver's PTX compiler writes errors, which it may do as late as at the
    first use.
    """

    library: Any
    log: bytearray
    ptx: str = ""
    """The text, if it is PTX."""
    image: bytes = b""


@dataclass(frozen=True)
class CudaFunction:
    """A kernel of a loaded module; holding it keeps the module's memory."""

    name: str
    handle: Any
    module: CudaModule


def load(calls: Calls, image: bytes) -> CudaModule:
    """Load an image; ImageError, with the PTX compiler's log, if the driver refuses it."""
    calls.enter()
    api, log = calls.api, bytearray(LOG_BYTES)
    is_binary = image[:4] in (b"\x7fELF", b"\x50\xed\x55\xba")
    # PTX is a C string to the driver.
    code = image if is_binary else image.rstrip(b"\0") + b"\0"
    ptx = "" if is_binary else image.decode(errors="replace")
    options = [api.CUjit_option.CU_JIT_ERROR_LOG_BUFFER, api.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    result, library = calls.attempt("cuLibraryLoadData", code, options, [log, LOG_BYTES], len(options), [], [], 0)
    if result:
        raise _refused(calls, result, log, ptx, image)
    module = CudaModule(library, log, ptx, image)
    if has_checks(image):
        calls.checks.append(_listen(calls, module))
    return module


def _listen(calls: Calls, module: CudaModule) -> ModuleChecks:
    """Give a debug build the address of a record in host memory, which outlives the context."""
    state, _ = _address(calls, module, STATE)
    table_address, size = _address(calls, module, TABLE)
    table = bytearray(size)
    calls.bare("cuMemcpyDtoH", memoryview(table), table_address, size)
    # 2, CU_MEMHOSTALLOC_DEVICEMAP. Never freed, as a module is never unloaded.
    record = int(calls.bare("cuMemHostAlloc", RECORD_BYTES, 2))
    ctypes.memset(record, 0, RECORD_BYTES)
    address = struct.pack("<Q", int(calls.bare("cuMemHostGetDevicePointer", record, 0)))
    calls.bare("cuMemcpyHtoD", state, memoryview(address), len(address))
    # A copy from pageable memory returns while its last part may still be on the way.
    calls.bare("cuStreamSynchronize", 0)
    return ModuleChecks(Table.decoded(bytes(table)), record)


def _address(calls: Calls, module: CudaModule, name: str) -> tuple[int, int]:
    """Address and size of a variable that the module has."""
    result, found = calls.attempt("cuLibraryGetGlobal", module.library, name.encode())
    if result:
        raise _refused(calls, result, module.log, module.ptx, module.image)
    address, size = found
    return int(address), int(size)


def variable(calls: Calls, module: CudaModule, name: str) -> tuple[int, int]:
    """Address and size of a module's variable; KeyError lists those that there are, where the image tells."""
    calls.enter()
    if calls.attempt("cuLibraryGetGlobal", module.library, name.encode())[0] == driver_errors.NOT_FOUND:
        names = variable_names(module.image)
        there_are = f"; it has {', '.join(names)}" if names else ""
        raise KeyError(f"the module has no variable {name!r}{there_are}")
    return _address(calls, module, name)


def find(calls: Calls, module: CudaModule, name: str) -> CudaFunction:
    """A kernel by its PTX name; KeyError lists those that there are."""
    calls.enter()
    result, kernel = calls.attempt("cuLibraryGetKernel", module.library, name.encode())
    if result == driver_errors.NOT_FOUND:
        raise KeyError(f"the module has no kernel {name!r}; it has {', '.join(kernel_names(calls, module)) or 'none'}")
    if result:
        raise _refused(calls, result, module.log, module.ptx, module.image)
    # Why not launch the CUkernel itself? The driver then looks up its function for the current context at each launch.
    result, function = calls.attempt("cuKernelGetFunction", kernel)
    if result:
        raise _refused(calls, result, module.log, module.ptx, module.image)
    return CudaFunction(name, function, module)


def kernel_names(calls: Calls, module: CudaModule) -> tuple[str, ...]:
    """The entries of a module, sorted. An image that the driver cannot use is refused here, and not by its loading,
    which only reads it.
    """
    calls.enter()
    result, _ = calls.attempt("cuLibraryGetModule", module.library)
    if result:
        raise _refused(calls, result, module.log, module.ptx, module.image)
    count = int(calls.bare("cuLibraryGetKernelCount", module.library))
    kernels = calls.bare("cuLibraryEnumerateKernels", count, module.library) if count else ()
    return tuple(sorted(calls.bare("cuKernelGetName", kernel).decode() for kernel in kernels))


def parameters(calls: Calls, function: CudaFunction) -> tuple[Place, ...] | None:
    """Where the driver says that a kernel's parameters lie; an older driver does not, and the image may."""
    calls.enter()
    if int(calls.bare("cuDriverGetVersion")) < FIRST_WITH_PARAMETER_INFO:
        entry = entries(function.module.image).get(function.name)
        return None if entry is None else entry.parameters
    places: list[Place] = []
    while True:
        code, found = calls.attempt("cuFuncGetParamInfo", function.handle, len(places))
        if code == driver_errors.INVALID_VALUE:
            return tuple(places)
        if code:
            raise calls.error(code, "cuFuncGetParamInfo")
        places.append((int(found[0]), int(found[1])))


def unload(calls: Calls, module: CudaModule) -> None:
    """Give back a module that no work uses any more."""
    calls.call("cuLibraryUnload", module.library)


def _refused(calls: Calls, code: int, log: bytearray, ptx: str, image: bytes) -> Exception:
    if code in driver_errors.DEAD_CONTEXT or code == driver_errors.OUT_OF_MEMORY:
        return calls.error(code, "loading a module")
    kind, why = driver_errors.UNREADABLE_IMAGE.get(code) or driver_errors.meaning(code)
    why += _details(calls, code, image)
    text = f"the driver refuses the module{f': {why}' if why else ''} ({error_text(calls.api, code)})"
    said = with_python_places(_text(log), ptx)
    error = kind(f"{text}\n{said}" if said else text)
    error.code = code
    return error


def _details(calls: Calls, code: int, image: bytes) -> str:
    """What the image and the device say of a refusal."""
    major, minor = capability(calls.api, calls.device)
    holds = ", ".join(architectures(image)) or "nothing"
    if code == driver_errors.NO_BINARY:
        return f": it has {holds}, and this GPU is sm_{major}{minor}; compile it for that, too"
    if code == driver_errors.UNSUPPORTED_PTX and ptx_version(image):
        driver = version_text(int(calls.bare("cuDriverGetVersion")))
        return f" (it is PTX {ptx_version(image)}, and the driver is of CUDA {driver})"
    if code == driver_errors.INVALID_PTX and not _may_be_for(holds, major * 10 + minor):
        return f" (it is {holds}, and this GPU is sm_{major}{minor})"
    return ""


def _may_be_for(holds: str, sm: int) -> bool:
    """Whether PTX, such as ``PTX for sm_90a``, is for a GPU: a suffix ties it to its own kind, or family."""
    target = re.fullmatch(r"PTX for sm_(\d+)([af]?)", holds)
    if target is None:
        return True
    return int(target[1]) <= sm if not target[2] else int(target[1]) // 10 == sm // 10


def _text(log: bytearray) -> str:
    return bytes(log).split(b"\0")[0].decode(errors="replace").strip()
