"""Redirections and here-documents, and the blanks and line ends between words."""

from __future__ import annotations

from typing import Self

from interpose.effects.late_patterns import late
from interpose.effects.syntax.tree import HereDocument, LiteralText, Part, RawWord, Redirect, Span
from interpose.effects.syntax.words import SyntaxFaultError, Words

# INVARIANT: no group is possessive. Before 3.11.5 Python left one that fails in its middle behind what it had tried:
# the backslash before a `#` was taken for a blank, and what follows for a comment.
BLANKS = late(r"(?:[ \t]|\\\r?\n|\r(?=\n|\Z))*(?:\#[^\n]*+)?")
REDIRECT = late(
    r"(?:([0-9]{1,9})|\{([A-Za-z_][A-Za-z0-9_]*+)(?:\[[\w@*]*+\])?\})?(<<<|<<-|<<|<>|<&|<(?!\()|>>|>&|>\||>(?!\()|&>>|&>)"
)


class Redirections(Words):
    """Reads what stands between and behind the words of a command."""

    __slots__ = ()

    def inner(self, text: str, span: Span) -> Self:
        """A parser of the same kind for a text that stands inside this one."""
        parser = type(self)(text, span, self.shared, self.depth)
        parser.enter()
        return parser

    def blanks(self) -> None:
        found = BLANKS.match(self.text, self.pos)
        if found:
            self.pos = found.end()

    def lines(self) -> None:
        """Skip blanks, comments and line ends; here-documents are read when their line ends."""
        text = self.text
        while True:
            found = BLANKS.match(text, self.pos)
            if found:
                self.pos = found.end()
            if not text.startswith("\n", self.pos):
                return
            self.pos += 1
            if self.pending:
                self._here_documents()

    def redirects(self) -> tuple[Redirect, ...]:
        redirects: list[Redirect] = []
        while True:
            self.blanks()
            redirect = self.redirect()
            if redirect is None:
                return tuple(redirects)
            redirects.append(redirect)

    def redirect(self) -> Redirect | None:
        start = self.pos
        found = REDIRECT.match(self.text, start)
        if found is None:
            return None
        self.pos = found.end()
        fd, name, operator = found.groups()
        self.blanks()
        if self.pos >= self.end or self.text[self.pos] in "\n;|)":
            raise SyntaxFaultError("a redirection needs a target", self.pos)
        target = self._here(operator == "<<-") if operator in ("<<", "<<-") else self.word()
        return Redirect(operator, target, self.span(start), int(fd) if fd else None, name or "")

    def _here(self, strip: bool) -> HereDocument:
        start = self.pos
        word = self.word()
        raw = self.text[start : self.pos]
        literal = any(mark in raw for mark in "'\"\\")
        parts = word.parts if literal else ()
        delimiter = "".join(part.text for part in parts if isinstance(part, LiteralText)) if literal else raw
        here = HereDocument(delimiter, literal, strip)
        self.pending.append(here)
        return here

    def _here_documents(self) -> None:
        pending, self.pending = self.pending, []
        for here in pending:
            start = self.pos
            body = self._here_text(here)
            span = self.span(start)
            if here.literal or not any(mark in body for mark in "$`\\"):
                here.body = RawWord((LiteralText(body, True),), span)
            else:
                here.body = RawWord(self._expansions(body, span), span)

    def _expansions(self, body: str, span: Span) -> tuple[Part, ...]:
        try:
            return tuple(self.inner(body, span).parts("here"))
        except SyntaxFaultError as fault:
            raise SyntaxFaultError(fault.message, self.pos, fault.rule) from None

    def _here_text(self, here: HereDocument) -> str:
        """The lines up to the delimiter. Inside `$(...)` bash also takes a `)` glued to the delimiter."""
        text, start = self.text, self.pos
        position = start
        while position < self.end:
            stop = text.find("\n", position)
            stop = self.end if stop < 0 else stop
            line = text[position:stop].removesuffix("\r")
            if here.strip:
                line = line.lstrip("\t")
            if line == here.delimiter:
                self.pos = min(stop + 1, self.end)
                return _stripped(text[start:position], here.strip)
            if self.depth and line.startswith(here.delimiter + ")"):
                self.pos = text.index(")", position + len(here.delimiter))
                return _stripped(text[start:position], here.strip)
            position = stop + 1
        self.pos = self.end
        return _stripped(text[start:], here.strip)


def _stripped(body: str, strip: bool) -> str:
    return "\n".join(line.lstrip("\t") for line in body.split("\n")) if strip else body
