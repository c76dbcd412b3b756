"""Tcl and expect: programs of commands and words, as a shell's are."""

from __future__ import annotations

from itertools import pairwise

from interpose.effects.handler_table import HANDLERS
from interpose.effects.invocation import UNKNOWN, Lowering, Word
from interpose.effects.languages.tokens import TokenRules, tokens

_LEADERS = frozenset(
    {"catch", "if", "eval", "then", "else", "puts", "set", "spawn", "exec", "system", "open", "file", "while", "after",
     "foreach", "for", "try", "uplevel", "source", "time", "return", "proc", "expr", "1", "0", "idle"}
)  # fmt: skip
"""Words in front of which, or behind which, a command stands."""


def lower(code: str, low: Lowering, via: str) -> None:
    """State what a Tcl program runs, deletes and opens."""
    _sent(code, low)
    values: dict[str, str] = {}
    for line in code.replace("[", ";").replace("]", ";").replace("\n", ";").split(";"):
        words = [word.strip('{}"') for word in line.split()]
        if words[:1] == ["set"] and len(words) > 2:
            values[words[1]] = " ".join(words[2:])
        if words and words[0].startswith("$"):
            known = values.get(words[0][1:])
            words = [*(known.split() if known else [UNKNOWN]), *words[1:]]
            if known is None:
                low.emit("opaque", via, certainty="possible", rule="computed-call", recoverable=True,
                         reason="Calls something by a name that only shows when it runs")  # fmt: skip
        _command(words, line, low)


def _command(words: list[str], line: str, low: Lowering) -> None:
    while words and (words[0] in _LEADERS or words[0] == ""):
        head = words.pop(0)
        if head in ("exec", "spawn", "system"):
            rest = line.partition(head)[2].split() if head in line else words
            while rest and rest[0] in ("-ignorestderr", "-keepnewline", "--", "-noecho"):
                rest.pop(0)
            # Braces are Tcl's single quotes.
            low.shell(" ".join(rest).replace("{*}", "").replace("{", "'").replace("}", "'"), via=head)
            return
        if head == "file" and words[:1] == ["delete"]:
            for word in words[1:]:
                if not word.startswith("-"):
                    low.delete(Word(UNKNOWN if word.startswith("$") else word, glob="*" in word), recursive=True,
                               forced=True)  # fmt: skip
            return
        if head == "file" and words[:1] in (["rename"], ["copy"]):
            verb = "mv" if words[0] == "rename" else "cp"
            low.run((Word(verb), *(Word(word) for word in words[1:] if not word.startswith("-"))), via="file")
            return
        if head == "open" and words:
            if words[0].startswith("|"):
                low.shell(" ".join(words).lstrip("|"), via="open")
            elif words[1:2] and words[1][:1] in ("w", "a"):
                low.write(Word(words[0]))
            else:
                low.read(Word(words[0]))
            return
        if head == "source" and words:
            low.run_file(words[0], via="source", language="tcl")
            return


def _sent(code: str, low: Lowering) -> None:
    """What expect types into a program it started: a shell would run it."""
    found = tokens(code, TokenRules(backticks=False, holes=("$",), joiners=()))
    for name, text in pairwise(found):
        if name.text in ("send", "--") and text.kind == "string" and text.text.partition(" ")[0] in HANDLERS:
            low.shell(text.text.strip(), via="send")
