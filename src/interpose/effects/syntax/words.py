"""Words: quoting, `$` forms, backquotes, process substitution. One pass by index, with compiled character classes.

Every pattern is a possessive run of one character class, so no input makes a scan backtrack.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from interpose.effects.late_patterns import late
from interpose.effects.syntax.budget import Budget
from interpose.effects.syntax.escapes import ansi_c
from interpose.effects.syntax.tree import (
    Arithmetic,
    CommandSubstitution,
    HereDocument,
    LiteralText,
    Node,
    Parameter,
    Part,
    RawWord,
    Sequence,
    Span,
)

MAX_NESTING = 40
"""How deep constructs may nest: far above what people write, far below the interpreter's own limit."""

MAX_LEVELS = 200
"""How many brackets may be open inside one expression."""

MAX_COMMANDS = 5_000


class SyntaxFaultError(Exception):
    """The text stops being understood at `position`."""

    def __init__(self, message: str, position: int, rule: str = "syntax") -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.rule = rule


PLAIN = late(r"[\w./:,@%+\-=^]++(?=[ \t\n;&|)]|[<>](?!\()|\Z)", re.ASCII)
NAME = late(r"[A-Za-z_][A-Za-z0-9_]*+", re.ASCII)
PARAMETER = late(r"[A-Za-z_][A-Za-z0-9_]*+|[0-9]++|[@*#?$!-]", re.ASCII)
OPERATOR = late(r":[-=?+]|[-=?+]|##?|%%?|//?|\^\^?|,,?|~~?|@|:")
DIGITS_OR_NAME = late(r"[A-Za-z_][A-Za-z0-9_]*+|[0-9@*#?$!_-]", re.ASCII)
SINGLE = late(r"[^']*+")
ANSI = late(r"(?:[^'\\]|\\.)*", re.DOTALL)
BACKQUOTED = late(r"(?:[^`\\]|\\.)*", re.DOTALL)
BACKQUOTE_ESCAPES = late(r"\\([$`\\])")
BACKQUOTE_ESCAPES_QUOTED = late(r'\\([$`\\"])')

TEMPLATE = late(r"\{(?:[^{}'\"`$\\\n]|'[^'\n]*+')*\}\}")
"""The rest of `${{ matrix.python }}`, which workflows fill in before a shell sees it."""

RUNS = {
    "word": late(r"[^ \t\n\r;&|<>()$`\"'\\]++"),
    "double": late(r'[^"$`\\]++'),
    "here": late(r"[^$`\\]++"),
    "brace": late(r"[^}$`\"'\\<>]++"),
    "brace-double": late(r'[^}"$`\\]++'),
    "pattern": late(r"[^}/$`\"'\\<>]++"),
    "subscript": late(r"[^\[\]$`\"'\\<>]++"),
    "arithmetic": late(r"[^()$`\"\\]++"),
    "bracket": late(r"[^\[\]$`\"\\]++"),
    "glob": late(r"[^()$`\"'\\<>]++"),
}
"""The ordinary characters of each context; every other character is looked at."""

SUBSTITUTING = frozenset({"brace", "pattern", "subscript", "glob"})
"""Contexts inside of a word in which `<(...)` runs as it does in the word itself."""

QUOTING = frozenset({"double", "here", "brace-double", "arithmetic", "bracket"})
"""Contexts in which text counts as quoted and a single quote is an ordinary character."""

CLOSERS = {
    "brace": "}", "brace-double": "}", "pattern": "}", "subscript": "]", "arithmetic": ")", "bracket": "]", "glob": ")",
}  # fmt: skip
OPENERS = {"subscript": "[", "arithmetic": "(", "bracket": "[", "glob": "("}


class Shared:
    """What a parser and the parsers of its backquoted parts have in common."""

    __slots__ = ("budget", "commands", "complete", "journal")

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = Budget() if budget is None else budget
        self.commands = 0
        self.complete: list[Node] = []
        """The commands of the text itself that were read to their end."""
        self.journal: list[Node] = []
        """The simple commands read since the last of them: what is left if the next one has a fault."""


class Words(ABC):
    """The half of the parser that reads words. `pos` always stands on the next unread character."""

    __slots__ = ("depth", "end", "fixed", "not_arithmetic", "pending", "pos", "shared", "text")

    def __init__(self, text: str, fixed: Span | None, shared: Shared, depth: int) -> None:
        self.text = text
        self.pos = 0
        self.end = len(text)
        self.fixed = fixed
        self.shared = shared
        self.depth = depth
        self.pending: list[HereDocument] = []
        self.not_arithmetic: set[int] = set()

    @abstractmethod
    def sequence(self, closer: str) -> Sequence:
        """Commands up to `closer`: words contain commands, which contain words."""

    @abstractmethod
    def nested(self, text: str, span: Span) -> Sequence:
        """The commands of a text of its own, such as the inside of backquotes."""

    def span(self, start: int) -> Span:
        return self.fixed or (start, self.pos)

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise SyntaxFaultError(f"constructs are nested deeper than {MAX_NESTING} levels", self.pos, "too-deep")

    def count(self) -> None:
        self.shared.commands += 1
        if self.shared.commands > MAX_COMMANDS:
            raise SyntaxFaultError(f"more than {MAX_COMMANDS} commands", self.pos, "too-large")

    def word(self) -> RawWord:
        """The word at `pos`, which must not stand on a blank or an operator."""
        self.shared.budget.spend()
        start = self.pos
        plain = PLAIN.match(self.text, start)
        if plain is not None:
            self.pos = plain.end()
            return RawWord((), self.fixed or (start, self.pos), plain.group())
        parts = self.parts("word")
        if self.pos == start:
            raise SyntaxFaultError(f"unexpected {self.text[start : start + 10]!r}", start)
        return RawWord(tuple(parts), self.span(start))

    def until(self, context: str) -> RawWord:
        """The text up to the closing character of `context`, which is read too."""
        start = self.pos
        parts = self.parts(context)
        word = RawWord(tuple(parts), self.span(start))
        self.expect(CLOSERS[context])
        return word

    def expect(self, token: str) -> None:
        if not self.text.startswith(token, self.pos):
            raise SyntaxFaultError(f"{token!r} is missing", self.pos)
        self.pos += len(token)

    def parts(self, context: str) -> list[Part]:
        """Everything up to a character that ends `context`, which is left unread."""
        text, end, run = self.text, self.end, RUNS[context]
        quoted = context in QUOTING
        opener, closer = OPENERS.get(context, ""), CLOSERS.get(context, "")
        level = 0
        parts: list[Part] = []
        while True:
            plain = run.match(text, self.pos)
            if plain is not None:
                parts.append(LiteralText(plain.group(), quoted))
                self.pos = plain.end()
            if self.pos >= end:
                return parts
            character = text[self.pos]
            if character == closer:
                if level == 0:
                    return parts
                level -= 1
                parts.append(LiteralText(character, quoted))
                self.pos += 1
            elif character == opener:
                level += 1
                if level > MAX_LEVELS:
                    raise SyntaxFaultError("too many open brackets", self.pos, "too-deep")
                parts.append(LiteralText(character, quoted))
                self.pos += 1
            elif not self._special(character, context, quoted, parts):
                return parts

    def _special(self, character: str, context: str, quoted: bool, parts: list[Part]) -> bool:
        """Read a quoting or expansion at `pos`; False if the character ends the context instead."""
        self.shared.budget.spend()
        match character:
            case "\\":
                self._backslash(context, quoted, parts)
            case "$":
                self._dollar(context, quoted, parts)
            case '"':
                if context == "double":
                    return False
                self._double(parts, context)
            case "'":
                self.pos += 1
                inner = SINGLE.match(self.text, self.pos)
                self.pos = inner.end() if inner else self.pos
                parts.append(LiteralText(inner.group() if inner else "", True))
                self.expect("'")
            case "`":
                self._backquote(quoted, parts)
            case "<" | ">" if context in SUBSTITUTING and not self.text.startswith("(", self.pos + 1):
                self.pos += 1
                parts.append(LiteralText(character, quoted))
            case "<" | ">" if context != "word" or self.text.startswith("(", self.pos + 1):
                start = self.pos
                self.pos += 2
                body = self._body(")")
                parts.append(CommandSubstitution("<(" if character == "<" else ">(", body, quoted, self.span(start)))
            case "(" if context == "word" and parts and self.text[self.pos - 1] in "?*+@!":
                self.pos += 1
                parts.append(LiteralText("(", False))
                parts.extend(self.parts("glob"))
                self.expect(")")
                parts.append(LiteralText(")", False))
            case "\r" if context == "word" and not self.text.startswith("\n", self.pos + 1):
                self.pos += 1
                parts.append(LiteralText("\r", quoted))
            case _:
                return False
        return True

    def _backslash(self, context: str, quoted: bool, parts: list[Part]) -> None:
        following = self.text[self.pos + 1 : self.pos + 2]
        self.pos += 2
        if following == "\n":
            return
        if not following:
            self.pos = self.end
            parts.append(LiteralText("\\", True))
        elif (
            quoted and following not in ('$`"\\' if context != "here" else "$`\\") and following != CLOSERS.get(context)
        ):
            parts.append(LiteralText("\\" + following, True))
        else:
            parts.append(LiteralText(following, True))

    def _double(self, parts: list[Part], context: str) -> None:
        """A double-quoted part. Inside `"${x:-...}"` a double quote toggles back, which has no further meaning."""
        self.enter()
        self.pos += 1
        inner = self.parts("double")
        self.expect('"')
        self.depth -= 1
        if inner or context == "brace-double":
            parts.extend(inner)
        else:
            parts.append(LiteralText("", True))

    def _backquote(self, quoted: bool, parts: list[Part]) -> None:
        start = self.pos
        inner = BACKQUOTED.match(self.text, start + 1)
        self.pos = inner.end() if inner else start + 1
        self.expect("`")
        code = (BACKQUOTE_ESCAPES_QUOTED if quoted else BACKQUOTE_ESCAPES).sub(r"\1", inner.group() if inner else "")
        span = self.span(start)
        parts.append(CommandSubstitution("$(", self.nested(code, span), quoted, span))

    def _body(self, closer: str) -> Sequence:
        self.enter()
        body = self.sequence(closer)
        self.depth -= 1
        return body

    def _dollar(self, context: str, quoted: bool, parts: list[Part]) -> None:
        text, start = self.text, self.pos
        following = text[start + 1 : start + 2]
        match following:
            case "(":
                if not (text.startswith("(", start + 2) and self._arithmetic(quoted, parts)):
                    self.pos = start + 2
                    body = self._body(")")
                    parts.append(CommandSubstitution("$(", body, quoted, self.span(start)))
            case "{":
                self.pos = start + 2
                self.enter()
                parts.append(self._braced(start, context, quoted))
                self.depth -= 1
            case "[":
                self.pos = start + 2
                self.enter()
                parts.append(Arithmetic(self.until("bracket"), quoted))
                self.depth -= 1
            case "'" if not quoted:
                inner = ANSI.match(text, start + 2)
                self.pos = inner.end() if inner else start + 2
                parts.append(LiteralText(ansi_c(inner.group() if inner else ""), True))
                self.expect("'")
            case '"' if not quoted:
                self.pos = start + 1
                self._double(parts, context)
            case _:
                name = DIGITS_OR_NAME.match(text, start + 1)
                if name is None:
                    self.pos = start + 1
                    parts.append(LiteralText("$", quoted))
                else:
                    self.pos = name.end()
                    parts.append(Parameter(name.group(), quoted))

    def _arithmetic(self, quoted: bool, parts: list[Part]) -> bool:
        """`$((...))`; False when it turns out to be a command substitution that starts with a subshell."""
        start = self.pos
        if start in self.not_arithmetic:
            return False
        expression = self.double_parentheses(start + 3)
        if expression is None:
            self.not_arithmetic.add(start)
            self.pos = start
            return False
        parts.append(Arithmetic(expression, quoted))
        return True

    def double_parentheses(self, start: int) -> RawWord | None:
        """The expression from `start` to `))`, which is read; None when it does not end that way."""
        self.pos = start
        self.enter()
        depth = self.depth
        try:
            parts = self.parts("arithmetic")
            closed = self.text.startswith("))", self.pos)
        except SyntaxFaultError as fault:
            if fault.rule != "syntax":
                raise
            closed = False
            parts = []
        self.depth = depth - 1
        if not closed:
            return None
        word = RawWord(tuple(parts), self.span(start))
        self.pos += 2
        return word

    def _braced(self, start: int, context: str, quoted: bool) -> Part:
        """What follows `${`, up to and including `}`."""
        self.shared.budget.spend(2)
        text = self.text
        if text[self.pos : self.pos + 1] in (" ", "\t", "\n", "|"):
            self.pos += 1
            return CommandSubstitution("$(", self.sequence("}"), quoted, self.span(start))
        if template := TEMPLATE.match(text, self.pos):
            self.pos = template.end()
            return Parameter("", quoted, "template")
        operator, indirect = "", False
        after = text[self.pos + 1 : self.pos + 2]
        if text.startswith("#", self.pos) and after != "}" and PARAMETER.match(text, self.pos + 1):
            if after not in ("-", "?", "#") or text.startswith("}", self.pos + 2):
                operator = "length"
                self.pos += 1
        elif text.startswith("!", self.pos) and PARAMETER.match(text, self.pos + 1) and after not in ("-", "?"):
            indirect = True
            self.pos += 1
        name = PARAMETER.match(text, self.pos)
        if name is None:
            return self._bad(start, quoted)
        self.pos = name.end()
        subscript = None
        if text.startswith("[", self.pos):
            self.pos += 1
            subscript = self.until("subscript")
        if not text.startswith("}", self.pos) and not operator:
            return self._operator(start, name.group(), subscript, indirect, context, quoted)
        if not text.startswith("}", self.pos):
            return self._bad(start, quoted)
        self.pos += 1
        return Parameter(name.group(), quoted, operator, None, None, subscript, indirect)

    def _bad(self, start: int, quoted: bool) -> Parameter:
        """`${...}` that bash reads to its end and then refuses; other shells may give it a meaning."""
        self.pos = start + 2
        return Parameter("", quoted, "bad", self.until("brace"))

    def _operator(
        self, start: int, name: str, subscript: RawWord | None, indirect: bool, context: str, quoted: bool
    ) -> Parameter:
        found = OPERATOR.match(self.text, self.pos)
        if found is None:
            return self._bad(start, quoted)
        operator = found.group()
        self.pos = found.end()
        replacement = None
        if operator in ("/", "//"):
            if self.text.startswith(("#", "%"), self.pos):
                operator += self.text[self.pos]
                self.pos += 1
            begin = self.pos
            parts = self.parts("pattern") or [LiteralText("", False)]
            if self.pos == begin and self.text.startswith("/", begin):
                self.pos += 1
                parts = [LiteralText("/", False), *self.parts("pattern")]
            argument = RawWord(tuple(parts), self.span(begin))
            if self.text.startswith("/", self.pos):
                self.pos += 1
                replacement = self.until("brace")
            else:
                self.expect("}")
        elif quoted and context != "arithmetic" and operator[-1] in "-=?+":
            argument = self.until("brace-double")
        else:
            argument = self.until("brace")
        return Parameter(name, quoted, operator, argument, replacement, subscript, indirect)
