"""`extern`: a device function that another compiler made, declared by its signature and called from kernels."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeAlias, TypeVar, cast, overload

if TYPE_CHECKING:
    from pathlib import Path  # start-up cost

P = ParamSpec("P")
R = TypeVar("R")
Source: TypeAlias = "str | Path | bytes"
"""What is linked: a path, an image, or PTX text."""
_NAME = re.compile(r"[A-Za-z_$%][\w$]*", re.ASCII)


class ExternFunction:
    """A declared device function. ``symbol`` is its name in PTX, ``link`` holds what defines it."""

    def __init__(self, function: FunctionType, symbol: str, link: tuple[Source, ...]) -> None:
        self.function = function
        self.symbol = symbol
        self.link = link
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(f"{self.__name__} is a device function, declared with @extern: call it in a kernel")

    def __repr__(self) -> str:
        return f"<extern function {self.symbol}>"


@overload
def extern(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def extern(
    *, name: str | None = None, link: Source | Sequence[Source] = ()
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def extern(function: Any = None, /, *, name: str | None = None, link: Source | Sequence[Source] = ()) -> Any:
    """Declare a device function that is defined elsewhere, by annotations alone: the body is not used.

    ``name`` is its symbol, if that is not the function's name. ``link`` is what defines it, and is linked with every
    kernel that calls it: paths of PTX, cubins, LTO-IR, objects or libraries, or the images themselves.
    """
    sources = link_sources("@extern", link)
    if name is not None and (not isinstance(name, str) or not _NAME.fullmatch(name)):
        raise TypeError(f"@extern(name=...) takes the symbol of a function, such as 'dev_add', got {name!r}")

    def declare(function: Any) -> Any:
        if not inspect.isfunction(function):
            raise TypeError(f"@extern takes a function written with def, got {function!r}")
        symbol = name if name is not None else function.__name__
        if not _NAME.fullmatch(symbol):
            raise TypeError(f"@extern: no function is called {symbol!r} in PTX; say its symbol, as in name='dev_add'")
        return ExternFunction(function, symbol, sources)

    return cast(Any, declare(function) if function is not None else declare)


def link_sources(what: str, link: Any) -> tuple[Source, ...]:
    """What ``link=`` says; TypeError for what is neither a path nor an image, nor a list of such."""
    if link == ():  # most
        return ()
    from pathlib import Path  # start-up cost: of who links

    listed = (link,) if isinstance(link, str | Path | bytes) else link
    if not isinstance(listed, Sequence) or not all(isinstance(source, str | Path | bytes) for source in listed):
        raise TypeError(f"{what}(link=...) takes paths, bytes or PTX text, one or a list of them, got {link!r}")
    return tuple(listed)
