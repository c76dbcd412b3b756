"""What a shell knows while it runs: directory, variables, functions, aliases, files it wrote, open descriptors.

`hashed` is where commands were found, or are said to lie: `hash -p`, `BASH_CMDS`.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from interpose.effects.invocation import NOTHING, UNKNOWN, Stream, Word
from interpose.effects.syntax.tree import Node, Sequence

MAX_ALTERNATIVES = 16
"""How many values a variable, a function, an alias or the arguments may have on different branches."""

CUT = "cut"
"""The taint of a value that stands for more alternatives than are looked at: whoever uses it is asked about."""

Arguments = tuple[Word, ...] | None
"""Positional arguments; None when they are not known."""


class Variable(Struct, frozen=True):
    """A variable's value. `items` are the elements of an array; `others` what it may be on other branches.

    `outside`: not set in this text, it may come from the environment. `reference`: its text names another variable.
    """

    text: str
    taints: frozenset[str] = NOTHING
    items: tuple[tuple[str, str], ...] | None = None
    exported: bool = False
    is_set: bool = True
    outside: bool = False
    readonly: bool = False
    reference: bool = False
    integer: bool = False
    """What is assigned to it is an expression."""
    others: tuple[Variable, ...] = ()


FROM_ENVIRONMENT = Variable(UNKNOWN, frozenset({"env"}), outside=True)
UNSET = Variable("", is_set=False)


NO_FUNCTION: tuple[Node | None, ...] = (None,)
"""On some branch the name is no function, and an ordinary command runs."""

MORE_BODIES: Node = Sequence(())
"""Stands for the bodies of a function that has more of them than are looked at."""


class Channel(Struct, frozen=True):
    """What a file descriptor leads to. `inherit` is the surrounding stdout (1) or stderr (2)."""

    kind: Literal["inherit", "file", "net", "null", "input"]
    target: Word = Word("")
    stream: Stream = Stream()
    number: int = 1
    append: bool = False


OUT = Channel("inherit")
ERR = Channel("inherit", number=2)
NULL = Channel("null")


class State:
    """One shell's state. Subshells get a copy; branches get a copy and are merged."""

    __slots__ = (
        "aliases", "arguments", "cwds", "exported_functions", "fds", "files", "functions", "hashed", "variables",
        "zero",
    )  # fmt: skip

    def __init__(self, cwd: str) -> None:
        self.cwds: tuple[str, ...] = (cwd,)
        self.variables: dict[str, Variable] = {}
        self.functions: dict[str, tuple[Node | None, ...]] = {}
        self.exported_functions: set[str] = set()
        self.aliases: dict[str, tuple[str, ...]] = {}
        self.hashed: dict[str, tuple[str, ...]] = {}
        self.files: dict[str, Stream] = {}
        self.fds: dict[int, Channel] = {}
        self.arguments: tuple[Arguments, ...] = (None,)
        self.zero = Word("bash")

    def copy(self) -> State:
        other = State.__new__(State)
        other.cwds = self.cwds
        other.variables = self.variables.copy()
        other.functions = self.functions.copy()
        other.exported_functions = self.exported_functions.copy()
        other.aliases = self.aliases.copy()
        other.hashed = self.hashed.copy()
        other.files = self.files.copy()
        other.fds = self.fds.copy()
        other.arguments = self.arguments
        other.zero = self.zero
        return other

    def same(self, other: State) -> bool:
        return (
            self.variables == other.variables
            and self.cwds == other.cwds
            and self.functions == other.functions
            and self.aliases == other.aliases
            and self.hashed == other.hashed
            and self.files == other.files
            and self.fds == other.fds
            and self.arguments == other.arguments
        )

    def merge(self, other: State) -> None:
        """Go on knowing only that either `self` or `other` happened."""
        if self.cwds != other.cwds:
            cwds = tuple(dict.fromkeys((*self.cwds, *other.cwds)))
            self.cwds = cwds if len(cwds) <= MAX_ALTERNATIVES else (UNKNOWN,)
        if self.variables != other.variables:
            for name in self.variables.keys() | other.variables.keys():
                mine, theirs = self.variables.get(name), other.variables.get(name)
                if mine is not theirs and mine != theirs:
                    self.variables[name] = either(mine or FROM_ENVIRONMENT, theirs or FROM_ENVIRONMENT)
        if self.functions != other.functions:
            for name in self.functions.keys() | other.functions.keys():
                ours, others = self.functions.get(name, NO_FUNCTION), other.functions.get(name, NO_FUNCTION)
                if ours is not others:
                    bodies = tuple({id(body): body for body in (*ours, *others)}.values())
                    cut = len(bodies) > MAX_ALTERNATIVES
                    self.functions[name] = (*bodies[:MAX_ALTERNATIVES], MORE_BODIES) if cut else bodies
        self.exported_functions |= other.exported_functions
        self.aliases = _both(self.aliases, other.aliases)
        self.hashed = _both(self.hashed, other.hashed)
        if self.files != other.files:
            for path, stream in other.files.items():
                mine_ = self.files.get(path)
                if mine_ is None:
                    self.files[path] = stream
                elif mine_ != stream:
                    self.files[path] = _one_of(mine_, stream)
        self.fds = other.fds | self.fds
        if self.arguments != other.arguments:
            known = tuple(dict.fromkeys((*self.arguments, *other.arguments)))
            self.arguments = known if len(known) <= MAX_ALTERNATIVES else ((Word(UNKNOWN, taints=frozenset({CUT})),),)


def _one_of(mine: Stream, other: Stream) -> Stream:
    """A file that holds one of two texts. If only what is unknown of them differs, they are one."""
    same = mine.text is not None and other.text is not None and _known(mine.text) == _known(other.text)
    return Stream(max(mine.text or "", other.text or "", key=len) if same else None, mine.taints | other.taints)


def _known(text: str) -> str:
    return text.replace(UNKNOWN, "")


def _both(mine: dict[str, tuple[str, ...]], theirs: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Texts by name, from two branches. Of too many the last is unknown."""
    if mine == theirs:
        return mine
    merged = theirs | mine
    for name in mine.keys() & theirs.keys():
        texts = tuple(dict.fromkeys((*mine[name], *theirs[name])))
        merged[name] = texts if len(texts) <= MAX_ALTERNATIVES else (*texts[:MAX_ALTERNATIVES], UNKNOWN)
    return merged


def either(one: Variable, other: Variable) -> Variable:
    """A variable that has one of two values, not known which."""
    flat: dict[Variable, None] = {}
    for variable in (one, other):
        flat[replace(variable, others=())] = None
        for alternative in variable.others:
            flat[alternative] = None
    values = list(flat)
    if len(values) > MAX_ALTERNATIVES:
        taints = frozenset().union(*(value.taints for value in values))
        return Variable(UNKNOWN, taints | {CUT}, exported=one.exported or other.exported)
    return replace(values[0], others=tuple(values[1:]))
