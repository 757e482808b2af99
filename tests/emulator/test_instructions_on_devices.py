"""Every form of every pure instruction, as PTX: ptxas accepts it, and a device gives the bits that the operation gives.

The devices are the emulator (parsing, registers and memory around the operations) and, where there is one, a GPU: there
this is the witness that the operations are the hardware's.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kdsl.backend import Backend, Launch
from kdsl.emulator import Emulator
from kdsl.emulator.operation import UNSIGNED, WIDTH, Opcode
from kdsl.runtime.driver import CudaDriver
from tests.emulator import rational
from tests.emulator.instruction_kernels import APPROXIMATE, BLACKWELL, LOP3_TABLE, TEXTS, expand, module, operation_of

LANES = 2048
ELEMENTS = {"f16x2": "f16", "bf16x2": "bf16"}
# Relative errors. The ISA's bounds are tighter, but differ by range; these find a wrong function.
TOLERANCE = {"f16": 2.0**-9, "bf16": 2.0**-6, "f32": 2.0**-19, "f64": 2.0**-18}
# Absolute errors (sin and cos, and lg2 near 1), and the relative one of tanh, which the ISA has as 2**-11.
ABSOLUTE, TANH = {"sin": 2.0**-20, "cos": 2.0**-20, "lg2": 2.0**-21}, 2.0**-10.9


def ptxas() -> str | None:
    found = shutil.which("ptxas")
    nvidia = pytest.importorskip("nvidia", reason="ptxas is in the nvidia-cuda-nvcc wheel")
    wheels = [str(path) for root in nvidia.__path__ for path in Path(root).rglob("bin/ptxas")]
    return found or (wheels[0] if wheels else None)


@pytest.mark.parametrize(("arch", "texts"), [("sm_90", TEXTS + APPROXIMATE), ("sm_100", BLACKWELL)])
def test_ptxas_accepts_every_form(tmp_path: Path, arch: str, texts: list[str]) -> None:
    """What these tests call an instruction is one, and its operand types are what the operations say."""
    assembler = ptxas()
    if assembler is None:
        pytest.skip("no ptxas")
    source = tmp_path / "all.ptx"
    source.write_text(module([opcode for text in texts for opcode in expand(text)], target=arch))
    command = [assembler, "-O0", "-arch", arch, str(source), "-o", str(tmp_path / "all.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


FORMATS_BELOW = [rational.FORMATS["f32"], rational.FORMATS["f16"]]


@cache
def patterns(type_name: str, seed: int) -> np.ndarray[Any, Any]:
    """Edges and random values of a type, in an order that meets others' in many combinations."""
    random, width = np.random.default_rng(seed), WIDTH[type_name]
    if type_name == "f32x2":
        return patterns("f32", seed + 10).astype(np.uint64) << np.uint64(32) | patterns("f32", seed + 20)
    if type_name in ELEMENTS:
        halves = [patterns(ELEMENTS[type_name], seed + k).astype(np.uint32) for k in (10, 20)]
        return halves[0] << 16 | halves[1]
    if type_name in rational.FORMATS:
        f = rational.FORMATS[type_name]
        values = rational.random_patterns(f, LANES // 2, seed)
        edges = rational.edge_patterns(f)
        if type_name == "f64":  # around the smallest normal f32 and f16
            edges += [rational.encode(x, f) for s in FORMATS_BELOW for x in near_smallest_normal(s)]
    else:
        mask = (1 << width) - 1
        small = random.integers(0, 70, LANES // 4).tolist()
        values = [v & mask for v in rational.random_patterns(rational.FORMATS["f64"], LANES // 4, seed)] + small
        edges = [
            x & mask for x in (0, 1, 2, 3, -1, -2, mask >> 1, (mask >> 1) + 1, (mask >> 1) + 2, mask >> width // 2)
        ]
    chosen = [edges[k] for k in random.integers(0, len(edges), LANES - len(values))] + values
    return random.permutation(np.array(chosen, UNSIGNED[width]))


def near_smallest_normal(f: rational.Format) -> list[rational.Number]:
    smallest = rational.Fraction(2) ** (1 - f.bias)
    steps = [rational.Fraction(k, 4) / 2**f.fraction_bits for k in (-5, -3, -2, -1, 0, 1)]
    return [rational.Number(sign < 0, sign * smallest * (1 + step)) for step in steps for sign in (1, -1)]


def memory_dtype(type_name: str) -> Any:
    return {1: np.uint8, 8: np.uint8}.get(WIDTH[type_name], UNSIGNED[WIDTH[type_name]])


def run_on(device: Backend, function: Any, arrays: list[np.ndarray[Any, Any]], results: list[Any]) -> list[Any]:
    outputs = [np.zeros(LANES, dtype) for dtype in results]
    everything = arrays + outputs
    addresses = [device.alloc(array.nbytes) for array in everything]
    for address, array in zip(addresses, everything, strict=True):
        device.write(address, memoryview(array.view(np.uint8)))
    parameters = np.array(addresses, np.uint64).tobytes() + np.array([LANES], np.uint32).tobytes()
    device.launch(function, Launch((LANES // 256, 1, 1), (256, 1, 1)), parameters)
    device.synchronize()
    for address, array in zip(addresses[len(arrays) :], outputs, strict=True):
        device.read(address, memoryview(array.view(np.uint8)))
    for address in addresses:
        device.free(address)
    return outputs


def close(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], type_name: str, name: str) -> np.ndarray[Any, Any]:
    """Equal, or near by the format's and the function's measure."""
    if type_name in ELEMENTS:
        halves = [[x.view(np.uint16)[k::2].copy() for x in (got, want)] for k in (0, 1)]
        return close(*halves[0], ELEMENTS[type_name], name) & close(*halves[1], ELEMENTS[type_name], name)
    f = rational.FORMATS[type_name]
    x, y = (np.array([_float(int(b), f) for b in array]) for array in (got, want))
    absolute = ABSOLUTE.get(name, float(2.0 ** (2 - f.bias)) if type_name != "f16" else 2.0**-14)
    relative = TANH if (name, type_name) == ("tanh", "f32") else TOLERANCE[type_name]
    with np.errstate(invalid="ignore"):
        near = np.abs(x - y) <= relative * np.maximum(np.abs(x), np.abs(y)) + absolute
    return (got == want) | near | (np.isnan(x) & np.isnan(y))


def _float(bits: int, f: rational.Format) -> float:
    number = rational.decode(bits, f)
    if number.nan:
        return float("nan")
    return float("-inf" if number.negative else "inf") if number.infinite else float(number.value)


@pytest.fixture(scope="module", params=["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
def machine(request: pytest.FixtureRequest) -> Backend:
    return Emulator() if request.param == "emulator" else CudaDriver()


@pytest.mark.parametrize("text", TEXTS + APPROXIMATE)
def test_bits(machine: Backend, text: str) -> None:
    opcodes = expand(text)
    loaded = machine.load(module(opcodes).encode())
    failures = []
    for place, opcode in enumerate(opcodes):
        failures += differences(machine, machine.function(loaded, f"k{place}"), opcode, text in APPROXIMATE)
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("text", BLACKWELL)
def test_bits_of_newer_forms(text: str) -> None:
    opcodes, machine = expand(text), Emulator("sm_100")
    loaded = machine.load(module(opcodes, target="sm_100").encode())
    failures = [differences(machine, machine.function(loaded, f"k{k}"), o, False) for k, o in enumerate(opcodes)]
    assert not any(failures), failures


def differences(machine: Backend, function: Any, opcode: Opcode, approximate: bool) -> list[str]:
    operation = operation_of(opcode)
    operands = [patterns(t, seed) for seed, t in enumerate(operation.operands)]
    if opcode[0] == "fns":  # what PTX defines: a base of up to 31
        operands[1:] = [operands[1] & np.uint32(31), operands[2] % np.uint32(80) - np.uint32(40)]
    arrays = [bits.astype(memory_dtype(t)) for bits, t in zip(operands, operation.operands, strict=True)]
    if opcode[0] == "lop3":
        operands[3] = np.array([LOP3_TABLE], np.uint32)
    with np.errstate(all="ignore"):
        result = operation.run(*(x.copy() for x in operands))
    wanted = result if isinstance(result, tuple) else (result,)
    outputs = run_on(machine, function, arrays, [memory_dtype(t) for t in operation.results])
    failures = []
    for got, want, type_name in zip(outputs, wanted, operation.results, strict=True):
        want = want.astype(got.dtype)
        fine = close(got, want, type_name, opcode[0]) if approximate else got == want
        wrong = np.flatnonzero(~fine)
        for lane in wrong[:4]:
            inputs = [hex(int(x[lane if len(x) > 1 else 0])) for x in operands]
            text = f"{inputs} gave {got[lane]:#x}, not {want[lane]:#x}"
            failures.append(f"{'.'.join(opcode)}: {len(wrong)} differ; {text}")
    return failures


def test_the_emulator_takes_three_operands_of_min() -> None:
    """sm_100's form, which only the number of operands tells from that of two."""
    text = module([("min", "f32")], version="8.8", target="sm_100").replace(
        "%r12, %r10, %r11;", "%r12, %r10, %r11, %r10;"
    )
    assert "min.f32 %r12, %r10, %r11, %r10;" in text
    machine = Emulator("sm_100")
    a, b = patterns("f32", 0), patterns("f32", 1)
    (got,) = run_on(machine, machine.function(machine.load(text.encode()), "k0"), [a, b], [np.uint32])
    assert np.array_equal(got, operation_of(("min", "f32")).run(a, b))
