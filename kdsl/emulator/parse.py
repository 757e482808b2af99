"""PTX text to `syntax` data. Opcode-agnostic: any mnemonic parses; `program` decides which ones exist."""

from __future__ import annotations

import re
from dataclasses import replace

from kdsl.backend import DeviceError
from kdsl.emulator.syntax import (
    BYTES,
    Address,
    Float,
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
from kdsl.emulator.tokens import Token, integer, literal, tokenize

STATE_SPACES = {".global", ".shared", ".local", ".const", ".param"}
LINKAGE = {".visible", ".extern", ".weak", ".common"}
FLAGS = {".noreturn", ".explicitcluster", ".unique", ".managed"}
TUNING = {
    ".maxntid", ".reqntid", ".minnctapersm", ".maxnreg", ".maxnctapersm", ".reqnctapercluster", ".maxclusterrank",
    ".pragma", ".alias", ".blocksareclusters", ".abi_preserve", ".abi_preserve_control",
}  # fmt: skip


def parse(text: str) -> Module:
    """The module that ``text`` declares; DeviceError names the line that is not PTX."""
    return Parser(text).module()


class Parser:
    """A cursor over the tokens of one module."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.position = 0
        self.files: dict[int, str] = {}
        self.location: tuple[int, int] | None = None
        self.result = Module()
        self.scopes: list[dict[str, Register | Symbol]] = []
        self.scope_count = 0

    # The cursor.

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.tokens[self.position]
        self.position += 1
        return token

    def at(self, text: str) -> bool:
        return self.tokens[self.position].text == text

    def accept(self, text: str) -> bool:
        if self.tokens[self.position].text == text:
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        if not self.at(text):
            raise self.error(f"expected {text!r}")
        return self.take()

    def error(self, message: str) -> DeviceError:
        token = self.token
        lines = self.text.split("\n")
        source = lines[token.line - 1].strip() if token.line <= len(lines) else ""
        return DeviceError(f"PTX line {token.line}: {message}, found {token.text or 'the end of the text'!r}: {source}")

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
        words = text.split("//")[0].replace(",", " ").split()
        match words[0]:
            case ".file":
                names = re.findall(r'"([^"]*)"', text)
                self.files[int(words[1])] = names[-1] if names else ""
            case ".loc":
                self.location = (int(words[1]), int(words[2]))
            case ".target":
                self.result.target = words[1]

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

    # Variables.

    def variables(self, external: bool = False) -> list[Variable]:
        """``.global .align 4 .b8 a[16] = {...}, b;``"""
        space = self.take().text[1:]
        found = [self.variable(space, external)]
        while self.accept(","):
            found.append(replace(self.variable_tail(space, external, found[0].type, found[0].align)))
        self.expect(";")
        return found

    def variable(self, space: str, external: bool = False) -> Variable:
        align, lanes, kind, pointee = 0, 1, "", False
        while self.token.kind == "directive":
            word = self.take().text[1:]
            if word == "align":
                # After .ptr it is the alignment of what the pointer points to (PTX ISA 9.0, 5.1.6.3).
                given = integer(self.take().text)
                align = align if pointee else given
            elif word in {"v2", "v4", "v8"}:
                lanes = int(word[1])
            elif word == "attribute":
                self.skip_parentheses()
            elif word in BYTES or word == "pred":
                kind = word
            elif word == "ptr":
                pointee = True
            elif word not in {"global", "shared", "local", "const"} and "." + word not in FLAGS:
                raise self.error(f"unknown type or attribute .{word}")
        if not kind:
            raise self.error("expected a type")
        return self.variable_tail(space, external, kind, align, lanes)

    def skip_parentheses(self) -> None:
        self.expect("(")
        while not self.accept(")"):
            self.take()

    def variable_tail(self, space: str, external: bool, kind: str, align: int, lanes: int = 1) -> Variable:
        name = self.take().text
        count = lanes
        element = BYTES.get(kind, 1)
        unsized = False
        while self.accept("["):
            if self.accept("]"):
                unsized = True
                continue
            count *= integer(self.take().text)
            self.expect("]")
        initial: tuple[int | Symbol, ...] = ()
        if self.accept("="):
            initial = tuple(self.initializer())
            if unsized:
                count, unsized = len(initial), False
        size = 0 if unsized else count * element
        return Variable(space, name, kind, size, align or element * lanes, external, initial)

    def initializer(self) -> list[int | Symbol]:
        if not self.accept("{"):
            return [self.initial_element()]
        elements: list[int | Symbol] = []
        while not self.accept("}"):
            elements += self.initializer() if self.at("{") else [self.initial_element()]
            self.accept(",")
        return elements

    def initial_element(self) -> int | Symbol:
        if self.token.kind == "number":
            value = literal(self.take().text)
            if self.at("("):
                raise self.error("masked addresses in initialisers are not emulated")
            return value.bits if isinstance(value, Float) else value.value
        if self.accept("generic"):
            self.expect("(")
            symbol = self.symbol()
            self.expect(")")
            return Symbol(symbol.name, symbol.offset + self.offset())
        return self.symbol()

    def symbol(self) -> Symbol:
        if self.token.kind != "name":
            raise self.error("expected a name")
        return Symbol(self.take().text, self.offset())

    def offset(self) -> int:
        if self.accept("+"):
            return integer(self.take().text)
        if self.token.kind == "number" and self.token.text.startswith("-"):
            return integer(self.take().text)
        return 0

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
        while not self.accept("}"):
            self.statement(function)
        self.scopes.pop()
        self.scope_count += 1

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
                count = integer(self.take().text)
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
            function.labels[name] = len(function.instructions)

    def instruction(self, function: Function) -> None:
        first = self.token
        guard = None
        if self.accept("@"):
            negated = self.accept("!")
            operand = self.named(self.take().text)
            if not isinstance(operand, Register):
                raise self.error("expected a predicate register")
            guard = Guard(operand.name, negated)
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
                return Integer(-value.value) if isinstance(value, Integer) else value
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
