"""Which operands each PTX instruction takes: ptxas takes what the checker does, and the checker refuses other types."""

from __future__ import annotations

from typing import Any

import pytest

import kdsl
from kdsl import CompileError, Ptr, Target, asm, i32, kernel
from kdsl.lang.types import SCALARS

# Template, the result's type, the operands' types.
CASES = """
add.cc.u32 {d}, {a}, {b};                           u32  u32 i32
sub.s16 {d}, {a}, {b};                              i16  i16 i16
add.rz.f64 {d}, {a}, {b};                           f64  f64 f64
add.sat.f16 {d}, {a}, {b};                          f16  f16 f16
add.f16x2 {d}, {a}, {b};                            u32  u32 u32
mul.lo.s64 {d}, {a}, {b};                           i64  i64 u64
mul.hi.u32 {d}, {a}, {b};                           u32  u32 u32
mul.wide.s32 {d}, {a}, {b};                         i64  i32 i32
mul.wide.u16 {d}, {a}, {b};                         u32  u16 u16
mad.lo.u32 {d}, {a}, {b}, {c};                      u32  u32 u32 u32
mad.wide.u32 {d}, {a}, {b}, {c};                    u64  u32 u32 u64
mul24.lo.u32 {d}, {a}, {b};                         u32  u32 u32
fma.rn.f32 {d}, {a}, {b}, {c};                      f32  f32 f32 f32
fma.rn.bf16 {d}, {a}, {b}, {c};                     bf16 bf16 bf16 bf16
div.full.f32 {d}, {a}, {b};                         f32  f32 f32
rem.u64 {d}, {a}, {b};                              u64  u64 u64
min.NaN.f32 {d}, {a}, {b};                          f32  f32 f32
max.s64 {d}, {a}, {b};                              i64  i64 i64
sad.s32 {d}, {a}, {b}, {c};                         i32  i32 i32 i32
abs.s32 {d}, {a};                                   i32  i32
neg.f64 {d}, {a};                                   f64  f64
not.pred {d}, {a};                                  bool bool
xor.pred {d}, {a}, {b};                             bool bool bool
cnot.b32 {d}, {a};                                  u32  u32
sqrt.rn.f32 {d}, {a};                               f32  f32
ex2.approx.f16x2 {d}, {a};                          u32  u32
tanh.approx.bf16 {d}, {a};                          bf16 bf16
copysign.f64 {d}, {a}, {b};                         f64  f64 f64
popc.b64 {d}, {a};                                  u32  u64
clz.b32 {d}, {a};                                   i32  i32
bfind.shiftamt.s64 {d}, {a};                        u32  i64
brev.b64 {d}, {a};                                  u64  u64
shl.b64 {d}, {a}, {b};                              u64  u64 u32
shr.s16 {d}, {a}, {b};                              i16  i16 i32
shf.l.wrap.b32 {d}, {a}, {b}, {c};                  u32  u32 u32 u32
bfe.s64 {d}, {a}, {b}, {c};                         i64  i64 u32 u32
bfi.b64 {d}, {a}, {b}, 3, {c};                      u64  u64 u64 u32
bmsk.clamp.b32 {d}, {a}, {b};                       u32  u32 u32
szext.wrap.s32 {d}, {a}, {b};                       i32  i32 u32
prmt.b32.f4e {d}, {a}, {b}, {c};                    u32  u32 u32 u32
lop3.b32 {d}, {a}, {b}, {c}, 0x80;                  u32  u32 u32 u32
dp4a.u32.s32 {d}, {a}, {b}, {c};                    i32  u32 u32 i32
setp.lt.f16 {d}, {a}, {b};                          bool f16 f16
setp.lt.and.u64 {d}, {a}, {b}, {c};                 bool u64 u64 bool
setp.lt.or.s32 {d}, {a}, 5, !{b};                   bool i32 bool
set.gt.u32.f32 {d}, {a}, {b};                       u32  f32 f32
selp.f64 {d}, {a}, {b}, {c};                        f64  f64 f64 bool
slct.u64.s32 {d}, {a}, {b}, {c};                    u64  u64 u64 i32
slct.f32.f32 {d}, {a}, {b}, {c};                    f32  f32 f32 f32
testp.finite.f64 {d}, {a};                          bool f64
mov.b32 {d}, {a};                                   f32  u32
mov.b64 {d}, {{{a}, {b}}};                          f64  u32 f32
mov.pred {d}, {a};                                  bool bool
cvt.u8.u32 {d}, {a};                                u32  u32
cvt.s32.s8 {d}, {a};                                i32  i8
cvt.rni.s64.f64 {d}, {a};                           i64  f64
cvt.rn.bf16.f32 {d}, {a};                           bf16 f32
cvt.rn.f16x2.f32 {d}, {a}, {b};                     u32  f32 f32
cvt.rn.satfinite.e4m3x2.f32 {d}, {a}, {b};          u16  f32 f32
cvt.rna.tf32.f32 {d}, {a};                          u32  f32
ld.global.u8 {d}, [{a}];                            u32  u64
ld.global.f32 {d}, [{a} + 4];                       f32  u64
ld.shared.v2.b32 {{{d}, _}}, [{a}];                 u32  u32
ld.global.nc.L2::128B.b64 {d}, [{a}];               f64  u64
atom.global.cas.b64 {d}, [{a}], {b}, {c};           u64  u64 u64 u64
atom.add.noftz.f16 {d}, [{a}], {b};                 f16  u64 f16
shfl.sync.bfly.b32 {d}, {a}, {b}, 31, {c};          f32  f32 i32 u32
shfl.sync.bfly.b32 {d}|_, {a}, {b}, 31, {c};        f32  f32 i32 u32
match.any.sync.b64 {d}, {a}, {b};                   u32  u64 u32
vote.sync.ballot.b32 {d}, {a}, {b};                 u32  bool u32
redux.sync.add.u32 {d}, {a}, {b};                   u32  u32 u32
activemask.b32 {d};                                 u32
mov.u32 {d}, %ctaid.y;                              u32
mapa.shared::cluster.u32 {d}, {a}, {b};             u32  u32 u32
""".strip().split("\n")

# Instructions whose operands the checker does not know, and those that have them in a vector or a pair.
UNCHECKED = ("vote", "redux", "mapa", "mov.b64", "ld.shared.v2", "shfl.sync.bfly.b32 {d}|")


def read(case: str) -> tuple[str, Any, list[Any]]:
    template, _, types = case.partition(";")
    result, *operands = (bool if name == "bool" else SCALARS[name] for name in types.split())
    return f"{template};", result, operands


def made(template: str, result: Any, operands: list[Any]) -> Any:
    """A kernel that runs the template on operands of these types."""
    p, q, r = (*operands, i32, i32, i32)[:3]

    @kernel
    def none(x: Ptr[i32]):
        x[0] = i32(asm(template, out=result, volatile=True))

    @kernel
    def one(x: Ptr[i32]):
        x[0] = i32(asm(template, a=p(x[1]), out=result, volatile=True))

    @kernel
    def two(x: Ptr[i32]):
        x[0] = i32(asm(template, a=p(x[1]), b=q(x[2]), out=result, volatile=True))

    @kernel
    def three(x: Ptr[i32]):
        x[0] = i32(asm(template, a=p(x[1]), b=q(x[2]), c=r(x[3]), out=result, volatile=True))

    return (none, one, two, three)[len(operands)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.partition(" ")[0])
def test_ptxas_takes_what_the_checker_takes(case: str) -> None:
    assert kdsl.compile(made(*read(case)), target=Target.parse("sm_90")).cubin


@pytest.mark.parametrize("case", [c for c in CASES if not c.startswith(UNCHECKED)], ids=lambda c: c.partition(" ")[0])
def test_other_types_are_refused(case: str) -> None:
    """Each operand in turn is of a size that no instruction above takes in its place."""
    template, result, operands = read(case)
    for i, right in enumerate([result, *operands]):
        wrong = bool if right is not bool else SCALARS["u64"]
        types = [*[result, *operands][:i], wrong, *[result, *operands][i + 1 :]]
        name = "dabc"[i]
        with pytest.raises(CompileError, match=rf"`{name}` is (bool|u64), and "):
            kdsl.compile(made(template, types[0], types[1:]))
