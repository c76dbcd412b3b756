"""Numbers and ids in a command: which of them only name a thing, so that another one names another thing.

A number that says how much, how deep, as whom or on what side is no name: with another one the same effect is worse,
and no effect says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from interpose.core.types import Effect

_PLAIN_ASSIGNMENT = ("=",)
_COMPARED = ("<=", ">=", "!=", "==", "<>")
_WHERE = re.compile(r"\bwhere\b", re.IGNORECASE)
HERE = frozenset({"bash", "sh", "dash", "zsh", "ksh", "env", "nice", "nohup", "timeout", "time", "command", "stdbuf"})
"""What a command may run through and still run on this machine, with its files."""


def is_local(effects: Iterable[Effect]) -> bool:
    """Whether all of it happens on this machine: a path that ssh or a container is given is none of ours."""
    return all(step in HERE for effect in effects for step in effect.via)


def only_names(command: str, start: int, effects: Iterable[Effect], *, named: bool) -> bool:
    """Whether the number at `start` says which, and not how much. `effects` are those around it; `named` says that one
    of them is on what the number names."""
    before = command[:start]
    words = before.split()
    if words and words[-1].startswith("-") and before[-1:].isspace() and not named:
        return False  # the value of an option: `--user 1000`, `-maxdepth 1`, `--amount 12`
    if any(effect.kind == "data.destroy" for effect in effects) and not named:
        text = before.rstrip(" \t'\"")
        # Rows that are chosen by one value. `> 5`, `limit 5` and `set role = 5` are something else.
        return text.endswith(_PLAIN_ASSIGNMENT) and not text.endswith(_COMPARED) and _WHERE.search(text) is not None
    return True
