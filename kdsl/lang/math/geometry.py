"""Euclidean lengths without undue overflow or underflow, and angles in degrees."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from kdsl.lang.generic import F
from kdsl.lang.intrinsic import Emit, intrinsic
from kdsl.lang.math.libdevice import libdevice
from kdsl.lang.type_names import Ptr, i32


@libdevice("hypot")
def hypot(x: F, y: F) -> F:
    """Length of the vector (``x``, ``y``)."""


@libdevice("rhypot")
def rhypot(x: F, y: F) -> F:
    """1 over the length of the vector (``x``, ``y``)."""


@libdevice("norm3d")
def norm3d(x: F, y: F, z: F) -> F:
    """Length of a vector of three."""


@libdevice("rnorm3d")
def rnorm3d(x: F, y: F, z: F) -> F:
    """1 over the length of a vector of three."""


@libdevice("norm4d")
def norm4d(x: F, y: F, z: F, w: F) -> F:
    """Length of a vector of four."""


@libdevice("rnorm4d")
def rnorm4d(x: F, y: F, z: F, w: F) -> F:
    """1 over the length of a vector of four."""


@libdevice("norm")
def norm(count: i32, vector: Ptr[F]) -> F:
    """Length of the vector of ``count`` elements that starts at ``vector``."""


@libdevice("rnorm")
def rnorm(count: i32, vector: Ptr[F]) -> F:
    """1 over the length of the vector of ``count`` elements that starts at ``vector``."""


@intrinsic(Emit("degrees"), ptx="mul", pure=True)
def degrees(x: F) -> F:
    """``x`` radians in degrees: x times 180/pi, rounded once."""


@intrinsic(Emit("radians"), ptx="mul", pure=True)
def radians(x: F) -> F:
    """``x`` degrees in radians: x times pi/180, rounded once."""
