"""Line directives: metadata that makes LLVM print ``.file`` and ``.loc`` and changes no instruction.

The emission kind is DebugDirectivesOnly. Any other marks the PTX target ``debug``, and ptxas then stops optimizing.
"""

from __future__ import annotations

import re
from dataclasses import field
from pathlib import Path

from llvmlite import ir as llvm

from kdsl.codegen.types import I32
from kdsl.ir.nodes import Function
from kdsl.records import dataclass
from kdsl.source import Span

# LLVM writes these as they are between the quotes of ``.file``, where ptxas cannot read them.
_UNQUOTABLE = re.compile(r'["\\\x00-\x1f]')


@dataclass(slots=True)
class Directives:
    """The debug metadata of one module, each piece made once."""

    module: llvm.Module
    _files: dict[str, llvm.DIValue] = field(default_factory=dict)
    _unit: llvm.DIValue | None = None

    def subprogram(self, function: Function) -> llvm.DIValue:
        """The scope of a function's lines."""
        file = self._file(function.span.file)
        return self.module.add_debug_info(
            "DISubprogram",
            {
                "name": function.source_name,
                "linkageName": function.name,
                "file": file,
                "line": function.span.line,
                "type": self.module.add_debug_info("DISubroutineType", {"types": self.module.add_metadata([None])}),
                "unit": self._compile_unit(file),
                "spFlags": llvm.DIToken("DISPFlagDefinition | DISPFlagOptimized"),
            },
            is_distinct=True,
        )

    def _file(self, path: str) -> llvm.DIValue:
        # Only the base name: what is compiled must not depend on the directory it is compiled in.
        name = path if path.startswith("<") else Path(path).name
        name = _UNQUOTABLE.sub("_", name)
        if name not in self._files:
            self._files[name] = self.module.add_debug_info("DIFile", {"filename": name, "directory": ""})
        return self._files[name]

    def _compile_unit(self, file: llvm.DIValue) -> llvm.DIValue:
        if self._unit is None:
            self._unit = self.module.add_debug_info(
                "DICompileUnit",
                {
                    "language": llvm.DIToken("DW_LANG_Python"),
                    "file": file,
                    "producer": "kdsl",
                    "isOptimized": True,
                    "runtimeVersion": 0,
                    "emissionKind": llvm.DIToken("DebugDirectivesOnly"),
                },
                is_distinct=True,
            )
            self.module.add_named_metadata("llvm.dbg.cu", self._unit)
            add_flag(self.module, 2, "Debug Info Version", 3)
        return self._unit


@dataclass(slots=True)
class Locations:
    """The places of one function, each line and column made once."""

    module: llvm.Module
    scope: llvm.DIValue
    _known: dict[tuple[int, int], llvm.DIValue] = field(default_factory=dict)

    def at(self, span: Span) -> llvm.DIValue:
        """The metadata to attach to instructions that come from ``span``."""
        place = (span.line, span.column)
        if place not in self._known:
            operands = {"line": span.line, "column": span.column, "scope": self.scope}
            self._known[place] = self.module.add_debug_info("DILocation", operands)
        return self._known[place]


def add_flag(module: llvm.Module, behaviour: int, name: str, value: int) -> None:
    """A module flag; ``behaviour`` says what linking does with two of them (LLVM Language Reference)."""
    number = llvm.Constant(I32, value)
    entry = [llvm.Constant(I32, behaviour), llvm.MetaDataString(module, name), number]
    module.add_named_metadata("llvm.module.flags", entry)
