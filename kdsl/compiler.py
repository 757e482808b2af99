"""What a decorated function becomes: a `Kernel`, and when it is compiled. The decorator is in decorator.py."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, cast

from kdsl.current import current_backend, timeline
from kdsl.ir.options import Options
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.types import TupleType, Type
from kdsl.locks import Lock
from kdsl.runtime.call_names import NOT_GIVEN
from kdsl.runtime.configurations import Configurations
from kdsl.runtime.dynamo import leave_alone, untraced
from kdsl.runtime.errors import ExtentError, LaunchConfigError

# Start-up cost: decorating a function imports little. What launches need is imported by the first one, while the
# driver starts; what compiles, by who compiles.
if TYPE_CHECKING:
    from kdsl.backend import Backend
    from kdsl.compilation import Compilation
    from kdsl.configured import ConfiguredKernel
    from kdsl.ir.request import KernelRequest
    from kdsl.occupancy import KernelAttributes, Occupancy, SuggestedBlock
    from kdsl.resources import SharedBytes
    from kdsl.runtime.config import LaunchConfig
    from kdsl.runtime.derived import DerivedByStream, DerivedLaunches
    from kdsl.runtime.launch import Launcher
    from kdsl.runtime.prepared import PreparedLaunch
    from kdsl.signatures import Open
    from kdsl.specialization import Specialization
    from kdsl.target import Target

P = ParamSpec("P")
MOST_HOT = 256
"""Pairs of grid and block that a kernel keeps launches ready for."""


class Kernel(Generic[P]):
    """A kernel. ``k[grid, block](...)`` launches it; `check` and `compile` need no device. Made by the `kernel`
    decorator.
    """

    # Why a slot of its own for what each `k[grid, block]` reads? It is found in half the time.
    __slots__ = ("__dict__", "__weakref__", "_hot")

    def __init__(self, function: Callable[P, object], options: Options) -> None:
        functools.update_wrapper(cast(Any, self), function)
        self.function: FunctionType = cast(FunctionType, function)
        self.options = options
        self._configurations = Configurations(self._configured)
        self._hot: dict[int, dict[int, Callable[..., None]]] = {}
        self._specializations: dict[tuple[object, ...], Specialization] = {}
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    def _configured(self, config: LaunchConfig) -> ConfiguredKernel[P]:
        from kdsl.configured import ConfiguredKernel

        return ConfiguredKernel(self, config)

    def __reduce__(self) -> str | tuple[Any, ...]:
        from kdsl.pickling import reduced

        return reduced(self, self.function, self.options)

    def __copy__(self) -> Kernel[P]:
        return self

    def __deepcopy__(self, _: object) -> Kernel[P]:
        # As functions are: what it is compiled from does not change.
        return self

    @property
    def name(self) -> str:
        return self.function.__name__

    @functools.cached_property
    def parameters(self) -> tuple[tuple[str, Type | None], ...]:
        """Name and annotated type of each parameter; None where there is no annotation. CompileError for an
        annotation that is no type.
        """
        from kdsl.annotations import kernel_parameters

        return kernel_parameters(self.function)

    @property
    def is_annotated(self) -> bool:
        """Whether every parameter has a type, and none is a constant. Other kernels are specialised on their
        arguments.
        """
        open_types = ConstexprType | GenericType | TupleType
        return not any(type is None or isinstance(type, open_types) for _, type in self.parameters)

    @functools.cached_property
    def defaults(self) -> dict[str, tuple[int, Any]]:
        """Position and value of each parameter that has a default."""
        from kdsl.parameters import defaults_of

        return defaults_of(self.function, [name for name, _ in self.parameters])

    def open_names(self, signature: Mapping[str, Any] | None = None) -> list[Open]:
        """What annotations, defaults and a signature by name leave open: `compile` needs it in the signature."""
        from kdsl.signatures import open_names

        return open_names(self.parameters, self.defaults, signature or {})

    @untraced
    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        """The kernel with a launch configuration: ``[grid, block]``, ``[grid, block, stream, shared_bytes]`` or
        ``[LaunchConfig(...)]``.
        """
        if type(configuration) is tuple and len(configuration) == 2:
            grid, block = configuration
            # Why look at types? 4 == 4.0 == True to a dict, but only one of them is a grid.
            if type(grid) is int and type(block) is int:
                try:
                    return self._hot[grid][block]
                except KeyError:
                    pass  # not launched yet
        try:
            configured: Any = self._configurations.configured(configuration)
            ready: Callable[..., None] = configured.fast or configured
            return ready
        except LaunchConfigError as error:
            # A mistake of the user's: the traceback shows their launch, without a screen of our frames.
            raise error.with_traceback(None) from error.__cause__

    def _remember(self, config: LaunchConfig, run: Callable[..., None]) -> None:
        """Let ``[grid, block]`` give ``run`` from now on, if that is all that ``config`` says."""
        from kdsl.runtime.config import LaunchConfig

        grid, block = config.grid[0], config.block[0]
        if config == LaunchConfig(max(grid, 1), block):
            if sum(map(len, self._hot.values())) >= MOST_HOT:
                self._hot = {}
            self._hot.setdefault(grid, {})[block] = run
        self._derived.remember(config, run)

    @functools.cached_property
    def _derived(self) -> DerivedByStream:
        from kdsl.runtime.derived import DerivedByStream

        return DerivedByStream(self.name, self._derived_in)

    @functools.cached_property
    def launch(self) -> Callable[..., None]:
        """``k.launch(a, b, n)`` without brackets, for a kernel whose contract says grid and block."""
        return self._derived.of(None).function

    def launch_on(self, stream: Any, /, *arguments: Any, **keywords: Any) -> None:
        """As `launch`, in a stream."""
        self._derived.of(stream).function(*arguments, **keywords)

    if not TYPE_CHECKING:
        # What is missing, the launch says; a stub says that it is needed.
        launch_on.__defaults__ = (NOT_GIVEN,)
        launch_on = untraced(launch_on)

    def launch_config(self, /, *arguments: Any, **keywords: Any) -> LaunchConfig:
        """The configuration that `launch` takes for these arguments."""
        from kdsl.parameters import by_name, with_defaults
        from kdsl.runtime.call_names import BY_CONTRACT

        every = with_defaults(len(arguments), keywords, self.defaults)
        given = by_name(self.name, self.parameters, arguments, every, BY_CONTRACT)
        return self._derived.of(None).config([given[name] for name, _ in self.parameters])

    def _derived_in(self, stream: Any) -> DerivedLaunches:
        """What derives configurations in a stream."""
        from kdsl.runtime.derived import DerivedLaunches

        defaults = {name: value for name, (_, value) in self.defaults.items()}
        types = dict(self.parameters)
        return DerivedLaunches(
            self.name, self.options.contract, [*types], types, defaults, self._configurations.configured, stream
        )

    @untraced
    def prepare(self, /, *arguments: Any, **keywords: Any) -> PreparedLaunch:
        """A launch to be made many times, of grid and block (or a LaunchConfig) and the kernel's arguments:
        ``p = k.prepare(grid, block, a, b, n=5)``, then ``p()``. NumPy arrays are refused: nothing is copied.
        """
        from kdsl.starting import start_for

        start_for(self.function)
        from kdsl.parameters import by_name, with_defaults
        from kdsl.runtime.call_names import PREPARED
        from kdsl.runtime.mistakes import users_mistakes
        from kdsl.runtime.prepared import prepare, split_configuration

        leave_alone()
        try:
            config, rest = split_configuration(f"{self.name}.prepare", arguments)
            every = with_defaults(len(rest), keywords, self.defaults)
            given = by_name(self.name, self.parameters, rest, every, PREPARED)
            try:
                return prepare(self._specialize((), given).launcher, config, given)
            except ExtentError:
                return prepare(self._specialize((), given, wide=True).launcher, config, given)
        except users_mistakes() as error:
            raise error.with_traceback(None) from error.__cause__

    @property
    def attributes(self) -> KernelAttributes:
        """Registers, memory and the rest of what the kernel takes on the current device; `attributes_of` for a kernel
        without annotations.
        """
        return self.attributes_of()

    def attributes_of(self, signature: Any = None) -> KernelAttributes:
        """What the kernel takes on the current device, with ``signature`` as for `kdsl.compile`."""
        from kdsl.resources import attributes_of

        return attributes_of(self._launcher_of(signature))

    def occupancy(self, block: Any, shared: int = 0, *, cluster: Any = None, signature: Any = None) -> Occupancy:
        """How many blocks of this size, with so many bytes of dynamic shared memory, a multiprocessor of the current
        device runs at once.
        """
        from kdsl.resources import occupancy_of

        return occupancy_of(self._launcher_of(signature), block, shared, cluster)

    def suggest_block(
        self, shared: SharedBytes = 0, *, most_threads: int | None = None, signature: Any = None
    ) -> SuggestedBlock:
        """The block size with the highest occupancy, and how many such blocks fill the device. ``shared`` is a block's
        dynamic shared memory in bytes, or a function from its threads to them.
        """
        from kdsl.resources import suggested_block

        return suggested_block(self._launcher_of(signature), shared, most_threads)

    def _launcher_of(self, signature: Any) -> Launcher:
        from kdsl.parameters import from_signature

        backend = current_backend()
        return self._specialized(backend, from_signature(self.name, self.parameters, self.defaults, signature)).launcher

    # To a type checker a kernel cannot be called, which it reports; after a NoReturn it would check nothing.
    if not TYPE_CHECKING:

        def __call__(self, /, *arguments: Any, **keywords: Any) -> NoReturn:
            from kdsl.runtime.launch import not_configured

            raise not_configured(self.name, arguments, keywords, self.options.contract)

    def signatures(self, signature: Mapping[str, Any] | None = None) -> list[tuple[Type, ...]]:
        """The types of all parameters with which `check` looks at the kernel: none where it looks at names only.

        TypeError or ValueError for what does not fit the parameters.
        """
        from kdsl.signatures import every_signature

        return every_signature(self.name, self.parameters, self.defaults, signature or {})

    def check(self, signature: Mapping[str, Any] | None = None) -> int:
        """Raise a CompileError with every mistake in the kernel, and return with how many signatures it was checked.

        A TypeVar is each of its constraints in turn. Where `open_names` has others, only syntax and names can be
        checked, and 0 is returned; ``signature`` says what they are, as for `kdsl.compile`.
        """
        from kdsl.frontend import check_every, check_syntax

        every = self.signatures(signature)
        if every:
            check_every([self._request(types) for types in every])
        else:
            check_syntax(self.function)
        return len(every)

    def compile(
        self,
        target: Target | str | None = None,
        signature: Sequence[Any] | Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Compilation:
        """The stages of this kernel alone: see `kdsl.compile`."""
        return compile(self, target=target, signature=signature, options=options)

    def _request(self, types: Sequence[Type] | None, options: Options | None = None) -> KernelRequest:
        """What the frontend is asked for; ``types`` are all parameters' types, None where the annotations say them."""
        from kdsl.ir.request import KernelRequest

        return KernelRequest(self.function, None if types is None else tuple(types), options or self.options)

    def _specialize(
        self, arguments: Sequence[Any], keywords: Mapping[str, Any], *, wide: bool = False
    ) -> Specialization:
        """The kernel compiled for these arguments' types and loaded on the device where they live, or else the current
        one; ``wide`` is the variant with 64-bit extents.
        """
        from kdsl.homes import home
        from kdsl.parameters import by_name, types_of

        backend = home((*arguments, *keywords.values()))
        given = by_name(self.name, self.parameters, arguments, keywords) if not self.is_annotated else {}
        return self._specialized(backend, types_of(self.name, self.parameters, given, wide=wide))

    def _specialized(self, backend: Backend, types: tuple[Type, ...]) -> Specialization:
        from kdsl.specialization import specialized

        with self._lock:
            found = self._specializations.get((backend, types))
            if found is None or not found.is_current():
                known = list(self._specializations.values())
                found = self._specializations[backend, types] = specialized(self, types, backend, known)
        return found


def checked_options(given: Mapping[str, Any]) -> Options:
    """The options that a user gave by name, and ``debug`` as KDSL_DEBUG says where they did not."""
    if not isinstance(given, Mapping):
        raise TypeError(f"options are a dict, such as {{'fmad': False}}, got {given!r}")
    return Options.checked({"debug": os.environ.get("KDSL_DEBUG", "") not in ("", "0"), **given})


def compile(
    kernel: Kernel[Any] | Sequence[Kernel[Any]],
    *,
    target: Target | str | None = None,
    signature: Sequence[Any] | Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Compilation:
    """Compile one kernel, or several into one PTX module, without a launch; no GPU is needed.

    ``target`` is an architecture such as ``"sm_90"`` (the current device's if None); ``signature`` gives the types of
    unannotated parameters and the values of ``Constexpr`` ones, by name or in order; ``options``, such as
    ``{"fmad": False}``, replaces all that the decorators said. CompileError holds every mistake; ValueError for an
    unknown architecture or two kernels of one name, TypeError for a signature that does not fit or an unknown option.
    """
    kernels: list[Any] = list(kernel) if isinstance(kernel, Sequence) else [kernel]
    if not kernels:
        raise TypeError("compile() takes a kernel, or a list of at least one")
    for k in kernels:
        if not isinstance(k, Kernel):
            raise TypeError(f"compile() takes kernels, got {k!r}; decorate it with @kernel first")
    names = [k.name for k in kernels]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two kernels of one module are called {twice!r}; rename one, or compile them apart")
    from kdsl.parameters import from_signature

    types = [from_signature(k.name, k.parameters, k.defaults, signature) for k in kernels]
    return compile_kernels(kernels, types, target, options)


def compile_kernels(
    kernels: Sequence[Kernel[Any]],
    types: Sequence[Sequence[Type]],
    target: Target | str | None,
    options: Mapping[str, Any] | None,
    *,
    are_checked: bool = True,
) -> Compilation:
    """Several kernels in one PTX module, each with the types of all its parameters; otherwise as `compile`. Without
    ``are_checked`` their launches look at no contract, and nothing relies on it but on the block size.
    """
    from kdsl.cache.process import compile_cached
    from kdsl.target import Target

    parsed = target if isinstance(target, Target) else Target.parse(target or current_backend().target)
    chosen = None if options is None else checked_options(options)
    requests = [
        kernel._request(found, chosen and chosen.with_contract(kernel.function))
        for kernel, found in zip(kernels, types, strict=True)
    ]
    if not are_checked:
        requests = [replace(request, options=request.options.with_unchecked_contract()) for request in requests]
    return compile_cached(requests, parsed, timeline())
