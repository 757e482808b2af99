"""Arrays that kernels share with each other and with the host by name: `device.array` and `constant.empty`."""

from __future__ import annotations

from typing import Any

import numpy as np

from kdsl.captures import COPYING
from kdsl.current import current_backend
from kdsl.lang import memory
from kdsl.lang.types import ElementType, ScalarType, Space, as_type
from kdsl.lang.variables import CONSTANT_BYTES, Variable, checked_shape
from kdsl.runtime.graph_backend import check_uncaptured
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.variables import home, write_constant


class DeviceVariable(Variable):
    """An array in global memory that kernels name: made by `device.array`."""

    def on_device(self) -> DeviceArray:
        """Its memory on the current device, to pass to a kernel or to another library."""
        return home(self, current_backend())

    def to_host(self, out: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
        """The elements on the current device, after all work enqueued before."""
        return self.on_device().to_host(out)

    def copy_from(self, source: Any) -> None:
        """Overwrite all elements on the current device, from an array of this shape and dtype."""
        self.on_device().copy_from(source)

    def fill(self, value: Any) -> None:
        """Set every element on the current device to ``value``."""
        self.on_device().fill(value)

    def __repr__(self) -> str:
        return f"<device.array{self.shape} of {self.type.element}>"


class ConstantVariable(Variable):
    """An array in constant memory that the host writes and kernels read: made by `constant.empty`."""

    def to_host(self) -> np.ndarray[Any, Any]:
        """What the host last wrote, zeros at first: kernels cannot change it."""
        if self.initial is None:
            return np.zeros(self.host_shape, self.dtype)
        return np.frombuffer(self.initial, self.dtype).reshape(self.host_shape).copy()

    def copy_from(self, source: Any) -> None:
        """Overwrite all elements, on every device, from an array of this shape and dtype.

        Launches enqueued before still read the old values, those after it the new ones.
        """
        array = np.asarray(source)
        if array.shape != self.host_shape or array.dtype != self.dtype:
            raise ValueError(
                f"the source has {array.dtype}{list(array.shape)}, this variable {self.dtype}{list(self.host_shape)}"
            )
        with self.lock:
            for backend in self.homes:
                check_uncaptured(backend, "a copy to constant memory", COPYING)
            self.initial = array.tobytes()
            for backend, places in self.homes.items():
                backend.synchronize()
                for address, _ in places:
                    write_constant(self, backend.write, address)

    def fill(self, value: Any) -> None:
        """Set every element to ``value``, converted as NumPy does."""
        self.copy_from(np.full(self.host_shape, value, self.dtype))

    def __repr__(self) -> str:
        return f"<constant.empty{self.shape} of {self.type.element}>"


class device:
    """Global memory that belongs to the program, not to a launch: ``device.array``."""

    @staticmethod
    def array(shape: int | tuple[int, ...], dtype: Any, *, init: Any = None, name: str | None = None) -> Any:
        """An array in global memory that kernels name, as C's ``__device__`` variables; made outside of them.

        Every kernel that names it sees the same memory, on each device its own; it keeps its values from launch to
        launch. ``init`` are its first values, zeros without. ``name`` is its name in PTX, else the name that the kernel
        reads it by. The host's way to it: ``to_host``, ``copy_from``, ``fill``, ``on_device``.
        """
        element, extents = _element(dtype), checked_shape(shape)
        variable = DeviceVariable(extents, element, Space.GLOBAL, None, name)
        initial = _initial(init, variable)
        return DeviceVariable(extents, element, Space.GLOBAL, initial, name) if initial is not None else variable


class constant(memory.constant):
    """Memory that kernels only read: ``constant.array`` and ``constant.empty``."""

    @staticmethod
    def empty(shape: int | tuple[int, ...], dtype: Any, *, name: str | None = None) -> Any:
        """An array in constant memory that kernels name and the host writes, as C's ``__constant__`` variables; made
        outside of kernels. It holds zeros until ``copy_from`` or ``fill`` says otherwise; 64 KB in all.
        """
        variable = ConstantVariable(checked_shape(shape), _element(dtype), Space.CONSTANT, None, name)
        if variable.nbytes > CONSTANT_BYTES:
            raise ValueError(f"constant memory has {CONSTANT_BYTES} bytes, and this array {variable.nbytes}")
        return variable


def _element(dtype: Any) -> ElementType:
    element = as_type(dtype)
    if not isinstance(element, ElementType):
        raise TypeError(f"the elements of an array are scalars, vectors or structs, got {element}")
    return element


def _initial(init: Any, variable: Variable) -> bytes | None:
    """The bytes of ``init``, broadcast to the variable's shape. Numbers of Python take its type; arrays have it."""
    if init is None:
        return None
    values = np.asarray(init)
    if isinstance(init, np.ndarray | np.generic) and values.dtype != variable.dtype:
        raise ValueError(f"init has {values.dtype}, and the array {variable.dtype}: init.astype(...) converts")
    with np.errstate(over="ignore", invalid="ignore"):
        exact = values.astype(variable.dtype)
    is_int = isinstance(variable.scalar, ScalarType) and variable.scalar.is_int
    if values.dtype.kind in "iubf":
        fits = exact.astype(object) == values if is_int else np.isfinite(exact) | ~np.isfinite(values)
        if not np.all(fits):
            raise OverflowError(f"init has numbers that {variable.scalar} does not hold")
    return np.broadcast_to(exact, variable.host_shape).tobytes()
