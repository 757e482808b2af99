"""Several modules of PTX text made one, without a linker: for the emulator, and where there is no nvJitLink."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kdsl.runtime.cuda_errors import LinkError
from kdsl.runtime.ptx_statements import Statement, statements

SYSTEM = frozenset({"vprintf", "__assertfail", "malloc", "free"})
"""Functions that the driver brings (CUDA C++ Programming Guide; PTX Writer's Guide to Interoperability, 4)."""
_FILE = re.compile(r"\.file\s+(\d+)")
_NUMBER = re.compile(r"(\.(?:file|loc)\s+)(\d+)|(inlined_at\s+)(\d+)")
_VERSION, _TARGET = re.compile(r"\.version\s+(\d+)\.(\d+)"), re.compile(r"\.target\s+(sm_(\d+)[af]?)(.*)")

Module = tuple[str, Sequence[Statement]]
"""The name of an input, and what is in it."""


def merge(inputs: Sequence[tuple[str, str]]) -> str:
    """One module of several texts, each with the name that errors call it; LinkError for what is defined twice, or
    nowhere.
    """
    modules: list[Module] = []
    files = 0
    taken: set[str] = set()
    for name, text in inputs:
        found = [*statements(_renumbered(text, files))]
        files += max((int(number) for number in _FILE.findall(text)), default=0)
        modules.append((name, _renamed(found, taken)))
        taken |= {s.name for s in modules[-1][1] if s.defines}
    definitions = _definitions(modules)
    _check_defined(modules, definitions)
    return _written(modules, definitions)


def _renumbered(text: str, first: int) -> str:
    """The text with its files counted from another number."""
    if not first:
        return text
    return _NUMBER.sub(lambda m: f"{m[1] or m[3]}{int(m[2] or m[4]) + first}", text)


def _renamed(found: Sequence[Statement], taken: set[str]) -> Sequence[Statement]:
    """Names of a module's own that another module has, too, changed wherever they stand."""
    own = {s.name for s in found if s.defines and not s.linkage and s.kind != "entry"}
    changed = {name: _free(name, taken | own) for name in own & taken}
    if not changed:
        return found
    word = re.compile(rf"(?<![\w$%])(?:{'|'.join(map(re.escape, changed))})(?![\w$])")
    return [
        Statement(word.sub(lambda m: changed[m[0]], s.text), changed.get(s.name, s.name), s.kind, s.linkage, s.defines)
        for s in found
    ]


def _free(name: str, taken: set[str]) -> str:
    number = 2
    while f"{name}__{number}" in taken:
        number += 1
    return f"{name}__{number}"


def _definitions(modules: Sequence[Module]) -> dict[str, tuple[str, Statement]]:
    """By name, the input and the statement that define it: the first weak one, unless another is not weak."""
    found: dict[str, tuple[str, Statement]] = {}
    for module, listed in modules:
        for statement in listed:
            if not statement.defines or not statement.name:
                continue
            first = found.get(statement.name)
            if first is not None and statement.linkage not in ("weak", "common"):
                if first[1].linkage not in ("weak", "common"):
                    raise LinkError(f"{statement.name} is defined both in {first[0]} and in {module}")
                first = None
            if first is None:
                found[statement.name] = module, statement
    return found


def _check_defined(modules: Sequence[Module], definitions: Mapping[str, object]) -> None:
    missing = {
        s.name: module
        for module, listed in modules
        for s in listed
        if s.linkage == "extern" and s.name not in definitions and s.name not in SYSTEM and ".shared" not in s.text
    }
    if missing:
        raise undefined_symbols(sorted(missing), [name for name, _ in modules])


def undefined_symbols(missing: Sequence[str], inputs: Sequence[str]) -> LinkError:
    """The error for what no input defines."""
    named = ", ".join(f"`{name}`" for name in missing)
    return LinkError(
        f"{named} {'is' if len(missing) == 1 else 'are'} defined in none of {', '.join(inputs)}; link what defines it: "
        f"@extern(link=...), @kernel(link=...)"
    )


def _written(modules: Sequence[Module], definitions: Mapping[str, tuple[str, Statement]]) -> str:
    """Directives, variables, what is declared, functions: in an order in which nothing is used before it is named."""
    every = [s for _, listed in modules for s in listed]
    versions = [(int(m[1]), int(m[2])) for s in every if (m := _VERSION.match(s.text))]
    targets = [(int(m[2]), m[1]) for s in every if (m := _TARGET.match(s.text))]
    # A suffix (sm_90a) that any of them has is kept.
    target = max(targets, key=lambda t: (t[0], len(t[1])), default=(0, "sm_75"))[1]
    major, minor = max(versions, default=(7, 0))
    lines = [f".version {major}.{minor}", f".target {target}", ".address_size 64"]
    kept = {id(statement) for _, statement in definitions.values()}
    variables, prototypes, functions, last = [], {}, [], []
    for s in every:
        if s.name and s.kind == "variable":
            if id(s) in kept or (s.linkage == "extern" and s.name not in definitions):
                variables.append(s.text)
        elif s.name:
            if id(s) in kept:
                functions.append(s.text)
            elif not s.defines:
                prototypes[s.name] = _prototype(s, definitions)
        elif s.text.startswith(".file"):
            lines.append(s.text)
        elif not re.match(r"\.(version|target|address_size|loc)\b", s.text):
            last.append(s.text)
    return "\n".join([*lines, *dict.fromkeys(variables), *prototypes.values(), *functions, *last, ""])


def _prototype(declared: Statement, definitions: Mapping[str, tuple[str, Statement]]) -> str:
    """A declaration with the linkage of what it is defined as."""
    if declared.name not in definitions:
        return declared.text
    linkage = definitions[declared.name][1].linkage
    return re.sub(r"^\s*\.(extern|visible|weak)\b", f".{linkage}" if linkage else "", declared.text).strip()
