"""Machine code of PTX, made by the driver as when it loads PTX, but given away: what a cache keeps."""

from __future__ import annotations

import ctypes
from pathlib import Path

from kdsl.runtime.driver_calls import Calls

VERSION_FILE = "/proc/driver/nvidia/version"


def assemble(calls: Calls, ptx: bytes) -> bytes | None:
    """The cubin for this GPU; None if the driver refuses the PTX (loading it says why)."""
    calls.enter()
    code, state = calls.attempt("cuLinkCreate", 0, [], [])
    if code:
        return None
    try:
        # PTX is a C string to the driver.
        text = ptx.rstrip(b"\0") + b"\0"
        kind = calls.api.CUjitInputType.CU_JIT_INPUT_PTX
        code, _ = calls.attempt("cuLinkAddData", state, kind, text, len(text), b"kdsl.ptx", 0, [], [])
        code, made = calls.attempt("cuLinkComplete", state) if not code else (code, None)
        if code:
            return None
        address, size = made or (0, 0)
        return ctypes.string_at(int(address), int(size))  # copied: it lives as long as the state
    finally:
        calls.attempt("cuLinkDestroy", state)


def machine(calls: Calls, capability: tuple[int, int]) -> str:
    """Architecture and version of the driver, whose compiler changes with each."""
    version = int(calls.bare("cuDriverGetVersion"))
    return f"sm_{capability[0]}{capability[1]}-{version}-{release()}"


def release(file: str = VERSION_FILE) -> str:
    """The driver's release, such as 580.65.06, where the system tells; CUDA's version is the same for many."""
    try:
        text = Path(file).read_text("utf-8", "replace")
    except OSError:
        return "unknown"
    # "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ..."
    words = [word for word in text.partition("\n")[0].split() if word.replace(".", "").isdigit() and "." in word]
    return words[0] if words else "unknown"
