"""From the options of ``@kernel`` and its function to the contract; mistakes are errors at the decorator."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from kdsl.contracts.contract import Contract, Extents
from kdsl.contracts.expressions import Node, Number, conjuncts, show
from kdsl.contracts.given import Extent
from kdsl.contracts.parse import Malformed, Parser
from kdsl.contracts.places import ContractError, contract_error
from kdsl.contracts.types import Problem, Types, problems


def contract_of(
    function: FunctionType,
    requires: tuple[str, ...],
    grid: tuple[Extent, ...] | None,
    block: tuple[Extent, ...] | None,
    shared: Extent | None,
) -> Contract:
    """The contract that these options say. Names of numbers are looked up now, as those in default arguments are."""
    relations = tuple(r for text in requires for r in conjuncts(_parsed(function, "requires", text, Parser.relation)))
    contract = Contract(
        relations,
        _extents(function, "grid", grid),
        _extents(function, "block", block),
        None if shared is None else _number(function, "shared", shared),
    )
    check_contract(function, contract, {})
    return contract


def check_contract(function: FunctionType, contract: Contract, types: Types) -> None:
    """ContractError for the first thing that does not fit the parameters' types."""
    for problem in problems(contract, types):
        raise error_of(function, problem)


def _extents(function: FunctionType, option: str, given: tuple[Extent, ...] | None) -> Extents | None:
    if given is None:
        return None
    x, y, z = (*(_number(function, option, extent) for extent in given), Number(1), Number(1))[:3]
    return x, y, z


def _number(function: FunctionType, option: str, given: Extent) -> Node:
    return Number(given) if isinstance(given, int) else _parsed(function, option, given, Parser.number)


def _parsed(function: FunctionType, option: str, text: str, read: Callable[[Parser], Node]) -> Node:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    try:
        return read(Parser(text, names, _captured(function), configured=option == "requires"))
    except Malformed as wrong:
        within = text, wrong.start, wrong.end
        raise contract_error(function, option, wrong.message, wrong.hint, within=within) from None


def _captured(function: FunctionType) -> Callable[[str], Any]:
    """What a name means to the function now; None if nothing."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def value(name: str) -> Any:
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:  # not bound yet
                return None
        return function.__globals__.get(name)

    return value


def error_of(function: FunctionType, problem: Problem) -> ContractError:
    """What the user is told of a problem."""
    return contract_error(function, problem.option, problem.message, problem.hint, fragment=show(problem.part))
