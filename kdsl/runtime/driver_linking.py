"""Linking by the driver itself, where there is no nvJitLink: all but LTO-IR, for this GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from kdsl.runtime import driver_errors
from kdsl.runtime.cuda_errors import LinkError
from kdsl.runtime.driver_calls import Calls, error_text
from kdsl.runtime.images import Kind
from kdsl.runtime.linking import Input, failed

LOG_BYTES = 16 * 1024
_TYPES = {
    Kind.PTX: "CU_JIT_INPUT_PTX",
    Kind.CUBIN: "CU_JIT_INPUT_CUBIN",
    Kind.FATBIN: "CU_JIT_INPUT_FATBINARY",
    Kind.OBJECT: "CU_JIT_INPUT_OBJECT",
    Kind.ARCHIVE: "CU_JIT_INPUT_LIBRARY",
}


def link(calls: Calls, inputs: Sequence[Input]) -> bytes:
    """Machine code for the current device; LinkError with the driver's log."""
    calls.enter()
    api, log = calls.api, bytearray(LOG_BYTES)
    options = [api.CUjit_option.CU_JIT_ERROR_LOG_BUFFER, api.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    state = calls.bare("cuLinkCreate", len(options), options, [log, LOG_BYTES])
    try:
        for given in inputs:
            # PTX is a C string to the driver.
            data = given.data.rstrip(b"\0") + b"\0" if given.kind is Kind.PTX else given.data
            kind = getattr(api.CUjitInputType, _TYPES[given.kind])
            code, _ = calls.attempt("cuLinkAddData", state, kind, data, len(data), given.name.encode(), 0, [], [])
            if code:
                raise _refused(calls, inputs, code, log)
        code, found = calls.attempt("cuLinkComplete", state)
        if code:
            raise _refused(calls, inputs, code, log)
        address, size = found
        # The code lives as long as the linker's state.
        return ctypes.string_at(int(address), int(size))
    finally:
        calls.bare("cuLinkDestroy", state)


def _refused(calls: Calls, inputs: Sequence[Input], code: int, log: bytearray) -> Exception:
    if code in driver_errors.DEAD_CONTEXT or code == driver_errors.OUT_OF_MEMORY:
        return calls.error(code, "linking")
    said = bytes(log).split(b"\0")[0].decode(errors="replace").strip()
    error: LinkError = failed(inputs, error_text(calls.api, code), said)
    error.code = code
    return error
