"""The typed launcher of one compiled kernel on one backend: checks arguments, packs them, enqueues, copies NumPy arrays
back.
"""

from __future__ import annotations

import contextlib
import dataclasses
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType, MethodType
from typing import Any

from kdsl.backend import Backend, Dim3, Launch
from kdsl.contracts.contract import NOTHING, Contract
from kdsl.lang.layout import buffer_size, parameter_layout
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ScalarType, Type, VectorType
from kdsl.runtime.arguments import array_argument, scalar_argument
from kdsl.runtime.bound_launch import BoundLaunch, OtherDevice
from kdsl.runtime.calls import Call, Guards
from kdsl.runtime.compiled_limits import CompiledLimits
from kdsl.runtime.conditions import Condition, all_hold
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.contracts import LaunchChecks, configured_value
from kdsl.runtime.dlpack import NO_ORDER
from kdsl.runtime.dynamo import untraced
from kdsl.runtime.enqueue import Enqueue, enqueuing
from kdsl.runtime.errors import ArgumentTypeError
from kdsl.runtime.foreign_memory import SharingBackend
from kdsl.runtime.foreign_packer import LaunchesForeign
from kdsl.runtime.formats import struct_format
from kdsl.runtime.graph_backend import introduce
from kdsl.runtime.hooks import LaunchRecord
from kdsl.runtime.launch_parameters import Parameter
from kdsl.runtime.launcher_code import MISSING, LauncherCode
from kdsl.runtime.parameters import ParameterBuffer
from kdsl.runtime.scalars import shown
from kdsl.runtime.stream_backend import current_of

MOST_BOUND = 256
"""Configurations that a launcher keeps launches ready for."""
MOST_IDLE = 64
"""Buffers that a launcher keeps: one for each thread that launches at the same time."""


class Launcher:
    """Launches one compiled kernel with Python arguments.

    ``parameters`` are (name, concrete type). ``written`` holds the indexes of the parameters through which the kernel
    may write memory; None if that is not known, which counts as all of them. ``call`` says what a call gives, where
    that is something else than the parameters. ``report`` gives ptxas's report on the kernel, ``contract`` what it
    requires of every launch; the rest is as in `CompiledLimits`.
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
        self.limits = CompiledLimits(kernel, most_threads, cluster, cooperative, block_multiple)
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
        self._code = LauncherCode(kernel, self.parameters, backend, self.conditions, call, self.checks)
        self.prefix = self._code.prefix
        self.names = self._code.names
        """What a call takes, by name."""
        self.describe = self._code.source
        """The source text of the generated argument packer."""
        self._read = self._code.reader()
        # Idle buffers. Why a stack, and not one buffer per thread? pop and append are atomic, so neither two threads
        # nor a launch inside of a launch (an array's property may make one) ever share a buffer.
        # Why several at once? A list that pop empties is freed, and allocated again by the next append.
        self._idle = [ParameterBuffer(self._size) for _ in range(4)]
        self._bound: dict[tuple[object, ...], Callable[..., None]] = {}
        introduce(backend, function, self)

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
        bound = BoundLaunch(self, launch, empty, otherwise, wider, guards is not None, other_device)
        make = self._code.make if guards is None else self._code.guarded(guards)
        configured = [configured_value(launch, node) for node in self._code.contract.configured]
        run = make(bound.enqueue, bound.checked, self._idle.pop, self._idle.append, self._pack, *configured)
        # What Python itself says of an argument that is given twice.
        run.__qualname__ = self.kernel
        # Why a method? It is called as fast as a function, and pickled as `__call__` of the kernel with its
        # configuration, once that has it.
        run.__name__ = "__call__"
        run = MethodType(untraced(run), bound)
        if len(self._bound) >= MOST_BOUND:
            self._bound.clear()
        with contextlib.suppress(TypeError):
            self._bound[key] = run
        return run

    def checked_config(self, config: LaunchConfig | Launch, *, is_launched: bool = True) -> Launch:
        """The launch that a configuration means; LaunchConfigError if the device or the kernel cannot do it. What the
        kernel's contract says of the grid holds for what ``is_launched``.
        """
        config = self.limits.applied(config)
        launch = config.check(self.backend) if isinstance(config, LaunchConfig) else config
        self.limits.check(launch)
        self.checks.check_block(launch)
        if is_launched:
            self.checks.check_configuration(launch)
        return launch

    def foreign_packer(self, given: Sequence[Any], sharing: SharingBackend) -> Callable[..., LaunchesForeign] | None:
        """What makes the fast way for arguments of the classes that these have, of how to enqueue, the same in other
        streams, and the named stream; None where there is none.
        """
        make = self._code.foreign(given, sharing)
        if make is None:
            return None
        return lambda enqueue, elsewhere, stream: make(
            enqueue, elsewhere, stream, self._idle.pop, self._idle.append, self._pack
        )

    def holds(self) -> bool:
        """Whether all conditions hold."""
        return all_hold(self.conditions)

    def launch(self, launch: Launch, arguments: Sequence[Any], keywords: Mapping[str, Any] | None = None) -> None:
        """One launch: what `bind` gives, called."""
        self.bind(launch)(*arguments, **(keywords or {}))

    def enqueue(self, launch: Launch) -> Enqueue:
        """A function that enqueues a packed buffer."""
        return enqueuing(self.backend, self.function, launch)

    def record(self, launch: Launch, arguments: Mapping[str, Any]) -> LaunchRecord:
        """What hooks are told of a launch; one without a stream goes to the current one."""
        launch = dataclasses.replace(launch, stream=launch.stream or current_of(self.backend) or 0)
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


def not_configured(
    kernel: str, arguments: Sequence[Any], keywords: Mapping[str, Any], contract: Contract = NOTHING
) -> TypeError:
    """The error for ``k(a, b)`` without ``[grid, block]``."""
    named = [f"{name}={shown(argument)}" for name, argument in keywords.items()]
    given = ", ".join([*map(shown, arguments), *named])
    derived = f"{kernel}.launch(...) or " if contract.grid is not None and contract.block is not None else ""
    return ArgumentTypeError(
        f"{kernel}({given}) lacks a launch configuration; write {derived}{kernel}[grid, block](...)"
    )
