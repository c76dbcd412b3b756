"""What the command of a call would do, analysed once for all guards that ask."""

from __future__ import annotations

from interpose.guards.answers import Answers
from interpose.shell import analyse
from interpose.types import Effect

_EFFECT_BYTES = 512
_KNOWN: Answers[tuple[Effect, ...]] = Answers(max_entries=1024)


def effects_of(command: str, cwd: str, home: str) -> tuple[Effect, ...]:
    """The effects of a command. The analysis looks at the text alone, so its answer holds as long as the process."""
    key = (command, cwd, home)
    known = _KNOWN.get(key)
    if known is None:
        known = analyse(command, cwd=cwd, home=home).effects
        _KNOWN.put(key, known, len(command) + _EFFECT_BYTES * len(known))
    return known
