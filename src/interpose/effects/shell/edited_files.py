"""Files that were there before and are changed in place: what is added to them is known, the rest is the user's own."""

from __future__ import annotations

import re

from interpose.effects.invocation import UNKNOWN, Stream
from interpose.effects.late_patterns import late
from interpose.effects.syntax import parse
from interpose.effects.syntax.budget import Budget

EDITED = "edited"
"""The taint of such a file: what is known of it is what was added."""

_LANGUAGES = {"py": "python", "js": "javascript", "mjs": "javascript", "rb": "ruby", "pl": "perl", "php": "php"}
_PLAIN = late(rf"[\w\s.,:=/@%+\"'#!{UNKNOWN}-]*+")
"""A line in which Python and JavaScript call nothing."""
_SPLIT = late(rf"[\w\s.,:=/@%+~*\[\]\"'!;(){{}}{UNKNOWN}-]*+")
"""A piece of shell that can be taken apart: no pipe, no substitution, no redirection."""
_RESERVED = frozenset({"if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"})


def edited(before: Stream | None, new: Stream, added: str | None) -> Stream:
    """What is known of a file after a change in place that adds `added`, or makes `new` of what was known."""
    if before is None:
        return Stream(new.text if added is None else added, new.taints | {EDITED})
    if EDITED in before.taints:
        text = None if before.text is None or added is None else f"{before.text}\n{added}"
        return Stream(text, new.taints | before.taints)
    return Stream(None if before.text is None or added is None else new.text, new.taints | before.taints)


def language_of(path: str, default: str) -> str:
    """The language of a script that is called by its name."""
    return _LANGUAGES.get(path.rpartition(".")[2], default)


def runnable(text: str, language: str, budget: Budget) -> str:
    """What was added, so that it can be read alone: it may be half of a construct whose other half is in the file."""
    if language in ("python", "javascript"):
        return "\n".join(line for line in text.split("\n") if not _PLAIN.fullmatch(line))
    if language != "bash" or not parse(text, budget).problems:
        return text
    return "\n".join(_line(line, budget) for line in text.split("\n"))


def _line(line: str, budget: Budget) -> str:
    budget.spend(4)
    line = f": {line.lstrip()}" if line.lstrip().startswith((";", "&", "|")) else line
    if not parse(line, budget).problems or not _SPLIT.fullmatch(line.replace("&&", ";").replace("||", ";")):
        return line
    pieces = re.split(r"[;(){}]|&&|\|\|", line.replace('"', "").replace("'", ""))
    return "\n".join(" ".join(word for word in piece.split() if word not in _RESERVED) for piece in pieces)
