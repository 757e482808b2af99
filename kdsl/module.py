"""Several kernels in one module: `@cuda_module` classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn, overload

from kdsl.backend import Backend
from kdsl.cache.process import load_cached
from kdsl.compilation import Compilation
from kdsl.compiler import Kernel, compile_kernels
from kdsl.contracts.types import contract_for
from kdsl.current import current_backend
from kdsl.lang.extern import Source, link_sources
from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.types import Type
from kdsl.loading import LoadedKernel, LoadedModule
from kdsl.locks import Lock
from kdsl.parameters import from_signature
from kdsl.runtime.calls import call_of
from kdsl.runtime.launch import Launcher
from kdsl.runtime.variables import attach
from kdsl.signatures import check_names
from kdsl.specialization import build_launcher
from kdsl.target import Target

Signatures = Mapping[str, Any]
"""A signature, as `kdsl.compile` takes it, by the name of a kernel."""


class LoadedKernels:
    """The kernels of a `cuda_module` on a device, as attributes; ``globals`` are its variables by name."""

    def __init__(self, kernels: Mapping[str, LoadedKernel], globals: Mapping[str, Any]) -> None:
        self._kernels = kernels
        self.globals = globals

    def __getattr__(self, name: str) -> LoadedKernel:
        if name.startswith("_") or name not in self._kernels:
            raise AttributeError(f"no kernel is called {name!r}; there are: {', '.join(self._kernels)}")
        return self._kernels[name]

    def __dir__(self) -> list[str]:
        return [*self._kernels, "globals"]

    def __reduce__(self) -> NoReturn:
        raise TypeError("loaded kernels are of this process; pickle the class of @cuda_module, and load() it there")


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
        handle = load_cached(backend, compilation)
        attach(backend, handle, compilation.variables)
        self.variables.clear()
        self.variables.update(compilation.variables)
        loaded = {}
        for kernel, compiled in zip(self.module.kernels, compilation.compiled, strict=True):
            # A constant is what the signature said, and no launch gives it again; a function is asked what it holds.
            typed = self.module._typed(kernel, self.signatures)
            passed = [(n, t) for n, t in typed if not isinstance(t, ConstexprType) or t.held]
            call = None if kernel.is_annotated else call_of(passed)
            contract = contract_for(kernel.options.contract, dict(typed))
            loaded[kernel.name] = build_launcher(
                backend, handle, kernel.name, compiled, passed, compilation.captured, call,
                partial(compilation.resources_of, compiled.name), contract=contract,
            )  # fmt: skip
        return loaded


class KernelModule:
    """The kernels of a class, compiled into one PTX module. Made by the `cuda_module` decorator."""

    def __init__(self, name: str, kernels: tuple[Kernel[Any], ...], place: tuple[str, str] | None = None) -> None:
        self.name = name
        self.kernels = kernels
        self._place = place
        """Module and name of the class, by which it is pickled."""
        if place is not None:
            self.__module__ = place[0]

    def __reduce__(self) -> str | tuple[Any, ...]:
        from kdsl.pickling import is_importable  # start-up cost: few programs pickle modules

        if self._place is not None and is_importable(self, *self._place):
            return self._place[1]
        return KernelModule, (self.name, self.kernels, self._place)

    def __getattr__(self, name: str) -> Kernel[Any]:
        # Why in this way? Copying and pickling ask for attributes before there are any.
        kernels: tuple[Kernel[Any], ...] = vars(self).get("kernels", ()) if not name.startswith("_") else ()
        for kernel in kernels:
            if kernel.name == name:
                return kernel
        raise AttributeError(f"{self.name} has no kernel {name!r}")

    def _typed(self, kernel: Kernel[Any], signatures: Signatures) -> list[tuple[str, Type]]:
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
        signatures: Signatures = MappingProxyType({}),
        options: Mapping[str, Any] | None = None,
    ) -> Compilation:
        """All kernels' stages, in one PTX module: see `kdsl.compile`. ``signatures`` has a signature for each kernel,
        by name, whose annotations do not say all: constants and TypeVars.
        """
        check_names(signatures, [kernel.name for kernel in self.kernels])
        types = [[type for _, type in self._typed(kernel, signatures)] for kernel in self.kernels]
        return compile_kernels(self.kernels, types, target, options)

    def load(self, signatures: Signatures = MappingProxyType({})) -> LoadedKernels:
        """Compile every kernel into one module and load it onto the current device. CompileError holds all mistakes
        in any of them. When a name that they capture has been bound to something else, the next launch compiles them
        again. ``signatures`` says, by kernel, the values of ``Constexpr`` parameters and what TypeVars stand for: a
        launch leaves those constants out.
        """
        loading = _Loading(self, current_backend(), signatures)
        names = [kernel.name for kernel in self.kernels]
        kernels = {name: LoadedKernel(name, partial(_of, loading.launchers, name)) for name in names}
        return LoadedKernels(kernels, loading.variables)

    def from_module(self, module: LoadedModule) -> LoadedKernels:
        """Give the entries of a module that any compiler made the types of this class's kernels; their bodies are not
        used.

        Every parameter needs an annotation. KeyError if the module lacks a kernel of that name, TypeError if its
        parameters are others.
        """
        loaded = {}
        for kernel in self.kernels:
            # What the foreign code writes is not known, so every array is copied back.
            loaded[kernel.name] = module.kernel(kernel.name, kernel)
        return LoadedKernels(loaded, module.globals)


@overload
def cuda_module(cls: type, /) -> KernelModule: ...
@overload
def cuda_module(*, link: Source | Sequence[Source] = ()) -> Callable[[type], KernelModule]: ...
def cuda_module(cls: Any = None, /, *, link: Source | Sequence[Source] = ()) -> Any:
    """Group the ``@kernel`` functions of a class into one module: ``kernels.load()`` compiles and loads them
    together. ``link`` is linked with it, as with a kernel.
    """
    sources = link_sources("@cuda_module", link)
    return _grouped(cls, sources) if cls is not None else lambda cls: _grouped(cls, sources)


def _grouped(cls: Any, link: tuple[Source, ...]) -> KernelModule:
    if not isinstance(cls, type):
        raise TypeError(f"@cuda_module takes a class, got {cls!r}")
    kernels = [value for value in vars(cls).values() if isinstance(value, Kernel)]
    if not kernels:
        raise TypeError(f"@cuda_module class {cls.__name__} has no @kernel function in it")
    if link:
        kernels = [Kernel(k.function, replace(k.options, link=(*k.options.link, *link))) for k in kernels]
    return KernelModule(cls.__name__, tuple(kernels), (cls.__module__, cls.__qualname__))
