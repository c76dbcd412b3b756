"""PowerShell text cut into pipelines of words: quotes, backtick escapes, here-strings, sub-expressions, blocks."""

from __future__ import annotations

from msgspec import Struct

from interpose.shell.invocation import UNKNOWN

MAX_NESTING = 24
_SEPARATORS = frozenset(";\n&")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\n": ""}


class Term(Struct, frozen=True):
    """One word. `inner` are the pipelines of a sub-expression or block that stands in it."""

    text: str
    inner: tuple[tuple[tuple[Term, ...], ...], ...] = ()


Pipeline = tuple[tuple[Term, ...], ...]
"""Commands whose output flows from one to the next; each is a tuple of words."""


class PowershellReader:
    """Reads one text from left to right. Variables that were given a constant are known."""

    def __init__(self, text: str, variables: dict[str, str]) -> None:
        self.text = text
        self.index = 0
        self.variables = variables
        self.too_deep = False

    def pipelines(self, close: str = "", depth: int = 0) -> tuple[Pipeline, ...]:
        """Statements up to `close`."""
        done: list[Pipeline] = []
        commands: list[tuple[Term, ...]] = []
        words: list[Term] = []

        def end_command() -> None:
            if words:
                commands.append(tuple(words))
                words.clear()

        def end_statement() -> None:
            end_command()
            if commands:
                done.append(tuple(commands))
                commands.clear()

        while self.index < len(self.text):
            char = self.text[self.index]
            if close and char == close:
                self.index += 1
                break
            if char in " \t\r,":
                self.index += 1
            elif char in _SEPARATORS:
                self.index += 1
                if not (char == "&" and not words and not commands):
                    end_statement()
            elif char == "|":
                self.index += 1
                end_statement() if self.text[self.index : self.index + 1] == "|" else end_command()
                if self.text[self.index : self.index + 1] == "|":
                    self.index += 1
            elif char == "#":
                self._skip_to("\n")
            elif self.text.startswith("<#", self.index):
                self._skip_to("#>")
                self.index += 2
            elif char in ")}":
                self.index += 1
            else:
                words.append(self._term(depth))
        end_statement()
        return tuple(done)

    def _term(self, depth: int) -> Term:
        out: list[str] = []
        inner: list[Pipeline] = []
        while self.index < len(self.text):
            char = self.text[self.index]
            if char in " \t\r\n;|,)}&":
                break
            self.index += 1
            if char == "`" and self.index < len(self.text):
                escaped = self.text[self.index]
                self.index += 1
                out.append("" if escaped == "\n" else escaped)
            elif char == "'":
                out.append(self._single())
            elif char == '"':
                out.append(self._double(inner, depth))
            elif char == "@" and self.text[self.index : self.index + 1] in ("'", '"'):
                out.append(self._here_string())
            elif char == "$" or (char == "@" and self.text[self.index : self.index + 1] in ("(", "{")):
                out.append(self._variable(inner, depth))
            elif char in "({":
                inner.extend(self._nested(")" if char == "(" else "}", depth))
                out.append(UNKNOWN)
            else:
                out.append(char)
        return Term("".join(out), tuple(inner))

    def _nested(self, close: str, depth: int) -> tuple[Pipeline, ...]:
        if depth >= MAX_NESTING:
            self.index = len(self.text)
            self.too_deep = True
            return ()
        return self.pipelines(close, depth + 1)

    def _single(self) -> str:
        out: list[str] = []
        while self.index < len(self.text):
            char = self.text[self.index]
            self.index += 1
            if char == "'":
                if self.text[self.index : self.index + 1] != "'":
                    break
                self.index += 1
            out.append(char)
        return "".join(out)

    def _double(self, inner: list[Pipeline], depth: int) -> str:
        out: list[str] = []
        while self.index < len(self.text):
            char = self.text[self.index]
            self.index += 1
            if char == '"':
                if self.text[self.index : self.index + 1] != '"':
                    break
                self.index += 1
                out.append(char)
            elif char == "`" and self.index < len(self.text):
                out.append(_ESCAPES.get(self.text[self.index], self.text[self.index]))
                self.index += 1
            elif char == "$" and (
                self.text[self.index : self.index + 1].isalpha() or self.text[self.index : self.index + 1] in ("{", "(")
            ):
                out.append(self._variable(inner, depth))
            else:
                out.append(char)
        return "".join(out)

    def _here_string(self) -> str:
        close = "\n" + self.text[self.index] + "@"
        start = self.text.find("\n", self.index)
        end = self.text.find(close, self.index)
        self.index = len(self.text) if end < 0 else end + len(close)
        return self.text[start + 1 : end if end >= 0 else len(self.text)]

    def _variable(self, inner: list[Pipeline], depth: int) -> str:
        char = self.text[self.index : self.index + 1]
        if char == "(" or (char == "{" and self.text[self.index - 1] == "@"):
            self.index += 1
            inner.extend(self._nested(")" if char == "(" else "}", depth))
            return UNKNOWN
        if char == "{":
            end = self.text.find("}", self.index)
            name = self.text[self.index + 1 : end if end >= 0 else len(self.text)]
            self.index = len(self.text) if end < 0 else end + 1
        else:
            start = self.index
            while self.index < len(self.text) and (self.text[self.index].isalnum() or self.text[self.index] in "_:?"):
                self.index += 1
            name = self.text[start : self.index]
        return self.variables.get(name.lower(), UNKNOWN)

    def _skip_to(self, end: str) -> None:
        found = self.text.find(end, self.index)
        self.index = len(self.text) if found < 0 else found
