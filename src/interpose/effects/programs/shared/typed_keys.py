"""Keys that are typed into a terminal: there a person may be asked something, and the keys would be the answer.

Where the line is: a command typed into a session that somebody gave a name is judged as the command that it is (agents
run servers that way). An answer (`y`, a number, Enter alone), and anything typed into a terminal that is only found by
its number or by default, is a question. That the same text opens a session of that name proves nothing: if there is one
already, opening it fails, and the keys go to the person's.
"""

from __future__ import annotations

import re

from interpose.effects.invocation import UNKNOWN, Lowering, Word
from interpose.effects.late_patterns import late

_NAMED = late(r"=?[A-Za-z_][\w-]*(?::[\w.-]*)?(?:\.[\w-]+)?")
_ANSWER = late(r"(?:y|n|yes|no|a|always|approve|allow|ok|okay|proceed|continue|\d{1,2}|[A-Za-z])?", re.IGNORECASE)
_ANSWERING = late(r"(?:[cms]-)*(?:enter|kpenter|kp.|space|tab|btab)|c-[mjiy]|m-.", re.IGNORECASE)
"""Keys that take what is offered, or switch to another mode. Others move, end or clear something."""
_ENTER = frozenset({"enter", "c-m", "c-j", "kpenter"})
_KEY = late(
    r"(?:[cms]-)*(?:enter|escape|space|tab|btab|bspace|up|down|left|right|home|end|ic|dc|insert|delete|ppage|npage|"
    r"pageup|pagedown|pgup|pgdn|f\d{1,2}|kp.{1,5})|(?:[cms]-)+.",
    re.IGNORECASE,
)
"""The names of keys; every other word is typed as it stands."""
_PYTHON_CALL = late(r"(?:[A-Za-z_]\w*+\s*=\s*)?[A-Za-z_][\w.]*+\((?:[^)]|\)\s*+\Z)")
"""A call as Python and its like are typed. No shell takes a parenthesis there."""


def types(low: Lowering, terminal: str, keys: tuple[Word, ...], at: Word | None = None) -> None:
    """State that keys are typed into a terminal, unless they are a command for a named one."""
    if keys and all(word.text == "q" or (is_key(word) and not _ANSWERING.fullmatch(word.text)) for word in keys):
        return
    if _NAMED.fullmatch(terminal) and not _answers(keys):
        return
    state_typing(low, terminal, at)


def run_typed(low: Lowering, keys: tuple[Word, ...], via: str, *, literal: bool = False) -> None:
    """What runs where the keys are typed: the words stand beside each other, and Enter ends a line."""
    lines: list[list[Word]] = [[]]
    for word in keys:
        name = word.text.lower()
        if literal or not is_key(word):
            lines[-1].append(word)
        elif name in ("space", "tab"):
            lines[-1].append(Word(" "))
        elif name == "bspace" and lines[-1]:
            lines[-1][-1] = Word(lines[-1][-1].text[:-1], lines[-1][-1].span, taints=lines[-1][-1].taints)
        elif name in _ENTER:
            lines.append([])
        # Other keys move about or clear the line: what was typed before them may still be run.
    for line in lines:
        text = "".join(word.text for word in line)
        if not text.strip():
            continue
        typed = Word(text, line[0].span, taints=frozenset().union(*(word.taints for word in line)))
        if _PYTHON_CALL.match(text):
            low.code("python", typed, via=via)
        else:
            low.shell(typed, via=via)


def is_key(word: Word) -> bool:
    """Whether a word names a key."""
    return _KEY.fullmatch(word.text) is not None


def state_typing(low: Lowering, terminal: str, at: Word | None = None) -> None:
    """State that somebody's terminal is typed into."""
    low.emit("guard.tamper", terminal or "terminal", certainty="possible", at=at, rule="terminal-input",
             reason="Types into a terminal in which a person may be asked something")  # fmt: skip


def is_named(terminal: str) -> bool:
    """Whether a terminal is meant by a name that somebody gave it, and not by a number or by default."""
    return _NAMED.fullmatch(terminal) is not None


def state_foreign_terminal(low: Lowering, at: Word | None = None) -> None:
    """State that a terminal is read or changed which is not the command's own."""
    low.emit("guard.tamper", "terminal", certainty="possible", at=at, rule="terminal-control",
             reason="Reads or changes a terminal that a person may sit at")  # fmt: skip


def _answers(keys: tuple[Word, ...]) -> bool:
    """Whether the keys could be the answer to a question rather than a command."""
    text = " ".join(word.text for word in keys if not is_key(word)).strip()
    text = text.replace("\\n", "").replace("\\r", "").replace("\n", "").replace("\r", "").replace("^M", "").strip()
    return UNKNOWN in text[:1] or _ANSWER.fullmatch(text) is not None
