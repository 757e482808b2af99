"""PTX's instructions (PTX ISA 9.0, chapter 9): their names, what each operand is, and which ones are of memory."""

from __future__ import annotations

import re

from kdsl.records import dataclass

_OPCODES = """
abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call
clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma
fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier
membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red
redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix
sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd
vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4
wgmma wmma xor
"""
OPCODES = frozenset(_OPCODES.split())

_MEMORY = """
applypriority atom bar barrier clusterlaunchcontrol cp discard fence griddepcontrol ld ldmatrix ldu mbarrier membar
multimem red st stmatrix suld sured sust tcgen05 tensormap wgmma wmma
"""
MEMORY = frozenset(_MEMORY.split())
"""Instructions that access memory, or order accesses of others."""

SPECIAL_REGISTERS = re.compile(
    r"%(n?tid|n?ctaid|(cluster_)?n?ctaid|n?clusterid)(\.[xyz])?|%(laneid|n?warpid|n?smid|gridid|is_explicit_cluster"
    r"|cluster_n?ctarank|lanemask_(eq|le|lt|ge|gt)|clock(_hi|64)?|pm[0-7](_64)?|envreg([12]?\d|3[01])"
    r"|globaltimer(_lo|_hi)?|(total|aggr|dynamic)_smem_size|reserved_smem_offset_(begin|end|cap|[01])"
    r"|current_graph_exec)"
)

TYPE = re.compile(r"([busf])(\d+)(x\d)?|bf16(x2)?|tf32|pred|e\dm\d(x\d)?|ue8m0(x2)?")

_SHAPES = {
    # T: of the instruction's (first) type; S: of its second; W: twice as wide; I: an int of 32 bits; P: a predicate;
    # @: an address; '.': anything. What follows a slash may be left out. A small letter may be wider than the type.
    "TTT": "add addc sub subc mul24 mul div rem and or xor copysign",
    "TTT/T": "min max",
    "TTTT": "mad madc mad24 fma sad prmt",
    "TT": "abs neg not cnot sqrt rcp rsqrt sin cos lg2 ex2 tanh brev mov",
    "IT": "popc clz bfind",
    "TTI": "shl shr szext bmsk",
    "TTTI": "shf",
    "TTII": "bfe",
    "TTTII": "bfi",
    "TTTT./P": "lop3",
    "TTTP": "selp",
    "TTTS": "slct",
    "PTT/P": "setp",
    "TSS/P": "set",
    "PT": "testp",
    "ts/s": "cvt",
    "t@/.": "ld ldu",
    "@t/.": "st",
    "T@T/T.": "atom",
    "@T/.": "red",
    "TTII/I": "shfl",
    "ITI": "match",
    "IIII": "dp4a dp2a",
    "T": "activemask nanosleep",
}
SHAPES = {opcode: shape for shape, opcodes in _SHAPES.items() for opcode in opcodes.split()}
# Whose first operand is read though it is no address.
_READS_FIRST = frozenset({"bar", "barrier", "nanosleep", "pmevent", "setmaxnreg", "stackrestore"})
# Forms of these opcodes with operands of their own: mixed precision, asynchronous ones, vectors.
_OTHER_FORMS = frozenset({"async", "bulk", "rs", "all", "pack"})


@dataclass(frozen=True, slots=True)
class Form:
    """What the operands of an instruction are: a letter of `_SHAPES` for each; the last ones may be left out."""

    letters: str
    least: int
    types: tuple[str, ...]


def form_of(words: list[str]) -> Form | str | None:
    """The operands of an instruction; a text if it lacks its type; None if they are not known here."""
    opcode, *modifiers = words
    shape = SHAPES.get(opcode)
    if shape is None or _OTHER_FORMS.intersection(modifiers):
        return None
    types = tuple(m for m in modifiers if TYPE.fullmatch(m))
    needed = 2 if "S" in shape.upper() or opcode in ("dp4a", "dp2a") else 1
    if not types:
        return f"`{'.'.join(words)}` has no type"
    if len(types) != needed:
        return None
    if "wide" in modifiers and opcode in ("mul", "mad", "madc"):
        if not re.fullmatch("[us](16|32)", types[0]):
            return None
        shape = {"TTT": "WTT", "TTTT": "WTTW"}[shape]
    required, _, optional = shape.partition("/")
    return Form(required + optional, len(required), types)


def writes_first(words: list[str]) -> bool:
    """Whether an instruction writes its first operand, if that is no address."""
    if words[0] in ("bar", "barrier"):
        return "red" in words
    return words[0] not in _READS_FIRST and words[:2] != ["tcgen05", "dealloc"]
