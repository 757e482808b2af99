"""`dataclass` as the standard library's, for the 150 small classes of a compiler, at a tenth of its price.

The standard one writes the source of up to seven methods for each class and has Python compile it: half a millisecond
a class, which was half the time from the start of a process to its first PTX. Here the fields are the standard ones
(`fields`, `replace` and `is_dataclass` work), but the methods are shared functions, and only ``__init__`` is written
out, when the first object is made: most classes are not met in most programs.

For classes without keyword-only fields, and without ``__post_init__``, which is a TypeError. Public classes are
standard dataclasses, whose signatures can be inspected.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type[T] | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        eq: bool = True,
        repr: bool = True,
    ) -> Any:
        """As `dataclasses.dataclass` with these arguments; type checkers take it for that."""

        def decorate(cls: type[T]) -> type[T]:
            if hasattr(cls, "__post_init__"):
                raise TypeError(f"{cls.__qualname__} has a __post_init__, which is not run: use dataclasses.dataclass")
            # Why a docstring? For a class without one, the standard decorator renders a signature, which is slow.
            cls.__doc__ = cls.__doc__ or cls.__name__
            own = set(cls.__dict__)
            made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
            for name, method in _methods(made, frozen, eq, repr).items():
                if name not in own:
                    setattr(made, name, method)
            return made

        return decorate if cls is None else decorate(cls)


def _methods(cls: type, frozen: bool, eq: bool, repr: bool) -> dict[str, Any]:
    methods: dict[str, Any] = {"__init__": _init_written_later(cls, frozen)}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        methods |= _comparison([f.name for f in dataclasses.fields(cls) if f.compare], frozen)
    if frozen:
        methods |= {"__setattr__": _refuse_change, "__delattr__": _refuse_deletion}
        methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
    return methods


def _init_written_later(cls: type, frozen: bool) -> Callable[..., None]:
    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        written = _written_init(cls, frozen)
        cls.__init__ = written  # type: ignore[misc]
        written(self, *args, **kwargs)

    return first


def _written_init(cls: type, frozen: bool) -> Callable[..., None]:
    """``def __init__(self, x, y=default_y): put(self, 'x', x); put(self, 'y', y)``, or plain assignments, which take a
    third of the time.
    """
    # The `put` of all objects sets what is frozen for everybody else.
    known: dict[str, Any] = {"MISSING": dataclasses.MISSING, "put": object.__setattr__}
    parameters = ["self"]
    lines = ["    pass"]
    for f in dataclasses.fields(cls):
        value = f.name
        if f.default is not dataclasses.MISSING:
            known[f"default_{f.name}"] = f.default
            parameters.append(f"{f.name}=default_{f.name}")
        elif f.default_factory is not dataclasses.MISSING:
            known[f"make_{f.name}"] = f.default_factory
            parameters.append(f"{f.name}=MISSING")
            value = f"make_{f.name}() if {f.name} is MISSING else {f.name}"
        else:
            parameters.append(f.name)
        lines.append(f"    put(self, {f.name!r}, {value})" if frozen else f"    self.{f.name} = {value}")
    exec("\n".join([f"def __init__({', '.join(parameters)}):", *lines]), known)
    written: Callable[..., None] = known["__init__"]
    written.__qualname__ = f"{cls.__qualname__}.__init__"
    return written


def _comparison(names: list[str], frozen: bool) -> dict[str, Any]:
    """Equal are objects of one class whose fields are; what can change has no hash."""
    key: Callable[[Any], Any] = attrgetter(*names) if names else _nothing

    def equal(self: Any, other: object) -> bool:
        return bool(key(self) == key(other)) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(key(self))

    return {"__eq__": equal, "__hash__": hashed if frozen else None}


def _nothing(_: Any) -> tuple[()]:
    return ()


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_change(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
