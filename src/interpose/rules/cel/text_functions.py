"""What expressions can do with texts. Patterns are RE2: linear in time, whatever the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from interpose.rules.cel.runtime_values import MAX_SIZE, EvaluationError, no_overload


@cache
def _re2() -> Any:
    """The package, loaded when the first pattern is made: most calls need none."""
    import re2  # type: ignore[import-untyped]  # the package has no types

    return re2


@lru_cache(maxsize=512)
def pattern(text: str) -> Any:
    """A compiled RE2 pattern: linear in time, whatever the text."""
    re2 = _re2()
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options=options)
    except (re2.error, UnicodeError) as error:
        raise EvaluationError(f"{text!r} is no RE2 pattern: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    told = error.args[0] if error.args else ""
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)


def encoded(text: str) -> bytes:
    """A text as RE2 searches it. Half a surrogate pair is no UTF-8: it is searched as the bytes it would have been."""
    return text.encode("utf-8", "surrogatepass")


def _texts(function: str, apply: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function of `count` texts."""

    def checked_one(text: Any) -> Any:
        if type(text) is not str:
            raise no_overload(function, text)
        return apply(text)

    def checked_two(text: Any, other: Any) -> Any:
        if type(text) is not str or type(other) is not str:
            raise no_overload(function, text, other)
        return apply(text, other)

    return checked_one if count == 1 else checked_two


def _matches(text: str, expression: str) -> bool:
    return pattern(expression).search(encoded(text)) is not None


@lru_cache(maxsize=512)
def _glob(expression: str) -> Any:
    """`*` stops at `/`, `**` does not, `?` is one character. The whole text must match."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", expression)
    marks = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return pattern("(?s)^" + "".join(marks.get(part) or _re2().escape(part) for part in parts) + "$")


@lru_cache(maxsize=512)
def _wildcard(expression: str) -> Any:
    parts = re.split(r"(\*+|\?)", expression)
    return pattern("(?s)^" + "".join(_ANYTHING.get(part[:1]) or _re2().escape(part) for part in parts) + "$")


_ANYTHING = {"*": ".*", "?": "."}


def wildcard(text: str, expression: str) -> bool:
    """Whether all of a name fits: `*` is anything, `/` included. For names, in which `/` is a letter as any other."""
    return _wildcard(expression).search(encoded(text)) is not None


def glob(text: str, expression: str) -> bool:
    """Whether all of `text` fits a glob."""
    return _glob(expression).search(encoded(text)) is not None


def _under(path: str, directory: str) -> bool:
    base = directory.rstrip("/")
    return path == base or path.startswith(base + "/")


def _ascii(function: str, table: dict[int, int]) -> Callable[..., Any]:
    return _texts(function, lambda text: text.translate(table), 1)


_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def _replace(text: Any, old: Any, new: Any, limit: Any = -1) -> str:
    if not all(type(part) is str for part in (text, old, new)) or type(limit) is not int:
        raise no_overload("replace", text, old, new)
    times = min(text.count(old), limit) if limit >= 0 else text.count(old)
    if len(text) + times * (len(new) - len(old)) > MAX_SIZE:
        raise EvaluationError(f"a text is longer than {MAX_SIZE}")
    return str(text.replace(old, new, max(limit, -1)))


def _split(text: Any, separator: Any, limit: Any = -1) -> list[str]:
    if type(text) is not str or type(separator) is not str or type(limit) is not int:
        raise no_overload("split", text, separator)
    if limit == 0:
        return []
    if separator == "":
        letters = list(text)
        return letters if limit < 0 or len(letters) <= limit else [*letters[: limit - 1], "".join(letters[limit - 1 :])]
    return text.split(separator, -1 if limit < 0 else limit - 1)


def _join(items: Any, separator: Any = "") -> str:
    if not isinstance(items, list | tuple) or not all(type(item) is str for item in items):
        raise no_overload("join", items)
    if sum(map(len, items)) + len(separator) * len(items) > MAX_SIZE:
        raise EvaluationError(f"a text is longer than {MAX_SIZE}")
    return str(separator.join(items))


def _substring(text: Any, start: Any, end: Any = None) -> str:
    end = len(text) if end is None else end
    if type(text) is not str or type(start) is not int or type(end) is not int:
        raise no_overload("substring", text, start)
    if not 0 <= start <= end <= len(text):
        raise EvaluationError(f"no characters {start} to {end} in a text of {len(text)}")
    return text[start:end]


def _char_at(text: Any, at: Any) -> str:
    if type(text) is not str or type(at) is not int:
        raise no_overload("charAt", text, at)
    if not 0 <= at <= len(text):
        raise EvaluationError(f"no character {at} in a text of {len(text)}")
    return text[at : at + 1]


def _find(function: str, search: Callable[[str, str], int]) -> Callable[..., Any]:
    return _texts(function, search, 2)


TEXT_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "contains": _texts("contains", lambda text, part: part in text, 2),
    "startsWith": _texts("startsWith", str.startswith, 2),
    "endsWith": _texts("endsWith", str.endswith, 2),
    "matches": _texts("matches", _matches, 2),
    "glob": _texts("glob", glob, 2),
    "under": _texts("under", _under, 2),
    "lowerAscii": _ascii("lowerAscii", _LOWER),
    "upperAscii": _ascii("upperAscii", _UPPER),
    "trim": _texts("trim", str.strip, 1),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "substring": _substring,
    "charAt": _char_at,
    "indexOf": _find("indexOf", str.find),
    "lastIndexOf": _find("lastIndexOf", str.rfind),
}
