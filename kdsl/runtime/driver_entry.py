"""The driver's launch functions by their addresses: the calls that are made often enough for their price to count.

Through cuda-python a launch takes eleven arguments, each looked at and converted; here it takes three addresses that
were found when the launch was prepared.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

from kdsl.runtime.errors import DriverUnavailableError
from kdsl.runtime.native_call import native_call

LEGACY_STREAM, PER_THREAD_STREAM = 1, 2
"""CU_GET_PROC_ADDRESS_LEGACY_STREAM and CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM."""

Native = Callable[[int, int, int], int]
"""`cuLaunchKernelEx`, of the addresses of a LaunchStruct (a `Reference`), of the function, and of the list of
parameters: its code.
"""


class LaunchStruct(ctypes.Structure):
    """CUlaunchConfig (cuda.h). ``kept`` holds what it points at."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )
    kept: Any = None
    launched: Any = None
    """The kernel and the `Launch`."""

    @classmethod
    def copied(cls, config: Any, launched: Any = None) -> LaunchStruct:
        """A copy of cuda-python's object, whose attributes are shared."""
        made = cls.from_buffer_copy(ctypes.string_at(config.getPtr(), ctypes.sizeof(cls)))
        made.kept, made.launched = config, launched
        return made

    def on(self, stream: int) -> LaunchStruct:
        """The same launch in another stream."""
        made = LaunchStruct.from_buffer_copy(self)
        made.kept, made.stream = self.kept, stream
        return made


class Reference(int):
    """The address of a LaunchStruct, which it keeps."""

    struct: LaunchStruct

    @classmethod
    def to(cls, struct: LaunchStruct) -> Reference:
        reference = cls(ctypes.addressof(struct))
        reference.struct = struct
        return reference


def address_of(api: Any, name: str) -> int:
    """Where a function of the driver that ``api`` talks to is."""
    # As cuda-python itself does, through which memory is copied and filled: stream 0 has to be the same one.
    per_thread = int(os.environ.get("CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM") or 0)
    # 12000: the oldest driver that there is to be.
    result = api.cuGetProcAddress(name.encode(), 12000, PER_THREAD_STREAM if per_thread else LEGACY_STREAM)
    if int(result[0]) or not int(result[1]):
        raise DriverUnavailableError(f"the NVIDIA driver is too old: it has no {name}")
    return int(result[1])


def pointer_function(api: Any, name: str, count: int) -> Callable[..., int]:
    """A function of the driver that takes so many pointers. It gives up the GIL while it runs."""
    return ctypes.CFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * count)(address_of(api, name))


def launch_function(api: Any) -> Native:
    """`cuLaunchKernelEx`, of the driver that ``api`` talks to. It gives up the GIL while it runs."""
    return _native(api, "cuLaunchKernelEx", 4)


def graph_launch_function(api: Any) -> Native:
    """`cuGraphLaunch`, of an executable graph and a stream; the third int is not looked at. It gives up the GIL."""
    return _native(api, "cuGraphLaunch", 2)


def _native(api: Any, name: str, count: int) -> Native:
    """A function of ``count`` pointers, which are the first of these: two ints, a null pointer and the third int."""
    native: Native | None = native_call(address_of(api, name), name)
    if native is not None:
        return native
    called = pointer_function(api, name, count)
    return lambda first, second, third: int(called(*(first, second, None, third)[:count]))
