"""Where a packer finds the names that it looks at, and its own.

A look at a global is a fifth of the price of one into a dict, and a launch looks at all that its kernel captured.
So a packer runs with the globals of the kernel's own module. It defines nothing there, and all else that it needs are
variables around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from keyword import iskeyword
from types import FunctionType
from typing import Any

from kdsl.runtime.dynamo import generated

DEFINED = ("make", "launch")
"""The functions that a packer's source text defines."""


class Place(Enum):
    """Where the name of something that a launch looks at is found."""

    GLOBALS = "in the globals that the packer runs with"
    KEY = "in a dict that has it"
    OTHER = "by the namespace's get"


def globals_for(namespaces: Sequence[Any]) -> dict[str, Any]:
    """The globals that a packer runs with: those that most of what it looks at is in."""
    dicts = {id(namespace): namespace for namespace in namespaces if type(namespace) is dict}
    counts = Counter(id(namespace) for namespace in namespaces if id(namespace) in dicts)
    return dicts[counts.most_common(1)[0][0]] if counts else {}


def place_of(
    namespace: Any, name: str, value: Any, globals: Mapping[str, Any], taken: Collection[str], prefix: str
) -> Place:
    """Where ``name`` is found in ``namespace``. ``taken`` are the parameters' names; those that begin with ``prefix``
    are the packer's own.
    """
    # A name that is not there (None) would be a KeyError.
    if type(namespace) is not dict or value is None:
        return Place.OTHER
    is_name = name.isidentifier() and not iskeyword(name)
    is_free = name not in taken and name not in DEFINED and not name.startswith(prefix)
    return Place.GLOBALS if namespace is globals and is_name and is_free else Place.KEY


def maker(source: str, globals: dict[str, Any], scope: Mapping[str, Any], what: str) -> Callable[..., Any]:
    """The function ``make`` that ``source`` defines, with ``scope`` as variables around it; tracebacks say ``what``."""
    indented = "".join(f"    {line}\n" for line in source.splitlines())
    text = f"def around({', '.join(scope)}):\n{indented}    return make\n"
    defined: dict[str, Any] = {}
    exec(compile(text, generated(what), "exec"), defined)
    make: Callable[..., Any] = FunctionType(defined["around"].__code__, globals)(*scope.values())
    return make
