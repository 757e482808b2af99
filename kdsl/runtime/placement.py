"""Where a launch's arguments live: a kernel runs on the device that its arrays are on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from kdsl.backend import Backend
from kdsl.runtime.foreign_memory import SharingBackend
from kdsl.runtime.host_memory import IN_PLACE, memory_of
from kdsl.runtime.interface import gpu_of
from kdsl.runtime.memory import DeviceArray

PLAIN = (int, float, complex, str, np.generic, np.ndarray, FunctionType)


def home_of(arguments: Iterable[Any]) -> Backend | None:
    """The device of the first array among the arguments; None if all of them could be used anywhere."""
    for value in arguments:
        if value.__class__ is DeviceArray:
            return value.layout.backend
        if value.__class__ is np.ndarray and value.base is not None:
            memory = memory_of(value)
            if memory is not None and memory.kind in IN_PLACE:
                backend: Backend = memory.backend
                return backend
            continue
        for array in arrays_in(value):
            return array.backend
    return None


def foreign_home_of(arguments: Iterable[Any], gpu: SharingBackend) -> int | None:
    """The GPU of the first array of another library among the arguments; None if there is none."""
    for value in arguments:
        if isinstance(value, PLAIN):
            continue
        if isinstance(value, tuple | list):
            found = foreign_home_of(value, gpu)
        else:
            found = gpu_of(value, gpu)
        if found is not None:
            return found
    return None


def arrays_in(value: Any, seen: tuple[int, ...] = ()) -> Iterator[DeviceArray]:
    """The device arrays that an argument is or holds: in a tuple, a struct's pointers, or what a function holds."""
    for part in [value] if isinstance(value, DeviceArray) else _parts(value):
        if isinstance(part, DeviceArray):
            yield part
        elif id(part) not in seen:  # a function may hold itself
            yield from arrays_in(part, (*seen, id(value)))


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        yield from value
    elif isinstance(value, FunctionType):
        yield from value.__defaults__ or ()
        yield from (value.__kwdefaults__ or {}).values()
        for cell in value.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # not bound yet
                continue
    elif isinstance(value, partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from (getattr(value, field.name) for field in fields(value))
