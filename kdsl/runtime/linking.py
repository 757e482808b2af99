"""Linking PTX, cubins, LTO-IR, objects and libraries into one cubin, through nvJitLink. It needs no GPU.

nvJitLink is in the CUDA toolkit, and in the wheel nvidia-nvjitlink (``pip install 'kdsl[link]'``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kdsl.records import dataclass
from kdsl.runtime import elf, images
from kdsl.runtime.cuda_errors import InvalidImageError, LinkerMissing, LinkError
from kdsl.runtime.images import Kind
from kdsl.runtime.ptx_linking import merge, undefined_symbols
from kdsl.runtime.ptx_statements import statements

INSTALL = "pip install 'kdsl[link]' (nvidia-nvjitlink), or install a CUDA toolkit"
_UNDEFINED = re.compile(r"Undefined reference to '([^']+)'")
_FATBIN_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
"""Of an object: of whole programs, and of relocatable device code."""
_GLOBAL_BINDING = 1


@dataclass(frozen=True, slots=True)
class Input:
    """One thing to link, with the name that errors call it."""

    name: str
    kind: Kind
    data: bytes


@dataclass(frozen=True, slots=True)
class Linked:
    """A linked image. ``architecture`` is what it is for; ``log`` is what the linker had to say."""

    image: bytes
    architecture: str
    log: str = ""

    def __repr__(self) -> str:
        return f"<linked image of {len(self.image)} bytes for {self.architecture}>"


def source_bytes(source: Any) -> tuple[str, bytes]:
    """What a path or bytes hold, and its name in messages; text with line ends is PTX itself. TypeError for anything
    else.
    """
    if isinstance(source, str) and "\n" in source:
        return "<PTX text>", source.encode()
    if isinstance(source, bytes):
        return "<bytes>", source
    if not isinstance(source, str | Path) or source == "":
        fix = "; pass its .ptx" if hasattr(source, "ptx") else ""
        if hasattr(source, "compile"):
            fix = "; pass kdsl.compile(k).ptx"
        raise TypeError(f"an image is a path, or bytes, or PTX text, got {source!r}{fix}")
    return str(source), Path(source).read_bytes()


def read(source: Any) -> Input:
    """What is to be linked, as `source_bytes`. InvalidImageError for what is nothing to link."""
    name, data = source_bytes(source)
    try:
        kind = images.kind_of(data)
        if kind is Kind.UNKNOWN or not data:
            raise InvalidImageError("it is no PTX, cubin, fatbin, LTO-IR, object or library")
        if kind is Kind.CUBIN:
            elf.sections(data)
    except InvalidImageError as error:
        raise InvalidImageError(f"{name}: {error}") from None
    return Input(name, kind, data)


def link_text(inputs: Sequence[Input], architecture: str) -> Linked:
    """PTX texts as one, without a linker; LinkError if there is something else among them."""
    for given in inputs:
        if given.kind is not Kind.PTX:
            raise LinkError(f"{given.name} is {given.kind.value}, and only PTX text can be linked here")
    _check_different(inputs)
    texts = [(i.name, i.data.rstrip(b"\0").decode(errors="replace")) for i in inputs]
    return Linked(merge(texts).encode(), architecture)


def available() -> str | None:
    """The version of nvJitLink; None where there is none."""
    api = _bindings()
    return None if api is None else ".".join(map(str, api.version()))


def link(inputs: Sequence[Input], architecture: str, options: Sequence[str] = ()) -> Linked:
    """A cubin for ``architecture``, such as ``sm_90``; LinkError with the linker's log, LinkerMissing without one."""
    api = _bindings()
    if api is None:
        raise LinkerMissing(f"linking needs nvJitLink, which is not installed: {INSTALL}")
    check_once(inputs)
    asked = [f"-arch={architecture}", *options]
    if "-lto" not in asked and any(map(has_lto, inputs)):
        asked.append("-lto")
    try:
        handle = api.create(len(asked), asked)
    except api.nvJitLinkError as error:
        raise LinkError(f"nvJitLink does not take {' '.join(asked)}: {error}") from None
    try:
        for given in inputs:
            api.add_data(handle, _type(api, given.kind), given.data, len(given.data), given.name)
        api.complete(handle)
        image = bytearray(api.get_linked_cubin_size(handle))
        api.get_linked_cubin(handle, image)
        return Linked(bytes(image), architecture, _log(api.get_info_log_size, api.get_info_log, handle))
    except api.nvJitLinkError as error:
        raise failed(inputs, str(error), _log(api.get_error_log_size, api.get_error_log, handle)) from None
    finally:
        api.destroy(handle)


def _bindings() -> Any:
    """The module `cuda.bindings.nvjitlink`; None where it or the library is missing."""
    try:
        from cuda.bindings import nvjitlink  # start-up cost, and absent on macOS

        nvjitlink.version()
    # cuda-python's words for a machine without the library: its DynamicLibNotFoundError is a RuntimeError.
    except (ImportError, RuntimeError):
        return None
    return nvjitlink


def _type(api: Any, kind: Kind) -> Any:
    types = api.InputType
    return {
        Kind.PTX: types.PTX,
        Kind.CUBIN: types.CUBIN,
        Kind.FATBIN: types.FATBIN,
        Kind.LTO_IR: types.LTOIR,
        Kind.OBJECT: types.OBJECT,
        Kind.ARCHIVE: types.LIBRARY,
    }[kind]


def has_lto(given: Input) -> bool:
    """Whether there is LTO-IR in it, which nvJitLink takes with ``-lto`` only. Code of a host may have the four bytes,
    too; but not in its section of device code.
    """
    if given.kind is Kind.LTO_IR:
        return True
    return any(part.kind == "LTO-IR" for fatbin in _fatbins(given) for part in images.parts(fatbin))


def _fatbins(given: Input) -> Iterator[bytes]:
    match given.kind:
        case Kind.FATBIN:
            yield given.data
        case Kind.OBJECT:
            yield from (s.data for s in elf.sections(given.data) if s.name in _FATBIN_SECTIONS)
        case Kind.ARCHIVE:
            for member in images.members(given.data):
                if images.kind_of(member) is Kind.OBJECT:
                    yield from (s.data for s in elf.sections(member) if s.name in _FATBIN_SECTIONS)


def check_once(inputs: Sequence[Input]) -> None:
    """LinkError for what two inputs define: nvJitLink takes one of them, and only prints that there are two."""
    found: dict[str, str] = {}
    _check_different(inputs)
    for given in inputs:
        for name in set(_defined(given)):
            if name in found:
                raise LinkError(f"{name} is defined both in {found[name]} and in {given.name}")
            found[name] = given.name


def _check_different(inputs: Sequence[Input]) -> None:
    seen: dict[bytes, str] = {}
    for given in inputs:
        if given.data in seen:
            first = "" if seen[given.data] == given.name else f", first as {seen[given.data]}"
            raise LinkError(
                f"{given.name} is given twice{first}; leave one out (a compilation brings along what its link= names)"
            )
        seen[given.data] = given.name


def _defined(given: Input) -> Iterator[str]:
    """The kernels and functions that an input defines for others to see, where it tells: nvcc compresses its objects.
    Not those of a library, of which the linker takes what it needs.
    """
    if given.kind is Kind.PTX:
        for s in statements(given.data.decode(errors="replace")):
            if s.defines and s.linkage == "visible" and s.kind in ("func", "entry"):
                yield s.name
    elif given.kind is Kind.CUBIN:
        yield from _functions(given.data)
    elif given.kind is not Kind.ARCHIVE:
        for fatbin in _fatbins(given):
            yield from _of_first(images.parts(fatbin))


def _of_first(parts: Iterable[images.Part]) -> Iterator[str]:
    """Those of one architecture: the others have the same."""
    for part in parts:
        if part.kind == "cubin" and part.data:
            yield from _functions(part.data)
            return


def _functions(cubin: bytes) -> Iterator[str]:
    for symbol in elf.symbols(cubin):
        if symbol.kind == elf.FUNCTION and symbol.section != elf.UNDEFINED and symbol.binding == _GLOBAL_BINDING:
            yield symbol.name


def _log(size: Any, get: Any, handle: Any) -> str:
    log = bytearray(size(handle))
    if log:
        get(handle, log)
    return bytes(log).split(b"\0")[0].decode(errors="replace").strip()


def failed(inputs: Sequence[Input], error: str, log: str) -> LinkError:
    """Why inputs cannot be linked: the symbols that none of them defines, if the log says that."""
    names = [given.name for given in inputs]
    missing = sorted(set(_UNDEFINED.findall(log)))
    first = str(undefined_symbols(missing, names)) if missing else f"linking {', '.join(names)} failed: {error}"
    return LinkError(f"{first}\n{log}" if log else first)
