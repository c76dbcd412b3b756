"""Regular expressions that are compiled when they are first used.

A process that decides once and ends would compile hundreds of them and use a few.
"""

from __future__ import annotations

import re
from typing import Any, cast

_KNOWN = (
    "findall", "finditer", "flags", "fullmatch", "groupindex", "groups", "match", "pattern", "scanner", "search",
    "split", "sub", "subn",
)  # fmt: skip


class LatePattern:
    """What `re.compile` gives, from the first time on that anybody asks for anything of it."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        """Only what is not there yet is looked up here: after the first time everything is."""
        if name not in _KNOWN:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        self.__dict__.update({known: getattr(compiled, known) for known in _KNOWN})
        return self.__dict__[name]


def late(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, later. That it can be compiled at all is for a test to show."""
    return cast("re.Pattern[str]", LatePattern(text, flags))
