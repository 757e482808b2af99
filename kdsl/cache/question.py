"""What is known of a compilation before anything is parsed: the kernels, their types and options, the compiler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kdsl.cache.digests import digest_of
from kdsl.cache.fingerprints import Fingerprints
from kdsl.cache.text import Unkeyable
from kdsl.ir.request import KernelRequest
from kdsl.lang.parameter_types import ConstexprType
from kdsl.lang.types import TupleType
from kdsl.records import dataclass
from kdsl.target import Target

FORMAT = 2
"""Of what the cache keeps; another one is another key."""


@dataclass(frozen=True, slots=True)
class Question:
    """``roots`` are what a recipe begins with; ``fingerprints`` has numbered them."""

    key: str
    roots: tuple[Any, ...]
    fingerprints: Fingerprints


def question(requests: Sequence[KernelRequest], target: Target, compiler: Any) -> Question:
    """Unkeyable for kernels without source, or with types or constants that cannot be told from others."""
    types = [tuple(request.parameters or ()) for request in requests]
    held = frozenset(place for listed in types for place in _held(listed))
    fingerprints = Fingerprints(held)
    try:
        kernels = [
            [fingerprints.function(r.function, defaults=False), [fingerprints.of(t) for t in listed], _options(r)]
            for r, listed in zip(requests, types, strict=True)
        ]
    except RecursionError:
        raise Unkeyable("something that holds itself, or is nested very deeply") from None
    key = digest_of([FORMAT, compiler, [target.name, target.ptx_version], kernels])
    roots = (*(request.function for request in requests), *(type for listed in types for type in listed))
    return Question(key, roots, fingerprints)


def _options(request: KernelRequest) -> str:
    """The kernel's options. What it is linked with changes no PTX: `linked` has keys for what is linked."""
    return repr(replace(request.options, link=()))


def _held(types: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """The places whose values a launch passes."""
    for type in types:
        if isinstance(type, ConstexprType):
            yield from ((id(held.owner), held.place) for held in type.held)
        elif isinstance(type, TupleType):
            yield from _held(type.elements)
