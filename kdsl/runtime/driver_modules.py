"""Loading PTX, cubins and fatbins into the driver, and finding kernels in them."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from kdsl.checks import RECORD_BYTES, STATE, TABLE, Table, has_checks
from kdsl.ptx_lines import with_python_places
from kdsl.records import dataclass
from kdsl.runtime import driver_errors
from kdsl.runtime.driver_calls import Calls, error_text
from kdsl.runtime.driver_checks import ModuleChecks
from kdsl.runtime.image_variables import variable_names

LOG_BYTES = 16 * 1024


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
    """Load an image; DeviceError with the PTX compiler's log if the driver refuses it."""
    calls.enter()
    api, log = calls.api, bytearray(LOG_BYTES)
    is_binary = image[:4] in (b"\x7fELF", b"\x50\xed\x55\xba")
    # PTX is a C string to the driver.
    code = image if is_binary else image.rstrip(b"\0") + b"\0"
    ptx = "" if is_binary else image.decode(errors="replace")
    options = [api.CUjit_option.CU_JIT_ERROR_LOG_BUFFER, api.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    result, library = calls.attempt("cuLibraryLoadData", code, options, [log, LOG_BYTES], len(options), [], [], 0)
    if result:
        raise _refused(calls, result, log, ptx)
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
        raise _refused(calls, result, module.log, module.ptx)
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
        raise KeyError(f"the module has no kernel {name!r}; it has {', '.join(_names(calls, module)) or 'none'}")
    if result:
        raise _refused(calls, result, module.log, module.ptx)
    # Why not launch the CUkernel itself? The driver then looks up its function for the current context at each launch.
    result, function = calls.attempt("cuKernelGetFunction", kernel)
    if result:
        raise _refused(calls, result, module.log, module.ptx)
    return CudaFunction(name, function, module)


def _names(calls: Calls, module: CudaModule) -> list[str]:
    count = int(calls.bare("cuLibraryGetKernelCount", module.library))
    kernels = calls.bare("cuLibraryEnumerateKernels", count, module.library)
    return sorted(calls.bare("cuKernelGetName", kernel).decode() for kernel in kernels)


def _refused(calls: Calls, code: int, log: bytearray, ptx: str) -> Exception:
    if code in driver_errors.DEAD_CONTEXT or code == driver_errors.OUT_OF_MEMORY:
        return calls.error(code, "loading a module")
    kind, why = driver_errors.UNREADABLE_IMAGE.get(code) or driver_errors.meaning(code)
    text = f"the driver refuses the module{f': {why}' if why else ''} ({error_text(calls.api, code)})"
    said = with_python_places(_text(log), ptx)
    error = kind(f"{text}\n{said}" if said else text)
    error.code = code
    return error


def _text(log: bytearray) -> str:
    return bytes(log).split(b"\0")[0].decode(errors="replace").strip()
