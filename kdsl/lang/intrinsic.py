"""What an intrinsic is: one typed stub, and how the compiler lowers a call of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kdsl.lang.named_objects import named
from kdsl.lang.only_in_kernels import OnlyInKernels
from kdsl.lang.types import ScalarType
from kdsl.records import dataclass

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Nvvm:
    """A call of one LLVM intrinsic. ``name`` may depend on the type that the stub's TypeVar was bound to.

    ``arguments`` names the stub's parameters in the intrinsic's order; an int is an i32 constant, a bool an i1.
    """

    name: str | Mapping[ScalarType, str]
    arguments: tuple[str | int | bool, ...] | None = None


@dataclass(frozen=True)
class Libdevice:
    """A call of a libdevice function, named by the type that the stub's TypeVar was bound to; ``fast`` under fastmath.

    ``outputs`` counts the results that the function writes through trailing pointers; the stub returns them in a tuple,
    after the function's own result if it has one.
    """

    name: str | Mapping[ScalarType, str]
    fast: Mapping[ScalarType, str] | None = None
    outputs: int = 0


@dataclass(frozen=True)
class Emit:
    """Whatever needs more than a table row: a small function of that name in `kdsl.codegen.intrinsics`."""

    name: str


@dataclass(frozen=True, eq=False, repr=False)
class Intrinsic(OnlyInKernels):
    """An intrinsic function of the language. Calling it on the host is an error that says so.

    ``ptx`` is the mnemonic a reader finds in the PTX: one of several, separated by commas, if it depends on the type,
    and empty if no instruction is needed. ``min_sm`` is the first architecture that has it. ``register`` marks a
    special register, read as an attribute without a call. ``stub`` carries the annotations: the frontend computes
    overloads from them when first needed, so that importing kdsl stays cheap. A parameter annotated ``str`` or with a
    Literal is a compile-time constant.
    """

    stub: Callable[..., Any]
    lowering: Nvvm | Libdevice | Emit
    ptx: str
    convergent: bool = False
    min_sm: int = 75
    register: bool = False
    pure: bool = False
    """No side effect and no dependence on anything but the operands."""

    @property
    def name(self) -> str:
        return self.stub.__name__

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self.stub.__doc__

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise self.host_error()

    def __bool__(self) -> bool:
        if self.register:
            raise self.host_error()
        return True

    def host_error(self) -> TypeError:
        if self.register:
            return TypeError(f"{self.name} has a value in a kernel alone: read it inside a @kernel function")
        return TypeError(f"{self.name}() is a function of the kernel language: call it inside a @kernel function")

    def __reduce__(self) -> tuple[Any, ...]:
        # There is one of each, which everything compares by identity.
        return named, (self.stub.__module__, self.stub.__qualname__)

    def __repr__(self) -> str:
        return f"<{self.name} of the kernel language>"


def intrinsic(
    lowering: Nvvm | Libdevice | Emit,
    *,
    ptx: str,
    convergent: bool = False,
    min_sm: int = 75,
    pure: bool = False,
) -> Callable[[F], F]:
    """Make a typed stub an intrinsic. To a type checker it stays the function that its annotations say."""

    def decorate(stub: F) -> F:
        return Intrinsic(stub, lowering, ptx, convergent, min_sm, pure=pure)  # type: ignore[return-value]

    return decorate
