"""``await`` for what a stream does: a thread waits for an event of the device, and wakes asyncio's loop.

Why a thread, and not a callback of the stream? The driver calls no callback once a kernel has failed, and one that
waits for the GIL can hold up libraries that hold the GIL while they call CUDA.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Protocol

from kdsl.backend import Backend
from kdsl.locks import Lock

if TYPE_CHECKING:
    import asyncio

Told = Callable[[BaseException | None], object]


class Awaited(Protocol):
    """An event: what `kdsl.runtime.event.Event` is."""

    @property
    def backend(self) -> Backend: ...
    @property
    def stream(self) -> int: ...

    @property
    def done(self) -> bool: ...
    def synchronize(self) -> None: ...


class Waiters:
    """Threads that wait for events: one for each stream in which something is awaited, as long as that is so."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._queues: dict[int, deque[tuple[Awaited, Told]]] = {}

    def add(self, event: Awaited, told: Told) -> None:
        """Call ``told`` once the event is done, in another thread, with what went wrong."""
        with self._lock:
            queue = self._queues.get(event.stream)
            if queue is not None:
                queue.append((event, told))
                return
            self._queues[event.stream] = deque([(event, told)])
        # A daemon: a kernel that does not end must not keep the interpreter.
        threading.Thread(target=self._run, args=(event.stream,), name="kdsl: awaited", daemon=True).start()

    def _run(self, stream: int) -> None:
        while True:
            event, told = self._queues[stream][0]
            error: BaseException | None = None
            try:
                event.synchronize()
            except BaseException as failure:
                error = failure  # raised where it is awaited
            told(error)
            del event, told
            with self._lock:
                queue = self._queues[stream]
                queue.popleft()
                if not queue:
                    del self._queues[stream]
                    return


@functools.cache
def waiters_of(backend: Any) -> Waiters:
    """Those of a device. Backends hash by identity and live as long as the process."""
    return Waiters()


def wait_for(event: Awaited) -> Generator[Any, None, None]:
    """What an ``__await__`` gives: ends when the event is done, and raises what went wrong in the work before it."""
    import asyncio  # start-up cost: who awaits has it already

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "await of a stream or event needs a running asyncio loop; elsewhere call synchronize() in a thread"
        ) from None
    if event.done:
        # Other tasks get their turn here too.
        yield from asyncio.sleep(0).__await__()
        return
    future: asyncio.Future[None] = loop.create_future()

    def told(error: BaseException | None) -> None:
        # A loop that was closed meanwhile has nobody who waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_finish, future, error)

    device: Any = event.backend  # a Protocol says nothing of hashing
    waiters_of(device).add(event, told)
    yield from future


def _finish(future: asyncio.Future[None], error: BaseException | None) -> None:
    if future.done():
        return  # cancelled
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
