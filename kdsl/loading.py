"""Modules that any compiler made, PTX, cubins and fatbins: loading, typed kernels, variables by name, unloading."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from kdsl.backend import Backend, DeviceError, device_name
from kdsl.cache.process import linked_cached
from kdsl.contracts.contract import Contract
from kdsl.current import current_backend
from kdsl.lang.extern import Source, link_sources
from kdsl.lang.types import Type
from kdsl.loaded_signatures import Signature, check_places, contract_of, parameters_of
from kdsl.occupancy import KernelAttributes, Occupancy, SuggestedBlock
from kdsl.parameters import by_name
from kdsl.records import dataclass
from kdsl.resources import SharedBytes, attributes_of, occupancy_of, report_on, suggested_block
from kdsl.runtime.call_names import NOT_GIVEN, PREPARED
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.cpp_names import find
from kdsl.runtime.cuda_errors import InvalidHandleError, InvalidImageError, InvalidPtxError
from kdsl.runtime.derived import DerivedByStream, DerivedLaunches
from kdsl.runtime.device import Device, device_of
from kdsl.runtime.entries import Entry, cooperative, entries
from kdsl.runtime.errors import LaunchConfigValueError
from kdsl.runtime.images import Kind, check_loads, kind_of
from kdsl.runtime.launch import Configurations, Launcher, not_configured
from kdsl.runtime.linking import Linked, read, source_bytes
from kdsl.runtime.prepared import PreparedLaunch, prepare, split_configuration
from kdsl.runtime.variables import ModuleVariables

Image = str | Path | bytes


@dataclass(frozen=True)
class Loaded:
    """What holds while a module is loaded: a launch's condition."""

    namespace: dict[str, Any]
    name: str
    value: Any


class LoadedModule:
    """A module on a device; its memory there is given back by `unload`, or when the process ends.

    ``m.kernel(name, signature)`` is a kernel to launch; ``from_module`` of a `cuda_module` gives all that the class
    names.
    """

    def __init__(self, backend: Backend, handle: Any, name: str, image: bytes) -> None:
        self.backend = backend
        self.handle = handle
        self.name = name
        self.cooperative = cooperative(image)
        """The kernels that are known to wait for the whole grid, so that all their blocks must run together."""
        self._entries = entries(image)
        self._image = image
        self._loaded = {"handle": handle}
        self._in_use: weakref.WeakSet[Lease | Launcher] = weakref.WeakSet()
        """Of arrays of its variables, and of prepared launches, what keeps it from being unloaded."""

    @property
    def device(self) -> Device:
        """Where it was loaded, and where its kernels run."""
        return device_of(self.backend)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of its kernels in PTX, sorted."""
        self._check_loaded()
        return self.backend.kernels(self.handle)

    @property
    def globals(self) -> ModuleVariables:
        """Its variables in global and constant memory by name, each as a DeviceArray of bytes:
        ``m.globals["table"].view(np.float32)``. They live as long as the module; KeyError lists the names.
        """
        self._check_loaded()
        lease = Lease(self.handle)
        self._in_use.add(lease)
        return ModuleVariables(self.backend, self.handle, lease)

    def kernel(self, name: str, signature: Signature | None = None) -> LoadedKernel:
        """A kernel with typed parameters. ``name`` is its name in PTX, or in C++ where one kernel is called so:
        ``vadd`` for ``_Z4vaddPfS_S_i``, ``fill<float>``.

        The signature is a function with annotations, ``{"x": Ptr[f32], "n": i32}``, or ``[Ptr[f32], i32]``. Every array
        that a kernel is passed counts as written. KeyError lists the kernels there are; TypeError for a signature whose
        parameters are not as many, as large, and where the module has them.
        """
        entry = find(self.kernels, name)
        parameters = parameters_of(name, signature)
        contract = contract_of(signature)
        there = self.backend.parameters(self.backend.function(self.handle, entry))
        check_places(name, parameters, there, is_unknown=signature is None)
        launcher = self._launcher(name, entry, parameters, contract)

        def still() -> Launcher:
            self._check_loaded()
            return launcher

        def kept() -> Launcher:
            self._check_loaded()
            own = self._launcher(name, entry, parameters, contract)
            self._in_use.add(own)
            return own

        return LoadedKernel(name, still, self.entry(entry), kept)

    if not TYPE_CHECKING:
        # A type checker that saw these would take any name.
        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{self._instead(name)}")

        def __getitem__(self, name: Any) -> NoReturn:
            raise TypeError(f"{self!r} has no items{self._instead(name)}")

    def _instead(self, name: Any) -> str:
        """How what is called so is reached, if it is a kernel or a variable."""
        if not isinstance(name, str) or name.startswith("__") or not self._loaded:
            return ""
        if name in self.backend.variables(self.handle):
            return f": write m.globals[{name!r}]"
        try:
            find(self.kernels, name)
        except KeyError as error:
            return f": {error.args[0]}"
        return f": a kernel is had with its types, m.kernel({name!r}, [Ptr[f32], i32])"

    def _launcher(self, name: str, entry: str, parameters: Sequence[tuple[str, Type]], contract: Contract) -> Launcher:
        said = self.entry(entry)
        return Launcher(
            name,
            parameters,
            self.backend,
            self.backend.function(self.handle, entry),
            conditions=[Loaded(self._loaded, "handle", self.handle)],
            most_threads=said.most_threads,
            cluster=said.cluster,
            cooperative=entry in self.cooperative,
            report=partial(report_on, self._image, self.backend.target, entry)
            if kind_of(self._image) is Kind.PTX
            else None,
            contract=contract,
        )

    def entry(self, name: str) -> Entry:
        """What the image says of a kernel; nothing where it is compressed."""
        return self._entries.get(name, Entry(name, ()))

    def unload(self) -> None:
        """Give back its memory on the device, after all work there. Its kernels cannot be launched any more.

        InvalidHandleError while an array of one of its variables, or a prepared launch, is in use.
        """
        if not self._loaded:
            return
        if self._in_use:
            raise InvalidHandleError(
                f"{self!r} cannot be unloaded while arrays of its variables or prepared launches are in use; drop them "
                f"first (del a)"
            )
        self._loaded.clear()
        self.backend.unload(self.handle)

    def __enter__(self) -> LoadedModule:
        return self

    def __exit__(self, *_: object) -> None:
        self.unload()

    def _check_loaded(self) -> None:
        if not self._loaded:
            raise InvalidHandleError(f"{self!r} has been unloaded")

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is of this process; pickle the path or the bytes, and load_module() them there")

    def __repr__(self) -> str:
        return f"<module {self.name} on {device_name(self.backend)}>"


class Lease:
    """Holds a module while an array of one of its variables is in use."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle


def load_module(image: Image | Linked, *, link: Source | Sequence[Source] = ()) -> LoadedModule:
    """Load PTX, a cubin or a fatbin onto the current device: a path, the bytes themselves, PTX as a str with line
    ends, or what `kdsl.link` gives. The emulator takes PTX only. With ``link`` it is linked with what that names, as by
    `kdsl.link`.

    OSError if the file cannot be read, ImageError if it is no image or the device refuses it.
    """
    backend = current_backend()
    sources = link_sources("load_module", link)
    if isinstance(image, Linked):
        name, data = "<linked>", image.image
    else:
        name, data = source_bytes(image)
    if sources:
        data = linked_cached(backend, backend.target, [read(part) for part in (data, *sources)])
    return _load(backend, data, name)


def _load(backend: Backend, data: bytes, name: str) -> LoadedModule:
    try:
        check_loads(data)
        handle = backend.load(data)
        backend.kernels(handle)  # of a GPU's driver only this says whether it can use the image
    except DeviceError as error:
        told = f"{name}: {error}"
        if backend.name == "emulator" and type(error) is DeviceError:  # its one class for all that it refuses
            raise (InvalidPtxError if kind_of(data) is Kind.PTX else InvalidImageError)(told) from None
        error.args = (told,)
        raise
    return LoadedModule(backend, handle, name, data)


class LoadedKernel:
    """A kernel of a loaded module; ``k[grid, block](...)`` launches it, always on the module's device."""

    def __init__(
        self,
        name: str,
        launcher: Callable[[], Launcher],
        entry: Entry | None = None,
        kept: Callable[[], Launcher] | None = None,
    ) -> None:
        self.name = name
        self._launcher = launcher
        self._entry = entry
        self._kept = kept or launcher
        """Gives a launcher that keeps the module from being unloaded."""
        self._configurations = Configurations(self._bound)
        self._derived = DerivedByStream(self.name, self._derived_in)

    def _bound(self, config: LaunchConfig) -> Callable[..., None]:
        """A launch, which looks at what the module's kernels captured, and whether it is loaded."""

        def again(*arguments: Any, **keywords: Any) -> None:
            current = self._launcher()
            if current is not launcher:
                self._configurations.clear()
            current.bind(config)(*arguments, **keywords)

        launcher = self._launcher()
        if self._entry is not None:
            config = _as_compiled(self._entry, self.name, config)
        return launcher.bind(config, otherwise=again)

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        self._launcher()
        return self._configurations.configured(configuration)

    @cached_property
    def launch(self) -> Callable[..., None]:
        """A launch without brackets, for a kernel whose contract says grid and block: as `Kernel.launch`."""
        return self._derived.of(None).function

    def launch_on(self, stream: Any, /, *arguments: Any, **keywords: Any) -> None:
        """As `launch`, in a stream."""
        self._derived.of(stream).function(*arguments, **keywords)

    if not TYPE_CHECKING:
        # As of `Kernel`.
        launch_on.__defaults__ = (NOT_GIVEN,)

    def _derived_in(self, stream: Any) -> DerivedLaunches:
        """What derives configurations in a stream."""
        launcher = self._launcher()
        types = {p.name: p.type for p in launcher.parameters}
        return DerivedLaunches(self.name, launcher.checks.contract, launcher.names, types, {}, self.__getitem__, stream)

    def prepare(self, /, *arguments: Any, **keywords: Any) -> PreparedLaunch:
        """A launch to be made many times, of grid and block (or a LaunchConfig) and the kernel's arguments."""
        config, rest = split_configuration(f"{self.name}.prepare", arguments)
        if self._entry is not None:
            config = _as_compiled(self._entry, self.name, config)
        launcher = self._kept()
        given = by_name(self.name, tuple((name, None) for name in launcher.names), rest, keywords, PREPARED)
        return prepare(launcher, config, given)

    @property
    def attributes(self) -> KernelAttributes:
        """Registers, memory and the rest of what the kernel takes on the module's device."""
        return attributes_of(self._launcher())

    def occupancy(self, block: Any, shared: int = 0, *, cluster: Any = None) -> Occupancy:
        """How many blocks of this size a multiprocessor of the module's device runs at once: as `Kernel.occupancy`."""
        return occupancy_of(self._launcher(), block, shared, cluster)

    def suggest_block(self, shared: SharedBytes = 0, *, most_threads: int | None = None) -> SuggestedBlock:
        """The block size with the highest occupancy: as `Kernel.suggest_block`."""
        return suggested_block(self._launcher(), shared, most_threads)

    # As of `Kernel`: type checkers report a call.
    if not TYPE_CHECKING:

        def __call__(self, /, *arguments: Any, **keywords: Any) -> NoReturn:
            raise not_configured(self.name, arguments, keywords, self._launcher().checks.contract)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} is of this process; pickle the class of @cuda_module, and load() it there")

    def __repr__(self) -> str:
        return f"<loaded kernel {self.name}>"


def _as_compiled(entry: Entry, name: str, config: LaunchConfig) -> LaunchConfig:
    """The configuration; LaunchConfigError for another block than the only one that a kernel takes."""
    if entry.block is not None and config.block != entry.block:
        raise LaunchConfigValueError(
            f"block = {config.block}, and {name} is compiled for blocks of {entry.block} only (.reqntid)"
        )
    return config
