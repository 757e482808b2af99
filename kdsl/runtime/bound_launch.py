"""A launcher with one configuration: how it enqueues, and the checked way for arguments of every kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from kdsl.backend import Backend, Launch
from kdsl.lang.types import ArrayType
from kdsl.runtime.call_names import check_names
from kdsl.runtime.capture_arguments import capture_of, keep_for
from kdsl.runtime.dynamo import leave_alone, untraced
from kdsl.runtime.enqueue import Enqueue, nothing
from kdsl.runtime.errors import ExtentError
from kdsl.runtime.foreign_launch import ForeignLaunches
from kdsl.runtime.foreign_memory import note_launch
from kdsl.runtime.hooks import HOOKS, Observed
from kdsl.runtime.host_arrays import HostArrays, Staged
from kdsl.runtime.launch_parameters import ArrayArgument, Parameter
from kdsl.runtime.launcher_code import MISSING
from kdsl.runtime.mistakes import users_mistakes
from kdsl.runtime.peers import LEGACY_STREAM, ordered
from kdsl.runtime.stream_backend import streams_of

if TYPE_CHECKING:
    from kdsl.runtime.launcher import Launcher

OtherDevice = Callable[[Backend, tuple[Any, ...]], bool]
NONE_UNKNOWN: Mapping[str, Any] = MappingProxyType({})
MOST_ELSEWHERE = 32
"""Streams of other libraries that one configuration keeps launches ready for."""


class BoundLaunch:
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
        self.enqueue: Enqueue = nothing if empty else launcher.enqueue(launch)
        is_plain = not (empty or is_guarded or launcher.call is not None or launcher.checks.contract.relations)
        self._foreign = ForeignLaunches(launcher, launch, self.enqueue, self._elsewhere, is_plain)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a launch of the loaded kernel {self.launcher.kernel} is of this process; load the module and configure "
            "the kernel where it is launched"
        )

    @untraced
    def checked(self, given: tuple[Any, ...], unknown: Mapping[str, Any] = NONE_UNKNOWN) -> None:
        """Check all arguments; only then copy in, launch and copy back. ``unknown`` are arguments by other names than
        the parameters'.
        """
        leave_alone()
        try:
            if unknown:
                check_names(self.launcher.kernel, self.launcher.names, unknown)
            self._check_and_run(given)
        except users_mistakes() as error:
            # A mistake of the user's: the traceback shows their launch, without a screen of our frames.
            raise error.with_traceback(None) from error.__cause__

    def _check_and_run(self, given: tuple[Any, ...]) -> None:
        if self._foreign.launch_with(given):
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
        if self.empty:
            return
        if not HOOKS.are_wanted:
            try:
                self._run(found)
                return
            except Observed:
                pass  # another thread's hook came while it was being made
        record = launcher.record(self._in_its_stream(found), launcher.named(given))
        HOOKS.observe(record, partial(self._run, found))

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
            keep_for(capture, pairs, found, launcher.backend)
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
        return self.launch.stream or (streams[0] if current is None else int(current._handle))

    def _named(self, stream: int) -> int:
        """The stream that 0 stands for: the current one, or the default stream by its own name."""
        backend = streams_of(self.launcher.backend)
        current = backend.stream_state.current if backend is not None else None
        return stream or (LEGACY_STREAM if current is None else int(current._handle))

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
