"""PTX text to `syntax` data. Opcode-agnostic: any mnemonic parses; `program` decides which ones exist."""

from __future__ import annotations

import re
from dataclasses import replace

from kdsl.emulator.cursor import FLAGS, Declarations
from kdsl.emulator.syntax import (
    BYTES,
    Address,
    Function,
    Guard,
    Instruction,
    Integer,
    Module,
    Not,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Variable,
    Vector,
)
from kdsl.emulator.tokens import integer, literal, negated

STATE_SPACES = {".global", ".shared", ".local", ".const", ".param"}
LINKAGE = {".visible", ".extern", ".weak", ".common"}
TUNING = {
    ".maxntid", ".reqntid", ".minnctapersm", ".maxnreg", ".maxnctapersm", ".reqnctapercluster", ".maxclusterrank",
    ".pragma", ".alias", ".blocksareclusters", ".abi_preserve", ".abi_preserve_control",
}  # fmt: skip


def parse(text: str) -> Module:
    """The module that ``text`` declares; DeviceError names the line that is not PTX."""
    return Parser(text).module()


class Parser(Declarations):
    """A cursor over the tokens of one module."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.files: dict[int, str] = {}
        self.location: tuple[int, int] | None = None
        self.result = Module()
        self.scopes: list[dict[str, Register | Symbol]] = []
        self.scope_count = 0

    # The module.

    def module(self) -> Module:
        while self.token.kind != "end":
            self.top_level()
        for function in self.result.functions.values():
            function.instructions = [self.with_file_name(i) for i in function.instructions]
        return self.result

    def with_file_name(self, instruction: Instruction) -> Instruction:
        if instruction.file is None:
            return instruction
        return replace(instruction, file=self.files.get(int(instruction.file), f"file {instruction.file}"))

    def line_directive(self, text: str) -> None:
        if found := re.match(r'\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"', text):
            self.files[int(found[1])] = found[2]
        elif found := re.match(r"\.loc\s+(\d+)\s+(\d+)", text):
            self.location = (int(found[1]), int(found[2]))
        elif found := re.match(r"\.target\s+(\w+)", text):
            self.result.target = found[1]
        elif not re.match(r"\.(file|version|address_size)\s", text):
            self.position -= 1
            raise self.error("unknown form of directive")

    def top_level(self) -> None:
        token = self.token
        if token.kind == "line":
            self.line_directive(self.take().text)
        elif token.text == ".section":
            self.skip_section()
        elif token.text in TUNING:
            self.skip_statement()
        elif token.text in LINKAGE or token.text in STATE_SPACES or token.text in {".entry", ".func"}:
            self.declaration()
        elif not self.accept(";"):
            raise self.error("expected a declaration")

    def skip_section(self) -> None:
        while not self.at("{"):
            self.take()
        while not self.accept("}"):
            self.take()

    def skip_statement(self) -> None:
        while not self.accept(";"):
            if self.token.kind == "end":
                raise self.error("expected ';'")
            self.take()

    def declaration(self) -> None:
        external = False
        while self.token.text in LINKAGE:
            external |= self.take().text == ".extern"
        if self.token.text in {".entry", ".func"}:
            self.function()
            return
        for variable in self.variables(external):
            if variable.name not in self.result.variables or not variable.external:
                self.result.variables[variable.name] = variable

    # Functions.

    def function(self) -> None:
        entry = self.take().text == ".entry"
        returns = self.parameter_list() if self.at("(") else ()
        name = self.take().text
        parameters = self.parameter_list() if self.at("(") else ()
        function = Function(name, entry, returns, parameters)
        while self.token.kind in {"directive", "line"}:
            self.function_attribute(function)
        if self.accept(";"):
            self.result.functions.setdefault(name, function)
            return
        self.location = None
        self.expect("{")
        function.defined = True
        self.result.functions[name] = function
        self.scopes = []
        self.body(function)

    def function_attribute(self, function: Function) -> None:
        token = self.take()
        if token.kind == "line":
            self.line_directive(token.text)
            return
        if token.text not in TUNING and token.text not in FLAGS:
            self.position -= 1
            raise self.error("unknown function attribute")
        numbers = []
        while self.token.kind in {"number", "string"} or self.at(","):
            word = self.take()
            if word.kind == "number":
                numbers.append(integer(word.text))
        function.attributes[token.text[1:]] = tuple(numbers)

    def parameter_list(self) -> tuple[Variable, ...]:
        self.expect("(")
        found: list[Variable] = []
        while not self.accept(")"):
            if self.token.text not in {".param", ".reg"}:
                raise self.error("expected .param")
            self.take()
            found.append(self.variable("param"))
            self.accept(",")
        return tuple(found)

    def body(self, function: Function) -> None:
        self.scopes.append({})
        if len(self.scopes) > 1:
            self.declare_labels()
        while not self.accept("}"):
            self.statement(function)
        self.scopes.pop()
        self.scope_count += 1

    def declare_labels(self) -> None:
        """The labels of a block in braces are its own; a branch may come before its label."""
        depth, position = 1, self.position
        while depth and self.tokens[position].kind != "end":
            token, mark, after = (self.tokens[min(position + i, len(self.tokens) - 1)] for i in range(3))
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            if depth == 1 and token.kind == "name" and mark.text == ":" and after.kind != "directive":
                self.scopes[-1][token.text] = Symbol(self.unique(token.text))
            position += 1

    def statement(self, function: Function) -> None:
        token = self.token
        if token.kind == "line":
            self.line_directive(self.take().text)
        elif self.accept("{"):
            self.scope_count += 1
            self.body(function)
        elif self.accept(";"):
            pass
        elif token.text == ".reg":
            self.take()
            self.register_declaration(function)
        elif token.text in STATE_SPACES:
            for variable in self.variables():
                unique = self.unique(variable.name)
                self.scopes[-1][variable.name] = Symbol(unique)
                function.variables[unique] = replace(variable, name=unique)
        elif token.text in {".pragma", ".callprototype"}:
            self.skip_statement()
        elif token.kind == "name" and self.tokens[self.position + 1].text == ":":
            self.label(function)
        elif token.kind == "name" or token.text == "@":
            self.instruction(function)
        else:
            raise self.error("expected a statement")

    def register_declaration(self, function: Function) -> None:
        kind = self.take().text[1:]
        if kind not in BYTES and kind != "pred":
            self.position -= 1
            raise self.error("unknown register type")
        while True:
            name = self.take().text
            if self.accept("<"):
                count = self.number()
                self.expect(">")
                for index in range(count):
                    self.declare_register(function, f"{name}{index}", kind)
            else:
                self.declare_register(function, name, kind)
            if not self.accept(","):
                break
        self.expect(";")

    def declare_register(self, function: Function, name: str, kind: str) -> None:
        unique = self.unique(name)
        self.scopes[-1][name] = Register(unique)
        function.registers[unique] = kind

    def unique(self, name: str) -> str:
        """A name that is one of its kind in the function, whatever scope it was declared in."""
        return name if len(self.scopes) == 1 else f"{name}#{self.scope_count}"

    def label(self, function: Function) -> None:
        name = self.take().text
        self.expect(":")
        if self.accept(".branchtargets"):
            labels = [self.take().text]
            while self.accept(","):
                labels.append(self.take().text)
            self.expect(";")
            function.targets[name] = tuple(labels)
        elif self.at(".callprototype") or self.at(".calltargets"):
            self.skip_statement()
        else:
            own = self.scopes[-1].get(name)
            function.labels[own.name if own is not None else name] = len(function.instructions)

    def instruction(self, function: Function) -> None:
        first = self.token
        guard = None
        if self.accept("@"):
            unless = self.accept("!")
            operand = self.named(self.take().text)
            if not isinstance(operand, Register):
                raise self.error("expected a predicate register")
            guard = Guard(operand.name, unless)
        words = [*self.take().text.split(".")]
        while self.token.kind == "directive":
            words += self.take().text[1:].split(".")
        operands: list[Operand] = []
        while not self.at(";"):
            operands.append(self.operand())
            if not self.accept(","):
                break
        last = self.expect(";")
        text = " ".join(self.text[first.start : last.start].split())
        file, line = (str(self.location[0]), self.location[1]) if self.location and self.location[1] else (None, None)
        function.instructions.append(Instruction(tuple(words), tuple(operands), guard, file, line, first.line, text))

    # Operands.

    def named(self, name: str) -> Operand:
        if name == "_":
            return Sink()
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name.startswith("%") or name == "WARP_SZ":
            return Special(name)
        return Symbol(name)

    def operand(self) -> Operand:
        first = self.simple_operand()
        return Pair(first, self.simple_operand()) if self.accept("|") else first

    def simple_operand(self) -> Operand:
        token = self.take()
        if token.kind == "number":
            return literal(token.text)
        if token.kind == "name":
            operand = self.named(token.text)
            return Symbol(operand.name, self.offset()) if isinstance(operand, Symbol) else operand
        match token.text:
            case "[":
                return self.address()
            case "{":
                return self.vector("}")
            case "(":
                return self.vector(")")
            case "!":
                operand = self.named(self.take().text)
                if isinstance(operand, Register):
                    return Not(operand)
            case "-":
                value = literal(self.take().text)
                return Integer(-value.value) if isinstance(value, Integer) else negated(value)
        self.position -= 1
        raise self.error("expected an operand")

    def vector(self, close: str) -> Vector:
        items: list[Operand] = []
        while not self.accept(close):
            items.append(self.operand())
            self.accept(",")
        return Vector(tuple(items))

    def address(self) -> Operand:
        base = self.simple_operand()
        if isinstance(base, Symbol):
            base, offset = Symbol(base.name), base.offset
        else:
            offset = self.offset()
        if not self.accept("]"):
            raise self.error("expected ']'")
        if not isinstance(base, Register | Symbol | Integer):
            raise self.error("expected a register, a variable or a number as address")
        return Address(base, offset)
