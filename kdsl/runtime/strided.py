"""Copies between strided arrays in a GPU's memory as kernels: the fewest axes that describe one, and PTX for them."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence

from kdsl.backend import Launch
from kdsl.records import dataclass

MOST_AXES = 8
WIDEST = 16
"""Bytes that a thread moves at once, at most."""
THREADS = 256
MOST_BLOCKS = 1 << 16
"""Blocks of a grid; the threads go on with a stride."""
INDEX_LIMIT = 1 << 31

Axis = tuple[int, int, int]
"""Extent, stride in the destination and stride in the source, in bytes."""


@dataclass(frozen=True, slots=True)
class StridedCopy:
    """Units of ``unit`` bytes along ``axes``, the last of which changes fastest. Without axes it is one run of
    ``unit`` bytes, of any length.
    """

    destination: int
    source: int
    axes: tuple[Axis, ...]
    unit: int

    @property
    def count(self) -> int:
        return math.prod(extent for extent, _, _ in self.axes)

    @property
    def bits(self) -> int:
        """Of the index arithmetic: 64-bit divisions are dear."""
        return 32 if self.count < INDEX_LIMIT else 64

    @property
    def key(self) -> tuple[int, int, int]:
        """The same for copies that one kernel makes."""
        return len(self.axes), self.unit, self.bits

    @property
    def name(self) -> str:
        """Of the kernel."""
        return f"kdsl_copy_{len(self.axes)}_axes_{self.unit}_bytes"

    @property
    def launch(self) -> Launch:
        return Launch((min(-(-self.count // THREADS), MOST_BLOCKS), 1, 1), (THREADS, 1, 1))

    @property
    def parameters(self) -> bytes:
        words = [self.destination, self.source, self.count, *(word for axis in self.axes for word in axis)]
        return struct.pack(f"<{len(words)}Q", *(word % 2**64 for word in words))

    def ptx(self) -> str:
        return _ptx(self.name, len(self.axes), self.unit, self.bits)


def strided_copies(
    shape: Sequence[int],
    destination_strides: Sequence[int],
    source_strides: Sequence[int],
    itemsize: int,
    destination: int,
    source: int,
) -> Iterator[StridedCopy]:
    """The kernels' launches, or plain copies, that copy an array; strides are in bytes."""
    if 0 in shape:
        return
    axes = [axis for axis in zip(shape, destination_strides, source_strides, strict=True) if axis[0] > 1]
    # Neighbouring threads should write neighbouring elements: any order of the axes is the same copy.
    axes.sort(key=lambda axis: -abs(axis[1]))
    yield from _pieces(_merged(axes), itemsize, destination, source)


def _merged(axes: list[Axis]) -> list[Axis]:
    """Two axes are one where the outer goes on as the inner ends."""
    out: list[Axis] = []
    for extent, to, of in axes:
        if out and out[-1][1] == extent * to and out[-1][2] == extent * of:
            out[-1] = (out[-1][0] * extent, to, of)
        else:
            out.append((extent, to, of))
    return out


def _pieces(axes: list[Axis], run: int, destination: int, source: int) -> Iterator[StridedCopy]:
    if axes and axes[-1][1] == axes[-1][2] == run:
        run *= axes[-1][0]
        axes = axes[:-1]
    if not axes:
        yield StridedCopy(destination, source, (), run)
        return
    # The widest unit that divides all: the lowest bit that is set in any of them.
    common = run | destination | source | WIDEST
    for _, to, of in axes:
        common |= to | of
    unit = common & -common
    if unit != run:
        axes = [*axes, (run // unit, unit, unit)]
    if len(axes) > MOST_AXES:
        extent, to, of = axes[0]
        for index in range(extent):
            yield from _pieces(axes[1:], unit, destination + index * to, source + index * of)
        return
    yield StridedCopy(destination, source, tuple(axes), unit)


def _ptx(name: str, axes: int, unit: int, bits: int) -> str:
    """A kernel of (destination, source, count, and of each axis its extent and strides), all of 64 bits."""
    kind, value = ("v2.u64", "{%v0, %v1}") if unit == 16 else (f"u{8 * unit}", "%v0")
    width = 64 if unit >= 8 else max(8 * unit, 16)
    names = ["destination", "source", "count", *(f"{what}{axis}" for axis in range(axes) for what in "eds")]
    lines = [
        ".version 6.3",
        ".target sm_75",
        ".address_size 64",
        f".visible .entry {name}({', '.join(f'.param .u64 {parameter}' for parameter in names)})",
        "{",
        f"    .reg .pred %p; .reg .b32 %r<4>; .reg .b{width} %v<2>;",
        f"    .reg .b{bits} %i, %n, %step, %rest, %quotient, %part, %e<{axes}>;",
        f"    .reg .b64 %to, %of, %a, %b, %wide, %d<{axes}>, %s<{axes}>;",
        "    ld.param.u64 %to, [destination]; ld.param.u64 %of, [source];",
        f"    ld.param.u{bits} %n, [count];",
        *(
            f"    ld.param.u{bits} %e{axis}, [e{axis}]; ld.param.u64 %d{axis}, [d{axis}]; "
            f"ld.param.u64 %s{axis}, [s{axis}];"
            for axis in range(axes)
        ),
        "    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %nctaid.x;",
        *_index(bits),
        "NEXT:",
        f"    setp.ge.u{bits} %p, %i, %n; @%p bra DONE;",
        f"    mov.b{bits} %rest, %i; mov.b64 %a, %to; mov.b64 %b, %of;",
    ]
    for axis in reversed(range(axes)):
        lines += _step(axis, bits)
    lines += [
        f"    ld.global.{kind} {value}, [%b]; st.global.{kind} [%a], {value};",
        f"    add.u{bits} %i, %i, %step; bra NEXT;",
        "DONE:",
        "    ret;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _index(bits: int) -> list[str]:
    """The first unit of a thread, and how far it is to its next."""
    if bits == 32:
        return ["    mad.lo.u32 %i, %r0, %r1, %r2; mul.lo.u32 %step, %r1, %r3;"]
    return [
        "    cvt.u64.u32 %wide, %r2; mad.wide.u32 %i, %r0, %r1, %wide;",
        "    mul.wide.u32 %step, %r1, %r3;",
    ]


def _step(axis: int, bits: int) -> list[str]:
    """Take an axis's index off what is left, and go along it in both arrays."""
    if axis == 0:
        lines = [f"    mov.b{bits} %part, %rest;"]
    else:
        lines = [
            f"    div.u{bits} %quotient, %rest, %e{axis}; mul.lo.u{bits} %part, %quotient, %e{axis};",
            f"    sub.u{bits} %part, %rest, %part; mov.b{bits} %rest, %quotient;",
        ]
    lines.append("    cvt.u64.u32 %wide, %part;" if bits == 32 else "    mov.b64 %wide, %part;")
    return [
        *lines,
        f"    mad.lo.s64 %a, %wide, %d{axis}, %a; mad.lo.s64 %b, %wide, %s{axis}, %b;",
    ]
