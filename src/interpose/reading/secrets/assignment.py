"""Secrets that a name gives away: `TOKEN=...`, `"password": "..."`, `--api-key ...`, `key="Password" value=...`."""

from __future__ import annotations

from collections.abc import Iterator

from interpose.reading.secrets.hits import GUESSED, NAMED, Hit
from interpose.reading.secrets.names import (
    LETTERS_WORDS,
    WORDS,
    could_tell,
    flat,
    is_password_word,
    kinds_of_vendor,
    telling_end,
)
from interpose.reading.secrets.patterns import PatternMatch, pattern
from interpose.reading.secrets.secret_values import (
    UUID,
    has,
    is_code,
    is_drawn,
    is_filler,
    is_password,
    is_random,
    is_template,
)

_TYPE = r"(?::[ \t]*[&A-Za-z]+(?:\[[a-z]+\])?(?:[ \t]*\|[ \t]*None)?[ \t]*|string[ \t]*)?"
_IS = rf"(?:{_TYPE}[:?+|.!=]{{0,3}}=>?|<-|->|:|\|\|?|\()"
_CLOSE = r"[\\ \t]*[\"'`]?\]?"
_VALUE = (
    r"[\\ \t]*(?:(?:\"{3}|\")(?P<double>[^\"\\\r\n]+)|(?:'{3}|')(?P<single>[^'\\\r\n]+)|`(?P<back>[^`\\\r\n]+)"
    r"|(?P<bare>[^\s\"'`,;<>(){}\[\]\\]+))"
)
_VALUE_GATE = (
    r"[\\ \t]*(?:\"{3}|'{3}|[\"'`])?"
    r"(?:[^\s\"'`,;<>(){}\[\]\\0-9]*[0-9]|[^\s\"'`(){}\\,;]*[^\s\"'`(){}\\,;0-9A-Za-z_.-])"
)
_QUOTED_GATE = r"[\\ \t]*[\"'][^\s\"'\\(){}]{8}"
_GIVEN = rf"{_CLOSE}[ \t]*{_IS}[ \t]*"
_LONG_WORD_GATE = rf"(?:token|secret|key){_GIVEN}[\\ \t]*[\"'][a-z]{{20}}"
"""Values without a digit, which only their quotes set apart from names."""

_GROUPS = ("double", "single", "back", "bare")
_REST = r"&[0-9A-Za-z_.-]+="
_PARTS = 4
"""Of a token with points in it: an id, a secret, a signature."""
MAX_NAME = 200
MIN_VALUE = 6
MAX_VALUE = 4096


def kind_of(name: bytes, value: bytes, *, quoted: bool) -> tuple[str, int] | None:
    """The kind and rank of a value that is given to a name, or None if it is no secret."""
    if len(name) > MAX_NAME or not MIN_VALUE <= len(value) <= MAX_VALUE or not could_tell(name) or is_template(value):
        return None
    known = flat(name)
    if (kind := _kind_by_vendor(known, value)) is not None:
        return kind, NAMED
    word = telling_end(known)
    if word is None or is_filler(value):
        return None
    if pattern(UUID).covers(value):
        return ("generic-api-key", GUESSED) if word != "credential" else None
    if is_code(value) and not any(is_drawn(part) for part in value.split(b".", _PARTS)):
        return None
    if is_password_word(word):
        return ("generic-password", GUESSED) if is_password(value, quoted=quoted) else None
    return ("generic-api-key", GUESSED) if is_random(value) else None


def _kind_by_vendor(name: str, value: bytes) -> str | None:
    for kind in kinds_of_vendor(name):
        if (kind.letters or has(value, "d")) and pattern(f"(?i)(?:{kind.shape})").covers(value):
            return kind.name
    return None


class Assignments:
    """`name = value` in the syntax of shells, programs and configuration files."""

    spans_lines = False
    gate = rf"(?i)(?:{WORDS}[\w.-]*{_GIVEN}{_VALUE_GATE}|{LETTERS_WORDS}{_GIVEN}{_QUOTED_GATE}|{_LONG_WORD_GATE})"
    _pattern = rf"(?i)(?P<name>[\w.$-]*{WORDS}[\w.-]*){_CLOSE}[ \t]*(?P<is>{_IS})[ \t]*{_VALUE}"

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The secrets that are assigned."""
        return _judged(self._pattern, data, start, end)


class Flags:
    """`--token value`, `-Password value`, `ENV TOKEN value`."""

    spans_lines = False
    _before = r"(?:--?|\b(?:ENV|setenv|setx|set[ \t]+-[a-zA-Z]+)[ \t]+)"
    gate = rf"(?i){_before}[\w-]*{WORDS}[\w-]*[ \t]+{_VALUE_GATE}"
    _pattern = rf"(?i)(?:^|[\s\"']){_before}(?P<name>[\w-]*{WORDS}[\w-]*)(?P<is>[ \t]+){_VALUE}"

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The secrets that are given as options or variables."""
        return _judged(self._pattern, data, start, end)


class Pairs:
    """A name and its value side by side: function arguments, XML attributes and elements, lists of variables."""

    spans_lines = False
    _between = (
        r"(?:[\\ \t]*[\"'][ \t]+value[ \t]*=[ \t]*|[\\ \t]*[\"']?[ \t]*,?\s*[\"']?value[\\ \t]*[\"']?[ \t]*[:=][ \t]*"
        r"|[\\ \t]*[\"'][ \t]*,[ \t]*|>\s*)"
    )
    gate = rf"(?i){WORDS}[\w.-]*{_between}[\\ \t]*[\"']?[^\s\"'\\(<]{{6}}"
    _pattern = rf"(?i)(?P<name>[\w.-]*{WORDS}[\w.-]*)(?P<is>{_between}){_VALUE}"

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The secrets that stand beside their names."""
        return _judged(self._pattern, data, start, end)


def _judged(text: str, data: bytes, start: int, end: int) -> Iterator[Hit]:
    for match in pattern(text).matches(data, start, end):
        group = match.which(_GROUPS)
        bare = group == "bare"
        value, at = _trimmed(match[group]) if bare else match[group].rstrip(), match.span(group)[0]
        if bare and (b"," in match["is"] or b"(" in match["is"] or (value.isdigit() and _has_quoted_name(data, match))):
            continue  # an argument, or a number of JSON, which a marker in its place would break
        plain = bare and not (match["is"] == b"=" and match["name"].isupper())
        if (found := kind_of(match["name"], value, quoted=not plain)) is not None:
            yield Hit(at, at + len(value), found[0], value, found[1])


def _has_quoted_name(data: bytes, match: PatternMatch) -> bool:
    end = match.span("name")[1]
    return data[end : end + 2].lstrip(b" \\")[:1] in (b'"', b"'")


def _trimmed(value: bytes) -> bytes:
    """A bare value without what belongs to the query or the sentence around it."""
    rest = next(pattern(_REST).matches(value), None)
    return (value[: rest.span()[0]] if rest else value).rstrip(b".:!?")
