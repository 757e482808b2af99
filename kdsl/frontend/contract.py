"""A kernel's launch contract against the types of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import FunctionType

from kdsl.contracts.decorate import error_of
from kdsl.contracts.types import contract_for, problems
from kdsl.frontend.session import Session
from kdsl.lang.types import Type


def fit_contract(session: Session, function: FunctionType, types: Mapping[str, Type | None]) -> None:
    """Report what of the contract does not fit, and put the values of constants into it."""
    contract = contract_for(session.options.contract, types)
    if contract.is_empty:
        return
    for problem in problems(contract, types):
        session.reporter.merge(error_of(function, problem))
    session.options = replace(session.options, contract=contract)
