"""The CUDA context, a loaded module and device memory, for programs without kdsl."""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from kdsl.runtime.standalone.values import is_masked

NO_DEVICE = 100
"""CUDA_ERROR_NO_DEVICE"""


class CudaError(RuntimeError):
    """The CUDA driver refused a call, or a kernel failed; ``code`` is its CUresult."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message, code)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])


class DeviceArray:
    """An array in device memory, which it owns. It has `__cuda_array_interface__`."""

    def __init__(self, module: Module, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype, self.module = shape, dtype, module
        self.size = math.prod(shape)
        self.nbytes = self.size * dtype.itemsize
        self.address = int(module.call("cuMemAlloc", max(self.nbytes, 1)))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "data": (self.address if self.size else 0, False),
            "strides": None,
            "version": 3,
            "stream": 1,
        }

    def to_host(self) -> np.ndarray[Any, Any]:
        """A copy in host memory, made when all work before it has finished."""
        out = np.empty(self.shape, self.dtype)
        if out.nbytes:
            self.module.synchronize()
            self.module.call("cuMemcpyDtoH", out.ctypes.data, self.address, out.nbytes)
        return out

    def copy_from(self, host: np.ndarray[Any, Any]) -> None:
        """Replace all elements. ValueError for another shape or dtype."""
        host = np.asanyarray(host)
        if is_masked(host):
            raise ValueError("copy_from() takes no masked array; pass its .data")
        if host.shape != self.shape or host.dtype != self.dtype:
            raise ValueError(f"copy_from() takes {self.dtype} of shape {self.shape}, got {host.dtype} {host.shape}")
        if host.nbytes:
            contiguous = np.ascontiguousarray(host)
            self.module.call("cuMemcpyHtoD", self.address, contiguous.ctypes.data, host.nbytes)

    def __del__(self) -> None:
        address = getattr(self, "address", 0)
        if address:
            self.module.free(address)


class Module:
    """The kernels of a fatbin, cubin or PTX text, loaded where they are first launched.

    It is loaded into the CUDA context that is current then, or into the primary one of device 0.
    """

    def __init__(self, image: bytes, driver: Any = None) -> None:
        self.image = image
        self._driver = driver
        self._lock = threading.Lock()
        self._context: Any = None
        self._handle: Any = None

    @property
    def driver(self) -> Any:
        if self._driver is None:
            try:
                from cuda.bindings import driver
            except ImportError as error:
                raise ImportError("launches need cuda-python: pip install cuda-python") from error
            self._driver = driver
        return self._driver

    def call(self, name: str, *arguments: Any) -> Any:
        """What a function of the driver gives; CudaError if it fails."""
        self.enter()
        return self.checked(name, getattr(self.driver, name)(*arguments))

    def checked(self, what: str, given: tuple[Any, ...]) -> Any:
        """A driver function's results without its code; CudaError if that is one."""
        code, *results = given
        if int(code):
            text = self.driver.cuGetErrorString(code)[1] or b"unknown error"
            name = self.driver.cuGetErrorName(code)[1] or b"?"
            raise CudaError(f"{what}: {name.decode()}: {text.decode()}", int(code))
        return results[0] if len(results) == 1 else results

    def enter(self) -> None:
        """See that this thread has the module's context."""
        api = self.driver
        if self._context is None:
            with self._lock:
                if self._context is None:
                    self._context = self._found_context()
        current = self.checked("cuCtxGetCurrent", api.cuCtxGetCurrent())
        if int(current) != int(self._context):
            self.checked("cuCtxSetCurrent", api.cuCtxSetCurrent(self._context))

    def _found_context(self) -> Any:
        api = self.driver
        try:
            initialized = api.cuInit(0)
        except RuntimeError as error:  # cuda-python's word for a machine without the driver's library
            raise CudaError("no NVIDIA driver was found; these kernels run on NVIDIA GPUs alone", NO_DEVICE) from error
        self.checked("cuInit", initialized)
        current = self.checked("cuCtxGetCurrent", api.cuCtxGetCurrent())
        if int(current):
            return current
        device = self.checked("cuDeviceGet", api.cuDeviceGet(0))
        return self.checked("cuDevicePrimaryCtxRetain", api.cuDevicePrimaryCtxRetain(device))

    @property
    def handle(self) -> Any:
        if self._handle is None:
            self.enter()
            with self._lock:
                if self._handle is None:
                    loaded = self.driver.cuModuleLoadData(self.image)
                    self._handle = self.checked("loading the kernels, which are built for certain GPUs", loaded)
        return self._handle

    def free(self, address: int) -> None:
        """Give memory back, on whatever thread; its context stays what it is."""
        api = self.driver
        _, current = api.cuCtxGetCurrent()
        api.cuCtxSetCurrent(self._context)
        # The driver's code, if any, is of an earlier fault, which the next call reports.
        api.cuMemFree(address)
        api.cuCtxSetCurrent(current)

    def function(self, entry: str) -> Any:
        return self.call("cuModuleGetFunction", self.handle, entry.encode())

    def variable(self, name: str) -> tuple[int, int]:
        """Address and size in bytes of a variable in global or constant memory."""
        address, size = self.call("cuModuleGetGlobal", self.handle, name.encode())
        return int(address), int(size)

    def synchronize(self) -> None:
        """Wait for all work, and raise what went wrong in it."""
        self.call("cuCtxSynchronize")

    def empty(self, shape: int | Sequence[int], dtype: Any = np.float32) -> DeviceArray:
        """An array in device memory whose elements are not set."""
        extents = tuple(map(operator.index, shape if isinstance(shape, tuple | list) else (shape,)))
        made = np.dtype(dtype)
        if min(extents, default=0) < 0:
            raise ValueError(f"negative extent in the shape {extents}")
        if made.hasobject or made.subdtype is not None or not made.isnative:
            raise TypeError(f"no kernel reads elements of {made}")
        return DeviceArray(self, extents, made)

    def to_device(self, host: Any) -> DeviceArray:
        """A copy of a NumPy array in device memory."""
        array = np.asanyarray(host)
        out = self.empty(array.shape, array.dtype)
        out.copy_from(array)
        return out
