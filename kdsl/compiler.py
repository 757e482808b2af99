"""`@kernel`: what a decorated function becomes, and when it is compiled."""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any, Generic, NoReturn, ParamSpec, cast, overload

from kdsl.annotations import kernel_parameters
from kdsl.backend import Backend, DeviceError
from kdsl.cache import compile_cached, load_cached
from kdsl.compilation import Compilation
from kdsl.compiled import CompiledKernel
from kdsl.contracts.architecture import check_architecture
from kdsl.contracts.contract import NOTHING, Contract
from kdsl.contracts.types import constants_of
from kdsl.current import IsCurrent, current_backend, home, timeline
from kdsl.ir.options import Options
from kdsl.ir.request import KernelRequest
from kdsl.lang.extern import Source
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.types import ArrayType, PointerType, TupleType, Type
from kdsl.locks import Lock
from kdsl.occupancy import KernelAttributes, Occupancy, SuggestedBlock
from kdsl.parameters import by_name, defaults_of, filling, from_signature, types_of, with_defaults
from kdsl.records import dataclass
from kdsl.resources import SharedBytes, attributes_of, occupancy_of, suggested_block
from kdsl.runtime.calls import Call, call_of, guards_of
from kdsl.runtime.derived import DerivedLaunches
from kdsl.runtime.dynamo import leave_alone, untraced
from kdsl.runtime.errors import ArgumentError, ExtentError, LaunchConfigError
from kdsl.runtime.known import KnownLaunch, KnownLaunches
from kdsl.runtime.launch import MISSING, Condition, Configurations, LaunchConfig, Launcher, all_hold, not_configured
from kdsl.runtime.prepared import PreparedLaunch, prepare, split_configuration
from kdsl.runtime.variables import attach
from kdsl.signatures import Open, every_signature, open_names
from kdsl.source import CompileError
from kdsl.target import Target

P = ParamSpec("P")
USERS_MISTAKES = (CompileError, ArgumentError, LaunchConfigError, DeviceError)
MOST_HOT = 256
"""Pairs of grid and block that a kernel keeps launches ready for."""
MOST_STREAMS = 64
"""Streams in which a kernel keeps launches without brackets ready for."""
ASKED_OFTEN = 64
"""Launches unlike the one that comes first, after which another comes first."""


@dataclass(frozen=True)
class Specialization:
    """A kernel compiled for parameter types and a device, and loaded there; good as long as what it captured stays
    bound.
    """

    compilation: Compilation
    backend: Backend
    launcher: Launcher
    types: tuple[Type, ...]
    """Of all parameters, constants included."""

    def is_current(self) -> bool:
        """Whether every captured name is bound to the object it was compiled with."""
        return self.launcher.holds()


class ConfiguredKernel(Generic[P]):
    """A kernel with its launch configuration, ``k[grid, block]``: call it with the kernel's arguments."""

    __slots__ = ("_known", "_run", "_runs", "config", "fast", "kernel")

    def __init__(self, kernel: Kernel[P], config: LaunchConfig) -> None:
        leave_alone()
        self.kernel = kernel
        self.config = config
        self._run: Callable[..., None] = self._specialize_and_run
        self.fast: Callable[..., None] | None = None
        """What launches at once, when there has been a launch."""
        self._runs: dict[Backend, Callable[..., None]] = {}
        self._known: KnownLaunches | None = None

    # Why Any and not P? A launch takes arrays and numbers where the function says Ptr and i32.
    @untraced
    def __call__(self, *arguments: Any, **keywords: Any) -> None:
        try:
            self._run(*arguments, **keywords)
        except USERS_MISTAKES as error:
            # A mistake of the user's: the traceback shows their launch, without a screen of our frames.
            raise error.with_traceback(None) from error.__cause__

    def _specialize_and_run(self, *arguments: Any, **keywords: Any) -> None:
        """What a call does at first, and again when the device, a captured name or a type has changed."""
        kernel = self.kernel
        (
            home((*arguments, *keywords.values()))
        ).start()  # a GPU's context takes as long as the compilation, to which this thread now comes
        if not kernel.is_annotated:
            filling(self._run_open, kernel.defaults)(*arguments, **keywords)
            return
        filling(self._run_filled, kernel.defaults)(*arguments, **keywords)
        launcher = kernel.specialize(arguments, keywords).launcher
        run = launcher.bind(
            self.config, otherwise=self._specialize_and_run, wider=self._run_wide, other_device=self._has_run_elsewhere
        )
        self._runs[launcher.backend] = run
        self._keep(run)

    def _keep(self, run: Callable[..., None]) -> None:
        """Let the next call take a launcher's fast way at once."""
        self._run = self.fast = filling(run, self.kernel.defaults)
        self.kernel.remember(self.config, self._run)

    def _has_run_elsewhere(self, here: Backend, arguments: tuple[Any, ...]) -> bool:
        """Launch on the device where the arguments live, if it is another one and launched so before."""
        there = home(arguments)
        # What is missing is told here.
        if there is here or any(value is MISSING for value in arguments):
            return False
        self._runs.get(there, self._specialize_and_run)(*arguments)
        return True

    def _run_filled(self, *arguments: Any, **keywords: Any) -> None:
        """A launch with all arguments."""
        launcher = self.kernel.specialize(arguments, keywords).launcher
        launcher.bind(self.config, wider=self._run_wide)(*arguments, **keywords)

    def _run_open(self, *arguments: Any, **keywords: Any) -> None:
        """A launch of a kernel whose types depend on the arguments."""
        kernel = self.kernel
        given = by_name(kernel.name, kernel.parameters, arguments, keywords)
        values = tuple(given[name] for name, _ in kernel.parameters)
        found = kernel.specialize((), given)
        try:
            found.launcher.bind(self.config)(*values)
        except ExtentError:
            kernel.specialize((), given, wide=True).launcher.bind(self.config)(*values)
            return
        guards = guards_of(found.launcher.prefix, kernel.parameters, found.types, given)
        if guards.can_hold:
            self._known = self._known or KnownLaunches(kernel.parameters)
            again = found.launcher.bind(self.config, otherwise=self._specialize_and_run, guards=guards)
            first = found.launcher.bind(self.config, otherwise=self._run_known, guards=guards)
            self._known.keep(values, KnownLaunch(again, first))
            self._keep(first)

    def _run_known(self, *arguments: Any, **keywords: Any) -> None:
        """A launch unlike the one that `_keep` was told of: perhaps like an earlier one."""
        known = self._known.find(arguments) if self._known is not None and not keywords else None
        if known is None or self._known is None:
            self._specialize_and_run(*arguments, **keywords)
            return
        if self._known.asked % ASKED_OFTEN == 0:
            self._keep(known.first)
        known.run(*arguments)

    def _run_wide(self, *arguments: Any, **keywords: Any) -> None:
        """For arrays whose offsets do not fit 32 bits."""
        self.kernel.specialize(arguments, keywords, wide=True).launcher.bind(self.config)(*arguments, **keywords)

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.getitem, (self.kernel, self.config)

    def __repr__(self) -> str:
        return f"{self.kernel!r}[{self.config.grid}, {self.config.block}]"


class Kernel(Generic[P]):
    """A kernel. ``k[grid, block](...)`` launches it; `check` and `compile` need no device. Made by the `kernel`
    decorator.
    """

    # Why a slot of its own for what each `k[grid, block]` reads? It is found in half the time.
    __slots__ = ("__dict__", "__weakref__", "_hot")

    def __init__(self, function: Callable[P, object], options: Options) -> None:
        functools.update_wrapper(self, function)
        self.function: FunctionType = cast(FunctionType, function)
        self.options = options
        self._configurations = Configurations(lambda config: ConfiguredKernel(self, config))
        self._hot: dict[int, dict[int, Callable[..., None]]] = {}
        self._derived: dict[Any, DerivedLaunches] = {}
        self._specializations: dict[tuple[object, ...], Specialization] = {}
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        from kdsl.pickling import reduced  # start-up cost: few programs pickle kernels

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
        return defaults_of(self.function, [name for name, _ in self.parameters])

    @property
    def can_be_checked(self) -> bool:
        """Whether annotations and defaults say all that the compiler wants to know."""
        return not self.open_names()

    def open_names(self, signature: Mapping[str, Any] | None = None) -> list[Open]:
        """What annotations, defaults and a signature by name leave open: `compile` needs it in the signature."""
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

    def remember(self, config: LaunchConfig, run: Callable[..., None]) -> None:
        """Let ``[grid, block]`` give ``run`` from now on, if that is all that ``config`` says."""
        grid, block = config.grid[0], config.block[0]
        if config == LaunchConfig(max(grid, 1), block):
            if sum(map(len, self._hot.values())) >= MOST_HOT:
                self._hot = {}
            self._hot.setdefault(grid, {})[block] = run
        for derived in self._derived.values():
            derived.remember(config, run)

    @functools.cached_property
    def launch(self) -> Callable[..., None]:
        """``k.launch(a, b, n)`` without brackets, for a kernel whose contract says grid and block."""
        return self._launches(None).function

    @untraced
    def launch_on(self, stream: Any, /, *arguments: Any, **keywords: Any) -> None:
        """As `launch`, in a stream."""
        self._launches(stream).function(*arguments, **keywords)

    def launch_config(self, *arguments: Any, **keywords: Any) -> LaunchConfig:
        """The configuration that `launch` takes for these arguments."""
        given = by_name(self.name, self.parameters, arguments, with_defaults(len(arguments), keywords, self.defaults))
        return self._launches(None).config([given[name] for name, _ in self.parameters])

    def _launches(self, stream: Any) -> DerivedLaunches:
        """What derives configurations in a stream."""
        try:
            return self._derived[stream]
        except (KeyError, TypeError):
            pass  # the first time, or another library's stream that has no hash
        types = dict(self.parameters)
        defaults = {name: value for name, (_, value) in self.defaults.items()}
        made = DerivedLaunches(
            self.name, self.options.contract, [*types], types, defaults, self._configurations.configured, stream
        )
        if len(self._derived) >= MOST_STREAMS:
            self._derived = {None: self._derived[None]} if None in self._derived else {}
        with contextlib.suppress(TypeError):
            self._derived[stream] = made
        return made

    @untraced
    def prepare(self, *arguments: Any, **keywords: Any) -> PreparedLaunch:
        """A launch to be made many times, of grid and block (or a LaunchConfig) and the kernel's arguments:
        ``p = k.prepare(grid, block, a, b, n=5)``, then ``p()``. NumPy arrays are refused: nothing is copied.
        """
        leave_alone()
        try:
            config, rest = split_configuration(f"{self.name}.prepare", arguments)
            given = by_name(self.name, self.parameters, rest, with_defaults(len(rest), keywords, self.defaults))
            try:
                return prepare(self.specialize((), given).launcher, config, given)
            except ExtentError:
                return prepare(self.specialize((), given, wide=True).launcher, config, given)
        except USERS_MISTAKES as error:
            raise error.with_traceback(None) from error.__cause__

    @property
    def attributes(self) -> KernelAttributes:
        """Registers, memory and the rest of what the kernel takes on the current device; `attributes_of` for a kernel
        without annotations.
        """
        return self.attributes_of()

    def attributes_of(self, signature: Any = None) -> KernelAttributes:
        """What the kernel takes on the current device, with ``signature`` as for `kdsl.compile`."""
        return attributes_of(self._launcher_of(signature))

    def occupancy(self, block: Any, shared: int = 0, *, cluster: Any = None, signature: Any = None) -> Occupancy:
        """How many blocks of this size, with so many bytes of dynamic shared memory, a multiprocessor of the current
        device runs at once.
        """
        return occupancy_of(self._launcher_of(signature), block, shared, cluster)

    def suggest_block(
        self, shared: SharedBytes = 0, *, most_threads: int | None = None, signature: Any = None
    ) -> SuggestedBlock:
        """The block size with the highest occupancy, and how many such blocks fill the device. ``shared`` is a block's
        dynamic shared memory in bytes, or a function from its threads to them.
        """
        return suggested_block(self._launcher_of(signature), shared, most_threads)

    def _launcher_of(self, signature: Any) -> Launcher:
        backend = current_backend()
        return self._specialized(backend, from_signature(self.name, self.parameters, self.defaults, signature)).launcher

    def __call__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        raise not_configured(self.name, arguments)

    def signatures(self, signature: Mapping[str, Any] | None = None) -> list[tuple[Type, ...]]:
        """The types of all parameters with which `check` looks at the kernel: none where it looks at names only.

        TypeError or ValueError for what does not fit the parameters.
        """
        return every_signature(self.name, self.parameters, self.defaults, signature or {})

    def check(self, signature: Mapping[str, Any] | None = None) -> int:
        """Raise a CompileError with every mistake in the kernel, and return with how many signatures it was checked.

        A TypeVar is each of its constraints in turn. Where `open_names` has others, only syntax and names can be
        checked, and 0 is returned; ``signature`` says what they are, as for `kdsl.compile`.
        """
        from kdsl.frontend import check_every, check_syntax  # start-up cost: who only imports kdsl compiles nothing

        every = self.signatures(signature)
        if every:
            check_every([self.request(types) for types in every])
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

    def request(self, types: Sequence[Type] | None, options: Options | None = None) -> KernelRequest:
        """What the frontend is asked for; ``types`` are all parameters' types, None where the annotations say them."""
        return KernelRequest(self.function, None if types is None else tuple(types), options or self.options)

    def specialize(
        self, arguments: Sequence[Any], keywords: Mapping[str, Any], *, wide: bool = False
    ) -> Specialization:
        """The kernel compiled for these arguments' types and loaded on the device where they live, or else the current
        one; ``wide`` is the variant with 64-bit extents.
        """
        backend = home((*arguments, *keywords.values()))
        given = by_name(self.name, self.parameters, arguments, keywords) if not self.is_annotated else {}
        return self._specialized(backend, types_of(self.name, self.parameters, given, wide=wide))

    def _specialized(self, backend: Backend, types: tuple[Type, ...]) -> Specialization:
        with self._lock:
            found = self._specializations.get((backend, types))
            if found is None or not found.is_current():
                found = self._specializations[backend, types] = self._build(backend, types)
        return found

    def contract_for(self, typed: Sequence[tuple[str, Type]]) -> Contract:
        """What a launch of the kernel for these types is checked against."""
        return self.options.contract.with_constants(constants_of(dict(typed)))

    def _compiled(self, types: tuple[Type, ...], target: Target) -> Compilation:
        """The kernel compiled for these types; another device of the same architecture may have it already."""
        for known in self._specializations.values():
            compilation = known.compilation
            if known.types == types and compilation.target == target and all_hold(compilation.captured):
                return compilation
        return compile_cached([self.request(types)], target, timeline())

    def _build(self, backend: Backend, types: tuple[Type, ...]) -> Specialization:
        target = Target.parse(backend.target)
        check_architecture(self.function, self.options.min_arch, target, backend.description)
        compilation = self._compiled(types, target)
        (compiled,) = compilation.compiled
        module = load_cached(backend, compilation)
        attach(backend, module, compilation.variables)
        typed = [(name, type) for (name, _), type in zip(self.parameters, types, strict=True)]
        call = None if self.is_annotated else call_of(typed)
        conditions: tuple[Condition, ...] = compilation.captured
        passed = types if call is None else [slot.type for slot in call.slots]
        # Each array says where it lives. Without one, a launch is for the current device.
        if not any(isinstance(type, PointerType | ArrayType) for type in passed):
            conditions = (IsCurrent(backend), *conditions)
        report = partial(compilation.resources_of, compiled.name)
        contract = self.contract_for(typed)
        launcher = build_launcher(
            backend, module, self.name, compiled, typed, conditions, call, report, contract=contract
        )
        return Specialization(compilation, backend, launcher, types)


def build_launcher(
    backend: Backend,
    module: Any,
    name: str,
    compiled: CompiledKernel,
    parameters: Sequence[tuple[str, Type]],
    conditions: Sequence[Condition] = (),
    call: Call | None = None,
    report: Callable[[], Any] | None = None,
    *,
    contract: Contract = NOTHING,
) -> Launcher:
    """The typed launcher of a kernel of the loaded module; errors call it ``name``. ``call`` is that of a kernel that
    is specialised on its arguments. ``report`` gives ptxas's report on it, ``contract`` what a launch is checked
    against.
    """
    if call is not None:
        parameters = [(slot.name, slot.type) for slot in call.slots]
    return Launcher(
        name,
        parameters,
        backend,
        backend.function(module, compiled.name),
        compiled.written,
        conditions,
        compiled.most_threads,
        compiled.cluster,
        compiled.cooperative,
        call,
        compiled.block_multiple,
        report,
        contract=contract,
    )


@overload
def kernel(function: Callable[P, object], /) -> Kernel[P]: ...
@overload
def kernel(
    *,
    fmad: bool = True,
    fastmath: bool = False,
    asserts: bool = True,
    restrict: bool = False,
    debug: bool = False,
    launch_bounds: tuple[int, int, int] | tuple[int, int] | tuple[int] | int | None = None,
    cluster: tuple[int, int, int] | tuple[int, int] | tuple[int] | int | None = None,
    max_registers: int | None = None,
    link: Source | Sequence[Source] = (),
    requires: str | Sequence[str] = (),
    block: int | str | Sequence[int | str] | None = None,
    grid: int | str | Sequence[int | str] | None = None,
    shared: int | str | None = None,
    min_arch: str | None = None,
) -> Callable[[Callable[P, object]], Kernel[P]]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """Make a function a kernel: ``@kernel`` or ``@kernel(restrict=True)``. Nothing is compiled yet.

    ``fmad``: multiply and add may contract to fma. ``fastmath``: approximate division, square root and functions,
    denormals flushed. ``asserts``: keep ``assert``. ``restrict``: no two pointer or array parameters overlap, as C's
    ``__restrict__``. ``debug``: check indices, divisors and casts while the kernel runs; KDSL_DEBUG=1 says so for every
    kernel that does not say ``debug=`` itself. ``launch_bounds``: threads of the largest block, and how many blocks
    should fit on an SM, as in ``(256, 2)``; a third number is the most blocks of a cluster. ``cluster``: blocks of a
    cluster along x, y and z, in every launch. ``max_registers``: of a thread; more would be spilled. ``link``:
    what is linked with it, beside what `extern` functions name (docs/modules.md). ``requires``, ``block``, ``grid`` and
    ``shared`` are its launch contract, checked in every launch (docs/contracts.md), as in
    ``requires="a.size >= n", block=256, grid="ceil(n / 256)"``; ``min_arch``: the first architecture it is for, such as
    ``"sm_80"``. TypeError for anything else.
    """
    checked = _checked_options(options)
    return _decorate(function, checked) if function is not None else lambda f: _decorate(f, checked)


def _checked_options(given: Mapping[str, Any]) -> Options:
    """The options that a user gave by name, and ``debug`` as KDSL_DEBUG says where they did not."""
    if not isinstance(given, Mapping):
        raise TypeError(f"options are a dict, such as {{'fmad': False}}, got {given!r}")
    return Options.checked({"debug": os.environ.get("KDSL_DEBUG", "") not in ("", "0"), **given})


def _decorate(function: Any, options: Options) -> Kernel[Any]:
    if isinstance(function, Kernel):
        raise TypeError(f"{function.name} is a kernel already: one @kernel is enough")
    if not inspect.isfunction(function):
        what = "a class" if inspect.isclass(function) else f"a {type(function).__name__}"
        raise TypeError(f"@kernel takes a function written with def, got {what}: {function!r}")
    return Kernel(function, options.with_contract(function))


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
    parsed = target if isinstance(target, Target) else Target.parse(target or current_backend().target)
    chosen = None if options is None else _checked_options(options)
    requests = [
        k.request(
            from_signature(k.name, k.parameters, k.defaults, signature), chosen and chosen.with_contract(k.function)
        )
        for k in kernels
    ]
    return compile_cached(requests, parsed, timeline())


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
    parsed = target if isinstance(target, Target) else Target.parse(target or current_backend().target)
    chosen = None if options is None else _checked_options(options)
    requests = [
        kernel.request(found, chosen and chosen.with_contract(kernel.function))
        for kernel, found in zip(kernels, types, strict=True)
    ]
    if not are_checked:
        requests = [replace(request, options=request.options.with_unchecked_contract()) for request in requests]
    return compile_cached(requests, parsed, timeline())
