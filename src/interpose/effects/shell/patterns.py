"""Shell patterns over known text: what `${x#p}`, `${x/p/r}` and `case` match."""

from __future__ import annotations

import re
from functools import lru_cache

from interpose.effects.late_patterns import late

_MAX_STARS = 3
_MAX_WORK = 250_000
"""Characters that are tried. Beyond these the answer is `unknown`."""
_PER_STEP = 250


def work_of(text: str, pattern: str) -> int:
    """Characters that are tried at most: each star begins anew at every place, and so may the pattern itself."""
    work: int = (len(text) + 1) ** (1 + min(pattern.count("*"), _MAX_STARS))
    return work + len(pattern)


def steps_of(text: str, pattern: str) -> int:
    """The same as steps of a budget. What would take too long is not tried."""
    return 1 + min(work_of(text, pattern), _MAX_WORK) // _PER_STEP


def _tried(text: str, pattern: str, greedy: bool) -> re.Pattern[str] | None:
    return _regex(pattern, greedy) if work_of(text, pattern) <= _MAX_WORK else None


@lru_cache(maxsize=256)
def _regex(pattern: str, greedy: bool) -> re.Pattern[str] | None:
    if pattern.count("*") > _MAX_STARS or len(pattern) > 200 or "(" in pattern:
        return None
    pieces: list[str] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        position += 1
        if character == "*":
            pieces.append(".*" if greedy else ".*?")
        elif character == "?":
            pieces.append(".")
        elif character == "\\" and position < len(pattern):
            pieces.append(re.escape(pattern[position]))
            position += 1
        elif (
            character == "[" and (end := pattern.find("]", position + 1 + pattern.startswith(("!", "^"), position))) > 0
        ):
            inner = pattern[position:end]
            negated = inner.startswith(("!", "^"))
            pieces.append(("[^" if negated else "[") + _class(inner[1:] if negated else inner) + "]")
            position = end + 1
        else:
            pieces.append(re.escape(character))
    try:
        return re.compile("".join(pieces), re.DOTALL)
    except re.error:
        return None


_EXTENDED = late(r"([@?*+!])\(([^()]*)\)")
_MAX_WORDS = 16


def alternatives(text: str) -> list[str]:
    """The words that an extended pattern may stand for: `@(a|b)c` is `ac` or `bc`. What is not simple becomes `*`."""
    words = [text]
    for _ in range(3):
        if not any(_EXTENDED.search(word) for word in words):
            return words
        words = list(dict.fromkeys(new for word in words for new in _unfolded(word)))[:_MAX_WORDS]
    return [_EXTENDED.sub("*", word) for word in words]


def _unfolded(word: str) -> list[str]:
    found = _EXTENDED.search(word)
    if found is None:
        return [word]
    kind, inner = found.groups()
    ways = ["*"] if kind == "!" else [*inner.split("|"), *([""] if kind in "?*" else [])]
    return [word[: found.start()] + way + word[found.end() :] for way in ways]


def _class(inner: str) -> str:
    named = {
        "[:alpha:": "A-Za-z",
        "[:digit:": "0-9",
        "[:alnum:": "A-Za-z0-9",
        "[:space:": r"\s",
        "[:upper:": "A-Z",
        "[:lower:": "a-z",
    }
    if inner in named:
        return named[inner]
    return inner.replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")


def matches(text: str, pattern: str) -> bool | None:
    """Whether `pattern` matches the whole text; None when that cannot be said."""
    compiled = _tried(text, pattern, greedy=True)
    return None if compiled is None else compiled.fullmatch(text) is not None


def strip_prefix(text: str, pattern: str, *, longest: bool) -> str | None:
    """`${text#pattern}` and `${text##pattern}`."""
    compiled = _tried(text, pattern, longest)
    if compiled is None:
        return None
    found = compiled.match(text)
    return text[found.end() :] if found else text


def strip_suffix(text: str, pattern: str, *, longest: bool) -> str | None:
    """`${text%pattern}` and `${text%%pattern}`."""
    compiled = _tried(text, pattern, greedy=True)
    if compiled is None:
        return None
    starts = range(len(text) + 1) if longest else range(len(text), -1, -1)
    if "*" in pattern and len(text) > 400:
        return None
    for start in starts:
        if compiled.fullmatch(text, start):
            return text[:start]
    return text


def substitute(text: str, pattern: str, replacement: str, how: str) -> str | None:
    """`${text/pattern/replacement}`; `how` is the operator: `/`, `//`, `/#` or `/%`."""
    compiled = _tried(text, pattern, greedy=True)
    if compiled is None or not pattern:
        return text if not pattern else None
    if how.endswith("#"):
        found = compiled.match(text)
        return replacement + text[found.end() :] if found else text
    if how.endswith("%"):
        for start in range(len(text) + 1):
            if compiled.fullmatch(text, start):
                return text[:start] + replacement
        return text
    if not compiled.fullmatch(""):
        return compiled.sub(replacement.replace("\\", r"\\"), text, count=1 if how == "/" else 0)
    return compiled.sub(lambda found: replacement if found.group() else "", text, count=1 if how == "/" else 0)
