"""The `kernel` decorator: a function with options becomes a `Kernel`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, overload

from kdsl.compiler import Kernel, checked_options
from kdsl.ir.options import Options

if TYPE_CHECKING:
    from kdsl.lang.extern import Source

P = ParamSpec("P")


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
def kernel(function: Any = ..., /, **options: Any) -> Any:
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
    checked = checked_options(options)
    return _decorate(function, checked) if function is not ... else lambda f: _decorate(f, checked)


def _decorate(function: Any, options: Options) -> Kernel[Any]:
    if isinstance(function, Kernel):
        raise TypeError(f"{function.name} is a kernel already: one @kernel is enough")
    if not inspect.isfunction(function):
        what = "a class" if inspect.isclass(function) else f"a {type(function).__name__}"
        raise TypeError(f"@kernel takes a function written with def, got {what}: {function!r}")
    return Kernel(function, options.with_contract(function))
