"""How questions and grants are shown to a person: what would really run comes first. Nothing steers the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from interpose.composition.service.question_views import ShownQuestion, diff_of, own_words
from interpose.core.formats.counted import plural
from interpose.core.formats.plain_text import squeezed, without_blank_runs
from interpose.doors.cli.explaining.verdict_text import COLOURS, Ink, columns, cut, visible
from interpose.doors.cli.shared.json_output import encoded
from interpose.people.approvals.grants import Given
from interpose.people.approvals.questions import Question

MOST_LINES = 200
MOST_EFFECTS = 12
LONGEST_WORDS = 500
"""Columns of what an agent says of its call. It must not push the call itself off the screen."""
CONTINUED = "» "
"""Stands before each row of a terminal that goes on with the one before."""
_STATES = {"waiting": "33", "approved": "32", "denied": "31", "expired": "2", "invalid": "31"}


def question_text(question: Question, ink: Ink, *, now: datetime, width: int = 100) -> str:
    """Everything that a person needs to answer."""
    left = (question.expires - now).total_seconds()
    time = f"{_span(left)} left" if question.state == "waiting" else f"asked {_moment(question.asked)}"
    state = ink(question.state.upper(), f"1;{_STATES[question.state]}")
    what = visible(question.tool) or question.point.value
    lines = [f"{state}  {ink(question.id, '1')}  {what}  {ink(time, '2')}", ""]
    lines += [f"  {line}" for line in _subject(question, ink, width - 2)]
    lines.append("")
    for found in question.findings:
        rule = f"{visible(found.rule)}  " if found.rule else ""
        lines.append(f"  {ink('ask', COLOURS['ask'])}  {_wrapped(rule + _one_line(found.reason), width - 7)}")
    lines += [
        f"  {ink('it', '2')}   {_wrapped(_one_line(effect.text), width - 7)}"
        for effect in question.effects[:MOST_EFFECTS]
    ]
    if (left := len(question.effects) - MOST_EFFECTS) > 0:
        lines.append(f"  {ink('this is not all: it does ' + plural(left, 'more thing'), '1;31')}")
    if question.instead:
        lines.append(f"  {ink('Safer', '1')}  {_wrapped(_one_line(question.instead), width - 9)}")
    lines += _more(question, ink, width)
    facts = ((f"{name:9}", value) for name, value in _facts(question) if value)
    lines += ["", *(f"  {ink(name, '2')}  {_wrapped(visible(value), width - len(name) - 4)}" for name, value in facts)]
    return "\n".join(lines)


def _more(question: Question, ink: Ink, width: int) -> Iterator[str]:
    """What it could be widened to, why it is asked again, and who must agree."""
    if words := own_words(question):
        yield f"  {ink('The agent says', '1')}  {_wrapped(cut(_one_line(words), LONGEST_WORDS), width - 18)}"
    if diff := diff_of(question):
        shown = without_blank_runs(diff).splitlines()
        yield from ("", *(f"    {_wrapped(visible(line), width - 4)}" for line in shown[:MOST_LINES]))
    if isinstance(question, ShownQuestion) and question.asks_again is not None:
        again = question.asks_again
        yield f"  {ink('Again', '1')}  {_wrapped(_one_line(again.text), width - 9)}"
        for one in again.differs:
            if one.what != "kind":
                told = f"{visible(one.what)}: {_one_line(one.was) or '-'} -> {_one_line(one.now) or '-'}"
                yield f"    {_wrapped(told, width - 4)}"
    if question.state != "waiting":
        return
    for widening in question.widenings:
        past = widening.would_have_let_through
        told = "" if past is None else f" (of the last {past.of} that were asked about: {past.count})"
        yield f"  {ink(widening.id, '1')}  {_one_line(widening.text)}{ink(told, '2')}"
    for left in question.missing if isinstance(question, ShownQuestion) else ():
        yield f"  {ink('Needs', '1')}  {plural(left.count, 'more ' + left.role, 'more of the role ' + left.role)}"


def _facts(question: Question) -> Iterator[tuple[str, str]]:
    yield "agent", question.agent
    yield "session", question.session
    yield "principal", question.principal
    yield "claims to be", question.claimed
    yield "directory", question.cwd
    yield "source", question.source
    for vote in question.votes if isinstance(question, ShownQuestion) else ():
        yield "agreed", f"{vote.by} ({vote.role}), {_moment(vote.at)}"
    if (deferred := question.deferred) is not None:
        yield (
            "put off",
            f"by {deferred.by}, {_moment(deferred.at)}" + (f": {deferred.comment}" if deferred.comment else ""),
        )
    if (answer := question.answer) is not None:
        scope = "" if answer.scope is None else f", {answer.scope.text()}"
        edited = "" if answer.arguments is None else ", edited"
        yield question.state, f"by {answer.by}, {_moment(answer.at)}{scope}{edited}"
        yield "comment", answer.comment
        if answer.word != answer.comment:
            yield "word", answer.word


def _subject(question: Question, ink: Ink, width: int) -> list[str]:
    """What would run. A text that was cut, or that is too long to be looked at here, says so."""
    arguments = question.arguments
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if isinstance(command, str):
        others = {name: value for name, value in arguments.items() if name != "command"}
        shown = _marked(command, [found.part for found in question.findings], ink, width)
        shown += _pretty(others, width) if others else []
    else:
        shown = _pretty(arguments, width)
    if isinstance(arguments, str):
        shown.append(ink("this is not all: the rest was too long to be kept", "1;31"))
    if len(shown) > MOST_LINES:
        shown = [*shown[:MOST_LINES], ink(f"this is not all: {plural(len(shown) - MOST_LINES, 'more line')}", "1;31")]
    return shown


def _pretty(value: object, width: int) -> list[str]:
    text = msgspec.json.format(encoded(value), indent=2).decode()
    return [row for line in text.split("\n") for row in _rows(visible(line), width)]


def _rows(line: str, width: int) -> list[str]:
    """A line as the rows of a terminal, each of them marked that goes on with the one before.

    INVARIANT: no row begins with what an agent wrote unless it is the beginning of a line. Blanks up to the edge would
    else make a text that looks like ours, such as another question.
    """
    room = max(20, width)
    if columns(line) <= room:
        return [line]
    rows, row, taken = [], "", 0
    for char in line:
        taken += columns(char)
        if taken > room:
            rows.append(row)
            row, taken = CONTINUED, len(CONTINUED) + columns(char)
        row += char
    return [*rows, row]


def _wrapped(line: str, width: int) -> str:
    return "\n  ".join(_rows(line, width))


def _marked(command: str, parts: Sequence[str], ink: Ink, width: int) -> list[str]:
    """The lines of a command, with marks under what was objected to."""
    found = [(at, at + len(part)) for part in parts if part and (at := command.find(part)) >= 0]
    lines: list[str] = []
    start = 0
    split = command.split("\n")
    at = 0
    for line, count in squeezed(split):
        rows = _rows(ink(line, "2"), width) if count > 1 else _rows(visible(line), width)
        lines += rows
        end = start + sum(map(len, split[at : at + count])) + count - 1
        at += count
        if count > 1:
            start = end + 1
            continue
        here = [(max(a, start) - start, min(b, end) - start) for a, b in found if a < end and b > start]
        if here and len(rows) == 1:
            lines.append(ink(_marks(line, here), COLOURS["ask"]))
        start = end + 1
    return lines


def _marks(line: str, spans: Sequence[tuple[int, int]]) -> str:
    marks = [" "] * columns(visible(line))
    for start, end in spans:
        first = columns(visible(line[:start]))
        width = max(1, columns(visible(line[start:end])))
        marks[first : first + width] = "^" * width
    return "".join(marks).rstrip()


def question_line(question: Question, ink: Ink, width: int, now: datetime) -> str:
    """A question in one line."""
    time = _span((question.expires - now).total_seconds()) if question.state == "waiting" else question.state
    who = visible(question.agent or question.session or question.principal)
    head = f"{ink(question.id, '1')}  {ink(f'{time:>8}', _STATES[question.state])}  {cut(who, 16):16}  "
    taken = len(question.id) + 8 + 16 + 6
    return head + cut(f"{visible(question.tool)} {_short(question.arguments)}", max(20, width - taken))


def given_line(given: Given, ink: Ink, width: int) -> str:
    """A grant in one line."""
    if given.problem:
        return f"{ink(given.id, '1')}  {ink('INVALID', '1;31')}, counts for nothing: {visible(given.problem)}"
    uses = "" if given.uses_left is None else f", {given.uses_left} left"
    edited = ", edited" if given.edited else ""
    head = f"{given.scope.kind}{uses}{edited}, ends {_moment(given.ends)}, by {visible(given.by)}"
    room = max(20, width - len(given.id) - columns(head) - 4)
    what = f"{visible(given.tool)} {_short(given.arguments)}"
    if given.kind is not None:
        what = visible(given.kind.text)
    elif given.scope.kind == "pause":
        what = visible(f"every question{f' of {given.agent}' if given.agent else ''}: {given.comment or 'no reason'}")
    return f"{ink(given.id, '1')}  {head}  {cut(what, room)}"


def _short(arguments: object) -> str:
    command = arguments.get("command") if isinstance(arguments, dict) else None
    return visible(command if isinstance(command, str) else encoded(arguments).decode())


def _one_line(text: str) -> str:
    return visible(" ".join(text.splitlines()))


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


def _span(seconds: float) -> str:
    whole = max(0, int(seconds))
    return f"{whole} s" if whole < 120 else f"{whole // 60} min" if whole < 7200 else f"{whole // 3600} h"


def now() -> datetime:
    """The time that questions are shown at."""
    return datetime.now(UTC)
