"""Shell arithmetic over what is known. `None` is a number that cannot be known."""

from __future__ import annotations

import re
from collections.abc import Callable

from interpose.effects.late_patterns import late

_TOKEN = late(
    r"\s*+(?:(0[xX][0-9a-fA-F]++|[0-9]++\#[0-9a-zA-Z@_]++|[0-9]++)|([A-Za-z_][A-Za-z0-9_]*+)|"
    r"(<<=|>>=|\*\*|\+\+|--|<=|>=|==|!=|&&|\|\||<<|>>|[-+*/%&|^]=|[-+*/%&|^~!<>=?:,()\[\]]))",
    re.ASCII,
)
_BINARY = {
    "||": 2, "&&": 3, "|": 4, "^": 5, "&": 6, "==": 7, "!=": 7, "<": 8, ">": 8, "<=": 8, ">=": 8,
    "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11, "**": 12,
}  # fmt: skip
_ASSIGN = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
_LIMIT = 1 << 63
_MAX_DEPTH = 30
_MAX_TOKENS = 2_000


class UnknownError(Exception):
    """The expression is not one, or its value cannot be known."""


class Evaluator:
    """One expression. `lookup` gives a variable's number, `assign` takes one; both may see None."""

    def __init__(
        self, text: str, lookup: Callable[[str, int | None], int | None], assign: Callable[[str, int | None], None]
    ) -> None:
        self._tokens = _tokens(text)
        self._next = 0
        self._lookup = lookup
        self._assign = assign

    def value(self) -> int | None:
        """The value of the whole text; the empty text is 0."""
        if not self._tokens:
            return 0
        result = self._comma(0)
        if self._next < len(self._tokens):
            raise UnknownError
        return result

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self, token: str) -> None:
        if self._peek() != token:
            raise UnknownError
        self._next += 1

    def _comma(self, depth: int) -> int | None:
        if depth > _MAX_DEPTH:
            raise UnknownError
        result = self._choice(depth)
        while self._peek() == ",":
            self._next += 1
            result = self._choice(depth)
        return result

    def _choice(self, depth: int) -> int | None:
        condition = self._binary(depth, 2)
        if self._peek() != "?":
            return condition
        if depth > _MAX_DEPTH:
            raise UnknownError
        self._next += 1
        yes = self._comma(depth + 1)
        self._take(":")
        no = self._choice(depth + 1)
        if condition is None:
            return yes if yes == no else None
        return yes if condition else no

    def _binary(self, depth: int, level: int) -> int | None:
        left = self._unary(depth)
        while (priority := _BINARY.get(self._peek(), 0)) >= level:
            operator = self._peek()
            self._next += 1
            if depth > _MAX_DEPTH:
                raise UnknownError
            right = self._binary(depth + 1, priority if operator == "**" else priority + 1)
            left = None if left is None or right is None else _wrap(_apply(operator, left, right))
        return left

    def _unary(self, depth: int) -> int | None:
        symbol = self._peek()
        if depth > _MAX_DEPTH or not symbol:
            raise UnknownError
        self._next += 1
        if symbol in ("+", "-", "!", "~"):
            inner = self._unary(depth + 1)
            if inner is None:
                return None
            return {"+": inner, "-": -inner, "!": int(not inner), "~": ~inner}[symbol]
        if symbol == "(":
            inner = self._comma(depth + 1)
            self._take(")")
            return inner
        if symbol in ("++", "--"):
            name = self._peek()
            self._next += 1
            return self._step(name, None, symbol, before=True)
        if symbol[0].isdigit():
            return _number(symbol)
        if symbol[0].isalpha() or symbol[0] == "_":
            return self._variable(symbol, depth)
        raise UnknownError

    def _variable(self, name: str, depth: int) -> int | None:
        index: int | None = None
        if self._peek() == "[":
            self._next += 1
            index = self._comma(depth + 1)
            self._take("]")
            index = -1 if index is None else index
        following = self._peek()
        if following in ("++", "--"):
            self._next += 1
            return self._step(name, index, following, before=False)
        if following in _ASSIGN:
            self._next += 1
            if depth > _MAX_DEPTH:
                raise UnknownError
            value = self._choice(depth + 1)
            if following != "=":
                old = self._lookup(name, index)
                value = None if old is None or value is None else _wrap(_apply(following[:-1], old, value))
            self._assign(name, value if index is None else None)
            return value
        return self._lookup(name, index)

    def _step(self, name: str, index: int | None, operator: str, *, before: bool) -> int | None:
        if not name or not (name[0].isalpha() or name[0] == "_"):
            raise UnknownError
        old = self._lookup(name, index)
        new = None if old is None else old + (1 if operator == "++" else -1)
        self._assign(name, new if index is None else None)
        return new if before else old


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    text = text.strip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None or len(tokens) > _MAX_TOKENS:
            raise UnknownError
        tokens.append(found.group().lstrip())
        position = found.end()
    return tokens


def _number(token: str) -> int:
    if len(token) > 80:
        raise UnknownError
    try:
        if "#" in token:
            base, _, digits = token.partition("#")
            return _wrap(int(digits, int(base)))
        if token[:2] in ("0x", "0X"):
            return _wrap(int(token, 16))
        return _wrap(int(token, 8) if token[0] == "0" else int(token))
    except ValueError:
        raise UnknownError from None


def _wrap(value: int) -> int:
    return (value + _LIMIT) % (2 * _LIMIT) - _LIMIT


def _apply(operator: str, left: int, right: int) -> int:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" | "%":
            if right == 0:
                raise UnknownError
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return quotient if operator == "/" else left - quotient * right
        case "**":
            if right < 0:
                raise UnknownError
            return pow(left, right, 2 * _LIMIT)
        case "<<" | ">>":
            return left << (right & 63) if operator == "<<" else left >> (right & 63)
        case "&" | "|" | "^":
            return {"&": left & right, "|": left | right, "^": left ^ right}[operator]
        case "&&" | "||":
            return int(bool(left and right) if operator == "&&" else bool(left or right))
        case _:
            return int({"==": left == right, "!=": left != right, "<": left < right, ">": left > right,
                        "<=": left <= right, ">=": left >= right}[operator])  # fmt: skip
