"""Variables of loaded modules: where they lie on a device, and how all kernels come to share one memory."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kdsl.backend import Backend
from kdsl.lang.types import U8, Space
from kdsl.lang.variables import POINTER, Variable
from kdsl.runtime.graph_backend import graphs_of
from kdsl.runtime.memory import DeviceArray


def attach(backend: Backend, module: Any, variables: Sequence[tuple[str, Variable]]) -> None:
    """Give a module that was just loaded the variables' memory and values.

    A variable in global memory lies in the first module that is loaded (or where the host made it before); others are
    told its address. One in constant memory is in every module, and holds what the host last said.
    """
    graphs = graphs_of(backend)
    # A kernel may be loaded by a launch that is captured.
    write = backend.write if graphs is None else graphs.write_unused
    for name, variable in variables:
        address, _ = backend.variable(module, name)
        with variable.lock:
            if variable.type.space is Space.CONSTANT:
                variable.homes.setdefault(backend, []).append((address, module))
                write_constant(variable, write, address)
                continue
            home = variable.homes.get(backend)
            if home is None:
                variable.homes[backend] = DeviceArray(variable.host_shape, variable.scalar, backend, module, address)
                continue
            pointer, _ = backend.variable(module, POINTER + name)
            write(pointer, memoryview(struct.pack("<Q", home.address)))


def write_constant(variable: Variable, write: Callable[[int, memoryview], object], address: int) -> None:
    """Write what the host last said into one module's copy, if it ever said anything."""
    if variable.initial is not None:
        write(address, memoryview(variable.initial))


def home(variable: Variable, backend: Backend) -> DeviceArray:
    """A variable's global memory on a device. Before any kernel is loaded there, the host makes it."""
    with variable.lock:
        found = variable.homes.get(backend)
        if found is None:
            found = DeviceArray(variable.host_shape, variable.scalar, backend)
            if variable.initial is None:
                backend.fill(found.address, 0, found.nbytes)
            else:
                found.copy_from(np.frombuffer(variable.initial, variable.dtype).reshape(variable.host_shape))
            variable.homes[backend] = found
        array: DeviceArray = found
        return array


class ModuleVariables(Mapping[str, DeviceArray]):
    """The variables of a loaded module by name, each as the bytes that it has: ``m.globals["table"].view(np.float32)``.
    The arrays keep ``owner`` alive.

    KeyError for an unknown name lists those that there are.
    """

    def __init__(self, backend: Backend, module: Any, owner: Any) -> None:
        self._backend, self._module, self._owner = backend, module, owner

    def __getitem__(self, name: str) -> DeviceArray:
        address, size = self._backend.variable(self._module, name)
        return DeviceArray((size,), U8, self._backend, self._owner, address)

    def __iter__(self) -> Iterator[str]:
        return iter(self._backend.variables(self._module))

    def __len__(self) -> int:
        return len(self._backend.variables(self._module))

    def __repr__(self) -> str:
        return f"<variables {', '.join(self)}>"
