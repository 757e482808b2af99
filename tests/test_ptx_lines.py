"""Lines of PTX as the Python lines that they were made from."""

from __future__ import annotations

import pytest

from kdsl.ptx_lines import python_place, with_python_places

PTX = """\
.version 8.0
.target sm_90
.visible .entry first()
{
\t.loc\t1 5 9
\tadd.u32 %r1, %r2;
\t.loc\t2 7 1
\t.loc\t1 0 1
\tret;
}
.func second()
{
\tbogus;
}
.file 1 "/somewhere/kernels.py"
.file 2 "/somewhere" "other.py"
"""


@pytest.mark.parametrize(
    ("line", "place"), [(1, None), (5, "kernels.py:5"), (6, "kernels.py:5"), (9, "other.py:7"), (13, None)]
)
def test_the_nearest_location_above(line: int, place: str | None) -> None:
    assert python_place(PTX, line) == place


def test_messages_of_ptxas_and_of_the_driver() -> None:
    words = (
        "ptxas kernel.ptx, line 6; error   : Arguments mismatch for instruction 'add'\n"
        "ptxas application ptx input, line 13; fatal   : Parsing error near 'bogus': syntax error\n"
        "ptxas fatal   : Ptx assembly aborted due to errors"
    )
    assert with_python_places(words, PTX) == f"kernels.py:5: {words}"
