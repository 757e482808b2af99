"""The start of CUDA in a thread of its own, while Python imports and compiles what a first launch needs: cuInit and the
context take most of a second.
"""

from __future__ import annotations

import threading

from kdsl.runtime.errors import DriverUnavailableError


def begin(ordinal: int) -> None:
    """Initialise the driver and make the primary context of a GPU, if there is one; returns at once."""
    threading.Thread(target=_start, args=(ordinal,), name="kdsl: CUDA").start()


def _start(ordinal: int) -> None:
    from kdsl.runtime.driver_calls import bindings, initialized  # start-up cost: imported beside, too

    try:
        api = bindings()
    except DriverUnavailableError:
        return
    # What fails here fails again, and is told, where the device is wanted.
    if initialized(api) is None:
        code, device = api.cuDeviceGet(ordinal)
        if not int(code):
            api.cuDevicePrimaryCtxRetain(device)
