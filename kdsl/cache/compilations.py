"""Compilations on disk: found without parsing, kept when they are made, one process compiling for all that wait.

A compilation is found in two steps. Its question (`question`) names the recipes (`dependencies`) of all compilations
that began alike; what following one gives names the entry. An entry is JSON with what a launch must know, the PTX, and
on a GPU the machine code that the driver made of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from kdsl.cache.dependencies import Followed, Step, follow, recipe
from kdsl.cache.digests import canonical, digest, digest_of
from kdsl.cache.question import Question, question
from kdsl.cache.store import HITS, MISSES, Store
from kdsl.cache.text import Unkeyable
from kdsl.captured import Captured
from kdsl.compilation import Compilation, Recalled, recall, run_pipeline
from kdsl.compiled import CompiledKernel
from kdsl.ir.request import KernelRequest
from kdsl.lang.extern import ExternFunction, Source
from kdsl.lang.variables import Variable
from kdsl.target import Target
from kdsl.timeline import Timeline

RECIPES, ENTRY, PTX, UNCACHED = "recipes.json", "entry.json", "ptx", "uncached.json"
MALFORMED = (LookupError, TypeError, ValueError, RecursionError)
"""What is raised for a file with the right seal and the wrong content, which some other program has written."""
MOST_RECIPES = 16
"""Of one question. There is one for each set of names that a kernel read: its branches on constants make more."""


class CompilationCache:
    """The compilations in a store. ``compiler`` is what tells this compiler from others."""

    def __init__(self, store: Store, compiler: Any) -> None:
        self.store = store
        self.compiler = compiler

    def is_empty(self) -> bool:
        """Whether nothing has been kept."""
        return next(self.store.files(), None) is None

    def compile(
        self, requests: Sequence[KernelRequest], target: Target, timeline: Timeline | None = None
    ) -> Compilation:
        """The compilation of these kernels: found, or made and kept. CompileError as from the pipeline."""
        if not self.store.usable():
            return run_pipeline(requests, target, timeline)
        try:
            asked = question(requests, target, self.compiler)
        except Unkeyable as why:
            return self._uncached(requests, why, run_pipeline(requests, target, timeline))
        found = self._find(asked, requests)
        if found is not None:
            return recall(requests, target, found, timeline)
        with self.store.lock(asked.key):
            # Another process may have made it while this one waited.
            found = self._find(asked, requests)
            if found is not None:
                return recall(requests, target, found, timeline)
            self.store.count(MISSES)
            made = run_pipeline(requests, target, timeline)
            try:
                self._keep(asked, requests, made)
            except Unkeyable as why:
                self._uncached(requests, why, made)
        return made

    def _find(self, asked: Question, requests: Sequence[KernelRequest]) -> Recalled | None:
        for steps in self._recipes(asked):
            try:
                followed = follow(asked.roots, steps, asked.fingerprints.branch())
            except (Unkeyable, RecursionError):
                continue
            found = followed and self._entry(_key(asked, followed), followed, requests)
            if found:
                self.store.use(f"{asked.key}.{RECIPES}")
                self.store.count(HITS)
                return found
        return None

    def _recipes(self, asked: Question) -> list[list[Step]]:
        name = f"{asked.key}.{RECIPES}"
        data = self.store.read(name)
        if data is None:
            return []
        try:
            return [[_step(*step) for step in steps] for steps in json.loads(data)]
        except MALFORMED:
            self.store.remove(name)
            return []

    def _entry(self, key: str, followed: Followed, requests: Sequence[KernelRequest]) -> Recalled | None:
        entry, ptx = self.store.read(f"{key}.{ENTRY}"), self.store.read(f"{key}.{PTX}")
        if entry is None or ptx is None:
            return None
        try:
            said = json.loads(entry)
            variables = tuple(_variable(name, followed.values[number]) for name, number in said["variables"])
            kernels = tuple(_kernel(*fields) for fields in said["kernels"])
            link = _linked(requests, [followed.values[number] for number in said["externs"]])
            recalled = Recalled(key, ptx.decode(), kernels, followed.captured, variables, link)
        except MALFORMED:
            self.store.remove(f"{key}.{ENTRY}")
            return None
        self.store.use(f"{key}.{ENTRY}")
        return recalled

    def _keep(self, asked: Question, requests: Sequence[KernelRequest], made: Compilation) -> None:
        """Keep what was just made. Unkeyable if it depends on what another process cannot look up."""
        again = question(requests, made.target, self.compiler)
        steps = recipe(asked.roots, (*made.captured, *made.fixed), uses_libdevice="__nv_" in made.llvm)
        try:
            followed = follow(asked.roots, steps, asked.fingerprints.branch())
        except RecursionError:
            raise Unkeyable("something that holds itself, or is nested very deeply") from None
        if again.key != asked.key or followed is None or not all(map(_holds, made.captured)):
            return  # a file, or what the kernel captured, has changed while it was compiled
        numbers = {id(value): number for number, value in enumerate(followed.values)}
        functions = [function for extern in made.externs for function in extern.functions]
        if any(id(value) not in numbers for value in (*functions, *(variable for _, variable in made.variables))):
            raise Unkeyable("an array or function of the module that the kernel does not name itself")
        key = _key(asked, followed)
        entry = {
            "kernels": [astuple(kernel) for kernel in made.compiled],
            "variables": [(name, numbers[id(variable)]) for name, variable in made.variables],
            "externs": [numbers[id(function)] for function in functions],
            "target": made.target.name,
        }
        store = self.store
        if not (store.write(f"{key}.{PTX}", made.ptx.encode()) and store.write(f"{key}.{ENTRY}", canonical(entry))):
            return
        known = self._recipes(asked)
        if [*steps] not in known:
            store.write(f"{asked.key}.{RECIPES}", canonical([steps, *known[: MOST_RECIPES - 1]]))
        made.key = key

    def _uncached(self, requests: Sequence[KernelRequest], why: Unkeyable, made: Compilation) -> Compilation:
        """Note why a compilation is not kept, for those who ask."""
        names = [request.function.__name__ for request in requests]
        said = canonical({"kernels": names, "why": str(why)})
        name = f"{digest(said)}.{UNCACHED}"
        if self.store.read(name) is None:
            self.store.write(name, said)
        return made

    def machine_code(self, key: str, machine: str) -> bytes | None:
        """What a driver made of an entry's PTX; ``machine`` tells GPU and driver from others."""
        return self.store.read(f"{key}.{machine}.cubin")

    def keep_machine_code(self, key: str, machine: str, code: bytes) -> None:
        """Keep it beside the entry."""
        self.store.write(f"{key}.{machine}.cubin", code)

    def drop_machine_code(self, key: str, machine: str) -> None:
        """Forget it: the driver does not take it."""
        self.store.remove(f"{key}.{machine}.cubin")


def _key(asked: Question, followed: Followed) -> str:
    return digest_of([asked.key, followed.digest])


def _holds(captured: Captured) -> bool:
    return captured.namespace.get(captured.name) is captured.value


def _step(how: Any, owner: Any, name: Any) -> Step:
    if not (type(how) is str and type(owner) is int and owner >= 0 and type(name) is str):
        raise ValueError("no step")
    return how, owner, name


def _linked(requests: Sequence[KernelRequest], externs: Sequence[Any]) -> tuple[Source, ...] | None:
    """What kernels that call these functions of other compilers are linked with."""
    if not all(isinstance(extern, ExternFunction) for extern in externs):
        raise ValueError("no function of another compiler")
    if not externs:
        return None
    of_functions = (source for extern in externs for source in extern.link)
    return (*(source for request in requests for source in request.options.link), *of_functions)


def _variable(name: Any, value: Any) -> tuple[str, Variable]:
    if not (type(name) is str and isinstance(value, Variable)):
        raise ValueError("no variable")
    return name, value


def _kernel(name: Any, written: Any, threads: Any, cluster: Any, cooperative: Any, multiple: Any) -> CompiledKernel:
    numbers = [*(written or ()), *(cluster or ()), multiple, *(() if threads is None else (threads,))]
    if not (type(name) is str and type(cooperative) is bool and all(type(number) is int for number in numbers)):
        raise ValueError("no kernel")
    x, y, z = cluster or (0, 0, 0)
    known = None if written is None else tuple(written)
    return CompiledKernel(name, known, threads, (x, y, z) if cluster else None, cooperative, multiple)
