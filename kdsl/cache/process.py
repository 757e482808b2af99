"""The cache of this process: compiling through it, and loading what it has."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kdsl.backend import Backend, DeviceError
from kdsl.cache.compilations import CompilationCache
from kdsl.cache.machine_code import Assembler, MachineBackend, assemble
from kdsl.cache.settings import SettingError, Settings, settings
from kdsl.cache.store import Store
from kdsl.cache.versions import compiler_version
from kdsl.compilation import Compilation, run_pipeline
from kdsl.ir.request import KernelRequest
from kdsl.target import Target
from kdsl.timeline import Timeline

if TYPE_CHECKING:
    from kdsl.runtime.linking import Input


class ProcessCache:
    """Which cache the environment names: it is looked at at each compilation, which takes far longer."""

    def __init__(self) -> None:
        self._known: tuple[Settings, CompilationCache] | None = None
        self._compiler: Any = None
        self._complained: set[str] = set()
        self._is_off = False
        self.assembler = Assembler(assemble)

    def turn_off(self) -> None:
        """Compile everything anew in this process, for one who wants to see each stage."""
        self._is_off = True

    def current(self) -> CompilationCache | None:
        """The cache; None if KDSL_CACHE=0 or `turn_off` turns it off."""
        if self._is_off:
            return None
        said = self._settings(os.environ)
        if not said.enabled:
            return None
        known = self._known
        if known is None or known[0] != said:
            self._compiler = self._compiler or compiler_version()
            known = self._known = (said, CompilationCache(Store(said.folder, said.limit), self._compiler))
        return known[1]

    def _settings(self, environment: Mapping[str, str]) -> Settings:
        """What the environment says; what is wrong in it is told once on stderr, and passed over."""
        try:
            return settings(environment)
        except SettingError as error:
            if error.variable not in self._complained:
                print(f"kdsl: {error}; it is passed over", file=sys.stderr)
            self._complained.add(error.variable)
            return self._settings({name: text for name, text in environment.items() if name != error.variable})


CACHE = ProcessCache()


def compile_cached(requests: Sequence[KernelRequest], target: Target, timeline: Timeline | None = None) -> Compilation:
    """Compile kernels, or find that they have been compiled before. CompileError as from the pipeline."""
    cache = CACHE.current()
    return run_pipeline(requests, target, timeline) if cache is None else cache.compile(requests, target, timeline)


def will_compile() -> bool:
    """Whether the next kernel is certain to be compiled: nothing at all has been kept so far."""
    cache = CACHE.current()
    return cache is None or cache.is_empty()


def load_cached(backend: Backend, compilation: Compilation) -> Any:
    """Load a compilation onto a device: its machine code where the cache has it, else the PTX, of which the cache then
    gets machine code for the next time.
    """
    if compilation.link is not None:
        return backend.load(linked_cached(backend, compilation.target.name, compilation.link_inputs()))
    key, cache = compilation.key, CACHE.current()
    if key is None or cache is None or not isinstance(backend, MachineBackend):
        return backend.load(compilation.ptx.encode())
    machine = backend.machine
    code = cache.machine_code(key, machine.name)
    if code is None:
        CACHE.assembler.begin(cache, key, compilation.ptx, machine)
        return backend.load(compilation.ptx.encode())
    try:
        return backend.load(code)
    except DeviceError:
        # Not for this GPU after all, or the context is dead: loading the PTX says so then.
        cache.drop_machine_code(key, machine.name)
        return backend.load(compilation.ptx.encode())


def linked_cached(backend: Backend, architecture: str, inputs: Sequence[Input]) -> bytes:
    """Link what a device is to load, or find that it has been linked before. LinkError as from the linker."""
    # Start-up cost: few kernels are linked.
    from kdsl.cache.linked import linked
    from kdsl.linking import linked_for

    cache = CACHE.current()
    if cache is None:
        return linked_for(backend, architecture, inputs)[1]
    return linked(cache.store, cache.compiler, backend, architecture, inputs, os.environ)
