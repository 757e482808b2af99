"""Rows: complex numbers."""

import cmath

import numpy as np

from kdsl import FULL_MASK, Array, Ptr, complex64, complex128, grid, groups, kernel, shared, shfl_xor_sync, sync_threads

from .capability import row

N = np.arange(32)
Z = ((N % 7 - 3) + 1j * (N % 5 - 2)).astype(np.complex64)
WIDE = Z.astype(np.complex128)
ROOTS = ((N % 4 + 1) + 1j * (N % 5 - 2)).astype(np.complex64)
CONJUGATES = Z[::-1].conj()
CONJUGATES.real += 1


@row("Types", "complex64", "two f32, loaded and stored as one", out=Z[::-1].copy(), inputs=(Z,),
     instructions=("ld.global.v2.b32", "st.global.v2.b32"))  # fmt: skip
@kernel
def reverse(out: Ptr[complex64], z: Ptr[complex64]):
    i = grid(1)
    out[31 - i] = z[i]


@row("Types", "complex128", "two f64, loaded and stored as one", out=WIDE[::-1].copy(), inputs=(WIDE,),
     instructions=("ld.global.v2.b64", "st.global.v2.b64"))  # fmt: skip
@kernel
def reverse_wide(out: Ptr[complex128], z: Ptr[complex128]):
    i = grid(1)
    out[31 - i] = z[i]


@row("Types", "complex in shared memory, z.real, z.conjugate()", "parts are read and assigned by name",
     out=CONJUGATES, inputs=(Z,), instructions=("ld.shared.v2.b32",))  # fmt: skip
@kernel
def conjugates(out: Array[complex64, 1], z: Array[complex64, 1]):
    tile = shared.array(32, complex64)
    i = grid(1)
    tile[i] = z[i]
    sync_threads()
    w = tile[31 - i].conjugate()
    w.real += 1
    out[i] = w


@row("Values and operators", "z * w + 1j", "complex sums and products, fused as those of floats",
     out=(Z * Z[::-1] + 1j).astype(np.complex64), inputs=(Z,), instructions=("fma.rn.f32",))  # fmt: skip
@kernel
def product(out: Ptr[complex64], z: Ptr[complex64]):
    i = grid(1)
    out[i] = z[i] * z[31 - i] + 1j


@row("Values and operators", "z / w", "complex quotients, NumPy's to the bit", out=Z / (Z[::-1] + np.complex64(9)),
     inputs=(Z,), instructions=("div.rn.f32",))  # fmt: skip
@kernel
def quotient(out: Ptr[complex64], z: Ptr[complex64]):
    i = grid(1)
    out[i] = z[i] / (z[31 - i] + 9)


@row("Values and operators", "z ** 3", "powers by constant ints are chains of products",
     out=(Z * Z * Z).astype(np.complex64), inputs=(Z,))  # fmt: skip
@kernel
def cube(out: Ptr[complex64], z: Ptr[complex64]):
    i = grid(1)
    out[i] = z[i] ** 3


@row("Warp", "shfl_xor_sync of complex", "both parts move between lanes", out=Z.reshape(-1, 2)[:, ::-1].ravel(),
     inputs=(Z,), instructions=("shfl.sync.bfly.b32",))  # fmt: skip
@kernel
def exchanged(out: Ptr[complex64], z: Ptr[complex64]):
    i = grid(1)
    out[i] = shfl_xor_sync(FULL_MASK, z[i], 1)


@row("Groups", "tile.reduce of complex", "sums and products of complex numbers",
     out=np.repeat(Z.reshape(4, 8).sum(1), 8), inputs=(Z,))  # fmt: skip
@kernel
def sums(out: Ptr[complex64], z: Ptr[complex64]):
    i = grid(1)
    out[i] = groups.tile(8).reduce(z[i], "add")


@row(
    "Math",
    "cmath.sqrt(z)",
    "and Python's other functions of complex numbers: see above",
    out=ROOTS,
    inputs=(ROOTS * ROOTS,),
)
@kernel
def roots(out: Ptr[complex64], square: Ptr[complex64]):
    i = grid(1)
    out[i] = cmath.sqrt(square[i])
