"""Linking kernels with what other compilers made: `link`, and what a device loads of a kernel that calls it."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from kdsl.backend import Backend
from kdsl.compilation import Compilation
from kdsl.current import current_backend
from kdsl.lang.extern import Source
from kdsl.runtime.cuda_errors import LinkError
from kdsl.runtime.images import Kind, architectures
from kdsl.runtime.linking import Input, Linked, available, check_once, has_lto, link_text, read
from kdsl.runtime.linking import link as link_inputs
from kdsl.target import Target


class Linker(enum.Enum):
    """What linked an image."""

    TEXT = "text"
    """Of kdsl's own, for PTX."""
    DRIVER = "driver"
    NVJITLINK = "nvJitLink"


@runtime_checkable
class LinkingBackend(Protocol):
    """A device whose driver links, if not LTO-IR."""

    def link(self, inputs: Sequence[Input]) -> bytes:
        """Machine code for this device; LinkError with the driver's log."""
        ...


def link(
    inputs: Sequence[Compilation | Linked | Source],
    *,
    target: Target | str | None = None,
    options: Sequence[str] = (),
) -> Linked:
    """Link images into one, for ``target`` (the current device's if None); `load_module` takes it. No GPU is needed.

    ``inputs`` are compilations, paths of PTX, cubins, fatbins, LTO-IR, objects or libraries, or such images themselves.
    ``options`` are nvJitLink's, such as ``-lto`` or ``-maxrregcount=64``. Without nvJitLink PTX alone is linked to PTX.
    LinkError with the linker's log, LinkerMissing where nvJitLink is needed.
    """
    if isinstance(inputs, Compilation | Linked | str | bytes) or not isinstance(inputs, Sequence):
        raise TypeError(f"link() takes a list of what to link, got {inputs!r}")
    if isinstance(options, str):
        raise TypeError(f"link() takes a list of options, such as ['-lto'], got {options!r}")
    given = [part for source in inputs for part in _inputs(source)]
    if not given:
        raise TypeError("link() takes at least one thing to link")
    asked = target if target is not None else current_backend().target
    parsed = asked if isinstance(asked, Target) else Target.parse(asked)
    if target is None and current_backend().name == "emulator" and all(i.kind is Kind.PTX for i in given):
        return link_text(given, parsed.name)
    if available() is None and not options and all(i.kind is Kind.PTX for i in given):
        return link_text(given, parsed.name)
    return link_inputs(given, _for_all(parsed.name, given), options)


def _inputs(source: Any) -> Sequence[Input]:
    if isinstance(source, Compilation):
        return source.link_inputs()
    return [read(source.image) if isinstance(source, Linked) else read(source)]


def linked_for(backend: Backend, architecture: str, inputs: Sequence[Input]) -> tuple[Linker, bytes]:
    """What a device loads of these, and what linked it; LinkError says what is missing, or what only a GPU takes."""
    if backend.name == "emulator":
        other = next((i for i in inputs if i.kind is not Kind.PTX), None)
        if other is not None:
            raise LinkError(
                f"{other.name} is {other.kind.value}, and the emulator links PTX text only; use a GPU, or PTX"
            )
        return Linker.TEXT, link_text(inputs, architecture).image
    if isinstance(backend, LinkingBackend) and not any(map(has_lto, inputs)):
        check_once(inputs)
        try:
            return Linker.DRIVER, backend.link(inputs)
        except LinkError:
            # A newer nvJitLink may know what the driver does not; or say more of what is wrong.
            if available() is None:
                raise
    return Linker.NVJITLINK, link_inputs(inputs, _for_all(architecture, inputs)).image


def _for_all(architecture: str, inputs: Sequence[Input]) -> str:
    """The architecture with the suffix that PTX among the inputs has: code for sm_90a runs where that for sm_90 does,
    and the device is one that has it.
    """
    asked = {f"PTX for {architecture}{suffix}": f"{architecture}{suffix}" for suffix in "af"}
    found = {name for i in inputs if i.kind is Kind.PTX for name in architectures(i.data)}
    return next((asked[name] for name in asked if name in found), architecture)
