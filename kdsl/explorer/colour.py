"""A stage's text in the colours of its language, for a terminal that shows them."""

from __future__ import annotations

from rich.console import Console
from rich.syntax import Syntax

# Pygments' names of the languages; the other stages are tables, or have a form of their own.
LEXERS = {"llvm": "llvm", "llvm-opt": "llvm", "ptx": "ptx"}


def coloured(text: str, stage: str) -> str:
    """The same text with terminal escapes (NO_COLOR is heeded) and no tabs; a stage without a lexer as it is."""
    if stage not in LEXERS:
        return text
    console = Console(force_terminal=True)
    with console.capture() as captured:
        # Why not print the Syntax itself? It cuts lines off at the terminal's width.
        syntax = Syntax("", LEXERS[stage], theme="ansi_dark", tab_size=8)
        console.print(syntax.highlight(text), soft_wrap=True, end="")
    return captured.get().rstrip("\n")  # Pygments ends every text with a new line
