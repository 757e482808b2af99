"""Who owns device memory, and when it is given back."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import ClassVar, NoReturn, Protocol, runtime_checkable

from kdsl.backend import Backend
from kdsl.locks import Lock


@runtime_checkable
class LendingBackend(Protocol):
    """A backend whose memory other libraries may use, in streams that it does not know."""

    def free_lent(self, address: int, size: int) -> None:
        """As `free`, when all work of the device has ended, whoever enqueued it."""
        ...


class MemoryUser(Protocol):
    """What uses device memory by its address."""

    def _lose_memory(self) -> None:
        """The memory was freed."""
        ...


class Allocation:
    """Owns device memory, and gives it back when the last array that uses it is gone, or when it is told to.

    ``is_shared``: another library was given its address.
    """

    __slots__ = ("__weakref__", "_limit", "_users", "address", "backend", "is_shared", "size")
    # One for all: making one takes longer than what is done under it.
    _lock: ClassVar[Lock] = Lock()

    def __init__(self, backend: Backend, size: int) -> None:
        self.backend, self.size = backend, size
        self.is_shared = False
        self._users: list[weakref.ref[MemoryUser]] = []
        self._limit = 8
        # Why no allocation of 0 bytes? Not every device has one. The null address is refused if a kernel reads it.
        self.address = 0
        self.address = backend.alloc(size) if size else 0

    def add(self, user: MemoryUser) -> None:
        """Remember an array, or something else that uses this memory, to be told if it is released under it."""
        with self._lock:
            if len(self._users) >= self._limit:
                # Views come and go while the memory stays.
                self._users = [known for known in self._users if known() is not None]
                self._limit = 2 * len(self._users) + 8
            self._users.append(weakref.ref(user))
            is_released = self.size > 0 and not self.address
        if is_released:  # by another thread, since the user looked
            user._lose_memory()

    def release(self) -> None:
        """Give the memory back now. Every array that uses it is unusable from then on."""
        with self._lock:
            users = [user for known in self._users if (user := known()) is not None]
            address, self.address = self.address, 0
        for user in users:
            user._lose_memory()
        if not address:
            return
        if self.is_shared and isinstance(self.backend, LendingBackend):
            self.backend.free_lent(address, self.size)
        else:
            self.backend.free(address)

    def __reduce__(self) -> NoReturn:
        # A second owner of the same address would free it twice.
        raise TypeError(
            "device memory is neither pickled nor deep-copied; copy it with .to_host() and kdsl.to_device()"
        )

    def __del__(self, is_exiting: Callable[[], bool] = sys.is_finalizing) -> None:
        # At interpreter exit the driver may be gone already, and the process gives all memory back anyway. `sys` may be
        # gone, too: a default value stays.
        if self.address and not is_exiting():
            self.release()
