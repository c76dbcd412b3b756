"""Settings as people write them: values, and texts that mean them in many manners."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import strategies as st

scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)

_COMMENTS = ("// it's mine", "/* x, { */", "// trailing   ", "/* two\n lines */", "//", "/**/")


def commented(data: Any, random: Random) -> str:
    """A text of this value with blanks, comments and trailing commas wherever they may stand."""
    newline = random.choice(("\n", "\r\n"))
    manner = random.choice(("lines", "one line", "wild"))
    mark = random.choice(("", "", "\ufeff"))
    body = _Writer(random, newline, random.choice(("  ", "\t", "    ")), manner).value(data, 0)
    return mark + body + random.choice(("", newline))


class _Writer:
    def __init__(self, random: Random, newline: str, unit: str, manner: str) -> None:
        self._random, self._newline, self._unit, self._manner = random, newline, unit, manner

    def value(self, data: Any, depth: int) -> str:
        if isinstance(data, dict):
            members = [
                f"{json.dumps(key)}{self._gap()}:{self._gap()}{self.value(value, depth + 1)}"
                for key, value in data.items()
            ]
            return self._container("{", members, "}", depth)
        if isinstance(data, list):
            return self._container("[", [self.value(value, depth + 1) for value in data], "]", depth)
        return json.dumps(data, ensure_ascii=self._random.random() < 0.5)

    def _container(self, opening: str, members: list[str], closing: str, depth: int) -> str:
        if not members:
            return opening + self._gap() + self._gap() + closing
        inline = self._manner == "one line"
        start = " " if inline else self._newline + self._unit * (depth + 1)
        end = "" if inline else self._newline + self._unit * depth
        parts = [opening]
        for at, member in enumerate(members):
            last = at == len(members) - 1
            comma = "" if last and self._random.random() < 0.7 else ","
            parts += (start, member, self._gap(), comma, self._gap())
        return "".join((*parts, end, closing))

    def _gap(self) -> str:
        """Nothing, mostly."""
        if self._manner == "one line":
            return self._random.choice(("", "", " ", "/* c */"))
        if self._random.random() < 0.75:
            return self._random.choice(("", " ")) if self._manner == "wild" else ""
        comment = self._random.choice(_COMMENTS).replace("\n", self._newline)
        return " " + comment + (self._newline if comment.startswith("//") else "")
