"""Keys that are typed into a terminal: there a person may be asked something, and the keys would be the answer.

Where the line is: a command typed into a session that somebody gave a name is judged as the command that it is (agents
run servers that way). An answer (`y`, a number, Enter alone), and anything typed into a terminal that is only found by
its number or by default, is a question. That the same text opens a session of that name proves nothing: if there is one
already, opening it fails, and the keys go to the person's.
"""

from __future__ import annotations

import re

from interpose.shell.invocation import UNKNOWN, Lowering, Word

_NAMED = re.compile(r"=?[A-Za-z_][\w-]*(?::[\w.-]*)?(?:\.[\w-]+)?")
_ANSWER = re.compile(r"(?:y|n|yes|no|a|always|approve|allow|ok|okay|proceed|continue|\d{1,2}|[A-Za-z])?", re.IGNORECASE)
_CONTROL = frozenset({"c-c", "c-d", "c-z", "c-l", "escape", "q", "c-u"})
"""Keys that end or clear something, and answer nothing."""
_KEYS = frozenset(
    {"enter", "c-m", "c-j", "kpenter", "space", "tab", "up", "down", "left", "right", "bspace", "home", "end"}
)


def types(low: Lowering, terminal: str, keys: tuple[Word, ...], at: Word | None = None) -> None:
    """State that keys are typed into a terminal, unless they are a command for a named one."""
    typed = [word.text.lower() for word in keys]
    if typed and all(text in _CONTROL for text in typed):
        return
    if _NAMED.fullmatch(terminal) and not _answers(keys):
        return
    state_typing(low, terminal, at)


def state_typing(low: Lowering, terminal: str, at: Word | None = None) -> None:
    """State that somebody's terminal is typed into."""
    low.emit("guard.tamper", terminal or "terminal", certainty="possible", at=at, rule="terminal-input",
             reason="Types into a terminal in which a person may be asked something")  # fmt: skip


def _answers(keys: tuple[Word, ...]) -> bool:
    """Whether the keys could be the answer to a question rather than a command."""
    text = " ".join(word.text for word in keys if word.text.lower() not in _KEYS).strip()
    text = text.replace("\\n", "").replace("\\r", "").replace("\n", "").replace("\r", "").replace("^M", "").strip()
    return UNKNOWN in text[:1] or _ANSWER.fullmatch(text) is not None
