"""Looking at each launch of the driver, and moving it to another stream: on only while something asks for it, so that
launches cost nothing of this otherwise.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from kdsl.backend import Launch
from kdsl.runtime.driver_calls import Calls
from kdsl.runtime.driver_entry import LaunchStruct, Reference
from kdsl.runtime.driver_modules import CudaFunction

Describe = Callable[[], tuple[CudaFunction, Launch, bytes]]
"""Gives what is launched: a kernel, its configuration, and its packed parameters."""
Watcher = Callable[[Callable[[int], int], int, Describe], int]
"""Gets what launches in the stream it is given, the stream that was asked for, and what is launched; returns the
driver's code."""


def watch(calls: Calls, watcher: Watcher | None) -> None:
    """Let ``watcher`` make each launch from now on; None: the driver alone."""
    native = calls.native
    if watcher is None:
        calls.watch(None)
        return

    def launch(config: Any, function: int, parameters: int) -> int:
        asked: LaunchStruct = config.struct

        def in_stream(stream: int) -> int:
            return native(Reference.to(asked.on(stream)), function, parameters)

        def describe() -> tuple[CudaFunction, Launch, bytes]:
            found, config = asked.launched
            return found, config, parameters_at(parameters)

        return watcher(in_stream, asked.stream or 0, describe)

    calls.watch(launch)


def parameters_at(extra: int) -> bytes:
    """The packed parameters that `ParameterBuffer.extra` stands for."""
    if not extra:
        return b""
    words = (ctypes.c_uint64 * 5).from_address(extra)
    return ctypes.string_at(words[1], ctypes.c_size_t.from_address(words[3]).value)
