"""A prepared launch: configuration checked and arguments packed in advance, so that each launch is one driver call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from kdsl.backend import Launch, device_name
from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.types import TupleType, Type
from kdsl.runtime.bound_launch import packed
from kdsl.runtime.call_names import CHANGED, check_names
from kdsl.runtime.callables import function_type
from kdsl.runtime.calls import check_tuple
from kdsl.runtime.capture_arguments import capture_of
from kdsl.runtime.config import LaunchConfig
from kdsl.runtime.device import Device, device_of
from kdsl.runtime.enqueue import Enqueue, nothing
from kdsl.runtime.errors import ArgumentTypeError, ArgumentValueError, LaunchConfigTypeError, written
from kdsl.runtime.foreign_memory import note_launch
from kdsl.runtime.hooks import HOOKS, Observed
from kdsl.runtime.host_arrays import HostArrays
from kdsl.runtime.inference import infer_type
from kdsl.runtime.launch_parameters import ArrayArgument, Parameter
from kdsl.runtime.launcher import Launcher
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.parameters import ParameterBuffer
from kdsl.runtime.stream_backend import StreamBackend, current_of


class PreparedLaunch:
    """A launch of ``kernel`` that can be made again and again: ``p()``, or ``p.launch()``. It never changes;
    `with_arguments` and `with_config` give others. Made by ``kernel.prepare``.

    It keeps launching what was compiled when it was prepared, on the device that was current then, whatever has become
    current or been bound to captured names since. It holds its arguments: arrays live as long as it does. Any thread
    may launch it.
    """

    __slots__ = (
        "__weakref__", "_arrays", "_buffer", "_config", "_enqueue", "_held", "_launch", "_launcher", "_named",
        "_stream",
    )  # fmt: skip
    _arrays: tuple[DeviceArray, ...]
    _buffer: ParameterBuffer
    _config: LaunchConfig
    _enqueue: Enqueue
    _held: tuple[Any, ...]
    _launch: Launch
    _launcher: Launcher
    _named: Mapping[str, Any]
    _stream: int

    def __init__(
        self,
        launcher: Launcher,
        config: LaunchConfig,
        launch: Launch,
        named: Mapping[str, Any],
        buffer: ParameterBuffer,
        enqueue: Enqueue,
        stream: int,
    ) -> None:
        """``stream`` is where it goes if none was named and none is current."""
        passed = launcher.arguments(tuple(named.values()))
        arrays = tuple(memory_of(passed))
        values = (arrays, buffer, config, enqueue, passed, launch, launcher, MappingProxyType(dict(named)), stream)
        for name, value in zip(self.__slots__[1:], values, strict=True):
            object.__setattr__(self, name, value)
        for array in arrays:
            array._tell_when_freed(self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a prepared launch does not change: with_arguments and with_config make another ({name})")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a prepared launch does not change: {name} cannot be deleted")

    def _lose_memory(self) -> None:
        """An array of it was freed by `DeviceArray.free`: launching it would use other arrays' memory."""
        object.__setattr__(self, "_enqueue", self._refuse)

    def _check_live(self) -> None:
        """ValueError once the memory of one of its arrays was freed."""
        for array in self._arrays:
            array._check_live()

    def _refuse(self, _: ParameterBuffer) -> NoReturn:
        self._check_live()
        raise ValueError(f"an array of {self!r} was freed by free()")

    @property
    def config(self) -> LaunchConfig:
        """As it was given."""
        return self._config

    @property
    def arguments(self) -> Mapping[str, Any]:
        """By name, as they were given; what was packed of a struct is not packed again when that changes."""
        return self._named

    if TYPE_CHECKING:

        def launch(self) -> None:
            """Enqueue it; returns at once on a GPU."""
    else:
        # Why not keywords? A dictionary for each launch would cost more than all else here does.
        def launch(self, *arguments: Any) -> None:
            """Enqueue it; returns at once on a GPU."""
            if arguments:
                raise self._given(arguments)
            try:
                self._enqueue(self._buffer)
                return
            except Observed:
                pass
            self._launch_observed()

    __call__ = launch

    def _given(self, arguments: Sequence[Any]) -> ArgumentTypeError:
        """That a launch with arguments is another one."""
        said = dict(zip(self.arguments, map(written, arguments), strict=False))
        changed = ", ".join(f"{name}={value}" for name, value in said.items()) or "..."
        return ArgumentTypeError(
            f"{self.kernel}: a prepared launch has its arguments, p(); q = p.with_arguments({changed}) is another, and "
            f"{self.kernel}[grid, block](...) takes others each time"
        )

    def _launch_observed(self) -> None:
        launch = self._launch
        if not launch.stream and current_of(self._launcher.backend) is None:
            launch = replace(launch, stream=self._stream)
        record = self._launcher.record(launch, self._named)
        HOOKS.observe(record, partial(self._enqueue, self._buffer))

    @property
    def _packed(self) -> bytes:
        """The kernel's parameters, as a launch passes them."""
        return bytes(self._buffer)

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self._launcher.kernel

    @property
    def device(self) -> Device:
        """Where it launches, whichever device is current."""
        return device_of(self._launcher.backend)

    def with_arguments(self, /, **changed: Any) -> PreparedLaunch:
        """The same launch with other arguments, by name; they are checked as those of a launch are.

        ArgumentError for what the compiled kernel does not take: its types and constants stay as they are.
        """
        check_names(self.kernel, list(self.arguments), changed, CHANGED)
        call = self._launcher.call
        for name, type_ in zip(call.names, call.types, strict=True) if call is not None else ():
            if name in changed and not _same_constants(self.kernel, name, type_, self.arguments[name], changed[name]):
                raise ArgumentTypeError(
                    f"{self.kernel}: argument `{name}` differs in what the kernel was compiled with; prepare another "
                    f"launch, {self.kernel}.prepare(...)"
                )
        return prepare(self._launcher, self.config, {**self.arguments, **changed})

    def with_config(self, /, *configuration: Any) -> PreparedLaunch:
        """The same launch with another configuration: ``with_config(grid, block)`` or
        ``with_config(LaunchConfig(...))``.
        """
        config, rest = split_configuration("with_config", configuration)
        if rest:
            raise LaunchConfigTypeError("with_config takes grid and block, or a LaunchConfig; nothing after them")
        return prepare(self._launcher, config, self.arguments)

    def __repr__(self) -> str:
        return f"<prepared launch of {self.kernel}[{self.config.grid}, {self.config.block}]>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a prepared launch is of this process and its device memory; pickle the kernel, and prepare it")


def split_configuration(what: str, given: Sequence[Any]) -> tuple[LaunchConfig, Sequence[Any]]:
    """The configuration that begins the arguments of ``prepare`` (grid and block, or a LaunchConfig), and the rest."""
    if given and isinstance(given[0], LaunchConfig):
        return given[0], given[1:]
    if len(given) < 2:
        raise LaunchConfigTypeError(
            f"{what} takes grid and block, or a LaunchConfig, before the arguments: {what}(grid, block, ...)"
        )
    return LaunchConfig(given[0], given[1]), given[2:]


def prepare(launcher: Launcher, config: LaunchConfig, arguments: Mapping[str, Any]) -> PreparedLaunch:
    """The launch of these arguments, which are all of the launcher's by name; ArgumentError and LaunchConfigError as
    for a launch, and for arrays in host memory.
    """
    launch = launcher.checked_config(config)
    given = tuple(arguments[name] for name in launcher.names)
    found = launcher.checked_arguments(given, launch, launch.stream)
    for parameter, argument in zip(launcher.parameters, found, strict=True):
        if isinstance(argument, ArrayArgument) and argument.host is not None:
            raise _on_the_host(parameter)
        if isinstance(argument, ArrayArgument) and argument.peer is not None:
            raise parameter.error(
                ArgumentValueError,
                f"a DeviceArray on {device_name(argument.peer)}",
                f"a prepared launch takes arrays of one device, {device_name(launcher.backend)}",
            )
    enqueue, stream = (nothing, launch.stream) if config.empty else _enqueue(launcher, launch, found)
    values = packed(launcher.parameters, found, HostArrays(launcher.backend, []))
    buffer = launcher.fresh_buffer()
    launcher.pack_into(buffer, values)
    named = dict(zip(launcher.names, given, strict=True))
    return PreparedLaunch(launcher, config, launch, named, buffer, enqueue, stream)


def _on_the_host(parameter: Parameter) -> Exception:
    name = parameter.name
    return parameter.error(
        ArgumentTypeError,
        "an array in host memory",
        f"a prepared launch copies nothing: pass kdsl.to_device({name}), keep it, and read it with .to_host()",
    )


def _enqueue(launcher: Launcher, launch: Launch, found: Sequence[Any]) -> tuple[Enqueue, int]:
    """How it is enqueued, and where without a current stream: if the user named no stream, in the current one, or else
    in that of other libraries' arrays; after their work in other streams; and they are told, each time.
    """
    backend = launcher.backend
    pairs = [(p, a) for p, a in zip(launcher.parameters, found, strict=True) if isinstance(a, ArrayArgument)]
    foreign = [(a.foreign, p.written) for p, a in pairs if a.foreign is not None]
    streams = [a.stream for _, a in pairs if a.stream is not None]
    if not foreign or not isinstance(backend, StreamBackend):
        return launcher.enqueue(launch), launch.stream
    own = launch.stream or (streams[0] if streams else 0)
    in_own, in_current = launcher.enqueue(replace(launch, stream=own)), launcher.enqueue(launch)

    def enqueue_among_others(buffer: ParameterBuffer) -> None:
        current = None if launch.stream else current_of(backend)
        stream, enqueue = (own, in_own) if current is None else (current, in_current)
        capture = capture_of(launcher.backend, stream)
        if capture is not None:
            # It does not run now: what other streams do now is not what it comes after.
            capture.kept.append(foreign)
            enqueue(buffer)
            return
        for other in sorted(set(streams) - {stream}):
            backend.order(other, stream)
        enqueue(buffer)
        note_launch(foreign, stream, launcher.backend)

    return enqueue_among_others, own


def _same_constants(kernel: str, name: str, type_: Type, old: Any, new: Any) -> bool:
    """Whether the constants and functions in two arguments of a type are the same; functions may hold other values."""
    match type_:
        case TupleType(elements):
            check_tuple(kernel, name, type_, new)
            parts = enumerate(zip(elements, old, new, strict=True))
            return all(_same_constants(kernel, f"{name}[{i}]", element, *values) for i, (element, *values) in parts)
        case ConstexprType(is_function=True):
            return callable(new) and function_type(kernel, name, new, infer_type).key == type_.key
        case ConstexprType():
            # Their text tells 0.0 from -0.0.
            return old is new or (type(old) is type(new) and old == new and repr(old) == repr(new))
        case _:
            return True


def memory_of(value: Any) -> Iterator[DeviceArray]:
    """The device arrays in a tuple or in a struct's pointers, which the struct may lose when its fields change."""
    if isinstance(value, DeviceArray):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from memory_of(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from memory_of(getattr(value, field.name))
