"""Raw words to the words a command gets: braces, tilde, parameters, substitutions, splitting, quote removal."""

from __future__ import annotations

import re
from typing import Protocol

from msgspec.structs import replace

from interpose.effects.invocation import NOTHING, RANGE, UNKNOWN, Stream, Word
from interpose.effects.late_patterns import late
from interpose.effects.shell import parameters, patterns
from interpose.effects.shell.arithmetic import Evaluator, UnknownError
from interpose.effects.shell.braces import brace_expand
from interpose.effects.shell.parameters import ExpansionResult
from interpose.effects.shell.state import FROM_ENVIRONMENT, Arguments, State, Variable
from interpose.effects.syntax.budget import Budget
from interpose.effects.syntax.parser import expansions_of
from interpose.effects.syntax.tree import (
    Arithmetic,
    CommandSubstitution,
    LiteralText,
    Parameter,
    Part,
    RawWord,
    Sequence,
    Span,
)

_GLOB = late(r"[*?\[]")
_GLOB_CHARACTERS = late(r"([*?\[\\\]()|])")
_NUMBER = late(r"[+-]?[0-9]{1,18}\Z", re.ASCII)
_REFERENCE = late(r"\s*+[A-Za-z_][A-Za-z0-9_]*+\[", re.ASCII)
_MAX_VALUES_DEPTH = 8
_MAX_TEXT = 131_072
"""A value longer than any text we analyse has been grown on purpose; it counts as unknown."""


class Shell(Protocol):
    """What expansion asks of the shell that runs it."""

    state: State
    home: str
    budget: Budget
    code_taints: frozenset[str]
    last_word: Word | None

    def substitute(self, body: Sequence) -> Stream:
        """Run a command substitution."""

    def process(self, part: CommandSubstitution) -> Word:
        """Start a process substitution; the path that stands for it."""

    def pick(self, key: str, count: int) -> int:
        """Which of `count` alternatives to take this time."""

    def assign(self, name: str, variable: Variable) -> None:
        """Set a variable."""

    def fault(self) -> None:
        """State that an expansion may fail."""

    def give_up(self, rule: str, reason: str, span: Span) -> None:
        """State that a part of the text is not understood."""


class FieldBuilder:
    """The words being built from one raw word."""

    __slots__ = ("done", "extended", "glob", "pieces", "quoted", "span", "started", "taints")

    def __init__(self, span: Span) -> None:
        self.span = span
        self.done: list[Word] = []
        self._clear()

    def _clear(self) -> None:
        self.pieces: list[str] = []
        self.glob = False
        self.extended = False
        self.quoted = False
        self.started = False
        self.taints: frozenset[str] = NOTHING

    def add(self, text: str, quoted: bool, taints: frozenset[str] = NOTHING) -> None:
        if text or quoted:
            self.started = True
        self.pieces.append(text)
        self.quoted = self.quoted or quoted
        if taints:
            self.taints = self.taints | taints
        if not quoted and not self.glob and _GLOB.search(text):
            self.glob = True
        if text == "(" and not quoted:
            # Only an extended pattern leaves a bracket of its own.
            self.extended = True

    def close(self) -> None:
        if self.started:
            text = "".join(self.pieces)
            ways = [text if len(text) <= _MAX_TEXT else UNKNOWN]
            if self.extended:
                ways = patterns.alternatives(ways[0])
            self.done.extend(Word(way, self.span, self.glob, self.quoted, self.taints) for way in ways)
        self._clear()

    def split(self, text: str, taints: frozenset[str], separators: str) -> None:
        """Add an unquoted value: it falls apart at IFS characters."""
        if not separators or not any(mark in text for mark in separators):
            self.add(text, False, taints)
            return
        blank = "".join(mark for mark in separators if mark in " \t\n")
        hard = "".join(mark for mark in separators if mark not in " \t\n")
        if text[0] in blank:
            self.close()
        marks = re.escape(blank)
        pattern = (
            f"[{marks}]*[{re.escape(hard)}][{marks}]*|[{marks}]+" if hard and blank else f"[{re.escape(separators)}]"
        )
        if not hard:
            pieces = text.strip(blank).translate({ord(mark): " " for mark in blank}).split(" ")
            pieces = [piece for piece in pieces if piece]
        else:
            pieces = re.split(pattern, text.strip(blank))
        for position, piece in enumerate(pieces):
            if position:
                self.started = self.started or bool(hard)
                self.close()
            self.add(piece, False, taints)
        if text[-1] in blank and pieces:
            self.close()


def _parts(word: RawWord) -> tuple[Part, ...]:
    return word.parts if word.plain is None else (LiteralText(word.plain, False),)


class Expander:
    """Expands the words of one shell."""

    __slots__ = ("_depth", "shell")

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._depth = 0

    def fields(self, word: RawWord) -> list[Word]:
        """The words that a raw word becomes: none, one or many."""
        if word.plain is not None:
            return [Word(word.plain, word.span)]
        parts = word.parts
        if len(parts) == 1 and isinstance(parts[0], LiteralText) and parts[0].quoted:
            return [Word(parts[0].text, word.span, False, True, self._literal_taints(parts[0].text))]
        fields = FieldBuilder(word.span)
        braces = any(isinstance(part, LiteralText) and not part.quoted and "{" in part.text for part in parts)
        for alternative in brace_expand(parts, self.shell.budget) if braces else (parts,):
            self._fill(fields, alternative)
            fields.close()
        if braces:
            # A long range: what it says is known, and too much to be written out.
            return [
                replace(done, taints=RANGE) if done.text == UNKNOWN and not done.taints else done
                for done in fields.done
            ]
        return fields.done

    def single(self, word: RawWord) -> Word:
        """The value of a word that is not split: an assignment, a redirection target, a here-document."""
        if word.plain is not None:
            return Word(word.plain, word.span)
        pieces: list[str] = []
        taints: frozenset[str] = NOTHING
        glob = quoted = False
        for position, part in enumerate(word.parts):
            match part:
                case LiteralText(text, is_quoted):
                    if position == 0 and not is_quoted and text[:1] == "~":
                        text = self._tilde(text)
                    pieces.append(text)
                    quoted = quoted or is_quoted
                    glob = glob or (not is_quoted and _GLOB.search(text) is not None)
                    taints |= self._literal_taints(text)
                case _:
                    values = self.settled(part)
                    pieces.append(" ".join(values.texts))
                    taints |= values.taints
        text = "".join(pieces)
        return Word(text if len(text) <= _MAX_TEXT else UNKNOWN, word.span, glob, quoted, taints)

    def pattern(self, word: RawWord) -> Word:
        """The value of a pattern: its quoted characters are escaped."""
        if word.plain is not None:
            return Word(word.plain, word.span)
        pieces: list[str] = []
        taints: frozenset[str] = NOTHING
        for part in word.parts:
            values = ExpansionResult((part.text,)) if isinstance(part, LiteralText) else self.settled(part)
            text = " ".join(values.texts)
            taints |= values.taints
            pieces.append(_GLOB_CHARACTERS.sub(r"\\\1", text) if part.quoted else text)
        return Word("".join(pieces), word.span, False, False, taints)

    def _literal_taints(self, text: str) -> frozenset[str]:
        return self.shell.code_taints if UNKNOWN in text else NOTHING

    def _fill(self, fields: FieldBuilder, parts: tuple[Part, ...]) -> None:
        for position, part in enumerate(parts):
            match part:
                case LiteralText(text, quoted):
                    if position == 0 and not quoted and text[:1] == "~":
                        text = self._tilde(text)
                    fields.add(text, quoted, self._literal_taints(text))
                case _:
                    values = self.values(part)
                    if values.instead is not None:
                        self._fill(fields, _parts(values.instead))
                        fields.add("", part.quoted, values.taints)
                    else:
                        self._fill_values(fields, values, part.quoted)

    def _fill_values(self, fields: FieldBuilder, values: ExpansionResult, quoted: bool) -> None:
        if quoted and not values.separate:
            fields.add(
                self._joiner().join(values.texts) if len(values.texts) > 1 else "".join(values.texts),
                True,
                values.taints,
            )
            return
        separators = "" if quoted else self._separators()
        for position, text in enumerate(values.texts):
            if position:
                fields.close()
            if quoted:
                # `"$@"` and `"${x[@]}"` may be no word at all: a word that is nothing else is not held by its quotes.
                fields.add(text, text != UNKNOWN, values.taints)
            elif values.whole:
                fields.add(text, False, values.taints)
            else:
                fields.split(text, values.taints, separators)

    def _separators(self) -> str:
        ifs = self.shell.state.variables.get("IFS")
        return " \t\n" if ifs is None or UNKNOWN in ifs.text else ifs.text

    def _joiner(self) -> str:
        ifs = self.shell.state.variables.get("IFS")
        return " " if ifs is None else ifs.text[:1]

    def _tilde(self, text: str) -> str:
        user, slash, rest = text[1:].partition("/")
        if not user:
            home = self.shell.state.variables.get("HOME")
            return (home.text if home else self.shell.home) + slash + rest
        if user == "+":
            return self.cwd() + slash + rest
        if user == "-":
            return UNKNOWN + slash + rest
        return text

    def cwd(self) -> str:
        cwds = self.shell.state.cwds
        return cwds[0] if len(cwds) == 1 else cwds[self.shell.pick("cwd", len(cwds))]

    def arguments(self) -> Arguments:
        """The positional arguments."""
        ways = self.shell.state.arguments
        return ways[0] if len(ways) == 1 else ways[self.shell.pick("@", len(ways))]

    # Values

    def settled(self, part: Parameter | CommandSubstitution | Arithmetic) -> ExpansionResult:
        """The value of an expansion where nothing is split."""
        values = self.values(part)
        if values.instead is None:
            return values
        word = self.single(values.instead)
        return ExpansionResult((word.text,), word.taints | values.taints)

    def values(self, part: Parameter | CommandSubstitution | Arithmetic) -> ExpansionResult:
        """The value or values of one expansion."""
        self.shell.budget.spend()
        match part:
            case Parameter():
                return parameters.values(self, part)
            case CommandSubstitution(kind, body, _, _):
                if kind != "$(":
                    path = self.shell.process(part)
                    return ExpansionResult((path.text,), path.taints, whole=True)
                stream = self.shell.substitute(body)
                if stream.text is None or len(stream.text) > _MAX_TEXT:
                    return ExpansionResult((UNKNOWN,), stream.taints | {"output"})
                return ExpansionResult((stream.text.rstrip("\n"),), stream.taints)
            case Arithmetic(expression, _):
                number = self.arithmetic(self.single(expression).text)
                return ExpansionResult((UNKNOWN if number is None else str(number),))

    def variable(self, name: str) -> Variable:
        """A variable as it is now. One that was never set may come from the environment."""
        found = self.shell.state.variables.get(name)
        if found is None:
            known = self._environment(name)
            return FROM_ENVIRONMENT if known is None else Variable(known)
        if found.reference and found.text != name and self._depth < _MAX_VALUES_DEPTH:
            self._depth += 1
            target = self.variable(found.text)
            self._depth -= 1
            return target
        if found.others:
            index = self.shell.pick("$" + name, len(found.others) + 1)
            return found if index == 0 else found.others[index - 1]
        return found

    def changed(self, name: str) -> Variable | None:
        """A variable that this text has set, as it is before it is changed; None if it has not."""
        return self.variable(name) if name in self.shell.state.variables else None

    def _environment(self, name: str) -> str | None:
        if name == "HOME":
            return self.shell.home
        if name == "PWD":
            return self.cwd()
        if name in parameters.BELOW_HOME:
            return f"{self.shell.home}/{parameters.BELOW_HOME[name]}"
        return parameters.ENVIRONMENT.get(name)

    def arithmetic(self, text: str) -> int | None:
        """Evaluate an expression; array subscripts in it run the substitutions they contain, as in bash."""
        self._depth += 1
        try:
            if self._depth > _MAX_VALUES_DEPTH:
                return None
            if "[" in text and ("$(" in text or "`" in text):
                self.run_expansions(text)
                return None
            if UNKNOWN in text:
                return None
            self.shell.budget.spend(1 + len(text) // 16)
            text = text.strip().replace('"', "").replace("'", "")
            if _NUMBER.match(text) and not text.lstrip("+-").startswith("0"):
                return int(text)
            return Evaluator(text, self._number_of, self._assign_number).value()
        except UnknownError:
            return None
        finally:
            self._depth -= 1

    def run_expansions(self, text: str) -> Word:
        """Expand `text` as if it stood in double quotes."""
        return self.single(RawWord(expansions_of(text, self.shell.budget), (0, 0)))

    def reference(self, text: str) -> None:
        """A variable name given as text: `a[$(x)]` runs x, even where the text was quoted."""
        if _REFERENCE.match(text) and ("$" in text or "`" in text):
            self.run_expansions(text)

    def _number_of(self, name: str, index: int | None) -> int | None:
        variable = self.variable(name)
        if index is not None:
            if variable.items is None:
                return self.arithmetic(variable.text) if index == 0 else None
            element = dict(variable.items).get(str(index))
            return 0 if element is None else self.arithmetic(element)
        if variable.outside:
            return None
        return self.arithmetic(variable.text)

    def _assign_number(self, name: str, value: int | None) -> None:
        self.shell.assign(name, Variable(UNKNOWN if value is None else str(value)))
