"""What a parameter may be annotated with that is the type of no value: constants (`Constexpr`), and TypeVars."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from kdsl.records import dataclass

if TYPE_CHECKING:
    from kdsl.lang.types import ScalarType, Type


@dataclass(frozen=True)
class Held:
    """A value that a function captured, or a part of a tuple, which a launch passes though it is no parameter.

    ``name`` is what it is called (``f.factor``), ``source`` where it is in the arguments of a call, in Python;
    ``owner`` is the object that holds it, ``place`` where in it: ``cell factor``, ``default by``, ``argument 0``.
    """

    name: str
    source: str
    type: Type
    owner: Any = field(compare=False)
    place: str


@dataclass(frozen=True)
class ConstexprType:
    """A parameter whose value is known while the kernel is compiled, and which a launch therefore does not pass.

    ``element`` is None for a Python function, whose captured values are ``held``. ``is_literal``: a Python int or
    float, which takes the type it meets. ``value`` is None until a launch or a signature says it; ``key`` then tells
    0.0 from -0.0, NaN from nothing, and is the same for functions that differ in what they hold alone.
    """

    element: ScalarType | None
    is_literal: bool = False
    value: Any = field(default=None, compare=False)
    key: object = None
    held: tuple[Held, ...] = ()
    form: Any = None
    """What else than a number or function: an enum, ``str``, ``Type`` for a type, a tuple of ConstexprTypes (``...``
    after the only one for any count), whose value then is a tuple of them.
    """
    optional: bool = False
    """Whether it may be None."""

    @property
    def is_bound(self) -> bool:
        """Whether it has a value."""
        return self.key is not None

    @property
    def is_function(self) -> bool:
        return self.element is None and self.form is None

    def bound(self, value: Any, key: object) -> ConstexprType:
        """The type with a value."""
        return replace(self, value=value, key=key)

    def __str__(self) -> str:
        return f"Constexpr[{self.spelled}]"

    @property
    def spelled(self) -> str:
        """What it takes, as it is written."""
        if isinstance(self.form, tuple):
            name = f"tuple[{', '.join('...' if f is ... else f.spelled for f in self.form)}]"
        elif self.form is not None:
            # What is no class is the union of all types.
            name = self.form.__name__ if isinstance(self.form, type) else "type"
        elif self.is_literal and self.element is not None:
            name = "float" if self.element.is_float else "int"
        else:
            name = "Callable" if self.element is None else str(self.element)
        return f"{name} | None" if self.optional else name

    __repr__ = __str__


@dataclass(frozen=True)
class GenericType:
    """A parameter's annotation that holds TypeVars, such as ``Ptr[T]``: a launch or call says what they stand for."""

    template: Any

    def __str__(self) -> str:
        return str(self.template).replace("~", "")

    __repr__ = __str__
