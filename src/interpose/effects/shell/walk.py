"""Runs a syntax tree without running anything: every branch is looked at, with the state it would have."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, product
from math import prod
from typing import Literal

from msgspec.structs import replace

from interpose.effects.frozen_values import FrozenDict
from interpose.effects.invocation import EMPTY_STREAM, NOTHING, UNKNOWN, Invocation, Stream, Word
from interpose.effects.shell import compound, simple_commands
from interpose.effects.shell.expand import Expander
from interpose.effects.shell.lowering import CommandLowering
from interpose.effects.shell.process_substitutions import Feeds
from interpose.effects.shell.redirects import Descriptors, opened
from interpose.effects.shell.simple_commands import Ran
from interpose.effects.shell.state import FROM_ENVIRONMENT, UNSET, Channel, State, Variable
from interpose.effects.shell.state import either as either_of
from interpose.effects.shell.vanishing import meaning
from interpose.effects.streams import either, joined
from interpose.effects.syntax import parse
from interpose.effects.syntax.budget import CHARACTERS, COMMAND, EFFECT, Budget
from interpose.effects.syntax.tree import (
    AndOr,
    BackgroundJob,
    CommandSubstitution,
    Compound,
    Coprocess,
    Function,
    Node,
    Not,
    Parsed,
    ParseProblem,
    Pipeline,
    Sequence,
    Simple,
    Span,
)
from interpose.effects.syntax.words import MAX_NESTING
from interpose.effects.values import Effect

TABLES = frozenset({"BASH_ALIASES", "BASH_CMDS"})
"""Arrays of bash that are no data: they say what its commands are."""
MAX_COMBINATIONS, FEW_COMBINATIONS = 64, 8
COPROCESS_OUT, COPROCESS_IN = 63, 60
MAX_TRAPS = 16
MAX_FAULTS = 100

CodeScope = Literal["shell", "copy", "child"]
"""Where code runs: in this shell, in this shell without lasting (a trap), or in a child that sees what is exported."""


class Alternative:
    """One way through a command: which alternatives it met, and the state before the first of them."""

    __slots__ = ("before", "touched")

    def __init__(self) -> None:
        self.touched: dict[str, int] = {}
        self.before: State | None = None


class Walker:
    """One analysis. `state` is the shell that runs now; `doubt` is above zero while it is not certain that it runs."""

    def __init__(self, cwd: str, home: str, budget: Budget | None = None, search_path: str = "") -> None:
        self.home, self.search_path = home, search_path
        self.budget = Budget() if budget is None else budget
        self.state = State(cwd)
        self.expander = Expander(self)
        self.effects: list[Effect] = []
        self.commands: list[Ran] = []
        self.problems: list[ParseProblem] = []
        self.doubt = 0
        self.depth = 0
        self.runs = 0
        self.forks = 0
        self.active: dict[tuple[int, ...], list[int]] = {}
        self.locals: list[dict[str, Variable | None]] = []
        self.traps: list[tuple[str, Span, tuple[str, ...], frozenset[str]]] = []
        self.links: dict[str, str] = {}
        self.via: tuple[str, ...] = ()
        self.code_taints: frozenset[str] = NOTHING
        self.success: bool | None = True
        self.likely = False
        self.left = False
        self.loops = 0
        self.returns = 0
        self.nullglob = False
        self.found: set[tuple[str, str]] = set()
        self.last_word: Word | None = None
        self.faulted: State | None = None
        self._faults = 0
        self._choice: dict[str, int] = {}
        self._trial = Alternative()
        self.feeds = Feeds(self)
        self.looked_at: set[str] = set()
        self.suspected: set[str] = set()

    # Bounds

    def deeper(self, span: Span) -> bool:
        """Enter one more level; False (and an effect) when there are too many."""
        if self.depth >= MAX_NESTING:
            self.give_up("too-deep", f"Commands are nested deeper than {MAX_NESTING} levels", span)
            return False
        self.depth += 1
        return True

    def give_up(self, rule: str, reason: str, span: Span) -> None:
        details = FrozenDict({"rule": rule, "reason": reason})
        effect = Effect("opaque", "", "unknown", span, details, self.via)
        if effect not in self.effects[-8:]:
            self.effects.append(effect)
            self.budget.spend(EFFECT)

    def count(self) -> None:
        self.runs += 1
        self.budget.spend(COMMAND)

    # Alternatives

    def pick(self, key: str, count: int) -> int:
        trial = self._trial
        if trial.before is None:
            trial.before = self.state.copy()
        trial.touched[key] = count
        return min(self._choice.get(key, 0), count - 1)

    def each_alternative(self, once: Callable[[], Stream]) -> Stream:
        """Run `once` for every combination of the alternatives that it turns out to depend on."""
        outer, self._trial = self._trial, (trial := Alternative())
        first = len(self.effects)
        out = once()
        if trial.before is not None:
            out = self._others(once, out, first, trial.before, trial.touched)
        self._trial = outer
        return out

    def _others(
        self, once: Callable[[], Stream], out: Stream, first: int, before: State, touched: dict[str, int]
    ) -> Stream:
        outer = self._choice
        names = [name for name in touched if name not in outer]
        combinations = product(*(range(touched[name]) for name in names))
        # Nobody can say what too many choices do: some of them are looked at, and a person is asked.
        limit = MAX_COMBINATIONS if prod(touched[name] for name in names) <= MAX_COMBINATIONS else FEW_COMBINATIONS
        outs, after = [out], self.state
        always = _proven(self.effects[first:])
        for combination in islice(combinations, 1, limit):
            self.state = before.copy()
            self._choice = outer | dict(zip(names, combination, strict=True))
            mark = len(self.effects)
            outs.append(once())
            always &= _proven(self.effects[mark:])
            after.merge(self.state)
        if next(combinations, None) is not None:
            self.give_up("too-many-ways", "Its words depend on more choices than are looked at", (0, 0))
        self.state, self._choice = after, outer
        self.effects[first:] = [
            replace(effect, certainty="possible")
            if effect.certainty == "proven" and meaning(effect) not in always and not effect.details.get("ours")
            else effect
            for effect in self.effects[first:]
        ]
        return either(outs)

    # What expansion and lowering ask for

    def assign(self, name: str, variable: Variable) -> None:
        before = self.state.variables.get(name)
        if before is not None and before != UNSET:
            if before.reference and not before.text and not variable.reference:
                variable = replace(variable, reference=True)
            elif before.reference and before.text != name and not variable.reference:
                name, before = before.text, self.state.variables.get(before.text, FROM_ENVIRONMENT)
            if before.integer:
                variable = self._evaluated(variable)
            if before.readonly:
                # The assignment fails, and what follows may still run.
                variable = either_of(before, variable)
            if before.exported and not variable.exported:
                variable = replace(variable, exported=True)
        self.state.variables[name] = variable
        if name in TABLES:
            for key, text in variable.items or ():
                self.set_entry(name, key, Word(text, taints=variable.taints))
        elif name == "BASH_ARGV0":
            self.state.zero = Word(variable.text, taints=variable.taints)

    def _evaluated(self, variable: Variable) -> Variable:
        """What an integer variable keeps of what it is given; evaluating that may run commands."""
        numbers = [self.expander.arithmetic(text) for text in dict(variable.items or (("0", variable.text),)).values()]
        text = UNKNOWN if not numbers or numbers[0] is None else str(numbers[0])
        return replace(variable, text=text, integer=True) if variable.items is None else variable

    def table_of(self, name: str) -> str:
        """The table of bash's own that a variable is or refers to, or an empty text."""
        variable = self.state.variables.get(name)
        if variable is not None and variable.reference:
            name = variable.text
        return name if name in TABLES else ""

    def set_entry(self, name: str, key: str, value: Word) -> None:
        """`BASH_ALIASES[ls]=...`, `BASH_CMDS[foo]=/bin/rm`: from now on the command is what the entry says."""
        table = self.table_of(name)
        if not table:
            return
        key = key.strip("\"'")
        if UNKNOWN in key:
            self.lowering(value.span).emit("opaque", table, certainty="unknown", rule="computed-command",
                reason="Which command is replaced by another is only known when it runs")  # fmt: skip
        elif table == "BASH_ALIASES":
            self.state.aliases[key] = (value.text,)
        else:
            self.state.hashed[key] = (value.text,)

    def assign_element(self, name: str, key: str, value: Word) -> None:
        """`a[key]=value`. Under a key that is not known the element is kept, too."""
        if self.table_of(name):
            self.set_entry(name, key, value)
            return
        before = self.expander.changed(name)
        number = self.expander.arithmetic(key)
        items: dict[str, str] = {}
        if before is not None:
            self.budget.spend(1 + len(before.items or ()) // CHARACTERS * 4)
            items = dict(before.items if before.items is not None else (("0", before.text),) if before.is_set else ())
        items[key if number is None else str(number)] = value.text
        taints = value.taints | (before.taints if before is not None else NOTHING)
        self.assign(name, Variable(items.get("0", ""), taints, tuple(items.items())))

    def fault(self) -> None:
        """An expansion may fail, which skips the rest of its line: what follows may see the state as it is now."""
        if self.faulted is None:
            self.faulted = self.state.copy()

    def _merge_fault(self) -> None:
        self._faults += 1
        if self.faulted is not None and self._faults <= MAX_FAULTS:
            self.state.merge(self.faulted)
        elif self.faulted is not None:
            self.faulted = None
            self.give_up("too-many-ways", "Too much follows an expansion that may fail", (0, 0))

    def substitute(self, body: Sequence) -> Stream:
        """A command substitution runs in a subshell; `$(< file)` prints the file."""
        only = body.items[0] if len(body.items) == 1 else None
        if isinstance(only, Simple) and not only.words and not only.assignments and len(only.redirects) == 1:
            return opened(self, only.redirects, None, only.span).stdin or Stream()
        return self.subshell(body, None, piped=True)

    def subshell(self, body: Node, stdin: Stream | None, *, piped: bool = False) -> Stream:
        outer, left, active, faulted = self.state, self.left, self.active, self.faulted
        self.state = outer.copy()
        self.active = {name: list(forks) for name, forks in active.items()} if active else {}
        out = self.run(body, stdin, piped=piped)
        self.keep_files(outer)
        self.state, self.left, self.active, self.faulted = outer, left, active, faulted
        return out

    def keep_files(self, outer: State) -> None:
        """What a subshell wrote stays on disk."""
        if self.state.files != outer.files:
            outer.files = self.state.files

    def process(self, part: CommandSubstitution) -> Word:
        return self.feeds.start(part)

    def run_code(
        self,
        text: str,
        *,
        span: Span,
        via: tuple[str, ...] = (),
        taints: frozenset[str] = NOTHING,
        args: tuple[Word, ...] | None = (),
        stdin: Stream | None = None,
        scope: CodeScope = "shell",
        env: tuple[tuple[str, Word], ...] = (),
    ) -> Stream:
        """Analyse `text` as a script. `args` are `$0` and what follows; None when they are not known."""
        if not self.deeper(span):
            return Stream()
        parsed = parse(text, self.budget, fixed=span, depth=0)
        outer_via, outer_taints, outer_state = self.via, self.code_taints, self.state
        outer_arguments = outer_state.arguments
        outer_left, outer_loops, outer_returns = self.left, self.loops, self.returns
        own = scope != "shell"
        sourced = not own and via[-1:] in (("source",), (".",))
        self.loops, self.returns = (0, 0) if own else (outer_loops, outer_returns + sourced)
        self.via, self.code_taints = via, taints
        match scope:
            case "child":
                self.state = _child(outer_state, env)
                self.state.arguments = (None if args is None else args[1:],)
                self.state.zero = args[0] if args else Word("bash")
            case "copy":
                self.state = outer_state.copy()
            case "shell":
                if args:
                    self.state.arguments = (args,)
        out = self.script(parsed, stdin)
        if scope == "shell":
            if args:
                self.state.arguments = outer_arguments
        else:
            self.keep_files(outer_state)
            self.state = outer_state
        self.via, self.code_taints = outer_via, outer_taints
        self.loops, self.returns = outer_loops, outer_returns
        if own or sourced:
            # What leaves a child or a file that was read does not leave this shell.
            self.left = outer_left
        self.depth -= 1
        return out

    def script(self, parsed: Parsed, stdin: Stream | None) -> Stream:
        for problem in parsed.problems:
            self.problems.append(problem)
            rule = "unparsed" if problem.rule == "syntax" else problem.rule
            self.give_up(rule, f"The text is not understood: {problem.message}", problem.span)
        return self.run(parsed.script, stdin)

    def finish(self) -> None:
        """Traps run last, with the state the script has then, and whoever was given nothing to read yet."""
        self.feeds.finish()
        for text, span, via, taints in self.traps[:MAX_TRAPS]:
            self.run_code(text, span=span, via=via, taints=taints, scope="copy")

    def lowering(self, span: Span) -> CommandLowering:
        """A lowering for what no command but the shell itself does."""
        return CommandLowering(self, Invocation("", (), span), self.via)

    def invoke(
        self,
        words: tuple[Word, ...],
        *,
        span: Span,
        stdin: Stream | None = None,
        via: tuple[str, ...] = (),
        env: tuple[tuple[str, Word], ...] = (),
        piped: bool = False,
        external: bool = False,
    ) -> Stream:
        return simple_commands.invoke(self, words, span, stdin, via, env, piped, external)

    # Nodes

    def run(self, node: Node, stdin: Stream | None, *, piped: bool = False) -> Stream:
        """What `node` prints."""
        match node:
            case Simple():
                return simple_commands.run(self, node, stdin, piped)
            case Sequence(items):
                return self._sequence(items, stdin, piped)
            case Pipeline(stages):
                return self._pipeline(stages, stdin, piped)
            case AndOr(first, rest):
                return self._and_or(first, rest, stdin, piped)
            case Not(body):
                out = self.run(body, stdin, piped=piped)
                self.success = None if self.success is None else not self.success
                return out
            case BackgroundJob(body):
                self.forks += 1
                out = self.subshell(body, stdin if stdin is not None else EMPTY_STREAM, piped=piped)
                self.forks -= 1
                self.success = True
                return out
            case Function(name, body, _):
                self.state.functions[name] = (body,)
                self.success = True
                return EMPTY_STREAM
            case Coprocess(name, body):
                self.forks += 1
                out = self.subshell(body, Stream(), piped=True)
                self.forks -= 1
                self.state.fds = {**self.state.fds, COPROCESS_OUT: Channel("input", stream=out)}
                ends = (("0", str(COPROCESS_OUT)), ("1", str(COPROCESS_IN)))
                self.assign(name or "COPROC", Variable(ends[0][1], NOTHING, ends))
                return EMPTY_STREAM
            case _:
                return self._redirected(node, stdin, piped)

    def _sequence(self, items: tuple[Node, ...], stdin: Stream | None, piped: bool) -> Stream:
        if len(items) == 1:
            return self.run(items[0], stdin, piped=piped)
        outs: list[Stream] = []
        kept: State | None = None
        self.left = False
        for item in items:
            outs.append(self.run(item, stdin, piped=piped))
            if self.faulted is not None:
                self._merge_fault()
            if self.left and kept is None:
                # What follows `exit` is looked at, but what it would change never happens.
                kept, self.state = self.state, self.state.copy()
        if kept is not None:
            self.state, self.left = kept, True
        return joined(outs)

    def _pipeline(self, stages: tuple[Node, ...], stdin: Stream | None, piped: bool) -> Stream:
        stream = stdin
        last = len(stages) - 1
        self.forks += 1
        for position, stage in enumerate(stages):
            stream = self.subshell(stage, stream, piped=piped or position < last)
        self.forks -= 1
        self.success = None
        return stream or EMPTY_STREAM

    def _and_or(self, first: Node, rest: tuple[tuple[str, Node], ...], stdin: Stream | None, piped: bool) -> Stream:
        outs = [self.run(first, stdin, piped=piped)]
        self.left = False
        for operator, node in rest:
            certain = self.success is (operator == "&&")
            likely = operator == "&&" and self.likely and self.success is None
            before = None if certain else self.state.copy()
            outs.append(self.run(node, stdin, piped=piped))
            if before is not None:
                if likely:
                    before.cwds = self.state.cwds
                self.likely = self.likely and operator == "&&"
                before.merge(self.state) if self.left else self.state.merge(before)
                self.state = before if self.left else self.state
                self.success = None
                self.left = False
        return joined(outs)

    def _redirected(self, node: Compound, stdin: Stream | None, piped: bool) -> Stream:
        redirects = node.redirects
        if not redirects:
            return compound.run(self, node, stdin, piped)
        mark = self.feeds.waiting
        opening: Descriptors = opened(self, redirects, stdin, redirects[0].span)
        outer = self.state.fds
        self.state.fds = opening.inner()
        out = compound.run(self, node, opening.stdin, piped)
        self.state.fds = outer
        out = opening.finish(out, opening.lowering)
        self.feeds.drain(out, mark)
        return out


def _proven(effects: list[Effect]) -> set[tuple[object, ...]]:
    """What happens for certain on one way; what happens so on every way is certain."""
    return {meaning(effect) for effect in effects if effect.certainty == "proven"}


def _child(state: State, env: tuple[tuple[str, Word], ...]) -> State:
    """What a program started from this shell sees of its state."""
    child = State(state.cwds[0])
    child.cwds = state.cwds
    child.variables = {name: variable for name, variable in state.variables.items() if variable.exported}
    for name, value in env:
        child.variables[name] = Variable(value.text, value.taints, exported=True)
    child.files = state.files.copy()
    child.fds = state.fds
    child.functions = {name: body for name, body in state.functions.items() if name in state.exported_functions}
    child.exported_functions = state.exported_functions
    return child
