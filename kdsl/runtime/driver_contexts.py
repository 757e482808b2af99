"""The CUDA context of a thread, where several devices or libraries have one: left as it was found.

With one device and one library nothing of this costs a launch anything: contexts are looked at once a launch was
refused for its context, or a second device has one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from kdsl.runtime import driver_errors

if TYPE_CHECKING:
    from kdsl.runtime.driver_calls import Calls
    from kdsl.runtime.driver_entry import Native

T = TypeVar("T", bound=type)

OUTSIDE = frozenset({driver_errors.INVALID_CONTEXT, driver_errors.INVALID_HANDLE})
"""What the driver says of a launch in the context of another device, or in a thread without one."""


def keeps_context(cls: T) -> T:
    """A class of a device whose methods leave another device's context current, if it was so before."""
    methods = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
    for name, method in methods.items():
        if isinstance(method, FunctionType) and not name.startswith("_") and name not in WITHOUT:
            setattr(cls, name, _keeping(method))
    return cls


def _keeping(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def keeping(self: Any, *arguments: Any, **keywords: Any) -> Any:
        calls: Calls = self._calls
        # Nothing may be asked of the driver in a callback, and nothing can be after a fork.
        if calls.forked or calls.dead or calls.in_callback():
            return method(self, *arguments, **keywords)
        before = calls.api.cuCtxGetCurrent()[1]
        if not int(before):
            return method(self, *arguments, **keywords)
        if calls.context is None:
            calls.start()
        if int(before) == int(calls.context):
            return method(self, *arguments, **keywords)
        # Entered here, so that methods that it calls find the device's own context, and leave that.
        calls.bare("cuCtxSetCurrent", calls.context)
        try:
            return method(self, *arguments, **keywords)
        finally:
            calls.api.cuCtxSetCurrent(before)

    return keeping


WITHOUT = frozenset({"start", "can_reach", "reaches", "is_ordered"})
"""Methods of a device that need no context."""
_MADE: WeakSet[Calls] = WeakSet()


def made(calls: Calls) -> None:
    """Note that a device has a context now: if it is the second one, launches must see to theirs."""
    for other in list(_MADE):
        if other.driver is calls.driver and int(other.context) != int(calls.context):
            see_to_context(other)
            see_to_context(calls)
    _MADE.add(calls)


def see_to_context(calls: Calls) -> None:
    """Launch in the device's own context from now on, whichever is current."""
    calls.launch_inside(functools.partial(in_context, calls))


def was_outside(calls: Calls, code: int) -> bool:
    """Whether a launch was refused because it was not in the device's context; it is, the next time."""
    if code not in OUTSIDE or calls.dead:
        return False
    current = int(calls.api.cuCtxGetCurrent()[1])
    if calls.context is not None and current == int(calls.context):
        return False
    if current:
        see_to_context(calls)
    else:
        calls.enter()
    return True


def in_context(calls: Calls, launch: Native) -> Native:
    """``launch`` in the device's context, whichever is current."""
    current, enter = calls.api.cuCtxGetCurrent, calls.api.cuCtxSetCurrent
    own = int(calls.context)

    def launch_inside(*arguments: Any) -> int:
        before = current()[1]
        if int(before) == own:
            return launch(*arguments)
        code = int(enter(calls.context)[0])
        if code:
            return code
        try:
            return launch(*arguments)
        finally:
            if int(before):
                enter(before)

    return launch_inside
