"""What Python's ``math`` functions mean in a kernel: the stub for each, by identity.

Not here: ``comb factorial gcd isqrt lcm perm prod fsum sumprod dist isclose ulp``, which no device library has.
``floor``, ``ceil`` and ``trunc`` of a float stay float in a kernel. Constants such as ``math.pi`` are plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from kdsl.lang import math as device

_SAME_NAME = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees erf erfc exp exp2 expm1 fabs floor fmod
    frexp hypot isfinite isinf isnan ldexp lgamma log log10 log1p log2 modf nextafter pow radians remainder sin sinh
    sqrt tan tanh trunc
"""

PYTHON = MappingProxyType[Callable[..., Any], Any](
    {
        **{getattr(math, name): getattr(device, name) for name in _SAME_NAME.split()},
        math.gamma: device.tgamma,
        # Python has it since 3.13.
        **({math.fma: device.fma} if hasattr(math, "fma") else {}),
    }
)
