"""Several kernels in one loaded module: `@cuda_module` classes, and PTX, cubin or fatbin files of any compiler."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from kdsl.backend import Backend
from kdsl.compilation import Compilation
from kdsl.compiled import CompiledKernel
from kdsl.compiler import Kernel, build_launcher, compile_kernels
from kdsl.contracts.contract import Contract
from kdsl.current import current_backend
from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.types import Type
from kdsl.locks import Lock
from kdsl.occupancy import KernelAttributes, Occupancy, SuggestedBlock
from kdsl.parameters import by_name, from_signature
from kdsl.resources import SharedBytes, attributes_of, occupancy_of, suggested_block
from kdsl.runtime.calls import call_of
from kdsl.runtime.launch import Configurations, LaunchConfig, Launcher, not_configured
from kdsl.runtime.prepared import PreparedLaunch, prepare, split_configuration
from kdsl.runtime.variables import ModuleVariables, attach
from kdsl.target import Target

_FUNCTION = re.compile(rb"^[^\n/]*\.(?P<kind>entry|func)\s+(?:\([^)]*\)\s*)?(?P<name>[\w$]+)", re.MULTILINE)
Signatures = Mapping[str, Any]
"""A signature, as `kdsl.compile` takes it, by the name of a kernel."""


class LoadedModule:
    """A module on a device. ``from_module`` of a `cuda_module` gives its entries their types."""

    def __init__(self, backend: Backend, handle: Any, name: str, cooperative: Collection[str] = ()) -> None:
        self.backend = backend
        self.handle = handle
        self.name = name
        self.cooperative = frozenset(cooperative)
        """The kernels that are known to wait for the whole grid, so that all their blocks must run together."""

    @property
    def globals(self) -> ModuleVariables:
        """Its variables in global and constant memory by name, each as a DeviceArray of bytes:
        ``m.globals["table"].view(np.float32)``. They live as long as the module; KeyError lists the names.
        """
        return ModuleVariables(self.backend, self.handle)

    def __repr__(self) -> str:
        return f"<module {self.name} on {self.backend.name}>"


def load_module(image: str | Path | bytes) -> LoadedModule:
    """Load PTX, a cubin or a fatbin onto the current device: a path, or the bytes themselves. The emulator takes PTX
    only.

    OSError if the file cannot be read, DeviceError if the device refuses it.
    """
    name = "<bytes>" if isinstance(image, bytes) else str(image)
    data = image if isinstance(image, bytes) else Path(image).read_bytes()
    backend = current_backend()
    return LoadedModule(backend, backend.load(data), name, _cooperative(data))


def _cooperative(image: bytes) -> frozenset[str]:
    """The kernels of PTX text that look for a cooperative launch's workspace, themselves or maybe in a function."""
    if b"%envreg" not in image:  # most modules; and cubins, of which this does not tell
        return frozenset()
    starts = [*_FUNCTION.finditer(image)]
    ends = [*(start.start() for start in starts[1:]), len(image)]
    looking = [start for start, end in zip(starts, ends, strict=True) if b"%envreg1" in image[start.start() : end]]
    entries = [start for start in starts if start["kind"] == b"entry"]
    found = entries if any(start["kind"] == b"func" for start in looking) else looking
    return frozenset(start["name"].decode() for start in found)


class LoadedKernel:
    """A kernel of a loaded module; ``k[grid, block](...)`` launches it, always on the module's device."""

    def __init__(self, name: str, launcher: Callable[[], Launcher]) -> None:
        self.name = name
        self._launcher = launcher
        self._configurations = Configurations(self._bound)

    def _bound(self, config: LaunchConfig) -> Callable[..., None]:
        """A launch, which looks at what the module's kernels captured."""

        def again(*arguments: Any) -> None:
            current = self._launcher()
            if current is not launcher:
                self._configurations.clear()
            current.bind(config)(*arguments)

        launcher = self._launcher()
        return launcher.bind(config, otherwise=again)

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        return self._configurations.configured(configuration)

    def prepare(self, *arguments: Any, **keywords: Any) -> PreparedLaunch:
        """A launch to be made many times, of grid and block (or a LaunchConfig) and the kernel's arguments."""
        config, rest = split_configuration(f"{self.name}.prepare", arguments)
        launcher = self._launcher()
        given = by_name(self.name, tuple((name, None) for name in launcher.names), rest, keywords)
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

    def __call__(self, *arguments: Any) -> NoReturn:
        raise not_configured(self.name, arguments)

    def __repr__(self) -> str:
        return f"<loaded kernel {self.name}>"


class LoadedKernels:
    """The kernels of a `cuda_module` on a device, as attributes; ``globals`` are its variables by name.

    ``launchers`` gives those of all kernels, newly compiled if a captured name has been bound to something else.
    """

    def __init__(
        self, names: Sequence[str], launchers: Callable[[], Mapping[str, Launcher]], globals: Mapping[str, Any]
    ) -> None:
        self._kernels = {name: LoadedKernel(name, partial(_of, launchers, name)) for name in names}
        self.globals = globals

    def __getattr__(self, name: str) -> LoadedKernel:
        if name.startswith("_") or name not in self._kernels:
            raise AttributeError(f"no kernel is called {name!r}; there are: {', '.join(self._kernels)}")
        return self._kernels[name]

    def __dir__(self) -> list[str]:
        return [*self._kernels, "globals"]


def _of(launchers: Callable[[], Mapping[str, Launcher]], name: str) -> Launcher:
    return launchers()[name]


class _Named(dict[str, Any]):
    """Variables by name; a KeyError says which there are."""

    def __missing__(self, name: str) -> NoReturn:
        raise KeyError(f"the module has no variable {name!r}; it has {', '.join(sorted(self)) or 'none'}")


class _Loading:
    """One loaded state of a `cuda_module` on a device, made again when what its kernels captured has changed."""

    def __init__(self, module: KernelModule, backend: Backend, signatures: Signatures) -> None:
        self.module, self.backend, self.signatures = module, backend, signatures
        self.variables = _Named()
        self._lock = Lock()
        self._launchers = self._load()

    def launchers(self) -> Mapping[str, Launcher]:
        """The kernels' launchers, current ones."""
        with self._lock:
            if not all(launcher.holds() for launcher in self._launchers.values()):
                self._launchers = self._load()
            return self._launchers

    def _load(self) -> dict[str, Launcher]:
        backend = self.backend
        backend.start()
        compilation = self.module.compile(backend.target, signatures=self.signatures)
        handle = backend.load(compilation.ptx.encode())
        attach(backend, handle, compilation.variables)
        self.variables.clear()
        self.variables.update(compilation.variables)
        loaded = {}
        for kernel, compiled in zip(self.module.kernels, compilation.compiled, strict=True):
            # A constant is what the signature said, and no launch gives it again; a function is asked what it holds.
            typed = self.module.typed(kernel, self.signatures)
            passed = [(n, t) for n, t in typed if not isinstance(t, ConstexprType) or t.held]
            call = None if kernel.is_annotated else call_of(passed)
            loaded[kernel.name] = build_launcher(
                backend, handle, kernel.name, compiled, passed, compilation.captured, call,
                partial(compilation.resources_of, compiled.name), contract=kernel.contract_for(typed),
            )  # fmt: skip
        return loaded


class KernelModule:
    """The kernels of a class, compiled into one PTX module. Made by the `cuda_module` decorator."""

    def __init__(self, name: str, kernels: tuple[Kernel[Any], ...]) -> None:
        self.name = name
        self.kernels = kernels

    def __getattr__(self, name: str) -> Kernel[Any]:
        for kernel in self.kernels if not name.startswith("_") else ():
            if kernel.name == name:
                return kernel
        raise AttributeError(f"{self.name} has no kernel {name!r}")

    def typed(self, kernel: Kernel[Any], signatures: Signatures) -> list[tuple[str, Type]]:
        """Name and type of each parameter of a kernel; TypeError where neither annotations nor a signature say it."""
        said = signatures.get(kernel.name)
        try:
            types = from_signature(kernel.name, kernel.parameters, kernel.defaults, said)
        except TypeError as error:
            raise TypeError(f"{error}, for {kernel.name} in signatures={{{kernel.name!r}: ...}}") from None
        return [(name, type) for (name, _), type in zip(kernel.parameters, types, strict=True)]

    def compile(
        self,
        target: Target | str | None = None,
        options: Mapping[str, Any] | None = None,
        signatures: Signatures = MappingProxyType({}),
    ) -> Compilation:
        """All kernels' stages, in one PTX module: see `kdsl.compile`. ``signatures`` has a signature for each kernel,
        by name, whose annotations do not say all: constants and TypeVars.
        """
        unknown = next((name for name in signatures if name not in [k.name for k in self.kernels]), None)
        if unknown is not None:
            raise TypeError(f"{self.name} has no kernel {unknown!r}")
        types = [[type for _, type in self.typed(kernel, signatures)] for kernel in self.kernels]
        return compile_kernels(self.kernels, types, target, options)

    def load(self, signatures: Signatures = MappingProxyType({})) -> LoadedKernels:
        """Compile every kernel into one module and load it onto the current device. CompileError holds all mistakes
        in any of them. When a name that they capture has been bound to something else, the next launch compiles them
        again. ``signatures`` says, by kernel, the values of ``Constexpr`` parameters and what TypeVars stand for: a
        launch leaves those constants out.
        """
        loading = _Loading(self, current_backend(), signatures)
        return LoadedKernels([kernel.name for kernel in self.kernels], loading.launchers, loading.variables)

    def from_module(self, module: LoadedModule) -> LoadedKernels:
        """Give the entries of a module that any compiler made the types of this class's kernels; their bodies are not
        used.

        Every parameter needs an annotation. KeyError if the module lacks an entry of that name.
        """
        loaded = {}
        for kernel in self.kernels:
            # What the foreign code writes is not known, so every array is copied back.
            compiled = CompiledKernel(kernel.name, cooperative=kernel.name in module.cooperative)
            loaded[kernel.name] = build_launcher(
                module.backend, module.handle, kernel.name, compiled, _annotated(kernel), contract=_contract(kernel)
            )
        return LoadedKernels(list(loaded), lambda: loaded, module.globals)


def _contract(kernel: Kernel[Any]) -> Contract:
    """What a launch is checked against; ContractError if it does not fit the annotations."""
    from kdsl.contracts.decorate import check_contract  # start-up cost: most kernels have none

    check_contract(kernel.function, kernel.options.contract, dict(kernel.parameters))
    return kernel.options.contract


def _annotated(kernel: Kernel[Any]) -> list[tuple[str, Type]]:
    if not kernel.is_annotated:
        raise TypeError(f"{kernel.name}: from_module() needs an annotation on every parameter, and no Constexpr")
    return [(name, type) for name, type in kernel.parameters if type is not None]


def cuda_module(cls: type) -> KernelModule:
    """Group the ``@kernel`` functions of a class into one module: ``kernels.load()`` compiles and loads them
    together.
    """
    if not isinstance(cls, type):
        raise TypeError(f"@cuda_module takes a class, got {cls!r}")
    kernels = tuple(value for value in vars(cls).values() if isinstance(value, Kernel))
    if not kernels:
        raise TypeError(f"@cuda_module class {cls.__name__} has no @kernel function in it")
    return KernelModule(cls.__name__, kernels)
