"""The parameter buffer of a launch: a bytearray whose address the driver may read."""

from __future__ import annotations

import ctypes

# cuda.h: CU_LAUNCH_PARAM_END, CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE.
_END, _BUFFER_POINTER, _BUFFER_SIZE = 0, 1, 2


class ParameterBuffer(bytearray):
    """Packed kernel arguments. ``extra`` is the address of the `cuLaunchKernel` list that points at them.

    The list is built once: a launch then passes one integer. Everything that the driver reads by address is held here.
    """

    __slots__ = ("_held", "extra")
    extra: int
    _held: tuple[object, ...]

    def __init__(self, source: int | bytes | bytearray) -> None:
        super().__init__(source)
        self.extra = 0
        if not self:
            return  # a kernel without parameters: NULL
        # The export also pins the bytearray: it cannot be resized, so its address stays.
        view = (ctypes.c_char * len(self)).from_buffer(self)
        length = ctypes.c_size_t(len(self))
        listed = (_BUFFER_POINTER, ctypes.addressof(view), _BUFFER_SIZE, ctypes.addressof(length), _END)
        table = (ctypes.c_void_p * len(listed))(*listed)
        self._held = (view, length, table)
        self.extra = ctypes.addressof(table)
