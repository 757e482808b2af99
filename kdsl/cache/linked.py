"""What a linker made of kernels and other compilers' code, found by the bytes of all that was linked, not their names.

A key has one linker in it: the driver's own for most, nvJitLink where that does not link, none on the emulator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kdsl.backend import Backend
from kdsl.cache.digests import digest, digest_of
from kdsl.cache.machine_code import MachineBackend
from kdsl.cache.store import Store
from kdsl.cache.versions import linker_version
from kdsl.linking import Linker, linked_for
from kdsl.runtime.linking import Input

FORMAT = 1
LINKED = "linked"


def linked(
    store: Store,
    compiler: Any,
    backend: Backend,
    architecture: str,
    inputs: Sequence[Input],
    environment: Mapping[str, str],
) -> bytes:
    """What a device loads of these: found, or linked and kept. LinkError as from the linker. ``compiler`` is what tells
    this kdsl from others; ``environment`` says where nvJitLink is.
    """
    if backend.name != "emulator" and not isinstance(backend, MachineBackend):
        return linked_for(backend, architecture, inputs)[1]
    asked = [FORMAT, compiler, architecture, [[given.kind.name, digest(given.data)] for given in inputs]]
    found = _find(store, asked, backend, environment)
    if found is not None:
        return found
    with store.lock(digest_of(asked)):
        # Another process may have linked it while this one waited.
        found = _find(store, asked, backend, environment)
        if found is not None:
            return found
        linker, image = linked_for(backend, architecture, inputs)
        store.write(_name(asked, backend, linker, environment), image)
    return image


def _find(store: Store, asked: Any, backend: Backend, environment: Mapping[str, str]) -> bytes | None:
    linkers = (Linker.TEXT,) if backend.name == "emulator" else (Linker.DRIVER, Linker.NVJITLINK)
    for linker in linkers:
        name = _name(asked, backend, linker, environment)
        found = store.read(name)
        if found is not None:
            store.use(name)
            return found
    return None


def _name(asked: Any, backend: Backend, linker: Linker, environment: Mapping[str, str]) -> str:
    version = [linker.value]
    if isinstance(backend, MachineBackend):
        # Also for nvJitLink: another driver may link what this one does not.
        version.append(backend.machine.name)
    nvjitlink = linker_version(environment) if linker is Linker.NVJITLINK else None
    return f"{digest_of([asked, version, nvjitlink])}.{LINKED}"
