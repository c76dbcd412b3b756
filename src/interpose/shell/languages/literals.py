"""Languages that nobody here reads: a text in quotes that is a command line counts as one that may run."""

from __future__ import annotations

from interpose.shell.commands.shared.handler_table import HANDLERS
from interpose.shell.invocation import Lowering, Word
from interpose.shell.languages.tokens import TokenRules, tokens

_SYNTAX = TokenRules(backticks=False, holes=())
MAX_LITERALS = 32


def lower(code: str, low: Lowering, via: str) -> None:
    """Run what stands in quotes, if it starts with the name of a command and goes on."""
    found = (token.text for token in tokens(code, _SYNTAX) if token.kind == "string")
    for _, text in zip(range(MAX_LITERALS), found, strict=False):
        first, space, _ = text.strip().partition(" ")
        if space and first.rpartition("/")[2] in HANDLERS:
            low.shell(Word(text), via=via)
