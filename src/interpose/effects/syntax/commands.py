"""Lists, pipelines and simple commands.

What is not understood raises a fault. The commands that were complete before it are kept in a journal, so that they are
analysed even though the text as a whole was not understood.
"""

from __future__ import annotations

import re
from abc import abstractmethod

from interpose.effects.late_patterns import late
from interpose.effects.syntax.redirections import BLANKS, Redirections
from interpose.effects.syntax.tree import (
    AndOr,
    Assignment,
    BackgroundJob,
    Function,
    Node,
    Not,
    Pipeline,
    RawWord,
    Redirect,
    Sequence,
    Simple,
    Span,
)
from interpose.effects.syntax.words import SyntaxFaultError

RESERVED = late(r"(?:[a-z]++|\{|\}|!|\[\[)(?=[ \t\r\n;&|()<>]|\Z)")
ASSIGN = late(r"([A-Za-z_][A-Za-z0-9_]*+)(\+?=)", re.ASCII)
SUBSCRIPTED = late(r"([A-Za-z_][A-Za-z0-9_]*+)\[", re.ASCII)
FUNCTION = late(r"([^ \t\n\r;&|<>()$`\"'\\{}!#][^ \t\n\r;&|<>()$`\"'\\]*+)[ \t]*+\([ \t]*+\)")
TIME_OPTION = late(r"(?:-p|--)(?=[ \t])")
SEPARATOR = late(r"&&|\|\||;;&|;;|;&|;|&(?!>)|\|&|\|")

CLOSING = frozenset({"then", "fi", "do", "done", "elif", "else", "esac", "}"})
DECLARERS = frozenset({"declare", "typeset", "local", "export", "readonly", "eval", "alias", "let"})


class Commands(Redirections):
    """Reads commands. Each method starts on its construct's first character and ends behind its last one."""

    __slots__ = ()

    @abstractmethod
    def compound(self, word: str) -> Node | None:
        """The compound command that the reserved word at `pos` (or `(`) starts; None if it starts none."""

    def sequence(self, closer: str) -> Sequence:
        """Commands up to the word or character `closer`, which is read too; to the end of the text if it is empty."""
        items: list[Node] = []
        self.items(items, closer)
        if closer:
            self.expect(closer)
        return Sequence(tuple(items))

    def nested(self, text: str, span: Span) -> Sequence:
        self.count()
        inner = self.inner(text, self.fixed or span)
        try:
            body = inner.sequence("")
            if inner.pos < inner.end:
                raise SyntaxFaultError(f"unexpected {text[inner.pos : inner.pos + 10]!r}", inner.pos)
        except SyntaxFaultError as fault:
            raise SyntaxFaultError(fault.message, self.pos, fault.rule) from None
        return body

    def body(self, *closers: str) -> Sequence:
        """Commands up to one of the reserved words `closers`, which is left unread."""
        items: list[Node] = []
        self.items(items, "")
        if self.reserved() not in closers:
            raise SyntaxFaultError(f"{closers[-1]!r} is missing", self.pos)
        return Sequence(tuple(items))

    def items(self, items: list[Node], closer: str) -> None:
        while True:
            self.lines()
            if self.pos >= self.end:
                return
            character = self.text[self.pos]
            if character == closer or character == ")" or self.text.startswith(";;", self.pos):
                return
            if character == ";":
                if not self.text.startswith(";&", self.pos):
                    raise SyntaxFaultError("';' without a command", self.pos)
                return
            if self.reserved() in CLOSING:
                return
            items.append(self._and_or())
            if items is self.shared.complete:
                self.shared.journal.clear()

    def reserved(self) -> str:
        """The reserved word at `pos`, or an empty text."""
        found = RESERVED.match(self.text, self.pos)
        return found.group() if found else ""

    def keyword(self, word: str) -> None:
        self.lines()
        if self.reserved() != word:
            raise SyntaxFaultError(f"{word!r} is missing", self.pos)
        self.pos += len(word)

    def _and_or(self) -> Node:
        first = self._pipeline()
        rest: list[tuple[str, Node]] = []
        while True:
            found = SEPARATOR.match(self.text, self.pos)
            operator = found.group() if found else ""
            if operator in ("&&", "||"):
                self.pos += 2
                self.lines()
                rest.append((operator, self._pipeline()))
                continue
            node = AndOr(first, tuple(rest)) if rest else first
            if operator == "&":
                self.pos += 1
                return BackgroundJob(node)
            if operator == ";":
                self.pos += 1
            elif not (self.pos >= self.end or self.text[self.pos] in "\n);" or self.reserved() in CLOSING):
                raise SyntaxFaultError(f"unexpected {self.text[self.pos : self.pos + 10]!r}", self.pos)
            return node

    def _pipeline(self) -> Node:
        marked = negated = False
        while (word := self.reserved()) in ("!", "time"):
            self.pos += len(word)
            marked = True
            negated = negated != (word == "!")
            self.blanks()
            while word == "time" and (option := TIME_OPTION.match(self.text, self.pos)):
                self.pos = option.end()
                self.blanks()
        if marked and (self.pos >= self.end or self.text[self.pos] in "\n;&)"):
            return Simple((), self.span(self.pos))
        stages = [self.command()]
        self.blanks()
        while self.text.startswith("|", self.pos) and not self.text.startswith("||", self.pos):
            self.pos += 2 if self.text.startswith("|&", self.pos) else 1
            self.lines()
            if self.reserved() == "!":
                self.pos += 1
                self.blanks()
            stages.append(self.command())
            self.blanks()
        node = stages[0] if len(stages) == 1 else Pipeline(tuple(stages))
        return Not(node) if negated else node

    def command(self) -> Node:
        self.count()
        text, start = self.text, self.pos
        if text.startswith("@", start) and RESERVED.match(text, start + 1):
            start = self.pos = start + 1  # a recipe's line that make does not echo; no shell takes it
        found = RESERVED.match(text, start)
        word = "(" if text.startswith("(", start) else found.group() if found else ""
        if word:
            compound = self.compound(word)
            if compound is not None:
                return compound
            if word in CLOSING:
                raise SyntaxFaultError(f"unexpected {word!r}", start)
        function = FUNCTION.match(text, start)
        if function is not None and not ASSIGN.fullmatch(function.group(1)):
            self.pos = function.end()
            return self.function_body(function.group(1), start)
        return self._simple()

    def function_body(self, name: str, start: int) -> Node:
        self.lines()
        self.enter()
        body = self.command()
        self.depth -= 1
        return Function(name, body, self.span(start))

    def _simple(self) -> Node:
        text, end, start = self.text, self.end, self.pos
        words: list[RawWord] = []
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        declared: list[Assignment] = []
        while True:
            blanks = BLANKS.match(text, self.pos)
            if blanks:
                self.pos = blanks.end()
            if self.pos >= end:
                break
            character = text[self.pos]
            if character in "<>&{0123456789":
                redirect = self.redirect()
                if redirect is not None:
                    redirects.append(redirect)
                    continue
            if character in "\n;&|)":
                break
            if not words:
                assignment = self._assignment()
                if assignment is not None:
                    assignments.append(assignment)
                    continue
            elif words[0].plain in DECLARERS:
                array = ASSIGN.match(text, self.pos)
                if array is not None and text.startswith("(", array.end()):
                    assignment = self._assignment()
                    if assignment is not None:
                        declared.append(assignment)
                        words.append(RawWord((), assignment.span, assignment.name))
                        continue
            words.append(self.word())
        span = self.fixed or (start, words[-1].span[1] if words and not redirects else self.pos)
        if not (words or assignments or redirects):
            raise SyntaxFaultError(f"unexpected {text[start : start + 10]!r}", start)
        node = Simple(tuple(words), span, tuple(assignments), tuple(redirects), tuple(declared))
        self.shared.journal.append(node)
        return node

    def _assignment(self) -> Assignment | None:
        start = self.pos
        subscript = None
        found = ASSIGN.match(self.text, start)
        if found is not None:
            self.pos = found.end()
            append = found.group(2) == "+="
        else:
            found = SUBSCRIPTED.match(self.text, start)
            if found is None:
                return None
            self.pos = found.end()
            subscript = self.until("subscript")
            append = self.text.startswith("+=", self.pos)
            if not append and not self.text.startswith("=", self.pos):
                self.pos = start
                return None
            self.pos += 2 if append else 1
        items = None
        if subscript is None and self.text.startswith("(", self.pos):
            self.pos += 1
            items = self._array()
            value = RawWord((), self.span(start), "")
        else:
            value = self._value()
        return Assignment(found.group(1), value, self.span(start), append, subscript, items)

    def _value(self) -> RawWord:
        """The value of an assignment, which may be empty."""
        if self.pos >= self.end or self.text[self.pos] in " \t\r\n;&|)":
            return RawWord((), self.span(self.pos), "")
        if self.text[self.pos] in "<>" and not self.text.startswith("(", self.pos + 1):
            return RawWord((), self.span(self.pos), "")
        return self.word()

    def _array(self) -> tuple[tuple[RawWord | None, RawWord], ...]:
        items: list[tuple[RawWord | None, RawWord]] = []
        while True:
            self.lines()
            if self.text.startswith(")", self.pos):
                self.pos += 1
                return tuple(items)
            if self.pos >= self.end:
                raise SyntaxFaultError("')' is missing", self.pos)
            before = self.pos
            key = None
            if self.text.startswith("[", self.pos):
                self.pos += 1
                key = self.until("subscript")
                if self.text.startswith("=", self.pos):
                    self.pos += 1
                    items.append((key, self._value()))
                    continue
                self.pos = before
            items.append((None, self.word()))
