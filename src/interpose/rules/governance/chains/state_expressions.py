"""Comparisons over a project's state file: `phase == 'complete'`, `status in ['done', 'open'] and not blocked`.

A language of our own, since it is small: keys of the file with `.` and `[..]`, texts, numbers, true, false, null,
lists, `== != < <= > >= in`, `and or not` and parentheses. It can neither loop nor call anything, and its time is
bounded by the length of its text.

What can't be known makes nothing true: a key that is not there, or two values that have no order, is unknown, and stays
unknown under `not`. `true or unknown` is true, `false and unknown` is false. What is read here is evaluated as CEL
(state_conditions.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

LONGEST = 500
_DEEPEST = 32
_MOST_STEPS = 100
_LONGEST_NUMBER = 18
_WORDS = frozenset({"and", "or", "not", "in", "true", "false", "null"})
_SIGNS = ("==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", ",", ".")
_COMPARING = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})
_CONSTANTS = {"true": True, "false": False, "null": None}


class StateExpressionError(ValueError):
    """A text that is no comparison. It says where and what was expected."""


class StateToken(Struct, frozen=True):
    """One word of an expression. `kind` is `text`, `number`, `name`, `word` or `sign`."""

    kind: str
    value: Any
    at: int

    def __str__(self) -> str:
        return repr(self.value)


class StateConstant(Struct, frozen=True):
    """A value that is written in the expression."""

    value: Any


class KeyPath(Struct, frozen=True):
    """A value of the state file."""

    steps: tuple[str | int, ...]

    def __str__(self) -> str:
        return ".".join(str(step) for step in self.steps)


class StateComparison(Struct, frozen=True):
    """Two values and how they are compared."""

    sign: str
    left: StateConstant | KeyPath
    right: StateConstant | KeyPath


class Truth(Struct, frozen=True):
    """A value that must be true itself."""

    value: StateConstant | KeyPath


class Opposite(Struct, frozen=True):
    """What must not hold."""

    part: StateExpression


class Joined(Struct, frozen=True):
    """All of these, or one of them."""

    every: bool
    parts: tuple[StateExpression, ...]


StateExpression = StateComparison | Truth | Opposite | Joined


def parsed(text: str) -> StateExpression:
    """The expression of a text. Raises StateExpressionError and nothing else."""
    if len(text) > LONGEST:
        raise StateExpressionError(f"it is longer than {LONGEST} characters")
    reader = _StateReader(_tokens(text), len(text))
    found = reader.some(0)
    if (left := reader.next()) is not None:
        raise StateExpressionError(f"{left} at {left.at + 1} was not expected")
    return found


def paths_of(expression: StateExpression) -> Iterator[KeyPath]:
    """The keys that an expression looks at, from left to right."""
    match expression:
        case StateComparison(left=left, right=right):
            yield from (one for one in (left, right) if isinstance(one, KeyPath))
        case Truth(value):
            yield from (value,) if isinstance(value, KeyPath) else ()
        case Opposite(part):
            yield from paths_of(part)
        case Joined(parts=parts):
            for part in parts:
                yield from paths_of(part)


# --- reading ---------------------------------------------------------------------------------------------------------


def _tokens(text: str) -> list[StateToken]:
    found: list[StateToken] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        token, at = _token(text, at)
        found.append(token)
    return found


def _token(text: str, at: int) -> tuple[StateToken, int]:
    first = text[at]
    if first in "'\"":
        return _quoted(text, at)
    if _is_digit(first) or (first == "-" and _is_digit(text[at + 1 : at + 2])):
        return _number(text, at)
    if _begins_name(first):
        end = at + 1
        while end < len(text) and (_begins_name(text[end]) or _is_digit(text[end]) or text[end] == "-"):
            end += 1
        word = text[at:end]
        return StateToken("word" if word in _WORDS else "name", word, at), end
    sign = next((sign for sign in _SIGNS if text.startswith(sign, at)), None)
    if sign is None:
        hint = ": equal is ==" if first == "=" else ""
        raise StateExpressionError(f"{first!r} at {at + 1} means nothing here{hint}")
    return StateToken("sign", sign, at), at + len(sign)


def _quoted(text: str, start: int) -> tuple[StateToken, int]:
    mark, at, said = text[start], start + 1, []
    while at < len(text) and text[at] != mark:
        if text[at] == "\\":
            at += 1
            if text[at : at + 1] not in (mark, "\\"):
                raise StateExpressionError(f"a backslash at {at} stands before the quote or another backslash only")
        said.append(text[at])
        at += 1
    if at >= len(text):
        raise StateExpressionError(f"the text that begins at {start + 1} does not end")
    return StateToken("text", "".join(said), start), at + 1


def _number(text: str, start: int) -> tuple[StateToken, int]:
    end = start + 1
    while end < len(text) and (_is_digit(text[end]) or (text[end] == "." and _is_digit(text[end + 1 : end + 2]))):
        end += 1
    said = text[start:end]
    if len(said) > _LONGEST_NUMBER or said.count(".") > 1:
        raise StateExpressionError(f"{said[: _LONGEST_NUMBER + 1]!r} at {start + 1} is no number that is taken")
    return StateToken("number", float(said) if "." in said else int(said), start), end


def _is_digit(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _begins_name(letter: str) -> bool:
    return letter == "_" or letter.isalpha()


class _StateReader:
    """Reads tokens from left to right. Each way down is counted: depth is bounded, whatever is written."""

    def __init__(self, tokens: list[StateToken], end: int) -> None:
        self._tokens, self._at, self._end = tokens, 0, end

    def next(self) -> StateToken | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def some(self, depth: int) -> StateExpression:
        return self._joined("or", depth)

    def _joined(self, word: str, depth: int) -> StateExpression:
        parts = [self._part(word, depth)]
        while self._takes(word):
            parts.append(self._part(word, depth))
        return parts[0] if len(parts) == 1 else Joined(word == "and", tuple(parts))

    def _part(self, word: str, depth: int) -> StateExpression:
        return self._joined("and", depth) if word == "or" else self._single(depth)

    def _single(self, depth: int) -> StateExpression:
        if depth > _DEEPEST:
            raise StateExpressionError(f"it is nested deeper than {_DEEPEST} levels")
        if self._takes("not"):
            return Opposite(self._single(depth + 1))
        if self._takes("("):
            inner = self.some(depth + 1)
            self._expect(")")
            return inner
        return self._comparison(depth)

    def _comparison(self, depth: int) -> StateExpression:
        left = self._operand(depth)
        token = self.next()
        if self._takes("not"):
            self._expect("in")
            return Opposite(StateComparison("in", left, self._operand(depth)))
        if token is None or token.kind not in ("sign", "word") or token.value not in _COMPARING:
            return Truth(left)
        self._at += 1
        return StateComparison(token.value, left, self._operand(depth))

    def _operand(self, depth: int) -> StateConstant | KeyPath:
        token = self.next()
        if token is None:
            raise StateExpressionError("it ends where a key or a value was expected")
        self._at += 1
        match token.kind:
            case "text" | "number":
                return StateConstant(token.value)
            case "word" if token.value in _CONSTANTS:
                return StateConstant(_CONSTANTS[token.value])
            case "name":
                return KeyPath((token.value, *self._steps()))
            case "sign" if token.value == "[":
                return StateConstant(self._list(depth + 1))
            case _:
                raise StateExpressionError(f"{token} at {token.at + 1}: a key or a value was expected")

    def _steps(self) -> list[str | int]:
        steps: list[str | int] = []
        while True:
            if len(steps) > _MOST_STEPS:
                raise StateExpressionError(f"a key lies deeper than {_MOST_STEPS} levels")
            if self._takes("."):
                token = self.next()
                if token is None or token.kind not in ("name", "word"):
                    raise StateExpressionError(f"a key was expected behind the point{self._place()}")
                self._at += 1
                steps.append(token.value)
            elif self._takes("["):
                token = self.next()
                if token is None or token.kind not in ("text", "number") or isinstance(token.value, float):
                    raise StateExpressionError(f"a text or a whole number was expected behind [{self._place()}")
                self._at += 1
                steps.append(token.value)
                self._expect("]")
            else:
                return steps

    def _list(self, depth: int) -> list[Any]:
        found: list[Any] = []
        if self._takes("]"):
            return found
        while True:
            if depth > _DEEPEST:
                raise StateExpressionError(f"it is nested deeper than {_DEEPEST} levels")
            item = self._operand(depth)
            if isinstance(item, KeyPath):
                raise StateExpressionError(f"a list has values in it and no keys, not {item}")
            found.append(item.value)
            if self._takes("]"):
                return found
            self._expect(",")

    def _takes(self, value: str) -> bool:
        token = self.next()
        if token is None or token.kind not in ("sign", "word") or token.value != value:
            return False
        self._at += 1
        return True

    def _expect(self, value: str) -> None:
        if not self._takes(value):
            raise StateExpressionError(f"{value!r} was expected{self._place()}")

    def _place(self) -> str:
        token = self.next()
        return f" at {(self._end if token is None else token.at) + 1}"
