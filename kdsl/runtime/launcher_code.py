"""The functions that are generated for a launcher: its argument packer, and the fast ways for others' arrays."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from kdsl.backend import Backend
from kdsl.lang.struct_type import StructType
from kdsl.lang.types import ArrayType, PointerType, VectorType
from kdsl.runtime.array_kinds import kind_of
from kdsl.runtime.calls import Call, Guards
from kdsl.runtime.conditions import Condition
from kdsl.runtime.contracts import FAST_FUNCTIONS, LaunchChecks
from kdsl.runtime.foreign_memory import SharingBackend
from kdsl.runtime.foreign_packer import foreign_packer_source, plain_parameters
from kdsl.runtime.hooks import Observed
from kdsl.runtime.launch_parameters import Parameter
from kdsl.runtime.layout import layout_of
from kdsl.runtime.memory import DeviceArray
from kdsl.runtime.packer import condition_tests, layout_name, name_prefix, packer_source, struct_name, variable_names
from kdsl.runtime.packer_names import Place, globals_for, maker, place_of
from kdsl.runtime.scalars import INT_CLASSES, REAL_CLASSES, WIDE_CLASSES, bf16_bits
from kdsl.runtime.structs import struct_bytes
from kdsl.runtime.vectors import vector_bytes

FAILURES = (AttributeError, NameError, TypeError, ValueError, ArithmeticError, LookupError, struct.error)
"""What the packer's fast way meets when an argument is not of the plain kind; the checked way finds out what it is."""

MOST_FOREIGN = 64
"""Combinations of argument classes that a launcher keeps generated code for."""

MISSING = object()
"""Stands for an argument that was not given."""


class LauncherCode:
    """What is generated for one launcher, and the names that it is generated with."""

    def __init__(
        self,
        kernel: str,
        parameters: Sequence[Parameter],
        backend: Backend,
        conditions: Sequence[Condition],
        call: Call | None,
        checks: LaunchChecks,
    ) -> None:
        self.kernel = kernel
        self.parameters = parameters
        self.backend = backend
        self.conditions = conditions
        self.call = call
        self.typed = [(p.name, p.type) for p in parameters]
        self.variables = variable_names(self.typed, call)
        self.names = list(call.names) if call is not None else [name for name, _ in self.typed]
        """What a call takes, by name."""
        self.prefix = name_prefix(self.names)
        """What begins every name of the packer's own."""
        types = {name: type_ for name, (_, type_) in zip(self.variables, self.typed, strict=True)}
        self.contract = checks.fast(self.prefix, types)
        self._globals = globals_for([c.namespace for c in conditions])
        self._foreign: dict[tuple[type, ...], Callable[..., Any] | None] = {}
        self.source = self._source(())
        """The source text of the argument packer."""
        self.make = self._compile(self.source, {})
        """Makes the packer, of how to enqueue, the checked way, and where buffers come from and go."""

    def guarded(self, guards: Guards) -> Callable[..., Callable[..., None]]:
        """As `make`, of a packer that looks at guards as well."""
        return self._compile(self._source(guards.tests), guards.scope)

    def foreign(self, given: Sequence[Any], backend: SharingBackend) -> Callable[..., Any] | None:
        """What makes the fast way for arguments of the classes that these have; None where there is none."""
        classes = tuple(map(type, given))
        if classes not in self._foreign:
            if len(self._foreign) >= MOST_FOREIGN:
                self._foreign.clear()
            self._foreign[classes] = self._foreign_of(given, backend)
        return self._foreign[classes]

    def _foreign_of(self, given: Sequence[Any], backend: SharingBackend) -> Callable[..., Any] | None:
        arrays = plain_parameters(self.typed, [p.written for p in self.parameters])
        if len(arrays) != len(given):
            return None
        kinds = [None if array is None else kind_of(value, backend) for array, value in zip(arrays, given, strict=True)]
        tests = condition_tests(self.prefix, self._places())
        made = foreign_packer_source(self.prefix, self.typed, arrays, kinds, tests)
        if made is None:
            return None
        source, scope = made
        # RuntimeError is what arrays without memory raise.
        return self._compile(source, {**scope, f"{self.prefix}failures": (*FAILURES, RuntimeError)})

    def reader(self) -> Callable[..., tuple[Any, ...]]:
        """From the arguments of a call to the parameters."""
        if self.call is None:
            return lambda *arguments: arguments
        slots = "".join(f"{slot.source}, " for slot in self.call.slots)
        read: Callable[..., tuple[Any, ...]] = eval(f"lambda {', '.join(self.call.names)}: ({slots})", {})
        return read

    def _source(self, guards: Sequence[str]) -> str:
        return packer_source(self.kernel, self.typed, self._places(), self.call, guards, self.contract)

    def _places(self) -> list[tuple[Place, str]]:
        taken = (*self.names, *(name for name, _ in self.typed))
        return [
            (place_of(c.namespace, c.name, c.value, self._globals, taken, self.prefix), c.name) for c in self.conditions
        ]

    def _compile(self, source: str, guarded: Mapping[str, Any]) -> Callable[..., Callable[..., None]]:
        scope: dict[str, Any] = {
            **(FAST_FUNCTIONS if self.contract.tests else {}),
            "type": type,
            "len": len,
            "missing": MISSING,
            "failures": FAILURES,
            "observed": Observed,
            "float32": np.float32,
            "wide_classes": WIDE_CLASSES,
            "int_classes": INT_CLASSES,
            "real_classes": REAL_CLASSES,
            "bf16_bits": bf16_bits,
            "array_class": DeviceArray,
        }
        for parameter, variable in zip(self.parameters, self.variables, strict=True):
            scope |= self._parameter_scope(parameter, variable)
        for index, condition in enumerate(self.conditions):
            scope[f"namespace{index}"], scope[f"value{index}"] = condition.namespace, condition.value
        scope = {self.prefix + name: value for name, value in scope.items()} | dict(guarded)
        return maker(source, self._globals, scope, f"launcher of {self.kernel}")

    def _parameter_scope(self, parameter: Parameter, variable: str) -> dict[str, Any]:
        """What the packer needs for one parameter, beside its value."""
        match parameter.type:
            case PointerType() | ArrayType():
                element = parameter.element
                return {
                    layout_name(variable, element, wide, form): layout_of(self.backend, element, wide, form)
                    for wide, form in product((False, True), ("", "strided"))
                }
            case StructType():
                made = partial(struct_bytes, parameter.where, parameter.type, backend=self.backend)
                return {struct_name(variable): made}
            case VectorType():
                return {struct_name(variable): partial(vector_bytes, parameter.where, parameter.type)}
        return {}
