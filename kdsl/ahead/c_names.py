"""Names of Python's as C and C++ take them, each once in a header."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain, count

_KEYWORDS = """
    _Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t
    class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
    decltype default delete do double dynamic_cast else enum explicit export extern false float for friend
    goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid
    typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
KEYWORDS = frozenset(_KEYWORDS.split())
"""Of C11 and C++20, with C++'s words for operators."""

_TAKEN = """
    NULL i386 int16_t int32_t int64_t int8_t intptr_t linux max_align_t offsetof ptrdiff_t size_t uint16_t
    uint32_t uint64_t uint8_t uintptr_t unix
"""
TAKEN = frozenset(_TAKEN.split())
"""What the headers that a build's header includes call their own, and compilers define before any."""


class Names:
    """The names that are taken: one of C's own, or of another kernel, gets a suffix."""

    def __init__(self, guard: str) -> None:
        self.macros = {guard}
        self.globals = {*KEYWORDS, *TAKEN, "CUresult", "CUfunction", "CUstream", "CUlaunchConfig", "CUlaunchAttribute"}

    def of_kernel(self, kernel: str) -> str:
        """What begins the names of what is a kernel's. The macros are its name in capitals, which may be another's."""

        def is_taken(prefix: str) -> bool:
            return not self.macros.isdisjoint(macros(prefix)) or not self.globals.isdisjoint(names(prefix))

        def macros(prefix: str) -> set[str]:
            return {f"{prefix.upper()}_ENTRY", f"{prefix.upper()}_PARAMS_SIZE"}

        def names(prefix: str) -> set[str]:
            return {f"{prefix}_params", f"{prefix}_launch"}

        prefix = _fresh(kernel, is_taken)
        self.macros |= macros(prefix)
        self.globals |= names(prefix)
        return prefix

    def of_struct(self, base: str) -> str:
        name = _fresh(base, lambda made: made in self.globals or made in self.macros)
        self.globals.add(name)
        return name

    def of_members(self, names: Sequence[str]) -> list[str]:
        """Names of Python's, or of parts of a parameter (``a.extent0``), as the members of one struct."""
        made: list[str] = []
        for name in names:
            plain = re.sub(r"\W+", "_", name)
            plain = plain.rstrip("_") if plain != name else plain
            made.append(_fresh(plain, lambda n: n in made or n in KEYWORDS or n in TAKEN or n in self.macros))
        return made


def _fresh(name: str, is_taken: Callable[[str], bool]) -> str:
    """A name that is not taken: as it is, with an underscore after it, or with a number."""
    candidates = chain((name, f"{name}_"), (f"{name}_{number}" for number in count(2)))
    return next(candidate for candidate in candidates if not is_taken(candidate))
