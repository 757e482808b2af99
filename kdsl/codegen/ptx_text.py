"""What LLVM's PTX text needs so that ptxas runs what it says: explicit rounding, and bits where bits are stored."""

from __future__ import annotations

import re

_UNSUFFIXED = re.compile(r"^(\t(?:@!?%p\d+ )?(?:add|sub|mul))((?:\.ftz)?\.(?:f32|f64|b?f16(?:x2)?)\b)", re.MULTILINE)
_FLOAT_RESULT = re.compile(r"^\t(?:@!?%p\d+ )?\w[\w.]*\.(?:b?f16x2|b?f16|f32|f64)\b[\w.]*\s+(%r[sd]?\d+)", re.MULTILINE)
_STORE = re.compile(r"^\t(?:@!?%p\d+ )?st\.[\w.:]*\.b(8|16|32)\s+\[[^]]*\], (%(r[sd]?)\d+);", re.MULTILINE)
_FLUSHED_BF16 = re.compile(r"^(\t(?:@!?%p\d+ )?setp\.\w+)\.ftz(?=\.bf16)", re.MULTILINE)
_BITS = {"rs": 16, "r": 32, "rd": 64}


def settle(ptx: str) -> str:
    """The same program, such that what is shown is what runs."""
    # The empty section comes with `.loc` directives; no debugging information is in it.
    ptx = ptx.replace("\t.section\t.debug_macinfo\t{\t}\n", "")
    # Under fastmath LLVM prints setp.ftz.bf16, which PTX does not have: a bf16 denormal compares as it is.
    return store_bits(round_explicitly(_FLUSHED_BF16.sub(r"\1", ptx)))


def round_explicitly(ptx: str) -> str:
    """Mark additions and multiplications that LLVM did not fuse ``.rn``: unsuffixed ones ptxas may still fuse."""
    return _UNSUFFIXED.sub(r"\1.rn\2", ptx)


def store_bits(ptx: str) -> str:
    """Move a float's register onto itself before a narrower store of it.

    LLVM stores the low bits of ``bitcast(x, i64)`` by ``st.b16 [p], %rd1``. Where a float instruction wrote %rd1,
    ptxas 13.0 and 13.5 take that for a conversion of the number and emit F2I.U16.F64. A ``mov.b64`` between them makes
    it bits again, and costs no instruction in the machine code.
    """
    floats = set(_FLOAT_RESULT.findall(ptx))

    def moved(store: re.Match[str]) -> str:
        width, register, kind = int(store[1]), store[2], store[3]
        if register not in floats or width >= _BITS[kind]:
            return store[0]
        return f"\tmov.b{_BITS[kind]} \t{register}, {register};\n{store[0]}"

    return _STORE.sub(moved, ptx) if floats else ptx
