"""What LLVM's PTX text needs so that ptxas runs what it says: explicit rounding, and bits where bits are stored."""

from __future__ import annotations

import re

from kdsl.codegen.reductions import reduce_unused
from kdsl.codegen.spin_loops import part_spin_loops
from kdsl.codegen.wide_products import join_products

_UNSUFFIXED = re.compile(
    r"^(\t(?:@!?%p\d+ )?(?:add|sub|mul))((?:\.ftz)?\.(?:f32(?:x2)?|f64|b?f16(?:x2)?)\b)", re.MULTILINE
)
_FLOAT_RESULT = re.compile(
    r"^\t(?:@!?%p\d+ )?\w[\w.]*\.(?:b?f16x2|b?f16|f32x2|f32|f64)\b[\w.]*\s+(%r[sd]?\d+)", re.MULTILINE
)
_NARROW = re.compile(
    r"^\t(?:@!?%p\d+ )?(?:st\.[\w.:]*\.b(8|16|32)\s+\[[^]]*\], (.*);|sh[lr]\.[bsu]64\s+%rd\d+, [^,]+, (%r\d+);)",
    re.MULTILINE,
)
_REGISTER = re.compile(r"%(r[sd]?)\d+")
_FLUSHED_BF16 = re.compile(r"^(\t(?:@!?%p\d+ )?setp\.\w+)\.ftz(?=\.bf16)", re.MULTILINE)
_BITS = {"rs": 16, "r": 32, "rd": 64}


def settle(ptx: str) -> str:
    """The same program, such that what is shown is what runs."""
    # The empty section comes with `.loc` directives; no debugging information is in it.
    ptx = ptx.replace("\t.section\t.debug_macinfo\t{\t}\n", "")
    # Under fastmath LLVM prints setp.ftz.bf16, which PTX does not have: a bf16 denormal compares as it is.
    return part_spin_loops(join_products(reduce_unused(store_bits(round_explicitly(_FLUSHED_BF16.sub(r"\1", ptx))))))


def round_explicitly(ptx: str) -> str:
    """Mark additions and multiplications that LLVM did not fuse ``.rn``: unsuffixed ones ptxas may still fuse."""
    return _UNSUFFIXED.sub(r"\1.rn\2", ptx)


def store_bits(ptx: str) -> str:
    """Move a float's register onto itself before a use that takes fewer or other bits of it than it has.

    LLVM stores the low bits of ``bitcast(x, i64)`` by ``st.b16 [p], %rd1``, and shifts 64 bits by ``bitcast(x, i32)``
    by ``shr.u64 %rd2, %rd3, %r1``. Where a float instruction wrote the register, ptxas 13.0 and 13.5 take both for a
    conversion of the number: F2I.U16.F64, F2I.U64. A ``mov.b64`` between them makes it bits again, and costs no
    instruction in the machine code. Of some 80 kinds of use that were tried, only these two and addresses are so.
    """
    floats = set(_FLOAT_RESULT.findall(ptx))

    def moved(use: re.Match[str]) -> str:
        stored, amount = use[2], use[3]
        width = int(use[1]) if stored else 0
        moves = [
            f"\tmov.b{_BITS[register[1]]} \t{register[0]}, {register[0]};\n"
            for register in _REGISTER.finditer(stored or amount)
            if register[0] in floats and width < _BITS[register[1]]
        ]
        return "".join(dict.fromkeys(moves)) + use[0]

    return _NARROW.sub(moved, ptx) if floats else ptx
