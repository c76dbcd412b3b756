"""What every match of a pattern has in it, read off the pattern itself.

To compile hundreds of patterns into one takes longer than a hook has. A text in which nothing stands that a pattern
needs is no match of it, and that can be seen without compiling anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_BEGINNING = re.compile(
    r"""
    (?:\\b)? (?:\(\?P<secret>)?
    ( (?: [\w/:=~-] | \\[.$+] ){2,} )
    (?= [\[(] )
    (?: [^|()\[\\] | \\. | \[[^\]\\]*\] | \(\?:[^()\[\\]*\) | \(\?P<secret> | \)(?![?*{]) )* \Z
    """,
    re.VERBOSE,
)
"""How most patterns begin: with the letters that the secrets of a service begin with, and no choice but in groups."""
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
    begins = _BEGINNING.match(pattern)
    texts = (begins[1].replace("\\", ""),) if begins else _needed([*_PARTS.findall(pattern), ")"], 0)[0]
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
