"""Every instruction of all of libdevice, compiled for five architectures, is known to the emulator's arithmetic.

Only names of instructions are looked at here. What moves data or control belongs to other files and is listed by name.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from kdsl.emulator.instructions import pure_operation
from kdsl.emulator.operation import UNSIGNED, WIDTH

MACHINE = {"bra", "call", "ret", "exit", "ld", "st", "mov", "cvta", "trap"}
INSTRUCTION = re.compile(r"^\s+(?:\{\s+)?(?:@!?%p\d+\s+)?([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_:]+)*)(?=\s|;)", re.MULTILINE)
# Each with the least PTX version in which LLVM can select all of libdevice for it.
TARGETS = [("sm_75", "ptx70"), ("sm_80", "ptx70"), ("sm_90", "ptx78"), ("sm_100", "ptx86"), ("sm_120", "ptx87")]


def libdevice() -> Path | None:
    """From the nvidia-nvvm wheel."""
    nvidia = pytest.importorskip("nvidia", reason="libdevice is in the nvidia-nvvm wheel")
    found = [path for root in nvidia.__path__ for path in Path(root).rglob("libdevice.10.bc")]
    return found[0] if found else None


@cache
def opcodes(cpu: str, ptx: str) -> frozenset[tuple[str, ...]]:
    path = libdevice()
    if path is None:
        pytest.skip("libdevice.10.bc is not in the nvidia packages")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    machine = target.create_target_machine(cpu=cpu, features=f"+{ptx}", opt=3)
    module = llvm.parse_bitcode(path.read_bytes())
    module.triple, module.data_layout = "nvptx64-nvidia-cuda", str(machine.target_data)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    text = machine.emit_assembly(module)
    return frozenset(tuple(name.split(".")) for name in INSTRUCTION.findall(text))


@pytest.mark.parametrize(("cpu", "ptx"), TARGETS)
def test_every_instruction_is_known(cpu: str, ptx: str) -> None:
    found = opcodes(cpu, ptx)
    assert ("fma", "rn", "f64") in found and ("ex2", "approx", "ftz", "f32") in found
    unknown = sorted(".".join(o) for o in found if o[0] not in MACHINE and pure_operation(o) is None)
    assert not unknown


@pytest.mark.parametrize("lanes", [1, 100])
def test_every_operation_keeps_its_contract(lanes: int) -> None:
    """One array per declared result, of its dtype and of the lanes' shape, from lanes beside uniform operands."""
    random = np.random.default_rng(5)
    for opcode in sorted(opcodes("sm_90", "ptx78")):
        operation = pure_operation(opcode)
        if operation is None:
            continue
        arrays = []
        for place, type_name in enumerate(operation.operands):
            bits = random.integers(0, 1 << min(WIDTH[type_name], 63), lanes if place % 2 == 0 else 1, dtype=np.uint64)
            arrays.append(bits.astype(UNSIGNED[WIDTH[type_name]]))
        with np.errstate(all="ignore"):
            result = operation.run(*arrays)
        results = result if len(operation.results) > 1 else (result,)
        assert len(results) == len(operation.results), opcode
        for array, type_name in zip(results, operation.results, strict=True):
            assert array.shape == (lanes,) and array.dtype == UNSIGNED[WIDTH[type_name]], opcode
