"""Commands: lists, pipelines, compound commands, redirections, here-documents. Recursive descent over one text.

What is not understood raises a fault. The commands that were complete before it are kept, so that they are analysed
even though the text as a whole was not understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from interpose.shell.syntax.tree import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Assignment,
    Background,
    Case,
    Coprocess,
    For,
    Function,
    Group,
    HereDocument,
    If,
    Node,
    Not,
    Parsed,
    Part,
    Pipeline,
    Problem,
    RawWord,
    Redirect,
    Sequence,
    Simple,
    Span,
    Test,
    Text,
    While,
)
from interpose.shell.syntax.words import MAX_COMMANDS, NAME, Shared, SyntaxFaultError, Words

MAX_PROBLEMS = 8

BLANKS = re.compile(r"(?:[ \t]|\\\r?\n|\r(?=\n|\Z))*+(?:\#[^\n]*+)?+")
LINES = re.compile(r"(?:[ \t\r]|\\\n)*+")
COMMENT = re.compile(r"#[^\n]*+")
RESERVED = re.compile(r"(?:[a-z]++|\{|\}|!|\[\[)(?=[ \t\r\n;&|()<>]|\Z)")
REDIRECT = re.compile(
    r"(?:([0-9]{1,9})|\{([A-Za-z_][A-Za-z0-9_]*+)\})?(<<<|<<-|<<|<>|<&|<(?!\()|>>|>&|>\||>(?!\()|&>>|&>)"
)
ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*+)(\+?=)", re.ASCII)
SUBSCRIPTED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*+)\[", re.ASCII)
FUNCTION = re.compile(r"([^ \t\n\r;&|<>()$`\"'\\{}!#][^ \t\n\r;&|<>()$`\"'\\]*+)[ \t]*+\([ \t]*+\)")
FUNCTION_NAME = re.compile(r"[^ \t\n\r;&|<>()$`\"'\\]++")
EMPTY_PARENTHESES = re.compile(r"[ \t]*+\([ \t]*+\)")
SEPARATOR = re.compile(r"&&|\|\||;;&|;;|;&|;|&(?!>)|\|&|\|")

CLOSING = frozenset({"then", "fi", "do", "done", "elif", "else", "esac", "}"})
DECLARERS = frozenset({"declare", "typeset", "local", "export", "readonly", "eval", "alias", "let"})


class Parser(Words):
    """Reads commands. Each method starts on its construct's first character and ends behind its last one."""

    __slots__ = ()

    def sequence(self, closer: str) -> Sequence:
        """Commands up to the word or character `closer`, which is read too; to the end of the text if it is empty."""
        items: list[Node] = []
        try:
            self.items(items, closer)
        except SyntaxFaultError:
            self.shared.salvaged.extend(items)
            raise
        if closer:
            self.expect(closer)
        return Sequence(tuple(items))

    def nested(self, text: str, span: Span) -> Sequence:
        inner = Parser(text, self.fixed or span, self.shared, self.depth)
        inner.enter()
        try:
            return inner.sequence("")
        except SyntaxFaultError as fault:
            raise SyntaxFaultError(fault.message, self.pos, fault.rule) from None

    def body(self, *closers: str) -> Sequence:
        """Commands up to one of the reserved words `closers`, which is left unread."""
        items: list[Node] = []
        try:
            self.items(items, "")
            if self.reserved() not in closers:
                raise SyntaxFaultError(f"{closers[-1]!r} is missing", self.pos)
        except SyntaxFaultError:
            self.shared.salvaged.extend(items)
            raise
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

    def reserved(self) -> str:
        """The reserved word at `pos`, or an empty text."""
        found = RESERVED.match(self.text, self.pos)
        return found.group() if found else ""

    def keyword(self, word: str) -> None:
        self.lines()
        if self.reserved() != word:
            raise SyntaxFaultError(f"{word!r} is missing", self.pos)
        self.pos += len(word)

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
                return Background(node)
            if operator == ";":
                self.pos += 1
            elif self.pos < self.end and not self.text.startswith(("\n", ")", ";;", ";&", "}"), self.pos):
                raise SyntaxFaultError(f"unexpected {self.text[self.pos : self.pos + 10]!r}", self.pos)
            return node

    def _pipeline(self) -> Node:
        negated, timed = False, False
        while True:
            word = self.reserved()
            if word == "!":
                negated = not negated
                self.pos += 1
            elif word == "time":
                timed = True
                self.pos += 4
                self.blanks()
                while self.text.startswith(("-p", "--"), self.pos) and self.text[self.pos + 2 : self.pos + 3] in (
                    " ",
                    "\t",
                ):
                    self.pos += 2
                    self.blanks()
            else:
                break
            self.blanks()
        if (timed or negated) and (self.pos >= self.end or self.text[self.pos] in "\n;&)"):
            return Simple((), self.span(self.pos))
        stages = [self._command()]
        self.blanks()
        while self.text.startswith("|", self.pos) and not self.text.startswith("||", self.pos):
            self.pos += 2 if self.text.startswith("|&", self.pos) else 1
            self.lines()
            if self.reserved() == "!":
                self.pos += 1
                self.blanks()
            stages.append(self._command())
            self.blanks()
        node = stages[0] if len(stages) == 1 else Pipeline(tuple(stages))
        return Not(node) if negated else node

    def _command(self) -> Node:
        self.shared.commands += 1
        if self.shared.commands > MAX_COMMANDS:
            raise SyntaxFaultError(f"more than {MAX_COMMANDS} commands", self.pos, "too-large")
        text, start = self.text, self.pos
        if text.startswith("(", start):
            return self._nesting(self._parentheses)
        found = RESERVED.match(text, start)
        if found is not None:
            compound = self.COMPOUND.get(found.group())
            if compound is not None:
                self.pos = found.end()
                return self._nesting(lambda: compound(self))
            if found.group() in CLOSING:
                raise SyntaxFaultError(f"unexpected {found.group()!r}", start)
        function = FUNCTION.match(text, start)
        if function is not None:
            self.pos = function.end()
            return self._function_body(function.group(1), start)
        return self._simple()

    def _nesting(self, compound: Callable[[], Node]) -> Node:
        self.enter()
        node = compound()
        self.depth -= 1
        return node

    # Compound commands

    def _parentheses(self) -> Node:
        start = self.pos
        if self.text.startswith("((", start) and start not in self.not_arithmetic:
            expression = self.double_parentheses(start + 2)
            if expression is not None:
                span = self.span(start)
                return ArithmeticCommand(expression, self._redirects(), span)
            self.not_arithmetic.add(start)
        self.pos = start + 1
        body = self.sequence(")")
        return Group(body, self._redirects(), True)

    def _brace(self) -> Node:
        body = self.body("}")
        self.keyword("}")
        return Group(body, self._redirects(), False)

    def _if(self) -> Node:
        branches: list[tuple[Sequence, Sequence]] = []
        otherwise = None
        while True:
            condition = self.body("then")
            self.keyword("then")
            branches.append((condition, self.body("elif", "else", "fi")))
            word = self.reserved()
            self.pos += len(word)
            if word == "elif":
                continue
            if word == "else":
                otherwise = self.body("fi")
                self.keyword("fi")
            return If(tuple(branches), otherwise, self._redirects())

    def _while(self) -> Node:
        condition = self.body("do")
        return While(condition, self._do(), self._redirects())

    def _do(self) -> Sequence:
        self.keyword("do")
        body = self.body("done")
        self.keyword("done")
        return body

    def _for(self) -> Node:
        self.blanks()
        if self.text.startswith("((", self.pos):
            expressions = self.double_parentheses(self.pos + 2)
            if expressions is None:
                raise SyntaxFaultError("'))' is missing", self.pos)
            return ArithmeticFor(expressions, self._loop_body(), self._redirects())
        name = FUNCTION_NAME.match(self.text, self.pos)
        if name is None:
            raise SyntaxFaultError("a loop needs a variable name", self.pos)
        self.pos = name.end()
        self.lines()
        words: list[RawWord] | None = None
        if self.reserved() == "in":
            self.pos += 2
            words = self._words()
        return For(name.group(), None if words is None else tuple(words), self._loop_body(), self._redirects())

    def _loop_body(self) -> Sequence:
        self.blanks()
        if self.text.startswith(";", self.pos):
            self.pos += 1
        self.lines()
        if self.reserved() == "{":
            self.pos += 1
            body = self.body("}")
            self.keyword("}")
            return body
        return self._do()

    def _words(self) -> list[RawWord]:
        words: list[RawWord] = []
        while True:
            self.blanks()
            if self.pos >= self.end or self.text[self.pos] in "\n;&|)":
                return words
            words.append(self.word())

    def _case(self) -> Node:
        self.lines()
        word = self.word()
        self.keyword("in")
        clauses: list[tuple[tuple[RawWord, ...], Sequence, str]] = []
        while True:
            self.lines()
            if self.reserved() == "esac":
                self.pos += 4
                return Case(word, tuple(clauses), self._redirects())
            patterns = self._patterns()
            body = self._clause()
            found = SEPARATOR.match(self.text, self.pos)
            terminator = found.group() if found else ""
            if terminator in (";;", ";&", ";;&"):
                self.pos += len(terminator)
            elif self.reserved() != "esac":
                raise SyntaxFaultError("'esac' is missing", self.pos)
            clauses.append((patterns, body, terminator))

    def _clause(self) -> Sequence:
        items: list[Node] = []
        try:
            self.items(items, "")
        except SyntaxFaultError:
            self.shared.salvaged.extend(items)
            raise
        return Sequence(tuple(items))

    def _patterns(self) -> tuple[RawWord, ...]:
        if self.text.startswith("(", self.pos):
            self.pos += 1
        patterns: list[RawWord] = []
        while True:
            self.blanks()
            patterns.append(self.word())
            self.blanks()
            if self.text.startswith("|", self.pos):
                self.pos += 1
                continue
            self.expect(")")
            return tuple(patterns)

    def _function(self) -> Node:
        self.blanks()
        start = self.pos
        name = FUNCTION_NAME.match(self.text, start)
        if name is None:
            raise SyntaxFaultError("a function needs a name", start)
        self.pos = name.end()
        parentheses = EMPTY_PARENTHESES.match(self.text, self.pos)
        if parentheses:
            self.pos = parentheses.end()
        return self._function_body(name.group(), start)

    def _function_body(self, name: str, start: int) -> Node:
        self.lines()
        self.enter()
        body = self._command()
        self.depth -= 1
        return Function(name, body, self.span(start))

    def _coproc(self) -> Node:
        self.blanks()
        name = NAME.match(self.text, self.pos)
        if name is not None and self.reserved() not in self.COMPOUND:
            before = self.pos
            self.pos = name.end()
            self.blanks()
            if self.text.startswith("(", self.pos) or self.reserved() in self.COMPOUND:
                return Coprocess(name.group(), self._command())
            self.pos = before
        return Coprocess("COPROC", self._command())

    def _test(self) -> Node:
        start = self.pos - 2
        tokens: list[str | RawWord] = []
        while True:
            self.lines()
            text = self.text
            if self.pos >= self.end:
                raise SyntaxFaultError("']]' is missing", self.pos)
            if text.startswith("]]", self.pos) and text[self.pos + 2 : self.pos + 3] in ("", *" \t\r\n;&|)<>"):
                self.pos += 2
                span = self.span(start)
                return Test(tuple(tokens), self._redirects(), span)
            if text.startswith(("&&", "||"), self.pos):
                tokens.append(text[self.pos : self.pos + 2])
                self.pos += 2
            elif text[self.pos] in "()<>" and not text.startswith(("<(", ">("), self.pos):
                tokens.append(text[self.pos])
                self.pos += 1
            elif tokens and isinstance(tokens[-1], RawWord) and _is_match(tokens[-1]):
                tokens.append(self._regex())
            else:
                tokens.append(self.word())

    def _regex(self) -> RawWord:
        """The right side of `=~`, where parentheses and bars are ordinary."""
        start = self.pos
        parts = self.parts("word")
        while self.pos < self.end and self.text[self.pos] in "()|<>":
            if self.text[self.pos] == "(":
                self.pos += 1
                parts.extend([Text("(", False), *self.parts("glob")])
                self.expect(")")
                parts.append(Text(")", False))
            else:
                parts.append(Text(self.text[self.pos], False))
                self.pos += 1
            parts.extend(self.parts("word"))
        if self.pos == start:
            raise SyntaxFaultError("a pattern is missing", start)
        return RawWord(tuple(parts), self.span(start))

    COMPOUND: ClassVar[dict[str, Callable[[Parser], Node]]] = {
        "{": _brace,
        "if": _if,
        "while": _while,
        "until": _while,
        "for": _for,
        "select": _for,
        "case": _case,
        "function": _function,
        "coproc": _coproc,
        "[[": _test,
    }

    # Simple commands

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
                redirect = self._redirect()
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
        return Simple(tuple(words), span, tuple(assignments), tuple(redirects), tuple(declared))

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

    # Redirections and here-documents

    def _redirects(self) -> tuple[Redirect, ...]:
        redirects: list[Redirect] = []
        while True:
            self.blanks()
            redirect = self._redirect()
            if redirect is None:
                return tuple(redirects)
            redirects.append(redirect)

    def _redirect(self) -> Redirect | None:
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
        delimiter = "".join(part.text for part in parts if isinstance(part, Text)) if literal else raw
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
                here.body = RawWord((Text(body, True),), span)
            else:
                inner = Parser(body, span, self.shared, self.depth)
                inner.enter()
                here.body = RawWord(tuple(inner.parts("here")), span)

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
    return "".join(line.lstrip("\t") for line in body.splitlines(keepends=True)) if strip else body


def parse(text: str, *, fixed: Span | None = None, depth: int = 0) -> Parsed:
    """The tree of `text`. After a fault, reading goes on at the next line. `fixed`: the span of all that comes out."""
    shared = Shared()
    parser = Parser(text, fixed, shared, depth)
    items: list[Node] = []
    problems: list[Problem] = []
    while True:
        before = parser.pos
        try:
            parser.items(items, "")
            if parser.pos >= parser.end:
                break
            raise SyntaxFaultError(f"unexpected {text[parser.pos : parser.pos + 10]!r}", parser.pos)
        except SyntaxFaultError as fault:
            position = min(max(fault.position, before), len(text))
            problems.append(Problem(fault.rule, fault.message, fixed or (position, min(position + 1, len(text)))))
            line = text.find("\n", position)
            if line < 0 or fault.rule != "syntax" or len(problems) >= MAX_PROBLEMS:
                break
            parser.pos = line + 1
            parser.pending.clear()
            parser.depth = depth
    return Parsed(Sequence((*items, *shared.salvaged)), tuple(problems))


def expansions_of(text: str) -> tuple[Part, ...]:
    """The parts of `text` as if it stood in double quotes. Text that is not understood is one literal part."""
    parser = Parser(text, (0, 0), Shared(), 0)
    try:
        return tuple(parser.parts("here"))
    except SyntaxFaultError:
        return (Text(text, True),)


def _is_match(word: RawWord) -> bool:
    return len(word.parts) == 1 and word.parts[0] == Text("=~", False)
