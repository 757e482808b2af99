"""`@kernel`: what a decorated function becomes, when it is compiled, and where it runs."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, NoReturn, ParamSpec, overload

from kdsl.backend import Backend, Launch
from kdsl.compilation import Compilation, run_pipeline
from kdsl.device import Devices
from kdsl.frontend import Captured, KernelRequest, check_kernels, check_syntax, kernel_parameters
from kdsl.ir.nodes import Options
from kdsl.lang.types import I64, ArrayType, Type, as_type
from kdsl.runtime.arguments import infer_type
from kdsl.runtime.errors import ExtentError
from kdsl.runtime.launch import Configured, ConfiguredCache, Launcher
from kdsl.target import Target
from kdsl.timeline import Timeline

P = ParamSpec("P")
DEVICES = Devices()


def current_device() -> Backend:
    """The device that kernels run on. The first call starts it: what `set_device` or KDSL_DEVICE says, else a GPU, else the emulator."""
    return DEVICES.selected or DEVICES.current(os.environ.get("KDSL_DEVICE"))


def set_device(device: str | int) -> None:
    """Run kernels from now on on ``"cuda"``, ``"cuda:N"`` (or the number N) or ``"emulator"``.

    Arrays stay on the device where they were made. ValueError for another name, RuntimeError if there is no such device.
    """
    DEVICES.select(f"cuda:{device}" if isinstance(device, int) else device)


@dataclass(frozen=True)
class Specialization:
    """A kernel compiled for parameter types and a device, and loaded there; good as long as what it captured stays bound."""

    compilation: Compilation
    backend: Backend
    launcher: Launcher
    captured: tuple[Captured, ...]

    def is_current(self) -> bool:
        """Whether it is for the current device, and every captured name is bound to the object it was compiled with."""
        return self.backend is DEVICES.selected and all(c.namespace.get(c.name) is c.value for c in self.captured)


class Kernel(Generic[P]):
    """A kernel. ``k[grid, block](...)`` launches it; `check` and `compile` need no device. Made by the `kernel` decorator."""

    def __init__(self, function: Callable[P, object], options: Options) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.options = options
        self._configured = ConfiguredCache(self)
        self._specializations: dict[tuple[object, ...], Specialization] = {}
        self._latest: Specialization | None = None
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    @property
    def name(self) -> str:
        return self.function.__name__

    @functools.cached_property
    def parameters(self) -> tuple[tuple[str, Type | None], ...]:
        """Name and annotated type of each parameter; None where there is no annotation. CompileError for an annotation that is no type."""
        return kernel_parameters(self.function)

    @property
    def is_annotated(self) -> bool:
        """Whether every parameter has a type. A kernel of which one has not is specialised on its arguments at each launch."""
        return all(type is not None for _, type in self.parameters)

    def __getitem__(self, configuration: Any) -> Configured[P]:
        """The kernel with a launch configuration: ``[grid, block]``, ``[grid, block, stream, shared_bytes]`` or ``[LaunchConfig(...)]``."""
        return self._configured[configuration]

    def __call__(self, *arguments: P.args, **keywords: P.kwargs) -> NoReturn:
        raise TypeError(
            f"{self.name} is a kernel: say how many threads run it, as in {self.name}[grid, block]({', '.join(n for n, _ in self.parameters)})"
        )

    def check(self) -> None:
        """Raise a CompileError with every mistake in the kernel; of an unannotated kernel only syntax and names can be checked."""
        if self.is_annotated:
            check_kernels([self.request(None)])
        else:
            check_syntax(self.function)

    def compile(self, target: Target | str | None = None, signature: Any = None) -> Compilation:
        """The stages of this kernel alone: see `kdsl.compile`."""
        return compile(self, target=target, signature=signature)

    def request(self, types: Sequence[Type] | None, options: Options | None = None, name: str | None = None) -> KernelRequest:
        """What the frontend is asked for; ``types`` are all parameters' types, None where the annotations say them."""
        return KernelRequest(self.function, None if types is None else tuple(types), options or self.options, name)

    def launch(self, launch: Launch, arguments: tuple[Any, ...]) -> None:
        """Enqueue one launch; compile and load first what is not there yet. `Configured` calls it."""
        ready = self._latest
        if ready is None or not ready.is_current():
            ready = self._specialize(arguments, wide=False)
        try:
            ready.launcher.launch(launch, arguments)
        except ExtentError:
            self._specialize(arguments, wide=True).launcher.launch(launch, arguments)

    def _specialize(self, arguments: tuple[Any, ...], *, wide: bool) -> Specialization:
        """The specialisation for these arguments; ``wide`` is the variant with 64-bit extents."""
        backend = current_device()
        types = self._types(arguments, wide)
        with self._lock:
            found = self._specializations.get((backend, types))
            if found is None or not found.is_current():
                found = self._build(backend, types)
                self._specializations[backend, types] = found
            # Only a fully annotated kernel may skip this on its next launch: another's types depend on the arguments.
            self._latest = found if self.is_annotated and not wide else None
        return found

    def _types(self, arguments: tuple[Any, ...], wide: bool) -> tuple[Type, ...]:
        if not self.is_annotated and len(arguments) != len(self.parameters):
            names = ", ".join(name for name, _ in self.parameters)
            raise TypeError(f"{self.name}() takes {len(self.parameters)} arguments ({names}), got {len(arguments)}")
        types = [
            type if type is not None else infer_type(self.name, name, arguments[index])
            for index, (name, type) in enumerate(self.parameters)
        ]
        return tuple(replace(t, index=I64) if wide and isinstance(t, ArrayType) else t for t in types)

    def _build(self, backend: Backend, types: tuple[Type, ...]) -> Specialization:
        compilation = run_pipeline([self.request(types)], Target.parse(backend.target), DEVICES.timeline)
        (tree,) = compilation.tree.kernels
        module = backend.load(compilation.ptx.encode())
        launcher = build_launcher(backend, module, self.name, tree.name, self.parameters, types, tree.written)
        return Specialization(compilation, backend, launcher, compilation.captured)


def build_launcher(
    backend: Backend,
    module: Any,
    name: str,
    entry: str,
    parameters: tuple[tuple[str, Type | None], ...],
    types: tuple[Type, ...],
    written: frozenset[int] | None,
) -> Launcher:
    """The typed launcher of the loaded module's ``entry``; errors call it ``name``."""
    named = tuple((parameter, type) for (parameter, _), type in zip(parameters, types, strict=True))
    return Launcher(name, named, backend, backend.function(module, entry), written)


@overload
def kernel(function: Callable[P, object], /) -> Kernel[P]: ...
@overload
def kernel(
    *,
    fmad: bool = True,
    fastmath: bool = False,
    asserts: bool = True,
    restrict: bool = False,
    launch_bounds: tuple[int, int] | tuple[int] | int | None = None,
) -> Callable[[Callable[P, object]], Kernel[P]]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Make a function a kernel: ``@kernel`` or ``@kernel(restrict=True, launch_bounds=(256, 2))``. Nothing is compiled yet.

    ``fmad``: multiply and add may contract to fma. ``fastmath``: approximate division, square root and functions, denormals
    flushed. ``asserts``: keep ``assert``. ``restrict``: no two pointer or array parameters overlap, as C's ``__restrict__``.
    ``launch_bounds``: threads of the largest block, and how many blocks should fit on an SM. TypeError for anything else.
    """
    checked = _checked_options(options)
    return _decorate(function, checked) if function is not None else lambda f: _decorate(f, checked)


def _decorate(function: Any, options: Options) -> Kernel[Any]:
    if isinstance(function, Kernel):
        raise TypeError(f"{function.name} is a kernel already: one @kernel is enough")
    if not inspect.isfunction(function):
        what = "a class" if inspect.isclass(function) else f"a {type(function).__name__}"
        raise TypeError(f"@kernel takes a function written with def, got {what}: {function!r}")
    return Kernel(function, options)


def _checked_options(options: Mapping[str, Any]) -> Options:
    known = [field.name for field in fields(Options)]
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"@kernel has no option {name!r}; it takes {', '.join(known)}")
        if name != "launch_bounds" and not isinstance(value, bool):
            raise TypeError(f"@kernel({name}=...) takes True or False, got {value!r}")
    return Options(**{**options, "launch_bounds": _launch_bounds(options.get("launch_bounds"))})


def _launch_bounds(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    bounds = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(bounds) <= 2 or not all(type(b) is int and b > 0 for b in bounds) or bounds[0] > 1024:
        raise TypeError(f"launch_bounds takes (threads up to 1024[, blocks on an SM]), got {value!r}")
    return bounds


def compile(
    kernel: Kernel[Any] | Sequence[Kernel[Any]],
    *,
    target: Target | str | None = None,
    signature: Sequence[Any] | Mapping[str, Any] | None = None,
    options: Options | None = None,
) -> Compilation:
    """Compile one kernel, or several into one PTX module, without a launch; no GPU is needed.

    ``target`` is an architecture such as ``"sm_90"`` (the current device's if None); ``signature`` gives the types of
    unannotated parameters, by name or in order; ``options`` replaces what the decorator said. CompileError holds every
    mistake; ValueError for an unknown architecture, TypeError for a signature that does not fit.
    """
    kernels = [kernel] if isinstance(kernel, Kernel) else list(kernel)
    for k in kernels:
        if not isinstance(k, Kernel):
            raise TypeError(f"compile() takes kernels, got {k!r}; decorate it with @kernel first")
    parsed = target if isinstance(target, Target) else Target.parse(target or current_device().target)
    requests = [k.request(_signature(k, signature), options) for k in kernels]
    return run_pipeline(requests, parsed, DEVICES.timeline)


def _signature(kernel: Kernel[Any], signature: Any) -> tuple[Type, ...] | None:
    """The types of all parameters, those of unannotated ones from ``signature``."""
    given = dict(signature) if isinstance(signature, Mapping) else None
    missing = [name for name, type in kernel.parameters if type is None]
    if given is None:
        listed = list(signature or ())
        # A full signature may repeat the annotated parameters; a short one names only the others.
        names = [n for n, _ in kernel.parameters] if len(listed) == len(kernel.parameters) else missing
        if len(listed) not in (0, len(names)):
            raise TypeError(f"{kernel.name}: signature has {len(listed)} types for {len(names)} parameters ({', '.join(names)})")
        given = dict(zip(names, listed, strict=False))
    unknown = [name for name in given if name not in dict(kernel.parameters)]
    if unknown:
        raise TypeError(f"{kernel.name} has no parameter {unknown[0]!r}")
    lacking = [name for name in missing if name not in given]
    if lacking:
        raise TypeError(
            f"{kernel.name}: parameter {lacking[0]!r} has no annotation; say its type, as in signature={{{lacking[0]!r}: Ptr[f32]}}"
        )
    return tuple(as_type(given[name]) if name in given else type for name, type in kernel.parameters if type or name in given)


def start_trace() -> Timeline:
    """Record every stage and device call of this process from now on."""
    return DEVICES.trace()
