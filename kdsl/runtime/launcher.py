"""The typed launcher of one compiled kernel on one backend: checks arguments, packs them, enqueues, copies NumPy arrays
back.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np

from kdsl.backend import Backend, Dim3, Launch
from kdsl.contracts.contract import NOTHING, Contract
from kdsl.lang.layout import buffer_size, parameter_layout
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, PointerType, ScalarType, Type, VectorType
from kdsl.runtime.arguments import ArrayArgument, Parameter, array_argument, scalar_argument
from kdsl.runtime.calls import Call, Guards
from kdsl.runtime.capture_arguments import capture_of, keep_for
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.contracts import FAST_FUNCTIONS, LaunchChecks, configured_value
from kdsl.runtime.dlpack import NO_ORDER
from kdsl.runtime.dynamo import leave_alone, untraced
from kdsl.runtime.errors import ArgumentTypeError, ExtentError, LaunchConfigValueError
from kdsl.runtime.foreign_memory import SharingBackend, note_launch
from kdsl.runtime.formats import struct_format
from kdsl.runtime.graph_backend import introduce
from kdsl.runtime.hooks import HOOKS, LaunchRecord, Observed
from kdsl.runtime.host_arrays import HostArrays, Staged
from kdsl.runtime.layout import layout_of
from kdsl.runtime.packer import condition_tests, layout_name, name_prefix, packer_source, struct_name, variable_names
from kdsl.runtime.packer_names import Place, globals_for, maker, place_of
from kdsl.runtime.parameters import ParameterBuffer
from kdsl.runtime.peers import LEGACY_STREAM, ordered
from kdsl.runtime.scalars import REAL_CLASSES, WIDE_CLASSES, bf16_bits, shown
from kdsl.runtime.stream_backend import streams_of
from kdsl.runtime.structs import struct_bytes
from kdsl.runtime.tensor_packer import TakesTensors, takes_tensors, tensor_packer_source, tensor_scope
from kdsl.runtime.torch_tensors import loaded_torch
from kdsl.runtime.vectors import vector_bytes

Enqueue = Callable[[ParameterBuffer], None]
OtherDevice = Callable[[Backend, tuple[Any, ...]], bool]

# What the packer's fast way meets when an argument is not of the plain kind; the checked way then finds out what it is.
FAILURES = (AttributeError, NameError, TypeError, ValueError, ArithmeticError, LookupError, struct.error)


MOST_BOUND = 256
MOST_IDLE = 64
"""Buffers that a launcher keeps: one for each thread that launches at the same time."""
MOST_ELSEWHERE = 32
"""Streams of other libraries that one configuration keeps launches ready for."""

# Stands for an argument that was not given.
MISSING = object()


@runtime_checkable
class PreparingBackend(Protocol):
    """A backend that can bind a launch ahead of time, which makes each launch cheaper."""

    def prepare(self, function: Any, launch: Launch) -> Enqueue:
        """A function that enqueues ``function`` as ``launch`` says, with the parameters it is given."""
        ...


class Condition(Protocol):
    """Something a compiled kernel depends on: it may be used while ``namespace.get(name) is value``."""

    @property
    def namespace(self) -> Any: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> Any: ...


def all_hold(conditions: Iterable[Condition]) -> bool:
    """Whether each name is bound to what it was bound to."""
    return all(c.namespace.get(c.name) is c.value for c in conditions)


class Launcher:
    """Launches one compiled kernel with Python arguments.

    ``parameters`` are (name, concrete type). ``written`` holds the indexes of the parameters through which the kernel
    may write memory; None if that is not known, which counts as all of them. ``most_threads`` is the largest block that
    the kernel was compiled for, if it was for one; ``cluster`` are the blocks of a cluster that it was compiled for, if
    it was; ``cooperative``: all its blocks must run together. ``call`` says what a
    call gives, where that is something else than the parameters. ``block_multiple``: what the threads of a block
    are a multiple of. ``report`` gives ptxas's report on the kernel, ``contract`` what it requires of every launch.
    """

    def __init__(
        self,
        kernel: str,
        parameters: Sequence[tuple[str, Type]],
        backend: Backend,
        function: Any,
        written: Collection[int] | None = None,
        conditions: Sequence[Condition] = (),
        most_threads: int | None = None,
        cluster: Dim3 | None = None,
        cooperative: bool = False,
        call: Call | None = None,
        block_multiple: int = 1,
        report: Callable[[], Any] | None = None,
        *,
        contract: Contract = NOTHING,
    ) -> None:
        self.kernel = kernel
        self.call = call
        self.most_threads = most_threads
        self.cluster = cluster
        self.cooperative = cooperative
        self.block_multiple = block_multiple
        self.report = report
        self.backend = backend
        self.function = function
        self.parameters = tuple(
            Parameter(kernel, name, type_, written is None or index in written)
            for index, (name, type_) in enumerate(parameters)
        )
        self._size = buffer_size(parameter_layout(parameters))
        self.format = struct.Struct(struct_format(parameters))
        self._pack = self.format.pack_into
        self.conditions = tuple(conditions)
        self.checks = LaunchChecks(kernel, contract)
        self.prefix = name_prefix(call.names if call is not None else [name for name, _ in parameters])
        variables = zip(variable_names([(p.name, p.type) for p in self.parameters], call), parameters, strict=True)
        self._contract = self.checks.fast(self.prefix, {name: type_ for name, (_, type_) in variables})
        self._globals = globals_for([c.namespace for c in self.conditions])
        self.describe = self._source(())
        """The source text of the generated argument packer."""
        self._make = self._compile(self.describe, {})
        self._read = self._reader()
        # Idle buffers. Why a stack, and not one buffer per thread? pop and append are atomic, so neither two threads
        # nor a launch inside of a launch (an array's property may make one) ever share a buffer.
        # Why several at once? A list that pop empties is freed, and allocated again by the next append.
        self._idle = [ParameterBuffer(self._size) for _ in range(4)]
        self._bound: dict[tuple[object, ...], Callable[..., None]] = {}
        introduce(backend, function, self)

    def _source(self, guards: Sequence[str]) -> str:
        parameters = [(p.name, p.type) for p in self.parameters]
        return packer_source(self.kernel, parameters, self._places(), self.call, guards, self._contract)

    def _places(self) -> list[tuple[Place, str]]:
        taken = (*self.names, *(p.name for p in self.parameters))
        return [(place_of(c.namespace, c.name, c.value, self._globals, taken), c.name) for c in self.conditions]

    def _reader(self) -> Callable[..., tuple[Any, ...]]:
        """From the arguments of a call to the parameters."""
        if self.call is None:
            return lambda *arguments: arguments
        slots = "".join(f"{slot.source}, " for slot in self.call.slots)
        read: Callable[..., tuple[Any, ...]] = eval(f"lambda {', '.join(self.call.names)}: ({slots})", {})
        return read

    def _compile(self, source: str, guarded: Mapping[str, Any]) -> Callable[..., Callable[..., None]]:
        scope: dict[str, Any] = {
            **(FAST_FUNCTIONS if self._contract.tests else {}),
            "missing": MISSING,
            "failures": FAILURES,
            "observed": Observed,
            "float32": np.float32,
            "wide_classes": WIDE_CLASSES,
            "real_classes": REAL_CLASSES,
            "bf16_bits": bf16_bits,
        }
        variables = variable_names([(p.name, p.type) for p in self.parameters], self.call)
        for parameter, variable in zip(self.parameters, variables, strict=True):
            if isinstance(parameter.type, (PointerType, ArrayType)):
                for wide, form in product((False, True), ("", "strided")):
                    layout = layout_of(self.backend, parameter.element, wide, form)
                    scope[layout_name(variable, parameter.element, wide, form)] = layout
            elif isinstance(parameter.type, StructType):
                scope[struct_name(variable)] = partial(
                    struct_bytes, parameter.where, parameter.type, backend=self.backend
                )
            elif isinstance(parameter.type, VectorType):
                scope[struct_name(variable)] = partial(vector_bytes, parameter.where, parameter.type)
        for index, condition in enumerate(self.conditions):
            scope[f"namespace{index}"], scope[f"value{index}"] = condition.namespace, condition.value
        scope = {self.prefix + name: value for name, value in scope.items()} | dict(guarded)
        return maker(source, self._globals, scope, f"launcher of {self.kernel}")

    def tensor_packer(self, scope: Mapping[str, Any]) -> Callable[..., TakesTensors]:
        """What makes the fast way for tensors, of how to enqueue, the same in other streams, and the named stream."""
        parameters = [(p.name, p.type) for p in self.parameters]
        tests = condition_tests(self.prefix, self._places())
        source = tensor_packer_source(self.prefix, parameters, tests, [p.written for p in self.parameters])
        # RuntimeError is what a tensor without memory raises.
        named = {**scope, "failures": (*FAILURES, RuntimeError)}
        make: Any = self._compile(source, {self.prefix + name: value for name, value in named.items()})
        return lambda enqueue, elsewhere, stream: make(
            enqueue, elsewhere, stream, self._idle.pop, self._idle.append, self._pack
        )

    def bind(
        self,
        config: LaunchConfig | Launch,
        otherwise: Callable[..., None] | None = None,
        wider: Callable[..., None] | None = None,
        guards: Guards | None = None,
        other_device: OtherDevice | None = None,
    ) -> Callable[..., None]:
        """A function of the kernel's arguments that launches with ``config``, checked here against the device.

        ``otherwise`` gets the arguments if a condition does not hold; without it conditions are not looked at.
        ``wider`` gets them if an array's offsets do not fit 32 bits, instead of the ExtentError. With ``guards`` it
        gets them too if these do not hold, or an argument is not of the plain kind. ``other_device`` is asked first
        about arguments that are not: whether they belong on another device, where it has launched them.
        """
        key = (config, otherwise, wider, guards and guards.key, other_device)
        try:
            return self._bound[key]
        except (KeyError, TypeError):
            pass  # new, or with another library's stream that has no hash
        empty = isinstance(config, LaunchConfig) and config.empty
        launch = self.checked_config(config)
        bound = _Bound(self, launch, empty, otherwise, wider, guards is not None, other_device)
        make = self._make if guards is None else self._compile(self._source(guards.tests), guards.scope)
        configured = [configured_value(launch, node) for node in self._contract.configured]
        run = make(bound.enqueue, bound.checked, self._idle.pop, self._idle.append, self._pack, *configured)
        # What Python itself says of a keyword that there is not.
        run.__name__ = run.__qualname__ = self.kernel
        untraced(run)
        if len(self._bound) >= MOST_BOUND:
            self._bound.clear()
        with contextlib.suppress(TypeError):
            self._bound[key] = run
        return run

    def checked_config(self, config: LaunchConfig | Launch, *, is_launched: bool = True) -> Launch:
        """The launch that a configuration means; LaunchConfigError if the device or the kernel cannot do it. What the
        kernel's contract says of the grid holds for what ``is_launched``.
        """
        config = self._as_compiled(config)
        launch = config.check(self.backend) if isinstance(config, LaunchConfig) else config
        self._check_threads(launch)
        self.checks.check_block(launch)
        if is_launched:
            self.checks.check_configuration(launch)
        return launch

    def _as_compiled(self, config: LaunchConfig | Launch) -> LaunchConfig | Launch:
        """The configuration with what the kernel itself asks of every launch; LaunchConfigError if they differ."""
        if self.cluster is not None and config.cluster not in (None, self.cluster):
            raise LaunchConfigValueError(
                f"cluster = {config.cluster}, and {self.kernel} is compiled for clusters of {self.cluster}; leave "
                f"cluster out of the launch, or out of @kernel(cluster=...)"
            )
        cluster, cooperative = self.cluster or config.cluster, self.cooperative or config.cooperative
        if (cluster, cooperative) == (config.cluster, config.cooperative):
            return config
        return dataclasses.replace(config, cluster=cluster, cooperative=cooperative)

    def _check_threads(self, launch: Launch) -> None:
        threads = math.prod(launch.block)
        if self.most_threads is not None and threads > self.most_threads:
            raise LaunchConfigValueError(
                f"block = {launch.block} has {threads} threads, and {self.kernel} is compiled for at most "
                f"{self.most_threads}; use smaller blocks, or raise its launch_bounds"
            )

        if threads % self.block_multiple:
            size = self.block_multiple
            raise LaunchConfigValueError(
                f"block = {launch.block} has {threads} threads, and {self.kernel} works in tiles of {size}: it takes "
                f"a multiple of {size}; groups.coalesced() in place of groups.tile({size}) takes any"
            )

    def holds(self) -> bool:
        """Whether all conditions hold."""
        return all_hold(self.conditions)

    def launch(self, launch: Launch, arguments: Sequence[Any], keywords: Mapping[str, Any] | None = None) -> None:
        """One launch: what `bind` gives, called."""
        self.bind(launch)(*arguments, **(keywords or {}))

    def enqueue(self, launch: Launch) -> Enqueue:
        """A function that enqueues a packed buffer."""
        if isinstance(self.backend, PreparingBackend):
            return self.backend.prepare(self.function, launch)
        backend, function = self.backend, self.function

        def enqueue(buffer: ParameterBuffer) -> None:
            HOOKS.check()
            backend.launch(function, launch, buffer)

        return enqueue

    def record(self, launch: Launch, arguments: Mapping[str, Any]) -> LaunchRecord:
        """What hooks are told of a launch; one without a stream goes to the current one."""
        streams = streams_of(self.backend)
        if not launch.stream and streams is not None and streams.stream_state.current is not None:
            launch = dataclasses.replace(launch, stream=streams.stream_state.current.handle)
        return LaunchRecord(self.kernel, launch, MappingProxyType(dict(arguments)), self.backend)

    def arguments(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """One argument for each parameter; ArgumentTypeError for a wrong count."""
        named = [(p.name, p.type) for p in self.parameters]
        if self.call is not None:
            named = list(zip(self.call.names, self.call.types, strict=True))
        count = len(named)
        missing = [f"`{name}`" for (name, _), value in zip(named, given, strict=False) if value is MISSING]
        if len(given) == count and not missing:
            if self.call is None:
                return given
            self.call.check(self.kernel, given)
            return self._read(*given)
        signature = f"{self.kernel}({', '.join(f'{name}: {type_}' for name, type_ in named)})"
        counted = f"{signature} takes {count} argument{'s' if count != 1 else ''}, got {len(given) - len(missing)}"
        if missing:
            raise ArgumentTypeError(f"{counted}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
        raise ArgumentTypeError(f"{counted}: drop {len(given) - count}")

    @property
    def names(self) -> list[str]:
        """What a call takes, by name."""
        return list(self.call.names) if self.call is not None else [p.name for p in self.parameters]

    def named(self, given: tuple[Any, ...]) -> dict[str, Any]:
        """By name, the arguments that were given."""
        return {name: value for name, value in zip(self.names, given, strict=False) if value is not MISSING}

    def checked_arguments(self, given: tuple[Any, ...], launch: Launch, stream: int = NO_ORDER) -> list[Any]:
        """What fits each parameter in a launch: an ArrayArgument, or the number to pack. ``stream`` is as for
        `array_argument`.
        """
        values = self.arguments(given)
        found = [
            scalar_argument(parameter, value, self.backend)
            if isinstance(parameter.type, ScalarType | StructType | VectorType)
            else array_argument(parameter, value, self.backend, stream)
            for parameter, value in zip(self.parameters, values, strict=True)
        ]
        self.checks.check(launch, self.parameters, found, values)
        return found

    def pack(self, values: Sequence[Any]) -> ParameterBuffer:
        """A buffer with ``values``, one for each PTX parameter; `keep` it once it is enqueued."""
        try:
            buffer = self._idle.pop()
        except IndexError:
            buffer = self.fresh_buffer()
        self.pack_into(buffer, values)
        return buffer

    def fresh_buffer(self) -> ParameterBuffer:
        """A buffer of the parameters' size, for `pack_into`."""
        return ParameterBuffer(self._size)

    def pack_into(self, buffer: ParameterBuffer, values: Sequence[Any]) -> None:
        """Write ``values``, one for each PTX parameter."""
        self._pack(buffer, 0, *values)

    def keep(self, buffer: ParameterBuffer) -> None:
        """Let the fast way use a buffer that is no longer needed."""
        if len(self._idle) < MOST_IDLE:
            self._idle.append(buffer)


class _Bound:
    """A launcher with one configuration: how it enqueues, and the checked way for arguments of every kind."""

    def __init__(
        self,
        launcher: Launcher,
        launch: Launch,
        empty: bool,
        otherwise: Callable[..., None] | None,
        wider: Callable[..., None] | None,
        is_guarded: bool = False,
        other_device: OtherDevice | None = None,
    ) -> None:
        self.launcher = launcher
        self.launch = launch
        self.empty = empty
        self.otherwise = otherwise
        self.wider = wider
        self.is_guarded = is_guarded
        self._elsewhere: dict[int, Enqueue] = {}
        self.other_device = other_device
        self._tensors: TakesTensors | None = None
        self.enqueue: Enqueue = nothing if empty else launcher.enqueue(launch)

    @untraced
    def checked(self, given: tuple[Any, ...]) -> None:
        """Check all arguments; only then copy in, launch and copy back."""
        leave_alone()
        if self._has_run_with_tensors(given):
            return
        launcher = self.launcher
        if self.other_device is not None and self.other_device(launcher.backend, given):
            return
        if self.otherwise is not None and (self.is_guarded or not launcher.holds()):
            if any(value is MISSING for value in given):
                self.otherwise(**launcher.named(given))
            else:
                self.otherwise(*given)
            return
        try:
            found = launcher.checked_arguments(given, self.launch, self.launch.stream)
        except ExtentError:
            if self.wider is None:
                raise
            self.wider(*given)
            return
        if not self.empty:
            if HOOKS.are_wanted:
                record = launcher.record(self._in_its_stream(found), launcher.named(given))
                HOOKS.observe(record, partial(self._run, found))
            else:
                self._run(found)

    def _has_run_with_tensors(self, given: tuple[Any, ...]) -> bool:
        """Launch with tensors of PyTorch on this GPU, if that is all that is special about the arguments."""
        launch_with = self._tensors
        if launch_with is None:
            torch = next((torch for value in given if (torch := loaded_torch(value)) is not None), None)
            if torch is None:
                return False
            launch_with = self._tensors = self._make_tensors(torch) or _with_none
        if launch_with is _with_none or HOOKS.are_wanted:
            return False
        backend: Any = self.launcher.backend
        # A stream of ours that is current, and a graph that is captured, come before a stream of PyTorch's.
        return not (backend.captures or backend.stream_state.uses) and launch_with(given)

    def _make_tensors(self, torch: Any) -> TakesTensors | None:
        launcher = self.launcher
        parameters = [(p.name, p.type) for p in launcher.parameters]
        if (
            self.empty
            or self.is_guarded
            or launcher.call is not None
            or launcher.checks.contract.relations
            or not isinstance(launcher.backend, SharingBackend)
            or not takes_tensors(parameters)
        ):
            return None
        scope = tensor_scope(torch, launcher.backend)
        return None if scope is None else launcher.tensor_packer(scope)(
            self.enqueue, self._elsewhere, self.launch.stream,
        )  # fmt: skip

    def _in_its_stream(self, found: list[Any]) -> Launch:
        """The launch with the stream that it goes to."""
        streams = [a.stream for a in found if isinstance(a, ArrayArgument) and a.stream is not None]
        return dataclasses.replace(self.launch, stream=self._stream(streams))

    def _run(self, found: list[Any]) -> None:
        """Copy in, launch and copy back."""
        launcher = self.launcher
        pairs = [(p, a) for p, a in zip(launcher.parameters, found, strict=True) if isinstance(a, ArrayArgument)]
        capture = capture_of(launcher.backend, self.launch.stream)
        if capture is not None:
            keep_for(capture, pairs, found)
        stream = self._order([a.stream for _, a in pairs if a.stream is not None and capture is None])
        enqueue = self.enqueue if stream == self.launch.stream else self._enqueue_on(stream)
        hosted = [Staged(a.host, a.is_read, p.written and a.is_returned) for p, a in pairs if a.host is not None]
        host = HostArrays(launcher.backend, hosted, launcher.checks.staged_alignment)
        try:
            host.copy_in()
            buffer = launcher.pack(packed(launcher.parameters, found, host))
            peers = {a.peer for _, a in pairs if a.peer is not None}
            if peers:
                with ordered(launcher.backend, self._named(stream), peers):
                    enqueue(buffer)
            else:
                enqueue(buffer)
            foreign = [
                (a.foreign, p.written and a.is_returned) for p, a in pairs if a.foreign is not None and capture is None
            ]
            note_launch(foreign, stream, launcher.backend)
            host.copy_back()
        finally:
            host.release()
        launcher.keep(buffer)

    def _order(self, streams: list[int]) -> int:
        """The stream to launch in, after the work that other libraries have in ``streams``."""
        stream, backend = self._stream(streams), streams_of(self.launcher.backend)
        if backend is not None:
            for other in sorted(set(streams) - {stream}):
                backend.order(other, stream)
        return stream

    def _stream(self, streams: list[int]) -> int:
        """The stream to launch in: one of other libraries', if the user named none."""
        backend = streams_of(self.launcher.backend)
        if not streams or backend is None:
            return self.launch.stream
        current = backend.stream_state.current
        return self.launch.stream or (streams[0] if current is None else int(current.handle))

    def _named(self, stream: int) -> int:
        """The stream that 0 stands for: the current one, or the default stream by its own name."""
        backend = streams_of(self.launcher.backend)
        current = backend.stream_state.current if backend is not None else None
        return stream or (LEGACY_STREAM if current is None else int(current.handle))

    def _enqueue_on(self, stream: int) -> Enqueue:
        if self.empty:
            return nothing
        found = self._elsewhere.get(stream)
        if found is None:
            if len(self._elsewhere) >= MOST_ELSEWHERE:
                self._elsewhere.clear()
            launch = dataclasses.replace(self.launch, stream=stream)
            found = self._elsewhere[stream] = self.launcher.enqueue(launch)
        return found


def _with_none(_: tuple[Any, ...]) -> bool:
    """There is no fast way for tensors."""
    return False


def packed(parameters: Sequence[Parameter], found: Sequence[Any], host: HostArrays) -> list[Any]:
    """The values of the PTX parameters, in order."""
    out: list[Any] = []
    for parameter, argument in zip(parameters, found, strict=True):
        if not isinstance(argument, ArrayArgument):
            out.append(argument)
            continue
        staged = argument.host is not None and argument.host.size > 0
        # An array without elements has no memory, here or there.
        out.append(host.address(argument.address) if staged else 0 if argument.host is not None else argument.address)
        type_ = parameter.type
        if isinstance(type_, ArrayType):
            out += argument.shape
            out += argument.element_strides if type_.strided else ()
    return out


def nothing(_: ParameterBuffer) -> None:
    """Enqueue an empty launch."""


def not_configured(kernel: str, arguments: Sequence[Any]) -> TypeError:
    """The error for ``k(a, b)`` without ``[grid, block]``."""
    given = ", ".join(shown(argument) for argument in arguments)
    return ArgumentTypeError(f"{kernel}({given}) lacks a launch configuration; write {kernel}[grid, block](...)")
