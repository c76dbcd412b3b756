"""Compound commands: every branch is looked at, loops as often as it takes to see what they change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from interpose.effects.handler_table import handler_of
from interpose.effects.invocation import EMPTY_STREAM, UNKNOWN, Stream, Word
from interpose.effects.shell.endless import counts_far, fills, is_constant, is_endless, is_many, spawns
from interpose.effects.shell.state import CUT, State, Variable
from interpose.effects.streams import joined
from interpose.effects.syntax import parse
from interpose.effects.syntax.tree import (
    ArithmeticCommand,
    ArithmeticFor,
    CaseCommand,
    CommandGroup,
    Compound,
    For,
    If,
    RawWord,
    Sequence,
    Simple,
    Span,
    Test,
    While,
)

if TYPE_CHECKING:
    from interpose.effects.shell.walk import Walker

MAX_LOOP_VALUES, MAX_TELLING_VALUES, MAX_ROUNDS = 8, 64, 12
NUMERIC_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


LOOPS = (While, For, ArithmeticFor)


def run(walker: Walker, node: Compound, stdin: Stream | None, piped: bool) -> Stream:
    """What a compound command prints, its redirections aside."""
    if not isinstance(node, LOOPS):
        return _once(walker, node, stdin, piped)
    walker.loops += 1
    out = _once(walker, node, stdin, piped)
    walker.loops -= 1
    return out


def _once(walker: Walker, node: Compound, stdin: Stream | None, piped: bool) -> Stream:
    match node:
        case CommandGroup(body, _, subshell):
            return walker.subshell(body, stdin, piped=piped) if subshell else walker.run(body, stdin, piped=piped)
        case If(branches, otherwise, _):
            return _if(walker, branches, otherwise, stdin, piped)
        case While(condition, body, _):
            return _while(walker, condition, body, stdin, piped)
        case For():
            if node.words is not None and is_many(node.words) and spawns(node.body):
                _bomb(walker)
            return _for(walker, node, stdin, piped)
        case ArithmeticFor(expressions, body, _):
            text = walker.expander.single(expressions).text
            if (counted := _count(walker, text.split(";"), body, stdin, piped)) is not None:
                return counted
            for expression in text.split(";")[:3]:
                walker.expander.arithmetic(expression)
            for name in set(re.findall(r"[A-Za-z_]\w*", text)):
                walker.assign(name, Variable(UNKNOWN))
            if (is_endless(text) or counts_far(text)) and spawns(body):
                _bomb(walker)
            return _repeat(walker, body, stdin, piped)
        case CaseCommand():
            return _case(walker, node, stdin, piped)
        case Test(tokens, _, _):
            _test(walker, tokens)
            return EMPTY_STREAM
        case ArithmeticCommand(expression, _, span, words):
            if words and handler_of(words.split(maxsplit=1)[0].rpartition("/")[2]) is not None:
                _plain_subshell(walker, words, span)
            number = walker.expander.arithmetic(walker.expander.single(expression).text)
            walker.success = None if number is None else number != 0
            return EMPTY_STREAM


def _plain_subshell(walker: Walker, words: str, span: Span) -> None:
    """What `((` opens in a shell without arithmetic commands: a subshell in a subshell."""
    parsed = parse(words, walker.budget, fixed=span)
    if not parsed.problems:
        walker.doubt += 1
        walker.subshell(parsed.script, None)
        walker.doubt -= 1


def _if(
    walker: Walker,
    branches: tuple[tuple[Sequence, Sequence], ...],
    otherwise: Sequence | None,
    stdin: Stream | None,
    piped: bool,
) -> Stream:
    outs: list[Stream] = []
    ends: list[State] = []
    for condition, body in branches:
        outs.append(walker.run(condition, stdin, piped=piped))
        after_condition = walker.state
        walker.state = after_condition.copy()
        outs.append(walker.run(body, stdin, piped=piped))
        if not walker.left:
            ends.append(walker.state)
        walker.left = False
        walker.state = after_condition
    if otherwise is not None:
        outs.append(walker.run(otherwise, stdin, piped=piped))
        if walker.left and ends:
            walker.state = ends.pop()
        walker.left = False
    for end in ends:
        walker.state.merge(end)
    walker.success = None
    return Stream(None, joined(outs).taints) if len(outs) > 2 else joined(outs)


def _bomb(walker: Walker) -> None:
    low = walker.lowering((0, 0))
    low.emit("system", "processes", certainty="possible", rule="fork-bomb", wide=True,
             reason="A loop without an end starts a process in the background each time round")  # fmt: skip


def _while(walker: Walker, condition: Sequence, body: Sequence, stdin: Stream | None, piped: bool) -> Stream:
    if is_constant(condition):
        if spawns(body):
            _bomb(walker)
        elif fills(body):
            walker.lowering((0, 0)).emit("system", "disk", certainty="possible", rule="disk-fill",
                                         reason="Writes without an end, until the disk is full")  # fmt: skip
    whole = Sequence((*condition.items, *body.items))
    lines = _lines_for(condition, stdin)
    if lines is None:
        return _repeat(walker, whole, stdin, piped)
    return joined([_repeat(walker, whole, line, piped) for line in lines])


def _count(walker: Walker, expressions: list[str], body: Sequence, stdin: Stream | None, piped: bool) -> Stream | None:
    """A loop whose numbers are known and few, round by round; None if it is another one."""
    if len(expressions) != 3 or not expressions[1].strip():
        return None
    start, condition, step = expressions
    before = walker.state.copy()
    walker.expander.arithmetic(start)
    outs: list[Stream] = []
    for _ in range(MAX_ROUNDS):
        number = walker.expander.arithmetic(condition)
        if number is None:
            break
        if number == 0:
            walker.success = None
            return joined(outs)
        outs.append(walker.run(body, stdin, piped=piped))
        if walker.left:
            # Left for good or only for this round.
            break
        walker.expander.arithmetic(step)
    walker.left = False
    walker.state = before
    return None


def _repeat(walker: Walker, body: Sequence, stdin: Stream | None, piped: bool) -> Stream:
    """A body that runs any number of times: once, and again if the first time changed what it sees."""
    before = walker.state.copy()
    outs = [walker.run(body, stdin, piped=piped)]
    walker.left = False
    if not walker.state.same(before):
        walker.state.merge(before)
        outs.append(walker.run(body, stdin, piped=piped))
        walker.left = False
        walker.state.merge(before)
    walker.success = None
    taints = frozenset().union(*(out.taints for out in outs))
    return outs[0] if outs[0] == EMPTY_STREAM else Stream(None, taints)


def _for(walker: Walker, node: For, stdin: Stream | None, piped: bool) -> Stream:
    values: list[Word] = []
    words = node.words

    def collect() -> Stream:
        if words is not None:
            values.extend(field for word in words for field in walker.expander.fields(word))
        elif (arguments := walker.expander.arguments()) is None:
            values.append(Word(UNKNOWN, taints=frozenset({"param"})))
        else:
            values.extend(arguments)
        return EMPTY_STREAM

    walker.each_alternative(collect)
    outs: list[Stream] = []
    telling = _telling([value.text for value in values])
    for value in [value for value in values if value.text in telling]:
        walker.assign(node.name, Variable(value.text, value.taints))
        outs.append(walker.run(node.body, stdin, piped=piped))
        walker.left = False
    if CUT in telling or len(values) > MAX_LOOP_VALUES or not all(value.known for value in values):
        rest = frozenset().union(*(value.taints for value in values)) | (telling & {CUT})
        walker.assign(node.name, Variable(UNKNOWN, rest))
        outs.append(Stream(None, _repeat(walker, node.body, stdin, piped).taints))
    walker.success = None
    return joined(outs)


def _telling(texts: list[str]) -> frozenset[str]:
    """The values of a loop that are looked at one by one. Many numbers differ in nothing; CUT if others are left."""
    found = dict.fromkeys(text for place, text in enumerate(texts) if place < MAX_LOOP_VALUES or not text.isdecimal())
    return frozenset([*found][:MAX_TELLING_VALUES] + [CUT] * (len(found) > MAX_TELLING_VALUES))


def _case(walker: Walker, node: CaseCommand, stdin: Stream | None, piped: bool) -> Stream:
    walker.expander.single(node.word)
    before = walker.state
    outs: list[Stream] = []
    merged = before.copy()
    carried: State | None = None
    for patterns, body, terminator in node.clauses:
        walker.state = before.copy()
        if carried is not None:
            walker.state.merge(carried)
        for pattern in patterns:
            walker.expander.pattern(pattern)
        outs.append(walker.run(body, stdin, piped=piped))
        carried = walker.state if terminator in (";&", ";;&") else None
        if not walker.left:
            merged.merge(walker.state)
        walker.left = False
    walker.state = merged
    walker.success = None
    return outs[0] if len(outs) == 1 else Stream(None, joined(outs).taints)


def _test(walker: Walker, tokens: tuple[str | RawWord, ...]) -> None:
    texts = [token if isinstance(token, str) else walker.expander.single(token).text for token in tokens]
    for position, text in enumerate(texts):
        following = texts[position + 1] if position + 1 < len(texts) else ""
        if text in ("-v", "-R"):
            walker.expander.reference(following)
        elif text in NUMERIC_TESTS and position:
            walker.expander.arithmetic(texts[position - 1])
            walker.expander.arithmetic(following)
    walker.success = None


def _lines_for(condition: Sequence, stdin: Stream | None) -> list[Stream] | None:
    """The lines that `while read` goes through, when they are known and few."""
    if stdin is None or not stdin.text or not condition.items:
        return None
    last = condition.items[-1]
    if not isinstance(last, Simple) or not last.words or last.words[0].plain != "read":
        return None
    lines = stdin.text.removesuffix("\n").split("\n")
    telling = _telling(lines)
    known = [Stream(line + "\n", stdin.taints) for line in lines if line in telling]
    more = len(lines) > MAX_LOOP_VALUES
    return [*known, Stream(UNKNOWN + "\n", stdin.taints | (telling & {CUT}))] if more else known
