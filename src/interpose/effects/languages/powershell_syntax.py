"""PowerShell text cut into pipelines of words: quotes, backtick escapes, here-strings, sub-expressions, blocks."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from interpose.effects.invocation import NOTHING, UNKNOWN
from interpose.effects.secret_names import is_secret_name

MAX_NESTING = 24
_ASSIGNMENT = re.compile(r"\$(?:\{([^}]{1,80})\}|(?:(?:script|global|local|private):)?([\w:]{1,80}))\s*(\+?=)(?!=)")
_LOOP = re.compile(r"foreach\s*\(\s*\$(\w{1,80})\s+in\s+", re.IGNORECASE)
_SEPARATORS = frozenset(";\n&")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\n": ""}


class Term(Struct, frozen=True):
    """One word. `inner` are the pipelines of a sub-expression or block that stands in it."""

    text: str
    inner: tuple[tuple[tuple[Term, ...], ...], ...] = ()
    quoted: bool = False
    """It starts with a quote: a value, no command and no parameter."""
    taints: frozenset[str] = NOTHING


Pipeline = tuple[tuple[Term, ...], ...]
"""Commands whose output flows from one to the next; each is a tuple of words."""


def _entry(pipeline: Pipeline) -> Pipeline:
    """What stands behind `name =` in a table runs; the name does not."""
    words = pipeline[0]
    name, equals, value = words[0].text.partition("=")
    if words[0].quoted or not name.isidentifier():
        return pipeline
    if equals:
        rest = (replace(words[0], text=value, quoted=not value[:1].isalpha()), *words[1:])
    elif len(words) > 2 and words[1].text == "=":
        rest = words[2:]
    else:
        return pipeline
    return (rest, *pipeline[1:])


CALL = Term("&")
"""Stands before what is called by its name: `& $program`."""
_LONGEST = 4096


def constant_of(words: tuple[Term, ...]) -> str | None:
    """The value of an expression of constants: joined, formatted, reversed or replaced. None if it is not one."""
    if not words or not words[0].quoted or any(word.inner or UNKNOWN in word.text for word in words):
        return None
    value, rest = words[0].text, words[1:]
    if not rest:
        return value
    texts = [word.text for word in rest]
    operator = texts[0].lower()
    if all(text == "+" for text in texts[::2]) and len(texts) % 2 == 0:
        return value + "".join(texts[1::2])
    if operator == "-f":
        for number, text in enumerate(texts[1:]):
            value = value.replace(f"{{{number}}}", text)
        return value
    if operator in ("-replace", "-creplace", "-ireplace") and len(texts) > 1 and texts[1].isalnum():
        return value.replace(texts[1], texts[2] if len(texts) > 2 else "")
    if "-join" in [text.lower() for text in texts]:
        at = [text.lower() for text in texts].index("-join")
        return (texts[at + 1] if at + 1 < len(texts) else "").join((value, *texts[:at]))
    return None


class PowershellReader:
    """Reads one text from left to right. Variables that were given a constant are known."""

    def __init__(self, text: str, variables: dict[str, str]) -> None:
        self.text = text
        self.index = 0
        self.variables = variables
        self.too_deep = False
        self.taints: set[str] = set()
        """What the variables in the term that is read now hold."""

    def pipelines(self, close: str = "", depth: int = 0) -> tuple[Pipeline, ...]:  # noqa: C901 - one case per mark
        """Statements up to `close`."""
        done: list[Pipeline] = []
        commands: list[tuple[Term, ...]] = []
        words: list[Term] = []
        assigned: tuple[str, bool] | None = None

        def end_command() -> None:
            if words:
                commands.append(tuple(words))
                words.clear()

        def end_statement() -> None:
            nonlocal assigned
            end_command()
            if assigned is not None:
                self._assign(*assigned, commands)
                assigned = None
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
                if char == "&" and not words:
                    words.append(CALL)
                else:
                    end_statement()
            elif char == "$" and not words and not commands and (start := _ASSIGNMENT.match(self.text, self.index)):
                assigned = ((start[1] or start[2]).lower(), start[3] == "+=")
                self.index = start.end()
            elif char in "fF" and not words and (start := _LOOP.match(self.text, self.index)):
                self._loop(start[1].lower(), start.end())
                self.index = start.end()
            elif char == "|":
                self.index += 1
                end_statement() if self.text[self.index : self.index + 1] == "|" else end_command()
                if self.text[self.index : self.index + 1] == "|":
                    self.index += 1
            elif self._skips_comment():
                continue
            elif char in ")}":
                self.index += 1
            else:
                words.append(self._term(depth))
        end_statement()
        return tuple(done)

    def _skips_comment(self) -> bool:
        if self.text[self.index] == "#":
            self._skip_to("\n")
        elif self.text.startswith("<#", self.index):
            self._skip_to("#>")
            self.index += 2
        else:
            return False
        return True

    def _assign(self, name: str, adds: bool, commands: list[tuple[Term, ...]]) -> None:
        """Remember what a variable is given, if that is a constant."""
        value = constant_of(commands[0]) if len(commands) == 1 else None
        if value is None:
            self.variables.pop(name, None)
            return
        self.variables[name] = (self.variables.get(name, UNKNOWN) if adds else "") + value
        if len(self.variables[name]) > _LONGEST:
            self.variables.pop(name)
        commands.clear()  # a value that is kept is not run

    def _loop(self, name: str, start: int) -> None:
        """A loop through constants: its variable stands for the first of them."""
        if self.text[start : start + 1] not in ("'", '"'):
            self.variables.pop(name, None)
            return
        outer, self.index = self.index, start
        first = self._term(MAX_NESTING)
        self.index = outer
        if first.quoted and UNKNOWN not in first.text:
            self.variables[name] = first.text

    def _term(self, depth: int) -> Term:
        quoted = self.text[self.index] in "'\"$"
        self.taints = set()
        out: list[str] = []
        inner: list[Pipeline] = []
        while self.index < len(self.text):
            char = self.text[self.index]
            if char in " \t\r\n;|,)}&":
                break
            self.index += 1
            if char == "+" and quoted and self.text[self.index - 2] in "'\"" and self._opens_quote():
                continue
            if char == "[" and quoted and self.text[self.index - 2] in "'\"":
                out = [self._picked("".join(out))]
                continue
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
                taints = self.taints
                nested = self._nested(")" if char == "(" else "}", depth)
                self.taints = taints
                value = constant_of(nested[0][0]) if char == "(" and len(nested) == 1 and len(nested[0]) == 1 else None
                if value is None or out:
                    inner.extend(nested)
                out.append(UNKNOWN if value is None else value)
            else:
                out.append(char)
        return Term("".join(out), tuple(inner), quoted, frozenset(self.taints))

    def _picked(self, text: str) -> str:
        """Characters of a constant: `'abc'[-1..-3]` is the constant from its end on; others are not followed."""
        end = self.text.find("]", self.index, self.index + 200)
        picked = self.text[self.index : end if end >= 0 else self.index + 200].replace(" ", "")
        self.index = len(self.text) if end < 0 else end + 1
        return text[::-1] if picked.startswith("-1..-") else UNKNOWN

    def _opens_quote(self) -> bool:
        while self.text[self.index : self.index + 1] == " ":
            self.index += 1
        return self.text[self.index : self.index + 1] in ("'", '"')

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
            nested = self._nested(")" if char == "(" else "}", depth)
            inner.extend(nested if char == "(" else map(_entry, nested))
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
        if name.lower().startswith("env:") and is_secret_name(name[4:]):
            self.taints |= {"env", "secret"}
        return self.variables.get(name.lower(), UNKNOWN)

    def _skip_to(self, end: str) -> None:
        found = self.text.find(end, self.index)
        self.index = len(self.text) if found < 0 else found
