"""Arrays in shared, constant and local memory; accesses that say how they are cached (PTX ISA 9.0, 9.7.9.1)."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import Any, Literal, TypeVar, overload

from kdsl.lang.construct import construct
from kdsl.lang.type_names import Array, Ptr, u64

T = TypeVar("T")
Index = int | tuple[int, ...]
LoadCache = Literal["ca", "cg", "cs", "lu", "cv", "nc"]
StoreCache = Literal["wb", "cg", "cs", "wt"]
Evict = Literal["first", "last", "normal", "unchanged", "no_allocate"]
PrefetchSize = Literal[64, 128, 256]


class shared:
    """Memory of a block: ``shared.array`` and ``shared.dynamic``."""

    @staticmethod
    @construct
    def array(shape: int | tuple[int, ...], dtype: type[T]) -> Array[T, Any]:
        """An array that all threads of a block share, uninitialised; ``shape`` is constant.

        One allocation for each place in the source and kernel, not a new one per loop iteration; 48 KB in all.
        """

    @staticmethod
    @construct
    def dynamic(dtype: type[T], offset: int = 0) -> Ptr[T]:
        """The dynamic shared memory of the launch, ``k[grid, block, stream, shared_bytes]``, from byte ``offset`` on.

        All threads of a block share it; it is uninitialised, and aligned to 16 bytes. Views at several offsets may
        have several types. Its length is what the launch says: pass it as a parameter if the kernel needs it.
        """


class constant:
    """Memory that all threads only read: ``constant.array``."""

    @staticmethod
    @construct
    def array(array: Any, dtype: Any = None) -> Array[Any, Any]:
        """A copy of a NumPy array of the host that the kernel captures, for all threads to read; 64 KB in all.
        ``dtype`` is for the `@struct` class of the elements of a structured array.

        Fastest where the threads of a warp read the same element. It is copied when the kernel is compiled; a launch
        after the array has changed, or its name was bound to another, compiles again.
        """


class local:
    """Memory of a thread: ``local.array``."""

    @staticmethod
    @construct
    def array(shape: int | tuple[int, ...], dtype: type[T]) -> Array[T, Any]:
        """An array of one thread, uninitialised; ``shape`` is constant. Constant indices keep it in registers."""


@construct
def address_of(element: T) -> Ptr[T]:
    """The address of what lies in memory, as C's ``&``: of an element, ``address_of(a[i])``, a field of one,
    ``address_of(a[i].mass)``, or a component, ``address_of(a[i].x)``.

    So atomics are done on a field: ``atomic.add(address_of(a[i].mass), 0, v)``. A variable has no address.
    """


@overload
def load(
    array: Ptr[T],
    index: int,
    *,
    cache: LoadCache | None = None,
    volatile: bool = False,
    evict: Evict | None = None,
    l2_prefetch: PrefetchSize | None = None,
    policy: u64 | None = None,
) -> T: ...
@overload
def load(
    array: Array[Any, Any],
    index: Index,
    *,
    cache: LoadCache | None = None,
    volatile: bool = False,
    evict: Evict | None = None,
    l2_prefetch: PrefetchSize | None = None,
    policy: u64 | None = None,
) -> Any: ...
@construct
def load(
    array: Any,
    index: Any,
    *,
    cache: LoadCache | None = None,
    volatile: bool = False,
    evict: Evict | None = None,
    l2_prefetch: PrefetchSize | None = None,
    policy: u64 | None = None,
) -> Any:
    """``array[index]``, cached at all levels (``ca``), in L2 alone (``cg``), to be evicted first (``cs``), for the last
    time (``lu``), not at all (``cv``), or through the cache of what no thread writes meanwhile (``nc``).

    ``volatile``: it is read each time, and other threads may write it. ``evict``: when L1 shall give the line up,
    ``no_allocate`` for at once; not together with another ``cache`` than ``nc``. ``l2_prefetch``: bytes around it that
    L2 shall fetch, too (256 from sm_80). ``policy``: what L2 shall do with the line, of `createpolicy_fractional` (from
    sm_80). All but the policy are constants, and all of them hints that change no value.
    """


@construct
def store(
    array: Ptr[T] | Array[T, Any],
    index: Index,
    value: T,
    *,
    cache: StoreCache | None = None,
    volatile: bool = False,
    evict: Evict | None = None,
    policy: u64 | None = None,
) -> None:
    """``array[index] = value``, written back (``wb``), cached in L2 alone (``cg``), to be evicted first (``cs``), or
    written through (``wt``). ``volatile``: it is written each time. ``evict`` and ``policy`` are those of `load`; not
    together with ``cache``. A statement of its own.
    """


@construct
def prefetch(
    array: Ptr[T] | Array[T, Any],
    index: Index,
    *,
    level: Literal["L1", "L2", "L2::evict_last", "L2::evict_normal"] = "L1",
) -> None:
    """Bring the cache line of ``array[index]``, in global memory, to that level, with that priority (from sm_80). A
    statement of its own.
    """
