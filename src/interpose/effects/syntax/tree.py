"""The syntax tree of a shell text. Frozen values; `span` is where the node stands in the analysed text."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Span = tuple[int, int]

# Words


class LiteralText(Struct, frozen=True, gc=False):
    """Literal characters after quote removal. Only unquoted ones can be globs, braces or a tilde."""

    text: str
    quoted: bool


class Parameter(Struct, frozen=True, gc=False):
    """`$name` or `${name...}`. `operator` is what follows the name (`:-`, `##`, `/`, `@P`, `length`, ...)."""

    name: str
    quoted: bool
    operator: str = ""
    argument: RawWord | None = None
    replacement: RawWord | None = None
    subscript: RawWord | None = None
    indirect: bool = False


class CommandSubstitution(Struct, frozen=True, gc=False):
    """`$(...)`, a backquoted command, `<(...)` or `>(...)`."""

    kind: Literal["$(", "<(", ">("]
    body: Sequence
    quoted: bool
    span: Span


class Arithmetic(Struct, frozen=True, gc=False):
    """`$((...))` or `$[...]`."""

    expression: RawWord
    quoted: bool


Part = LiteralText | Parameter | CommandSubstitution | Arithmetic


class RawWord(Struct, frozen=True, gc=False):
    """A word as written. `plain` is its value when no character of it has a meaning to the shell."""

    parts: tuple[Part, ...]
    span: Span
    plain: str | None = None


# Commands


class HereDocument(Struct):
    """The body of a here-document. Not frozen: it is read when its line ends, long after `<<` was met."""

    delimiter: str
    literal: bool
    strip: bool
    body: RawWord | None = None


class Redirect(Struct, frozen=True, gc=False):
    """`fd` is None for the operator's default; `name` is the variable of `{name}>file`."""

    operator: str
    target: RawWord | HereDocument
    span: Span
    fd: int | None = None
    name: str = ""


class Assignment(Struct, frozen=True, gc=False):
    """`name=value`, `name+=value`, `name[subscript]=value` or `name=(items)`."""

    name: str
    value: RawWord
    span: Span
    append: bool = False
    subscript: RawWord | None = None
    items: tuple[tuple[RawWord | None, RawWord], ...] | None = None


class Simple(Struct, frozen=True, gc=False):
    """Assignments, words and redirections. `declared` are array assignments among the arguments of `declare` etc."""

    words: tuple[RawWord, ...]
    span: Span
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    declared: tuple[Assignment, ...] = ()


class Pipeline(Struct, frozen=True, gc=False):
    stages: tuple[Node, ...]


class Not(Struct, frozen=True, gc=False):
    body: Node


class AndOr(Struct, frozen=True, gc=False):
    """`first` and then each (`&&` or `||`, command) in order."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


class BackgroundJob(Struct, frozen=True, gc=False):
    body: Node


class Sequence(Struct, frozen=True, gc=False):
    items: tuple[Node, ...]


class CommandGroup(Struct, frozen=True, gc=False):
    """`{ ...; }`, or `( ... )` when `subshell`."""

    body: Sequence
    redirects: tuple[Redirect, ...]
    subshell: bool


class If(Struct, frozen=True, gc=False):
    branches: tuple[tuple[Sequence, Sequence], ...]
    otherwise: Sequence | None
    redirects: tuple[Redirect, ...]


class While(Struct, frozen=True, gc=False):
    """`while` and `until`."""

    condition: Sequence
    body: Sequence
    redirects: tuple[Redirect, ...]


class For(Struct, frozen=True, gc=False):
    """`for` and `select`. `words` is None for the positional parameters."""

    name: str
    words: tuple[RawWord, ...] | None
    body: Sequence
    redirects: tuple[Redirect, ...]


class ArithmeticFor(Struct, frozen=True, gc=False):
    expressions: RawWord
    body: Sequence
    redirects: tuple[Redirect, ...]


class CaseCommand(Struct, frozen=True, gc=False):
    word: RawWord
    clauses: tuple[tuple[tuple[RawWord, ...], Sequence, str], ...]
    redirects: tuple[Redirect, ...]


class Function(Struct, frozen=True, gc=False):
    name: str
    body: Node
    span: Span


class Coprocess(Struct, frozen=True, gc=False):
    name: str
    body: Node


class Test(Struct, frozen=True, gc=False):
    """`[[ ... ]]` as its flat list of operators (str) and operands."""

    tokens: tuple[str | RawWord, ...]
    redirects: tuple[Redirect, ...]
    span: Span


class ArithmeticCommand(Struct, frozen=True, gc=False):
    """`((...))`. `words` is what stands in it, when that could be a command: to a plain `sh` it is one."""

    expression: RawWord
    redirects: tuple[Redirect, ...]
    span: Span
    words: str = ""


Compound = CommandGroup | If | While | For | ArithmeticFor | CaseCommand | Test | ArithmeticCommand
"""Commands that carry redirections of their own."""

Node = Simple | Pipeline | Not | AndOr | BackgroundJob | Sequence | Function | Coprocess | Compound


class ParseProblem(Struct, frozen=True):
    """A part of the text that could not be understood. `rule` is `syntax`, `too-large` or `too-deep`."""

    rule: str
    message: str
    span: Span


class Parsed(Struct, frozen=True):
    """The tree of everything that was understood, and what was not."""

    script: Sequence
    problems: tuple[ParseProblem, ...]
