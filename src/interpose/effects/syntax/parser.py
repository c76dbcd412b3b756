"""Compound commands, and `parse`: from a text to its tree and to what in it was not understood."""

from __future__ import annotations

from collections.abc import Callable

from interpose.effects.late_patterns import late
from interpose.effects.syntax.budget import Budget
from interpose.effects.syntax.commands import SEPARATOR, Commands
from interpose.effects.syntax.tree import (
    ArithmeticCommand,
    ArithmeticFor,
    CaseCommand,
    CommandGroup,
    Coprocess,
    For,
    If,
    LiteralText,
    Node,
    Parsed,
    ParseProblem,
    Part,
    RawWord,
    Sequence,
    Span,
    Test,
    While,
)
from interpose.effects.syntax.words import NAME, Shared, SyntaxFaultError

MAX_PROBLEMS = 8
FUNCTION_NAME = late(r"[^ \t\n\r;&|<>()$`\"'\\]++")
WORDS = late(r"\s*+[A-Za-z][A-Za-z0-9_./-]*+[ \t]++[^ \t=]")
EMPTY_PARENTHESES = late(r"[ \t]*+\([ \t]*+\)")


class ShellParser(Commands):
    """Reads everything. The methods of compound commands start behind the word that introduces them."""

    __slots__ = ()

    def compound(self, word: str) -> Node | None:
        read = COMPOUND.get(word)
        if read is None:
            return None
        self.pos += len(word)
        self.enter()
        node = read(self)
        self.depth -= 1
        return node

    def read_parentheses(self) -> Node:
        start = self.pos - 1
        if self.text.startswith("((", start) and start not in self.not_arithmetic:
            expression = self.double_parentheses(start + 2)
            if expression is not None:
                span = self.span(start)
                words = self.text[start + 2 : self.pos - 2]
                return ArithmeticCommand(expression, self.redirects(), span, words if WORDS.match(words) else "")
            self.not_arithmetic.add(start)
        self.pos = start + 1
        body = self.sequence(")")
        return CommandGroup(body, self.redirects(), True)

    def read_brace(self) -> Node:
        body = self.body("}")
        self.keyword("}")
        return CommandGroup(body, self.redirects(), False)

    def read_if(self) -> Node:
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
            return If(tuple(branches), otherwise, self.redirects())

    def read_while(self) -> Node:
        condition = self.body("do")
        return While(condition, self._do(), self.redirects())

    def _do(self) -> Sequence:
        self.keyword("do")
        body = self.body("done")
        self.keyword("done")
        return body

    def read_for(self) -> Node:
        self.blanks()
        if self.text.startswith("((", self.pos):
            expressions = self.double_parentheses(self.pos + 2)
            if expressions is None:
                raise SyntaxFaultError("'))' is missing", self.pos)
            return ArithmeticFor(expressions, self._loop_body(), self.redirects())
        name = FUNCTION_NAME.match(self.text, self.pos)
        if name is None:
            raise SyntaxFaultError("a loop needs a variable name", self.pos)
        self.pos = name.end()
        self.lines()
        words: list[RawWord] | None = None
        if self.reserved() == "in":
            self.pos += 2
            words = self._words()
        return For(name.group(), None if words is None else tuple(words), self._loop_body(), self.redirects())

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

    def read_case(self) -> Node:
        self.lines()
        word = self.word()
        self.keyword("in")
        clauses: list[tuple[tuple[RawWord, ...], Sequence, str]] = []
        while True:
            self.lines()
            if self.reserved() == "esac":
                self.pos += 4
                return CaseCommand(word, tuple(clauses), self.redirects())
            patterns = self._patterns()
            items: list[Node] = []
            self.items(items, "")
            found = SEPARATOR.match(self.text, self.pos)
            terminator = found.group() if found else ""
            if terminator in (";;", ";&", ";;&"):
                self.pos += len(terminator)
            elif self.reserved() != "esac":
                raise SyntaxFaultError("'esac' is missing", self.pos)
            clauses.append((patterns, Sequence(tuple(items)), terminator))

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

    def read_function(self) -> Node:
        self.blanks()
        start = self.pos
        name = FUNCTION_NAME.match(self.text, start)
        if name is None:
            raise SyntaxFaultError("a function needs a name", start)
        self.pos = name.end()
        parentheses = EMPTY_PARENTHESES.match(self.text, self.pos)
        if parentheses:
            self.pos = parentheses.end()
        return self.function_body(name.group(), start)

    def read_coproc(self) -> Node:
        self.blanks()
        name = NAME.match(self.text, self.pos)
        if name is not None and self.reserved() not in COMPOUND:
            before = self.pos
            self.pos = name.end()
            self.blanks()
            if self.text.startswith("(", self.pos) or self.reserved() in COMPOUND:
                return Coprocess(name.group(), self.command())
            self.pos = before
        return Coprocess("COPROC", self.command())

    def read_test(self) -> Node:
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
                return Test(tuple(tokens), self.redirects(), span)
            if text.startswith(("&&", "||"), self.pos):
                tokens.append(text[self.pos : self.pos + 2])
                self.pos += 2
            elif tokens and isinstance(tokens[-1], RawWord) and _is_match(tokens[-1]):
                tokens.append(self._regex())
            elif text[self.pos] in "()<>" and not text.startswith(("<(", ">("), self.pos):
                tokens.append(text[self.pos])
                self.pos += 1
            else:
                tokens.append(self.word())

    def _regex(self) -> RawWord:
        """The right side of `=~`: bars are ordinary, and so is everything between parentheses that have a partner."""
        start = self.pos
        parts = self.parts("word")
        while self.pos < self.end and self.text[self.pos] in "(|":
            if self.text[self.pos] == "(":
                self.pos += 1
                parts.extend([LiteralText("(", False), *self.parts("glob")])
                self.expect(")")
                parts.append(LiteralText(")", False))
            else:
                parts.append(LiteralText(self.text[self.pos], False))
                self.pos += 1
            parts.extend(self.parts("word"))
        if self.pos == start:
            raise SyntaxFaultError("a pattern is missing", start)
        return RawWord(tuple(parts), self.span(start))


COMPOUND: dict[str, Callable[[ShellParser], Node]] = {
    "(": ShellParser.read_parentheses,
    "{": ShellParser.read_brace,
    "if": ShellParser.read_if,
    "while": ShellParser.read_while,
    "until": ShellParser.read_while,
    "for": ShellParser.read_for,
    "select": ShellParser.read_for,
    "case": ShellParser.read_case,
    "function": ShellParser.read_function,
    "coproc": ShellParser.read_coproc,
    "[[": ShellParser.read_test,
}


def parse(text: str, budget: Budget | None = None, *, fixed: Span | None = None, depth: int = 0) -> Parsed:
    """The tree of `text`. After a fault, reading goes on at the next line. `fixed`: the span of all that comes out.

    ExhaustedError if it takes more steps than there are left.
    """
    shared = Shared(budget)
    parser = ShellParser(text, fixed, shared, depth)
    items = shared.complete
    problems: list[ParseProblem] = []
    while True:
        before = parser.pos
        try:
            parser.items(items, "")
            if parser.pos >= parser.end:
                break
            raise SyntaxFaultError(f"unexpected {text[parser.pos : parser.pos + 10]!r}", parser.pos)
        except SyntaxFaultError as fault:
            items.extend(shared.journal)
            shared.journal.clear()
            position = min(max(fault.position, before), len(text))
            problems.append(ParseProblem(fault.rule, fault.message, fixed or (position, min(position + 1, len(text)))))
            line = text.find("\n", position)
            if line < 0 or fault.rule != "syntax" or len(problems) >= MAX_PROBLEMS:
                break
            parser.pos = line + 1
            parser.pending.clear()
            parser.depth = depth
    return Parsed(Sequence(tuple(items)), tuple(problems))


def expansions_of(text: str, budget: Budget | None = None) -> tuple[Part, ...]:
    """The parts of `text` as if it stood in double quotes. Text that is not understood is one literal part."""
    parser = ShellParser(text, (0, 0), Shared(budget), 0)
    try:
        return tuple(parser.parts("here"))
    except SyntaxFaultError:
        return (LiteralText(text, True),)


def _is_match(word: RawWord) -> bool:
    return len(word.parts) == 1 and word.parts[0] == LiteralText("=~", False)
