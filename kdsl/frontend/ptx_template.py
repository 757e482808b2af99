"""The template of inline PTX, read as PTX is: instructions, their operands, and where each placeholder stands.

It is a grammar of its own and a small one: labels and registers are declared in braces only, for the text may be copied
into a function more than once, and nothing leaves the text but at its end.
"""

from __future__ import annotations

import re
from dataclasses import field

from kdsl.frontend.ptx_instructions import OPCODES, SPECIAL_REGISTERS
from kdsl.records import dataclass

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<open>\{\{)|(?P<close>\}\})|\{(?P<placeholder>[^\W\d]\w*)\}
    |(?P<number>0[fF][0-9A-Fa-f]{8}\b|0[dD][0-9A-Fa-f]{16}\b|-?0[xX][0-9A-Fa-f]+U?\b|-?0[bB][01]+U?\b
        |-?\d+\.\d*(?:[eE][-+]?\d+)?|-?\d+U?\b)
    |(?P<word>[.%$A-Za-z_][\w$]*(?:(?:\.|::)[\w$]+)*)
    |(?P<mark>[\[\](),;:|!@<>=+*-])
    |(?P<bad>.)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
LEAVES = {"ret": "write `return` in Python", "call": "call a function in Python", "brx": "write a match in Python"}
CONSTANTS = ("WARP_SZ", "_")


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


class TemplateError(Exception):
    """Text that is no PTX: why, from where to where in the template, and what to write instead."""

    def __init__(self, place: Token, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.place, self.message, self.hint = place, message, hint


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of an instruction, or its guard."""

    tokens: tuple[Token, ...]

    @property
    def placeholder(self) -> Token | None:
        """The placeholder that this is, negated or not."""
        tokens = self.tokens[1:] if self.tokens[0].text == "!" else self.tokens
        return tokens[0] if len(tokens) == 1 and tokens[0].kind == "placeholder" else None

    @property
    def is_address(self) -> bool:
        return self.tokens[0].text == "["

    @property
    def base(self) -> Token | None:
        """The placeholder that an address starts with."""
        return self.tokens[1] if self.is_address and self.tokens[1].kind == "placeholder" else None


@dataclass(frozen=True, slots=True)
class Instruction:
    """``words`` are the parts of the opcode: ``add.u32`` has two."""

    opcode: Token
    guard: Operand | None
    operands: tuple[Operand, ...]

    @property
    def words(self) -> list[str]:
        return self.opcode.text.split(".")


@dataclass(slots=True)
class Template:
    """A template that is well-formed. ``lines`` are its statements: text, and placeholders as tokens."""

    instructions: list[Instruction] = field(default_factory=list)
    lines: list[list[str | Token]] = field(default_factory=list)

    @property
    def placeholders(self) -> list[Token]:
        return [part for line in self.lines for part in line if isinstance(part, Token)]


def parse(text: str) -> Template:
    """The template that ``text`` is; TemplateError for the first thing that is not."""
    return _Parser(tokenize(text)).template()


def tokenize(text: str) -> list[Token]:
    tokens = []
    for found in TOKEN.finditer(text):
        kind = found.lastgroup
        assert kind is not None
        token = Token(kind, found[kind], found.start(), found.end())
        if kind == "bad":
            hint = "braces of PTX are doubled: {{ and }}" if token.text in "{}" else None
            raise TemplateError(token, f"{token.text!r} is no PTX here", hint)
        if kind != "skip":
            tokens.append(token)
    tokens.append(Token("end", "", len(text), len(text)))
    return tokens


class _Parser:
    """A cursor over the tokens of one template. ``scopes`` are the names declared in each open brace."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.found = Template()
        self.scopes: list[set[str]] = []
        self.targets: list[Token] = []
        self.labels: set[str] = set()

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    @property
    def following(self) -> Token:
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)]

    def take(self) -> Token:
        token = self.token
        self.position += 1
        return token

    def accept(self, text: str) -> bool:
        if self.token.text == text and self.token.kind == "mark":
            self.position += 1
            return True
        return False

    def template(self) -> Template:
        while self.token.kind != "end":
            self.statement()
        if not self.found.instructions:
            raise TemplateError(self.token, "there is no instruction in this template")
        for target in self.targets:
            if target.text not in self.labels:
                raise TemplateError(target, f"`{target.text}` is no label of this template", "control stays in it")
        return self.found

    def statement(self) -> None:
        first = self.position
        token = self.token
        if token.kind == "open":
            self.take()
            self.keep(first)
            self.block(token)
            return
        if token.text == ".reg":
            self.registers()
        elif token.kind == "word" and self.following.text == ":":
            self.label()
        elif (token.kind == "word" and not token.text.startswith((".", "%"))) or token.text == "@":
            self.instruction()
        elif token.text.startswith("."):
            raise TemplateError(token, f"`{token.text}` has no place in inline PTX", "of directives there is `.reg`")
        else:
            raise TemplateError(token, f"an instruction is expected, not `{shown(token)}`")
        self.keep(first)

    def keep(self, first: int) -> None:
        """Take the tokens from ``first`` to here as a line of the text."""
        line: list[str | Token] = []
        end = self.tokens[first].start
        for token in self.tokens[first : self.position]:
            if token.start > end:
                line.append(" ")
            line.append(token if token.kind == "placeholder" else {"{{": "{", "}}": "}"}.get(token.text, token.text))
            end = token.end
        self.found.lines.append(line)

    def block(self, opening: Token) -> None:
        self.scopes.append(set())
        while self.token.kind != "close":
            if self.token.kind == "end":
                raise TemplateError(opening, "this brace is not closed", "write }}")
            self.statement()
        first = self.position
        self.take()
        self.keep(first)
        self.scopes.pop()

    def scope(self, place: Token, what: str) -> set[str]:
        if not self.scopes:
            hint = "write {{ before it, and }} at the end: the text may be copied into a function more than once"
            raise TemplateError(place, f"{what} outside of braces", hint)
        return self.scopes[-1]

    def registers(self) -> None:
        scope = self.scope(self.take(), "registers are declared")
        if self.token.kind != "word" or not re.fullmatch(r"\.(pred|[busf]\d+|f16x2)", self.token.text):
            raise TemplateError(self.token, f"`.reg` is followed by a type, not `{shown(self.token)}`", ".reg .u32 t;")
        self.take()
        while True:
            name = self.take()
            if name.kind != "word" or name.text.startswith("."):
                raise TemplateError(name, f"a register's name is expected, not `{shown(name)}`")
            count = self.count() if self.accept("<") else None
            scope |= {name.text} if count is None else {f"{name.text}{i}" for i in range(count)}
            if self.accept(";"):
                return
            self.separator()

    def count(self) -> int:
        number = self.take()
        if number.kind != "number" or not number.text.isdigit() or int(number.text) > 4096 or not self.accept(">"):
            raise TemplateError(number, "a count of registers is expected", "such as t<4>")
        return int(number.text)

    def label(self) -> None:
        name = self.take()
        self.scope(name, "a label stands")
        self.labels.add(name.text)
        self.take()

    def instruction(self) -> None:
        guard = None
        if self.accept("@"):
            first = self.position
            self.accept("!")
            self.atom()
            guard = Operand(tuple(self.tokens[first : self.position]))
        opcode = self.take()
        word = opcode.text.partition(".")[0]
        if opcode.kind != "word" or not word:
            raise TemplateError(opcode, f"an instruction is expected, not `{shown(opcode)}`")
        check_opcode(opcode, word)
        operands: list[Operand] = []
        if word == "bra" and self.token.kind == "word":
            self.targets.append(self.take())
            operands.append(Operand((self.targets[-1],)))
        while not self.accept(";"):
            if operands:
                self.separator()
            operands.append(self.operand())
        self.found.instructions.append(Instruction(opcode, guard, tuple(operands)))

    def separator(self) -> None:
        if self.accept(","):
            return
        last = self.tokens[self.position - 1]
        if self.token.kind in ("end", "close"):
            raise TemplateError(last, "the instruction does not end", "write ; at its end")
        raise TemplateError(self.token, f"`,` or `;` is expected, not `{shown(self.token)}`")

    def operand(self) -> Operand:
        first = self.position
        if self.accept("["):
            self.inside("]")
        elif self.token.kind == "open":
            self.vector()
        else:
            self.accept("!")
            self.atom()
            if self.token.kind == "word" and self.token.text.startswith("."):
                self.take()  # a part of a register: .b0, .h1
            if self.accept("|"):
                self.atom()
        return Operand(tuple(self.tokens[first : self.position]))

    def vector(self) -> None:
        self.take()
        while self.token.kind != "close":
            self.atom()
            if self.token.kind != "close":
                self.separator()
        self.take()

    def inside(self, closing: str) -> None:
        """An address: what it starts from, an offset; of a tensor a vector of coordinates."""
        opening = self.tokens[self.position - 1]
        if self.token.text == closing:
            raise TemplateError(opening, "an address is expected", "[{p}]")
        while not self.accept(closing):
            if self.token.kind == "end" or self.token.text == ";":
                raise TemplateError(opening, f"this `{opening.text}` is not closed", f"write {closing}")
            if self.token.kind == "open":
                self.vector()
            elif self.token.kind == "mark" and self.token.text in "+-,*":
                self.take()
            else:
                self.atom()

    def atom(self) -> None:
        """A placeholder, a number, a name that is declared, or a special register."""
        self.accept("-")
        token = self.token
        if token.kind in ("end", "close"):
            raise TemplateError(self.tokens[self.position - 1], "the instruction does not end", "write ; at its end")
        if token.kind not in ("placeholder", "number", "word"):
            raise TemplateError(token, f"an operand is expected, not `{shown(token)}`")
        known = token.kind != "word" or token.text in CONSTANTS or any(token.text in scope for scope in self.scopes)
        if not known and not SPECIAL_REGISTERS.fullmatch(token.text):
            hint = (
                f"write {{{token.text}}} for an operand; a register is declared: {{{{ .reg .u32 {token.text}; ... }}}}"
            )
            if re.fullmatch(r"%\d+", token.text):
                numbered = "operands have names, not numbers: {d} is the result, and {a} is a=..."
                raise TemplateError(token, f"`{token.text}` is not declared", numbered)
            raise TemplateError(token, f"`{token.text}` is not declared", hint if token.text.isidentifier() else None)
        self.take()


def check_opcode(opcode: Token, word: str) -> None:
    """TemplateError unless PTX has such an instruction, and inline PTX may."""
    if word in LEAVES:
        raise TemplateError(opcode, f"`{word}` leaves the template", LEAVES[word])
    if word not in OPCODES:
        import difflib  # start-up cost: only for an error

        close = difflib.get_close_matches(word, OPCODES, n=1)
        hint = f"did you mean `{close[0]}`?" if close else None
        raise TemplateError(opcode, f"PTX has no instruction `{word}`", hint)


def shown(token: Token) -> str:
    return f"{{{token.text}}}" if token.kind == "placeholder" else token.text or "the end"
