"""Atomics in shared memory that ptxas makes loops of, where such a loop would begin with one of the program's."""

from __future__ import annotations

import re

# What ptxas 13.0 turns into a loop around ATOMS.CAST.SPIN, for sm_75, sm_90 and sm_120 alike.
_SPINNING = re.compile(
    r"\t(?:atom|red)(?:\.\w+)*?\.shared(?:::cta)?\.(?:add\.(?:[us]64|f32|f64|noftz\.b?f16(?:x2)?)"
    r"|(?:and|or|xor)\.b64|(?:min|max)\.[us]64)\s+(?:%\w+, )?(\[[^]]+\]), "
)
_LABEL = re.compile(r"^(\$\w+):")
_BRANCH = re.compile(r"\tbra(?:\.uni)? \t?(\$\w+);|\t@!?%p\d+ bra(?:\.uni)? \t?(\$\w+);")
_INSTRUCTION = re.compile(r"^\t(?:@!?%p\d+ )?[a-z][\w.:]*\s")
_WRITTEN = re.compile(r"^\t(?:@!?%p\d+ )?[a-z][\w.:]*\s+(?:\{([^}]*)\}|(%\w+))")
_REGISTER = re.compile(r"%\w+")


def part_spin_loops(ptx: str) -> str:
    """Put a volatile read of the same place before such an atomic where nothing in its loop comes before it.

    Where a loop of the program begins with the atomic's own, ptxas 13.0 may let both begin at one label, without the
    BSSY and BSYNC that bring the lanes together again: a lane that is done goes on to the program's loop counter, which
    is a uniform register, while others still try. Iterations are then counted twice, and the kernel never ends.
    A random program found it on an H200. The read costs an LDS, in loops that do nothing but the atomic.
    """
    if ".shared" not in ptx or _SPINNING.search(ptx) is None:
        return ptx
    lines = ptx.splitlines(keepends=True)
    last = {label: i for i, line in enumerate(lines) for label in _targets(line) if label}
    for index in reversed([i for i, line in enumerate(lines) if _SPINNING.match(line)]):
        if _begins_a_loop(lines, index, last):
            lines.insert(index, _read(lines[index]))
    return "".join(lines)


def _begins_a_loop(lines: list[str], atomic: int, last: dict[str, int]) -> bool:
    """Whether the atomic is the first thing in a loop that depends on the iteration. ``last``: where each label is
    branched to last, counted before anything was inserted behind the atomic.
    """
    start = atomic
    while start > 0 and not _LABEL.match(lines[start - 1]):
        start -= 1
        if _BRANCH.search(lines[start]) or _SPINNING.match(lines[start]):
            return False  # behind a branch, or another atomic's loop
    label = _LABEL.match(lines[start - 1]) if start else None
    if label is None:
        return False
    end = last.get(label[1], 0)
    if end <= atomic:
        return False  # no branch goes back to it
    varying = {name for line in lines[start : end + 1] for name in _results(line)}
    before = [line for line in lines[start:atomic] if _INSTRUCTION.match(line)]
    return not any(varying & set(_REGISTER.findall(line)[len(_results(line)) :]) for line in before)


def _targets(line: str) -> tuple[str | None, ...]:
    branch = _BRANCH.search(line)
    return branch.groups() if branch else ()


def _results(line: str) -> list[str]:
    written = _WRITTEN.match(line)
    return _REGISTER.findall(written[1] or written[2]) if written else []


def _read(atomic: str) -> str:
    found = _SPINNING.match(atomic)
    assert found is not None
    width = re.search(r"64|32|16(?=x2)|16", atomic[atomic.index(".shared") :])
    assert width is not None
    bits = 32 if "f16x2" in atomic else int(width[0])
    return f"\t{{ .reg .b{bits} %unused; ld.volatile.shared.b{bits} %unused, {found[1]}; }}\n"
