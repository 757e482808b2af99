"""DeviceArray: an array in a device's memory, or a view of one, over any Backend."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from kdsl.backend import Backend, device_name
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ScalarType
from kdsl.runtime import array_copies, array_streams, array_views, dlpack_export
from kdsl.runtime.allocation import Allocation, MemoryUser
from kdsl.runtime.array_views import Geometry
from kdsl.runtime.device import Device, device_of
from kdsl.runtime.element_types import element_type
from kdsl.runtime.host_values import HostArray, as_numpy, host_array
from kdsl.runtime.layout import (
    INT32_ELEMENTS,
    Layout,
    checked_bytes,
    contiguous_strides,
    is_contiguous,
    layout_of,
    reach,
)
from kdsl.runtime.peers import are_peers
from kdsl.runtime.unlike_numpy import UnlikeNumpy


class DeviceArray(UnlikeNumpy):
    """An array in device memory, or a view of one; the memory is freed with the last array that uses it.

    Made by `to_device`, `empty`, `zeros` and `full`, C-contiguous. Indexing by ints and slices, `reshape`, `ravel`,
    `transpose`, `squeeze` and `view` share memory, and never copy. Read it on the host with `to_host`.
    """

    __slots__ = ("__weakref__", "_owner", "_strides", "address", "layout", "shape")
    layout: Layout
    address: int
    shape: tuple[int, ...]
    _owner: Any
    _strides: tuple[int, ...] | None

    def __init__(
        self,
        shape: tuple[int, ...],
        type_: ScalarType | StructType,
        backend: Backend,
        owner: Any = None,
        address: int | None = None,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        """Fresh memory, or memory at ``address`` that ``owner`` keeps alive. ``strides`` are in elements."""
        if address is None:
            owner = Allocation(backend, checked_bytes(shape, type_))
            address = owner.address
        if strides is not None and is_contiguous(shape, strides):
            strides = None
        if strides is None:
            layout = layout_of(backend, type_, math.prod(shape) > INT32_ELEMENTS)
        else:
            before, after = reach(shape, strides)
            layout = layout_of(backend, type_, max(after, -before) >= INT32_ELEMENTS, "strided")
        self._be(owner, strides, address, shape, layout)
        if isinstance(owner, Allocation):
            owner.add(self)

    def _be(
        self, owner: Any, strides: tuple[int, ...] | None, address: int, shape: tuple[int, ...], layout: Layout
    ) -> None:
        put = object.__setattr__
        put(self, "_owner", owner)
        put(self, "_strides", strides)
        put(self, "address", address)
        put(self, "shape", shape)
        put(self, "layout", layout)

    # Why not properties? The launches read these, and a property takes as long as the rest of a parameter.
    def __setattr__(self, name: str, value: object) -> NoReturn:
        fix = {"shape": "write a.reshape(...)", "strides": "index a, or write a.copy()", "dtype": "write a.view(dtype)",
               "T": "write a.T[...] = values", "device": "write a.to(device)"}.get(name)  # fmt: skip
        raise AttributeError(f"{name!r} of a DeviceArray cannot be set" + (f": {fix}" if fix else ""))

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name!r} of a DeviceArray cannot be deleted; a.free() gives its memory back")

    @property
    def backend(self) -> Backend:
        return self.layout.backend

    @property
    def device(self) -> Device:
        """Where it lives: kernels that take it run there."""
        return device_of(self.backend)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.layout.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.layout.type.size

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements lie one after the other, in C's order."""
        return self._strides is None

    @property
    def is_freed(self) -> bool:
        """Whether `free` has given the memory back."""
        return self.layout.form == "freed"

    @property
    def element_strides(self) -> tuple[int, ...]:
        """Elements from one to the next along each axis."""
        return contiguous_strides(self.shape) if self._strides is None else self._strides

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis, as NumPy counts them."""
        return tuple(stride * self.itemsize for stride in self.element_strides)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return dlpack_export.cuda_array_interface(self)

    # Copies.

    def to_host(self, out: HostArray | None = None, *, stream: Any = None) -> HostArray:
        """The elements as a NumPy array (``out``, if given), after all work enqueued before.

        In a ``stream``: after the work that is in it, and if ``out`` is `pinned_empty` memory the call returns before
        the copy is made.
        """
        self._check_live()
        if out is None:
            out = np.empty(self.shape, self.dtype)
        else:
            array_copies.check_out(self, out)
        if stream is None:
            array_copies.read(self, out)
        else:
            array_streams.read(self, out, stream)
        return out

    def item(self) -> Any:
        """The one element as a Python number (a record for a struct), after all work enqueued before."""
        if self.size != 1:
            raise ValueError(f"item() reads one element, and this array has {self.size}: write a[i].item()")
        return self.to_host().item()

    def copy_from(self, source: Any, *, stream: Any = None) -> None:
        """Overwrite all elements from a host array or a DeviceArray of the same shape and dtype.

        In a ``stream``: after the work that is in it, and if ``source`` is `pinned_empty` memory or on the device the
        call returns before the copy is made.
        """
        self._check_live()
        array = source if isinstance(source, DeviceArray) else as_numpy(source)
        array_copies.check_source(self, array)
        if stream is None:
            self[...] = source
            return
        if isinstance(source, DeviceArray):
            source._check_live()
        array_streams.write(self, array, stream)

    def copy_to(self, destination: Any, *, stream: Any = None) -> None:
        """Copy all elements to a host array or a DeviceArray of the same shape and dtype, as `to_host` and `copy_from`
        do.
        """
        if destination is None:
            raise TypeError("copy_to takes an array to copy to, got None: a.to_host() makes one")
        if isinstance(destination, DeviceArray):
            destination.copy_from(self, stream=stream)
        else:
            self.to_host(destination, stream=stream)

    def to(self, device: str | int | Device) -> DeviceArray:
        """The same elements on ``device``: a copy, or this array itself if it lives there."""
        there = (device if isinstance(device, Device) else Device(device)).backend
        if there is self.backend:
            return self
        copy = DeviceArray(self.shape, self.layout.type, there)
        copy.copy_from(self)
        return copy

    def copy(self) -> DeviceArray:
        """A C-contiguous copy in memory of its own."""
        self._check_live()
        out = self._new(self.shape)
        array_copies.copy(out, self)
        return out

    def fill(self, value: Any) -> None:
        """Set every element to ``value``, a number that the dtype holds (or a record of a struct's)."""
        self._check_live()
        array_copies.fill(self, value)

    def _new(self, shape: tuple[int, ...]) -> DeviceArray:
        """An uninitialised array of the same dtype on the same device."""
        return DeviceArray(shape, self.layout.type, self.backend)

    def free(self) -> None:
        """Give the memory back now, after the work enqueued before. The array and all views of it cannot be used any
        more; calling it again does nothing. ValueError for memory that a module or another library owns.
        """
        if not isinstance(self._owner, Allocation):
            raise ValueError(f"this memory belongs to {self._owner!r}, which frees it")
        self._owner.release()

    def _tell_when_freed(self, user: MemoryUser) -> None:
        """Call the user's ``_lose_memory`` when the memory is freed under it."""
        if isinstance(self._owner, Allocation):
            self._owner.add(user)

    def _lose_memory(self) -> None:
        """The memory was freed: this array cannot be used any more."""
        object.__setattr__(self, "layout", layout_of(self.backend, self.layout.type, form="freed"))

    def _check_live(self) -> None:
        """ValueError once the memory was freed."""
        if self.layout.form == "freed":
            raise ValueError(f"this {self!r} was freed by free(), of it or of an array that shares its memory")

    # Views.

    def __getitem__(self, key: Any) -> DeviceArray:
        return self._view(array_views.indexed(self._geometry(), key))

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key]
        if isinstance(value, DeviceArray):
            value._check_live()
            if value.dtype != self.dtype:
                raise ValueError(f"the source has the dtype {value.dtype}, this array {self.dtype}: convert a copy")
            _check_broadcast(value.shape, target.shape)
            if value.backend is self.backend:
                array_copies.copy(target, value)
                return
            if are_peers(self.backend, value.backend):
                array_copies.copy_from_peer(target, value)
                return
            value = value.to_host()
        source = host_array(value, self.layout.type)
        _check_broadcast(source.shape, target.shape)
        array_copies.write(target, source)

    def reshape(self, *shape: Any) -> DeviceArray:
        """The same memory under another shape; one extent may be -1. ValueError if only a copy has it so."""
        geometry = array_views.reshaped(self._geometry(), shape)
        if geometry is None:
            raise ValueError(
                f"no view of {self!r} with the strides {self.strides} has this shape: write a.copy().reshape(...)"
            )
        return self._view(geometry)

    def ravel(self) -> DeviceArray:
        """The same memory with one dimension; ValueError if only a copy has it so."""
        return self.reshape(-1)

    def transpose(self, *axes: Any) -> DeviceArray:
        """The same memory with the axes reversed, or in the order of ``axes``."""
        return self._view(array_views.transposed(self._geometry(), axes))

    @property
    def T(self) -> DeviceArray:
        """The same memory with the axes reversed."""
        return self.transpose()

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> DeviceArray:
        """The same memory without the axes of extent 1 (or those of them that ``axis`` names)."""
        return self._view(array_views.squeezed(self._geometry(), axis))

    def view(self, dtype: Any) -> DeviceArray:
        """The same memory as elements of another type, as NumPy's ``view``: the last extent changes with the size."""
        type_ = element_type(dtype)
        return self._view(array_views.viewed(self._geometry(), type_.size), type_)

    def _geometry(self) -> Geometry:
        self._check_live()
        return Geometry(self.shape, self.strides, self.itemsize, self.address)

    def _view(self, geometry: Geometry, type_: ScalarType | StructType | None = None) -> DeviceArray:
        type_ = type_ or self.layout.type
        shape, size = geometry.shape, type_.size
        if 0 in shape:
            return DeviceArray(shape, type_, self.backend, self._owner, self.address)
        if any(stride % size for stride, extent in zip(geometry.strides, shape, strict=True) if extent > 1):
            raise ValueError(f"elements of {size} bytes at strides of {geometry.strides} bytes: view a.copy()")
        if geometry.offset % type_.align:
            raise ValueError(f"{type_} lies at multiples of {type_.align}, and this array at {geometry.offset:#x}")
        strides = tuple(stride // size for stride in geometry.strides)
        return DeviceArray(shape, type_, self.backend, self._owner, geometry.offset, strides)

    def __copy__(self) -> DeviceArray:
        return self._view(self._geometry())

    def __deepcopy__(self, _: object) -> DeviceArray:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        from kdsl.runtime.pickled_arrays import restored  # start-up cost: few programs pickle arrays

        # As what it holds: the address means nothing in another process.
        return restored, (self.to_host(), getattr(self.layout.type, "python", None))

    # Sharing.

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack_export.dlpack_device(self.backend)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return dlpack_export.capsule(self, stream, max_version, dl_device, copy)

    # What it does not do as other arrays do.

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a DeviceArray without dimensions has no len(): a.item() is its one element")
        return self.shape[0]

    def __iter__(self) -> Iterator[DeviceArray]:
        if self.ndim < 2:
            raise TypeError("a DeviceArray does not iterate over its elements, each a copy: iterate over a.to_host()")
        return (self[index] for index in range(self.shape[0]))

    def __reversed__(self) -> Iterator[DeviceArray]:
        return iter(self[::-1])

    def __repr__(self) -> str:
        form = f", {self.layout.form}" if self.layout.form else ""
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, on {device_name(self.backend)}{form})"


def _check_broadcast(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    """ValueError unless NumPy would broadcast ``shape`` to ``target`` in an assignment."""
    over = len(shape) - len(target)
    fits = all(extent == 1 for extent in shape[:over]) if over > 0 else True
    own, theirs = shape[over:] if over > 0 else shape, target[-over:] if over < 0 else target
    if not fits or any(extent not in (1, wanted) for extent, wanted in zip(own, theirs, strict=True)):
        raise ValueError(f"values of shape {shape} do not fit the elements assigned to, of shape {target}")
