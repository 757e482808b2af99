"""Runs kernels made by `calls.mapped` on a device, on arrays of arguments."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from kdsl.backend import Backend, Launch
from kdsl.codegen.lower import lower
from kdsl.codegen.nvptx import emit, optimize
from kdsl.ir import nodes as ir
from kdsl.lang import types as t
from kdsl.target import Target

from .calls import Call, mapped


def compile_one(device: Backend, kernel: ir.Function, arch: str | None = None) -> Any:
    """The handle of a kernel, compiled for the device or an older architecture, and loaded there."""
    target = Target.parse(arch or device.target)
    ptx = emit(optimize(lower(ir.Module((kernel,)), target), target), target)
    return device.function(device.load(ptx.encode()), kernel.name)


def evaluate(
    device: Backend, call: Call, arguments: list[np.ndarray], threads: int = 0, arch: str | None = None
) -> list[np.ndarray]:
    """The results of ``call`` in each of ``threads`` threads: as many as there are rows of arguments, at most 1024."""
    function = compile_one(device, mapped(call, "k"), arch)
    count = threads or len(arguments[0])
    types = call.result.elements if isinstance(call.result, t.TupleType) else (call.result,)
    outputs = [np.zeros(count, r.numpy) for r in types]
    arrays = [*outputs, *(np.ascontiguousarray(a) for a in arguments)]
    addresses = [device.alloc(array.nbytes) for array in arrays]
    for address, array in zip(addresses, arrays, strict=True):
        device.write(address, memoryview(array.view(np.uint8)))
    device.launch(function, Launch((1, 1, 1), (count, 1, 1)), struct.pack(f"<{len(arrays)}Q", *addresses))
    device.synchronize()
    for address, array in zip(addresses, outputs, strict=False):
        device.read(address, memoryview(array.view(np.uint8)))
    for address in addresses:
        device.free(address)
    return outputs
