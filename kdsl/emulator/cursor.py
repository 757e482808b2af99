"""A cursor over the tokens of one PTX module, and the variable declarations that every level of a module has."""

from __future__ import annotations

from kdsl.backend import DeviceError
from kdsl.emulator.syntax import BYTES, Float, Integer, Symbol, Variable
from kdsl.emulator.tokens import Token, float_bits, integer, literal, tokenize

FLAGS = {".noreturn", ".explicitcluster", ".unique", ".managed"}


class Cursor:
    """Takes tokens one after the other; errors name the line of the one at hand."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.position = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.tokens[self.position]
        if token.kind == "end":
            raise self.error("the text is cut off")
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

    def number(self) -> int:
        if self.token.kind != "number" or not isinstance(literal(self.token.text), Integer):
            raise self.error("expected an integer")
        return integer(self.take().text)

    def symbol(self) -> Symbol:
        if self.token.kind != "name":
            raise self.error("expected a name")
        return Symbol(self.take().text, self.offset())

    def offset(self) -> int:
        if self.accept("+"):
            return self.number()
        if self.token.kind == "number" and self.token.text.startswith("-"):
            return self.number()
        return 0


class Declarations(Cursor):
    """Declarations of variables: ``.global .align 4 .b8 a[16] = {...}, b;``"""

    def variables(self, external: bool = False) -> list[Variable]:
        """``.global .align 4 .b8 a[16] = {...}, b;``"""
        space = self.take().text[1:]
        found = [self.variable(space, external)]
        while self.accept(","):
            found.append(self.variable_tail(space, external, found[0].type, found[0].align))
        self.expect(";")
        return found

    def variable(self, space: str, external: bool = False) -> Variable:
        align, lanes, kind, pointee = 0, 1, "", False
        while self.token.kind == "directive":
            word = self.take().text[1:]
            if word == "align":
                # After .ptr it is the alignment of what the pointer points to (PTX ISA 9.0, 5.1.6.3).
                given = self.number()
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
            count *= self.number()
            self.expect("]")
        initial: tuple[int | Symbol, ...] = ()
        if self.accept("="):
            initial = tuple(self.initializer(kind))
            if unsized:
                count, unsized = len(initial), False
        size = 0 if unsized else count * element
        return Variable(space, name, kind, size, align or element * lanes, external, initial)

    def initializer(self, kind: str) -> list[int | Symbol]:
        if not self.accept("{"):
            return [self.initial_element(kind)]
        elements: list[int | Symbol] = []
        while not self.accept("}"):
            elements += self.initializer(kind)
            self.accept(",")
        return elements

    def initial_element(self, kind: str) -> int | Symbol:
        if self.token.kind == "number":
            value = literal(self.take().text)
            if self.at("("):
                raise self.error("masked addresses in initialisers are not emulated")
            return float_bits(value, BYTES[kind]) if isinstance(value, Float) else value.value
        if self.accept("generic"):
            self.expect("(")
            symbol = self.symbol()
            self.expect(")")
            return Symbol(symbol.name, symbol.offset + self.offset())
        return self.symbol()
