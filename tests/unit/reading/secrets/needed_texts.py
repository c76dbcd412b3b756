"""What every match of a pattern has in it, read off the pattern itself.

Writes `src/interpose/reading/secrets/kinds/needed.py`: python -m tests.unit.reading.secrets.needed_texts
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_PARTS = re.compile(
    r"""
    \\.                                   # an escape
    | \[ \^? \]? (?: \\. | [^\]\\] )* \]  # a class
    | \(\? [a-z]+ \)                      # flags for all that follows
    | \( (?: \?P<\w+> | \?[a-z]*: )?      # a group begins
    | \{ [0-9,]+ \}                       # a number of times
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_SPECIAL = frozenset(".^$")
_ENOUGH = 20
"""Letters of a run that is `{19,}` or more."""


def needed_in(pattern: str) -> tuple[bytes, ...]:
    """Texts in lower case of which at least one is in every match, whatever its case. Empty if there are none.

    INVARIANT: what is not understood is not needed. A text that is named without need would hide secrets.
    """
    texts = _needed([*_PARTS.findall(pattern), ")"], 0)[0]
    return tuple(dict.fromkeys(text.lower().encode("latin-1") for text in texts))


def _needed(parts: Sequence[str], at: int) -> tuple[tuple[str, ...], int]:
    """What a group needs, of each alternative the longest, and where it ends."""
    alternatives: list[tuple[str, ...]] = []
    best: tuple[str, ...] = ()
    run = ""
    while True:
        inner: tuple[str, ...] = ()
        part = parts[at]
        at += 1
        if part in ("|", ")"):
            alternatives.append(_longer(best, (run,)))
            if part == ")":
                return (tuple(text for texts in alternatives for text in texts) if all(alternatives) else ()), at
            best, run = (), ""
            continue
        if part[0] == "(" and part[-1] != ")":
            inner, at = _needed(parts, at)
        least, once, at = _times(parts, at)
        letter = _letter(part)
        run += letter * min(least, _ENOUGH)
        if not letter or not once:
            best, run = _longer(_longer(best, (run,)), inner if least else ()), ""


def _longer(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The longer a text, the rarer. One of many is as rare as the shortest of them."""
    return other if min(map(len, other), default=0) > min(map(len, one), default=0) else one


def _letter(part: str) -> str:
    """The letter that a part stands for, if it is the same one always."""
    if part[0] == "\\":
        return "" if part[1].isalnum() else part[1]
    return part if len(part) == 1 and part not in _SPECIAL else ""


def _times(parts: Sequence[str], at: int) -> tuple[int, bool, int]:
    """How often the part before is there at least, whether exactly once, and where what says so ends."""
    times = parts[at]
    if times in ("?", "*"):
        return 0, False, at + 1
    if times == "+":
        return 1, False, at + 1
    if times[0] == "{" and times != "{":
        return int(times[1:-1].split(",")[0] or 0), False, at + 1
    return 1, True, at


_HEAD = '''"""What is in every match of a gate: texts in lower case, of which one at least is there.

To compile hundreds of patterns into one takes longer than a hook has. A text in which nothing stands that a pattern
needs is no match of it, and that is seen without compiling anything. Written by `needed_texts` of the unit tests.
"""

from __future__ import annotations

from collections.abc import Mapping

NEEDED: Mapping[str, tuple[bytes, ...]] = {
'''


def written() -> str:
    """The table as it is written."""
    from interpose.reading.secrets.scanner import Scanner, name_of

    lines = [_HEAD]
    for _, finders in vars(Scanner())["_rooms"]:
        for finder in finders:
            row = f'    "{name_of(finder)}": ('
            for text in needed_in(finder.gate):
                word = f"{_literal(text)}, "
                if len(row) + len(word) > 118:
                    lines.append(f"{row.rstrip()}\n")
                    row = "        "
                row += word
            lines.append(f"{row.rstrip()}),\n".replace(",),", ",),") if row.strip() else "")
    return "".join([*lines, "}  # fmt: skip\n"])


def _literal(text: bytes) -> str:
    return f'b"{text.decode("latin-1")}"' if b'"' not in text else repr(text)


if __name__ == "__main__":
    from pathlib import Path

    Path("src/interpose/reading/secrets/kinds/needed.py").write_text(written(), encoding="utf-8")
