"""The first kernel: what its PTX must and must not hold, and the same with every architecture's ptxas."""

from __future__ import annotations

import re

import pytest

from kdsl.codegen.sass import assemble, disassemble
from kdsl.ir import nodes as ir
from kdsl.lang.types import F32, I32
from kdsl.target import KNOWN, Target

from . import trees as t
from .compile import instructions, mnemonics, ptx_of

# sm_101 was renamed sm_110 in CUDA 13, whose ptxas no longer takes the old name.
ASSEMBLED = [arch for arch in KNOWN if not arch.startswith("sm_101")]


def vadd(options: ir.Options | None = None) -> ir.Function:
    kernel = t.Kernel("vadd", options or ir.Options())
    a, b, c = (kernel.pointer(name, F32) for name in "abc")
    n = kernel.parameter("n", I32)
    i = t.local("i", I32)
    total = t.binary("+", t.load(a, t.read(i), span=t.at(5, 16)), t.load(b, t.read(i), span=t.at(5, 23)), t.at(5, 16))
    inside = t.compare("<", t.read(i), n, t.at(4, 8))
    kernel.add(
        t.assign(i, t.global_index(t.at(3, 9)), t.at(3, 5)),
        ir.If(inside, (t.store(c, t.read(i), total, span=t.at(5, 9)),), (), t.at(4, 5)),
    )
    return kernel.function()


def test_the_instructions_are_those_of_the_c_kernel() -> None:
    assert mnemonics(ptx_of(vadd())) == [
        "mad.lo.s32",
        "setp.ge.s32",
        "bra",
        "mul.wide.s32",
        *["add.s64"] * 3,
        *["ld.global.b32"] * 2,
        "add.rn.f32",
        "st.global.b32",
    ]


def test_parameters_are_pointers_and_scalars_in_order() -> None:
    assert re.findall(r"^\t\.param (\.\w+)", ptx_of(vadd()), re.MULTILINE) == [".u64", ".u64", ".u64", ".u32"]


@pytest.mark.parametrize("word", [".local", ".extern", "debug"])
def test_what_must_not_be_in_it(word: str) -> None:
    assert word not in ptx_of(vadd())


def test_special_registers_are_read_in_the_order_that_ptxas_likes() -> None:
    reads = [i.split("%")[-1].rstrip(";") for i in instructions(ptx_of(vadd())) if i.startswith("mov.u32")]
    assert reads == ["ntid.x", "ctaid.x", "tid.x"]


def test_lines_and_columns_are_python_s_and_the_file_is_a_base_name() -> None:
    ptx = ptx_of(vadd())
    assert re.findall(r"\.file\s+\d+ (.*)", ptx) == ['"kernels.py"']
    assert re.search(r"\.loc\s+1 3 9\n\tmad\.lo", ptx)
    assert re.search(r"\.loc\s+1 5 16\n\tld\.global", ptx)
    assert re.search(r"\.loc\s+1 5 9\n\tst\.global", ptx)


def test_line_directives_change_no_machine_instruction() -> None:
    ptx, target = ptx_of(vadd()), Target.parse("sm_90")
    bare = re.sub(r"^(\t\.loc.*|\t\.file.*|\$L__(tmp|func).*)\n", "", ptx, flags=re.MULTILINE)
    assert bare.count(".loc") == 0

    def code(text: str) -> list[str]:
        return re.findall(r"/\*[0-9a-f]{4}\*/\s*(.*?)\s*;", disassemble(assemble(text, target).cubin))

    assert code(bare) == code(ptx)
    assert 10 < len(code(ptx)) < 40


def test_restrict_is_noalias_and_reads_go_through_the_read_only_cache() -> None:
    assert "ld.global.nc" not in ptx_of(vadd())
    assert "ld.global.nc" in ptx_of(vadd(ir.Options(restrict=True)))


def test_launch_bounds() -> None:
    ptx = ptx_of(vadd(ir.Options(launch_bounds=(256, 2))))
    assert ".maxntid 256" in ptx
    assert ".minnctapersm 2" in ptx


@pytest.mark.parametrize("arch", ASSEMBLED)
def test_ptxas_takes_it_for_every_architecture(arch: str) -> None:
    target = Target.parse(arch)
    ptx = ptx_of(vadd(), arch=arch)
    assert f".target {arch}\n" in ptx
    assert f".version {target.ptx_version // 10}.{target.ptx_version % 10}\n" in ptx
    (resources,) = assemble(ptx, target).resources
    assert (resources.kernel, resources.stack, resources.spill_stores) == ("vadd", 0, 0)
