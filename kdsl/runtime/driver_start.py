"""The start of CUDA in a thread of its own, while Python imports and compiles what a first launch needs: cuInit and the
context take most of the time that a program needs for its first result.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from threading import Event, Thread

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


def begin(ordinal: int) -> Event:
    """Initialise the driver and make the primary context of a GPU, if there is one. Returns at once; the event is set
    when cuInit has ended, or is not there.
    """
    initialized = Event()

    def run() -> None:
        try:
            start(ordinal, LIBRARY, initialized.set)
        finally:
            initialized.set()

    Thread(target=run, name="kdsl: CUDA").start()
    return initialized


def start(ordinal: int, library: str, initialized: Callable[[], None]) -> int:
    """What the thread does, with a call of ``initialized`` after cuInit. The driver's last code, or -1 without one.

    What fails here fails again, and is told, where the device is wanted.
    """
    # Why not through cuda-python? Importing it takes as long again while another thread imports.
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return -1
    device, context, address = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    code: int = driver.cuInit(0)
    initialized()
    code = code or driver.cuDeviceGet(ctypes.byref(device), ctypes.c_int(ordinal))
    code = code or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    # The first allocation from a pool, whichever pool, takes a hundredth of a second: here, while kernels are loaded.
    code = code or driver.cuCtxSetCurrent(context)
    code = code or driver.cuMemAllocAsync(ctypes.byref(address), ctypes.c_size_t(1), None)
    return code or driver.cuMemFreeAsync(address, None)
