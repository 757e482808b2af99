"""Names of the language that are more than a call of an intrinsic: the frontend knows each one by identity.

Their stubs say how to call them, to a type checker and in the docs; what they mean is in `kdsl.frontend`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kdsl.lang.named_objects import named
from kdsl.lang.only_in_kernels import OnlyInKernels

C = TypeVar("C", bound=Callable[..., Any])


class Construct(OnlyInKernels):
    """A function that the frontend turns into nodes of its own. Calling it on the host is an error that says so."""

    def __init__(self, stub: Callable[..., Any]) -> None:
        self.stub = stub
        self.__doc__ = stub.__doc__

    @property
    def name(self) -> str:
        """As a kernel author writes it: ``shared.array``, ``atomic.add``, ``groups.tile``, ``bitcast``."""
        module = self.stub.__module__.rpartition(".")[2]
        qualified = self.stub.__qualname__
        return f"{module}.{qualified}" if module in ("atomic", "groups") else qualified

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.stub.__module__, self.stub.__qualname__)

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise self.host_error()

    def host_error(self) -> TypeError:
        return TypeError(f"{self.name}() is a function of the kernel language: call it inside a @kernel function")

    def __repr__(self) -> str:
        return f"<{self.name} of the kernel language>"


class HostConstruct(Construct):
    """A construct that the host may call, too: its stub says what it gives there."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.stub(*arguments, **named)


def construct(stub: C) -> C:
    """Make a typed stub a construct. To a type checker it stays the function that its annotations say."""
    return Construct(stub)  # type: ignore[return-value]


def construct_of_host(stub: C) -> C:
    """Make a function of the host a construct as well."""
    return HostConstruct(stub)  # type: ignore[return-value]
