"""What a kernel's annotations and defaults leave open, and the signatures that a check of all of them takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

from kdsl.lang.generics import constraints, restriction, variables
from kdsl.lang.parameter_types import ConstexprType, GenericType
from kdsl.lang.types import Type
from kdsl.parameters import Parameters, example_of, from_signature
from kdsl.records import dataclass

MOST_COMBINATIONS = 16


@dataclass(frozen=True, slots=True)
class Open:
    """What a signature has to say: of which name, why, and a value that it may have."""

    name: str
    why: str
    example: str


def check_names(signatures: Mapping[str, Any], kernels: Sequence[str]) -> None:
    """TypeError for a signature of a kernel that there is not."""
    if not isinstance(signatures, Mapping):
        raise TypeError(f"signatures takes a dict, such as {{{kernels[0]!r}: {{'n': 16}}}}, got {signatures!r}")
    for name in signatures:
        if name not in kernels:
            import difflib  # start-up cost: only for an error

            close = difflib.get_close_matches(str(name), kernels, n=1)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            raise TypeError(f"signatures names {name!r}, which is no kernel{meant}; there are: {', '.join(kernels)}")


def open_names(
    parameters: Parameters, defaults: Mapping[str, tuple[int, Any]], signature: Mapping[str, Any]
) -> list[Open]:
    """What neither annotations nor defaults nor ``signature`` say, each name once."""
    found = {one.name: one for one in _open(parameters, {*defaults, *signature}) if one.name not in signature}
    return list(found.values())


def _open(parameters: Parameters, said: set[str]) -> Iterator[Open]:
    for name, type in parameters:
        if name in said:
            continue
        match type:
            case None:
                yield Open(name, f"`{name}` has no annotation", "Ptr[f32]")
            case GenericType(template=template):
                for variable in variables(template):
                    called, types = variable.__name__, constraints(variable)
                    example = str(types[0]) if types else "f32"
                    yield Open(called, f"`{called}` may be {restriction(variable)}", example)
            case ConstexprType(is_bound=False):
                yield Open(name, f"`{name}` is {type.spelled}, known when the kernel is compiled", example_of(type))


def every_signature(
    kernel: str, parameters: Parameters, defaults: Mapping[str, tuple[int, Any]], signature: Mapping[str, Any]
) -> list[tuple[Type, ...]]:
    """All parameters' types, once for each type that constraints let a TypeVar be; none if something else is open.

    TypeError for a signature or default that does not fit.
    """
    names = [one.name for one in open_names(parameters, defaults, signature)]
    choices = {name: types for name, types in _choices(parameters).items() if name in names and types}
    if any(name not in choices for name in names):
        return []
    return [from_signature(kernel, parameters, defaults, {**signature, **chosen}) for chosen in _combined(choices)]


def _choices(parameters: Parameters) -> dict[str, tuple[Type, ...]]:
    templates = [type.template for _, type in parameters if isinstance(type, GenericType)]
    every: list[TypeVar] = [variable for template in templates for variable in variables(template)]
    return {variable.__name__: constraints(variable) for variable in every}


def _combined(choices: Mapping[str, tuple[Type, ...]]) -> list[dict[str, Type]]:
    """All combinations; of very many only enough that each type comes once."""
    count = 1
    for types in choices.values():
        count *= len(types)
    if count <= MOST_COMBINATIONS:
        return [dict(zip(choices, chosen, strict=True)) for chosen in product(*choices.values())]
    longest = max(map(len, choices.values()))
    return [{name: types[i % len(types)] for name, types in choices.items()} for i in range(longest)]
