"""Runs PTX kernels on the emulator with NumPy arrays as arguments, for the engine's tests."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kdsl.backend import Backend, Launch
from kdsl.emulator import Emulator

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
REGISTERS = """
    .reg .pred %p<16>;
    .reg .b16 %rs<32>;
    .reg .b32 %r<64>;
    .reg .b64 %rd<64>;
"""


def kernel(parameters: str, body: str, name: str = "k", module: str = "") -> str:
    """A module with one kernel. ``parameters`` such as ``"u64 a, u32 n"``; ``.loc`` lines name ``k.py``."""
    declared = ", ".join(f".param .{p.split()[0]} {p.split()[1]}" for p in parameters.split(",") if p.strip())
    return f'{HEADER}.file 1 "k.py"\n{module}\n.visible .entry {name}({declared})\n{{{REGISTERS}{body}\n}}\n'


LINEAR = """
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1;
"""
"""The global index in ``%r4``, the thread's in ``%r1``, the block's in ``%r2``."""


def element(address: str, parameter: str, index: str = "%r4", size: int = 4) -> str:
    """``address`` gets the address of an element of the array that ``parameter`` points to."""
    return f"""
    ld.param.u64 {address}, [{parameter}];
    mul.wide.s32 %rd63, {index}, {size};
    add.s64 {address}, {address}, %rd63;
"""


@dataclass
class Machine:
    """A device, the emulator unless another one is given, and what kernels printed on the emulator."""

    step_limit: int = 200_000
    output: io.StringIO = field(default_factory=io.StringIO)
    device: Backend | None = None

    def __post_init__(self) -> None:
        self.emulator: Any = self.device or Emulator(step_limit=self.step_limit, stdout=self.output)

    def upload(self, array: np.ndarray[Any, Any]) -> int:
        address = self.emulator.alloc(array.nbytes)
        self.emulator.write(address, memoryview(np.ascontiguousarray(array).view(np.uint8)).cast("B"))
        return address

    def download(self, address: int, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        result = np.empty_like(like)
        self.emulator.read(address, memoryview(result.view(np.uint8)).cast("B"))
        return result

    def run(
        self, ptx: str, grid: int | tuple[int, int, int], block: int | tuple[int, int, int], *arguments: Any,
        shared: int = 0, name: str = "k",
    ) -> list[np.ndarray[Any, Any]]:  # fmt: skip
        """Launch, and give back the array arguments as the kernel left them. An int is an i32, bytes are themselves."""
        function = self.emulator.function(self.emulator.load(ptx.encode()), name)
        packed = bytearray()
        uploaded: list[tuple[int, np.ndarray[Any, Any]]] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                uploaded.append((self.upload(argument), argument))
                raw = struct.pack("<Q", uploaded[-1][0])
            elif isinstance(argument, bytes):
                raw = argument
            else:
                raw = struct.pack("<i" if isinstance(argument, int) else "<f", argument)
            packed += bytes(-len(packed) % len(raw)) + raw
        as3 = [(v, 1, 1) if isinstance(v, int) else v for v in (grid, block)]
        self.emulator.launch(function, Launch(as3[0], as3[1], shared), packed)
        self.emulator.synchronize()
        return [self.download(address, like) for address, like in uploaded]


def emulate(ptx: str, grid: Any, block: Any, *arguments: Any, shared: int = 0) -> list[np.ndarray[Any, Any]]:
    """As `Machine.run`, on an emulator of its own."""
    return Machine().run(ptx, grid, block, *arguments, shared=shared)


Run = Callable[..., list[np.ndarray[Any, Any]]]
"""`emulate`, or the same on a GPU: the fixture ``run``."""
