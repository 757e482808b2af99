"""What vectors become in PTX: one access for each element in memory, packed instructions of two halves, all that ptxas takes."""

# mypy: ignore-errors
# No postponed annotations: those of the kernels inside of tests name variables of the tests.

import pytest

import kdsl
from kdsl import (
    Array,
    CompileError,
    Ptr,
    bf16x2,
    bf16x4,
    f16x2,
    f16x4,
    f32x2,
    f32x4,
    f64x2,
    fma,
    grid,
    i8x4,
    i16x2,
    i16x4,
    i32,
    i32x2,
    i32x4,
    i64x2,
    kernel,
    local,
    shared,
    thread_idx,
    u8x4,
    u16x2,
    u16x4,
    u32x2,
    u32x4,
    u64x2,
)
from kdsl.codegen.sass import assemble
from kdsl.target import Target

from .compile import instructions, mnemonics

MEMORY = {
    i8x4: "b32",
    u8x4: "b32",
    i16x2: "v2.b16",
    u16x2: "v2.b16",
    i16x4: "v4.b16",
    u16x4: "v4.b16",
    i32x2: "v2.b32",
    u32x2: "v2.b32",
    f32x2: "v2.b32",
    i32x4: "v4.b32",
    u32x4: "v4.b32",
    f32x4: "v4.b32",
    i64x2: "v2.b64",
    u64x2: "v2.b64",
    f64x2: "v2.b64",
    f16x2: "b32",
    bf16x2: "b32",
    f16x4: "v2.b32",
    bf16x4: "v2.b32",
}
"""How an element lies in PTX: one access, of as many bytes as it has."""
HALVES = [f16x2, f16x4, bf16x2, bf16x4]


def ptx_for(checked: kdsl.Kernel, arch: str) -> str:
    """The kernel's PTX, which ptxas takes."""
    ptx = kdsl.compile(checked, target=arch).ptx
    assemble(ptx, Target.parse(arch))
    return ptx


def accesses(ptx: str) -> list[str]:
    return [op for op in mnemonics(ptx) if op.startswith(("ld.", "st."))]


PAIRS = {f32x2: "b64", f32x4: "v2.b64"}


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("type", MEMORY, ids=str)
def test_one_access_for_each_element(type, arch: str) -> None:
    pointer, array = Ptr[type], Array[type, 2]

    @kernel
    def k(a: pointer, b: array):
        i = thread_idx.x
        block = shared.array(64, type)
        block[i] = a[i] + 1
        b[1, i] = -block[i ^ 1]

    # An architecture without arithmetic on bf16 takes the halves apart at once.
    loaded = "v2.b16" if type is bf16x2 else "v4.b16" if type is bf16x4 else MEMORY[type]
    how = loaded if arch == "sm_75" else MEMORY[type]
    if arch == "sm_120" and type in PAIRS:
        how = PAIRS[type]  # two f32 are added as one
    got = accesses(ptx_for(k, arch))
    assert [op.split(".", 2)[:2] for op in got] == [
        ["ld", "global"],
        ["st", "shared"],
        ["ld", "shared"],
        ["st", "global"],
    ]
    assert got[0] == f"ld.global.{how}"
    if arch != "sm_75" or type not in HALVES:
        assert [op.split(".", 2)[2] for op in got[1:]] == [how, MEMORY[type], MEMORY[type]]


@pytest.mark.parametrize("element", [f32x4, i32x4, f64x2], ids=str)
def test_16_bytes_are_copied_by_one_load_and_one_store(element) -> None:
    pointer = Ptr[element]

    @kernel
    def k(a: pointer, b: pointer, n: i32):
        i = grid(1)
        if i < n:
            b[i] = a[i]

    got = accesses(ptx_for(k, "sm_90"))
    assert got == [f"ld.global.{MEMORY[element]}", f"st.global.{MEMORY[element]}"]


def test_a_local_array_of_vectors_is_in_registers() -> None:
    @kernel
    def k(a: Ptr[f32x4], b: Ptr[f32x4]):
        own = local.array(4, f32x4)
        for j in range(4):
            own[j] = a[j]
        for j in range(4):
            own[3 - j].x += 1.0
            b[j] = own[3 - j]

    got = accesses(ptx_for(k, "sm_90"))
    assert got.count("ld.global.v4.b32") == got.count("st.global.v4.b32") == 4
    assert len(got) == 8


def test_a_component_in_memory_is_written_alone() -> None:
    @kernel
    def k(a: Ptr[f32x4], i: i32):
        a[i].z = 1.0

    assert accesses(ptx_for(k, "sm_90")) == ["st.global.b32"]
    assert any("+8]" in i for i in instructions(ptx_for(k, "sm_90")))


def halves(type, fmad: bool) -> kdsl.Kernel:
    pointer = Ptr[type]

    @kernel(fmad=fmad)
    def k(a: pointer, b: pointer):
        i = thread_idx.x
        b[i] = a[i] * b[i] - abs(a[i])

    return k


def arithmetic(ptx: str) -> list[str]:
    return [op for op in mnemonics(ptx) if "16" in op and not op.startswith(("ld.", "st."))]


@pytest.mark.parametrize("type", [f16x2, bf16x2], ids=str)
@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_two_halves_are_one_instruction(type, arch: str) -> None:
    t = str(type)
    assert arithmetic(ptx_for(halves(type, False), arch)) == [f"mul.rn.{t}", f"abs.{t}", f"sub.rn.{t}"]
    fused = arithmetic(ptx_for(halves(type, True), arch))
    assert f"fma.rn.{t}" in fused
    assert all(op.endswith(t) for op in fused)


@pytest.mark.parametrize("type", [f16x4, bf16x4], ids=str)
def test_four_halves_are_two_instructions(type) -> None:
    t = f"{type.element}x2"
    expected = [f"abs.{t}", f"mul.rn.{t}", f"sub.rn.{t}"]
    assert sorted(arithmetic(ptx_for(halves(type, False), "sm_90"))) == sorted(expected * 2)


def test_f16_is_packed_on_sm_75_and_bf16_is_done_in_f32() -> None:
    assert {"mul.rn.f16x2", "sub.rn.f16x2"} <= set(mnemonics(ptx_for(halves(f16x2, False), "sm_75")))
    assert not [op for op in mnemonics(ptx_for(halves(bf16x2, False), "sm_75")) if "bf16x2" in op]


def test_fma_of_bf16_needs_sm_80() -> None:
    @kernel
    def k(a: Ptr[bf16x2], b: Ptr[bf16x2]):
        b[0] = fma(a[0], a[1], b[0])

    assert "fma.rn.bf16x2" in mnemonics(ptx_for(k, "sm_80"))
    with pytest.raises(CompileError, match=r"fma\(\) of bf16x2 needs sm_80 or newer; this is sm_75"):
        kdsl.compile(k, target="sm_75")
