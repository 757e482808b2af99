"""Types of what a launch takes, for annotations and for the stubs that `kdsl stubs` writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsComplex, SupportsFloat, SupportsIndex, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from kdsl.loading import LoadedKernel as LoadedKernel
    from kdsl.module import LoadedKernels as LoadedKernels
    from kdsl.runtime.config import LaunchConfig
    from kdsl.runtime.markers import In, InOut, Out
    from kdsl.runtime.memory import DeviceArray

S = TypeVar("S", bound=np.generic)


class CudaArray(Protocol):
    """An array of CuPy, PyTorch, Numba, ...: anything with `__cuda_array_interface__`."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class JaxArray(Protocol):
    """An array of JAX."""

    def addressable_data(self, index: int) -> Any: ...


if TYPE_CHECKING:
    # The array of a NumPy dtype, or one on a device, whose dtype only the launch can see.
    ArrayOf = np.ndarray[Any, np.dtype[S]] | DeviceArray | CudaArray | JaxArray | In | Out | InOut
    Extents: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
    # What stands in a kernel's brackets.
    Configuration: TypeAlias = (
        LaunchConfig
        | tuple[Extents, Extents]
        | tuple[Extents, Extents, Any]
        | tuple[Extents, Extents, Any, SupportsIndex]
    )

Integer: TypeAlias = SupportsIndex
Real: TypeAlias = SupportsFloat | SupportsIndex
Complex: TypeAlias = SupportsComplex | SupportsFloat | SupportsIndex
Boolean: TypeAlias = "bool | np.bool_"
