"""The types of complex numbers: a struct of two floats whose operators the frontend knows. In memory as CUDA's float2
and double2, aligned to the whole, so that one instruction loads or stores it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kdsl.lang.struct_type import StructType

if TYPE_CHECKING:
    from kdsl.lang.types import ScalarType


class ComplexType(StructType):
    """complex64 or complex128, whose parts are f32 or f64 and are called ``real`` and ``imag``."""

    def __init__(self, component: ScalarType) -> None:
        super().__init__(f"complex{2 * component.bits}")
        self.component = component
        self.complete([("real", component), ("imag", component)], 2 * component.size)

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's dtype of the same name, which may be aligned to a part alone."""
        return np.dtype(self.name)

    def __call__(self, real: Any = 0, imag: Any = 0) -> Any:
        """On the host: the NumPy number of this type, a strong constant when a kernel captures it."""
        return self.numpy.type(complex(real, imag))
